"""Runs of time migration: the same bytes for any cut, any threads, any stop; files that other programs read."""

import json
import shutil
import time

import numpy as np
import pytest
import segyio
from time_case import OFFSETS, RESULTS, hashes, make, positions

import subsalt
from subsalt.kernels import kirchhoff
from subsalt.methods.kirchhoff import memory as kirchhoff_layout
from subsalt.methods.kirchhoff.cutting import cut
from subsalt.methods.kirchhoff.restart import BlockRestartPoints
from subsalt.methods.rtm.job import Job
from subsalt.run.ledger_file import peek
from subsalt.run.migrate import migrate_job
from subsalt.run.progress import lines, view_of
from subsalt.run.resume import ResumeOptions
from subsalt.view.reading import is_gathers
from thorough import each, thorough


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """A folder with the traces, and undisturbed runs by kind of gathers."""
    folder = tmp_path_factory.mktemp("survey")
    runs = {}
    for kind in ("full-offset", "image"):
        runs[kind] = folder / f"{kind}.run"
        migrate_job(Job.from_toml(make(folder, kind)), runs[kind])
    return folder, runs


def again(survey, run, kind="full-offset", keys="", output=""):
    """Run the job once more in another directory."""
    return migrate_job(Job.from_toml(make(survey[0], kind, keys, output)), run)


def blocks_of(memory):
    """Return a replacement of `cut` that makes blocks of at most so many bytes."""
    return lambda shape, classes, nt, most=None, ranks=1, **more: cut(
        shape, classes, nt, memory, ranks, **more
    )


@pytest.mark.parametrize(
    ("kind", "cuts"),
    each(
        ["full-offset", "image"],
        [
            ("trace_block = 7", None, 1),
            ("trace_block = 1000", None, 3),
            ("trace_block = 50", 60_000, 2),
            ("trace_block = 400\nsave_every = 0", 5_000, 1),
        ],
    ),
)
def test_bytes_depend_on_the_job_alone(survey, tmp_path, monkeypatch, kind, cuts):
    """Traces 7 at a time or all, one block to dozens, 1 to 3 threads."""
    keys, memory, threads = cuts
    monkeypatch.setenv("OMP_NUM_THREADS", str(threads))
    if memory:
        monkeypatch.setattr(kirchhoff_layout, "cut", blocks_of(memory))
    result = again(survey, tmp_path / "run", kind, keys)
    assert hashes(tmp_path / "run") == hashes(survey[1][kind])
    assert len(hashes(tmp_path / "run")) == (5 if kind == "full-offset" else 4)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(facts["blocks"]) == len(result.shots_done)
    if memory:
        least = {"full-offset": {60_000: 3, 5_000: 54}, "image": {60_000: 2, 5_000: 18}}
        assert len(facts["blocks"]) >= least[kind][memory]
    whole = json.loads((survey[1][kind] / "run.json").read_text())
    assert facts["contributions"] == whole["contributions"] == result.contributions > 300_000


