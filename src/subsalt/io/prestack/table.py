"""Prestack traces in any order as a table: one row per usable trace, no objects; the samples stay in the files.

A table of 10 million traces takes about 70 bytes each. Reading it takes every header once, in parts on several ranks.

Traces in blocks, read by a thread while the caller works on the block before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import Finding, GeometryError
from subsalt.io.geometry.join import SurveyGeometry
from subsalt.io.objects import as_paths
from subsalt.io.prestack.positions import BinGeometry, LineGeometry, place
from subsalt.io.prestack.scan import BINNING, PrestackScan, scan_prestack
from subsalt.io.read_ahead import ReadAhead
from subsalt.io.scan.findings import late_findings, said_once
from subsalt.io.scan.trace_set import TraceSet
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import GEOMETRY_STATIC, unit_factor
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.segy.reading import refuse
from subsalt.io.segy.sampling import common_time_axis, refuse_mixed_samples
from subsalt.io.segy.trace_files import GAP, PIECE, TraceFiles
from subsalt.numerics import fixedmath
from subsalt.parallel.comm import Comm, single


def trace_findings(scan: PrestackScan, delay: NDArray[np.float64], fix: Fix) -> Iterator[Finding]:
    """Yield warnings about dead, auxiliary and late traces.

    Parameters
    ----------
    scan : PrestackScan
        Scan of all files.
    delay : ndarray, (n,)
        Time of the first sample of each usable trace, s.
    fix : Fix
        Corrections by the user.
    """
    n, files = int(scan.first[-1]), len(scan.layouts)
    where = scan.layouts[0].path if files == 1 else f"{files} files"
    if scan.dead:
        done = "kept as zeros" if fix.dead == "zero" else "skipped"
        yield Finding(
            "W230",
            "warning",
            f"{where}: {scan.dead} of {n} traces are dead (trace id 2) -> {done}",
            "",
            {"count": scan.dead},
        )
    if scan.auxiliary:
        yield Finding(
            "W231",
            "warning",
            f"{where}: {scan.auxiliary} of {n} traces are auxiliary (trace id other than 0, 1, 2) -> skipped",
            "if they are seismic traces: [data.fix] all_traces = true",
            {"count": scan.auxiliary},
        )
    yield from late_findings(where, delay, fix)


__all__ = ["BinGeometry", "LineGeometry", "TraceFiles", "TraceTable", "azimuths", "open_traces"]


class Treatment(Protocol):
    """The treatment of traces before they are imaged.

    Attributes
    ----------
    scratch : int
        Bytes that it takes beside the traces that come in and go out.
    """

    scratch: int

    def __call__(self, rows: NDArray[np.int64], traces: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the traces of some rows of the table, (len(rows), table.time.nt), of those that were read."""


