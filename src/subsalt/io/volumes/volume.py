"""Volumes (models and images) from and to any format, chosen by the suffix of the name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, Finding, ModelError
from subsalt.io.segy.headers import FileLayout
from subsalt.io.volumes.npy import NpzFile, grid_file, open_npy, read_grid_file
from subsalt.io.volumes.planes import frame_from
from subsalt.io.volumes.rsf import open_rsf
from subsalt.io.volumes.segy_volume import SegyPlanes
from subsalt.io.volumes.writing import suffix_of, write
from subsalt.parallel.relay import plain

__all__ = ["UNITS", "OpenVolume", "Volume", "open_volume", "read", "suffix_of", "write"]

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


#: names of the last axis of a model
DEPTH = ("z", "depth")


@dataclass
class OpenVolume:
    """A volume whose values are read by planes; the rest as in `Volume`, values as they are stored."""

    grid: Grid
    frame: Frame
    planes: Planes
    unit: str = ""
    source: str = ""
    findings: list[Finding] = field(default_factory=list)


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
    """

    grid: Grid
    frame: Frame
    values: NDArray[np.float32]
    unit: str = ""
    source: str = ""
    findings: list[Finding] = field(default_factory=list)


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
        Name of the array in formats that hold several; may be left out when there is one.
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
    found = open_volume(path, key=key, spacing=spacing, origin=origin, rsf_outside=rsf_outside)
    values = found.planes.read(0, len(found.planes))
    volume = Volume(found.grid, found.frame, values, found.unit, found.source, found.findings)
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
) -> OpenVolume:
    """Open a volume to read planes of it; parameters and errors as of `read`.

    `last` are the names that the last axis may have in an NPZ file.

    Notes
    -----
    RSF, SEG-Y, NPY, stored NPZ and netCDF files hold their planes in pieces that are read by themselves, Zarr stores in
    chunks. A deflated NPZ is unpacked from its beginning up to the planes asked for; VTK files and arrays in Fortran
    order have x fastest, so that every read goes through all of the file: for large models convert these to RSF.
    """
    suffix = suffix_of(path)
    if suffix not in _OPENERS:
        raise ModelError(
            f"{path}: format {suffix or 'without suffix'} is not known",
            f"use one of {', '.join(_OPENERS)}",
            code="E229",
        )
    if suffix == ".rsf":
        volume = _open_rsf(path, key, spacing, origin, rsf_outside)
    elif suffix == ".npz":
        volume = _open_npz(path, key, spacing, origin, last)
    else:
        volume = _OPENERS[suffix](path, key, spacing, origin)
    volume.source = str(path) + (f"[{key}]" if key else "")
    return volume


