"""Injection, recording and the imaging kernels: bits and transposes against the NumPy reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, reference

ISAS = cpu.available()
MEDIA = ("isotropic", "vti")
SHAPES = {3: (21, 18, 37), 2: (23, 1, 41)}


@dataclass(frozen=True)
class Points:
    base: np.ndarray
    weights: np.ndarray


def random_points(shape3, ndim, n=40, width=8, seed=5):
    """Return points with random weights; some supports leave the grid at its far sides, some touch z = 0."""
    rng = np.random.default_rng(seed)
    base = np.stack([rng.integers(0, max(1, s - width // 2), n) for s in shape3], axis=1).astype(np.int32)
    base[:3, 2] = 0
    weights = rng.uniform(-1, 1, (n, 3, width)).astype(np.float32)
    if ndim == 2:
        weights[:, 1] = [1.0] + [0.0] * (width - 1)
    return Points(base, weights)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_injection_has_the_bits_of_the_reference(medium, ndim, surface, isa):
    problem = make_problem(SHAPES[ndim], medium, "none", 8, ndim=ndim, free_surface=surface)
    points = random_points(SHAPES[ndim], ndim)
    values = np.random.default_rng(2).uniform(-1, 1, len(points.base)).astype(np.float32)
    ref = random_state(problem)
    got = [to_cpu(problem, ref) for _ in range(2)]
    reference.inject(problem, ref.curr, points, values)
    for state, threads in zip(got, (1, 3), strict=True):
        with cpu.forced(isa, threads=threads):
            cpu.inject(problem, state.curr, points, values)
        for a, b in zip(state.curr, ref.curr, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_recording_agrees_with_the_reference(medium, ndim, isa):
    problem = make_problem(SHAPES[ndim], medium, "none", 8, ndim=ndim)
    p64 = make_problem(SHAPES[ndim], medium, "none", 8, ndim=ndim, dtype=np.float64)
    for width in (4, 8, 10):
        points = random_points(SHAPES[ndim], ndim, width=width)
        ref = random_state(p64)
        state = to_cpu(problem, ref)
        want = reference.record(p64, ref.curr, points)
        got = []
        for threads in (1, 2, 3):
            with cpu.forced(isa, threads=threads):
                got.append(cpu.record(problem, state.curr, points))
        assert got[0].tobytes() == got[1].tobytes() == got[2].tobytes()
        # two roundings per weight, one per sum of width^ndim terms in blocks: at most 3 width + 8 in a row
        terms = np.array([np.abs(np.einsum("i,j,k->ijk", *w)).sum() for w in points.weights])
        assert (np.abs(got[0] - want) <= 2.0**-24 * (3 * width + 8) * terms).all()


@pytest.mark.skipif(len(ISAS) < 3, reason="this processor lacks an instruction set")
def test_recording_has_the_same_bits_with_and_without_wide_vectors():
    problem = make_problem(SHAPES[3], "vti", "none", 8)
    points, state = random_points(SHAPES[3], 3), to_cpu(problem, random_state(problem))
    out = set()
    for isa in ("v3", "v4"):
        with cpu.forced(isa):
            out.add(cpu.record(problem, state.curr, points).tobytes())
    assert len(out) == 1


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("medium", MEDIA)
def test_imaging_kernels_agree_with_the_reference(medium, isa):
    shape = SHAPES[3]
    problem = make_problem(shape, medium, "none", 8)
    ref = random_state(problem)
    state = to_cpu(problem, ref)
    rng = np.random.default_rng(9)
    eps = 2.0**-24
    for box in (Box((0, 0, 0), shape), Box((3, 2, 5), (17, 11, 30)), Box((2, 2, 2), (2, 5, 9))):
        u, start = (rng.uniform(-1, 1, box.shape).astype(np.float32) for _ in range(2))
        with cpu.forced(isa):
            snap, snap_ref = np.zeros(box.shape, np.float32), np.zeros(box.shape, np.float32)
            cpu.snapshot(problem, state.curr, snap, box)
            reference.snapshot(problem, ref.curr, snap_ref, box)
            assert np.array_equal(snap, snap_ref)
            for name, args, ops in (
                ("correlate", (u,), 4),
                ("square", (u,), 3),
            ):
                got, want = start.copy(), start.copy()
                for kernels, fields, image in ((cpu, state.curr, got), (reference, ref.curr, want)):
                    tail = () if name == "square" else (fields, box)
                    getattr(kernels, name)(problem, image, *args, *tail, 0.7)
                assert np.abs(got - want).max(initial=0) <= 2 * ops * eps * 4.0
            for got, want in zip(
                cpu.apply_l(problem, state.curr, box), reference.apply_l(problem, ref.curr, box), strict=True
            ):
                assert np.abs(got - want).max(initial=0) <= 2 * 20 * eps * 16.0


@pytest.mark.parametrize("isa", ISAS)
def test_not_a_number_and_infinity_are_found(isa):
    problem = make_problem(SHAPES[3], "vti", "none", 8)
    state = to_cpu(problem, random_state(problem))
    with cpu.forced(isa):
        assert cpu.is_finite(problem, state.curr)
        for bad in (np.nan, np.inf, -np.inf):
            for place in ((0, 0, 0), (20, 17, 36), (7, 8, 9)):
                view = problem.layout.view(state.curr[1])
                keep = view[place].copy()
                view[place] = bad
                assert not cpu.is_finite(problem, state.curr)
                view[place] = keep
        assert cpu.is_finite(problem, state.curr)


def test_point_sets_follow_their_points():
    problem = make_problem(SHAPES[3], "isotropic", "none", 8)
    state = to_cpu(problem, random_state(problem))
    before = len(cpu._point_sets)
    for seed in range(3):
        points = random_points(SHAPES[3], 3, seed=seed)
        first = cpu.record(problem, state.curr, points)
        assert np.allclose(first, reference.record(problem, state.curr, points), atol=1e-4)
    del points
    assert len(cpu._point_sets) == before
    bad = random_points(SHAPES[3], 3)
    bad.base[4, 0] = SHAPES[3][0]
    with pytest.raises(ValueError, match="starts outside the grid"):
        cpu.record(problem, state.curr, bad)
