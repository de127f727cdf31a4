"""Points cut by planes: parts put together inject and record as the whole does, bit for bit."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.acquisition.injection import Points, sinc_points
from subsalt.kernels import cpu, reference
from subsalt.parallel.decomp import cut
from subsalt.propagation.slab_recorder import belong_to, further_planes

SHAPE = (24, 17, 21)
CUTS = [(0, 24), (0, 1, 5, 9, 24), (0, 4, 8, 12, 16, 20, 24), tuple(range(25))]


def points() -> Points:
    """Return points on and off nodes, two at one place, in an order that x does not rule."""
    rng = np.random.default_rng(4)
    index = rng.uniform([3.2, 3.2, 3.2], np.array(SHAPE) - 5, (30, 3))
    index[::4] = np.rint(index[::4])
    index[7] = index[3]
    index[9, 0] = np.rint(index[9, 0])
    return sinc_points(SHAPE, index, 3)


def test_planes_are_those_with_weights() -> None:
    p = points()
    for i, (lo, hi) in enumerate(p.planes):
        used = p.base[i, 0] + np.nonzero(p.weights[i, 0])[0]
        assert (used.min(), used.max() + 1) == (lo, hi)
    on_node = np.diff(p.planes)[::4]
    assert (on_node == 1).all()


@pytest.mark.parametrize("cuts", CUTS)
def test_parts_hold_every_weight_once_and_fit_where_they_are_held(cuts: tuple[int, ...]) -> None:
    p = points()
    total = np.zeros((len(p), SHAPE[0]))
    for lo, hi in pairwise(cuts):
        origin = max(0, lo - 3)
        part, rows = p.on_planes(lo, hi, origin)
        assert part.base.dtype == np.int32
        assert part.weights.dtype == np.float32
        assert (np.diff(rows) > 0).all()
        assert (part.base[:, 0] >= 0).all()
        for base, weights, row in zip(part.base, part.weights, rows, strict=True):
            planes = origin + base[0] + np.nonzero(weights[0])[0]
            assert ((planes >= lo) & (planes < hi)).all()
            total[row, planes] += weights[0][weights[0] != 0]
            assert hi - origin < p.width or base[0] + p.width <= hi - origin
            assert np.array_equal(weights[1:], p.weights[row, 1:])
    for i in range(len(p)):
        assert np.array_equal(total[i, p.base[i, 0] : p.base[i, 0] + p.width], p.weights[i, 0])
    assert len(p.on_planes(0, 0)[1]) == 0


@pytest.mark.parametrize("device", [cpu, reference])
@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("cuts", CUTS)
def test_injecting_the_parts_has_the_bits_of_injecting_the_whole(
    device, free_surface: bool, cuts: tuple[int, ...]
) -> None:
    problem = make_problem(SHAPE, "vti", "none", 8, free_surface=free_surface)
    p = points()
    values = np.random.default_rng(1).uniform(-1, 1, len(p)).astype(np.float32)
    states = [random_state(problem) for _ in range(2)]
    whole, parts = states if device is reference else [to_cpu(problem, s) for s in states]
    for field in whole.curr + parts.curr:
        field[field < -0.9] = -0.0  # a zero of no weight would turn these into +0
    device.inject(problem, whole.curr, p, values)
    for lo, hi in pairwise(cuts):
        part, rows = p.on_planes(lo, hi)
        device.inject(problem, parts.curr, part, values[rows])
    for a, b in zip(whole.curr, parts.curr, strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("device", [cpu, reference])
@pytest.mark.parametrize("ranks", [1, 2, 3, 6])
def test_planes_recorded_apart_and_added_in_x_order_have_the_bits_of_the_whole(device, ranks: int) -> None:
    problem = make_problem(SHAPE, "vti", "none", 8)
    p, slabs = points(), tuple(cut(SHAPE[0], ranks, medium="vti", radius=4))
    state = random_state(problem)
    fields = state.curr if device is reference else to_cpu(problem, state).curr
    wanted = device.record(problem, fields, p)
    got = np.full(len(p), np.nan, dtype=np.float32)
    several = 0
    for slab in slabs:
        rows = belong_to(p, slabs, slab.rank)
        begun, parts = p[rows].on_planes(slab.lo, slab.hi)
        assert len(parts) == len(rows)
        assert np.isnan(got[rows]).all()
        got[rows] = device.record(problem, fields, begun)
    in_one_go = got.copy()
    for slab in slabs:
        further = further_planes(p, slabs, slab.rank)
        single = device.record(problem, fields, further.points)
        several = max(several, len(further.row) - len(np.unique(further.row)))
        together = {row: single[further.row == row].sum(dtype=np.float32) for row in further.row}
        for row, value in together.items():
            in_one_go[row] += value
        for row, owner, value in zip(further.row, further.owner, single, strict=True):
            assert slabs[owner].lo <= p.planes[row, 0] < slabs[owner].hi
            assert owner < slab.rank
            got[row] += value
    assert got.tobytes() == wanted.tobytes()
    if ranks > 1:  # the order matters: adding up a rank's planes first gives other bits
        assert several > 0
        assert in_one_go.tobytes() != wanted.tobytes()
