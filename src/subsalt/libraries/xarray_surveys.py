"""Surveys and their gathers as datasets of xarray, and back, under the names of MDIO.

Dimensions are shot_point, channel and time; positions are `source_coord_x`, `group_coord_x` and so on, in metres, local
as those of `Survey`. Where shots have unequal numbers of receivers, the missing ones have no position (NaN).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.api import ForwardResult
from subsalt.errors import DataError
from subsalt.libraries import labelled

if TYPE_CHECKING:
    import xarray

DIMS = ("shot_point", "channel", "time")
#: numbers of the traces in the files of the survey
TRACE = "trace_seq_num"


def _positions(survey: Survey, width: int) -> dict[str, tuple[tuple[str, ...], NDArray, dict[str, Any]]]:
    """Return the coordinates of sources and receivers; those of y are left out of a 2-D survey."""
    out: dict[str, tuple[tuple[str, ...], NDArray, dict[str, Any]]] = {}
    for i, axis in enumerate("xyz"):
        if axis == "y" and survey.ndim == 2:
            continue
        what = {"units": "m", "long_name": "depth" if axis == "z" else f"local {axis}"}
        what |= {"positive": "down"} if axis == "z" else {}
        receivers = np.full((len(survey), width), np.nan)
        for row, shot in zip(receivers, survey.shots, strict=True):
            row[: len(shot.rcv)] = shot.rcv[:, i]
        sources = np.array([s.src[i] for s in survey.shots])
        source, group = what["long_name"] + " of the source", what["long_name"] + " of the receiver"
        out[f"source_coord_{axis}"] = (DIMS[:1], sources, {**what, "long_name": source})
        out[f"group_coord_{axis}"] = (DIMS[:2], receivers, {**what, "long_name": group})
    return out


def of_survey(survey: Survey) -> xarray.Dataset:
    """Return a survey as a dataset; see `Survey.to_xarray`."""
    xr = labelled.xarray_package()
    if survey.surface is not None:
        raise DataError(
            "a survey with a surface inside the model: a dataset has no place for it",
            "dataclasses.replace(survey, surface=None).to_xarray(), and keep survey.surface",
            code=labelled.CODE,
        )
    width, time = max((len(s.rcv) for s in survey.shots), default=0), survey.time
    coordinates: dict[str, Any] = {
        "shot_point": ("shot_point", np.array([s.id for s in survey.shots], dtype=np.int64)),
        "channel": ("channel", np.arange(1, width + 1)),
        "time": labelled.axis("time", time.values(), time.dt, "time", "two-way time", axis="T"),
        **_positions(survey, width),
    }
    if any(s.trace_index is not None for s in survey.shots):
        numbers = np.full((len(survey), width), -1, dtype=np.int64)
        for row, shot in zip(numbers, survey.shots, strict=True):
            if shot.trace_index is not None:
                row[: len(shot.rcv)] = shot.trace_index
        coordinates[TRACE] = (DIMS[:2], numbers, {"long_name": "number of the trace in its file"})
    data = {}
    if survey.shots and all(s.data is not None or survey.reader is not None for s in survey.shots):
        amplitude = np.full((len(survey), width, time.nt), np.nan, dtype=np.float32)
        for gather, shot in zip(amplitude, survey.shots, strict=True):
            gather[: len(shot.rcv)] = survey.traces(shot)
        data["amplitude"] = (DIMS, amplitude, {"units": "1", "long_name": "recorded traces"})
    attributes = labelled.global_attributes("shot gathers", survey.frame)
    attributes |= {"surveyDimensionality": f"{survey.ndim}D", "gatherType": "shot_point"}
    if survey.source_files:
        attributes["source_files"] = "\n".join(survey.source_files)
    dataset: xarray.Dataset = xr.Dataset(data, coordinates, attributes)
    return dataset


def _time_of(dataset: xarray.Dataset) -> TimeAxis:
    if "time" not in dataset.dims:
        others = [str(d) for d in dataset.dims if d not in DIMS]
        raise DataError(
            f"a survey has no dimension time; it has {', '.join(map(str, dataset.dims)) or 'none'}",
            f'ds.rename({{"{others[-1] if others else "NAME"}": "time"}})',
            code=labelled.CODE,
        )
    t0, dt = labelled.even_axis(dataset, "time", "time")
    return TimeAxis(dataset.sizes["time"], dt, t0)


#: how the names of variables begin that have the dimension shot_point
_OF_SHOTS = ("source_coord_", "group_coord_", "amplitude", TRACE)


def _with_one(dataset: xarray.Dataset, dim: str, names: tuple[str, ...]) -> xarray.Dataset:
    """Return the dataset with a dimension of one point where one shot or channel was selected by its number."""
    if dim not in dataset.coords or dim in dataset.dims:
        return dataset
    number = int(dataset[dim])
    dataset = dataset.drop_vars(dim)
    variables = {
        str(name): (old := dataset.variables[name]).set_dims({dim: 1, **old.sizes})
        for name in dataset.variables
        if str(name).startswith(names)
    }
    return dataset.assign(variables).assign_coords({dim: (dim, [number])})


def to_survey(given: Any) -> Survey:
    """Return the survey of a dataset, or of a DataArray of traces; see `Survey.from_xarray`."""
    dataset = labelled.as_dataset(given, "amplitude", "a survey")
    dataset = _with_one(
        _with_one(dataset, "channel", ("group_coord_", "amplitude", TRACE)), "shot_point", _OF_SHOTS
    )
    time = _time_of(dataset)
    ndim = 3 if "source_coord_y" in dataset.variables else 2
    dimensionality = str(dataset.attrs.get("surveyDimensionality", f"{ndim}D"))
    if ndim == 2 and dimensionality == "3D":
        raise DataError(
            "the dataset says surveyDimensionality 3D and has no source_coord_y",
            'add source_coord_y and group_coord_y, or ds.attrs["surveyDimensionality"] = "2D"',
            code=labelled.CODE,
        )
    names = ("x", "z") if ndim == 2 else ("x", "y", "z")
    sources = np.stack([_coordinate(dataset, f"source_coord_{a}", DIMS[:1]) for a in names], axis=-1)
    receivers = np.stack([_coordinate(dataset, f"group_coord_{a}", DIMS[:2]) for a in names], axis=-1)
    traces = None
    if "amplitude" in dataset.variables:
        traces = labelled.variable(dataset, "amplitude", DIMS, "a survey").values
    ids = dataset["shot_point"].values if "shot_point" in dataset.coords else np.arange(1, len(sources) + 1)
    numbers = None
    if TRACE in dataset.variables:
        numbers = labelled.variable(dataset, TRACE, DIMS[:2], "a survey").values
    shots = []
    for i, one in enumerate(ids):
        there = np.isfinite(receivers[i]).any(axis=-1)
        index = None if numbers is None or (numbers[i] < 0).all() else numbers[i][there].astype(np.int64)
        data = None if traces is None else traces[i][there].astype(np.float32)
        shots.append(Shot(int(one), sources[i], receivers[i][there], data, index))
    files = str(dataset.attrs.get("source_files", ""))
    return Survey(
        shots, time, ndim, labelled.frame_of(dataset), source_files=files.split("\n") if files else []
    )


def _coordinate(dataset: xarray.Dataset, name: str, dims: tuple[str, ...]) -> NDArray[np.float64]:
    """Return positions in metres, depths downwards.

    Receivers that all shots share are repeated. A source may be stated for every trace, as headers do, if it is one.
    """
    if name not in dataset.variables:
        raise DataError(
            f"the dataset of a survey has no coordinate {name}",
            f'ds.assign_coords({name}=({dims!r}, METRES, {{"units": "m"}}))',
            code=labelled.CODE,
        )
    array = dataset[name]
    if dims == DIMS[:2] and array.dims == DIMS[1:2]:
        array = array.expand_dims({"shot_point": dataset.sizes["shot_point"]})
    if dims == DIMS[:1] and set(array.dims) == set(DIMS[:2]):
        low, high = array.min("channel"), array.max("channel")
        if bool((low != high).any()):
            raise DataError(
                f"{name} differs between the traces of a shot",
                "give every source a shot_point of its own",
                code=labelled.CODE,
            )
        low.attrs = array.attrs
        array = low
    at = labelled.values(labelled.ordered(array, name, dims, "a survey"), "length", name)
    up = name.endswith("_z") and str(array.attrs.get("positive", "down")) == "up"
    return -at if up else at


def of_modelled(result: ForwardResult) -> xarray.Dataset:
    """Return modelled traces as a dataset; see `ForwardResult.to_xarray`."""
    dataset = of_survey(result.survey)
    dataset.attrs |= {
        "dt": result.dt,
        "point_steps": result.point_steps,
        "phases": labelled.phases_text(result.phases),
    }
    return dataset


def to_modelled(given: Any) -> ForwardResult:
    """Return the modelled traces of a dataset; see `ForwardResult.from_xarray`."""
    dataset = labelled.as_dataset(given, "amplitude", "modelled traces")
    labelled.variable(dataset, "amplitude", DIMS, "modelled traces")
    a = dataset.attrs
    return ForwardResult(
        to_survey(dataset), float(a.get("dt", 0.0)), labelled.phases_of(dataset), int(a.get("point_steps", 0))
    )
