"""Time images and their gathers as datasets of xarray, and back, on inline, crossline, offset class and time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Frame
from subsalt.errors import DataError
from subsalt.libraries import labelled
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.migrate_arrays import TimeImage

if TYPE_CHECKING:
    import xarray

DIMS = ("inline", "crossline", "time")
GATHERS = ("inline", "crossline", "offset_class", "time")
FOLD = ("inline", "crossline", "group")


def of_time_image(result: TimeImage) -> xarray.Dataset:
    """Return a time image as a dataset; see `TimeImage.to_xarray`."""
    xr = labelled.xarray_package()
    grid = result.grid
    numbers = grid.numbers().reshape(*grid.shape, 2)
    at = grid.positions().reshape(*grid.shape, 2)
    coordinates = {
        "inline": ("inline", numbers[:, 0, 0], {"long_name": "inline number"}),
        "crossline": ("crossline", numbers[0, :, 1], {"long_name": "crossline number, or CDP of a line"}),
        "time": labelled.axis("time", grid.time.values(), grid.time.dt, "time", "two-way time", axis="T"),
        "cdp_x": (DIMS[:2], at[..., 0], {"units": "m", "long_name": "map x, east"}),
        "cdp_y": (DIMS[:2], at[..., 1], {"units": "m", "long_name": "map y, north"}),
    }
    data: dict[str, Any] = {
        "image": (DIMS, result.image, {"units": "1", "long_name": "Kirchhoff time migration"}),
        "hits": (DIMS, result.hits, {"units": "1", "long_name": "traces that were added"}),
        "fold": (FOLD, result.fold, {"units": "1", "long_name": "traces that reach the location"}),
    }
    if result.gathers is not None:
        data["gathers"] = (GATHERS, result.gathers, {"units": "1", "long_name": "image gathers"})
    classes = result.classes
    attributes = labelled.global_attributes("Kirchhoff time migration", Frame())
    for key in ("map_x0", "map_y0", "map_azimuth", "map_flip"):  # positions are those of the map
        del attributes[key]
    attributes |= {
        "image_grid": json.dumps(
            [grid.inlines, grid.crosslines, grid.corner, grid.per_inline, grid.per_crossline]
        ),
        "classes": json.dumps(
            [classes.edges, classes.kind, classes.sectors, classes.first_azimuth, classes.nominal]
        ),
        "contributions": result.contributions,
        "phases": labelled.phases_text(result.phases),
    }
    dataset: xarray.Dataset = xr.Dataset(data, coordinates, attributes)
    return dataset


def to_time_image(given: Any) -> TimeImage:
    """Return the time image of a dataset that `of_time_image` made; see `TimeImage.from_xarray`."""
    dataset = labelled.as_dataset(given, "image", "a time image")
    for name in ("image_grid", "classes"):
        if name not in dataset.attrs:
            raise DataError(
                f"the dataset of a time image has no attribute {name}",
                "use one that to_xarray made, whole; xarray.set_options(keep_attrs=True) keeps attributes",
                code=labelled.CODE,
            )
    t0, dt = labelled.even_axis(dataset, "time", "time")
    inlines, crosslines, corner, per_inline, per_crossline = json.loads(dataset.attrs["image_grid"])
    grid = ImageGrid(
        tuple(inlines),
        tuple(crosslines),
        tuple(corner),
        tuple(per_inline),
        tuple(per_crossline),
        TimeAxis(dataset.sizes["time"], dt, t0),
    )
    image = labelled.variable(dataset, "image", DIMS, "a time image").values
    if image.shape[:2] != grid.shape:
        raise DataError(
            f"the image has {image.shape[0]} x {image.shape[1]} locations, its image_grid has {grid.size}",
            "use the whole dataset: inlines and crosslines were selected",
            code=labelled.CODE,
        )
    edges, kind, sectors, first_azimuth, nominal = json.loads(dataset.attrs["classes"])
    gathers = None
    if "gathers" in dataset.variables:
        gathers = labelled.variable(dataset, "gathers", GATHERS, "a time image").values.astype(np.float32)
    return TimeImage(
        image.astype(np.float32),
        gathers,
        labelled.variable(dataset, "hits", DIMS, "a time image").values.astype(np.int32),
        labelled.variable(dataset, "fold", FOLD, "a time image").values.astype(np.int32),
        Classes(tuple(edges), kind, sectors, first_azimuth, tuple(nominal)),
        grid,
        int(dataset.attrs.get("contributions", 0)),
        labelled.phases_of(dataset),
    )
