"""netCDF classic (64-bit offset) with CF names, through SciPy."""

from __future__ import annotations

import mmap
import os
import warnings
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import InMemoryPlanes, Planes
from subsalt.errors import DataError, ModelError, SubsaltError
from subsalt.host import human
from subsalt.io.input_file import InputFile
from subsalt.io.publish import atomic_write
from subsalt.io.volumes.planes import (
    MAP_NAMES,
    FileBytes,
    OpenVolume,
    RawPlanes,
    VolumeLabel,
    frame_from,
    map_axes,
    to_float32,
)
from subsalt.io.volumes.request import DEPTH, VolumeRequest


class _Borrowed:
    """A file that SciPy may write to and seek in, but not close."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def close(self) -> None:
        """Leave closing to the owner."""
        self.closed = True


def write_netcdf(
    path: str | os.PathLike[str], grid: Grid, values: NDArray[np.float32], label: VolumeLabel
) -> None:
    """Write values (nx, [ny,] nz) with coordinates in metres, depth positive down.

    Raises
    ------
    DataError
        When the array takes 4 GiB or more, which the classic format cannot hold.
    """
    from scipy.io import netcdf_file

    if values.nbytes >= 2**32 - 4:
        raise DataError(
            f"{path}: {human(values.nbytes)} exceed the 4 GiB of a netCDF classic variable",
            "write .zarr, .rsf or .sgy",
            code="E275",
        )
    with atomic_write(path, size=values.nbytes) as f:
        borrowed = _Borrowed(f)
        try:
            _fill(netcdf_file(borrowed, "w", version=2), grid, values, label)
        finally:
            # SciPy's object closes itself when collected, long after the file is gone
            borrowed.close()


def _fill(nc: Any, grid: Grid, values: NDArray[np.float32], label: VolumeLabel) -> None:
    frame, name = label.frame, label.name
    dims = ("x", "depth") if grid.ndim == 2 else ("x", "y", "depth")
    nc.Conventions = b"CF-1.8"
    nc.source = "\n".join(label.text).encode("ascii", "replace") or b"subsalt"
    for i, dim in enumerate(dims):
        nc.createDimension(dim, grid.shape[i])
        v = nc.createVariable(dim, "f8", (dim,))
        v[:] = grid.axis(i)
        v.units = b"m"
        v.axis = {"x": b"X", "y": b"Y", "depth": b"Z"}[dim]
        v.long_name = {"x": b"local x", "y": b"local y", "depth": b"depth"}[dim]
        if dim == "depth":
            v.standard_name, v.positive = b"depth", b"down"
    mapping = nc.createVariable("frame", "i4", ())
    mapping.data[...] = 0  # the variable only carries attributes, but its memory is left as it was found
    mapping.long_name = b"map = (x0, y0) + rotation by azimuth of (x, y); y to the right when flip is 1"
    mapping.x0, mapping.y0, mapping.azimuth = (np.float64(v) for v in (frame.x0, frame.y0, frame.azimuth))
    mapping.flip = np.int32(frame.flip)
    data = nc.createVariable(name, "f4", dims)
    data[:] = values
    data.long_name = name.encode("ascii", "replace")
    data.grid_mapping = b"frame"
    data.coordinates = " ".join(MAP_NAMES).encode()
    for place, at in zip(MAP_NAMES, map_axes(grid, frame), strict=True):
        v = nc.createVariable(place, "f8", dims[:-1])
        v[:] = at
        v.units, v.long_name = b"m", f"map {place[-1]} of each column".encode()
        v.standard_name = f"projection_{place[-1]}_coordinate".encode()
    nc.flush()


def open_netcdf(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open a variable of 2 or 3 dimensions whose last one is depth.

    Raises
    ------
    ModelError
        When the file is damaged or another kind, or a dimension has no regular coordinate and none was given.
    """
    from scipy.io import netcdf_file

    with InputFile(path, ModelError) as file:
        magic = file.read_at(0, min(4, file.size))
    if magic[:3] != b"CDF":
        what = "netCDF-4 (HDF5)" if magic == b"\x89HDF" else "no netCDF file"
        raise ModelError(f"{path} is {what}", "convert it to netCDF classic: nccopy -k classic", code="E233")
    try:
        # mapped, so that only the header and the coordinates are read
        with warnings.catch_warnings(), open(path, "rb") as raw:
            # of a map that an error still refers to: it goes with the error
            warnings.simplefilter("ignore", RuntimeWarning)
            with netcdf_file(_Clamped(raw), "r", mmap=True) as nc:
                return _variable(path, nc, request)
    except SubsaltError:
        raise
    except (
        Exception
    ) as e:  # SciPy raises many unrelated types on damaged files, whose words say nothing to anybody
        raise ModelError(
            f"{path} cannot be read: its header is damaged ({type(e).__name__})",
            "copy the file again; ncdump -h says what a good copy holds",
            code="E233",
        ) from e


