"""Models with strong contrasts, and the imaging condition that bears them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from layouts import context, salt
from planted import worlds

from subsalt.check.contrasts import backscatter, contrasts
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.propagation.options import ImagingOptions


def said(vp, modelling=False, **imaging):
    """Return what is said of a model under the options of an image."""
    vp = np.asarray(vp)
    case = context(shape=vp.shape, vp=vp, f0=6.0, nt=601, modelling=modelling)
    return list(backscatter(dataclasses.replace(case, imaging=ImagingOptions(**imaging))))


def test_salt_is_named_with_the_condition_that_bears_it():
    (finding,) = said(salt())
    assert finding.code == "W547"
    assert '[imaging] condition = "inverse-scattering"' in finding.fix
    # salt lies in 40 of 121 columns
    assert "4480" in finding.message
    assert finding.evidence["crossed"] == pytest.approx(40 / 121, abs=0.01)


@pytest.mark.parametrize(
    "options",
    [{"condition": "inverse-scattering"}, {"filter": "laplacian"}, {"modelling": True}],
)
def test_nothing_is_said_where_nothing_is_to_be_done(options):
    assert said(salt(), **options) == []


def test_a_hard_sea_bed_is_ordinary():
    """What it sends back is imaged in the water."""
    v = np.full((121, 91), 3500.0)
    v[:, :30] = 1500.0
    assert said(v) == []


def test_salt_that_is_smoothed_over_a_wavelength_is_no_contrast():
    from scipy.ndimage import gaussian_filter

    # 4480 m/s at 6 Hz: a quarter of the wavelength is 100 to 190 m, 10 to 19 nodes
    assert said(1 / gaussian_filter(1 / salt(), 30, mode="nearest")) == []


@pytest.mark.parametrize("world", [worlds.streamer, worlds.split_spread, worlds.foothills])
def test_ordinary_layers_are_none(world):
    of = world()
    strongest, _, _ = contrasts(EarthModel(of.grid, vp=of.model["vp"]), of.f0)
    assert strongest.max() < 0.2


def test_the_coefficient_is_that_of_the_two_velocities():
    v = np.full((3, 60), 2000.0, np.float32)
    v[:, 30:] = 3000.0
    strongest, depth, around = contrasts(EarthModel(Grid(v.shape, (10.0, 10.0)), vp=v), 25.0)
    # (3000 - 2000) / (3000 + 2000), between nodes 29 and 30 give or take a quarter of a wavelength
    assert np.allclose(strongest, 0.2)
    assert np.abs(depth - 295.0).max() <= 0.25 * 3000.0 / 25.0
    assert np.array_equal(around[0], [2000.0, 3000.0])


@pytest.mark.parametrize("shape", [(1, 40), (40, 1), (2, 2), (1, 1)])
def test_thin_models_say_nothing(shape):
    with np.errstate(all="raise"):
        assert contrasts(EarthModel(Grid(shape, (10.0, 10.0)), vp=np.full(shape, 2000.0, np.float32)), 10.0)
