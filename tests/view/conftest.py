"""A small 2-D and a small 3-D scene: model with layers, an image that is right, a survey over it."""

import numpy as np
import pytest

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel


def band(z, at, width):
    """Return a symmetric pulse along z, positive at `at`."""
    u = (z - at) / width
    return (1 - 2 * u**2) * np.exp(-(u**2))


@pytest.fixture
def line():
    """A 2-D image with one flat reflector at 300 m, its model and survey."""
    grid = Grid((101, 61), (10.0, 10.0))
    z = np.broadcast_to(grid.axis(1), grid.shape)
    model = EarthModel(grid, np.where(z < 300, 2000.0, 2500.0))
    x = np.arange(100.0, 1000.0, 200.0)
    survey = Survey.from_arrays(
        np.stack([x, np.full_like(x, 10.0)], 1),
        [(v, 20.0) for v in np.arange(0, 1001, 20.0)],
        nt=10,
        dt=0.004,
    )
    return grid, band(z, 300.0, 20.0).astype(np.float32), model, survey


@pytest.fixture
def area():
    """A 3-D image with one flat reflector at 250 m, its VTI model and survey."""
    grid = Grid((31, 21, 26), (20.0, 20.0, 20.0))
    z = np.broadcast_to(grid.axis(2), grid.shape)
    model = EarthModel(grid, np.where(z < 250, 2000.0, 2500.0), 0.1, 0.05)
    sx, sy = np.meshgrid(np.arange(100.0, 600, 200), np.arange(100.0, 400, 200))
    rx, ry = np.meshgrid(np.arange(0.0, 601, 40), np.arange(0.0, 401, 80))
    survey = Survey.from_arrays(
        np.stack([sx.ravel(), sy.ravel(), np.full(sx.size, 20.0)], 1),
        np.stack([rx.ravel(), ry.ravel(), np.zeros(rx.size)], 1),
        nt=10,
        dt=0.004,
    )
    return grid, band(z, 250.0, 30.0).astype(np.float32), model, survey


@pytest.fixture(autouse=True)
def every_page_is_readable(texts_are_readable):
    """Look at every page that a test of this folder draws."""
