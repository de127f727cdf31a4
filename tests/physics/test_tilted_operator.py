"""The operator of tilted media against matrices written down from its definition, and what its proofs rest on (A1)."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import DOUBLE, random_tti
from scipy.sparse import bmat, csr_array, diags, identity, kron

from subsalt import EarthModel, Grid, PropagationOptions
from subsalt.numerics.stencil import ORDERS, Stencil
from subsalt.propagation.propagator import Propagator


def along(weights_at_one, centre, sign, grid, axis):
    """Return the matrix of a derivative along one axis of a grid with nothing outside."""
    n = grid.shape[axis]
    k = [*range(1, len(weights_at_one) + 1)]
    bands = [*weights_at_one, centre, *(sign * w for w in weights_at_one)]
    line = diags(bands, offsets=[*k, 0, *(-i for i in k)], shape=(n, n))
    out = identity(1)
    for i, m in enumerate(grid.shape):
        out = kron(out, line if i == axis else identity(m))
    return csr_array(out)


def taylor(order):
    return Stencil(order)


def fitted(order):
    return Stencil(order, "fitted")


def minus_v_and_minus_lap(model, weights):
    """Return -V and -lap as matrices, from V = sum_i D_i n_i sum_j n_j D_j + share sum_i (D2_i - D_i D_i)."""
    c, d = weights.second(tilted=True), weights.first(tilted=True)
    grid, h = model.grid, model.grid.spacing
    theta = model.theta.astype(np.float64).ravel()
    if grid.ndim == 2:
        n = [np.sin(theta), np.cos(theta)]
    else:
        phi = model.phi.astype(np.float64).ravel()
        n = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    first = [along([w / s for w in d], 0.0, -1, grid, i) for i, s in enumerate(h)]
    second = [along([w / s**2 for w in c[1:]], c[0] / s**2, 1, grid, i) for i, s in enumerate(h)]
    slope = sum(diags(a) @ g for a, g in zip(n, first, strict=True))
    between = sum(g @ g - l for g, l in zip(first, second, strict=True))
    return slope.T @ slope + weights.tilt_share() * between, -sum(second)


@pytest.mark.parametrize("weights", [taylor(2), taylor(8), *(fitted(o) for o in (4, 8, 12, 16))], ids=str)
@pytest.mark.parametrize("shape", [(17, 19), (9, 11, 10)])
def test_the_kernels_apply_the_operator_as_defined(shape, weights):
    order = weights.order
    model = random_tti(shape, (10.0, 12.0, 9.0)[-len(shape) :], 4)
    prop = Propagator(
        model, PropagationOptions(boundary="none", order=order, stencil=weights.kind, **DOUBLE), 0.001
    )
    state, rng = prop.new_state(), np.random.default_rng(5)
    for u in state.curr:
        prop.layout.view(u)[...] = rng.standard_normal(prop.layout.shape3)
    p, q = (prop.layout.view(u).ravel() for u in state.curr)
    minus_v, minus_lap = minus_v_and_minus_lap(model, weights)
    exact = minus_v @ p - minus_lap @ p, -(minus_v @ q)
    for got, want in zip(prop.kernels.apply_l(prop.problem, state.curr, prop.interior), exact, strict=True):
        # sums of some 10 order^2 products of numbers whose largest is the result's
        np.testing.assert_allclose(
            got.ravel(), want, rtol=0, atol=100 * order**2 * 2e-16 * np.abs(want).max()
        )


@pytest.mark.parametrize("order", ORDERS)
def test_both_parts_are_negative_for_every_wavenumber(order):
    # -V = (n . K1)^2 + share (K2 - K1^2), -(lap - V) = |K1 - n (n . K1)|^2 + (1 - share) (K2 - K1^2): with K2 >= K1^2
    # per axis both are sums of squares for any n and any share of 0 to 1
    k = np.linspace(0, np.pi, 4001)
    weights = taylor(order)
    c, d = weights.second(tilted=True), weights.first(tilted=True)
    k2 = -(c[0] + 2 * sum(ck * np.cos(i * k) for i, ck in enumerate(c) if i))
    k1 = 2 * sum(dk * np.sin((i + 1) * k) for i, dk in enumerate(d))
    between = k2 - k1**2
    assert between.min() > -1e-13
    # at the Nyquist wavenumber the first derivative sees nothing: all that is left of V is its share
    assert between[-1] == pytest.approx(weights.nyquist(tilted=True), rel=1e-12)
    assert 0 < weights.tilt_share() < 1
    # the added term is of the order of the scheme: between ~ k^(order + 2)
    small = np.array([0.2, 0.4])
    k2 = -(c[0] + 2 * sum(ck * np.cos(i * small) for i, ck in enumerate(c) if i))
    k1 = 2 * sum(dk * np.sin((i + 1) * small) for i, dk in enumerate(d))
    if order <= 8:  # beyond, rounding is larger than the term
        a, b = k2 - k1**2
        assert np.log2(b / a) == pytest.approx(order + 2, abs=0.3)


def tilts(n):
    """Return tilt fields that change as fast as a grid allows, by name."""
    x, z = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    random = np.random.default_rng(0).uniform(-np.pi / 2, np.pi / 2, (n, n))
    return {
        "uniform": np.full((n, n), np.pi / 4),
        "random": random,
        "checkerboard": np.pi / 2 * ((x + z) % 2),
        "stripes": np.pi / 4 * (1 - 2 * (x % 2)),
        "blocks": np.kron(random[: n // 4, : n // 4], np.ones((4, 4))),
    }


def motion(model, weights):
    """Return C^(1/2) (-L) C^(1/2) as a dense matrix: its eigenvalues are the squared frequencies of the scheme."""
    minus_v, minus_lap = minus_v_and_minus_lap(model, weights)
    e = 1 + 2 * model.epsilon.astype(np.float64).ravel()
    s = np.sqrt(1 + 2 * model.delta.astype(np.float64).ravel())
    # the root of a positive 2 x 2 matrix A is (A + sqrt(det A)) / sqrt(trace A + 2 sqrt(det A))
    det = np.sqrt(np.maximum(e - s * s, 0))
    scale = model.vp.astype(np.float64).ravel() / np.sqrt(e + 1 + 2 * det)
    across, both, along_n = (diags(scale * a) for a in (e + det, s, 1 + det))
    root = bmat([[across, both], [both, along_n]])
    return (root @ bmat([[minus_lap - minus_v, None], [None, minus_v]]) @ root).toarray()


@pytest.mark.parametrize("field", tilts(4))
@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        *((taylor(2), "random"), (taylor(8), "random"), (taylor(8), "strong"), (taylor(8), "none")),
        *((fitted(4), "strong"), (fitted(8), "random"), (fitted(8), "none"), (fitted(16), "random")),
    ],
    ids=str,
)
def test_the_time_step_holds_for_any_tilt(field, weights, kind):
    n, rng = 16, np.random.default_rng(1)
    delta = rng.uniform(-0.15, 0.2, (n, n))
    epsilon, delta, vp = {
        "random": (delta + rng.uniform(0.0, 0.2, (n, n)), delta, rng.uniform(1500, 4500, (n, n))),
        "strong": (0.3, -0.2, 2000.0),
        "none": (0.0, 0.0, 2000.0),
    }[kind]
    model = EarthModel(Grid((n, n), (10.0, 8.0)), vp, epsilon, delta, tilts(n)[field]).as_medium("tti")
    squared = np.linalg.eigvalsh(motion(model, weights))
    bound = model.max_eigenvalue(weights)
    assert squared[-1] < bound
    # nothing grows either: what is negative is rounding
    assert squared[0] > -1e-12 * bound
    if kind == "none":
        # without anisotropy the tilt has no effect, and the bound is that of the Laplacian; only a box of 16 cells, in
        # which the shortest wave does not fit quite, stays below it
        assert squared[-1] > 0.97 * bound
