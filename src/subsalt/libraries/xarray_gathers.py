"""Gathers of depth images as datasets of xarray, on x, (y,) angle or half offset, and z."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.earth.grid import Frame, Grid
from subsalt.errors import DataError
from subsalt.libraries import labelled
from subsalt.libraries.depth_coordinates import coordinates
from subsalt.methods.rtm.conditions import LagAxis
from subsalt.methods.rtm.image_sum import GatherPlanes
from subsalt.methods.rtm.offset_classes import OffsetAxis
from subsalt.methods.rtm.stored_gathers import StoredGathers

if TYPE_CHECKING:
    import xarray

#: long names of the axis between place and depth
NAMES = {
    "angle": "half opening angle",
    "half_offset_x": "half offset along x",
    "half_offset_y": "half offset along y",
    "offset": "offset of source and receiver",
}


def of_gathers(gathers: StoredGathers) -> xarray.Dataset:
    """Return gathers as a dataset; see `StoredGathers.to_xarray`."""
    xr = labelled.xarray_package()
    data, at = variable(gathers, "gathers")
    dataset: xarray.Dataset = xr.Dataset(
        {"gathers": data}, at, labelled.global_attributes("gathers of a depth image", Frame())
    )
    return dataset


def variable(gathers: StoredGathers, name: str, place: str = "") -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return gathers as a variable, and its coordinates.

    Parameters
    ----------
    gathers : StoredGathers
        Gathers.
    name : str
        Begins the long name.
    place : str
        Begins the names of the dimensions of their places, which are others than those of an image.
    """
    grid, two = gathers.grid, gathers.grid.ndim == 2
    depth = coordinates(grid)["z"]
    x, y, middle = f"{place}x", f"{place}y", gathers.axis
    steps = np.diff(gathers.traces)
    at = {
        x: (x, gathers.x, {"units": "m", "long_name": "position along x of a gather"}),
        middle: (
            middle,
            np.array(gathers.traces),
            {
                "units": gathers.unit,
                "long_name": NAMES[middle],
                "spacing": float(steps[0]) if len(steps) else 0.0,
            },
        ),
        "z": depth,
    }
    dims = (x, middle, "z") if two else (x, y, middle, "z")
    if not two:
        at[y] = (y, gathers.y, {"units": "m", "long_name": "position along y of a gather"})
    values = np.asarray(gathers.values, np.float32)
    values = values[:, 0] if two else values
    return (dims, values, {"units": "1", "long_name": f"{name} by {NAMES[middle]}"}), at


def with_planes(dataset: xarray.Dataset, planes: Sequence[GatherPlanes], grid: Grid) -> xarray.Dataset:
    """Return the dataset of an image with its gathers: ``gathers``, or ``gathers_x`` and ``gathers_y``, whose places
    are ``gather_x`` and ``gather_y``.
    """
    for one in planes:
        axis = "angle" if one.angles else one.axis.key
        stored = StoredGathers(grid, one.columns, one.traces, axis, one.values, one.axis.name)
        (dims, values, said), at = variable(stored, "gathers", "gather_")
        said |= {"columns": json.dumps(one.columns), "angles": json.dumps(one.angles)}
        said |= {"half_offsets": json.dumps([one.axis.axis, one.axis.cells, one.axis.lags])}
        name = "gathers" if len(planes) == 1 else f"gathers_{one.axis.name}"
        del at["z"]
        dataset = dataset.assign_coords(at).assign({name: (dims, values, said)})
    return dataset


def planes_of(dataset: xarray.Dataset) -> tuple[GatherPlanes, ...]:
    """Return the gathers of a dataset that `with_planes` made; none of one without any."""
    out = []
    for name in ("gathers", "gathers_x", "gathers_y"):
        if name not in dataset.variables:
            continue
        array = dataset[name]
        for key in ("columns", "angles", "half_offsets"):
            if key not in array.attrs:
                raise DataError(
                    f"{name} has no attribute {key}",
                    "use a dataset that to_xarray made, whole; xarray.set_options(keep_attrs=True) keeps attributes",
                    code=labelled.CODE,
                )
        along, cells, lags = json.loads(array.attrs["half_offsets"])
        xs, ys = json.loads(array.attrs["columns"])
        values = np.asarray(array.values, np.float32)
        values = values[:, None] if values.ndim == 3 else values
        if values.shape[:2] != (len(xs), len(ys)):
            raise DataError(
                f"{name} has {values.shape[0]} x {values.shape[1]} places, its columns are {len(xs)} x {len(ys)}",
                "use the whole dataset: places were selected",
                code=labelled.CODE,
            )
        kind = OffsetAxis if "offset" in array.dims else LagAxis
        axis = kind(along, tuple(cells), tuple(lags))
        angles = tuple(json.loads(array.attrs["angles"]))
        out.append(GatherPlanes(axis, angles, (tuple(xs), tuple(ys)), np.ascontiguousarray(values)))
    return tuple(out)
