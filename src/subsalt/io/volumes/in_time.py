"""Volumes whose last axis is two-way time: where their traces stand, by line numbers and on the map, read as asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame
from subsalt.earth.planes import InMemoryPlanes, Planes
from subsalt.errors import Finding, ModelError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import column, open_headers, unit_factor
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.volumes.lattice import fit_lattice
from subsalt.io.volumes.npy import NpzFile
from subsalt.io.volumes.rsf import RsfAxis, read_header
from subsalt.io.volumes.segy_volume import VOLUME_HEADERS, SegyPlanes, first_sample
from subsalt.io.volumes.volume import open_volume, suffix_of

#: suffixes of volumes; a file with another one is a text
SUFFIXES = (".sgy", ".su", ".rsf", ".npz", ".npy", ".vti", ".nc", ".zarr")

#: values of a volume up to which it is kept in memory once it was read
SMALL = 1 << 24

_NUMBERS = {"inline", "iline", "il", "crossline", "xline", "xl", "cdp", "cmp"}


@dataclass
class MapPlace:
    """A regular lattice on the map: index = (local - origin) / spacing, local coordinates by the frame."""

    frame: Frame
    origin: tuple[float, float]
    spacing: tuple[float, float]


@dataclass
class TimeVolume:
    """A volume in two-way time, opened.

    Parameters
    ----------
    path : str
        The file, with the key for NPZ.
    planes : Planes, (ni, nj, nt)
        Values as stored; a section has one inline (ni = 1).
    t0, dt : float
        First time and step, in the unit of the file.
    in_ms : bool or None
        Whether these are milliseconds; None: the file does not say.
    lines : tuple of float, optional
        First inline, step, first crossline, step, when the file numbers its lines.
    place : MapPlace, optional
        Where it lies on the map, when the file says so.
    unit : str
        Unit of the values that the file declares; empty when it does not.
    depth : str
        Entry of the file by which its last axis is depth; empty when nothing does.
    """

    path: str
    planes: Planes
    t0: float
    dt: float
    in_ms: bool | None
    lines: tuple[float, float, float, float] | None
    place: MapPlace | None
    unit: str = ""
    depth: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Inlines, crosslines, samples."""
        ni, nj, nt = self.planes.shape
        return ni, nj, nt

    def traces(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the traces (n, nt) at inline and crossline indices; nothing else is read where the format allows it.

        A volume of at most `SMALL` values is read once and kept.
        """
        if self.planes.size <= SMALL:
            if not isinstance(self.planes, InMemoryPlanes):
                self.planes = InMemoryPlanes(self.planes.read(0, len(self.planes)))
            return self.planes.read(0, len(self.planes))[i, j]
        return self.planes.columns(np.stack([i, j], axis=-1))


def is_volume(path: str | os.PathLike[str]) -> bool:
    """Return whether the suffix of a name is that of a volume; other files are texts."""
    return suffix_of(path) in SUFFIXES


def open_time_volume(
    path: str | os.PathLike[str],
    *,
    header: HeaderBytes | None = None,
    key: str | None = None,
    spacing: Sequence[float] | None = None,
    origin: Sequence[float] | None = None,
) -> TimeVolume:
    """Open a volume or section in two-way time; its traces are read when asked for.

    Parameters
    ----------
    path : path-like
        SEG-Y, SU, RSF, NPZ, NPY, VTK, netCDF or Zarr, by its suffix; time is the fastest axis.
    header : HeaderBytes, optional
        Where SEG-Y and SU files keep inline, crossline and coordinates.
    key : str, optional
        Name of the array in formats that hold several.
    spacing, origin : sequence of float, optional
        Steps and first coordinates per axis, where the file does not say them; for SEG-Y the last one replaces the
        sampling interval, s.

    Raises
    ------
    ModelError, SegyError, MissingInputError
        When it cannot be read, with the cure.
    """
    if suffix_of(path) in (".sgy", ".su"):
        return _open_segy(path, header or HeaderBytes(), spacing, origin)
    return _open_grid(path, key, spacing, origin)


def _open_segy(
    path: str | os.PathLike[str],
    header: HeaderBytes,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> TimeVolume:
    fix = Fix()
    with InputFile(path) as file:
        one = open_headers(file, header, fix, VOLUME_HEADERS)
    lay = one.layout
    # numbers place it, too: coordinates that are no regular grid cost a warning only
    lattice = fit_lattice(one.values, lay, fix, unit_factor(lay, fix), spacing_known=True)
    delay = first_sample(one.values, lay.n_traces) / 1000.0
    dt = lay.dt if spacing is None else spacing[-1]
    doubt = [f.message for f in lay.findings if f.code == "E214"] if spacing is None else []
    if doubt or not dt > 0:
        raise ModelError(
            doubt[0] if doubt else f"{path}: no header gives the sampling interval",
            "give it in s, last: spacing = [25, 25, 0.004]",
            code="E225",
        )
    numbered = bool(
        np.any(column(one.values, "inline", lay.n_traces)) or np.any(column(one.values, "cdp", lay.n_traces))
    )
    il, dil, xl, dxl = lattice.lines
    ni, nj = lattice.shape
    planes: Planes = SegyPlanes(lay, lattice.order, (ni, nj, lay.ns))
    lines = (il, dil, xl, dxl)
    if nj == 1 < ni:
        # a section along inlines: its traces are numbered by inline
        planes, lines = SegyPlanes(lay, lattice.order, (1, ni, lay.ns)), (xl, dxl, il, dil)
    text = next((line.strip() for line in lay.text if "DEPTH STEP" in line.upper()), "")
    depth = f"its text header says {text[:60]!r}" if text else ""
    h = [s for s in lattice.spacing if s is not None]
    place = None
    if len(h) == (ni > 1) + (nj > 1) and h:
        both = len(h) == 2
        place = MapPlace(
            lattice.frame,
            lattice.origin if both else (0.0, lattice.origin[0]),
            (h[0], h[1]) if both else (1.0, h[0]),
        )
    findings = [f for f in lay.findings if f.code not in ("E214", "E215", "W214")] + lattice.findings
    return TimeVolume(
        str(path),
        planes,
        origin[-1] if origin is not None else delay,
        dt,
        False,
        lines if numbered else None,
        place,
        depth=depth,
        findings=findings,
    )


def _open_grid(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> TimeVolume:
    opened = open_volume(
        path, key=key, spacing=spacing, origin=origin, last=("t", "time", "twt", "z", "depth")
    )
    labels, units = _axis_names(path, opened.planes.ndim)
    grid = opened.grid
    h, o = grid.spacing, grid.origin
    section = len(h) == 2
    planes = _Section(opened.planes) if section else opened.planes
    step, first = ((1.0, h[0]), (0.0, o[0])) if section else ((h[0], h[1]), (o[0], o[1]))
    numbered = all(name in _NUMBERS for name in labels[:-1]) if labels else False
    depth = ""
    if labels and (labels[-1] in ("z", "depth") or units[-1] in ("m", "km", "ft")):
        depth = f"its last axis is {labels[-1] or 'a length'}" + (f" in {units[-1]}" if units[-1] else "")
    in_ms = {"s": False, "sec": False, "ms": True, "msec": True}.get(units[-1]) if units else None
    return TimeVolume(
        opened.source or str(path),
        planes,
        o[-1],
        h[-1],
        in_ms,
        (first[0], step[0], first[1], step[1]) if numbered else None,
        None if numbered else MapPlace(opened.frame, first, step),
        opened.unit,
        depth,
        opened.findings,
    )


def _axis_names(path: str | os.PathLike[str], ndim: int) -> tuple[list[str], list[str]]:
    """Return label and unit of every axis, slowest first, in small letters; empty lists when the file has none."""
    if suffix_of(path) == ".rsf":
        axes = read_header(path, allow_outside=True).axes[::-1]
        axes = [*[RsfAxis(1, 1.0, 0.0)] * (ndim - len(axes)), *axes]
        return [a.label.strip().lower() for a in axes], [a.unit.strip().lower() for a in axes]
    if suffix_of(path) == ".npz":
        with NpzFile(path) as z:
            names = z.axis_names()
        if len(names) == ndim:
            return [name.lower() for name in names], [""] * ndim
    return [], []


class _Section(Planes):
    """A section (n, nt) as a volume of one inline (1, n, nt)."""

    def __init__(self, source: Planes) -> None:
        super().__init__((1, *source.shape))
        self._source = source

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        return self._source.read(0, len(self._source))[None][lo:hi]

    def columns(self, index: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the traces (n, nt) at indices (n, 2)."""
        return self._source.columns(index[:, 1:])

    def sources(self) -> list[Planes]:
        """Return those of the section."""
        return self._source.sources()
