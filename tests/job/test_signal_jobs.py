"""`[[signal]]` in jobs of both methods: the same traces in any part and block, said in plan, run and picture."""

import json

import numpy as np
import pytest
from position_files import sps_line

from job_files import MIGRATE, survey, write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as write_time_job
from subsalt.cli import guard
from subsalt.cli.app import app
from subsalt.errors import FindingsError, SubsaltError
from subsalt.io.prestack.table import TraceBlocks
from subsalt.job.base import read_job
from subsalt.job.checking import check_job
from subsalt.job.signal.summary import edited, stages
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.job_setup import migration_setup
from subsalt.methods.rtm.traces import end_taper, to_propagation
from subsalt.numerics.interpolation import shifted
from subsalt.parallel.comm import single

STEPS = """
[[signal]]
step = "edit"
where = "rms > 20*median"

[[signal]]
step = "bandpass"
corners = [3, 6, 40, 60]

[[signal]]
step = "resample"
dt = "10 ms"

[[signal]]
step = "mute"
velocity = 1500
delay = 0.1
taper = 0.02
"""


def main(arguments):
    return guard.run(app, arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with shots of which one trace is wild, and a job of both methods with the steps."""
    made = tmp_path_factory.mktemp("signal_jobs")
    line = survey()
    line.shots[1].data[4] *= 100
    write_files(made, line)
    data = MIGRATE.replace('line = "2d"', 'line = "2d"\nnoisy_traces = "keep"')
    write_job(made, data + STEPS, "line.toml")
    areal(made / "traces.sgy")
    path = write_time_job(made, "time.toml")
    path.write_text(path.read_text() + STEPS)
    return made


def with_statics(path, ns, source, receiver):
    """Write statics in ms into the headers (bytes 99, 101) of a file of `ns` samples of 4 bytes."""
    raw = bytearray(path.read_bytes())
    size = 240 + 4 * ns
    for i in range((len(raw) - 3600) // size):
        at = 3600 + i * size + 98
        raw[at : at + 4] = np.array([source(i), receiver(i)], ">i2").tobytes()
    path.write_bytes(raw)


def test_a_shot_comes_out_the_same_in_any_part(folder):
    survey = Job.from_toml(folder / "line.toml").load_survey()
    assert (survey.time.nt, survey.time.dt) == (61, 0.01)
    shot = survey.shots[1]
    whole = survey.traces(shot)
    assert whole.shape == (15, 61)
    # the wild trace is gone, and neither its shot nor others lost more
    assert np.flatnonzero(~whole.any(axis=1)).tolist() == [4]
    # a reader of its own: what it knows of the shot it finds from the part that is asked for
    other = Job.from_toml(folder / "line.toml").load_survey()
    np.testing.assert_array_equal(other.traces(other.shots[1], np.array([3, 4, 9])), whole[[3, 4, 9]])
    (treated,) = edited(survey, single())
    assert treated["listed"] == [{"shot": 2, "file": "shots.sgy", "trace": 20}]


@pytest.mark.parametrize("size", [7, 200])
def test_blocks_of_a_time_migration_hold_the_same_traces(folder, size):
    table = read_job(folder / "time.toml").open_table()
    index = np.arange(3, 340, 2)
    with TraceBlocks(table, index, size) as blocks:
        got = np.concatenate([traces.copy() for _, traces in blocks])
    np.testing.assert_array_equal(got, table.traces(np.arange(len(table)))[index])


def test_the_short_form_is_a_step(tmp_path):
    """`[data.mute]` and the step give the same bytes; both at once are refused, and so are steps without traces."""
    write_files(tmp_path)
    keys = "velocity = 1500\ndelay = 0.05\ntaper = 0.08\n"
    texts = [f"{MIGRATE}\n[data.mute]\n{keys}", f'{MIGRATE}\n[[signal]]\nstep = "mute"\n{keys}']
    surveys = [Job.from_toml(write_job(tmp_path, text)).load_survey() for text in texts]
    a, b = (s.traces(s.shots[0]) for s in surveys)
    assert a.any()
    np.testing.assert_array_equal(a, b)
    with pytest.raises(FindingsError) as caught:
        Job.from_toml(write_job(tmp_path, texts[0] + f'\n[[signal]]\nstep = "mute"\n{keys}'))
    assert [f.code for f in caught.value.findings] == ["E798"]
    modelled = MIGRATE.split("[data]")[0] + "[model]" + MIGRATE.split("[model]")[1]
    with pytest.raises(FindingsError, match="recorded traces"):
        Job.from_toml(write_job(tmp_path, modelled + '\n[[signal]]\nstep = "to2d"\nvelocity = 1500\n'))


@pytest.mark.parametrize("method", ["rtm", "kirchhoff"])
def test_statics_of_headers_reach_both_methods(tmp_path, method):
    step = '\n[[signal]]\nstep = "shift"\nheaders = ["source_static", "receiver_static"]\n'
    by = lambda i: (i % 5, -3 * (i % 4))  # noqa: E731
    if method == "rtm":
        write_files(tmp_path)
        with_statics(tmp_path / "shots.sgy", 151, lambda i: by(i)[0], lambda i: by(i)[1])
        survey = Job.from_toml(write_job(tmp_path, MIGRATE + step)).load_survey()
        shot = survey.shots[1]
        raw, got, number = survey.reader.inner(shot), survey.traces(shot), shot.trace_index
    else:
        areal(tmp_path / "traces.sgy")
        with_statics(tmp_path / "traces.sgy", 126, lambda i: by(i)[0], lambda i: by(i)[1])
        path = write_time_job(tmp_path)
        path.write_text(path.read_text() + step)
        table = read_job(path).open_table()
        number = np.arange(50, 90)
        raw, got = table.files.read(table.number[number]), table.traces(number)
    seconds = np.array([1e-3 * by(i)[0] + 1e-3 * by(i)[1] for i in number])
    dt = 0.004 if method == "rtm" else 0.008
    np.testing.assert_array_equal(got, shifted(raw, seconds / dt))
    assert (got != raw).any()


def test_statics_of_files_of_positions(tmp_path):
    """SPS: those of source and receiver, ms, columns 27 to 30 of revision 2.1; heights for a datum come from there."""
    write_files(tmp_path)
    sps_line(tmp_path, survey())
    for name, of in (("s", lambda k: 4 * k), ("r", lambda k: -3 * (k % 4))):
        lines = (tmp_path / f"line.{name}").read_text().splitlines()
        lines[1:] = [f"{row[:26]}{of(k):4d}{row[30:]}" for k, row in enumerate(lines[1:])]
        (tmp_path / f"line.{name}").write_text("\n".join(lines) + "\n")
    step = '\n[[signal]]\nstep = "shift"\nstatics = "geometry"\n'
    text = MIGRATE.replace('line = "2d"', 'line = "2d"\ngeometry = {files = "line.[srx]"}')
    line = Job.from_toml(write_job(tmp_path, text + step)).load_survey()
    shot = line.shots[2]
    seconds = 8e-3 - 3e-3 * (np.arange(15) % 4)
    # times of the files are held in single precision
    np.testing.assert_allclose(
        line.reader.headers(shot).values["geometry_static"], seconds, rtol=0, atol=1e-9
    )
    by = line.reader.headers(shot).values["geometry_static"] / 0.004
    np.testing.assert_array_equal(line.traces(shot), shifted(line.reader.inner(shot), by))
    data = {"files": ["shots.sgy"], "geometry": {"files": ["line.s", "line.r", "line.x"]}}
    steps = [{"step": "shift", "statics": "geometry"}, {"step": "shift", "datum": 0, "velocity": 2000}]
    raw = {"method": "kirchhoff", "data": data, "velocity": {"v": 2000}, "signal": steps}
    table = Job.from_dict(raw, tmp_path).open_table()
    np.testing.assert_allclose(table.headers["geometry_static"][30:], seconds, rtol=0, atol=1e-9)
    assert set(table.headers["source_z"]) == {15.0}
    assert set(table.headers["receiver_z"]) == {10.0}
    with pytest.raises(SubsaltError, match=r"the job has no \[data.geometry\]"):
        Job.from_toml(write_job(tmp_path, MIGRATE + step)).load_survey()


def test_a_run_and_its_plan_say_the_steps(folder, tmp_path, capsys):
    assert main(["plan", str(folder / "line.toml"), "--no-measure", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert [s["step"] for s in plan["signal"]["steps"]] == ["edit", "band-pass", "resampling", "mute"]
    assert plan["signal"]["seconds"] == pytest.approx(45 * plan["signal"]["seconds_per_trace"])
    # rms > 20*median: all traces are looked at once more, before the run
    assert plan["signal"]["first_look"]["traces"] == 45
    assert plan["signal"]["first_look"]["seconds"] > 0
    assert "signal steps" in json.dumps(plan["memory"])
    assert main(["migrate", str(folder / "line.toml"), "--run", str(tmp_path / "run")]) == 0
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["signal"]["edited"][0]["traces"] == 1
    assert facts["signal"]["time"] == {"nt": 61, "dt": 0.01, "t0": 0.0}
    assert len(facts["signal_seconds"]) == 4
    page = (tmp_path / "run" / "report.html").read_text()
    assert "1 trace zeroed, where rms &gt; 20*median" in page
    assert "band-pass 3-6-40-60 Hz" in page


def test_a_shot_before_and_after_every_step(folder, tmp_path, capsys):
    words = ["view", str(folder / "line.toml"), "--signal", "--shot"]
    assert main([*words, "2", "-o", str(tmp_path / "s.png"), "--json"]) == 0
    assert (tmp_path / "s.png").stat().st_size > 10_000
    assert main([*words, "99"]) != 0
    assert "E304" in capsys.readouterr().err
    # a field record of a time migration, the one in the middle where none is named
    table = read_job(folder / "time.toml").signal_source()
    number, headers, between = stages(table)
    rows = np.flatnonzero(table.ffid == number)
    assert [b.label for b in between][::4] == ["as recorded", "mute above 0.1 s + x / 1500 m/s"]
    np.testing.assert_array_equal(between[-1].traces, table.traces(rows))
    np.testing.assert_array_equal(between[3].curves[0], 0.1 + headers.offset / 1500)


def test_a_mute_that_leaves_nothing_is_found(folder, tmp_path):
    for job, method in ((folder / "line.toml", "rtm"), (folder / "time.toml", "kirchhoff")):
        text = job.read_text().replace("velocity = 1500\ndelay = 0.1", "velocity = 1500\ndelay = 30")
        for name in ("shots.sgy", "vp.rsf", "epsilon.rsf", "delta.rsf", "traces.sgy"):
            text = text.replace(f'"{name}"', f'"{folder / name}"')
        (tmp_path / f"{method}.toml").write_text(text)
        codes = {
            f.code: f for f in check_job(read_job(tmp_path / f"{method}.toml")).findings if f.level == "error"
        }
        assert "E314" in codes, method
        assert "[[signal]] 4 (mute)" in codes["E314"].message


def test_levelled_amplitudes_and_lost_frequencies_are_found(folder):
    """Of the 25 Hz of a Ricker wavelet of 10 Hz 20 ms carry 20; AGC warns in both methods."""
    line = (folder / "line.toml").read_text()
    agc = '\n[[signal]]\nstep = "gain"\nkind = "agc"\nwindow = 0.2\n'
    path = write_job(folder, line.replace('"10 ms"', '"20 ms"') + agc, "coarse.toml")
    findings = {f.code: f for f in check_job(read_job(path)).findings}
    assert "25 Hz" in findings["E794"].message
    assert "16 ms or less" in findings["E794"].fix
    assert "[[signal]] 5 (gain)" in findings["W792"].message
    path = write_job(folder, (folder / "time.toml").read_text() + agc, "level.toml")
    assert "W792" in {f.code for f in check_job(read_job(path)).findings}


def test_steps_are_part_of_what_a_run_is(folder, tmp_path):
    """Another step is another run; a file that a step names counts by its content."""
    write_files(tmp_path)
    (tmp_path / "s.csv").write_text("shot,time\n1,0.001\n2,0\n3,0\n")
    text = MIGRATE + '\n[[signal]]\nstep = "shift"\ntable = "s.csv"\n'
    ids = [Job.from_toml(write_job(tmp_path, t)).run_id() for t in (MIGRATE, text)]
    (tmp_path / "s.csv").write_text("shot,time\n1,0.002\n2,0\n3,0\n")
    ids.append(Job.from_toml(write_job(tmp_path, text)).run_id())
    assert len(set(ids)) == 3
    (tmp_path / "s.csv").write_text("shot,time\n1,0.002\n3,0\n")
    with pytest.raises(SubsaltError, match=r"line 18: .* lacks 1 shot of the survey: 2"):
        Job.from_toml(write_job(tmp_path, text)).load_survey()


def test_nothing_above_a_band_pass_is_injected_and_all_below(folder):
    """The map to the time steps ends at the last corner: what it leaves out is what traces have above, as measured."""
    # on a grid of their own traces end with the band of the wavelet already
    text = (folder / "line.toml").read_text() + '[propagation]\ngrid = "model"\n'
    job = Job.from_toml(write_job(folder, text, "own.toml"))
    survey = job.load_survey()
    setup = migration_setup(job, job.open_propagation_model(), survey)
    assert setup.highest == 60.0
    traces = end_taper(survey.traces(survey.shots[0]), setup.record, 1.0 / setup.wavelet.f0).astype(
        np.float64
    )
    given = [
        to_propagation(setup.record, setup.axis, time_dispersion=True, derivative=False, fmax=fmax).apply(
            traces
        )
        for fmax in (None, setup.highest)
    ]
    nt, dt = setup.record.nt, setup.record.dt
    # of records with as many zeros behind: the same spectrum, without wrapping
    power = np.abs(np.fft.rfft(traces, 2 * nt, axis=1)) ** 2
    above = np.fft.rfftfreq(2 * nt, dt) > setup.highest
    share = power[:, above].sum() / power.sum()
    assert share < 0.05
    left_out = ((given[0] - given[1]) ** 2).sum() / (given[0] ** 2).sum()
    # dispersion moves frequencies by less than a tenth there, and the ends of a band are not sharp in a record
    assert left_out <= 1.2 * share
