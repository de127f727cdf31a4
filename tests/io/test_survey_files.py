"""Surveys: from headers to positions, from positions to headers and back, traces untouched."""

import io

import numpy as np
import pytest
from segy_maker import line_headers, make_segy

from subsalt.acquisition.line import fit_line
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import CorruptionError, DataError, GeometryError, SegyError
from subsalt.io.segy import rev1
from subsalt.io.segy.conversion import stream_su
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.reading import read_survey
from subsalt.io.segy.writing import write_survey

RNG = np.random.default_rng(11)


def survey_3d(shots=3, receivers=7, nt=50, dt=0.004, t0=0.0, frame=None, step=0.01) -> Survey:
    """Return a random survey whose map positions lie on multiples of `step`."""
    frame = frame or Frame()
    src = np.round(RNG.uniform(-2000, 3000, (shots, 3)) / step) * step
    rcv = np.round(RNG.uniform(-2000, 3000, (shots, receivers, 3)) / step) * step
    data = RNG.standard_normal((shots, receivers, nt)).astype(np.float32)
    made = [Shot(10 * i + 3, src[i], rcv[i], data[i]) for i in range(shots)]
    return Survey(made, TimeAxis(nt, dt, t0), 3, frame)


def assert_same(got: Survey, want: Survey, tolerance: float) -> None:
    assert [s.id for s in got] == [s.id for s in want]
    assert (got.time.nt, got.time.t0) == (want.time.nt, pytest.approx(want.time.t0))
    assert got.time.dt == pytest.approx(want.time.dt, rel=1e-12)
    for a, b in zip(got, want, strict=True):
        pa = got.frame.to_world(np.concatenate([a.src[None], a.rcv]))
        pb = want.frame.to_world(np.concatenate([b.src[None], b.rcv]))
        assert np.abs(pa - pb).max() <= tolerance
        assert np.array_equal(got.traces(a), b.data)


# ---- round trips


@pytest.mark.parametrize("name", ["all.sgy", "all.su", "folder"])
def test_round_trip_is_exact(tmp_path, name):
    survey = survey_3d()
    paths = write_survey(tmp_path / name, survey, text=["run 42"])
    assert len(paths) == (3 if name == "folder" else 1)
    got = read_survey(paths, ndim=3)
    # centimetres are stored exactly; reading divides by 100
    assert_same(got, survey, 1e-9)
    assert got.notes["dead_traces"] == 0
    assert got.source_files == [str(p) for p in paths]


@pytest.mark.parametrize("step", [0.001, 0.0001])
def test_finer_positions_get_a_finer_scalar(tmp_path, step):
    survey = survey_3d(step=step)
    (path,) = write_survey(tmp_path / "a.sgy", survey)
    assert_same(read_survey(path, ndim=3), survey, 1e-9)


def test_positions_no_scalar_can_hold_are_within_a_centimetre(tmp_path):
    survey = survey_3d(step=0.01, frame=Frame(431_234.5, 6_781_020.25, 0.7, True))
    (path,) = write_survey(tmp_path / "a.sgy", survey)
    # rotated and at 6.7 million metres only centimetres fit 32 bits
    assert_same(read_survey(path, ndim=3), survey, 0.00501)
    assert_same(read_survey(path, ndim=3, frame=survey.frame), survey, 0.00501)


def test_a_callable_gives_one_shot_at_a_time(tmp_path):
    survey = survey_3d()
    seen = []

    def data(shot):
        seen.append(shot.id)
        return shot.data

    write_survey(tmp_path / "a.sgy", survey, data)
    assert seen == [3, 13, 23]
    write_survey(tmp_path / "b.sgy", survey, {s.id: s.data for s in survey})
    assert (tmp_path / "a.sgy").read_bytes() == (tmp_path / "b.sgy").read_bytes()


def test_first_sample_before_and_after_zero(tmp_path):
    for t0 in (-0.1, 0.0125, 1.5):
        survey = survey_3d(t0=t0)
        (path,) = write_survey(tmp_path / "a.sgy", survey)
        assert_same(read_survey(path, ndim=3), survey, 1e-9)


