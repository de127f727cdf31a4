"""Reading volumes in SEG-Y: headers once, inlines when they are asked for."""

from __future__ import annotations

import math
import os
import re

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.errors import Finding, ModelError, SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import column, open_headers, unit_factor
from subsalt.io.segy.headers import FileLayout, HeaderBytes, read_traces
from subsalt.io.segy.samples import FORMATS
from subsalt.io.volumes.lattice import Lattice, fit_lattice
from subsalt.io.volumes.planes import BLOCK, FilePlanes, OpenVolume
from subsalt.io.volumes.request import VolumeRequest, spacing_cure
from subsalt.io.volumes.segy_image import PLACE, SIGNATURE

_PLACE = re.compile(r"\s+C\s*\d+ +".join(re.escape(line).replace(r"\{\}", r"(\S+)") for line in PLACE))
#: m by which the coordinates of traces may miss those that the textual header says: headers hold centimetres
PLACE_LOST = 0.05
_DEPTHS = re.compile(r"DEPTH STEP (\S+) M, FIRST DEPTH (\S+) M")
#: header values that say where the traces of a volume stand
VOLUME_HEADERS = (
    "ffid",
    "cdp",
    "inline",
    "crossline",
    "cdp_x",
    "cdp_y",
    "source_x",
    "source_y",
    "coordinate_scalar",
    "delay",
    "time_scalar",
    "dt",
    "ns",
    "trace_id",
)


