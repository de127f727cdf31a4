"""What the compiled functions refuse: everything that would be computed on a copy, or out of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_problems import make_problem
from subsalt import _native
from subsalt.acquisition.injection import sinc_points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu

SHAPE = (20, 18, 24)
WHOLE = Box((0, 0, 0), SHAPE)


@pytest.fixture
def problem():
    return make_problem(SHAPE, "isotropic", "none", 8)


def wrong_arrays() -> list[np.ndarray]:
    """Return arrays of the right shape that are no float32 in C order, or cannot be written."""
    fixed = np.zeros(SHAPE, dtype=np.float32)
    fixed.flags.writeable = False
    return [np.zeros(SHAPE), np.zeros(SHAPE, dtype=np.float32, order="F"), fixed]


@pytest.mark.parametrize("out", wrong_arrays(), ids=("float64", "column order", "read-only"))
def test_results_are_never_written_to_a_hidden_copy(problem, out):
    state = cpu.new_state(problem)
    state.curr[0][...] = 1
    u = np.ones(SHAPE, dtype=np.float32)
    with pytest.raises(ValueError, match="snapshot must be float32, contiguous, and writeable"):
        cpu.snapshot(problem, state.curr, out, WHOLE)
    with pytest.raises(ValueError, match="image must be float32, contiguous, and writeable"):
        cpu.correlate(problem, out, u, state.curr, WHOLE, 1.0)
    with pytest.raises(TypeError):
        cpu.square(problem, out, u, 1.0)


def test_fields_of_another_type_are_refused(problem):
    state = cpu.new_state(problem)
    state.prev = [a.astype(np.float64) for a in state.prev]
    with pytest.raises(TypeError):
        cpu.field_step(problem, state, WHOLE)
    with pytest.raises(TypeError):
        cpu.time_step(problem, state)
    points = sinc_points(SHAPE, [[9.0, 9.0, 9.0]], 3)
    with pytest.raises(TypeError):
        cpu.inject(problem, state.prev, points, np.ones(1, dtype=np.float32))


def test_one_array_cannot_be_both_levels(problem):
    state = cpu.new_state(problem)
    state.prev = state.curr
    with pytest.raises(ValueError, match="one array"):
        cpu.time_step(problem, state)


def test_points_of_a_larger_grid_are_refused(problem):
    state = cpu.new_state(problem)
    far = _native.PointSet(
        np.full((1, 3), 400, dtype=np.int32), np.ones((1, 3, 8), dtype=np.float32), (500, 500, 500)
    )
    one = np.zeros(1, dtype=np.float32)
    with pytest.raises(ValueError, match="another grid"):
        _native.record(cpu._plan(problem), state.curr, far, one, 1, "")
    with pytest.raises(ValueError, match="another grid"):
        _native.inject(cpu._plan(problem), state.curr, far, one, 1, "")


def test_no_threads_are_refused(problem):
    state = cpu.new_state(problem)
    with pytest.raises(ValueError, match="threads"):
        _native.time_step(cpu._plan(problem), state.prev, state.curr, [], 0, "")
    with pytest.raises(ValueError, match="threads"):
        _native.allocate([10, 10, 10], 0)