def test_other_programs_read_what_we_write(tmp_path):
    segyio = pytest.importorskip("segyio")
    survey = survey_3d()
    (path,) = write_survey(tmp_path / "a.sgy", survey)
    with segyio.open(path, ignore_geometry=True) as f:
        assert f.tracecount == 21
        assert int(f.format) == 5
        assert len(f.samples) == 50
        assert f.bin[segyio.BinField.Interval] == 4000
        assert f.bin[segyio.BinField.SEGYRevision] == 1
        assert np.array_equal(f.trace.raw[:], np.concatenate([s.data for s in survey]))
        h = f.header[8]
        want = survey.shots[1]
        assert h[segyio.TraceField.FieldRecord] == 13
        assert h[segyio.TraceField.TraceNumber] == 2
        assert h[segyio.TraceField.SourceX] == round(want.src[0] * 100)
        assert h[segyio.TraceField.GroupY] == round(want.rcv[1, 1] * 100)
        assert h[segyio.TraceField.ReceiverGroupElevation] == -round(want.rcv[1, 2] * 100)
        assert h[segyio.TraceField.SourceGroupScalar] == -100
        text = f.text[0].decode("ascii")
        assert "SUBSALT" in text
        assert "END TEXTUAL HEADER" in text
    write_survey(tmp_path / "a.su", survey)
    with segyio.su.open(tmp_path / "a.su", endian="little", ignore_geometry=True) as f:
        assert np.array_equal(f.trace.raw[:], np.concatenate([s.data for s in survey]))


def test_su_through_a_pipe_in_both_orders(tmp_path):
    survey = survey_3d()
    write_survey(tmp_path / "a.su", survey)
    for endian in ("little", "big"):

        class Narrow(io.BytesIO):
            def write(self, data):
                return super().write(bytes(data[:1000]))

        out = Narrow()
        stream_su(tmp_path / "a.su", out, endian=endian)
        (tmp_path / "p.su").write_bytes(out.getvalue())
        assert_same(read_survey(tmp_path / "p.su", ndim=3), survey, 1e-9)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"dt": 0.0012345678}, "E270"),
        ({"dt": 0.05}, "E270"),
        ({"t0": 1e-7}, "E271"),
        ({"t0": 40.0}, "E271"),
    ],
)
def test_what_segy_cannot_say(tmp_path, change, code):
    with pytest.raises(DataError) as caught:
        write_survey(tmp_path / "a.sgy", survey_3d(**change))
    assert caught.value.code == code
    assert list(tmp_path.iterdir()) == []


def test_wrong_data_are_refused_and_leave_nothing(tmp_path):
    survey = survey_3d()
    bad = {s.id: s.data.copy() for s in survey}
    bad[13][2, 2] = np.nan
    for data, code in ((bad, "E250"), ({3: survey.shots[0].data}, "E272"), (lambda s: s.data[:, :5], "E272")):
        with pytest.raises(DataError) as caught:
            write_survey(tmp_path / "a.sgy", survey, data)
        assert caught.value.code == code
    survey.shots[0].src[0] = 1e9
    with pytest.raises(GeometryError) as caught:
        write_survey(tmp_path / "a.sgy", survey)
    assert caught.value.code == "E324"
    assert list(tmp_path.iterdir()) == []


# ---- shots and traces


def line(path, shots=4, receivers=5, **change):
    x = np.arange(shots * receivers)[:, None] + np.arange(30)[None, :] / 100
    keep = {k: change.pop(k) for k in ("binary", "code", "endian", "dt") if k in change}
    return make_segy(path, x, headers={**line_headers(shots, receivers), **change}, **keep)


def test_a_line_keeps_map_x(tmp_path):
    s = read_survey(line(tmp_path / "a.sgy", source_y=70000, receiver_y=70000))
    assert s.ndim == 2
    assert s.frame == Frame(0.0, 700.0)
    assert [shot.src[0] for shot in s] == [0.0, 50.0, 100.0, 150.0]
    assert s.shots[0].src[2] == 6.0
    assert s.shots[0].rcv[0, 2] == 10.0
    assert s.traces(s.shots[2])[1, 0] == 11.0


