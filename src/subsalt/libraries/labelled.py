"""Coordinates and units of labelled arrays, as the CF conventions write them: written, read and refused.

Numbers are in SI, depth grows downwards. An axis carries its spacing as an attribute beside its coordinates, so that a
grid comes back with the same bits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame
from subsalt.errors import DataError
from subsalt.libraries import package

if TYPE_CHECKING:
    from types import ModuleType

    import xarray

CODE = "E119"

#: factors to SI by unit, the one that is written first; the exponents of CF and the slashes of everybody else
UNITS: Mapping[str, Mapping[str, float]] = {
    "length": {
        "m": 1.0,
        "metre": 1.0,
        "meter": 1.0,
        "metres": 1.0,
        "meters": 1.0,
        "km": 1e3,
        "dm": 0.1,
        "cm": 1e-2,
        "ft": 0.3048,
        "us-ft": 1200 / 3937,
    },
    "velocity": {"m s-1": 1.0, "m/s": 1.0, "km s-1": 1e3, "km/s": 1e3, "ft s-1": 0.3048, "ft/s": 0.3048},
    "time": {"s": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6},
    "angle": {
        "radian": 1.0,
        "radians": 1.0,
        "rad": 1.0,
        "degree": math.pi / 180,
        "degrees": math.pi / 180,
        "deg": math.pi / 180,
    },
    "fraction": {"1": 1.0, "": 1.0, "fraction": 1.0, "percent": 1e-2, "%": 1e-2},
}

#: a coordinate may lie this part of a spacing away from an even axis: those of float32 do
EVEN = 1e-3


def xarray_package() -> ModuleType:
    """Return the package xarray; MissingInputError when it is not installed."""
    module: ModuleType = package("xarray", "xarray", "a labelled array")
    return module


def unit(kind: str) -> str:
    """Return the unit that is written for a kind of quantity."""
    return next(iter(UNITS[kind]))


def axis(
    name: str, values: NDArray, spacing: float, kind: str, long_name: str, **more: str
) -> tuple[str, NDArray, dict[str, Any]]:
    """Return the coordinate of an axis as xarray takes it: dimension, values, attributes."""
    return name, values, {"units": unit(kind), "long_name": long_name, "spacing": float(spacing), **more}


def global_attributes(title: str, frame: Frame) -> dict[str, Any]:
    """Return the attributes of a dataset: conventions, title, program, and where its local x, y lie on the map."""
    from subsalt import __version__

    return {
        "Conventions": "CF-1.11",
        "title": title,
        "source": f"subsalt {__version__}",
        "map_x0": frame.x0,
        "map_y0": frame.y0,
        "map_azimuth": frame.azimuth,
        "map_flip": int(frame.flip),
    }


def frame_of(dataset: xarray.Dataset) -> Frame:
    """Return the frame that the attributes of a dataset state; the local coordinates are those of the map without."""
    a = dataset.attrs
    return Frame(
        float(a.get("map_x0", 0.0)),
        float(a.get("map_y0", 0.0)),
        float(a.get("map_azimuth", 0.0)),
        bool(int(a.get("map_flip", 0))),
    )


def phases_text(phases: Mapping[str, float]) -> str:
    """Return seconds by phase as an attribute, which every format can hold."""
    return json.dumps(dict(phases))


def phases_of(dataset: xarray.Dataset) -> dict[str, float]:
    """Return the seconds by phase of a dataset; none when it states none."""
    return {str(k): float(v) for k, v in json.loads(dataset.attrs.get("phases", "{}")).items()}


def as_dataset(given: Any, name: str, what: str) -> xarray.Dataset:
    """Return a dataset; a DataArray becomes one of its name, or of `name` when it has none.

    Raises
    ------
    DataError
        When it is neither.
    """
    xr = xarray_package()
    if isinstance(given, xr.Dataset):
        return given
    if isinstance(given, xr.DataArray):
        return given.to_dataset(name=given.name or name)
    raise DataError(
        f"{what} from {type(given).__module__}.{type(given).__name__}: not a Dataset or DataArray of xarray",
        "use xarray.open_dataset(FILE), or the constructor for plain arrays",
        code=CODE,
    )


def variable(dataset: xarray.Dataset, name: str, dims: Sequence[str], what: str) -> xarray.DataArray:
    """Return a variable with its dimensions in the order `dims`.

    Raises
    ------
    DataError
        When it is not there, or has other dimensions.
    """
    if name not in dataset.variables:
        listed = ", ".join(map(str, dataset.variables)) or "nothing"
        other = next(iter(dataset.data_vars), "NAME")
        raise DataError(
            f"the dataset of {what} has no variable {name}; it holds {listed}",
            f'ds.rename({{"{other}": "{name}"}}), or whatever it is called',
            code=CODE,
        )
    return ordered(dataset[name], name, dims, what)


def ordered(array: xarray.DataArray, name: str, dims: Sequence[str], what: str) -> xarray.DataArray:
    """Return a variable with its dimensions in the order `dims`; DataError when it has others."""
    if set(array.dims) != set(dims):
        extra, missing = [d for d in array.dims if d not in dims], [d for d in dims if d not in array.dims]
        names = dict(zip(map(str, extra), missing, strict=False))
        renamed = json.dumps(names) if names else "{OLD: NEW}"
        fix = f"ds.isel({extra[-1]}=0)" if extra and len(extra) > len(missing) else f"ds.rename({renamed})"
        raise DataError(
            f"{name} has dimensions ({', '.join(map(str, array.dims))}), {what} needs ({', '.join(dims)})",
            fix,
            code=CODE,
        )
    return array.transpose(*dims)


def _factor(array: xarray.DataArray, kind: str, name: str) -> float:
    """Return the factor to SI of the unit that a variable states."""
    said = array.attrs.get("units")
    known = UNITS[kind]
    if said is None and kind == "fraction":
        return 1.0
    if said is None:
        raise DataError(
            f"{name} states no units",
            f'ds["{name}"].attrs["units"] = "{unit(kind)}", or {_some(known)}',
            code=CODE,
        )
    factor = known.get(str(said).strip())
    if factor is None:
        raise DataError(
            f"{name} is in {str(said)!r}, which is no unit of {kind}",
            f'ds["{name}"].attrs["units"] = "{unit(kind)}", or {_some(known)}',
            code=CODE,
        )
    return factor


def _some(known: Mapping[str, float]) -> str:
    """Return units that may be meant, one of each factor, besides the first."""
    first = {factor: f'"{u}"' for u, factor in reversed(list(known.items())) if factor != 1.0}
    return " or ".join(dict.fromkeys(reversed(first.values()))) or "leave it out"


def values(array: xarray.DataArray, kind: str, name: str, dtype: Any = np.float64) -> NDArray:
    """Return the values of a variable in SI, as `dtype`.

    Raises
    ------
    DataError
        When its unit is missing or measures something else.
    """
    if array.dtype.kind == "m":  # opened with decoded times
        return (array.values / np.timedelta64(1, "ns")).astype(np.float64) * 1e-9
    factor = _factor(array, kind, name)
    given = array.values
    if given.dtype.kind not in "fiu":
        raise DataError(
            f"{name} holds {given.dtype}, not real numbers", "convert it with astype(float)", code=CODE
        )
    return given.astype(dtype) if factor == 1.0 else (given.astype(np.float64) * factor).astype(dtype)


def even_axis(dataset: xarray.Dataset, name: str, kind: str) -> tuple[float, float]:
    """Return the first coordinate and the spacing of an axis, SI.

    Raises
    ------
    DataError
        When the axis has no coordinates or units, is not evenly spaced, or falls.
    """
    if name not in dataset.coords:
        n = dataset.sizes.get(name, 1)
        raise DataError(
            f"the dimension {name} has no coordinates",
            f'ds.assign_coords({name}=("{name}", SPACING * numpy.arange({n}), {{"units": "{unit(kind)}"}}))',
            code=CODE,
        )
    coordinate = dataset[name]
    at = np.atleast_1d(values(coordinate, kind, name))
    if not len(at):
        raise DataError(f"the dimension {name} has no points", "select some: the part is empty", code=CODE)
    if not np.isfinite(at).all():
        raise DataError(f"coordinates of {name} are not finite", "give every point a number", code=CODE)
    if name == "z" and str(coordinate.attrs.get("positive", "down")) != "down":
        raise DataError(
            f'depths z are positive "{coordinate.attrs["positive"]}"',
            'ds.assign_coords(z=("z", -ds.z.values, {"units": "m", "positive": "down"})).sortby("z")',
            code=CODE,
        )
    stated = coordinate.attrs.get("spacing")
    factor = (
        1.0
        if coordinate.dtype.kind == "m"
        else UNITS[kind].get(str(coordinate.attrs.get("units")).strip(), 1.0)
    )
    if stated is not None and _fits(at, h := float(stated) * factor, 1e-9):
        return float(at[0]), h
    if len(at) == 1:
        raise DataError(
            f"{name} has one point, which says nothing of its spacing",
            f'ds["{name}"].attrs["spacing"] = SPACING',
            code=CODE,
        )
    if at[-1] < at[0]:
        raise DataError(
            f"coordinates of {name} fall from {at[0]:g} to {at[-1]:g}", f'ds.sortby("{name}")', code=CODE
        )
    h = float((at[-1] - at[0]) / (len(at) - 1))
    short = float(f"{h:.9g}")
    if _fits(at, short, 1e-9):
        return float(at[0]), short
    if not _fits(at, h, EVEN):
        steps = np.diff(at)
        raise DataError(
            f"coordinates of {name} are {steps.min():g} to {steps.max():g} {unit(kind)} apart; the grid is regular",
            f"ds.interp({name}=numpy.linspace({at[0]:g}, {at[-1]:g}, {len(at)}))",
            code=CODE,
        )
    return float(at[0]), h


def _fits(at: NDArray, h: float, tolerance: float) -> bool:
    """Return whether coordinates are those of an even axis, to a part of its spacing and rounding."""
    if not (h > 0 and math.isfinite(h)):
        return False
    off = np.abs(at - (at[0] + h * np.arange(len(at))))
    return bool((off <= tolerance * h + 4 * np.spacing(np.abs(at).max())).all())
