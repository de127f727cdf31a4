"""Around a source the medium is elliptical: epsilon equals delta within two cells, and comes back smoothly."""

import numpy as np
import pytest

from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.propagation.tapers import elliptical_near

E, D = 0.24, 0.1
CELLS = 6.0


@pytest.fixture(scope="module", params=[2, 3], ids=["2d", "3d"])
def medium(request):
    """Epsilon around a node in the middle, and the distance of every node from it in cells."""
    n = (31, 25, 27) if request.param == 3 else (31, 27)
    grid = Grid(n, tuple([10.0] * len(n)))
    model = EarthModel(grid, 2000.0, E, D)
    middle = np.array([15, 12, 13])
    if request.param == 2:
        middle[1] = 0
    tapered = elliptical_near(model, np.array([10.0 * middle]), CELLS, model, grid)
    nodes = np.indices(grid.shape3)
    distance = np.sqrt(((nodes - middle[:, None, None, None]) ** 2).sum(axis=0))
    return tapered.epsilon.reshape(grid.shape3).astype(float), distance


def test_two_cells_around_the_source_are_elliptical_and_no_more(medium):
    epsilon, distance = medium
    assert (epsilon[distance <= 2] == np.float32(D)).all()
    # the nearest nodes beyond are a quarter of a cell off, where the step of the ramp is 1e-2 of its height
    assert (epsilon[distance > 2] > np.float32(D)).all()


def test_the_medium_is_itself_from_the_radius_on(medium):
    epsilon, distance = medium
    # delta + 1 (epsilon - delta) has two roundings
    rounding = 2 * np.spacing(np.float32(E))
    assert (np.abs(epsilon[distance >= CELLS] - E) <= rounding).all()
    assert (epsilon[distance < CELLS] < E - rounding).all()


def test_epsilon_comes_back_by_a_step_that_is_odd_about_the_middle_of_the_ramp(medium):
    epsilon, distance = medium
    for a, b in ((3.0, 5.0), (4.0, 4.0)):
        share = [(epsilon[distance == r].mean() - D) / (E - D) for r in (a, b)]
        assert sum(share) == pytest.approx(1.0, abs=1e-5)
    # x^2 (3 - 2 x) a quarter of the way: 5 / 32
    assert (epsilon[distance == 3.0] - D) / (E - D) == pytest.approx(5 / 32, abs=1e-5)


def test_between_sources_the_nearest_counts():
    grid = Grid((41, 33), (10.0, 10.0))
    sources = np.array([[4, 0, 2], [9, 0, 7], [30, 0, 31], [12, 0, 40]])  # at edges, and one outside
    model = EarthModel(grid, 2000.0, E, D)
    tapered = elliptical_near(model, 10.0 * sources, CELLS, model, grid)
    alone = [elliptical_near(model, 10.0 * s[None], CELLS, model, grid).epsilon for s in sources[:3]]
    # where the ramp is 1 there are two roundings, and none outside of the box of a source
    rounding = 2 * np.spacing(np.float32(E))
    assert (np.abs(tapered.epsilon - np.minimum.reduce(alone)) <= rounding).all()
    assert (tapered.epsilon.reshape(41, 33)[[4, 9, 30], [2, 7, 31]] == np.float32(D)).all()