class _Clamped:
    """A file that SciPy reads: never more bytes at a time than it has, whatever a damaged header says."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than `size` when the file ends before."""
        left = max(0, self._size - self._file.tell())
        return self._file.read(left if size < 0 else min(size, left))


def _variable(path: str | os.PathLike[str], nc: Any, request: VolumeRequest) -> OpenVolume:
    names = [n for n, v in nc.variables.items() if len(v.dimensions) in (2, 3) and n not in MAP_NAMES]
    key = request.pick(path, names)
    v = nc.variables[key]
    empty = [d for d, n in zip(v.dimensions, v.data.shape, strict=False) if n == 0]
    if empty:
        raise ModelError(
            f"{path}: dimension {empty[0]} of {key} has length 0",
            "write the file again with values along it",
            code="E233",
        )
    if v.dimensions[-1].lower() not in DEPTH:
        raise ModelError(
            f"{path}: dimensions of {key} are {', '.join(v.dimensions)}",
            "store depth as the last one",
            code="E230",
        )
    planes = _placed(path, v.data)
    axes = [
        _regular(nc.variables[dim].data if dim in nc.variables else (), n)
        for dim, n in zip(v.dimensions, planes.shape, strict=True)
    ]
    known = [a for a in axes if a is not None]
    if len(known) < len(axes):
        return OpenVolume(request.grid(path, planes.shape), Frame(), planes)
    frame = Frame()
    m = nc.variables.get("frame")
    if m is not None and all(hasattr(m, a) for a in ("x0", "y0", "azimuth", "flip")):
        frame = frame_from((m.x0, m.y0, m.azimuth, m.flip), path)
    unit = getattr(v, "units", b"")
    unit = unit.decode("latin-1") if isinstance(unit, bytes) else str(unit)
    grid = request.grid(path, planes.shape, [step for step, _ in known], [first for _, first in known])
    return OpenVolume(grid, frame, planes, unit)


def _regular(coordinate: Any, n: int) -> tuple[float, float] | None:
    """Return step and first value of a coordinate of n values; None when it is not regular."""
    axis = np.array(coordinate, dtype=np.float64)
    step = float(axis[-1] - axis[0]) / (n - 1) if len(axis) == n and n > 1 else 0.0
    if step <= 0 or np.abs(np.diff(axis) - step).max() > 1e-4 * step:
        return None
    # what the ends round to nine digits is what was meant
    return float(f"{step:.9g}"), float(axis[0])


def _placed(path: str | os.PathLike[str], mapped: NDArray) -> Planes:
    """Return the planes of a variable from where it lies in the mapped file; those of a record have gaps between."""
    if mapped.dtype.kind not in "fiub":
        raise ModelError(f"{path} holds {mapped.dtype}, not real numbers", "store float32", code="E224")
    whole: Any = mapped
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    if not isinstance(getattr(whole.base, "obj", whole.base), mmap.mmap):
        return InMemoryPlanes(to_float32(np.array(mapped)))
    offset = mapped.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return RawPlanes(FileBytes(path), offset, mapped.shape, mapped.dtype, mapped.strides[0])
