"""Volumes (models and images) from and to any format, chosen by the suffix of the name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.earth.memory import require
from subsalt.errors import ConfigError, Finding, ModelError
from subsalt.io.objects import as_path, is_url, refuse_url
from subsalt.io.segy.headers import FileLayout
from subsalt.io.volumes.netcdf import open_netcdf, write_netcdf
from subsalt.io.volumes.npy import open_npy, open_npz, write_npy, write_npz_volume
from subsalt.io.volumes.planes import OpenVolume, OwnPlanes, VolumeLabel
from subsalt.io.volumes.request import DEPTH, VolumeRequest
from subsalt.io.volumes.rsf import open_rsf_volume, write_rsf_volume
from subsalt.io.volumes.segy_image import write_image
from subsalt.io.volumes.segy_volume import SegyPlanes, open_segy_volume
from subsalt.io.volumes.vti import open_vti, write_vti
from subsalt.io.volumes.zarr_store import open_zarr, write_zarr
from subsalt.parallel.relay import plain

#: factors to SI by unit name
UNITS: dict[str, float] = {
    "": 1.0,
    "1": 1.0,
    "m/s": 1.0,
    "km/s": 1000.0,
    "mm/s": 0.001,
    "ft/s": 0.3048,
    "%": 0.01,
    "percent": 0.01,
    "m": 1.0,
    "km": 1000.0,
    "ft": 0.3048,
    "kg/m3": 1.0,
    "g/cm3": 1000.0,
}


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells the format: ``.segy`` counts as ``.sgy``."""
    suffix = Path(path).suffix.lower()
    return ".sgy" if suffix in (".segy", ".seg", ".sgy") else suffix


@dataclass
class Volume:
    """Values on a grid, as read.

    Parameters
    ----------
    grid : Grid
        Local coordinates, m.
    frame : Frame
        Where they lie on the map.
    values : ndarray, grid.shape, float32
        The values, in SI when a unit was given.
    unit : str
        The unit the values were stored in; empty when the file does not say.
    source : str
        File name, with the key for NPZ.
    findings : list of Finding
        Oddities.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines of SEG-Y in 3-D.
    """

    grid: Grid
    frame: Frame
    values: NDArray[np.float32]
    unit: str = ""
    source: str = ""
    findings: list[Finding] = field(default_factory=list)
    lines: LineNumbers | None = None


def read(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    unit: str | None = None,
    spacing: Sequence[float] | None = None,
    origin: Sequence[float] | None = None,
    rsf_outside: bool = False,
) -> Volume:
    """Read a volume.

    Parameters
    ----------
    path : path-like
        ``.rsf``, ``.npz``, ``.npy``, ``.sgy``/``.segy``, ``.vti``, ``.nc`` or ``.zarr``.
    key : str, optional
        Name of the array in formats that hold several; optional if the file holds only one.
    unit : str, optional
        Unit of the stored values, such as ``km/s``; they are converted to SI.
    spacing, origin : sequence of float, optional
        Replace the file's; needed for ``.npy`` (and SEG-Y without coordinates). m, x first.
    rsf_outside : bool
        Let an RSF header name data outside its folder.

    Raises
    ------
    ModelError, SegyError, MissingInputError
        When it cannot be read, with the cure.
    """
    opened = open_volume(path, key=key, spacing=spacing, origin=origin, rsf_outside=rsf_outside)
    cure = "cut or resample it; its shape may be damaged"
    require(opened.planes.nbytes, f"{path} {opened.planes.shape}", cure, "E613")
    values = opened.planes.read(0, len(opened.planes))
    volume = Volume(
        opened.grid, opened.frame, values, opened.unit, opened.source, opened.findings, opened.lines
    )
    if unit is not None:
        if unit not in UNITS:
            raise ConfigError(
                f"unit {unit!r} of {path} is not known", f"use one of {', '.join(u for u in UNITS if u)}"
            )
        volume.unit = unit
        if UNITS[unit] != 1.0:
            volume.values = volume.values * np.float32(UNITS[unit])
    return volume


def open_volume(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    spacing: Sequence[float] | None = None,
    origin: Sequence[float] | None = None,
    rsf_outside: bool = False,
    last: tuple[str, ...] = DEPTH,
    data: str | os.PathLike[str] | None = None,
) -> OpenVolume:
    """Open a volume to read planes of it; parameters and errors as of `read`.

    `last` are the names that the last axis may have in an NPZ file; `data` is the data file of an RSF header that names
    none, or one outside its folder.

    Notes
    -----
    RSF, SEG-Y, NPY, stored NPZ and netCDF files hold their planes in pieces that are read by themselves, Zarr stores in
    chunks. A deflated NPZ is unpacked from its beginning up to the planes asked for; VTK files and arrays in Fortran
    order have x fastest, so that every read goes through all of the file: for large models convert these to RSF.
    """
    if is_url(as_path(path)) and suffix_of(path) not in STORED:
        refuse_url(as_path(path), "volume")
    suffix = suffix_of(path)
    if suffix not in _OPENERS:
        raise ModelError(
            f"{path}: format {suffix or 'without suffix'} is not known",
            f"use one of {', '.join(_OPENERS)}; bare samples become one by a text file NAME.rsf beside them, fastest "
            "axis first: n1=NZ d1=DZ n2=NX d2=DX esize=4 "
            f'data_format="native_float" in="{os.path.basename(str(path))}"',
            code="E229",
        )
    if data is not None and suffix != ".rsf":
        raise ConfigError(
            f"{path}: data names the samples of an RSF header, and this is none",
            "leave data out",
            code="E104",
        )
    volume = _OPENERS[suffix](path, VolumeRequest(key, spacing, origin, rsf_outside, last, data))
    volume.source = str(path) + (f"[{key}]" if key else "")
    return volume


