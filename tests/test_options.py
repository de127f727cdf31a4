"""Options of the Python interface: what cannot be meant is refused, and not computed as something else."""

from __future__ import annotations

import math

import numpy as np
import pytest

from subsalt.errors import ConfigError
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
