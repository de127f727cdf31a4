"""Options of the Python interface: what cannot be meant is refused, and not computed as something else.

They are declared once: the tables of the job file have their defaults and meanings.
"""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import ConfigError
from subsalt.methods.kirchhoff.job import KirchhoffJob
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.rtm.job import Job
from subsalt.option_fields import Declared
from subsalt.propagation.options import ImagingOptions, PropagationOptions


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "reflectivty"),
        ("filter", "laplace"),
        ("illumination", "shots"),
        ("normalise", 0.0),
        ("normalise", -1.0),
        ("normalise", math.nan),
        ("image_step", 0),
        ("image_step", -1),
        ("image_step", 1.5),
        ("aperture", -1.0),
        ("aperture", math.inf),
        ("aperture", "all"),
        ("top_mute", -1.0),
        ("top_mute", math.nan),
    ],
)
def test_imaging_options_are_checked(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        ImagingOptions(**{name: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("boundary", "PML"),
        ("anisotropy", "repair"),
        ("order", 8.0),
        ("layer", -1),
        ("threads", 0),
        ("threads", 1.5),
        ("source_taper", -3.0),
        ("source_taper", math.nan),
        ("dtype", "float16"),
    ],
)
def test_propagation_options_are_checked(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        PropagationOptions(**{name: value})  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    assert PropagationOptions(order=np.int64(8), source_taper=np.float32(4)).order == 8
    assert ImagingOptions(aperture=np.float64(100.0), image_step=np.int32(3)).image_step == 3
    assert PropagationOptions(source_taper=None).source_taper is None


@pytest.mark.parametrize(("name", "value"), [("mode", None), ("top_mute", None), ("normalise", None)])
def test_none_is_refused_where_it_means_nothing(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        ImagingOptions(**{name: value})  # type: ignore[arg-type]


#: words that the job file has where the program has None, 0 or no folders
WORDS = ("auto", "all", "off", "bins", "fitted", [], True)


@pytest.mark.parametrize(
    ("options", "job", "table"),
    [
        (PropagationOptions, Job, "propagation"),
        (PropagationOptions, Job, "parallel"),
        (ImagingOptions, Job, "imaging"),
        (CheckpointOptions, Job, "checkpoint"),
        (KirchhoffOptions, KirchhoffJob, "kirchhoff"),
    ],
)
def test_tables_have_defaults_and_meanings_of_the_options(options, job, table) -> None:
    section = job.model_fields[table].annotation
    shared = [f for f in fields(options) if f.name in section.model_fields and f.name != "topography"]
    assert len(shared) >= 3
    for option in shared:
        key = section.model_fields[option.name]
        assert key.description == Declared.of(option).meaning
        assert (
            key.default == option.default
            or (key.default in WORDS and not option.default)
            or option.name == "amplitude"
        )


@pytest.mark.parametrize("options", [PropagationOptions, ImagingOptions, CheckpointOptions, KirchhoffOptions])
def test_the_docstring_names_every_option(options) -> None:
    for option in fields(options):
        assert f"\n{option.name} : " in options.__doc__