class SegyPlanes(FilePlanes):
    """Inlines of a SEG-Y volume, whatever the order of its traces in the file.

    Parameters
    ----------
    layout : FileLayout
        Layout of the file.
    order : ndarray, (n traces,), int64
        Trace numbers by inline, then crossline.
    shape : tuple of int
        Shape of the volume.
    """

    def __init__(self, layout: FileLayout, order: NDArray[np.int64], shape: tuple[int, ...]) -> None:
        super().__init__(shape, FORMATS[layout.format].size)
        self.layout, self.order = layout, order
        self._per = math.prod(shape[1:-1])

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        rows = self.order[lo * self._per : hi * self._per]
        return self._traces(rows).reshape(hi - lo, *self.shape[1:])

    def take(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the values at the nodes `index` (n, ndim); reads their traces, each once."""
        columns = np.ravel_multi_index(tuple(index[:, :-1].T), self.shape[:-1])
        once, which = np.unique(columns, return_inverse=True)
        out = np.empty(len(index), np.float32)
        step = max(1, BLOCK // (4 * self.layout.ns))
        for a in range(0, len(once), step):
            part = self._traces(self.order[once[a : a + step]])
            rows = np.nonzero((which >= a) & (which < a + step))[0]
            out[rows] = part[which[rows] - a, index[rows, -1]]
        return out

    def columns(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the traces (n, nz) at the indices (n, ndim - 1); reads each once, and nothing else."""
        once, which = np.unique(np.ravel_multi_index(tuple(index.T), self.shape[:-1]), return_inverse=True)
        return self._traces(self.order[once])[which]

    def _traces(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        with InputFile(self.layout.path) as file:
            if file.size != self.layout.size:
                raise SegyError(
                    f"{self.layout.path} had {self.layout.size} bytes when it was opened, now {file.size}",
                    "do not change the files of a running job; start again",
                    code="E218",
                )
            out = read_traces(file, self.layout, rows)
        self._count(out.size, len(rows) * self.layout.trace_bytes)
        return out


def open_segy_volume(
    path: str | os.PathLike[str],
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
    request: VolumeRequest | None = None,
) -> OpenVolume:
    """Read the headers of a SEG-Y volume; its planes are read when asked for.

    Parameters
    ----------
    path : path-like
        The file.
    header, fix : HeaderBytes, Fix, optional
        Where inline, crossline and coordinates lie; what is wrong with them.
    request : VolumeRequest, optional
        Its spacing and origin replace what the headers say, m, in the order of the grid's axes; the spacing is needed
        where coordinates are missing.

    Returns
    -------
    OpenVolume
        (nx, ny, nz), or (nx, nz) for a single line. An unrotated volume keeps map coordinates as local ones; a rotated
        one starts at local (0, 0).

    Raises
    ------
    SegyError, ModelError
        When traces do not fill a regular grid, or the spacing cannot be known.

    Notes
    -----
    SEG-Y has no field for a depth step: the interval field is taken as millimetres (20000 means 20 m), which is what
    most programs write.
    """
    header, fix, request = header or HeaderBytes(), fix or Fix(), request or VolumeRequest()
    with InputFile(path) as file:
        if file.over == "time":
            raise ModelError(
                f"{path}: its samples are over time, a model is over depth",
                "name recorded traces in [data]; convert a model in time to depth first",
                code="E264",
            )
        one = open_headers(file, header, fix, VOLUME_HEADERS)
    lay = one.layout
    length = unit_factor(lay, fix)
    lattice = fit_lattice(one.values, lay, fix, length, request.spacing is not None)
    _keep_place(lattice, lay)
    findings = [f for f in lay.findings if f.code not in ("E214", "E215", "W214", "E238")] + lattice.findings
    dz, z0 = _depths(lay, one.values, length, request, findings)
    grid = _grid(lay, lattice, dz, z0, request)
    planes = SegyPlanes(lay, lattice.order, grid.shape)
    lines = LineNumbers(*lattice.lines) if grid.ndim == 3 else None
    return OpenVolume(
        grid,
        lattice.frame,
        planes,
        findings=findings,
        lines=lines,
        misfit=None if lines is None else lattice.misfit,
    )


def _keep_place(lattice: Lattice, lay: FileLayout) -> None:
    """Give a volume that we wrote the local coordinates that its textual header names, where its traces lie there."""
    text = " ".join(lay.text)
    place = _PLACE.search(text)
    if SIGNATURE not in text or place is None:
        return
    try:
        x0, y0, azimuth, flip, x, y = (float(v) for v in place.groups())
    except ValueError:
        return
    frame, first = Frame(x0, y0, azimuth, bool(flip)), (x, y)
    # on the map, the first trace and the corner opposite to it, by what the text and by what the headers say
    far = [(n - 1) * (h or 0.0) for n, h in zip(lattice.shape, lattice.spacing, strict=True)]
    if lattice.shape[0] == 1:
        far = far[::-1]
    named, read = (
        f.to_world(np.array([[*at, 0.0], [at[0] + far[0], at[1] + far[1], 0.0]]))
        for f, at in ((frame, first), (lattice.frame, lattice.origin))
    )
    if math.isfinite(named.sum()) and np.abs(named - read).max() <= PLACE_LOST:
        lattice.frame, lattice.origin = frame, first


def first_sample(values: dict[str, NDArray], n: int) -> float:
    """Return what the delay field (byte 109) of the first trace says of its first sample: ms, or metres of depth."""
    delay = float(column(values, "delay", n)[0])
    scalar = int(column(values, "time_scalar", n)[0])
    if abs(scalar) in (10, 100, 1000, 10000):
        delay = delay / -scalar if scalar < 0 else delay * scalar
    return delay


def _depths(
    lay: FileLayout,
    values: dict[str, NDArray],
    length: float,
    request: VolumeRequest,
    findings: list[Finding],
) -> tuple[float, float]:
    """Return depth step and first depth, m."""
    z0 = first_sample(values, lay.n_traces) * length
    if request.spacing is not None:
        return float(request.spacing[-1]), z0
    # what we write ourselves says its depths in full
    text = " ".join(lay.text)
    depths = _DEPTHS.search(text)
    if lay.text and SIGNATURE in text and depths:
        try:
            dz, first = float(depths.group(1)), float(depths.group(2))
        except ValueError:
            dz = first = math.nan
        if dz > 0 and abs(dz - lay.dt * 1e3) < 1e-3 and math.isfinite(first):
            return dz, first
    dz = round(lay.dt * 1e3, 6) * length
    if dz <= 0:
        raise ModelError(f"{lay.path}: no header gives a depth step", spacing_cure(lay.path, 3), code="E225")
    if dz < 0.5 or dz > 50:
        findings.append(
            Finding(
                "W235",
                "warning",
                f"{lay.path}: the interval field {round(lay.dt * 1e6)} taken as millimetres gives a depth "
                "step of "
                f"{dz:g} m",
                "if that is wrong: spacing = [dx, dy, dz]",
                {"dz": dz},
            )
        )
    return dz, z0


def _grid(lay: FileLayout, lattice: Lattice, dz: float, z0: float, request: VolumeRequest) -> Grid:
    """Return the grid of the traces; a single line is a section."""
    path, ns, spacing, origin = lay.path, lay.ns, request.spacing, request.origin
    ni, nj = lattice.shape
    flat = ni == 1 or nj == 1
    shape = (max(ni, nj), ns) if flat else (ni, nj, ns)
    hx, hy = lattice.spacing
    along = (hx if nj == 1 else hy) if flat else None
    known: tuple[float | None, ...] = (along, dz) if flat else (hx, hy, dz)
    if spacing is not None:
        if len(spacing) != len(shape):
            raise ModelError(
                f"{path} holds a grid of {len(shape)} axes {shape}, spacing has {len(spacing)} values",
                "give one value per axis",
                code="E225",
            )
        steps = tuple(float(v) for v in spacing)
    elif any(v is None for v in known):
        raise ModelError(
            f"{path}: no coordinates (bytes 181/185 or 73/77) from which to know the spacing of its {shape} "
            "points",
            spacing_cure(path, len(shape)),
            code="E225",
        )
    else:
        steps = tuple(float(v) for v in known if v is not None)
    if origin is not None and len(origin) != len(shape):
        raise ModelError(
            f"{path}: origin has {len(origin)} values for {len(shape)} axes", "give one per axis"
        )
    first = (*((lattice.origin[0],) if flat else lattice.origin), z0) if origin is None else tuple(origin)
    return Grid(shape, steps, first)
