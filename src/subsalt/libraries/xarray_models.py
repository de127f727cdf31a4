"""Models and depth images as datasets of xarray, and back: dimensions x, (y,) z in metres, z positive down."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.api import MigrationResult
from subsalt.check.units import wrong_velocity_unit
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import VOLUMES
from subsalt.earth.planes import Parameter
from subsalt.errors import DataError
from subsalt.libraries import labelled, xarray_gathers
from subsalt.libraries.depth_coordinates import coordinates

if TYPE_CHECKING:
    import xarray

#: kind of quantity and long name of each parameter of a model
_PARAMETERS = {
    "vp": ("velocity", "P velocity along the symmetry axis"),
    "epsilon": ("fraction", "Thomsen parameter epsilon"),
    "delta": ("fraction", "Thomsen parameter delta"),
    "theta": ("angle", "tilt of the symmetry axis from the vertical"),
    "phi": ("angle", "azimuth of the symmetry axis from x towards y"),
}

#: what to do with velocities that look like those of another unit, by the code of the finding
_CURES = {
    "E412": 'ds["vp"].attrs["units"] = "km/s"',
    "E413": "give velocities: the inverse of the slowness, in m/s",
    "E414": "give velocities: one over the root of the squared slowness, in m/s",
    "E415": 'ds["vp"].attrs["units"] = "m/s" where the values are m/s; else divide them by 1000',
    "E416": 'ds["vp"].attrs["units"] = "ft/s"',
}


def grid_of(dataset: xarray.Dataset, what: str) -> Grid:
    """Return the grid of a dataset with dimensions x, z, or x, y, z.

    Raises
    ------
    DataError
        When a dimension is missing, or its coordinates are not those of a regular grid.
    """
    for name in ("x", "z"):
        if name not in dataset.dims:
            others = [str(d) for d in dataset.dims if d not in ("x", "y", "z")]
            raise DataError(
                f"{what} has no dimension {name}; it has {', '.join(map(str, dataset.dims)) or 'none'}",
                f'ds.rename({{"{others[0] if others else "NAME"}": "{name}"}})',
                code=labelled.CODE,
            )
    dims = ("x", "y", "z") if "y" in dataset.dims else ("x", "z")
    axes = [labelled.even_axis(dataset, name, "length") for name in dims]
    shape = tuple(dataset.sizes[name] for name in dims)
    return Grid(shape, tuple(h for _, h in axes), tuple(o for o, _ in axes))


def of_volumes(
    grid: Grid, frame: Frame, volumes: dict[str, tuple[NDArray, dict[str, Any]]], title: str
) -> xarray.Dataset:
    """Return a dataset of volumes on one grid, each with its attributes."""
    xr = labelled.xarray_package()
    at = coordinates(grid)
    data = {name: (tuple(at), values, attributes) for name, (values, attributes) in volumes.items()}
    dataset: xarray.Dataset = xr.Dataset(data, at, labelled.global_attributes(title, frame))
    return dataset


def of_model(model: EarthModel) -> xarray.Dataset:
    """Return a model as a dataset; see `EarthModel.to_xarray`."""
    volumes = {}
    for name in model.volumes:
        kind, long_name = _PARAMETERS[name]
        volumes[name] = (getattr(model, name), {"units": labelled.unit(kind), "long_name": long_name})
    return of_volumes(model.grid, model.frame, volumes, "earth model")


def to_model(given: Any) -> EarthModel:
    """Return the model of a dataset, or of a DataArray of vp; see `EarthModel.from_xarray`."""
    dataset = labelled.as_dataset(given, "vp", "a model")
    grid = grid_of(dataset, "a model")
    dims = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    volumes = {}
    for name in VOLUMES:
        if name == "vp" or name in dataset.variables:
            array = labelled.variable(dataset, name, dims, "a model")
            volumes[name] = labelled.values(array, _PARAMETERS[name][0], name, np.float32)
    model = EarthModel(grid, **volumes, frame=labelled.frame_of(dataset))
    _warn_of_unit(model, str(dataset["vp"].attrs["units"]))
    return model


def _warn_of_unit(model: EarthModel, label: str) -> None:
    """Warn of velocities that are likely in another unit than their label says, as `subsalt check` judges a job.

    The model is returned nevertheless: one without a scale of this world is correct where wavelengths fit its spacing.
    """
    finding = wrong_velocity_unit(Parameter("vp", model.vp, model.grid, source="the dataset"))
    if finding is not None:
        text = f'{finding.code} {finding.message}; its units are "{label}"; {_CURES[finding.code]}'
        # the caller of EarthModel.from_xarray
        warnings.warn(text, stacklevel=4)


def _image_attributes(long_name: str) -> dict[str, Any]:
    return {"units": "1", "long_name": long_name}


def of_image(result: MigrationResult) -> xarray.Dataset:
    """Return a migration result as a dataset; see `MigrationResult.to_xarray`."""
    volumes = {"image": (result.image, _image_attributes("reverse time migration image"))}
    if result.illumination is not None:
        volumes["illumination"] = (result.illumination, _image_attributes("source illumination"))
    dataset = of_volumes(result.grid, Frame(), volumes, "reverse time migration")
    dataset = xarray_gathers.with_planes(dataset, result.gathers, result.grid)
    dataset.attrs |= {
        "dt": result.dt,
        "image_step": result.image_step,
        "repaired": result.repaired,
        "point_steps": result.point_steps,
        "phases": labelled.phases_text(result.phases),
    }
    return dataset


def to_image(given: Any) -> MigrationResult:
    """Return the migration result of a dataset; see `MigrationResult.from_xarray`."""
    dataset = labelled.as_dataset(given, "image", "an image")
    grid = grid_of(dataset, "an image")
    dims = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    image = labelled.variable(dataset, "image", dims, "an image").values.astype(np.float32)
    light = None
    if "illumination" in dataset.variables:
        light = labelled.variable(dataset, "illumination", dims, "an image").values.astype(np.float32)
    a = dataset.attrs
    return MigrationResult(
        np.ascontiguousarray(image),
        None if light is None else np.ascontiguousarray(light),
        grid,
        float(a.get("dt", 0.0)),
        int(a.get("image_step", 1)),
        int(a.get("repaired", 0)),
        labelled.phases_of(dataset),
        int(a.get("point_steps", 0)),
        xarray_gathers.planes_of(dataset),
    )