@dataclass
class TraceTable:
    """Usable traces in canonical order: that of the files as given, then of the traces in them.

    Parameters
    ----------
    number : ndarray, (n,), int64
        Trace number over all files, from 0; dead and auxiliary traces count.
    src, rcv : ndarray, (n, 2), float64
        Map positions x, y of source and receiver, m.
    offset : ndarray, (n,), float64
        Their distance, m.
    azimuth : ndarray, (n,), float64
        Direction from source to receiver, degrees clockwise from map y (north), 0 <= azimuth < 360; 0 at offset 0.
    cdp, ffid, channel : ndarray, (n,), int32
        Header values (bytes 21, 9, 13); zeros where the files have none.
    time : TimeAxis
        Time axis of all traces, once they are treated; that of what is read is ``files.time``.
    files : TraceFiles
        Where the samples are.
    line : LineGeometry or None
        The line that gave the positions, when the headers did not.
    inline, crossline : ndarray, (n,), int32, or None
        Line numbers (bytes 189, 193); None where they are zero everywhere.
    bin_x, bin_y : ndarray, (n,), float64, or None
        Map position of the bin (bytes 181, 185), m; None where they are zero everywhere.
    headers : dict of str to ndarray, (n,), float64
        Header values that the treatment asks for.
    treatment : Treatment, optional
        Treatment of traces before they are imaged.
    notes : dict
        Findings and decisions for the report: dead_traces, auxiliary_traces, warnings, positions, offsets,
        elevations.
    findings : list of Finding
        Oddities of the files met on the way.
    """

    number: NDArray[np.int64]
    src: NDArray[np.float64]
    rcv: NDArray[np.float64]
    offset: NDArray[np.float64]
    azimuth: NDArray[np.float64]
    cdp: NDArray[np.int32]
    ffid: NDArray[np.int32]
    channel: NDArray[np.int32]
    time: TimeAxis
    files: TraceFiles
    line: LineGeometry | None = None
    inline: NDArray[np.int32] | None = None
    crossline: NDArray[np.int32] | None = None
    bin_x: NDArray[np.float64] | None = None
    bin_y: NDArray[np.float64] | None = None
    headers: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    treatment: Treatment | None = None
    notes: dict[str, Any] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.number)

    @property
    def midpoint(self) -> NDArray[np.float64]:
        """Middle between source and receiver, (n, 2), m; a new array at each call."""
        return 0.5 * (self.src + self.rcv)

    @property
    def nbytes(self) -> int:
        """Bytes of all columns."""
        return sum(column.nbytes for column in [*self._columns().values(), *self.headers.values()])

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> TraceTable:
        """Return the table of some rows, with the same files."""
        headers = {name: column[index] for name, column in self.headers.items()}
        return replace(
            self, headers=headers, **{name: column[index] for name, column in self._columns().items()}
        )

    def traces(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the traces of ascending rows, (len(rows), time.nt), read from the files and treated."""
        traces = self.files.read(self.number[rows])
        return traces if self.treatment is None else self.treatment(rows, traces)

    def trace_set(self) -> TraceSet:
        """Return these traces for the rules on single traces."""
        file = np.searchsorted(self.files.first, self.number, side="right") - 1
        return TraceSet(
            self.files.paths,
            file,
            self.number - self.files.first[file],
            self.ffid,
            self.channel,
            self.offset,
            self.src,
            self.rcv,
            (self.ffid, self.channel, self.src, np.ones(len(self), bool), self.rcv),
        )

    def _columns(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


def open_traces(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    *,
    line: LineGeometry | None = None,
    bins: BinGeometry | None = None,
    geometry: SurveyGeometry | None = None,
    comm: Comm | None = None,
    extra: Sequence[str] = (),
) -> TraceTable:
    """Read the headers of prestack SEG-Y and SU files; the traces stay there.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        The files; their order, and that of the traces in them, is the order of the table. Any order will do.
    header, fix : HeaderBytes, Fix, optional
        Where header values lie, and which are wrong.
    line : LineGeometry, optional
        Positions of a 2-D line from CDP numbers and offsets; coordinates of the headers do not count then.
    bins : BinGeometry, optional
        Midpoints at the positions of the bins (bytes 181, 185), sources and receivers from offsets; likewise.
    geometry : SurveyGeometry, optional
        Positions from files of their own, joined by the numbers in the headers; likewise.
    comm : Comm, optional
        Ranks that all want the table: each reads a part of the headers. Then this is collective.
    extra : sequence of str
        Header values to keep of every trace, see `subsalt.io.segy.geometry.header_column`.

    Returns
    -------
    TraceTable
        The same on all ranks.

    Raises
    ------
    SegyError, MissingInputError
        A file cannot be read.
    GeometryError
        Positions are missing, no trace is live, or the files do not share one time axis.
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    names = as_paths(paths)
    placed = geometry is not None
    scan = scan_prestack(names, header, fix, comm or single(), extra, placed=placed)
    findings = said_once([f for lay in scan.layouts for f in lay.findings], map(str, names))
    refuse(findings)
    refuse_mixed_samples(scan.layouts)
    columns = scan.columns
    if not len(columns["number"]):
        raise GeometryError(
            f"none of {int(scan.first[-1])} traces is live (byte {header.trace_id})",
            "if they are seismic traces: [data.fix] all_traces = true",
            code="E325",
        )
    delay = columns.pop("delay")
    findings += trace_findings(scan, delay, fix)
    time, late = common_time_axis(scan.layouts, delay, np.ones(len(delay), bool))
    del delay
    notes: dict[str, Any] = {
        "traces_in_files": int(scan.first[-1]),
        "dead_traces": scan.dead,
        "auxiliary_traces": scan.auxiliary,
        **({"excluded_traces": scan.excluded} if fix.exclude else {}),
        "warnings": [f.message for f in findings],
        "scalars": scan.scalars if fix.scalar is None else [fix.scalar],
        "feet": any(unit_factor(lay, fix) != 1.0 for lay in scan.layouts),
        "elevations": {name: list(span) for name, span in scan.elevations.items()},
    }
    if geometry is not None:
        src, rcv = _by_files(geometry, columns, scan, notes)
    else:
        src, rcv = place(columns, header, line if bins is None else bins, notes)
    del columns["said"]
    if fix.channels == "reversed":
        rcv = _reversed(columns["ffid"], rcv)
        notes["reversed"] = True
    d = rcv - src
    offset = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)
    binning: dict[str, Any] = {name: columns[name] for name in BINNING if name in columns}
    return TraceTable(
        number=columns["number"],
        src=src,
        rcv=rcv,
        offset=offset,
        azimuth=azimuths(d, offset),
        cdp=columns["cdp"],
        ffid=columns["ffid"],
        channel=columns["channel"],
        time=time,
        files=_files(scan, columns["number"], time, late, fix),
        line=line,
        headers=scan.headers,
        notes=notes,
        findings=findings,
        **binning,
    )


