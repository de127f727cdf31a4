"""From SEG-Y and SU shot files to a `Survey`: geometry now, traces when a shot is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_line, fit_stations, line_facts, settled, side_by_side, to_local
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, Finding, GeometryError, SegyError
from subsalt.io.geometry.join import SurveyGeometry
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_paths
from subsalt.io.reading_progress import each
from subsalt.io.scan.coordinates import geometry_errors
from subsalt.io.segy.exclude import refuse_unmatched
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import (
    GEOMETRY_STATIC,
    ScannedFile,
    column,
    header_column,
    needed_for,
    open_headers,
    refuse_depth,
)
from subsalt.io.segy.headers import FileLayout, HeaderBytes
from subsalt.io.segy.kept_headers import KeptHeaders
from subsalt.io.segy.sampling import common_time_axis, refuse_mixed_samples
from subsalt.io.segy.shot_table import ShotTable, first_of_repeats, shot_table
from subsalt.io.segy.trace_files import TraceFiles
from subsalt.parallel.comm import Comm
from subsalt.parallel.relay import plain


@dataclass
class TraceReader(TraceFiles):
    """Reads traces of one shot from the survey's files.

    Parameters
    ----------
    columns : dict of str to ndarray, (n traces,)
        Header values of all traces, those that were requested (`header_column`).
    """

    columns: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), nt) of `shot`, of all receivers when `rows` is None, checked to be finite."""
        if shot.trace_index is None:
            raise GeometryError(f"shot {shot.id} does not say which traces it has", code="E303")
        index = np.asarray(shot.trace_index, dtype=np.int64)
        index = index if rows is None else index[rows]
        if (np.diff(index) > 0).all():
            return self.read(index)
        once, place = np.unique(index, return_inverse=True)
        return self.read(once)[place]


@dataclass
class _Live:
    """Numbers, map positions and offsets of the traces that count, in the order of the files; the file of each."""

    index: NDArray[np.int64]
    ffid: NDArray
    channel: NDArray
    source_point: NDArray
    source_line: NDArray
    offset: NDArray[np.float64]
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    file: NDArray[np.int64]
    paths: list[str]

    @classmethod
    def of(cls, scanned: list[ScannedFile], use: NDArray[np.bool_]) -> _Live:
        """Return the traces `use` of all files."""
        index = np.nonzero(use)[0].astype(np.int64)
        columns = {
            name: np.concatenate([column(s.values, name, s.layout.n_traces) for s in scanned])[index]
            for name in ("ffid", "channel", "source_point", "source_line")
        } | {
            name: np.concatenate([getattr(s.positions, name) for s in scanned])[index]
            for name in ("offset", "src", "rcv")
        }
        file = np.repeat(np.arange(len(scanned)), [s.layout.n_traces for s in scanned])[index]
        return cls(index=index, **columns, file=file, paths=[s.layout.path for s in scanned])

    def take(self, rows: NDArray[np.int64]) -> _Live:
        """Return some of the traces."""
        some = {f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "paths"}
        return _Live(**some, paths=self.paths)


