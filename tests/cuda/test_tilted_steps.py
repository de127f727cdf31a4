"""The TTI step on the device: the bytes of the CPU, whatever the order, the boundary, the grid and the boxes."""

from __future__ import annotations

import numpy as np
import pytest
from device_states import assert_same, both, fused, other_device

from kernel_problems import make_problem, step
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda
from subsalt.kernels.cuda.plan import plan_of
from thorough import each, pairs

ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)

#: boundary, free surface
SIDES = [("none", False), ("none", True), ("damping", True), ("pml", False), ("pml", True)]


def advance_both(problem, steps=2, boxes=None):
    """Advance one random state by the CPU on the whole grid and by the device in boxes; all bytes must agree."""
    host, device = both(problem)
    for _ in range(steps):
        with cpu.forced(fused()):
            step(cpu, problem, host)
        step(cuda, problem, device, boxes)
    assert_same(host.arrays(), device.arrays())
    assert all(np.isfinite(u).all() for u in host.curr)


@pytest.mark.parametrize(("boundary", "surface"), SIDES)
@pytest.mark.parametrize("order", ORDERS)
def test_two_steps_in_3d_have_the_bytes_of_the_cpu(gpu_device, order, boundary, surface):
    # two tiles along y and z, the second of them not full
    shape = (9, 19, 37) if boundary != "pml" else (14, 21, 41)
    advance_both(make_problem(shape, "tti", boundary, order, free_surface=surface, widths=(2, 1, 2, 3, 3, 2)))


@pytest.mark.parametrize(("boundary", "surface"), SIDES)
@pytest.mark.parametrize("order", ORDERS)
def test_three_steps_in_2d_have_the_bytes_of_the_cpu(gpu_device, order, boundary, surface):
    problem = make_problem(
        (27, 1, 145), "tti", boundary, order, ndim=2, free_surface=surface, widths=(5, 4, 0, 0, 4, 6)
    )
    advance_both(problem, 3)


# all pairs on an axis with one spacing: the two tests above
@pytest.mark.parametrize(("order", "side"), each(ORDERS, SIDES))
def test_steps_on_a_stretched_depth_axis_have_the_bytes_of_the_cpu(gpu_device, order, side):
    boundary, surface = side
    widths = (2, 1, 2, 3, 3, 2)
    for ndim, shape in ((3, (14, 21, 45)), (2, (27, 1, 145))):
        advance_both(
            make_problem(
                shape,
                "tti",
                boundary,
                order,
                ndim=ndim,
                free_surface=surface,
                widths=widths,
                stretched=True,
            )
        )


def test_a_core_and_boxes_on_a_stretched_depth_axis(gpu_device):
    problem = make_problem((17, 49, 97), "tti", "pml", 8, widths=(2, 1, 3, 2, 4, 5), seed=3, stretched=True)
    for axis, cuts in ((0, (11,)), (1, (3, 20)), (2, (7, 38))):
        advance_both(problem, 1, pieces((17, 49, 97), cuts, axis))


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 5), (2, 17, 3), (33, 1, 2)])
@pytest.mark.parametrize("order", [4, 8, 16])
def test_grids_smaller_than_the_stencil(gpu_device, order, shape):
    for surface in (False, True):
        for stretched in (False, True):
            advance_both(make_problem(shape, "tti", "none", order, free_surface=surface, stretched=stretched))


@pytest.mark.parametrize("order", [4, 8, 12])
@pytest.mark.parametrize(("ndim", "shape"), [(2, (14, 1, 12)), (3, (14, 13, 12))])
def test_a_point_near_the_layers_of_both_sides(gpu_device, ndim, shape, order):
    for stretched in (False, True):
        advance_both(
            make_problem(
                shape, "tti", "pml", order, ndim=ndim, widths=(5, 4, 3, 5, 4, 6), stretched=stretched
            )
        )


def pieces(shape, cuts, axis):
    """Return the grid cut along an axis."""
    out = []
    for lo, hi in zip([0, *cuts], [*cuts, shape[axis]], strict=True):
        part = [[0, 0, 0], list(shape)]
        part[0][axis], part[1][axis] = lo, hi
        out.append(Box(tuple(part[0]), tuple(part[1])))
    return out[1:] + out[:1]