def test_classes_are_cut_first_so_that_every_trace_is_read_once(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(kirchhoff_layout, "cut", blocks_of(90_000))
    again(survey, tmp_path / "run")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert len(facts["blocks"]) == 3
    whole = json.loads((survey[1]["full-offset"] / "run.json").read_text())
    assert facts["traces_summed"] == whole["traces_summed"] < len(positions()[0])
    assert facts["over_ranks"]["input"]["traces"]["wanted"] == 4 * 125 * facts["traces_summed"]


def test_only_traces_in_reach_are_read(survey):
    """The traces whose midpoints are within the aperture of the grid: no others."""
    facts = json.loads((survey[1]["image"] / "run.json").read_text())
    src, rcv = positions()
    middle = 0.5 * (src + rcv)
    # the grid covers x 100 .. 250, y 100 .. 200
    away = np.maximum(np.maximum([100, 100] - middle, middle - [250, 200]), 0)
    near = np.sqrt((away**2).sum(axis=1)) <= 110
    assert facts["traces_summed"] == near.sum() < len(near)


def test_a_run_gives_what_the_function_gives(survey):
    """The image of files and blocks is that of arrays."""
    job = Job.from_toml(make(survey[0]))
    setup = job.setup()
    src, rcv = setup.table.src, setup.table.rcv
    traces = setup.table.files.read(setup.table.number)
    made = subsalt.migrate_time(
        traces,
        src,
        rcv,
        dt=0.008,
        vrms=2000.0,
        grid=setup.grid,
        options=setup.options,
        gathers="full-offset",
        threads=1,
    )
    run = survey[1]["full-offset"]
    assert is_gathers(run / "gathers.sgy")
    assert not is_gathers(run / "image.sgy")
    with segyio.open(run / "gathers.sgy", ignore_geometry=True) as f:
        assert np.array_equal(f.trace.raw[:], made.gathers.reshape(-1, 101))
    with segyio.open(run / "image.sgy", ignore_geometry=True) as f:
        assert np.array_equal(f.trace.raw[:], made.image.reshape(-1, 101))
    with segyio.open(run / "hits.sgy", ignore_geometry=True) as f:
        assert np.array_equal(f.trace.raw[:], made.hits.reshape(-1, 101))
    fold = np.fromfile(run / "fold.rsf@", "<f4").reshape(made.fold.shape)
    assert np.array_equal(fold, made.fold)
    assert fold.min() > 0
    assert made.contributions == json.loads((run / "run.json").read_text())["contributions"]


def test_headers_of_gathers(survey):
    """Sorted by inline, crossline, offset; where a location lies; what was summed."""
    with segyio.open(survey[1]["full-offset"] / "gathers.sgy", ignore_geometry=True) as f:
        head = {k: f.attributes(k)[:] for k in (21, 25, 33, 37, 71, 109, 115, 117, 181, 185, 189, 193)}
        text = bytes(f.text[0]).decode()
        assert f.bin[3213] == 3
        assert f.bin[3229] == 2
    n = 5 * 7 * 3
    assert np.array_equal(head[37], np.tile(OFFSETS, n // 3))
    assert np.array_equal(head[189], np.repeat(np.arange(11, 16), 21))
    assert np.array_equal(head[193], np.tile(np.repeat(np.arange(101, 108), 3), 5))
    assert np.array_equal(head[21], np.repeat(np.arange(1, 36), 3))
    assert np.array_equal(head[25], np.tile([1, 2, 3], 35))
    assert set(head[71]) == {-100}
    # crosslines follow x from 100 m every 25 m, inlines y
    assert np.array_equal(head[181], 100 * (100 + 25 * (head[193] - 101)))
    assert np.array_equal(head[185], 100 * (100 + 25 * (head[189] - 11)))
    assert set(head[109]) == {100}
    assert set(head[117]) == {8000}
    assert head[33].min() > 20
    fold = np.fromfile(survey[1]["full-offset"] / "fold.rsf@", "<f4")
    assert np.array_equal(head[33], fold)
    for word in ("KIRCHHOFF", "STRETCH MUTE: 30 %", "FULL OFFSET", "APERTURE: 110 M", "4 BANDS"):
        assert word in text.upper()


def test_other_formats_hold_the_same(survey, tmp_path):
    again(survey, tmp_path / "run", output='formats = ["segy", "rsf", "npz"]')
    run = tmp_path / "run"
    assert {k: v for k, v in hashes(run).items() if k in RESULTS} == hashes(survey[1]["full-offset"])
    with segyio.open(run / "gathers.sgy", ignore_geometry=True) as f:
        assert np.array_equal(np.fromfile(run / "gathers.rsf@", "<f4").reshape(-1, 101), f.trace.raw[:])
    with np.load(run / "image.npz") as z, segyio.open(run / "image.sgy", ignore_geometry=True) as f:
        assert np.array_equal(z["image"].reshape(-1, 101), f.trace.raw[:])
        assert list(z["inline"]) == [11, 12, 13, 14, 15]
        assert np.allclose(z["time_s"], 0.1 + 0.008 * np.arange(101))
    with np.load(run / "fold.npz") as z:
        assert z["fold"].shape == (5, 7, 3)
        assert list(z["offset_m"]) == list(OFFSETS)
    head = (run / "image.rsf").read_text()
    assert "n1=101 d1=0.008 o1=0.1" in head
    assert "n2=7 d2=1.0 o2=101.0" in head


# -- stops


class Stop(BaseException):
    """What a signal raises."""


def stop_after(monkeypatch, blocks_of_traces):
    """Let a signal arrive in the sum of a block of traces."""
    import os
    import signal

    real, count = kirchhoff.sum_traces, [0]

    def counted(*args, **kwargs):
        count[0] += 1
        if count[0] == blocks_of_traces:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*args, **kwargs)

    monkeypatch.setattr(kirchhoff, "sum_traces", counted)
    return count


@pytest.mark.parametrize("at", [pytest.param(1, marks=thorough), 4, pytest.param(9, marks=thorough)])
def test_what_was_summed_before_a_stop_is_kept(survey, tmp_path, monkeypatch, at):
    """Ctrl-C in the middle of a sum: the next start goes on behind the traces that were in it."""
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, at)
        with pytest.raises(KeyboardInterrupt):
            again(survey, run, keys="trace_block = 40")
    assert "stored" in "\n".join(lines(view_of(run))) or view_of(run).state == "stopped"
    points = BlockRestartPoints(run, json.loads((run / "run.json").read_text())["run_id"]).points()
    assert len(points) == 1
    with monkeypatch.context() as patch:
        count = stop_after(patch, 10**9)
        result = again(survey, run, keys="trace_block = 40")
    assert hashes(run) == hashes(survey[1]["full-offset"])
    whole = json.loads((survey[1]["full-offset"] / "run.json").read_text())
    assert result.contributions == whole["contributions"]
    assert at + count[0] == -(-whole["traces_summed"] // 40)
    assert not list((run / "restart").iterdir())
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    assert [e["block"] for e in events if e["event"] in ("goes on", "done")] == [1, 1]


def test_restart_points_come_as_often_as_asked(survey, tmp_path, monkeypatch):
    saved = []
    real = BlockRestartPoints.save
    monkeypatch.setattr(
        BlockRestartPoints, "save", lambda self, sums: (saved.append(sums.next), real(self, sums))
    )
    again(survey, tmp_path / "run", keys="trace_block = 60\nsave_every = 1e-6")
    assert len(saved) >= 5
    assert saved == sorted(saved)
    assert hashes(tmp_path / "run") == hashes(survey[1]["full-offset"])
    saved.clear()
    again(survey, tmp_path / "other", keys="trace_block = 60\nsave_every = 0")
    assert not saved


def test_a_damaged_restart_point_is_dropped_and_said(survey, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        with pytest.raises(KeyboardInterrupt):
            again(survey, run, keys="trace_block = 40")
    (point,) = (run / "restart").glob("*.sums")
    data = bytearray(point.read_bytes())
    data[len(data) // 2] ^= 4
    point.write_bytes(data)
    again(survey, run, keys="trace_block = 40")
    assert hashes(run) == hashes(survey[1]["full-offset"])
    assert "restart point dropped" in (run / "events.jsonl").read_text()


@pytest.mark.parametrize("kind", [pytest.param("full-offset", marks=thorough), "image"])
def test_what_is_left_is_cut_for_less_memory(survey, tmp_path, monkeypatch, kind):
    """A stopped run goes on in smaller blocks, from the restart point of the large one."""
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            again(survey, run, kind, keys="trace_block = 60")
    monkeypatch.setattr(
        "subsalt.methods.kirchhoff.migrate.fits", lambda setup, layout, block: block.locations <= 9
    )
    again(survey, run, kind, keys="trace_block = 33")
    assert hashes(run) == hashes(survey[1][kind])
    assert len(peek(run)) >= 4
    facts, whole = (json.loads((r / "run.json").read_text()) for r in (run, survey[1][kind]))
    assert facts["contributions"] == whole["contributions"]


def test_a_finished_block_is_not_summed_again_and_a_damaged_one_is(survey, tmp_path, monkeypatch):
    monkeypatch.setattr(kirchhoff_layout, "cut", blocks_of(90_000))
    run = tmp_path / "run"
    again(survey, run)
    (run / "image.sgy").unlink()
    path = run / "images" / "block_000002.sums"
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)
    with monkeypatch.context() as patch:
        count = stop_after(patch, 10**9)
        again(survey, run)
    assert count[0] == 1
    assert hashes(run) == hashes(survey[1]["full-offset"])
    assert [r["attempt"] for r in peek(run)] == [1, 2, 1]


def test_no_block_is_left_out_whatever_befell_earlier_starts(survey, tmp_path, monkeypatch):
    """Two starts that died in a block of lack of memory, or crashed there, are no reason for a hole."""
    monkeypatch.setattr(kirchhoff_layout, "cut", blocks_of(90_000))
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            again(survey, run, keys="trace_block = 500")
    for _ in range(2):
        (run / "crash.r0000.txt").write_text("2\nFatal Python error: Segmentation fault\n")
        with monkeypatch.context() as patch:
            stop_after(patch, 1)
            with pytest.raises(KeyboardInterrupt):
                again(survey, run, keys="trace_block = 50")
    result = again(survey, run)
    assert result.shots_done == [1, 2, 3]
    assert not result.shots_failed
    assert hashes(run) == hashes(survey[1]["full-offset"])


def test_a_limit_of_time_stops_it(survey, tmp_path, monkeypatch):
    from subsalt.run.stop_request import RunStopped

    real = kirchhoff.sum_traces
    monkeypatch.setattr(kirchhoff, "sum_traces", lambda *a, **k: (time.sleep(0.02), real(*a, **k))[1])

    job = Job.from_toml(make(survey[0], keys="trace_block = 1"))
    with pytest.raises(RunStopped, match="blocks in hand were stored as restart points"):
        migrate_job(job, tmp_path / "run", resume=ResumeOptions(limit=0.01))
    view = view_of(tmp_path / "run")
    assert view.state == "stopped"
    assert view.unit == "block"
    assert "blocks    0 of 1 done" in "\n".join(lines(view))
    monkeypatch.setattr(kirchhoff, "sum_traces", real)
    migrate_job(job, tmp_path / "run")
    assert hashes(tmp_path / "run") == hashes(survey[1]["full-offset"])


def test_another_job_is_refused_and_set_aside_when_asked(survey, tmp_path):
    from subsalt.errors import ConfigError

    run = tmp_path / "run"
    shutil.copytree(survey[1]["full-offset"], run)
    job = Job.from_toml(make(survey[0], keys="stretch_mute = 0.5"))
    with pytest.raises(
        ConfigError, match=r"stretch_mute: 0.3 -> 0.5.*the sum over all traces again"
    ) as error:
        migrate_job(job, run)
    assert error.value.code == "E810"
    said = []
    migrate_job(job, run, recompute=True, say=said.append)
    assert "previous" in said[0]
    assert hashes(run)["image.sgy"] != hashes(survey[1]["full-offset"])["image.sgy"]
    assert hashes(next((run / "previous").iterdir())) == hashes(survey[1]["full-offset"])