def test_traces_scattered_over_the_file_come_together(tmp_path):
    order = RNG.permutation(20)
    h = {k: (np.asarray(v)[order] if np.ndim(v) else v) for k, v in line_headers(4, 5).items()}
    x = order[:, None] + np.zeros((1, 30))
    s = read_survey(make_segy(tmp_path / "a.sgy", x, headers=h))
    for i, shot in enumerate(s):
        got = s.traces(shot)[:, 0]
        assert sorted(got) == list(range(5 * i, 5 * i + 5))
        assert np.array_equal(shot.rcv[:, 0], 25.0 * (got - 5 * i))


def test_shots_by_source_position_when_numbers_repeat(tmp_path):
    s = read_survey(line(tmp_path / "a.sgy", ffid=1))
    assert len(s) == 4
    assert s.notes["shot_key"] == "source"
    assert [x.id for x in s] == [1, 2, 3, 4]
    s = read_survey(tmp_path / "a.sgy", shot_key="ffid")
    assert len(s) == 1


def test_select(tmp_path):
    path = line(tmp_path / "a.sgy")
    s = read_survey(path).select([2, 4])
    assert [x.id for x in s] == [2, 4]
    assert s.traces(s.shots[1])[0, 0] == 15
    with pytest.raises(GeometryError, match="no shot has id"):
        read_survey(path).select([9])


def test_the_order_of_files_does_not_matter(tmp_path):
    survey = survey_3d()
    paths = write_survey(tmp_path / "d", survey)
    assert_same(read_survey(paths[::-1], ndim=3), survey, 1e-9)


def test_one_shot_over_two_files(tmp_path):
    h = line_headers(1, 10)
    x = np.arange(10)[:, None] + np.zeros((1, 30))
    half = [
        {k: (np.asarray(v)[p] if np.ndim(v) else v) for k, v in h.items()}
        for p in (slice(0, 5), slice(5, 10))
    ]
    a = make_segy(tmp_path / "a.sgy", x[:5], headers=half[0])
    b = make_segy(tmp_path / "b.sgy", x[5:], headers=half[1], code=1, endian="little")
    s = read_survey([a, b])
    assert len(s) == 1
    assert s.traces(s.shots[0])[:, 0].tolist() == list(range(10))


def test_dead_and_auxiliary_traces(tmp_path):
    ids = [1, 2, 9, 1, 1] + [1] * 15
    path = line(tmp_path / "a.sgy", trace_id=ids)
    s = read_survey(path)
    assert s.traces(s.shots[0])[:, 0].tolist() == [0, 3, 4]
    assert (s.notes["dead_traces"], s.notes["auxiliary_traces"]) == (1, 1)
    s = read_survey(path, fix=Fix(dead="zero", all_traces=True))
    assert s.traces(s.shots[0])[:, 0].tolist() == [0, 0, 2, 3, 4]
    with pytest.raises(GeometryError) as caught:
        read_survey(line(tmp_path / "b.sgy", trace_id=9))
    assert caught.value.code == "E325"


def test_delays_shift_traces_onto_one_axis(tmp_path):
    path = line(tmp_path / "a.sgy", delay=[100, 108, 100, 120, 100] + [100] * 15)
    s = read_survey(path)
    assert (s.time.nt, s.time.t0) == (35, 0.1)
    d = s.traces(s.shots[0])
    assert d[1, :2].tolist() == [0, 0]
    assert d[1, 2] == 1
    assert d[3, 4] == 0
    assert d[3, 5] == 3
    assert read_survey(path, fix=Fix(delay=0.0)).time == TimeAxis(30, 0.004, 0.0)
    with pytest.raises(GeometryError) as caught:
        read_survey(line(tmp_path / "b.sgy", delay=[1] * 10 + [0] * 10))
    assert caught.value.code == "E262"


