"""Traces of time images and image gathers in SEG-Y and SU, by location: headers are read once, samples on demand."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import column, lengths, open_headers, unit_factor
from subsalt.io.segy.headers import FileLayout, HeaderBytes, read_traces

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
