"""Surveys as streams of ObsPy, and back.

Positions are those of SEG-Y or SU headers (``trace.stats.segy.trace_header``, ``trace.stats.su.trace_header``), read as
`read_survey` reads them, or of ``trace.stats.geometry``, which comes first, since headers hold whole numbers: a mapping
with ``source`` and ``receiver``, (x, y, z) or (x, z) in m on the map, z positive down, and if wanted ``shot``, a whole
number, and ``origin_time``, the UTCDateTime of the shot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_stations, line_facts, settled
from subsalt.acquisition.survey import Shot, Survey, TimeAxis, refuse_bad_traces
from subsalt.earth.grid import Frame
from subsalt.errors import DataError, GeometryError, SubsaltError
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import POSITION_NAMES, positions, trace_kinds
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, HeaderBytes
from subsalt.io.segy.reading import by_shot, local_stations, receivers_on_map
from subsalt.io.segy.rev1 import binary_header, microseconds
from subsalt.io.segy.sampling import common_time_axis
from subsalt.io.segy.shot_table import shot_table
from subsalt.io.segy.writing import ShotRows, refuse_beyond_segy
from subsalt.libraries import package

if TYPE_CHECKING:
    import obspy

CODE = "E120"
#: the line that gives a trace its positions
SET = 'trace.stats.geometry = {"shot": 1, "source": (x, y, z), "receiver": (x, y, z)}'

#: keys of a trace header that say when its first sample was recorded, and how long the trace is in the file
_CLOCK = (
    *("year_data_recorded", "day_of_year", "hour_of_day", "minute_of_hour", "second_of_minute"),
    *("number_of_samples_in_this_trace", "sample_interval_in_ms_for_this_trace"),
)


def _refused(message: str, fix: str) -> DataError:
    return DataError(message, fix, code=CODE)


def obspy_package() -> Any:
    """Return the package ObsPy; MissingInputError when it is not installed."""
    return package("obspy", "obspy", "a stream of traces")


def _name(stream: obspy.Stream, i: int) -> str:
    """Return what a trace is called in a message: its number from 1, and its id where it has one."""
    known = any(c.isalnum() for c in stream[i].id)
    return f"trace {i + 1}" + (f" ({stream[i].id})" if known else "")


@dataclass(frozen=True)
class _Stations:
    """Shot numbers, map positions, offsets and start times of the traces of a stream; `use`: which count.

    Arrays are (n,) and (n, 3); m, z positive down; s after the shot.
    """

    shot: NDArray[np.int64]
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    start: NDArray[np.float64]
    use: NDArray[np.bool_]


def to_survey(
    given: Any,
    ndim: Literal[2, 3] | None,
    frame: Frame | None,
    unit: Literal["m", "ft"] | None,
    delay: float | None,
) -> Survey:
    """Return the survey of a stream; see `Survey.from_stream`."""
    module = obspy_package()
    stream = module.Stream([given]) if isinstance(given, module.Trace) else given
    if not isinstance(stream, module.Stream):
        kind = type(given)
        raise _refused(
            f"a survey from {kind.__module__}.{kind.__name__}: not a Stream of ObsPy",
            "obspy.read(FILE), or obspy.Stream(TRACES)",
        )
    if unit not in (None, "m", "ft"):
        raise _refused(f"unit = {unit!r} is none of headers", 'unit="m", or unit="ft"')
    layout, samples = _sampled(stream)
    placed = ["geometry" in trace.stats for trace in stream]
    if any(placed) and not all(placed):
        i = placed.index(False)
        raise _refused(f"{_name(stream, i)} has no stats.geometry, others have it", SET)
    notes: dict[str, object] = {}
    stations = (
        _of_geometry(stream, delay)
        if all(placed)
        else _of_headers(module, stream, layout, unit, delay, notes)
    )
    live = np.flatnonzero(stations.use)
    src, rcv = stations.src[live], stations.rcv[live]
    table = shot_table(stations.shot[live], src, "auto")
    notes["shot_key"] = table.key
    fit = fit_stations(src, rcv)
    dims, frame, says = settled(src, fit, ndim, "project", frame)
    if dims == 2:
        notes["line"] = line_facts(src, rcv, fit, frame, says)
    src, rcv = local_stations(src, rcv, dims, frame, notes)
    time, shift = _time_axis(layout, stations)
    shots = []
    for k, rows in by_shot(table):
        traces = None
        if samples:
            traces = np.zeros((len(rows), time.nt), np.float32)
            for trace, i in zip(traces, live[rows], strict=True):
                first = 0 if shift is None else int(shift[i])
                trace[first : first + layout.ns] = stream[int(i)].data
            refuse_bad_traces(traces, f"shot {table.ids[k]}")
        shots.append(Shot(int(table.ids[k]), src[rows[0]], rcv[rows], traces))
    return Survey(shots, time, dims, frame, notes=notes)


def _sampled(stream: obspy.Stream) -> tuple[FileLayout, bool]:
    """Return number and interval of the samples of all traces as those of a file, and whether samples are there."""
    if not len(stream):
        raise _refused("the stream has no traces", "read some: obspy.read(FILE)")
    first = stream[0].stats
    for i, trace in enumerate(stream):
        stats, data = trace.stats, trace.data
        if abs(stats.delta - first.delta) > 0.5e-9:
            raise _refused(
                f"{_name(stream, i)} has samples every {1e3 * stats.delta:.9g} ms, "
                f"{_name(stream, 0)} every {1e3 * first.delta:.9g} ms",
                f"stream.resample({max(t.stats.delta for t in stream) ** -1:.9g})",
            )
        if stats.npts != first.npts:
            fewest = min(int(t.stats.npts) for t in stream)
            raise _refused(
                f"{_name(stream, i)} has {stats.npts} samples, {_name(stream, 0)} has {first.npts}",
                f"for trace in stream: trace.data = trace.data[:{fewest}]",
            )
        if (len(data) > 0) != (len(stream[0].data) > 0) or stats.npts < 1:
            raise _refused(f"{_name(stream, i)} has no samples", "read all traces without headonly=True")
        if np.ma.is_masked(data):
            raise _refused(
                f"{_name(stream, i)} has gaps",
                "for trace in stream: trace.data = numpy.ma.filled(trace.data, 0.0)",
            )
        if data.dtype.kind not in "fiu":
            raise _refused(
                f"{_name(stream, i)} holds {data.dtype}, not real numbers", "stream of real samples"
            )
    layout = FileLayout(
        *("the stream", "segy", 0, "big", 5, int(first.npts), float(first.delta)),
        first_trace=0,
        trace_bytes=0,
        n_traces=len(stream),
    )
    return layout, len(stream[0].data) > 0


def _time_axis(layout: FileLayout, stations: _Stations) -> tuple[TimeAxis, NDArray[np.int32] | None]:
    """Return the time axis of all traces that count, and the samples by which each begins late."""
    try:
        return common_time_axis([layout], stations.start, stations.use)
    except GeometryError as error:
        start = stations.start[stations.use]
        raise _refused(
            f"traces begin {start.min():.9g} to {start.max():.9g} s after their shots; the difference is no usable "
            f"number of samples of {1e3 * layout.dt:.9g} ms",
            "bring them to samples at the same times with trace.interpolate, or say that all begin alike: "
            "Survey.from_stream(stream, delay=0.0)",
        ) from error


def _of_geometry(stream: obspy.Stream, delay: float | None) -> _Stations:
    """Return positions and times from ``stats.geometry`` of every trace."""
    n = len(stream)
    points = {"source": np.zeros((n, 3)), "receiver": np.zeros((n, 3))}
    shot, start = np.zeros(n, np.int64), np.zeros(n)
    for i, trace in enumerate(stream):
        geometry = trace.stats.geometry
        for key, rows in points.items():
            rows[i] = _point(stream, i, geometry, key)
        shot[i] = int(geometry.get("shot", 0))
        if delay is not None:
            start[i] = delay
        elif (origin := geometry.get("origin_time")) is not None:
            # of whole nanoseconds the quotient is the nearest number
            start[i] = (trace.stats.starttime.ns - origin.ns) / 1_000_000_000
    return _Stations(shot, points["source"], points["receiver"], start, np.ones(n, bool))


def _point(stream: obspy.Stream, i: int, geometry: Any, key: str) -> list[float]:
    """Return x, y, z of the source or the receiver of a trace."""
    try:
        point = [float(v) for v in geometry[key]]
    except (KeyError, TypeError, ValueError):
        point = []
    if len(point) not in (2, 3) or not np.isfinite(point).all():
        said = geometry.get(key) if isinstance(geometry, Mapping) else geometry
        raise _refused(
            f"{_name(stream, i)}: stats.geometry has no {key} in metres"
            + f", but {said!r}" * (said is not None),
            SET,
        )
    return point if len(point) == 3 else [point[0], 0.0, point[1]]


def _value(header: Any, key: str) -> Any:
    """Return a header value; None where it was never set."""
    return header.get(key) if type(header) is dict else getattr(header, key, None)


def _of_headers(
    module: Any,
    stream: obspy.Stream,
    layout: FileLayout,
    unit: Literal["m", "ft"] | None,
    delay: float | None,
    notes: dict[str, object],
) -> _Stations:
    """Return positions and times from the SEG-Y or SU headers of every trace, as `read_survey` understands them."""
    from obspy.io.segy.header import TRACE_HEADER_FORMAT

    headers, n = [_header(stream, i) for i in range(len(stream))], len(stream)
    at = {(start + 1, length): key for length, key, _, start in TRACE_HEADER_FORMAT}
    types = HeaderBytes().dtype("big")
    keys = {
        name: at[getattr(HeaderBytes(), name), types[name].itemsize]
        for name in POSITION_NAMES
        if name in (types.names or ())
    }
    rows = [[_value(header, key) for key in keys.values()] for header in headers]
    for i, row in enumerate(rows):
        unset = [
            k for k, v in zip(keys.values(), row, strict=True) if v is None and k.endswith("coordinate_x")
        ]
        if unset:
            raise _refused(f"{_name(stream, i)}: its header has no {' and no '.join(unset)}", SET)
    table = np.array([[0 if v is None else v for v in row] for row in rows], dtype=np.float64)
    values = {name: np.ascontiguousarray(table[:, k]) for k, name in enumerate(keys)}
    fix = Fix(unit=unit or _unit(stream), delay=delay)
    dead, auxiliary = trace_kinds(values, n, fix)
    use = ~(dead | auxiliary)
    notes |= {"dead_traces": int(dead.sum()), "auxiliary_traces": int(auxiliary.sum())}
    if not use.any():
        raise _refused(
            f"none of {n} traces is live (trace_identification_code)",
            "if they are seismic traces: set trace.stats.segy.trace_header.trace_identification_code = 1",
        )
    place = positions(values, layout, fix)
    try:
        receivers_on_map(place.src[use], place.rcv[use], place.offset[use], "project", "coordinates")
    except GeometryError as error:
        which = "group" if error.code == "E322" else "source"
        raise _refused(
            f"{which}_coordinate_x and {which}_coordinate_y are zero in the headers of all {int(use.sum())} traces",
            SET,
        ) from error
    start = place.delay
    if delay is None:
        start = start + [_cut(module, stream, i, header) for i, header in enumerate(headers)]
    shot = np.rint(values["ffid"]).astype(np.int64)
    return _Stations(shot, place.src, place.rcv, start, use)


def _header(stream: obspy.Stream, i: int) -> Any:
    """Return the SEG-Y or SU header of a trace."""
    stats = stream[i].stats
    for kind in ("segy", "su"):
        if kind in stats and "trace_header" in stats[kind]:
            return stats[kind].trace_header
    raise _refused(
        f"{_name(stream, i)} has neither stats.geometry nor stats.segy.trace_header: nothing says where it lies",
        SET,
    )


def _unit(stream: obspy.Stream) -> Literal["m", "ft"]:
    """Return the unit of the lengths in headers; SU has metres."""
    if "segy" not in stream[0].stats:
        return "m"
    file_header = getattr(getattr(stream, "stats", None), "binary_file_header", None)
    if file_header is None:
        raise _refused(
            "the stream has lost the header of its SEG-Y file (stream.stats.binary_file_header), which says whether "
            "lengths are metres or feet",
            'Survey.from_stream(stream, unit="m"), or "ft"',
        )
    return "ft" if _value(file_header, "measurement_system") == 2 else "m"


def _cut(module: Any, stream: obspy.Stream, i: int, header: Any) -> float:
    """Return by how much a trace begins after the time in its header, s, where it is a part of the trace in the file.

    A start elsewhere is a date that somebody gave the trace, and says nothing of the shot.
    """
    year, day, hour, minute, second, ns, interval = (int(_value(header, key) or 0) for key in _CLOCK)
    # as ObsPy understands years of two digits, and a year alone
    year += 0 if year >= 100 or not year else 2000 if year < 30 else 1900
    clock = {"julday": max(day, 1), "hour": hour, "minute": minute, "second": second}
    recorded = module.UTCDateTime(year=year, **clock) if year else module.UTCDateTime(0)
    stats = stream[i].stats
    late, length = (stats.starttime.ns - recorded.ns) / 1_000_000_000, 1e-6 * interval * ns
    if abs(late) >= length:
        return 0.0
    if late and not (late > 0 and late + stats.npts * stats.delta <= length + 1e-3 * stats.delta):
        raise _refused(
            f"{_name(stream, i)} begins {late:.9g} s after the time in its header, and is no part of the "
            f"{length:.9g} s there: its first sample has no time after the shot",
            "say it, in s: Survey.from_stream(stream, delay=0.0)",
        )
    return late


def of_survey(survey: Survey, segy_headers: bool) -> obspy.Stream:
    """Return a survey as a stream; see `Survey.to_stream`."""
    module = obspy_package()
    if survey.surface is not None:
        raise _refused(
            "a survey with a surface inside the model: a stream has no place for it",
            "dataclasses.replace(survey, surface=None).to_stream(), and keep survey.surface",
        )
    rows = _headers(survey) if segy_headers else None
    stream = module.Stream()
    origin = module.UTCDateTime(0)
    begin = module.UTCDateTime(ns=round(survey.time.t0 * 1_000_000_000))
    first = 0
    for shot in survey.shots:
        there = shot.data is not None or survey.reader is not None
        data = survey.traces(shot) if there else np.zeros((len(shot.rcv), survey.time.nt), np.float32)
        raw = None if rows is None else rows.of(shot, data, first)
        source = tuple(survey.frame.to_world(shot.src[None])[0].tolist())
        receivers = survey.frame.to_world(shot.rcv).tolist()
        for i, receiver in enumerate(receivers):
            # a copy: ObsPy works in place
            trace = module.Trace(data[i].copy()) if there else module.Trace()
            stats = trace.stats
            stats.delta, stats.starttime = survey.time.dt, begin
            if not there:
                stats.npts = survey.time.nt
            stats.station, stats.channel = str(shot.id), str(i + 1)
            stats.distance = float(shot.offset[i])
            stats.geometry = {
                "shot": shot.id,
                "source": source,
                "receiver": tuple(receiver),
                "origin_time": origin,
            }
            if raw is not None:
                stats.segy = {"trace_header": _as_read(raw[i, :TRACE_HEADER].tobytes())}
            stream.append(trace)
        first += len(receivers)
    if rows is not None:
        stream.stats = _file_headers(module, rows)
    return stream


def _headers(survey: Survey) -> ShotRows:
    """Return what forms the SEG-Y headers of a survey, or say how a stream does without them."""
    try:
        refuse_beyond_segy(survey)
        return ShotRows(survey)
    except SubsaltError as error:
        raise type(error)(
            error.message, "survey.to_stream(segy_headers=False) leaves such headers out", error.code
        ) from error


def _as_read(header: bytes) -> Any:
    """Return a trace header as ObsPy has it of a file."""
    from obspy.io.segy.core import LazyTraceHeaderAttribDict

    return LazyTraceHeaderAttribDict(header, ">")


def _file_headers(module: Any, rows: ShotRows) -> Any:
    """Return what ObsPy keeps of a file beside its traces."""
    from obspy.io.segy.segy import SEGYBinaryFileHeader

    survey = rows.survey
    most = max(len(s.rcv) for s in survey.shots)
    binary = binary_header(survey.time.nt, microseconds(survey.time.dt), most, sorting=1)
    return module.core.AttribDict(
        {
            "textual_file_header": rows.text([]).decode("cp037").encode("ascii"),
            "textual_file_header_encoding": "ASCII",
            "binary_file_header": SEGYBinaryFileHeader(binary, ">"),
            "data_encoding": 5,
            "endian": ">",
        }
    )