def test_samples_that_are_not_finite(tmp_path):
    x = np.zeros((20, 30))
    x[7, 4] = np.inf
    path = make_segy(tmp_path / "a.sgy", x, headers=line_headers(4, 5))
    s = read_survey(path)
    s.traces(s.shots[0])
    with pytest.raises(DataError, match="trace 8, sample 5"):
        s.traces(s.shots[1])
    s = read_survey(path, fix=Fix(nan="zero"))
    assert not s.traces(s.shots[1]).any()


def test_fixes(tmp_path):
    path = line(tmp_path / "a.sgy", coordinate_scalar=1, elevation_scalar=1, dt=4000)
    s = read_survey(path, fix=Fix(scalar=-100, elevation_scalar=-10, z_sign=-1, dt=0.002))
    assert s.shots[3].src.tolist() == [150.0, 0.0, 6.0]
    assert s.shots[0].rcv[0, 2] == -10.0
    assert s.time.dt == 0.002
    s = read_survey(path, fix=Fix(scalar=-100, source_depth=5.0, receiver_depth=8.0))
    assert s.shots[0].src[2] == 5.0
    assert s.shots[0].rcv[0, 2] == 8.0
    s = read_survey(path, fix=Fix(scalar=-100, swap_xy=True))
    assert s.frame.azimuth == pytest.approx(np.pi / 2)
    assert [x.src[0] for x in s] == [0.0, 50.0, 100.0, 150.0]
    s = read_survey(path, fix=Fix(scalar=-100, unit="ft"))
    assert s.shots[1].src[0] == pytest.approx(50 * 0.3048)


def test_a_source_on_land_lies_below_its_surface(tmp_path):
    path = line(tmp_path / "a.sgy", source_elevation=2000, receiver_elevation=1950, source_depth=120)
    shot = read_survey(path).shots[0]
    assert shot.src[2] == -188.0
    assert shot.rcv[0, 2] == -195.0


def test_receivers_from_offsets(tmp_path):
    h = {"receiver_x": 0}
    with pytest.raises(GeometryError, match="offsets") as caught:
        read_survey(line(tmp_path / "a.sgy", **h))
    assert caught.value.code == "E322"
    assert "receivers" in caught.value.fix
    s = read_survey(tmp_path / "a.sgy", receivers="offset")
    assert s.shots[2].rcv[:, 0].tolist() == [0.0, 25.0, 50.0, 75.0, 100.0]
    with pytest.raises(GeometryError) as caught:
        read_survey(line(tmp_path / "b.sgy", offset=0), receivers="offset")
    assert caught.value.code == "E321"
    with pytest.raises(GeometryError) as caught:
        read_survey(line(tmp_path / "c.sgy", source_x=0, offset=500))
    assert caught.value.code == "E323"


def test_conflicts_stop_reading(tmp_path):
    for change, code in (
        ({"dt": 4000, "binary": {3217: ("H", 2000)}}, "E214"),
        ({"coordinate_units": 2, "offset": 0}, "E240"),
    ):
        with pytest.raises(SegyError) as caught:
            read_survey(line(tmp_path / "a.sgy", **change))
        assert caught.value.code == code
    a, b = line(tmp_path / "a.sgy"), line(tmp_path / "b.sgy", dt=2000)
    with pytest.raises(GeometryError) as caught:
        read_survey([a, b])
    assert caught.value.code == "E261"


def test_a_file_that_changes_is_noticed(tmp_path):
    path = line(tmp_path / "a.sgy")
    s = read_survey(path)
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(SegyError) as caught:
        s.traces(s.shots[0])
    assert caught.value.code == "E218"


# ---- lines


