"""The compiled kernels against the NumPy reference in double precision, and their bits against each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from kernel_problems import DT, SPACING, compact, make_problem, random_state, step, to_cpu
from kernel_problems import depth_axis as depth_axis
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import cpu, get, reference
from subsalt.kernels.problem import Layout
from subsalt.numerics.depth_axis import potential
from subsalt.numerics.stencil import ORDERS, first_derivative, second_derivative
from thorough import ALL, pairs

ISAS = cpu.available()
FMA_ISAS = [i for i in ISAS if i != "v2"]
MEDIA = ("isotropic", "vti", "tti")
BOUNDARIES = ("none", "damping", "pml")
SHAPES = {3: (21, 18, 37), 2: (23, 1, 41)}


def rounding_bound(problem, state) -> dict[str, float]:
    """Return bounds of the rounding error of one step: operations in a row times eps times the sum of terms.

    A value of a step is a sum of terms t_i, each rounded at most once per operation that follows it; with
    `ops` the longest chain, the error is below ops * eps * sum |t_i| (eps is half a unit in the last place).
    """
    eps, m = 2.0**-24, problem.radius
    c, d = np.abs(second_derivative(problem.order)), np.abs(first_derivative(problem.order))
    u = max(float(np.abs(a).max()) for a in [*state.prev, *state.curr])
    mem = max([float(np.abs(a).max()) for a in state.memory.values()], default=0.0)
    bends = [(c[0] + 2 * c[1:].sum()) / SPACING[a] ** 2 for a in problem.axes]
    slopes, stretch = [2 * d.sum() / SPACING[a] for a in problem.axes], 1.0
    if problem.depth_scale is not None:  # a^2 D2 - e, a^(3/2) D1 a^(-1/2)
        scale = problem.depth_scale
        stretch = max(1.0, float(scale.max()) ** 2)
        bends[-1] = (
            stretch * bends[-1]
            + float(np.abs(potential(scale, second_derivative(problem.order))).max()) / SPACING[2] ** 2
        )
        slopes[-1] *= float(max(1.0, scale.max() ** 1.5 * scale.min() ** -0.5))
    second = sum(bends) * u
    if problem.medium == "tti":  # F_i = n_i g - 0.2 D1_i u, of which the divergence is taken
        second += sum(h * (sum(slopes) + 0.2 * h) * u for h in slopes)
    first = max(slopes)
    psi = mem + first * u
    layer = stretch * 2 * (first * psi + second + mem) if problem.boundary == "pml" else 0.0
    # one chain over three axes, D1 of Psi (or, TTI, the slopes), and what comes between and follows
    ops = 3 * m + 2 * m + (24 if problem.medium == "tti" else 14)
    ops += 0 if problem.depth_scale is None else 8  # products with rows along z, each rounded itself
    big_m = float(problem.params["m"].max()) * (
        1.0 if problem.medium == "isotropic" else 3.5
    )  # e + s, s + 1 at most
    field = ops * eps * (big_m * (second + 3 * layer) + 4 * u)
    return {"field": field, "memory": ops * eps * (psi + layer + second)}


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_one_step_agrees_with_the_reference_to_rounding(medium, boundary, ndim):
    for order, surface in itertools.product(ORDERS, (False, True)):
        kw = {"ndim": ndim, "free_surface": surface}
        p64 = make_problem(SHAPES[ndim], medium, boundary, order, dtype=np.float64, **kw)
        p32 = make_problem(SHAPES[ndim], medium, boundary, order, **kw)
        ref = random_state(p64)
        states = {isa: to_cpu(p32, ref) for isa in ISAS}
        bound = rounding_bound(p64, ref)
        before = [a.copy() for a in states[ISAS[0]].prev]
        step(reference, p64, ref)
        for isa, got in states.items():
            with cpu.forced(isa):
                step(cpu, p32, got)
            for a, b in zip(got.curr, ref.curr, strict=True):
                assert np.abs(a - b).max() <= bound["field"], (order, surface, isa)
            for name, full in ref.memory.items():
                want = np.zeros_like(got.memory[name], dtype=np.float64)
                compact(p64, name, full, want)
                off = np.abs(got.memory[name] - want).max(initial=0)
                assert off <= bound["memory"], (order, surface, name, isa)
            outside = outside_of(p32)
            for a, b in zip(got.curr, before, strict=True):
                assert a[outside].tobytes() == b[outside].tobytes() == bytes(4 * int(outside.sum()))


def outside_of(problem):
    """Return where a step writes nothing, as a mask of padded arrays."""
    outside = np.ones(problem.layout.padded_shape, dtype=bool)
    outside[problem.layout.interior] = False
    if problem.free_surface:  # the odd images are written, and only they
        x, y, _ = problem.layout.interior
        outside[x, y, 16 - problem.radius : 16] = False
    return outside


def run(problem, start, steps=4, boxes=None, **forced):
    """Return the bytes of the whole state after some steps."""
    state = to_cpu(problem, start)
    with cpu.forced(**forced):
        for _ in range(steps):
            step(cpu, problem, state, boxes)
    return b"".join(a.tobytes() for a in state.arrays())


@pytest.mark.skipif(
    len(FMA_ISAS) < 2, reason="this processor has only one instruction set with fused multiply-add"
)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_instruction_sets_with_fma_give_the_same_bits(medium, boundary):
    for order, ndim, surface in itertools.product(ORDERS, (2, 3), (False, True)):
        problem = make_problem(SHAPES[ndim], medium, boundary, order, ndim=ndim, free_surface=surface)
        start = random_state(problem)
        assert len({run(problem, start, isa=isa) for isa in FMA_ISAS}) == 1, (order, ndim, surface)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_threads_do_not_change_bits(medium, boundary, isa):
    for ndim in (2, 3):
        problem = make_problem(SHAPES[ndim], medium, boundary, 8, ndim=ndim)
        start = random_state(problem)
        assert len({run(problem, start, isa=isa, threads=n) for n in (1, 2, 3)}) == 1


def tiny_boxes(shape3, size):
    """Return boxes of `size` points that tile the grid, and empty ones between them."""
    starts = [range(0, n, s) for n, s in zip(shape3, size, strict=True)]
    for lo in itertools.product(*starts):
        yield Box(lo, tuple(min(n, l + s) for n, l, s in zip(shape3, lo, size, strict=True)))
        yield Box(lo, lo)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_boxes_do_not_change_bits(medium, boundary, isa):
    for order, ndim, surface in ((8, 3, False), (8, 2, True), (4, 3, True), (6, 3, True), (2, 2, False)):
        shape = SHAPES[ndim]
        problem = make_problem(shape, medium, boundary, order, ndim=ndim, free_surface=surface)
        start = random_state(problem)
        whole = run(problem, start, 2, isa=isa)
        for axis in (0, 1, 2):
            for at in (1, shape[axis] // 2):  # empty parts are among the tiny ones
                parts = list(Box((0, 0, 0), shape).split(axis, at))
                assert run(problem, start, 2, parts, isa=isa) == whole, (order, axis, at)
                assert run(problem, start, 2, parts[::-1], isa=isa) == whole, (order, axis, at)
        assert run(problem, start, 2, list(tiny_boxes(shape, (4, 5, 3))), isa=isa) == whole


@pytest.mark.parametrize(
    ("nz", "boundary", "surface"), pairs([128, 129, 143, 150, 272], BOUNDARIES, [False, True])
)
def test_long_tti_rows(nz, boundary, surface):
    sizes = [(8, 3), (4, 3), (16, 3), (8, 2)]
    for order, ndim in sizes if ALL else sizes[nz % 2 :: 2]:
        shape = (20, 19 if ndim == 3 else 1, nz)
        kw = {"ndim": ndim, "free_surface": surface}
        p64 = make_problem(shape, "tti", boundary, order, dtype=np.float64, **kw)
        problem = make_problem(shape, "tti", boundary, order, **kw)
        start = random_state(p64)
        got, ref = to_cpu(problem, start), start
        bound = rounding_bound(p64, ref)
        made = [run(problem, start, 1, isa=isa) for isa in FMA_ISAS]
        for at in (7, 112, 128, nz - 3):
            if 0 < at < nz:
                parts = list(Box((0, 0, 0), shape).split(2, at))
                made.append(run(problem, start, 1, parts))
        assert len(set(made)) == 1, (order, ndim)
        step(cpu, problem, got)
        step(reference, p64, ref)
        for a, b in zip(got.curr, ref.curr, strict=True):
            assert np.abs(a - b).max() <= bound["field"], (order, ndim)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_the_step_in_one_pass_has_the_bits_of_two_sweeps(medium, boundary, isa):
    # rows along y: one tile with both layers, tiles of one layer each, too few for one pass
    for order, ny, surface in (
        (8, 39, False),
        (8, 39, True),
        (4, 60, False),
        (6, 33, True),
        (16, 70, False),
        (8, 12, False),
    ):
        problem = make_problem((19, ny, 37), medium, boundary, order, free_surface=surface)
        start = random_state(problem)
        expected = run(problem, start, 3, isa=isa)
        for threads in (1, 2, 3):
            state = to_cpu(problem, start)
            with cpu.forced(isa, threads=threads):
                for _ in range(3):
                    cpu.time_step(problem, state)
                    state.rotate()
            assert b"".join(a.tobytes() for a in state.arrays()) == expected, (order, ny, threads)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_two_planes_at_once_have_the_bits_of_single_planes(medium, boundary, isa):
    # layers of x that begin and end on even and odd planes, alone and on both sides; windows along z that touch and
    # that do not end on a whole vector; planes padded by a row
    cases = [
        ((20, 9, 32), (5, 4, 2, 0, 4, 6)),
        ((21, 9, 33), (6, 3, 0, 0, 12, 12)),
        ((18, 8, 48), (0, 7, 3, 2, 12, 0)),
        ((17, 10, 47), (12, 0, 0, 3, 0, 12)),
        ((9, 8, 8), (4, 5, 0, 0, 0, 0)),
    ]
    for (shape, widths), order, ndim in itertools.product(cases, (4, 8), (2, 3)):
        shape3 = shape if ndim == 3 else (shape[0], 1, shape[2])
        problem = make_problem(shape3, medium, boundary, order, ndim=ndim, widths=widths)
        start = random_state(problem)
        single = run(problem, start, 3, list(tiny_boxes(shape3, (1, *shape3[1:]))), isa=isa)
        assert run(problem, start, 3, isa=isa) == single
        state = to_cpu(problem, start)
        with cpu.forced(isa):
            for _ in range(3):
                cpu.time_step(problem, state)
                state.rotate()
        assert b"".join(a.tobytes() for a in state.arrays()) == single, (shape3, order)


@pytest.mark.parametrize("isa", FMA_ISAS[-1:])
@pytest.mark.parametrize("medium", MEDIA)
def test_windows_along_z_in_registers_have_the_bits_of_two_sweeps(medium, isa):
    # windows of one vector and of two; a layer on one side alone, or of a whole vector; rows that end within a vector;
    # windows that touch; one vector on one side and two on the other, which go another way
    cases = [
        (8, 32, 12, 12),
        (8, 45, 0, 12),
        (8, 40, 12, 0),
        (4, 33, 14, 3),
        (12, 64, 12, 12),
        (12, 71, 0, 9),
    ]
    cases += [(12, 70, 11, 0), (16, 75, 16, 11), (16, 64, 9, 16), (12, 64, 5, 12)]
    for order, nz, lo, hi in cases:
        for ndim in (2, 3) if medium == "tti" else (3,):  # others take these only in 3-D by single steps
            shape = (11, 14 if ndim == 3 else 1, nz)
            problem = make_problem(shape, medium, "pml", order, ndim=ndim, widths=(3, 2, 3, 3, lo, hi))
            start = random_state(problem)
            state = to_cpu(problem, start)
            with cpu.forced(isa, threads=1):
                for _ in range(2):
                    cpu.time_step(problem, state)
                    state.rotate()
            expected = run(problem, start, 2, isa=isa)
            assert b"".join(a.tobytes() for a in state.arrays()) == expected, (order, shape, lo, hi)


def test_rows_and_planes_do_not_meet_in_cache():
    for nz, ny, order in itertools.product((12, 236, 492, 1004, 1005, 4076), (8, 55, 56, 248), (2, 8)):
        for ndim in (2, 3):
            layout = Layout((3, ny if ndim == 3 else 1, nz), order // 2, ndim)
            _, rows, row = layout.padded_shape
            assert row % 1024 != 0
            assert row % 16 == 0
            assert row >= 16 + nz + layout.radius
            assert ndim == 2 or rows * row % 1024 != 0
            assert layout.view(np.zeros(layout.padded_shape, np.float32)).shape == layout.shape3


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_the_plain_loop_of_the_benchmarks_has_the_same_bits(medium, isa):
    problem = make_problem((12, 40, 37), medium, "none", 8, stretched=False)
    start = random_state(problem)
    state = to_cpu(problem, start)
    with cpu.forced(isa):
        for _ in range(3):
            cpu.plain_step(problem, state)
            state.rotate()
    assert b"".join(a.tobytes() for a in state.arrays()) == run(problem, start, 3, isa=isa)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("medium", MEDIA)
def test_kernels_of_an_order_of_their_own_equal_the_run_time_radius(medium, isa):
    for order, ndim, boundary in itertools.product((4, 8, 12, 16), (2, 3), BOUNDARIES):
        problem = make_problem(SHAPES[ndim], medium, boundary, order, ndim=ndim)
        start = random_state(problem)
        assert run(problem, start, isa=isa) == run(problem, start, isa=isa, generic_radius=True)


@pytest.mark.parametrize("medium", MEDIA)
@pytest.mark.parametrize("shape", [(9, 9, 9), (11, 12, 5), (8, 9, 16), (8, 9, 17), (5, 5, 33), (3, 1, 3)])
def test_odd_small_grids_where_layers_touch(shape, medium):
    ndim = 2 if shape[1] == 1 else 3
    widths = tuple(w for n in shape for w in (n // 2, n - n // 2 if n > 1 else 0))
    for order, boundary in itertools.product((2, 8, 16), ("pml", "damping")):
        kw = {"ndim": ndim, "widths": widths}
        p64 = make_problem(shape, medium, boundary, order, dtype=np.float64, **kw)
        p32 = make_problem(shape, medium, boundary, order, **kw)
        ref = random_state(p64)
        bits = {run(p32, ref, 2, isa=isa) for isa in FMA_ISAS or ISAS}
        bits |= {run(p32, ref, 2, list(tiny_boxes(shape, (3, 2, 2))), isa=isa) for isa in FMA_ISAS or ISAS}
        assert len(bits) == 1
        got, bound = to_cpu(p32, ref), rounding_bound(p64, ref)
        step(cpu, p32, got)
        step(reference, p64, ref)
        for a, b in zip(got.curr, ref.curr, strict=True):
            assert np.abs(a - b).max() <= bound["field"], order


def test_tiny_numbers_are_flushed_and_the_callers_mode_is_kept():
    problem = make_problem((20, 20, 20), "isotropic", "none", 8)
    state = cpu.new_state(problem)
    # a state of numbers just above the smallest normal one: sums of differences underflow
    for a in (*state.prev, *state.curr):
        problem.layout.view(a)[...] = np.random.default_rng(3).uniform(1.2e-38, 3e-38, (20, 20, 20))
    for _ in range(3):
        step(cpu, problem, state)
    values = np.abs(state.curr[0])
    assert not ((values > 0) & (values < np.finfo(np.float32).tiny)).any()
    denormal = np.array([1e-39], dtype=np.float32) * np.float32(0.5)
    assert denormal[0] > 0


def test_errors_name_the_problem():
    problem = make_problem((12, 12, 20), "isotropic", "none", 8)
    state = cpu.new_state(problem)
    with pytest.raises(ValueError, match="leaves the grid"):
        cpu.field_step(problem, state, Box((0, 0, 0), (12, 12, 21)))
    state.prev[0] = np.zeros((3, 3, 3), dtype=np.float32)
    with pytest.raises(ValueError, match=r"shape \(3, 3, 3\), the problem needs"):
        cpu.field_step(problem, state, Box((0, 0, 0), (12, 12, 20)))
    with pytest.raises(ConfigError, match="float32"):
        cpu.allocate(Layout((4, 4, 4), 2, 3), np.float64)
    with pytest.raises(ConfigError, match="use 1 or more"):
        cpu.set_threads(0)
    with pytest.raises(ConfigError, match="not one of auto, cpu, cuda, reference"):
        get("abacus")
    assert get("cpu") is cpu
    assert DT > 0


def test_allocated_arrays_are_zero_aligned_and_own_their_memory():
    for shape in ((10, 10, 20), (70, 70, 300)):
        a = cpu.allocate(Layout(shape, 4, 3))
        assert a.ctypes.data % 64 == 0
        assert not a.any()
        b = a[1:]
        del a
        b[...] = 1  # the memory outlives the first name
        assert b.all()