@pytest.mark.parametrize(
    ("order", "side", "cut"), pairs([4, 8, 10], SIDES, [(0, (1, 9)), (1, (3, 4, 20)), (2, (2, 7, 38))])
)
def test_a_grid_cut_into_boxes_has_the_same_bytes(gpu_device, order, side, cut):
    (boundary, surface), (axis, cuts) = side, cut
    problem = make_problem(
        (15, 23, 43), "tti", boundary, order, free_surface=surface, widths=(3, 2, 3, 2, 4, 3)
    )
    boxes = pieces(problem.layout.shape3, cuts, axis)
    advance_both(problem, boxes=[*boxes, Box((2, 2, 2), (2, 9, 9))])  # and an empty one


@pytest.mark.parametrize("axis", [0, 2])
def test_a_section_cut_into_boxes_has_the_same_bytes(gpu_device, axis):
    problem = make_problem((31, 1, 43), "tti", "pml", 8, ndim=2, widths=(4, 3, 0, 0, 4, 6))
    advance_both(problem, boxes=pieces(problem.layout.shape3, (3, 17), axis))


def test_a_core_with_layers_on_all_sides(gpu_device):
    # large enough for whole tiles without a term of the layer: they have a kernel of their own
    advance_both(
        make_problem((17, 49, 97), "tti", "pml", 8, widths=(2, 1, 3, 2, 4, 5), seed=3),
        boxes=pieces((17, 49, 97), (11,), 0),
    )
    advance_both(make_problem((9, 37, 70), "tti", "pml", 4, widths=(1, 1, 3, 2, 4, 5), free_surface=True))


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_no_number_of_blocks_at_once_changes_a_byte(emulated, monkeypatch, tmp_path, blocks):
    # it decides how long marches are (native/cuda/waves.hpp), and is asked once
    other_device(emulated, monkeypatch, tmp_path / f"tilted_{blocks}_at_once.so", BLOCKS=blocks)
    advance_both(make_problem((37, 33, 70), "tti", "pml", 4, widths=(2, 1, 3, 2, 4, 5)), 1)
    advance_both(make_problem((37, 1, 140), "tti", "pml", 8, ndim=2, widths=(2, 1, 0, 0, 4, 5)), 1)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("boundary", ["none", "pml"])
def test_threads_in_any_order_give_the_same_bytes(emulated, monkeypatch, tmp_path, boundary, seed):
    other_device(emulated, monkeypatch, tmp_path / f"tilted_{boundary}_{seed}.so", ORDER=seed)
    shape = (13, 19, 37) if boundary == "none" else (15, 49, 97)
    advance_both(make_problem(shape, "tti", boundary, 8, widths=(2, 1, 2, 3, 3, 2)))


@pytest.mark.parametrize("tuning", [(16, 1), (16, 5), (8, 0), (8, 3)])
def test_no_tuning_changes_a_byte(gpu_device, tuning):
    problem = make_problem((17, 35, 97), "tti", "pml", 8, widths=(2, 1, 3, 2, 4, 5))
    host, device = both(problem)
    gpu_device.call("subsalt_cuda_tune", plan_of(problem).pointer, *tuning)
    for _ in range(2):
        with cpu.forced(fused()):
            step(cpu, problem, host)
        step(cuda, problem, device)
    assert_same(host.arrays(), device.arrays())


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("ndim", "shape"), [(2, (19, 1, 140)), (3, (11, 18, 39))])
def test_the_operators_in_a_box_have_the_bytes_of_the_cpu(gpu_device, ndim, shape, order):
    for stretched in (False, True):
        problem = make_problem(
            shape, "tti", "pml", order, ndim=ndim, widths=(2, 1, 2, 3, 3, 2), stretched=stretched
        )
        host, device = both(problem)
        for box in (Box((0, 0, 0), shape), Box((1, 0, 3), (6, 1, 38)), Box((4, shape[1] - 1, 0), shape)):
            with cpu.forced(fused()):
                want = cpu.apply_l(problem, host.curr, box)
            assert_same(want, cuda.apply_l(problem, device.curr, box))