@dataclass
class _Numbered:
    """Keys that join traces with positions from files of their own, see `subsalt.io.geometry.join.Traces`."""

    ffid: NDArray[np.int32]
    channel: NDArray[np.int32]
    source_point: NDArray[np.int32]
    source_line: NDArray[np.int32]
    file: NDArray[np.int64]
    paths: list[str]


def _by_files(
    geometry: SurveyGeometry, columns: dict[str, NDArray[Any]], scan: PrestackScan, notes: dict[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sources and receivers, (n, 2) each, as files of positions have them."""
    names = ("ffid", "channel", "source_point", "source_line")
    numbers = {n: columns[n] if n in names[:2] else columns.pop(n) for n in names}
    file = np.searchsorted(scan.first, columns["number"], side="right") - 1
    traces = _Numbered(**numbers, file=file, paths=[lay.path for lay in scan.layouts])
    src, rcv = geometry.placed(traces, columns.pop("z"))
    for name, points in (("source_z", src), ("receiver_z", rcv)):
        if name in scan.headers:
            scan.headers[name] = points[:, 2].copy()
    if GEOMETRY_STATIC in scan.headers:
        scan.headers[GEOMETRY_STATIC] = geometry.statics(traces)
    notes["positions"] = {"from": "files", "joined_by": geometry.by}
    notes["geometry"] = geometry.facts
    notes["offsets"] = {"in_headers": bool(columns["said"].any()), "disagree": 0}
    notes["elevations"] = {
        name: [float(p[:, 2].min()), float(p[:, 2].max())] for name, p in (("source", src), ("receiver", rcv))
    }
    return src[:, :2].copy(), rcv[:, :2].copy()


def azimuths(d: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return directions of map vectors, degrees clockwise from y, 0 <= azimuth < 360.

    Parameters
    ----------
    d : ndarray, (n, 2)
        x, y.
    length : ndarray, (n,)
        Their lengths; where it is 0, so is the azimuth.

    Notes
    -----
    The arcsine of the shorter component over the length, in the octant that the signs give: accurate everywhere, and
    the same bits on every processor.
    """
    out = np.empty(len(d))
    # a piece at a time: a dozen temporaries of all traces would weigh more than the table
    for lo in range(0, len(d), 1 << 16):
        part = slice(lo, lo + (1 << 16))
        x, y, r = np.abs(d[part, 0]), np.abs(d[part, 1]), length[part]
        angle = fixedmath.asin(np.minimum(x, y) / np.where(r > 0, r, 1.0)) * (180.0 / fixedmath.PI)
        angle = np.where(x > y, 90.0 - angle, angle)
        angle = np.where(d[part, 1] < 0, 180.0 - angle, angle)
        angle = np.where(d[part, 0] < 0, 360.0 - angle, angle)
        out[part] = np.where((r > 0) & (angle < 360.0), angle, 0.0)
    return out


def _files(
    scan: PrestackScan,
    number: NDArray[np.int64],
    time: TimeAxis,
    late: NDArray[np.int32] | None,
    fix: Fix,
) -> TraceFiles:
    """Return what reads the samples; delays and dead traces are known by trace number there."""
    shift = None
    if late is not None:
        shift = np.zeros(int(scan.first[-1]), np.int32)
        shift[number] = late
    return TraceFiles(
        scan.layouts, scan.stamps, scan.first, time, shift, scan.kept_dead, fix.nan, fix.polarity or 1
    )


def _reversed(ffid: NDArray[np.int32], rcv: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the places of receivers (n, 2) in the reverse order within each field record."""
    order = np.argsort(ffid, kind="stable")
    ends = np.searchsorted(ffid[order], ffid[order], side="right")
    begins = np.searchsorted(ffid[order], ffid[order], side="left")
    out = np.empty_like(rcv)
    out[order] = rcv[order[begins + ends - 1 - np.arange(len(order))]]
    return out


def stream_bytes(size: int, nt: int, trace_bytes: int) -> int:
    """Return the most memory that `TraceBlocks` takes: two blocks, and the piece of a file that is being converted."""
    return 2 * size * nt * 4 + min(PIECE + GAP + trace_bytes, size * (trace_bytes + GAP))


def treatment_bytes(size: int, table: TraceTable) -> int:
    """Return what treating a block takes beside `stream_bytes`: the block as read, as treated, and between, bytes."""
    if table.treatment is None:
        return 0
    return 4 * size * (table.files.time.nt + table.time.nt) + table.treatment.scratch


class TraceBlocks(ReadAhead[int]):
    """Blocks of a selection of traces in table order, read ahead by a thread.

    Parameters
    ----------
    table : TraceTable
        The traces.
    index : ndarray, (m,), int64
        Rows of the table, ascending.
    size : int
        Traces of a block; the last one may have fewer.
    start : int
        First block, to resume where another run stopped.

    Attributes
    ----------
    bytes_read : int
        Bytes of traces that were read, with headers and gaps.

    Notes
    -----
    Iterate once, within ``with``, or call `close` after: the thread holds two blocks. A block that was yielded is
    overwritten when the next one is asked for.
    """

    def __init__(self, table: TraceTable, index: NDArray[np.int64], size: int, *, start: int = 0) -> None:
        if size < 1:
            raise ValueError(f"a block of {size} traces")
        self._table, self._index, self._size = table, np.asarray(index, np.int64), size
        self._begun = False
        self.bytes_read = 0
        first_rows = range(start * size, len(self._index), size)
        super().__init__(
            first_rows, self._read_block, (min(size, len(self._index)), table.time.nt), name="traces"
        )

    def __len__(self) -> int:
        """Number of blocks to come, from `start`."""
        return len(self._pieces)

    def _rows(self, first: int) -> NDArray[np.int64]:
        return self._index[first : first + self._size]

    def _read_block(self, first: int, buffer: NDArray[np.float32]) -> None:
        rows = self._rows(first)
        table, number = self._table, self._table.number[rows]
        if table.treatment is None:
            self.bytes_read += table.files.read_into(number, buffer[: len(rows)])
            return
        read = np.empty((len(rows), table.files.time.nt), np.float32)
        self.bytes_read += table.files.read_into(number, read)
        buffer[: len(rows)] = table.treatment(rows, read)

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        """Yield (rows of the table, their traces (m, nt)); what reading met is raised here."""
        if self._begun or self._thread is None:
            raise RuntimeError("blocks of traces are gone through once, before they are closed")
        self._begun = True
        for _ in range(len(self)):
            first, buffer = self.next()
            rows = self._rows(first)
            yield rows, buffer[: len(rows)]