def read_survey(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    ndim: Literal[2, 3] | None = None,
    line: Literal["project", "x", "y"] = "project",
    frame: Frame | None = None,
    shot_key: Literal["auto", "ffid", "source"] = "auto",
    receivers: Literal["coordinates", "offset"] = "coordinates",
    geometry: SurveyGeometry | None = None,
    exact_line: bool = False,
    columns: Sequence[str] = (),
    headers: KeptHeaders | None = None,
) -> Survey:
    """Read the geometry of SEG-Y or SU shots; the traces stay in the files until `Survey.traces`.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        The files; their order does not matter for the order of shots.
    header, fix : HeaderBytes, Fix, optional
        Where header values lie, and which are wrong.
    ndim : {2, 3}, optional
        2-D when all stations lie near a line (its width below 5 % of its length), unless told.
    line : {"project", "x", "y"}
        2-D: project on the best line, or take map x or map y as the coordinate along the line.
    frame : Frame, optional
        Local coordinates to use, such as those of the model; 2-D lines are then projected on its x axis.
    shot_key : {"auto", "ffid", "source"}
        Key of shots; see `subsalt.io.segy.shot_table.shot_table`.
    receivers : {"coordinates", "offset"}
        Receiver positions from bytes 81/85, or from the signed offset (byte 37) along the line from the
        source.
    geometry : SurveyGeometry, optional
        Positions from files of their own, joined by the numbers in the headers, whose coordinates do not count then.
    exact_line : bool
        Only a line that lies on map x to the last digit keeps map x as local x, see `acquisition.line.fit_stations`.
    columns : sequence of str
        Header values that the reader of the survey keeps of every trace, see `subsalt.io.segy.geometry.header_column`.
    headers : KeptHeaders, optional
        Headers that a scan of the same files has read; of files that it does not hold they are read.

    Returns
    -------
    Survey
        Shots by ascending number, with `notes`: shot_key, dead_traces, auxiliary_traces, swap_xy, line (where it
        lies, `subsalt.acquisition.line.line_facts`).

    Raises
    ------
    SegyError, MissingInputError
        A file cannot be read.
    GeometryError
        Coordinates are missing, or the files do not share one time axis.
    FindingsError
        Traces have no place in `geometry`.

    Examples
    --------
    >>> survey = subsalt.read_survey("line.sgy")                                          # doctest: +SKIP
    >>> vp = subsalt.open_volume("vp.rsf")                                                # doctest: +SKIP
    >>> model = subsalt.EarthModel(vp.grid, vp.planes[:], frame=vp.frame)                 # doctest: +SKIP
    >>> wavelet = subsalt.ricker(f0=15, dt=0.001)                                         # doctest: +SKIP
    >>> result = subsalt.migrate(model, survey, wavelet, grid="auto", aperture=2000.0)    # doctest: +SKIP
    >>> subsalt.plot(result, survey=survey)                                               # doctest: +SKIP
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    names = as_paths(paths)
    scanned = _scanned(names, header, fix, needed_for(columns), headers)
    _refuse_faulty(scanned, fix, geometry is not None)
    layouts = [s.layout for s in scanned]
    dead = np.concatenate([s.dead for s in scanned])
    notes: dict[str, object] = {}
    use = _usable(scanned, header, fix, notes)
    live = _Live.of(scanned, use)
    if geometry is not None:
        live.src, live.rcv = geometry.placed(live, live.src[:, 2])
        notes |= {"positions": "tables", "geometry": geometry.facts}
    if fix.duplicates == "first":
        rows = first_of_repeats(live)
        notes["duplicates_left_out"] = len(live.index) - len(rows)
        live = live.take(rows)
    by_number = geometry is not None and geometry.by == "record" and shot_key == "auto"
    table = shot_table(live.ffid, live.src, "ffid" if by_number else shot_key)
    notes["shot_key"] = table.key
    notes["swap_xy"] = fix.swap_xy
    if geometry is None:
        rcv = receivers_on_map(live.src, live.rcv, live.offset, line, receivers)
        stations = live.src, rcv
    else:
        rcv = live.rcv
        order = [rows for _, rows in by_shot(table)]
        stations = live.src[[rows[0] for rows in order]], rcv[np.concatenate(order)]
    fit = fit_stations(*stations, exact_line)
    dims, frame, says = settled(stations[0], fit, ndim, line, frame)
    if dims == 2:
        notes["line"] = line_facts(*stations, fit, frame, says)
    src, rcv = local_stations(live.src, rcv, dims, frame, notes)
    time, shift = common_time_axis(layouts, np.concatenate([s.positions.delay for s in scanned]), use)
    notes["warnings"] = [f.message for lay in layouts for f in lay.findings if f.level == "warning"]
    first = np.cumsum([0, *(lay.n_traces for lay in layouts)])
    notes["traces_in_files"] = int(first[-1])
    live_columns = {
        name: np.concatenate([header_column(name, s, fix) for s in scanned])
        for name in columns
        if name != GEOMETRY_STATIC
    }
    if GEOMETRY_STATIC in columns and geometry is not None:
        live_columns[GEOMETRY_STATIC] = np.zeros(int(first[-1]))
        live_columns[GEOMETRY_STATIC][live.index] = geometry.statics(live)
    reader = TraceReader(
        layouts,
        None,
        first,
        time,
        shift,
        np.flatnonzero(dead),
        fix.nan,
        fix.polarity or 1,
        gap=0,
        columns=live_columns,
    )
    shots = []
    for k, rows in by_shot(table):
        places = rows[::-1] if fix.channels == "reversed" else rows
        shots.append(Shot(int(table.ids[k]), src[rows[0]], rcv[places], trace_index=live.index[rows]))
    return Survey(shots, time, dims, frame, reader, [str(p) for p in names], notes)


def _scanned(
    names: Sequence[Path], header: HeaderBytes, fix: Fix, values: Sequence[str], headers: KeptHeaders | None
) -> list[ScannedFile]:
    """Return the headers of all files, those that were kept or read now."""
    scanned = []
    for path in each(names, "files", "headers"):
        with InputFile(path) as file:
            refuse_depth(file)
            one = None if headers is None else headers.take(file, header, fix, values)
            scanned.append(open_headers(file, header, fix, values) if one is None else one)
    return scanned


def _refuse_faulty(scanned: list[ScannedFile], fix: Fix, placed: bool) -> None:
    """Refuse files with errors, and those of other samples; `placed` says that their coordinates do not count."""
    refuse(
        [f for s in scanned for f in s.layout.findings]
        + [f for s in scanned for f in geometry_errors(s, fix, placed)]
    )
    refuse_mixed_samples([s.layout for s in scanned])


def _usable(
    scanned: list[ScannedFile], header: HeaderBytes, fix: Fix, notes: dict[str, object]
) -> NDArray[np.bool_]:
    """Return which traces of all files count, and note how many of the others there are."""
    dead = np.concatenate([s.dead for s in scanned])
    auxiliary = np.concatenate([s.auxiliary for s in scanned])
    refuse_unmatched(fix.exclude, np.any([s.matched for s in scanned], axis=0))
    left_out = np.concatenate([s.excluded for s in scanned])
    use = ~(auxiliary | left_out)
    if fix.dead == "skip":
        use &= ~dead
    if not use.any():
        raise GeometryError(
            f"none of {len(use)} traces is live (byte {header.trace_id})",
            "if they are seismic traces: [data.fix] all_traces = true",
            code="E325",
        )
    notes |= {"dead_traces": int(dead.sum()), "auxiliary_traces": int(auxiliary.sum())}
    kinds = np.concatenate([column(s.values, "trace_id", s.layout.n_traces) for s in scanned])[use]
    notes["trace_ids"] = np.unique(kinds).tolist()
    if fix.exclude:
        notes["excluded_traces"] = int(left_out.sum())
    return use


def by_shot(table: ShotTable) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield the shots by ascending number, with the rows of their traces in file order."""
    # the sort is stable
    order = np.argsort(table.member, kind="stable")
    bounds = np.searchsorted(table.member[order], np.arange(len(table.ids) + 1))
    for k in np.argsort(table.ids, kind="stable"):
        yield int(k), order[bounds[k] : bounds[k + 1]]