def test_a_crooked_line_is_projected_and_the_misfit_told(tmp_path):
    along, azimuth = np.arange(20) * 100.0, 0.6
    across = 3 * (-1.0) ** np.arange(20)
    x = 500_000 + along * np.cos(azimuth) - across * np.sin(azimuth)
    y = 6_000_000 + along * np.sin(azimuth) + across * np.cos(azimuth)
    shots = [
        Shot(i + 1, (x[i], y[i], 5.0), np.stack([x, y, 0 * x + 8], axis=1), np.zeros((20, 4)))
        for i in range(20)
    ]
    write_survey(tmp_path / "a.sgy", Survey(shots, TimeAxis(4, 0.004)))
    s = read_survey(tmp_path / "a.sgy")
    assert s.ndim == 2
    note = s.notes["line"]
    # alternating offsets tilt the fit by far less than a degree and leave 3 m on either side
    assert note["azimuth_deg"] == pytest.approx(np.degrees(azimuth), abs=0.1)
    assert note["misfit_rms_m"] == pytest.approx(3.0, rel=0.01)
    got = np.array([shot.src[0] for shot in s])
    assert got.min() >= 0
    assert np.abs(np.diff(got) - 100).max() < 0.1
    assert all(shot.src[1] == 0 and not shot.rcv[:, 1].any() for shot in s)
    back = s.frame.to_world(np.array([shot.src for shot in s]))
    # what is lost is the misfit: 3 m, and at the ends 950 m times the tilt, 10 * 300 / (665 * 100^2) radians
    assert np.hypot(back[:, 0] - x, back[:, 1] - y).max() < 3.0 + 950 * 4.6e-4
    three = read_survey(tmp_path / "a.sgy", ndim=3)
    assert three.ndim == 3
    assert three.frame == Frame()


def test_lines_by_hand(tmp_path):
    path = line(tmp_path / "a.sgy", source_y=0, receiver_y=line_headers(4, 5)["receiver_x"])
    assert read_survey(path, ndim=2, line="x").shots[0].rcv[:, 0].tolist() == [0.0, 25.0, 50.0, 75.0, 100.0]
    assert read_survey(path, ndim=2, line="y").shots[1].src[0] == pytest.approx(0.0)
    frame = Frame(10.0, 0.0)
    assert read_survey(path, ndim=2, frame=frame).shots[0].rcv[1, 0] == 15.0
    assert read_survey(path, ndim=2, frame=frame).frame == frame


def test_an_areal_survey_is_3d(tmp_path):
    (path,) = write_survey(tmp_path / "a.sgy", survey_3d())
    assert read_survey(path).ndim == 3


def test_fit_line_directions():
    t = np.arange(10.0)[:, None]
    for azimuth in (0.0, 0.3, np.pi / 2, -1.2):
        p = np.column_stack([7 + t * np.cos(azimuth), -3 + t * np.sin(azimuth)])
        fit = fit_line(p)
        assert fit.frame.azimuth == pytest.approx(azimuth, abs=1e-8)
        # nine digits of the angle over nine metres, a micrometre of the origin
        assert fit.misfit_max < 1e-7
        assert fit.length == pytest.approx(9.0)
    assert fit_line(np.array([[5.0, 6.0]])).length == 0.0


def test_header_bytes_are_checked():
    for bad in (-1, 240, 1.5, True):
        with pytest.raises(ValueError, match="header byte"):
            HeaderBytes(ffid=bad)
    with pytest.raises(ValueError, match="preset"):
        HeaderBytes.preset("sgy")
    for bad in ({"z_sign": 0}, {"dt": -1.0}, {"unit": "km"}, {"ns": 0}):
        with pytest.raises(ValueError, match="fix"):
            Fix(**bad)


# ---- the second reader


@pytest.mark.parametrize("name", ["a.sgy", "a.su"])
def test_a_file_that_reads_back_differently_is_not_published(tmp_path, monkeypatch, name):
    survey = survey_3d()
    write_survey(tmp_path / name, survey)
    before = (tmp_path / name).read_bytes()
    note = rev1.Expectation.note

    def forget(self, rows):
        # what was meant differs from what is written in one bit of the last sample
        rows = rows.copy()
        rows[-1, -1] ^= 1
        note(self, rows)

    monkeypatch.setattr(rev1.Expectation, "note", forget)
    with pytest.raises(CorruptionError, match="samples of trace") as caught:
        write_survey(tmp_path / name, survey)
    assert caught.value.code == "E642"
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == before


def test_long_traces_pass_the_second_reader(tmp_path):
    survey = survey_3d(shots=1, receivers=2, nt=40_000)
    (path,) = write_survey(tmp_path / "a.sgy", survey)
    assert_same(read_survey(path, ndim=3), survey, 1e-9)
