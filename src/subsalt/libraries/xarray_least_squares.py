"""Results of least-squares migration of arrays as datasets of xarray, and back, given the operator that made them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from subsalt.errors import DataError
from subsalt.inversion.cgls import Scalars
from subsalt.least_squares import LeastSquaresResult
from subsalt.libraries import labelled
from subsalt.libraries.xarray_models import grid_of, of_volumes

if TYPE_CHECKING:
    import xarray

    from subsalt.methods.lsrtm.operator import BornOperator

_WHAT = "a least-squares image"
_PERTURBATION = {"units": "s2 m-2", "long_name": "perturbation of 1 / v^2"}
#: the numbers of each iteration, which are variables along the dimension of the same name
_NUMBERS = {
    f.name: {"int": int, "float": float}[str(f.type)] for f in fields(Scalars) if f.name != "iteration"
}


def of_image(result: LeastSquaresResult) -> xarray.Dataset:
    """Return a result as a dataset; see `LeastSquaresResult.to_xarray`."""
    waves = result.operator.setup.model
    volumes = {"image": (result.image, dict(_PERTURBATION))}
    dataset = of_volumes(result.grid, waves.frame, volumes, "least-squares migration")
    dims = tuple(dataset.image.dims)
    if waves.grid != result.grid:
        # waves may be computed at depths that are not evenly spaced
        dims = tuple(f"wave_{name}" for name in dims)
    dataset["dm"] = (dims, result.dm, {**_PERTURBATION, "comment": "on the grid on which waves are computed"})
    for name in _NUMBERS:
        dataset[name] = ("iteration", np.array([getattr(s, name) for s in result.history], np.float64))
    dataset = dataset.assign_coords(iteration=[s.iteration for s in result.history])
    dataset.attrs["reason"] = result.reason
    return dataset


def to_image(given: Any, operator: BornOperator) -> LeastSquaresResult:
    """Return the result of a dataset; see `LeastSquaresResult.from_xarray`."""
    dataset = labelled.as_dataset(given, "image", _WHAT)
    grid = grid_of(dataset, _WHAT)
    dims = ("x", "z") if grid.ndim == 2 else ("x", "y", "z")
    image = labelled.variable(dataset, "image", dims, _WHAT).values.astype(np.float32)
    waves = (
        dims if "x" in getattr(dataset.get("dm"), "dims", dims) else tuple(f"wave_{name}" for name in dims)
    )
    dm = labelled.variable(dataset, "dm", waves, _WHAT).values.astype(np.float64)
    needed = getattr(operator, "domain_shape", None)
    if dm.shape != needed:
        raise DataError(
            f"dm has shape {dm.shape}, the operator takes {needed or type(operator).__name__}",
            "give the operator of the same model, survey, wavelet and options: subsalt.born_operator(...)",
            code=labelled.CODE,
        )
    rows = [labelled.variable(dataset, name, ("iteration",), _WHAT).values for name in _NUMBERS]
    numbers = labelled.variable(dataset, "iteration", ("iteration",), _WHAT).values
    history = [
        Scalars(int(k), **{name: of(row[i]) for (name, of), row in zip(_NUMBERS.items(), rows, strict=True)})
        for i, k in enumerate(numbers)
    ]
    reason = str(dataset.attrs.get("reason", ""))
    return LeastSquaresResult(
        np.ascontiguousarray(image), grid, history, reason, np.ascontiguousarray(dm), operator
    )