def refuse(findings: list[Finding]) -> None:
    """Raise the first finding that is an error."""
    for f in findings:
        if f.level == "error":
            raise SegyError(f.message, f.fix, code=f.code)


def receivers_on_map(
    src: NDArray[np.float64], rcv: NDArray[np.float64], offset: NDArray[np.float64], line: str, receivers: str
) -> NDArray[np.float64]:
    """Return the receivers on the map: as the headers have them, or placed by offsets."""
    if line not in ("project", "x", "y") or receivers not in ("coordinates", "offset"):
        raise ConfigError(
            f"line = {line!r}, receivers = {receivers!r}",
            "line is project, x or y; receivers is coordinates or offset",
        )
    if receivers == "offset":
        if not offset.any():
            raise GeometryError(
                "offsets (byte 37) are all zero", "give positions in [data.geometry]", code="E321"
            )
        turn = Frame(0.0, 0.0, fit_line(src).frame.azimuth if src[:, :2].any() else 0.0)
        step = turn.to_world(np.column_stack([offset, np.zeros((len(offset), 2))]))
        return np.column_stack([src[:, :2] + step[:, :2], rcv[:, 2]])
    if not rcv[:, :2].any():
        hint = ""
        if offset.any():
            hint = '; the offsets (byte 37) are set: [data] receivers = "offset" uses them'
        raise GeometryError(
            "receiver coordinates (bytes 81, 85) are all zero",
            f"say where they are: [data.bytes] receiver_x = ..., or in [data.geometry]{hint}",
            code="E322",
        )
    if not src[:, :2].any() and len(src) > 1 and offset.any():
        # a source at the origin is possible; then offsets agree with the receivers' distances
        d = np.sqrt(rcv[:, 0] ** 2 + rcv[:, 1] ** 2)
        if np.abs(d - np.abs(offset)).max() > 1.0 + 0.02 * d.max():
            raise GeometryError(
                "source coordinates (bytes 73, 77) are all zero and the offsets (byte 37) contradict that",
                "say where they are: [data.bytes] source_x = ..., or in [data.geometry]",
                code="E323",
            )
    return rcv


