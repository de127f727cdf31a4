"""Time images and image gathers in SEG-Y rev 1 and SU: written in pieces of locations by whoever has them, read as
headers once and the traces of a location when they are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import column, lengths, open_headers, unit_factor
from subsalt.io.segy.headers import FileLayout, HeaderBytes, read_traces
from subsalt.io.segy.rev1 import binary_header, choose_scalar, delay, microseconds, scaled, trace_rows
from subsalt.io.segy.samples import encode_text

SIGNATURE = "TIME VOLUME WRITTEN BY SUBSALT"
#: header values of 2 bytes
_MOST_FOLD = 32767


class TimeImageFile:
    """The content of the SEG-Y file of a time image: its head, and the traces of any locations.

    Parameters
    ----------
    time : TimeAxis
        Two-way time of the samples.
    positions : ndarray, (n, 2), float64
        Map position of all locations, m, in their order in the file.
    numbers : ndarray, (n, 2), int64
        Inline and crossline number of each.
    cdp : ndarray, (n,), int64
        CDP number of each.
    offsets : ndarray, (m,), float64
        Offset of each of the traces of a location, m; one 0 for an image.
    what : str
        For the textual header: ``"IMAGE"``, ``"GATHERS"``, ``"HITS"``.
    text : sequence of str
        Provenance for the textual header.
    datum : ndarray, (n,), float64, optional
        Elevation of time zero at all locations, m, for bytes 53 and 57; they are 0 when None.

    Raises
    ------
    DataError
        When SEG-Y cannot say sampling interval, first time, or number of samples.
    """

    def __init__(
        self,
        time: TimeAxis,
        positions: NDArray[np.float64],
        numbers: NDArray[np.int64],
        cdp: NDArray[np.int64],
        offsets: NDArray[np.float64],
        what: str,
        text: Sequence[str],
        datum: NDArray[np.float64] | None = None,
    ) -> None:
        if time.nt > 65535:
            raise DataError(
                f"{time.nt} samples per trace; SEG-Y rev 1 holds at most 65535",
                "use a coarser step, or a later first time",
                code="E273",
            )
        self.time, self.positions, self.numbers, self.cdp = time, positions, numbers, cdp
        self.datum = datum
        self.offsets = np.round(offsets).astype(np.int32)
        self.interval, self.delay = microseconds(time.dt), delay(time.t0)
        self.scalar = choose_scalar(positions.reshape(-1), "coordinates")
        many = len(offsets) > 1
        lines = [
            f"{SIGNATURE}: {what}. SEG-Y REV 1, IEEE FLOAT (FORMAT 5), METRES",
            f"TWO-WAY TIME FROM {time.t0 * 1e3:g} MS, INTERVAL {time.dt * 1e3:g} MS, {time.nt} SAMPLES",
            f"{len(positions)} LOCATIONS, {len(offsets)} TRACE{'S' * many} EACH; INLINE 189, CROSSLINE 193, CDP 21",
            f"CDP X 181, CDP Y 185, SCALAR (71) {self.scalar}; TRACES SUMMED 33",
        ]
        if many:
            lines.append("OFFSET 37 (M), NUMBER IN THE GATHER 25; DEAD CLASSES ARE ZERO TRACES")
        head = binary_header(time.nt, self.interval, len(offsets), sorting=2 if many else 4)
        self.head = encode_text([*lines, *text]) + head
        self.location_bytes = len(offsets) * (240 + 4 * time.nt)
        self.size = len(self.head) + len(positions) * self.location_bytes

    @property
    def traces(self) -> int:
        """Traces of the whole file."""
        return len(self.positions) * len(self.offsets)

    def offset(self, location: int) -> int:
        """Return where a location begins in the file."""
        return len(self.head) + location * self.location_bytes

    def rows(
        self, first: int, values: NDArray[np.float32], fold: NDArray[Any] | None = None
    ) -> NDArray[np.uint8]:
        """Return the traces of some locations as bytes (n m, 240 + 4 nt).

        Parameters
        ----------
        first : int
            The first of them.
        values : ndarray, (n, m, nt), float32
            Samples.
        fold : ndarray, (n, m), optional
            Traces that were summed into each.
        """
        n, m, nt = values.shape
        raw, t = trace_rows(n * m, nt)
        some = slice(first, first + n)
        t["line_sequence"] = t["file_sequence"] = first * m + np.arange(1, n * m + 1)
        inline, crossline = (np.repeat(self.numbers[some, k], m) for k in (0, 1))
        t["inline"], t["crossline"], t["cdp"] = inline, crossline, np.repeat(self.cdp[some], m)
        t["ffid"], t["channel"] = inline, crossline if m == 1 else np.tile(np.arange(1, m + 1), n)
        t["ensemble_sequence"] = np.tile(np.arange(1, m + 1), n)
        t["trace_id"] = t["use"] = t["coordinate_units"] = t["elevation_scalar"] = 1
        t["offset"] = np.tile(self.offsets, n)
        xy = np.repeat(scaled(self.positions[some], self.scalar), m, axis=0)
        t["cdp_x"], t["cdp_y"] = xy[:, 0], xy[:, 1]
        t["source_x"], t["source_y"] = xy[:, 0], xy[:, 1]
        t["coordinate_scalar"] = self.scalar
        t["delay"], t["time_scalar"] = self.delay
        t["ns"], t["dt"] = nt, self.interval
        if fold is not None:
            # number of horizontally summed traces, bytes 33-34
            raw[:, 32:34] = (
                np.minimum(fold.reshape(-1), _MOST_FOLD).astype(">i2").view(np.uint8).reshape(-1, 2)
            )
        if self.datum is not None:
            # to a centimetre: datum elevations at receiver and source, bytes 53 and 57
            t["elevation_scalar"] = -100
            height = (
                np.repeat(np.round(100 * self.datum[some]), m).astype(">i4").view(np.uint8).reshape(-1, 4)
            )
            raw[:, 52:60] = np.tile(height, 2)
        t["samples"] = values.reshape(-1, nt)
        return raw


_NAMES = (
    "cdp",
    "offset",
    "trace_id",
    "inline",
    "crossline",
    "cdp_x",
    "cdp_y",
    "coordinate_scalar",
    "coordinate_units",
    "delay",
    "time_scalar",
    "dt",
    "ns",
)


@dataclass
class ImageTraces:
    """The traces of a file by location: inline, then crossline, then offset, then their order in the file.

    Parameters
    ----------
    layout : FileLayout
        Layout of the file.
    time : TimeAxis
        Samples of all traces, s.
    order : ndarray, (n,), int64
        Trace numbers in the file.
    inline, crossline : ndarray, (n,), int64
        Their line numbers, in that order; of a line without any: inline 1, and the CDP.
    offset : ndarray, (n,), float64
        Their offsets, m.
    xy : ndarray, (n, 2), float64
        Their CDP coordinates, m; zeros where the file has none.
    """

    layout: FileLayout
    time: TimeAxis
    order: NDArray[np.int64]
    inline: NDArray[np.int64]
    crossline: NDArray[np.int64]
    offset: NDArray[np.float64]
    xy: NDArray[np.float64]

    def __post_init__(self) -> None:
        new = (np.diff(self.inline, prepend=-1) != 0) | (np.diff(self.crossline, prepend=-1) != 0)
        new[:1] = True
        self._first = np.flatnonzero(new)

    @property
    def locations(self) -> NDArray[np.int64]:
        """Line numbers (m, 2) of the locations, by inline, then crossline."""
        return np.stack([self.inline[self._first], self.crossline[self._first]], axis=1)

    @property
    def per_location(self) -> int:
        """Most traces of a location."""
        return int(np.diff(self._first, append=len(self.order)).max(initial=0))

    def nearest(self, inline: float, crossline: float) -> tuple[int, int]:
        """Return the line numbers of the location nearest to the numbers given."""
        known = self.locations
        # the inline first: a section is what people look along
        on = known[np.abs(known[:, 0] - inline) == np.abs(known[:, 0] - inline).min()]
        location = on[np.argmin(np.abs(on[:, 1] - crossline))]
        return int(location[0]), int(location[1])

    def gather(self, inline: int, crossline: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Return offsets (n,) and traces (n, nt) of one location; both empty where the file has none."""
        rows = np.flatnonzero((self.inline == inline) & (self.crossline == crossline))
        return self.offset[rows], self.read(rows)

    def read(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the traces (m, nt) of places in this order."""
        with InputFile(self.layout.path) as file:
            # in the order of the file, so that neighbours are read together
            wanted = self.order[rows]
            back = np.argsort(wanted, kind="stable")
            out = np.empty((len(rows), self.layout.ns), np.float32)
            out[back] = read_traces(file, self.layout, wanted[back])
        return out


def open_image_traces(
    path: str | os.PathLike[str], header: HeaderBytes | None = None, fix: Fix | None = None
) -> ImageTraces:
    """Read the headers of a time image or of image gathers.

    Parameters
    ----------
    path : path-like
        SEG-Y or SU file; inline 189, crossline 193, CDP x and y 181 and 185, offset 37 unless `header` says so.
    header, fix : HeaderBytes, Fix, optional
        Where header values lie, and what is wrong with them.

    Raises
    ------
    SegyError
        When the file has no line or CDP numbers, its traces no interval, or begin at different times.
    """
    header, fix = header or HeaderBytes(), fix or Fix()
    with InputFile(path) as file:
        one = open_headers(file, header, fix, _NAMES)
    lay, n = one.layout, one.layout.n_traces
    inline, crossline = (column(one.values, k, n).astype(np.int64) for k in ("inline", "crossline"))
    if not crossline.any():
        inline, crossline = np.ones(n, np.int64), column(one.values, "cdp", n).astype(np.int64)
        if not crossline.any():
            raise SegyError(
                f"{path}: no line numbers (bytes 189, 193) and no CDP numbers (byte 21)",
                "an image or an image gather says where its traces lie; take the file that migrate wrote",
                code="E832",
            )
    delay = one.positions.delay
    if lay.dt <= 0 or np.ptp(delay) > 0.5 * lay.dt:
        what = "no sample interval" if lay.dt <= 0 else f"delays from {delay.min():g} to {delay.max():g} s"
        raise SegyError(f"{path}: {what}", "traces of an image share their samples", code="E832")
    offset = one.positions.offset
    order = np.lexsort((np.arange(n), offset, crossline, inline)).astype(np.int64)
    scalar = column(one.values, "coordinate_scalar", n)
    xy = np.stack([lengths(one.values, k, scalar, n) for k in ("cdp_x", "cdp_y")], axis=1)
    return ImageTraces(
        lay,
        TimeAxis(lay.ns, lay.dt, float(delay[0])),
        order,
        inline[order],
        crossline[order],
        offset[order],
        xy[order] * unit_factor(lay, fix),
    )
