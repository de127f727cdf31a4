"""Isotropic and VTI steps on the device: the bytes of the CPU in every array of the state, halo and padding too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from device_states import Points, assert_same, both, fused, other_device, to_device

from kernel_problems import make_problem, random_state, step, to_cpu
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda, reference
from subsalt.kernels.cuda.plan import plan_of
from subsalt.kernels.cuda.segment import tunings
from subsalt.kernels.problem import pack
from subsalt.numerics.stencil import ORDERS
from thorough import ALL

MEDIA = ("isotropic", "vti")
BOUNDARIES = ("none", "damping", "pml")

#: longer than a block along y and z and than a march, and no multiple of one; at order 8 there is a core without layer
#: terms, at order 16 there is none
SHAPES = {3: (24, 21, 75), 2: (41, 1, 83)}


def made(shape, medium, boundary, order, *, storage="f32", **more):
    problem = make_problem(shape, medium, boundary, order, **more)
    if storage == "u16":
        pack(problem)
    return problem


def corner_source(problem):
    """Return a source between nodes in the first corner of the grid, in the layer of all axes, and its sample."""
    weights = np.random.default_rng(4).uniform(-1, 1, (1, 3, 4)).astype(np.float32)
    if problem.layout.ndim == 2:
        weights[:, 1] = [1, 0, 0, 0]
    nx, _, nz = problem.layout.shape3
    return Points(np.array([[min(1, nx - 1), 0, min(2, nz - 1)]], np.int32), weights), np.array(
        [5.0], np.float32
    )


def advance(problem, host, device, steps=3, boxes=None):
    """Advance both by some steps, each with a source in the corner."""
    points, sample = corner_source(problem)
    for _ in range(steps):
        with cpu.forced(fused()):
            step(cpu, problem, host)
            cpu.inject(problem, host.curr, points, sample)
        step(cuda, problem, device, boxes)
        cuda.inject(problem, device.curr, points, sample)


def agree(problem, steps=3, boxes=None):
    """Check that some steps of a random state on the device give the bytes of the CPU."""
    host, device = both(problem)
    advance(problem, host, device, steps, boxes)
    assert_same(host.arrays(), device.arrays())
    assert all(np.isfinite(a).all() for a in host.arrays())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_steps_have_the_bytes_of_the_cpu(gpu_device, medium, boundary, order):
    for ndim, surface in itertools.product((2, 3), (False, True)):
        # one half by one order, the other by the next; all of both by three orders: below
        if not ALL and (ndim + surface + order // 2) % 2:
            continue
        storage = "u16" if surface == (ndim == 2) else "f32"
        agree(made(SHAPES[ndim], medium, boundary, order, storage=storage, ndim=ndim, free_surface=surface))


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_both_storages_in_all_dimensions(gpu_device, medium, boundary):
    for order, ndim, surface in itertools.product((4, 6, 8), (2, 3), (False, True)):
        storage = "f32" if surface == (ndim == 2) else "u16"
        agree(
            made(SHAPES[ndim], medium, boundary, order, storage=storage, ndim=ndim, free_surface=surface), 2
        )


@pytest.mark.parametrize("order", [2, 4, 8, 16])
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_steps_on_a_stretched_depth_axis_have_the_bytes_of_the_cpu(gpu_device, medium, boundary, order):
    for ndim, surface in itertools.product((2, 3), (False, True)):
        storage = "u16" if surface == (ndim == 2) else "f32"
        agree(
            made(
                SHAPES[ndim],
                medium,
                boundary,
                order,
                storage=storage,
                ndim=ndim,
                free_surface=surface,
                stretched=True,
            )
        )


@pytest.mark.parametrize("medium", MEDIA)
def test_boxes_on_a_stretched_depth_axis_change_no_byte(gpu_device, medium):
    for order, ndim, surface in ((8, 3, False), (8, 2, True), (6, 2, False)):
        shape = (19, 17, 75) if ndim == 3 else (23, 1, 75)
        problem = made(shape, medium, "pml", order, ndim=ndim, free_surface=surface, stretched=True)
        for axis, at in [(0, 7), (2, 1), (2, 30), (2, 59)] + [(1, 5)] * (ndim == 3):
            parts = list(Box((0, 0, 0), shape).split(axis, at))
            agree(problem, 2, parts if at % 2 else parts[::-1])


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_boxes_change_no_byte(gpu_device, medium, boundary):
    for order, ndim, surface in ((8, 3, False), (8, 2, True), (4, 3, True), (6, 2, False)):
        shape = (19, 17, 45) if ndim == 3 else (23, 1, 45)
        problem = made(shape, medium, boundary, order, ndim=ndim, free_surface=surface)
        cuts = [(0, 1), (0, 7), (2, 1), (2, 6), (2, 30), (2, 43)] + [(1, 5), (1, 16)] * (ndim == 3)
        for axis, at in cuts:
            parts = list(Box((0, 0, 0), shape).split(axis, at))
            agree(problem, 2, parts if at % 2 else parts[::-1])


def test_boxes_of_few_points(gpu_device):
    shape = (15, 13, 31)
    starts = [range(0, n, s) for n, s in zip(shape, (4, 5, 3), strict=True)]
    boxes = []
    for lo in itertools.product(*starts):
        hi = tuple(min(n, at + s) for n, at, s in zip(shape, lo, (4, 5, 3), strict=True))
        boxes += [Box(lo, hi), Box(lo, lo)]
    agree(made(shape, "vti", "pml", 8, free_surface=True), 2, boxes)


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize(
    ("shape", "widths"),
    [
        ((20, 18, 70), (0, 0, 0, 0, 5, 0)),  # one side alone
        ((20, 18, 70), (0, 0, 0, 0, 0, 7)),
        ((20, 18, 70), (6, 0, 0, 0, 0, 0)),
        ((20, 18, 70), (0, 0, 0, 5, 0, 0)),
        ((20, 18, 21), (5, 4, 3, 5, 4, 6)),  # the windows of the CPU overlap
        ((20, 18, 13), (5, 4, 3, 5, 4, 6)),  # points near both sides of z
        ((9, 8, 10), (5, 4, 3, 5, 4, 6)),  # nothing but layer
        ((3, 2, 1), (1, 1, 1, 1, 1, 0)),
        ((26, 30, 90), (3, 9, 8, 2, 20, 21)),
        ((20, 18, 72), (0, 0, 0, 0, 5, 7)),  # aligned quads of z at the back too
        ((20, 18, 96), (3, 4, 0, 2, 6, 8)),
    ],
)
def test_layers_of_any_width(gpu_device, medium, shape, widths):
    for boundary, order in itertools.product(("pml", "damping"), (4, 8, 10)):
        agree(made(shape, medium, boundary, order, widths=widths))
    flat = (shape[0], 1, shape[2])
    for stretched in (False, True):
        agree(made(flat, medium, "pml", 8, widths=widths, ndim=2, stretched=stretched))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_no_tuning_changes_a_byte(gpu_device, medium, ndim):
    problem = made(SHAPES[ndim], medium, "pml", 8, ndim=ndim)
    tried = tunings(problem)
    assert tried[0] == ((16, 0) if ndim == 3 else (8, 0))
    for tuning in (*tried, (1, 1), (64, 3), (3, 1000)):
        host, device = both(problem)
        gpu_device.call("subsalt_cuda_tune", plan_of(problem).pointer, *tuning)
        advance(problem, host, device, 2)
        assert_same(host.arrays(), device.arrays())


@pytest.mark.parametrize("medium", MEDIA)
def test_no_number_of_blocks_at_once_changes_a_byte(emulated, monkeypatch, tmp_path, medium):
    # it decides how long marches are (native/cuda/waves.hpp), and is asked once
    for blocks in (1, 2, 7, 50):
        other_device(emulated, monkeypatch, tmp_path / f"{medium}_{blocks}_at_once.so", BLOCKS=blocks)
        for ndim in (2, 3):
            agree(made(SHAPES[ndim], medium, "pml", 8, ndim=ndim), 1)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("medium", MEDIA)
def test_blocks_and_threads_in_any_order_give_the_same_bytes(emulated, monkeypatch, tmp_path, medium, seed):
    other_device(emulated, monkeypatch, tmp_path / f"steps_{medium}_{seed}.so", ORDER=seed)
    agree(made(SHAPES[3], medium, "pml", 8, free_surface=True, widths=(5, 4, 3, 5, 0, 6)))
    agree(made(SHAPES[2], medium, "pml", 4, ndim=2))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_the_operators_alone_have_the_bytes_of_the_cpu(gpu_device, medium, ndim):
    sides = ((8, False), (4, True), (2, False), (16, True))
    for (order, surface), stretched in itertools.product(sides, (False, True)):
        problem = made(
            SHAPES[ndim], medium, "pml", order, ndim=ndim, free_surface=surface, stretched=stretched
        )
        host, device = both(problem)
        shape = problem.layout.shape3
        for box in (Box((0, 0, 0), shape), Box((1, 0, 3), (5, 1, 70)), Box((2, 0, 4), (2, 1, 9))):
            with cpu.forced(fused()):
                want = cpu.apply_l(problem, host.curr, box)
            assert_same(want, cuda.apply_l(problem, device.curr, box))


@pytest.mark.parametrize("stretched", [False, True])
@pytest.mark.parametrize("medium", MEDIA)
def test_a_step_agrees_with_the_reference_to_rounding(gpu_device, medium, stretched):
    eps = 2.0**-24
    kw = {"free_surface": True, "stretched": stretched}
    exact = make_problem(SHAPES[3], medium, "pml", 8, dtype=np.float64, **kw)
    problem = make_problem(SHAPES[3], medium, "pml", 8, **kw)
    start = random_state(exact)
    device = to_device(problem, to_cpu(problem, start))
    step(cuda, problem, device)
    step(reference, exact, start)
    # a value is a chain of 3 x 4 pairs, 2 x 4 differences per axis of the layer and some 14 operations; the sum of its
    # terms is below m (e + s) times that of second differences (12.3 per axis of |u| <= 1) and the layer's (twice as
    # much again, of memory below 1)
    ops, terms = 3 * 4 + 3 * 8 + 14, 0.1 * 3.5 * 3 * (12.3 / 0.81) * 3 + 4
    if stretched:
        # two more factors are rounded; a is 0.5 to 1.1: a^2 <= 1.21, and e = a^(3/2) D2 a^(1/2) <= 1.16 * 0.171 times
        # that of |u| <= 1, for a^(1/2) is within 0.171 of the middle of its range
        ops, terms = ops + 2, terms * (2 + 1.21 + 0.2) / 3
    for got, want in zip(device.curr, start.curr, strict=True):
        assert np.abs(np.asarray(got) - want).max() <= ops * eps * terms
