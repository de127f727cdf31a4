"""The TTI step: its operators by their symbols, its symmetry with every boundary, and energy.

That the compiled step equals the reference, and its bits, are tested with the other media in test_kernels.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from kernel_problems import SPACING, make_problem, random_state, to_cpu
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, reference
from subsalt.kernels.reference_operators import at
from subsalt.numerics.stencil import Stencil
from thorough import sample


def symbols(weights: Stencil, axis: int, k: float) -> tuple[float, float]:
    """Return K1 and K2 of a wave exp(i k x) along an axis: D1 is i K1, D2 is -K2."""
    h = SPACING[axis]
    j = np.arange(1, weights.order // 2 + 1)
    c, d = weights.second(tilted=True), np.array(weights.first(tilted=True))
    return (
        2 * float(d @ np.sin(j * k * h)) / h,
        -(c[0] + 2 * float(np.array(c[1:]) @ np.cos(j * k * h))) / h**2,
    )


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize(
    "weights", [*map(Stencil, (2, 4, 8, 12)), *(Stencil(n, "fitted") for n in (4, 8, 12))], ids=str
)
@pytest.mark.parametrize("ndim", [2, 3])
def test_a_plane_wave_sees_the_symbols_of_the_operators(ndim, weights, device):
    order = weights.order
    theta, phi, wave = 0.7, -1.1, np.array([0.9, -0.5, 0.7])
    n = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
    if ndim == 2:
        n, wave = np.array([np.sin(theta), 0.0, np.cos(theta)]), wave * [1, 0, 1]
    shape = (40, 40, 40) if ndim == 3 else (40, 1, 40)
    dtype = np.float64 if device == "reference" else np.float32
    problem = make_problem(shape, "tti", "none", order, ndim=ndim, dtype=dtype)
    problem.stencil = weights.kind
    for name, axis in zip(problem.axis_names, problem.axes, strict=True):
        problem.layout.view(problem.params[name])[...] = n[axis]
    x, y, z = np.meshgrid(*(np.arange(m) * h for m, h in zip(shape, SPACING, strict=True)), indexing="ij")
    w = np.cos(wave[0] * x + wave[1] * y + wave[2] * z + 0.3)
    kernels = reference if device == "reference" else cpu
    fields = [kernels.allocate(problem.layout, dtype) for _ in range(2)]
    for f in fields:
        problem.layout.view(f)[...] = w
    far = order  # two stencils from the edge of the grid
    box = Box(
        tuple(far if m > 1 else 0 for m in shape),  # type: ignore[arg-type]
        tuple(m - far if m > 1 else 1 for m in shape),  # type: ignore[arg-type]
    )
    across, along = kernels.apply_l(problem, fields, box)
    k1, k2 = np.array([symbols(weights, axis, wave[axis]) for axis in range(3)]).T
    k1[1], k2[1] = (k1[1], k2[1]) if ndim == 3 else (0.0, 0.0)
    v = -((n @ k1) ** 2 + problem.weights.tilt_share() * (k2 - k1**2).sum())
    inner = w[box.slices]
    # sums of at most 200 terms, each at most the largest second derivative of an alternating field
    largest = sum((4 * np.abs(weights.second(tilted=True)).sum()) / SPACING[a] ** 2 for a in problem.axes)
    tolerance = 200 * np.finfo(dtype).eps * largest
    assert np.abs(along - v * inner).max() <= tolerance
    assert np.abs(across - (-k2.sum() - v) * inner).max() <= tolerance
    assert np.abs(v) > 100 * tolerance  # the tolerance tells them apart


def modelled(problem, sources, samples, receivers):
    """Return what a source set makes at receivers, injected through C and recorded as (p + q) / 2, in float64."""
    state, view = reference.new_state(problem), problem.layout.view
    m, e, s = (view(problem.params[name]) for name in "mes")
    data = np.zeros((len(receivers), samples.shape[1]))
    for it in range(samples.shape[1] - 1):
        reference.time_step(problem, state)
        state.rotate()
        p, q = (view(u) for u in state.curr)
        for at_, value in zip(sources, samples[:, it], strict=True):
            p[at_] += m[at_] * 0.5 * (e[at_] + s[at_]) * value
            q[at_] += m[at_] * 0.5 * (s[at_] + 1) * value
        if problem.free_surface:
            for u in state.curr:
                reference._reflect(problem, u, Box((0, 0, 0), problem.layout.shape3))
        data[:, it + 1] = [0.5 * (p[at_] + q[at_]) for at_ in receivers]
    return data


@pytest.mark.parametrize("surface", [False, True])
@pytest.mark.parametrize("boundary", ["none", "damping", "pml"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_time_reversal_is_the_exact_adjoint_with_the_axis_random_per_node(ndim, boundary, surface):
    shape = (18, 17, 19) if ndim == 3 else (32, 1, 30)
    problem = make_problem(
        shape,
        "tti",
        boundary,
        8,
        ndim=ndim,
        free_surface=surface,
        widths=(5, 4, 4, 5, 4, 5),
        dtype=np.float64,
    )
    rng = np.random.default_rng(7)
    inside = [
        np.arange(problem.widths[2 * a] + (surface and a == 2), n - problem.widths[2 * a + 1])
        for a, n in enumerate(shape)
    ]
    nodes = [tuple(int(rng.choice(i)) for i in inside) for _ in range(7)]
    sources, receivers = nodes[:3], nodes[3:]
    nt = sample(15, 50)
    x, y = rng.standard_normal((3, nt)), rng.standard_normal((4, nt))
    forward = float((modelled(problem, sources, x, receivers) * y).sum())
    backward = modelled(problem, receivers, y[:, ::-1], sources)[:, ::-1]
    adjoint = float((x * backward).sum())
    assert abs(forward - adjoint) <= 1e-12 * max(abs(forward), abs(adjoint))
    assert abs(forward) > 0


@pytest.mark.parametrize("ndim", [2, 3])
def test_energy_is_conserved_in_a_closed_box(ndim):
    shape = (20, 19, 21) if ndim == 3 else (40, 1, 37)
    problem = make_problem(shape, "tti", "none", 8, ndim=ndim, dtype=np.float64)
    state, whole = random_state(problem), Box((0, 0, 0), shape)
    m, e, s = (at(problem, problem.params[name], whole) for name in "mes")

    def energy() -> float:
        """Half of <u_t, C^-1 u_t> + <u[n+1], -L u[n]>, times dt^2."""
        a, b = (
            at(problem, new, whole) - at(problem, old, whole)
            for new, old in zip(state.curr, state.prev, strict=True)
        )
        kinetic = (a * a - 2 * s * a * b + e * b * b) / (m * (e - s * s))
        parts = zip(reference.apply_l(problem, state.prev, whole), state.curr, strict=True)
        return 0.5 * float(kinetic.sum() - sum((l * at(problem, u, whole)).sum() for l, u in parts))

    first = energy()
    for _ in range(sample(100, 400)):
        reference.time_step(problem, state)
        state.rotate()
    assert abs(energy() - first) <= 1e-11 * first
    assert first > 0


@pytest.mark.parametrize("nz", [17, 24, 31, 32])
@pytest.mark.parametrize("order", [4, 8, 16])
def test_a_blow_up_leaves_nothing_behind_in_the_thread(order, nz):
    """The rings of a thread outlive a run; what lies behind the ends of their rows must not reach the next one."""
    problem, larger = (make_problem(shape, "tti", "none", order) for shape in ((19, 18, nz), (21, 23, 90)))

    def advanced(problem, value=None):
        state = to_cpu(problem, random_state(problem))
        for u in state.curr if value is not None else ():
            problem.layout.view(u)[...] = value
        for _ in range(6):
            cpu.time_step(problem, state)
            state.rotate()
        return [u.tobytes() for u in state.arrays()]

    for isa in cpu.available():
        with cpu.forced(isa, threads=1):
            want = advanced(problem)
            advanced(larger, np.inf)
            assert advanced(problem) == want, isa


def test_the_memory_of_the_layer_is_one_psi_and_two_zeta_per_axis():
    problem = make_problem((21, 18, 37), "tti", "pml", 8)
    memory = cpu.new_memory(problem)
    assert list(memory) == [f"{kind}_{axis}" for kind in ("psi", "zeta", "zeta2") for axis in (0, 1, 2)]
    for axis in (0, 1, 2):
        assert len({memory[f"{kind}_{axis}"].shape for kind in problem.memory_kinds}) == 1
    assert make_problem((21, 18, 37), "vti", "pml", 8).memory_kinds == ("psi", "zeta")
