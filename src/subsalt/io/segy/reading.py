"""From SEG-Y and SU shot files to a `Survey`: geometry now, traces when a shot is asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.line import fit_line, fit_stations, line_facts, settled, side_by_side, to_local
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import ConfigError, DataError, Finding, GeometryError, SegyError
from subsalt.io.files import InputFile, as_paths
from subsalt.io.scan.findings import geometry_errors
from subsalt.io.scan.scan import ScannedFile, open_headers
from subsalt.io.segy.exclude import matched, refuse_unmatched
from subsalt.io.segy.geometry import POSITION_NAMES, column
from subsalt.io.segy.headers import FileLayout, Fix, HeaderBytes
from subsalt.io.segy.sampling import common_time_axis, refuse_mixed_samples
from subsalt.io.segy.shots import first_of_repeats, shot_table
from subsalt.io.segy.trace_headers import read_traces
from subsalt.io.traffic import COUNTED, TRACES
from subsalt.parallel.comm import Comm
from subsalt.parallel.relay import plain


@dataclass
class TraceReader:
    """Reads traces of one shot from the survey's files; opens them for that long only.

    Parameters
    ----------
    layouts : list of FileLayout
        The files, in the order of the survey's trace numbers.
    first : ndarray, (n files + 1,)
        Trace number at which each file begins.
    time : TimeAxis
        The survey's samples.
    shift : ndarray, (n traces,), int32, or None
        Samples by which each trace begins after `time.t0`.
    dead : ndarray, (n traces,), bool
        Traces to be returned as zeros.
    """

    layouts: list[FileLayout]
    first: NDArray[np.int64]
    time: TimeAxis
    shift: NDArray[np.int32] | None
    dead: NDArray[np.bool_]
    fix: Fix

    def __call__(self, shot: Shot, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """Return the traces (len(rows), nt) of `shot`, of all receivers when `rows` is None, checked to be finite."""
        if shot.trace_index is None:
            raise GeometryError(f"shot {shot.id} does not say which traces it has", code="E303")
        index = np.asarray(shot.trace_index, dtype=np.int64)
        index = index if rows is None else index[rows]
        out = np.zeros((len(index), self.time.nt), np.float32)
        owner = np.searchsorted(self.first, index, side="right") - 1
        for f in np.unique(owner):
            lay = self.layouts[f]
            own = np.nonzero(owner == f)[0]
            with InputFile(lay.path) as file:
                if file.size != lay.size:
                    raise SegyError(
                        f"{lay.path} had {lay.size} bytes when the survey was read, now {file.size}",
                        "do not change the files of a running survey; start again",
                        code="E218",
                    )
                samples = read_traces(file, lay, index[own] - self.first[f])
            TRACES.add(wanted=samples.nbytes, read=len(own) * lay.trace_bytes)
            COUNTED.add(wanted=samples.nbytes)
            self._check(samples, lay, index[own] - self.first[f])
            samples[self.dead[index[own]]] = 0.0
            if self.shift is None:
                out[own] = samples
                continue
            for row, trace, late in zip(own, samples, self.shift[index[own]], strict=True):
                out[row, late : late + lay.ns] = trace
        if self.fix.polarity == -1:
            np.negative(out, out=out)
        return out

    def _check(self, samples: NDArray[np.float32], lay: FileLayout, traces: NDArray[np.int64]) -> None:
        good = np.isfinite(samples)
        if good.all():
            return
        if self.fix.nan == "zero":
            samples[~good] = 0.0
            return
        row, at = (int(v[0]) for v in np.nonzero(~good))
        raise DataError(
            f"{lay.path}: {int((~good).sum())} samples are not finite, the first in trace "
            f"{int(traces[row]) + 1}, "
            f"sample {at + 1}",
            'correct the data, or set such samples to zero: [data] bad_traces = "zero"',
            code="E250",
        )


def read_survey(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    ndim: Literal[2, 3] | None = None,
    line: Literal["project", "x", "y"] = "project",
    frame: Frame | None = None,
    select: Sequence[int] | None = None,
    shot_key: Literal["auto", "ffid", "source"] = "auto",
    receivers: Literal["coordinates", "offset"] = "coordinates",
    exact_line: bool = False,
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
    select : sequence of int, optional
        Numbers of the shots to keep.
    shot_key : {"auto", "ffid", "source"}
        What tells shots apart; see `subsalt.io.segy.shots.shot_table`.
    receivers : {"coordinates", "offset"}
        Receiver positions from bytes 81/85, or from the signed offset (byte 37) along the line from the
        source.
    exact_line : bool
        Only a line that lies on map x to the last digit keeps map x as local x, see `acquisition.line.fit_stations`.

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
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    names = as_paths(paths)
    scanned: list[ScannedFile] = []
    for path in names:
        with InputFile(path) as file:
            scanned.append(open_headers(file, header, fix, POSITION_NAMES))
    layouts = [s.layout for s in scanned]
    refuse(
        [f for lay in layouts for f in lay.findings] + [f for s in scanned for f in geometry_errors(s, fix)]
    )
    refuse_mixed_samples(layouts)

    dead = np.concatenate([s.dead for s in scanned])
    auxiliary = np.concatenate([s.auxiliary for s in scanned])
    left_out = _left_out(scanned, fix)
    use = ~(auxiliary | left_out)
    if fix.dead == "skip":
        use &= ~dead
    if not use.any():
        raise GeometryError(
            f"none of {len(use)} traces is live (byte {header.trace_id})",
            "if they are seismic traces: [data.fix] all_traces = true",
            code="E325",
        )
    index = np.nonzero(use)[0].astype(np.int64)
    src = np.concatenate([s.positions.src for s in scanned])[index]
    rcv = np.concatenate([s.positions.rcv for s in scanned])[index]
    offset = np.concatenate([s.positions.offset for s in scanned])[index]
    delay = np.concatenate([s.positions.delay for s in scanned])
    ffid = np.concatenate([column(s.values, "ffid", s.layout.n_traces) for s in scanned])[index]
    notes: dict[str, object] = {"dead_traces": int(dead.sum()), "auxiliary_traces": int(auxiliary.sum())}
    if fix.exclude:
        notes["excluded_traces"] = int(left_out.sum())
    if fix.duplicates == "first":
        channel = np.concatenate([column(s.values, "channel", s.layout.n_traces) for s in scanned])[index]
        keep = first_of_repeats(_Rows(ffid, channel, src, rcv))
        notes["duplicates_left_out"] = len(index) - len(keep)
        index, src, rcv, offset, ffid = index[keep], src[keep], rcv[keep], offset[keep], ffid[keep]

    table = shot_table(ffid, src, shot_key)
    notes["shot_key"] = table.key
    notes["swap_xy"] = fix.swap_xy
    rcv = _receivers(src, rcv, offset, line, receivers)
    src, rcv, dims, frame = _local(src, rcv, ndim, line, frame, exact_line, notes)
    time, shift = common_time_axis(layouts, delay, use)
    notes["warnings"] = [f.message for lay in layouts for f in lay.findings if f.level == "warning"]
    reader = TraceReader(layouts, np.cumsum([0, *(lay.n_traces for lay in layouts)]), time, shift, dead, fix)
    # traces of a shot stay in file order: the sort is stable
    order = np.argsort(table.member, kind="stable")
    bounds = np.searchsorted(table.member[order], np.arange(len(table.ids) + 1))
    wanted = None if select is None else {int(i) for i in select}
    if wanted is not None and (missing := wanted - {int(i) for i in table.ids}):
        first, last = int(table.ids.min()), int(table.ids.max())
        raise GeometryError(
            f"no shot has id {sorted(missing)[:5]}; ids run from {first} to {last}",
            "select from those",
            code="E304",
        )
    shots = []
    for k in np.argsort(table.ids, kind="stable"):
        if wanted is not None and int(table.ids[k]) not in wanted:
            continue
        rows = order[bounds[k] : bounds[k + 1]]
        places = rows[::-1] if fix.channels == "reversed" else rows
        shots.append(Shot(int(table.ids[k]), src[rows[0]], rcv[places], trace_index=index[rows]))
    return Survey(shots, time, dims, frame, reader, [str(p) for p in names], notes)


@dataclass
class _Rows:
    """Numbers and positions of the live traces, for those that repeat."""

    ffid: NDArray
    channel: NDArray
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]


def _left_out(scanned: list[ScannedFile], fix: Fix) -> NDArray[np.bool_]:
    """Return which traces of all files the user leaves out; refuse entries that leave out none."""
    known: set[int] = set()
    for s in scanned if fix.exclude else []:
        n = s.layout.n_traces
        numbers = (column(s.values, name, n) for name in ("ffid", "channel"))
        known |= set(np.flatnonzero(matched(fix.exclude, s.layout.path, np.arange(n), *numbers)).tolist())
    refuse_unmatched(fix.exclude, known)
    return np.concatenate([s.excluded for s in scanned])


def refuse(findings: list[Finding]) -> None:
    """Raise the first finding that is an error."""
    for f in findings:
        if f.level == "error":
            raise SegyError(f.message, f.fix, code=f.code)


def _receivers(
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
            raise GeometryError("offsets (byte 37) are all zero", "give the geometry in a CSV", code="E321")
        turn = Frame(0.0, 0.0, fit_line(src).frame.azimuth if src[:, :2].any() else 0.0)
        step = turn.to_world(np.column_stack([offset, np.zeros((len(offset), 2))]))
        return np.column_stack([src[:, :2] + step[:, :2], rcv[:, 2]])
    if not rcv[:, :2].any():
        hint = ""
        if offset.any():
            hint = '; the offsets (byte 37) are set: [data] receivers = "offset" uses them'
        raise GeometryError(
            "receiver coordinates (bytes 81, 85) are all zero",
            f"say where they are: [data.bytes] receiver_x = ..., or give a CSV{hint}",
            code="E322",
        )
    if not src[:, :2].any() and len(src) > 1 and offset.any():
        # a source at the origin is possible; then offsets agree with the receivers' distances
        d = np.sqrt(rcv[:, 0] ** 2 + rcv[:, 1] ** 2)
        if np.abs(d - np.abs(offset)).max() > 1.0 + 0.02 * d.max():
            raise GeometryError(
                "source coordinates (bytes 73, 77) are all zero and the offsets (byte 37) contradict that",
                "say where they are: [data.bytes] source_x = ..., or give a CSV",
                code="E323",
            )
    return rcv


def _local(
    src: NDArray[np.float64],
    rcv: NDArray[np.float64],
    ndim: int | None,
    line: str,
    frame: Frame | None,
    exact: bool,
    notes: dict[str, object],
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, Frame]:
    """Return sources and receivers in local coordinates, the dimension and the frame."""
    fit = fit_stations(src, rcv, exact)
    ndim, frame, says = settled(src, fit, ndim, line, frame)
    if ndim == 2:
        notes["line"] = line_facts(src, rcv, fit, frame, says)
    src, rcv = to_local(src, frame), to_local(rcv, frame)
    if ndim == 2:
        if (cables := side_by_side(src, rcv)) is not None:
            notes["cables"] = cables
        src, rcv = src.copy(), rcv.copy()
        src[:, 1] = rcv[:, 1] = 0.0
    return src, rcv, ndim, frame


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
    told: dict[str, Any] = {}
    arrays: list[NDArray] = []
    with comm.together():
        if comm.is_root:
            survey = read()
            told, arrays = _tell(survey)
    told = comm.bcast(told)
    for i, (shape, kind) in enumerate(told["arrays"]):
        if not comm.is_root:
            arrays.append(np.empty(shape, kind))
        comm.bcast_array(arrays[i])
    return survey if survey is not None else _heard(told, arrays)


def _tell(survey: Survey) -> tuple[dict[str, Any], list[NDArray]]:
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
        )
    ]
    told = {
        "arrays": [[list(a.shape), a.dtype.str] for a in arrays],
        "time": asdict(survey.time),
        "ndim": survey.ndim,
        "frame": asdict(survey.frame),
        "files": survey.source_files,
        "notes": plain(survey.notes),
        "layouts": plain([asdict(lay) for lay in reader.layouts]),
        # what was left out is no part of the shots any more
        "fix": plain(asdict(replace(reader.fix, exclude=(), trace_ids=None))),
        "late": reader.shift is not None,
    }
    return told, arrays


def _heard(told: dict[str, Any], arrays: list[NDArray]) -> Survey:
    """Return the survey that `_tell` described."""
    ids, counts, src, rcv, index, first, dead, late = arrays
    time = TimeAxis(**told["time"])
    layouts = []
    for facts in told["layouts"]:
        findings = [Finding(**f) for f in facts.pop("findings")]
        layouts.append(FileLayout(**facts | {"revision": tuple(facts["revision"])}, findings=findings))
    reader = TraceReader(layouts, first, time, late if told["late"] else None, dead, Fix(**told["fix"]))
    ends = np.cumsum(counts)
    shots = [
        Shot(int(i), src[k], rcv[e - n : e], trace_index=index[e - n : e])
        for k, (i, n, e) in enumerate(zip(ids, counts, ends, strict=True))
    ]
    frame = replace(Frame(), **told["frame"])
    return Survey(shots, time, told["ndim"], frame, reader, told["files"], told["notes"])