def local_stations(
    src: NDArray[np.float64], rcv: NDArray[np.float64], ndim: int, frame: Frame, notes: dict[str, object]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sources and receivers in local coordinates, in 2-D on the line; cables beside one another are noted."""
    src, rcv = to_local(src, frame), to_local(rcv, frame)
    if ndim == 2:
        if (cables := side_by_side(src, rcv)) is not None:
            notes["cables"] = cables
        src, rcv = src.copy(), rcv.copy()
        src[:, 1] = rcv[:, 1] = 0.0
    return src, rcv


def read_once(read: Callable[[], Survey], comm: Comm) -> Survey:
    """Return the survey that `read` returns on rank 0, on all ranks. Collective.

    Parameters
    ----------
    read : callable
        Reads a survey from SEG-Y or SU files, its traces left there (`read_survey`); called on rank 0 alone.
    comm : Comm
        All ranks.

    Raises
    ------
    SubsaltError
        On all ranks, what `read` raises.
    """
    if comm.size == 1:
        return read()
    survey: Survey | None = None
    facts: dict[str, Any] = {}
    arrays: list[NDArray] = []
    with comm.together():
        if comm.is_root:
            survey = read()
            facts, arrays = _packed(survey)
    facts = comm.bcast(facts)
    for i, (shape, kind) in enumerate(facts["arrays"]):
        if not comm.is_root:
            arrays.append(np.empty(shape, kind))
        comm.bcast_array(arrays[i])
    return survey if survey is not None else _unpacked(facts, arrays)


def _packed(survey: Survey) -> tuple[dict[str, Any], list[NDArray]]:
    """Return what another rank needs of a survey: JSON, and arrays of positions, trace numbers, dead traces, delays."""
    reader = survey.reader
    assert isinstance(reader, TraceReader)
    shots = survey.shots
    index = [np.asarray(s.trace_index, dtype=np.int64) for s in shots]
    late = np.empty(0, np.int32) if reader.shift is None else reader.shift
    arrays = [
        np.ascontiguousarray(a)
        for a in (
            np.array([s.id for s in shots], np.int64),
            np.array([len(s.rcv) for s in shots], np.int64),
            np.stack([s.src for s in shots]),
            np.concatenate([s.rcv for s in shots]),
            np.concatenate(index),
            reader.first,
            reader.dead,
            late,
            *reader.columns.values(),
        )
    ]
    facts = {
        "arrays": [[list(a.shape), a.dtype.str] for a in arrays],
        "time": asdict(survey.time),
        "ndim": survey.ndim,
        "frame": asdict(survey.frame),
        "files": survey.source_files,
        "notes": plain(survey.notes),
        "layouts": [lay.to_json() for lay in reader.layouts],
        "nan": reader.nan,
        "polarity": reader.polarity,
        "late": reader.shift is not None,
        "columns": list(reader.columns),
    }
    return facts, arrays


def _unpacked(packed: dict[str, Any], arrays: list[NDArray]) -> Survey:
    """Return the survey that `_packed` described."""
    ids, counts, src, rcv, index, first, dead, late, *columns = arrays
    time = TimeAxis(**packed["time"])
    layouts = [FileLayout.from_json(facts) for facts in packed["layouts"]]
    shift = late if packed["late"] else None
    by_name = dict(zip(packed["columns"], columns, strict=True))
    reader = TraceReader(
        layouts, None, first, time, shift, dead, packed["nan"], packed["polarity"], gap=0, columns=by_name
    )
    ends = np.cumsum(counts)
    shots = [
        Shot(int(i), src[k], rcv[e - n : e], trace_index=index[e - n : e])
        for k, (i, n, e) in enumerate(zip(ids, counts, ends, strict=True))
    ]
    frame = replace(Frame(), **packed["frame"])
    return Survey(shots, time, packed["ndim"], frame, reader, packed["files"], packed["notes"])