def _grid(
    path: object,
    shape: tuple[int, ...],
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> Grid:
    if len(shape) not in (2, 3):
        raise ModelError(
            f"{path} has {len(shape)} axes {shape}", "a volume has 2 (x, z) or 3 (x, y, z)", code="E230"
        )
    if spacing is None:
        axes = "dx, dz" if len(shape) == 2 else "dx, dy, dz"
        raise ModelError(
            f"{path} does not say its spacing",
            f'in a job: {{file = "{os.path.basename(str(path))}", spacing = [{axes}]}}; elsewhere take a file '
            "that says it, such as .rsf",
            code="E225",
        )
    if len(spacing) != len(shape) or (origin is not None and len(origin) != len(shape)):
        raise ModelError(
            f"{path} has shape {shape}; spacing {list(spacing)}, origin "
            f"{None if origin is None else list(origin)}",
            "give one value per axis",
            code="E225",
        )
    return Grid(shape, tuple(spacing), tuple(origin) if origin is not None else ())


def _open_npy(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> OpenVolume:
    a = open_npy(path)
    said = read_grid_file(path, a.shape)
    frame = frame_from(said["frame"], grid_file(path)) if said else Frame()
    spacing, origin = spacing or said.get("spacing_m"), origin or said.get("origin_m")
    return OpenVolume(_grid(path, a.shape, spacing, origin), frame, a)


def _open_npz(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
    last: tuple[str, ...] = DEPTH,
) -> OpenVolume:
    with NpzFile(path) as z:
        volumes = [k for k in z.keys if len(z.shape(k)) in (2, 3)]
        if key is None and len(volumes) == 1:
            key = volumes[0]
        if key is None or key not in z:
            asked = "holds several arrays" if key is None else f"has no array {key!r}"
            raise ModelError(
                f"{path} {asked}: {', '.join(volumes[:20])}", 'say which: key = "..."', code="E231"
            )
        a = z.planes(key)

        def small(name: str) -> NDArray | None:
            return z[name].reshape(-1) if name in z and np.prod(z.shape(name)) <= 16 else None

        if spacing is None and (h := small("spacing_m")) is not None:
            spacing = [float(v) for v in h]
        if origin is None and (o := small("origin_m")) is not None:
            origin = [float(v) for v in o]
        world = small("frame")
        axes = small("axes")
    if axes is not None and axes.dtype.kind in "US":
        names = [str(v.decode() if isinstance(v, bytes) else v) for v in axes]
        names = names[0].strip("[]()").replace(" ", "").split(",") if len(names) == 1 else names
        if names and names[-1].lower() not in last:
            raise ModelError(
                f"{path}: axes are {', '.join(names)}",
                f"store {'time' if 't' in last else 'depth'} as the last axis",
                code="E230",
            )
    frame = Frame()
    if world is not None and world.size == 4 and world.dtype.kind == "f":
        frame = frame_from(world.tolist(), path)
    return OpenVolume(_grid(path, a.shape, spacing, origin), frame, a)


def _open_rsf(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
    outside: bool,
) -> OpenVolume:
    header, a = open_rsf(path, allow_outside=outside)
    axes = header.axes[::-1]
    factor = [UNITS.get(x[4], 1.0) if x[4] in ("m", "km", "ft") else 1.0 for x in axes]
    spacing = [x[1] * f for x, f in zip(axes, factor, strict=True)] if spacing is None else spacing
    origin = [x[2] * f for x, f in zip(axes, factor, strict=True)] if origin is None else origin
    frame = Frame()
    names = ("frame_x0", "frame_y0", "frame_azimuth", "frame_flip")
    if all(n in header.keys for n in names):
        try:
            frame = frame_from([float(header.keys[n]) for n in names], path)
        except ValueError as e:
            raise ModelError(f"{path}: the frame is not four numbers", "mend the header", code="E220") from e
    return OpenVolume(_grid(path, a.shape, spacing, origin), frame, a, header.keys.get("unit", ""))


def _open_sgy(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> OpenVolume:
    from subsalt.io.volumes.segy_volume import open_segy_volume

    v = open_segy_volume(path, spacing=spacing, origin=origin)
    return OpenVolume(v.grid, v.frame, v.planes, findings=v.findings)


def _open_vti(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> OpenVolume:
    from subsalt.io.volumes.vti import open_vti

    grid, frame, a = open_vti(path, key)
    if spacing is not None or origin is not None:
        grid = _grid(path, grid.shape, spacing or grid.spacing, origin or grid.origin)
    return OpenVolume(grid, frame, a)


def _open_netcdf(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> OpenVolume:
    from subsalt.io.volumes.netcdf import open_netcdf

    grid, frame, a, unit = open_netcdf(path, key)
    if grid is not None:
        spacing, origin = spacing or grid.spacing, origin or grid.origin
    return OpenVolume(_grid(path, a.shape, spacing, origin), frame, a, unit)


def _open_zarr(
    path: str | os.PathLike[str],
    key: str | None,
    spacing: Sequence[float] | None,
    origin: Sequence[float] | None,
) -> OpenVolume:
    from subsalt.io.volumes.zarr_store import open_zarr

    steps, first, frame, a = open_zarr(path, key)
    return OpenVolume(_grid(path, a.shape, spacing or steps, origin or first), frame, a)


_OPENERS: dict[str, Callable[..., OpenVolume]] = {
    ".rsf": _open_rsf,
    ".npz": _open_npz,
    ".npy": _open_npy,
    ".sgy": _open_sgy,
    ".vti": _open_vti,
    ".nc": _open_netcdf,
    ".zarr": _open_zarr,
}


def tell(volume: OpenVolume) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Return what another rank needs of an open SEG-Y volume: JSON, and the order of its traces.

    The order is empty when the traces stand in the file as they do in the volume.
    """
    planes = volume.planes
    assert isinstance(planes, SegyPlanes)
    sorted_already = np.array_equal(planes.order, np.arange(len(planes.order)))
    told = {
        "grid": asdict(volume.grid),
        "frame": asdict(volume.frame),
        "layout": plain(asdict(planes.layout)),
        "findings": plain([asdict(f) for f in volume.findings]),
        "unit": volume.unit,
        "source": volume.source,
        "traces": 0 if sorted_already else len(planes.order),
    }
    return told, np.empty(0, np.int64) if sorted_already else planes.order


def heard(told: dict[str, Any], order: NDArray[np.int64]) -> OpenVolume:
    """Return the open volume that `tell` described."""
    layout = told["layout"]
    findings = [Finding(**f) for f in layout.pop("findings")]
    lay = FileLayout(**layout | {"revision": tuple(layout["revision"])}, findings=findings)
    grid = Grid(**{k: tuple(v) for k, v in told["grid"].items()})
    rows = order if told["traces"] else np.arange(lay.n_traces, dtype=np.int64)
    return OpenVolume(
        grid,
        Frame(**told["frame"]),
        SegyPlanes(lay, rows, grid.shape),
        told["unit"],
        told["source"],
        [Finding(**f) for f in told["findings"]],
    )
