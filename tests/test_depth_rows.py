"""The time step on a stretched depth axis: symmetry, constants, reductions, energy, adjoint, and plane waves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from kernel_problems import SPACING, make_problem, random_state
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import reference
from subsalt.kernels.depth_rows import depth_rows, padded_row
from subsalt.kernels.mirror import Mirror
from subsalt.kernels.problem import Layout, Problem
from subsalt.kernels.reference_operators import at
from subsalt.numerics.depth_axis import potential
from thorough import sample

MEDIA = ("isotropic", "vti", "tti")
BOUNDARIES = ("none", "damping", "pml")
SHAPES = {3: (17, 16, 40), 2: (23, 1, 45)}


def stretched(medium: str, boundary: str = "none", order: int = 8, ndim: int = 3, **kw) -> Problem:
    """Return a problem in double precision with a depth scale that is random per node."""
    return make_problem(
        SHAPES[ndim], medium, boundary, order, ndim=ndim, dtype=np.float64, stretched=True, **kw
    )


def whole(problem: Problem) -> Box:
    return Box((0, 0, 0), problem.layout.shape3)


def random_fields(problem: Problem, seed: int) -> list[np.ndarray]:
    """Return wavefields of random numbers, zero on a free surface, with odd images above it."""
    state = random_state(problem, seed)
    return state.curr


def of(problem: Problem, fields: list[np.ndarray]) -> list[np.ndarray]:
    return [at(problem, u, whole(problem)) for u in fields]


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("order", [2, 8, 16])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_the_operators_are_symmetric_in_the_weight_of_the_axis(medium, ndim, order, surface):
    """<u, L w> = <L u, w> with the weight a^-2, exactly: sums of some ten thousand terms, 1e-12 of their size."""
    problem = stretched(medium, order=order, ndim=ndim, free_surface=surface)
    weight = problem.depth_scale**-2.0
    if surface:  # the row of the surface is no unknown
        weight = np.where(np.arange(len(weight)) > 0, weight, 0.0)
    u, w = random_fields(problem, 1), random_fields(problem, 2)
    lu, lw = (reference.apply_l(problem, f, whole(problem)) for f in (u, w))
    for a, b, la, lb in zip(of(problem, u), of(problem, w), lu, lw, strict=True):
        forward, backward = (weight * a * lb).sum(), (weight * la * b).sum()
        assert abs(forward - backward) <= 1e-12 * np.abs(weight * a * lb).sum()


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_a_constant_pressure_has_no_derivatives(medium, ndim):
    for order in (2, 8, 16):
        problem = stretched(medium, order=order, ndim=ndim)
        reach = 2 * problem.radius  # in TTI a divergence of slopes
        shape = tuple(n + 2 * reach if n > 1 else 1 for n in problem.layout.shape3)
        problem = make_problem(shape, medium, "none", order, ndim=ndim, dtype=np.float64, stretched=True)
        fields = [problem.layout.pad(np.broadcast_to(problem.depth_scale**0.5, shape), np.float64)] * 2
        lo, hi = zip(*((reach, n - reach) if n > 1 else (0, 1) for n in shape), strict=True)
        made = reference.apply_l(problem, fields[: problem.n_fields], Box(lo, hi))
        # sums of at most a hundred terms of the size of the weights
        largest = sum(4 * np.abs(problem.weights.second()).sum() / h**2 for h in SPACING)
        for values in made:
            assert np.abs(values).max() <= 100 * np.finfo(np.float64).eps * largest


def advanced(problem: Problem, start: list[list[np.ndarray]], steps: int) -> list[np.ndarray]:
    """Return the fields after some steps from two time levels at rest in the layer."""
    state = reference.new_state(problem)
    for level, given in zip((state.prev, state.curr), start, strict=True):
        for a, b in zip(level, given, strict=True):
            a[...] = b
    for _ in range(steps):
        reference.time_step(problem, state)
        state.rotate()
    return of(problem, state.curr)


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_a_constant_scale_is_a_uniform_axis_of_another_spacing(medium, boundary, surface):
    """With a constant everywhere the nodes are dz / a apart, and the fields a^(1/2) times those of that grid."""
    for ndim, scale in ((2, 0.8), (3, 0.8), (3, 1.0)):
        kw = {"ndim": ndim, "free_surface": surface, "dtype": np.float64}
        stretch, uniform = (make_problem(SHAPES[ndim], medium, boundary, 8, **kw) for _ in range(2))
        stretch.depth_scale = np.full(SHAPES[ndim][2], scale)
        uniform.spacing3 = (SPACING[0], SPACING[1], SPACING[2] / scale)
        random = random_state(uniform)
        start = [random.prev, random.curr]
        scaled = [[scale**0.5 * u for u in level] for level in start]
        n = sample(4, 20)
        for a, b in zip(advanced(uniform, start, n), advanced(stretch, scaled, n), strict=True):
            # up to 20 steps of a few hundred roundings each
            assert np.abs(b - scale**0.5 * a).max() <= 1e-12 * np.abs(a).max()


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_energy_is_conserved_in_a_closed_box(medium, ndim, surface):
    problem = stretched(medium, ndim=ndim, free_surface=surface)
    state = random_state(problem)
    m = at(problem, problem.params["m"], whole(problem))
    inside = (slice(None), slice(None), slice(1 if surface else 0, None))
    weight = np.broadcast_to(problem.depth_scale**-2.0, m.shape)[inside]
    e, s = (
        at(problem, problem.params[name], whole(problem))[inside] if medium != "isotropic" else None
        for name in "es"
    )

    def energy() -> float:
        """Half of <u_t, C^-1 u_t> + <u[n+1], -L u[n]>, times dt^2, with the weight of the axis."""
        rates = [
            (new - old)[inside]
            for new, old in zip(of(problem, state.curr), of(problem, state.prev), strict=True)
        ]
        if medium == "isotropic":
            kinetic = rates[0] ** 2 / m[inside]
        else:
            a, b = rates
            kinetic = (a * a - 2 * s * a * b + e * b * b) / (m[inside] * (e - s * s))
        forces = reference.apply_l(problem, state.prev, whole(problem))
        pairs = zip(forces, of(problem, state.curr), strict=True)
        return 0.5 * float((weight * (kinetic - sum((l * u)[inside] for l, u in pairs))).sum())

    first = energy()
    for _ in range(sample(50, 400)):
        reference.time_step(problem, state)
        state.rotate()
    assert abs(energy() - first) <= 1e-11 * first
    assert first > 0


def modelled(problem: Problem, sources, samples, receivers) -> np.ndarray:
    """Return p, or (p + q) / 2, at receivers: injected with a^(3/2), recorded with a^(-1/2)."""
    state, view = reference.new_state(problem), problem.layout.view
    model = {name: view(values) for name, values in problem.params.items()}
    inject, record = problem.depth_scale**1.5, problem.depth_scale**-0.5
    data = np.zeros((len(receivers), samples.shape[1]))
    for it in range(samples.shape[1] - 1):
        reference.time_step(problem, state)
        state.rotate()
        fields = [view(u) for u in state.curr]
        for place, value in zip(sources, samples[:, it], strict=True):
            amount = model["m"][place] * inject[place[2]] * value
            if problem.medium == "isotropic":
                fields[0][place] += amount
            else:
                fields[0][place] += 0.5 * (model["e"][place] + model["s"][place]) * amount
                fields[1][place] += 0.5 * (model["s"][place] + 1) * amount
        if problem.free_surface:
            for u in state.curr:
                reference._reflect(problem, u, whole(problem))
        data[:, it + 1] = [record[r[2]] * np.mean([u[r] for u in fields]) for r in receivers]
    return data


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("medium", MEDIA)
def test_time_reversal_is_the_exact_adjoint(medium, boundary, surface):
    for ndim in (2, 3):
        problem = stretched(medium, boundary, 4, ndim, free_surface=surface)
        rng = np.random.default_rng(7)
        inside = [
            np.arange(problem.widths[2 * a] + (surface and a == 2), n - problem.widths[2 * a + 1])
            for a, n in enumerate(problem.layout.shape3)
        ]
        nodes = [tuple(int(rng.choice(i)) for i in inside) for _ in range(7)]
        nt = sample(15, 50)
        x, y = rng.standard_normal((3, nt)), rng.standard_normal((4, nt))
        forward = float((modelled(problem, nodes[:3], x, nodes[3:]) * y).sum())
        backward = modelled(problem, nodes[3:], y[:, ::-1], nodes[:3])[:, ::-1]
        adjoint = float((x * backward).sum())
        assert abs(forward - adjoint) <= 1e-12 * max(abs(forward), abs(adjoint))
        assert abs(forward) > 0


def smooth_axis(nz: int, h: float) -> tuple[np.ndarray, np.ndarray]:
    """Return depths and a of nz nodes that are h apart at the top and 2.2 h at the bottom: dz/dzeta is a tanh."""
    zeta, middle, width = np.arange(nz) * h, 0.5 * nz * h, 0.12 * nz * h
    depth = 1.6 * zeta + 0.6 * width * np.log(np.cosh((zeta - middle) / width))
    return depth - depth[0], 1 / (1.6 + 0.6 * np.tanh((zeta - middle) / width))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_the_operators_act_on_a_plane_wave_as_derivatives_do(medium, ndim):
    """Derivatives of cos(k x): -k^2; in TTI along the axis -(n k)^2. Errors fall with the order of the scheme."""
    theta, phi, wave = 0.7, -1.1, np.array([0.025, -0.015, 0.02])
    n = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    if ndim == 2:
        n, wave = np.array([np.sin(theta), 0.0, np.cos(theta)]), wave * [1, 0, 1]
    square = float(wave @ wave)
    errors = []
    for nz, h in ((72, 10.0), (144, 5.0)):
        shape = (20, 20 if ndim == 3 else 1, nz)
        problem = make_problem(shape, medium, "none", 8, ndim=ndim, dtype=np.float64)
        problem.spacing3 = (h, h, h)
        depth, problem.depth_scale = smooth_axis(nz, h)
        for name in problem.axis_names:
            axis = "xyz".index(name[1])
            problem.layout.view(problem.params[name])[...] = n[axis]
        x, y = np.meshgrid(np.arange(shape[0]) * h, np.arange(shape[1]) * h, indexing="ij")
        phase = wave[0] * x[..., None] + wave[1] * y[..., None] + wave[2] * depth + 0.3
        r = problem.depth_scale**0.5 * np.cos(phase)
        box = Box((8, 8 if ndim == 3 else 0, 8), (12, 12 if ndim == 3 else 1, nz - 8))
        fields = [problem.layout.pad(r, np.float64)] * problem.n_fields
        made = reference.apply_l(problem, fields, box)
        along = float(n @ wave) ** 2
        want = {
            "isotropic": (square,),
            "vti": (square - wave[2] ** 2, wave[2] ** 2),
            "tti": (square - along, along),
        }[medium]
        inner = r[box.slices]
        errors.append(max(np.abs(v + w * inner).max() / square for v, w in zip(made, want, strict=True)))
    assert errors[0] <= 2e-3
    assert errors[1] <= errors[0] / 2**6  # order 8 gives 2^8 where the waves are long


@pytest.mark.parametrize("medium", MEDIA)
def test_a_pulse_travels_through_the_axis_undistorted(medium):
    """p = g(z - v t) in a homogeneous medium, along z alone: errors fall with the second order of the time step."""
    v, errors = 2000.0, []
    for nz, h in ((120, 10.0), (240, 5.0)):
        layout = Layout((1, 1, nz), 4, 2)
        dt = 0.15 * h / v
        depth, scale = smooth_axis(nz, h)
        params = {"m": np.full(layout.shape3, (v * dt) ** 2)}
        if medium != "isotropic":
            params |= {"e": np.ones(layout.shape3), "s": np.ones(layout.shape3)}
        if medium == "tti":
            params |= {"nx": np.full(layout.shape3, 0.6), "nz": np.full(layout.shape3, 0.8)}
        problem = Problem(
            layout,
            medium,
            8,
            dt,
            (1e12, 1.0, h),
            {k: layout.pad(a, np.float64) for k, a in params.items()},
            dtype=np.float64,
            depth_scale=scale,
        )
        length = 80.0

        def pulse(t: float, depth=depth, length=length) -> np.ndarray:
            return np.exp(-(((depth - 400.0 - v * t) / length) ** 2))

        start = [
            [layout.pad(np.broadcast_to(scale**0.5 * pulse(t), layout.shape3), np.float64)] * problem.n_fields
            for t in (-dt, 0.0)
        ]
        steps = round(900.0 / (v * dt))
        for field in advanced(problem, start, steps):
            errors.append(np.abs(scale**-0.5 * field[0, 0] - pulse(steps * dt)).max())
    coarse, fine = errors[: problem.n_fields], errors[problem.n_fields :]
    assert max(coarse) <= 1e-3
    assert max(fine) <= max(coarse) / 3  # 4, less what the nodes miss of the largest error


def test_rows_are_zero_and_one_where_the_axis_is_uniform():
    problem = stretched("isotropic", "pml", 8)
    rows, scale, m = depth_rows(problem), problem.depth_scale, problem.radius
    low, high, n = problem.widths[4], problem.widths[5], len(scale)
    bend = potential(scale, problem.weights.second(problem.tilted))
    assert not bend[: low + m].any()
    assert not bend[n - high - m :].any()
    assert bend[low + 2 * m :].any()
    assert rows is depth_rows(problem)
    np.testing.assert_allclose(rows.square, scale**2, rtol=1e-15)
    np.testing.assert_allclose(rows.root * rows.power, scale, rtol=1e-15)
    row = padded_row(problem.layout, rows.root)
    assert len(row) == problem.layout.row + 16
    assert (row[:16] == rows.root[0]).all()
    assert (row[16 + n :] == rows.root[-1]).all()
    problem.depth_scale = None
    assert depth_rows(problem) is None


def test_scales_that_do_not_fit_the_problem_are_refused():
    problem = stretched("isotropic", "pml")
    for scale in (np.ones(3), np.full(40, np.nan), np.zeros(40)):
        problem.depth_scale = scale
        with pytest.raises(ConfigError, match="depth scale of 40 nodes"):
            depth_rows(problem)
    problem.depth_scale = np.linspace(1, 0.5, 40)
    with pytest.raises(ConfigError, match="varies within 12 nodes of the top or 14 of the bottom"):
        depth_rows(problem)
    none, nowhere = csr_array((0, problem.layout.numbers)), np.zeros(0, np.int32)
    problem.depth_scale, problem.mirror = np.ones(40), Mirror(nowhere, none, nowhere, none, none, none)
    with pytest.raises(ConfigError, match="below a free surface inside the grid"):
        depth_rows(problem)


def test_the_time_step_of_the_test_problems_is_stable():
    """Of the random media: v^2 dt^2 times the largest symbol is below 4, with a up to 1.1."""
    problem = stretched("isotropic")
    m, c = float(problem.params["m"].max()), np.abs(problem.weights.second())
    symbol = sum((c[0] + 2 * c[1:].sum()) / h**2 for h in SPACING[:2]) + (
        np.max(problem.depth_scale**2) * (c[0] + 2 * c[1:].sum()) / SPACING[2] ** 2
    )
    bend = np.abs(potential(problem.depth_scale, c)).max() / SPACING[2] ** 2
    assert m * (symbol + bend) < 4
