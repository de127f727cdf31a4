"""Surveys as streams of ObsPy come back with the same bits; files give what we read in them; errors have cures."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import subsalt as ss
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.errors import DataError, GeometryError, SubsaltError

obspy = pytest.importorskip("obspy", reason="obspy is not installed (make test-libraries)")
pytestmark = pytest.mark.library

FRAME = ss.Frame(4.5e5, 6.7e6, 0.3, flip=True)


def survey_of(ndim, *, data=True, frame=None, t0=-0.012, spread=50.0):
    """Return a survey whose shots have 3, 1 and 2 receivers, at places to a centimetre."""
    rng = np.random.default_rng(5)
    shots = []
    for i, n in enumerate((3, 1, 2)):
        rcv = np.round(rng.uniform(0, spread, (n, 3)), 2)
        src = np.round(rng.uniform(0, spread, 3), 2)
        if ndim == 2:
            rcv[:, 1] = src[1] = 0.0
        traces = rng.standard_normal((n, 11)).astype(np.float32) if data else None
        shots.append(Shot(10 * i + 3, src, rcv, traces))
    return ss.Survey(shots, TimeAxis(11, 0.004, t0), ndim, frame or ss.Frame())


def assert_equal(a, b, tolerance=0.0):
    """Shots, time axis, dimension and frame are those of another survey; positions to a tolerance, m."""
    assert (a.time, a.ndim, a.frame) == (b.time, b.ndim, b.frame)
    assert [s.id for s in a] == [s.id for s in b]
    for one, other in zip(a, b, strict=True):
        np.testing.assert_allclose(one.src, other.src, rtol=0, atol=tolerance)
        np.testing.assert_allclose(one.rcv, other.rcv, rtol=0, atol=tolerance)
        if one.data is None or other.data is None:
            assert one.data is other.data
        else:
            assert one.data.tobytes() == other.data.tobytes()


def headers_of(stream):
    """Return the trace headers of a stream."""
    return [trace.stats.segy.trace_header for trace in stream]


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("data", [True, False])
def test_a_survey_comes_back_with_the_same_bits(ndim, data):
    survey = survey_of(ndim, data=data)
    stream = survey.to_stream()
    assert [t.id for t in stream] == [".3..1", ".3..2", ".3..3", ".13..1", ".23..1", ".23..2"]
    assert stream[2].stats.distance == survey.shots[0].offset[2]
    assert {t.stats.delta for t in stream} == {0.004}
    assert {t.stats.npts for t in stream} == {11}
    for again in (stream, stream.copy(), stream[:]):
        assert_equal(ss.Survey.from_stream(again, ndim=ndim), survey)


def test_positions_of_a_turned_frame_come_back_to_a_micrometre():
    survey = survey_of(3, frame=FRAME)
    again = ss.Survey.from_stream(survey.to_stream(), ndim=3, frame=FRAME)
    assert_equal(again, survey, tolerance=1e-6)


def test_any_time_axis_is_kept_without_headers():
    survey = dataclasses.replace(survey_of(3), time=TimeAxis(11, 1 / 300, -1e-5 / 3))
    with pytest.raises(DataError, match="whole number of microseconds") as refused:
        survey.to_stream()
    assert "segy_headers=False" in refused.value.fix
    again = ss.Survey.from_stream(survey.to_stream(segy_headers=False), ndim=3)
    assert (again.time.nt, again.time.dt) == (11, 1 / 300)
    assert again.time.t0 == pytest.approx(survey.time.t0, abs=0.5e-9)


def test_work_of_obspy_leaves_the_survey_alone():
    survey = survey_of(3)
    before = [s.data.copy() for s in survey]
    stream = survey.to_stream()
    stream.detrend("demean")
    for trace in stream:
        trace.data *= 0
    assert all(s.data.tobytes() == b.tobytes() for s, b in zip(survey, before, strict=True))


@pytest.mark.parametrize("ndim", [2, 3])
def test_obspy_writes_the_traces_that_we_write(ndim, tmp_path):
    """Headers and samples to the byte, but for the date of the first sample, around 1970-01-01 (bytes 157-166)."""
    survey = survey_of(ndim, frame=ss.Frame() if ndim == 2 else FRAME, spread=5000.0)
    ss.write_survey(tmp_path / "ours.sgy", survey)
    survey.to_stream().write(str(tmp_path / "obspy.sgy"), format="SEGY")
    ours, theirs = (
        np.frombuffer((tmp_path / f"{who}.sgy").read_bytes()[3600:], np.uint8).reshape(-1, 284).copy()
        for who in ("ours", "obspy")
    )
    ours[:, 156:166] = theirs[:, 156:166] = 0
    np.testing.assert_array_equal(ours, theirs)
    assert_equal(ss.read_survey(tmp_path / "obspy.sgy"), ss.read_survey(tmp_path / "ours.sgy"))


@pytest.mark.parametrize("kind", ["sgy", "su"])
@pytest.mark.parametrize("unpack", [False, True])
def test_a_file_gives_what_read_survey_gives(kind, unpack, tmp_path):
    survey = survey_of(3, spread=3000.0)
    survey.shots[1].src[2] = -35.0  # on a hill: an elevation
    ss.write_survey(tmp_path / f"line.{kind}", survey)
    ours = ss.read_survey(tmp_path / f"line.{kind}")
    for shot in ours:
        shot.data = ours.traces(shot)
    stream = obspy.read(str(tmp_path / f"line.{kind}"), unpack_trace_headers=unpack)
    assert_equal(ss.Survey.from_stream(stream), ours)
    for shot in ours:
        shot.data = None
    assert_equal(ss.Survey.from_stream(obspy.read(str(tmp_path / f"line.{kind}"), headonly=True)), ours)


def test_scalars_feet_delays_and_dead_traces_are_understood(tmp_path):
    """Two traces of one shot, in decimetres and feet, one 8 ms late, and a dead one."""
    path = tmp_path / "line.sgy"
    rcv = [[10.0, 0.0], [20.0, 0.0], [30.0, 0.0]]
    samples = np.arange(15, dtype=np.float32).reshape(1, 3, 5)
    ss.write_survey(path, ss.Survey.from_arrays([[1.0, 2.0]], rcv, nt=5, dt=0.004, data=samples))
    stream = obspy.read(str(path))
    stream.stats.binary_file_header.measurement_system = 2
    for header, late, code in zip(headers_of(stream), (0, 8, 0), (1, 0, 2), strict=True):
        header.scalar_to_be_applied_to_all_coordinates = -10
        header.scalar_to_be_applied_to_all_elevations_and_depths = 10
        header.delay_recording_time, header.trace_identification_code = late, code
    survey = ss.Survey.from_stream(stream)
    assert survey.time == TimeAxis(7, 0.004, 0.0)
    # 2 m of depth were 200 cm
    np.testing.assert_allclose(survey.shots[0].src, np.array([10.0, 0.0, 2000.0]) * 0.3048)
    np.testing.assert_allclose(survey.shots[0].rcv, np.array([[100.0, 0, 0], [200.0, 0, 0]]) * 0.3048)
    np.testing.assert_array_equal(survey.shots[0].data, [[0, 1, 2, 3, 4, 0, 0], [0, 0, 5, 6, 7, 8, 9]])
    assert survey.notes["dead_traces"] == 1
    metres = ss.Survey.from_stream(stream, unit="m", delay=0.1)
    assert metres.time == TimeAxis(5, 0.004, 0.1)
    np.testing.assert_array_equal(metres.shots[0].rcv[:, 0], [100.0, 200.0])


@pytest.mark.parametrize("recorded", [True, False])
def test_what_obspy_cut_off_counts(recorded, tmp_path):
    """A trace from its fourth sample on begins three samples after the time of its header."""
    survey = survey_of(3, spread=3000.0)
    ss.write_survey(tmp_path / "line.sgy", survey)
    stream = survey.to_stream() if not recorded else obspy.read(str(tmp_path / "line.sgy"))
    begin = stream[0].stats.starttime
    stream.trim(begin + 0.012, begin + 0.028)
    again = ss.Survey.from_stream(stream, ndim=3)
    assert again.time == TimeAxis(5, 0.004, 0.0)
    np.testing.assert_array_equal(again.shots[2].data, survey.shots[2].data[:, 3:8])


def test_dates_that_were_given_to_traces_say_nothing_of_the_shot(tmp_path):
    ss.write_survey(tmp_path / "line.sgy", survey_of(3, spread=3000.0))
    stream = obspy.read(str(tmp_path / "line.sgy"))
    for trace in stream:
        trace.stats.starttime = obspy.UTCDateTime("2024-05-01T10:00:00.5")
    assert ss.Survey.from_stream(stream).time.t0 == -0.012
    for header in headers_of(stream):
        header.year_data_recorded, header.day_of_year, header.hour_of_day = 24, 122, 10
    # half a sample interval in a second that the header has: no part of its 44 ms
    for trace in stream:
        trace.stats.starttime = obspy.UTCDateTime("2024-05-01T10:00:00.002")
    with pytest.raises(
        DataError, match=r"trace 1 \(?.*begins 0\.002 s after the time in its header"
    ) as refused:
        ss.Survey.from_stream(stream)
    assert "delay=0.0" in refused.value.fix
    assert ss.Survey.from_stream(stream, delay=0.0).time.t0 == 0.0


def test_stations_of_continuous_records_are_given_as_geometry():
    """Windows that begin before the shot, one of them half a second earlier; plain (x, z), and floats of 64 bits."""
    shot = obspy.UTCDateTime("2024-05-01T12:00:00")
    stream = obspy.Stream()
    for i, before in enumerate((0.5, 1.0)):
        trace = obspy.Trace(
            np.arange(8.0) + 10 * i, {"station": f"N{i}", "delta": 0.25, "starttime": shot - before}
        )
        trace.stats.geometry = {"source": (5.0, 1.0), "receiver": [100.0 * i, 0.0], "origin_time": shot}
        stream.append(trace)
    survey = ss.Survey.from_stream(stream)
    assert survey.time == TimeAxis(10, 0.25, -1.0)
    assert survey.shots[0].id == 1
    np.testing.assert_array_equal(survey.shots[0].rcv, [[0, 0, 0], [100, 0, 0]])
    np.testing.assert_array_equal(survey.shots[0].data, [[0, 0, *range(8)], [*range(10, 18), 0, 0]])


def in_memory(spread=3000.0):
    """Return a stream as ObsPy reads it from a file."""
    import io

    out = io.BytesIO()
    stream = survey_of(3, spread=spread).to_stream()
    stream.write(out, format="SEGY")
    out.seek(0)
    return obspy.read(out)


def bare(stream):
    """Take all positions away."""
    for trace in stream:
        del trace.stats["segy"]
    return stream


def plain_headers(stream, **values):
    """Give the second trace a header that holds some values only."""
    stream[1].stats.segy = {"trace_header": dict(values)}
    return stream


def zeros(stream, which):
    """Set coordinates of sources or receivers to zero."""
    for header in headers_of(stream):
        setattr(header, f"{which}_coordinate_x", 0)
        setattr(header, f"{which}_coordinate_y", 0)
    return stream


def marked_dead(stream):
    """Say of all traces that they are dead."""
    for header in headers_of(stream):
        header.trace_identification_code = 2
    return stream


def with_trace(stream, change):
    """Change the second trace."""
    change(stream[1])
    return stream


def given(stream, **values):
    """Give the second trace a geometry."""
    stream[1].stats.geometry = values
    return stream


def set_data(trace, data):
    trace.data = data


#: a stream, what the message says, and its cure
BAD = {
    "a file name": (lambda: "line.sgy", "from builtins.str: not a Stream", "obspy.read(FILE)"),
    "empty": (obspy.Stream, "the stream has no traces", "obspy.read"),
    "no positions": (lambda: bare(in_memory()), "trace 1 has neither stats.geometry", "stats.geometry = {"),
    "header without them": (
        lambda: plain_headers(in_memory(), group_coordinate_x=7),
        "trace 2: its header has no source_coordinate_x",
        "stats.geometry = {",
    ),
    "receivers at zero": (
        lambda: zeros(in_memory(), "group"),
        "group_coordinate_x and group_coordinate_y are zero in the headers of all 6 traces",
        "stats.geometry = {",
    ),
    "sources at zero": (
        lambda: zeros(in_memory(), "source"),
        "source_coordinate_x and source_coordinate_y are zero",
        "stats.geometry = {",
    ),
    "some have a geometry": (
        lambda: given(in_memory(), source=(1, 2), receiver=(3, 4)),
        "trace 1 has no stats.geometry, others have it",
        "stats.geometry = {",
    ),
    "a geometry without receiver": (
        lambda: given(survey_of(3).to_stream(), source=(1, 2)),
        "trace 2 (.3..2): stats.geometry has no receiver in metres",
        '"receiver": (x, y, z)',
    ),
    "a geometry of other things": (
        lambda: given(survey_of(3).to_stream(), source=(1, "far"), receiver=(1, 2)),
        "no source in metres, but (1, 'far')",
        '"source": (x, y, z)',
    ),
    "an interval": (
        lambda: with_trace(in_memory(), lambda t: setattr(t.stats, "delta", 0.002)),
        "trace 2 has samples every 2 ms, trace 1 every 4 ms",
        "stream.resample(250)",
    ),
    "samples": (
        lambda: with_trace(in_memory(), lambda t: set_data(t, t.data[:7])),
        "trace 2 has 7 samples, trace 1 has 11",
        "trace.data[:7]",
    ),
    "gaps": (
        lambda: with_trace(in_memory(), lambda t: set_data(t, np.ma.masked_less(t.data, 0.3))),
        "trace 2 has gaps",
        "numpy.ma.filled(trace.data, 0.0)",
    ),
    "spectra": (
        lambda: with_trace(in_memory(), lambda t: set_data(t, t.data * 1j)),
        "trace 2 holds complex",
        "real",
    ),
    "lost unit": (
        lambda: in_memory().select(),
        "whether lengths are metres or feet",
        'Survey.from_stream(stream, unit="m")',
    ),
    "dead": (
        lambda: marked_dead(in_memory()),
        "none of 6 traces is live",
        "trace_identification_code = 1",
    ),
    "starts": (
        lambda: with_trace(
            survey_of(3).to_stream(), lambda t: setattr(t.stats, "starttime", t.stats.starttime + 0.001)
        ),
        "traces begin -0.012 to -0.011 s after their shots",
        "delay=0.0",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_stream_that_lacks_something_is_refused_with_the_cure(name):
    make, says, cure = BAD[name]
    with pytest.raises(DataError) as refused:
        ss.Survey.from_stream(make())
    assert says in refused.value.message
    assert cure in refused.value.fix
    assert refused.value.code == "E120"
    assert "\n" not in str(refused.value)


#: cures that are code, applied to the stream that they are for
CURED = ["no positions", "receivers at zero", "an interval", "samples", "gaps", "lost unit", "starts"]


@pytest.mark.parametrize("name", CURED)
def test_the_cures_work(name):
    stream = BAD[name][0]()
    with pytest.raises(SubsaltError) as refused:
        ss.Survey.from_stream(stream)
    fix = refused.value.fix
    scope = {"stream": stream, "numpy": np, "Survey": ss.Survey, "x": 1.0, "y": 2.0, "z": 3.0}
    if match := re.search(r"Survey\.from_stream\(.*?\)", fix):
        assert len(eval(match[0], scope)) == 3
        return
    if "trace.stats" in fix:
        fix = f"for trace in stream: {fix}"
    exec(fix, scope)
    if name == "an interval":  # resampled traces keep their duration
        for trace in stream:
            trace.data = trace.data[:5]
    again = ss.Survey.from_stream(stream)
    assert sum(len(s.rcv) for s in again) == 6


def test_a_unit_that_headers_do_not_have_is_refused():
    with pytest.raises(DataError, match="unit = 'km' is none of headers") as refused:
        ss.Survey.from_stream(survey_of(3).to_stream(), unit="km")
    assert (refused.value.code, refused.value.fix) == ("E120", 'unit="m", or unit="ft"')


def test_samples_that_are_not_finite_are_named():
    stream = survey_of(3).to_stream()
    stream[4].data[3] = np.nan
    with pytest.raises(DataError, match="shot 23: 1 of 2 traces") as refused:
        ss.Survey.from_stream(stream)
    assert refused.value.code == "E306"


def test_a_surface_and_far_positions_are_refused():
    surface = ss.Topography(lambda p: p[:, 0])
    with pytest.raises(DataError, match="surface inside the model"):
        dataclasses.replace(survey_of(2), surface=surface).to_stream()
    far = survey_of(3, frame=ss.Frame(1e9, 0.0))
    with pytest.raises(GeometryError) as refused:
        far.to_stream()
    assert (refused.value.code, "segy_headers=False" in refused.value.fix) == ("E324", True)
    assert len(far.to_stream(segy_headers=False)) == 6
