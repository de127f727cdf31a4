"""Zarr stores, when the package zarr is installed (the extra ``zarr``)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import MissingInputError, ModelError, SubsaltError
from subsalt.io.objects import as_path, is_url, web_options
from subsalt.io.publish import publish_folder
from subsalt.io.trace_store import METRES, dimensions, unit_of, zarr_package
from subsalt.io.volumes.planes import (
    MAP_NAMES,
    FilePlanes,
    OpenVolume,
    VolumeLabel,
    frame_from,
    map_axes,
    to_float32,
)
from subsalt.io.volumes.request import VolumeRequest
from subsalt.io.volumes.segy_volume import open_segy_volume


def require_zarr() -> None:
    """Raise `ConfigError` when Zarr stores can be neither read nor written."""
    zarr_package()


def write_zarr(
    path: str | os.PathLike[str], grid: Grid, values: NDArray[np.float32], label: VolumeLabel
) -> None:
    """Write a group with the array and its coordinates; it appears complete or not at all."""
    zarr, frame = zarr_package(), label.frame
    dims = ["x", "depth"] if grid.ndim == 2 else ["x", "y", "depth"]
    with publish_folder(path) as folder:
        group = zarr.open_group(str(folder), mode="w")
        for i, dim in enumerate(dims):
            axis = group.create_array(dim, data=grid.axis(i), dimension_names=[dim])
            axis.attrs.update({"units": "m", "axis": "XYZ"[-1 if dim == "depth" else i]})
            if dim == "depth":
                axis.attrs["positive"] = "down"
        # chunks of about 1 MB that hold whole depth columns
        column = max(1, (1 << 20) // (4 * grid.shape[-1]))
        side = max(1, int(column ** (1 / (grid.ndim - 1))))
        chunks = (*(min(side, n) for n in grid.shape[:-1]), grid.shape[-1])
        array = group.create_array(
            label.name, shape=grid.shape, chunks=chunks, dtype="float32", dimension_names=dims, fill_value=0.0
        )
        array[...] = values
        array.attrs.update({"grid_mapping": "frame", "coordinates": " ".join(MAP_NAMES)})
        for name_, places in zip(MAP_NAMES, map_axes(grid, frame), strict=True):
            column_of = group.create_array(name_, data=places, dimension_names=dims[:-1])
            column_of.attrs.update({"units": "m", "standard_name": f"projection_{name_[-1]}_coordinate"})
        group.attrs.update(
            {
                "Conventions": "CF-1.8",
                "source": "\n".join(label.text),
                "spacing_m": list(grid.spacing),
                "origin_m": list(grid.origin),
                "frame": [frame.x0, frame.y0, frame.azimuth, int(frame.flip)],
            }
        )


def open_zarr(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open an array of 2 or 3 dimensions, or the volume of a store of traces (MDIO)."""
    zarr = zarr_package()
    if not is_url(as_path(path)) and not os.path.isdir(path):
        raise MissingInputError(f"{path} is not a Zarr store (a folder)", "check the name")
    try:
        group = zarr.open_group(os.fspath(path), mode="r", storage_options=web_options(as_path(path)) or None)
        arrays = dict(group.arrays())
        if "headers" in arrays or "trace_mask" in arrays:
            return open_segy_volume(path, request=request)
        key = request.pick(
            path, [n for n, a in arrays.items() if len(a.shape) in (2, 3) and n not in MAP_NAMES]
        )
        array = arrays[key]
        from subsalt.io.zarr_chunks import bounded

        if array.dtype.hasobject or array.dtype.kind not in "fiub" or array.nbytes > 1 << 42:
            raise ModelError(f"{path}[{key}] is {array.dtype} of {array.shape}", "store float32", code="E224")
        bounded(array, f"{path}[{key}]")
        attrs = dict(group.attrs)
        steps, first = _along(path, arrays, array)
    except SubsaltError:
        raise
    except Exception as e:  # the codecs and stores behind zarr raise many unrelated types
        raise _damaged(path, e) from e
    said = attrs.get("frame")
    frame = frame_from(said, path) if isinstance(said, list) and len(said) == 4 else Frame()
    spacing, origin = _floats(attrs.get("spacing_m")) or steps, _floats(attrs.get("origin_m")) or first
    planes = ZarrPlanes(path, array)
    return OpenVolume(request.grid(path, planes.shape, spacing, origin), frame, planes, unit_of(array))


def _along(path: object, arrays: dict[str, Any], array: Any) -> tuple[list[float] | None, list[float] | None]:
    """Return spacing and origin, m, as the arrays have them that are named after the dimensions; None without all."""
    places: list[Any] = [arrays.get(name) for name in dimensions(array)]
    if len(places) != len(array.shape) or any(
        p is None or tuple(p.shape) != (n,) or n < 2 for p, n in zip(places, array.shape, strict=True)
    ):
        return None, None
    from subsalt.io.zarr_chunks import bounded, whole

    steps, first = [], []
    for place in places:
        unit, name = unit_of(place), f"{path}[{place.name.strip('/')}]"
        x = whole(bounded(place, name), name).astype(np.float64) * METRES.get(unit or "m", np.nan)
        step = (x[-1] - x[0]) / (len(x) - 1)
        if not (step > 0 and np.abs(np.diff(x) - step).max() <= 1e-3 * step):
            raise ModelError(
                f"{path}: {place.name.strip('/')} does not grow in even steps of m, km, cm or ft (unit {unit!r})",
                "write even steps in one of these units, or give spacing and origin in the job",
                code="E225",
            )
        steps.append(float(step))
        first.append(float(x[0]))
    return steps, first


def _damaged(path: object, error: Exception) -> ModelError:
    return ModelError(f"{path} cannot be read: {str(error)[:200]}", "copy the store again", code="E234")


class ZarrPlanes(FilePlanes):
    """Planes of an array in chunks: a plane costs the chunks that it goes through."""

    def __init__(self, path: str | os.PathLike[str], array: Any) -> None:
        super().__init__(tuple(array.shape), array.dtype.itemsize)
        self._path, self._array = path, array
        self._deep = int(array.chunks[0])

    @property
    def step(self) -> int:
        """Whole chunks."""
        return -(-super().step // self._deep) * self._deep

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        try:
            out = np.ascontiguousarray(to_float32(np.asarray(self._array[lo:hi])))
        except SubsaltError:
            raise
        except Exception as e:  # the codecs and stores behind zarr raise many unrelated types
            raise _damaged(self._path, e) from e
        ends = lo // self._deep * self._deep, min(-(-hi // self._deep) * self._deep, len(self))
        plane = self.itemsize * self.size // len(self)
        self._count(out.size, (ends[1] - ends[0]) * plane if hi > lo else 0)
        return out


def _floats(value: object) -> list[float] | None:
    return [float(v) for v in value] if isinstance(value, list) and len(value) <= 3 else None