def _open_sgy(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    return open_segy_volume(path, request=request)


_OPENERS: dict[str, Callable[[str | os.PathLike[str], VolumeRequest], OpenVolume]] = {
    ".rsf": open_rsf_volume,
    ".npz": open_npz,
    ".npy": open_npy,
    ".sgy": _open_sgy,
    ".vti": open_vti,
    ".nc": open_netcdf,
    ".zarr": open_zarr,
    ".mdio": _open_sgy,
}


def write(
    path: str | os.PathLike[str],
    grid: Grid,
    values: NDArray,
    frame: Frame | None = None,
    *,
    text: Sequence[str] = (),
    name: str = "values",
    lines: LineNumbers | None = None,
) -> None:
    """Write a volume in the format of the suffix.

    Parameters
    ----------
    path : path-like
        ``.rsf``, ``.npz``, ``.npy``, ``.sgy``, ``.vti``, ``.nc`` or ``.zarr``.
    grid : Grid
        Local coordinates, m.
    values : ndarray, grid.shape
        Written as float32.
    frame : Frame, optional
        Where the grid lies on the map; of ``NAME.npy`` it stands in ``NAME.npy.json``.
    text : sequence of str
        Provenance: lines of the SEG-Y textual header, attributes or comments elsewhere.
    name : str
        Name of the array in formats that have names.
    lines : LineNumbers, optional
        Numbers of inlines and crosslines, for SEG-Y; 1, 2, ... when left out.

    Raises
    ------
    ConfigError
        When the suffix is not known.
    """
    suffix = suffix_of(path)
    if suffix not in _WRITERS:
        raise ConfigError(
            f"{path}: format {suffix or 'without suffix'} is not known", f"use one of {', '.join(_WRITERS)}"
        )
    a = np.ascontiguousarray(values, dtype=np.float32)
    if a.shape != grid.shape:
        raise ModelError(
            f"values have shape {a.shape}, the grid has {grid.shape}", "pass their grid", code="E401"
        )
    _WRITERS[suffix](path, grid, a, VolumeLabel(frame or Frame(), text, name, lines))


def write_planes(
    path: str | os.PathLike[str],
    grid: Grid,
    own: OwnPlanes,
    frame: Frame | None = None,
    *,
    text: Sequence[str] = (),
    name: str = "values",
    lines: LineNumbers | None = None,
) -> None:
    """Write a volume of which every rank has some planes; the bytes are those of `write`. Collective.

    Parameters
    ----------
    path : path-like
        ``.sgy``, ``.rsf`` or ``.npy`` (`PLANE_FORMATS`).
    grid : Grid
        Grid of the whole volume.
    own : OwnPlanes
        This rank's part.
    frame, text, name, lines
        See `write`.
    """
    suffix = suffix_of(path)
    if suffix not in PLANE_FORMATS:
        raise ConfigError(
            f"{path}: ranks cannot write {suffix} together", f"use one of {', '.join(PLANE_FORMATS)}"
        )
    part = replace(own, values=np.ascontiguousarray(own.values, dtype=np.float32))
    _WRITERS[suffix](path, grid, part, VolumeLabel(frame or Frame(), text, name, lines))


def _write_sgy(
    path: str | os.PathLike[str], grid: Grid, values: NDArray | OwnPlanes, label: VolumeLabel
) -> None:
    write_image(path, values, grid, label.frame, label.text, label.lines)


_WRITERS: dict[str, Callable[..., None]] = {
    ".rsf": write_rsf_volume,
    ".npz": write_npz_volume,
    ".npy": write_npy,
    ".sgy": _write_sgy,
    ".vti": write_vti,
    ".nc": write_netcdf,
    ".zarr": write_zarr,
}
#: formats that are read from object stores
STORED = (".sgy", ".rsf", ".npy", ".zarr", ".mdio")
#: formats that ranks write together, each its own planes
PLANE_FORMATS = (".sgy", ".rsf", ".npy")


def packed(volume: OpenVolume) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Return what another rank needs of an open SEG-Y volume: JSON, and the order of its traces.

    The order is empty when the traces stand in the file as they do in the volume.
    """
    planes = volume.planes
    assert isinstance(planes, SegyPlanes)
    sorted_already = np.array_equal(planes.order, np.arange(len(planes.order)))
    grid = volume.grid
    facts = {
        "grid": {"shape": grid.shape, "spacing": grid.spacing, "origin": grid.origin},
        "frame": asdict(volume.frame),
        "layout": planes.layout.to_json(),
        "findings": plain([asdict(f) for f in volume.findings]),
        "unit": volume.unit,
        "source": volume.source,
        "traces": 0 if sorted_already else len(planes.order),
        "lines": None if volume.lines is None else asdict(volume.lines),
        "misfit": volume.misfit,
    }
    return facts, np.empty(0, np.int64) if sorted_already else planes.order


def unpacked(facts: dict[str, Any], order: NDArray[np.int64]) -> OpenVolume:
    """Return the open volume that `packed` described."""
    lay = FileLayout.from_json(facts["layout"])
    shape, spacing, origin = (tuple(facts["grid"][k]) for k in ("shape", "spacing", "origin"))
    grid = Grid(shape, spacing, origin)
    rows = order if facts["traces"] else np.arange(lay.n_traces, dtype=np.int64)
    return OpenVolume(
        grid,
        Frame(**facts["frame"]),
        SegyPlanes(lay, rows, grid.shape),
        facts["unit"],
        facts["source"],
        [Finding(**f) for f in facts["findings"]],
        None if facts["lines"] is None else LineNumbers(**facts["lines"]),
        facts["misfit"],
    )
