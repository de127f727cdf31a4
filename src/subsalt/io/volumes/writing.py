"""Writing volumes, by the suffix of the name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import ConfigError, ModelError
from subsalt.io.publish import publish_array
from subsalt.io.volumes.npy import write_array_planes, write_grid_file, write_npz
from subsalt.io.volumes.rsf import write_rsf
from subsalt.parallel.comm import Comm


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells the format: ``.segy`` counts as ``.sgy``."""
    suffix = Path(path).suffix.lower()
    return ".sgy" if suffix in (".segy", ".seg", ".sgy") else suffix


def write(
    path: str | os.PathLike[str],
    grid: Grid,
    values: NDArray,
    frame: Frame | None = None,
    meta: Mapping[str, str] | None = None,
    *,
    text: Sequence[str] = (),
    name: str = "values",
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
    meta : mapping of str, optional
        More provenance, as lines ``key: value``.
    text : sequence of str
        Provenance: lines of the SEG-Y textual header, attributes or comments elsewhere.
    name : str
        Name of the array in formats that have names.

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
    lines = [*text, *(f"{k}: {v}" for k, v in (meta or {}).items())]
    _WRITERS[suffix](path, grid, a, frame or Frame(), lines, name)


#: formats that ranks write together, each its own planes
PLANE_FORMATS = (".sgy", ".rsf", ".npy")


def write_planes(
    path: str | os.PathLike[str],
    grid: Grid,
    first: int,
    values: NDArray,
    comm: Comm,
    frame: Frame | None = None,
    meta: Mapping[str, str] | None = None,
    *,
    name: str = "values",
) -> None:
    """Write a volume of which every rank of `comm` has some planes; the bytes are those of `write`. Collective.

    Parameters
    ----------
    path : path-like
        ``.sgy``, ``.rsf`` or ``.npy`` (`PLANE_FORMATS`).
    grid : Grid
        Of the whole volume.
    first : int
        The plane along x with which `values` begin.
    values : ndarray, (planes, ...), float32
        This rank's part; it may be empty.
    frame, meta, name
        As in `write`.
    """
    suffix = suffix_of(path)
    lines = [f"{k}: {v}" for k, v in (meta or {}).items()]
    a = np.ascontiguousarray(values, dtype=np.float32)
    if suffix == ".sgy":
        from subsalt.io.volumes.segy_image import write_image

        write_image(path, a, grid, frame, lines, first=first, comm=comm)
    elif suffix == ".rsf":
        _write_rsf(path, grid, a, frame or Frame(), lines, name, first=first, planes=grid.shape[0], comm=comm)
    elif suffix == ".npy":
        write_array_planes(path, grid.shape, first, a, comm)
        with comm.together():
            if comm.is_root:
                write_grid_file(path, grid, frame or Frame())
    else:
        raise ConfigError(
            f"{path}: ranks cannot write {suffix} together", f"use one of {', '.join(PLANE_FORMATS)}"
        )


def _write_rsf(
    path: str | os.PathLike[str],
    grid: Grid,
    a: NDArray,
    frame: Frame,
    text: Sequence[str],
    name: str,
    **parts: Any,
) -> None:
    place = {
        "frame_x0": repr(frame.x0),
        "frame_y0": repr(frame.y0),
        "frame_azimuth": repr(frame.azimuth),
        "frame_flip": str(int(frame.flip)),
        "title": name,
    }
    write_rsf(path, a, grid.spacing, grid.origin, extra=place, comments=text, **parts)


def _write_npz(
    path: str | os.PathLike[str], grid: Grid, a: NDArray, frame: Frame, text: Sequence[str], name: str
) -> None:
    arrays: dict[str, NDArray] = {
        name: a,
        "spacing_m": np.array(grid.spacing),
        "origin_m": np.array(grid.origin),
        "axes": np.array(["x", "z"] if grid.ndim == 2 else ["x", "y", "z"]),
        "frame": np.array([frame.x0, frame.y0, frame.azimuth, float(frame.flip)]),
        "provenance": np.array("\n".join(text)),
    }
    write_npz(path, arrays)


def _write_npy(
    path: str | os.PathLike[str], grid: Grid, a: NDArray, frame: Frame, text: Sequence[str], name: str
) -> None:
    publish_array(path, a)
    write_grid_file(path, grid, frame)


def _write_sgy(
    path: str | os.PathLike[str], grid: Grid, a: NDArray, frame: Frame, text: Sequence[str], name: str
) -> None:
    from subsalt.io.volumes.segy_image import write_image

    write_image(path, a, grid, frame, text)


def _write_vti(*args: Any) -> None:
    from subsalt.io.volumes.vti import write_vti

    write_vti(*args)


def _write_netcdf(*args: Any) -> None:
    from subsalt.io.volumes.netcdf import write_netcdf

    write_netcdf(*args)


def _write_zarr(*args: Any) -> None:
    from subsalt.io.volumes.zarr_store import write_zarr

    write_zarr(*args)


_WRITERS: dict[str, Callable[..., None]] = {
    ".rsf": _write_rsf,
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".sgy": _write_sgy,
    ".vti": _write_vti,
    ".nc": _write_netcdf,
    ".zarr": _write_zarr,
}
