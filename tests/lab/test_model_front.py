"""The part of a grid that a wavefield reaches, against wavefields that were computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subsalt import kernels
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.plan.model import reached, reached_box
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator


def computed(shape, points, steps, order=8, kind="fitted"):
    """Return the mean part of all rows above their last number that is not zero, that of the box of such numbers, and
    what the models say of both.
    """
    grid = Grid(shape, (10.0,) * len(shape))
    model = EarthModel(grid, 2000.0)
    options = PropagationOptions(order=order, stencil=kind, boundary="none", threads=1)
    kernels.prepare("cpu", 1)
    dt = model.choose_dt(options.weights, None, options.dt_reserve)
    t = np.arange(steps) * dt
    a = (np.pi * 12.0 * (t - 0.1)) ** 2
    signature = ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
    where = np.array(points, float)
    parts, boxes = [], []
    with Propagator(model, options, dt, points=where) as prop:
        source, state = prop.source(where, np.tile(signature, (len(where), 1))), prop.new_state()
        shape3 = prop.domain.grid.shape3
        first = np.array([low - p for low, p in zip(prop.window.lo, prop.domain.pad[::2], strict=True)])
        for n in range(steps // 20, steps, steps // 10):
            prop.advance(state, n - state.it, sources=[source])
            u = np.asarray(state.curr[0]) != 0
            last = u.shape[-1] - np.argmax(u[..., ::-1], axis=-1)
            # rows of padding are zero; those of the grid begin M numbers in at most
            parts.append(np.where(u.any(axis=-1), last, 0).sum() / np.prod(shape3))
            boxes.append(
                np.prod([np.ptp(np.flatnonzero(u.any(axis=a))) + 1 for a in ((1, 2), (0, 2), (0, 1))])
            )
    arguments = shape3, grid.to_index(where) - first, 2000.0 * dt / 10.0, steps, options.weights
    return (
        float(np.mean(parts)),
        float(np.mean(boxes) / np.prod(shape3)),
        reached(*arguments),
        reached_box(*arguments),
    )


@pytest.mark.parametrize(
    ("shape", "points", "steps"),
    [
        ((400, 300), [[2000.0, 0.0, 20.0]], 200),
        ((400, 300), [[x, 0.0, 20.0] for x in range(500, 3600, 100)], 200),
        ((400, 300), [[300.0, 0.0, 20.0]], 60),
        ((90, 80, 110), [[450.0, 400.0, 20.0]], 100),
    ],
)
def test_waves_reach_what_the_model_says(shape, points, steps):
    for order, kind in ((8, "fitted"), (8, "taylor"), (4, "fitted"), (12, "fitted")):
        real, box, said, said_box = computed(shape, points, steps, order, kind)
        # a plan's bar is 15 %; padding and ten times that stand for all are within it
        assert said == pytest.approx(real, rel=0.15)
        # of 60 steps, where the box is widest beside what it holds: four cells on each of its sides
        assert said_box == pytest.approx(box, rel=0.2)


@given(
    st.tuples(*[st.integers(1, 200)] * 3),
    st.tuples(*[st.floats(0, 200)] * 3),
    st.floats(0.01, 1.0),
    st.integers(1, 2000),
)
def test_more_steps_and_faster_waves_reach_no_less(shape, point, cells, steps):
    for part in (reached, reached_box):
        one = part(shape, [point], cells, steps)
        assert 0 <= one <= 1
        assert part(shape, [point], cells, 2 * steps) >= one - 1e-12
        assert part(shape, [point], 2 * cells, steps) >= one - 1e-12


def test_what_is_reached_at_once_is_all():
    for part in (reached, reached_box):
        assert part((20, 20, 20), [[10, 10, 10]], 1e6, 100) == 1.0
        assert part((20, 20, 20), np.empty((0, 3)), 0.5, 100) == 1.0
        assert part((20, 20, 20), [[1, 1, 1]], 0.5, 0) == 1.0
