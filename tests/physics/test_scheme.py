"""The scheme itself: weights, stability bound, order of convergence, energy, reciprocity, reductions (A1 and
6.4)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from physics_tools import DEVICE, DOUBLE, misfit, padded, random_tti, random_vti

from subsalt import EarthModel, Grid, PropagationOptions, Survey, analytic, forward, ricker
from subsalt.methods.rtm.operators import ModellingOperator
from subsalt.numerics import stencil
from subsalt.propagation.propagator import Propagator
from thorough import sample, some

# physics page, section 3: S, and v dt / h of the bound in 2-D and 3-D
TABLE = {
    2: (4.0000, 0.7071, 0.5774),
    4: (5.3333, 0.6124, 0.5000),
    6: (6.0444, 0.5752, 0.4697),
    8: (6.5016, 0.5546, 0.4529),
    10: (6.8267, 0.5413, 0.4419),
    12: (7.0729, 0.5318, 0.4342),
    14: (7.2678, 0.5246, 0.4283),
    16: (7.4269, 0.5189, 0.4237),
}
PRINTED = 5.1e-5  # half a unit of the last printed digit


@pytest.mark.parametrize("order", stencil.ORDERS)
def test_weights_are_exact_for_polynomials(order):
    c, d, m = stencil.second_derivative_exact(order), stencil.first_derivative_exact(order), order // 2
    assert c[0] + 2 * sum(c[1:]) == 0
    for j in range(1, m + 1):
        assert 2 * sum(c[k] * k ** (2 * j) for k in range(1, m + 1)) == (2 if j == 1 else 0)
        assert 2 * sum(d[k - 1] * k ** (2 * j - 1) for k in range(1, m + 1)) == (1 if j == 1 else 0)
    np.testing.assert_allclose(stencil.second_derivative(order), [float(v) for v in c], rtol=1e-12)
    np.testing.assert_allclose(stencil.first_derivative(order), [float(v) for v in d], rtol=1e-12)


def test_weights_of_order_eight():
    exact = tuple(Fraction(*v) for v in ((-205, 72), (8, 5), (-1, 5), (8, 315), (-1, 560)))
    assert stencil.second_derivative_exact(8) == exact
    assert stencil.first_derivative_exact(8) == tuple(
        Fraction(*v) for v in ((4, 5), (-1, 5), (4, 105), (-1, 280))
    )


@pytest.mark.parametrize("order", stencil.ORDERS)
def test_nyquist_symbol_and_stability_bound(order):
    s, two, three = TABLE[order]
    k = np.linspace(0, np.pi, 4001)
    c, d = stencil.second_derivative(order), stencil.first_derivative(order)
    k2 = -(c[0] + 2 * sum(ck * np.cos(i * k) for i, ck in enumerate(c) if i))
    k1 = 2 * sum(dk * np.sin((i + 1) * k) for i, dk in enumerate(d))
    nyquist = stencil.Stencil(order).nyquist()
    assert nyquist == pytest.approx(k2.max(), rel=1e-12)
    assert nyquist == pytest.approx(s, abs=PRINTED)
    assert np.all(k2 >= k1**2 - 1e-12)  # what makes the layer and the tilted medium stable
    for shape, spacing, bound in (((9, 9), (10.0, 10.0), two), ((9, 9, 9), (10.0,) * 3, three)):
        dt = EarthModel(Grid(shape, spacing), 2000.0).stable_dt(stencil.Stencil(order, "taylor"))
        assert dt * 2000.0 / 10.0 == pytest.approx(bound, abs=PRINTED)


@pytest.mark.parametrize(("order", "kind"), [(2, "taylor"), (8, "taylor"), (8, "fitted"), (16, "fitted")])
def test_vti_bound_is_the_largest_eigenvalue_of_the_symbol(order, kind):
    v, e, d, hx, hy, hz = 2500.0, 0.3, 0.05, 12.0, 15.0, 8.0
    model = EarthModel(Grid((4, 4, 4), (hx, hy, hz)), v, e, d)
    weights = stencil.Stencil(order, kind)
    s = weights.nyquist()
    a, b = s / hx**2 + s / hy**2, s / hz**2
    c = v**2 * np.array([[1 + 2 * e, np.sqrt(1 + 2 * d)], [np.sqrt(1 + 2 * d), 1.0]])
    largest = np.linalg.eigvals(c @ np.diag([a, b])).real.max()
    assert model.max_eigenvalue(weights) == pytest.approx(
        largest, rel=1e-6
    )  # parameters are stored in float32


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
@pytest.mark.parametrize("kind", ["taylor", "fitted"])
def test_energy_is_conserved(kind, medium, ndim):
    shape = (20, 24) if ndim == 2 else (12, 11, 13)
    model = random_tti(shape, (10.0, 12.0, 9.0)[-ndim:], 3).as_medium(medium)
    options = PropagationOptions(boundary="none", stencil=kind, **DOUBLE)
    prop = Propagator(model, options, 0.95 * model.stable_dt(options.weights))
    state, rng = prop.new_state(), np.random.default_rng(1)
    for a, b in zip(state.prev, state.curr, strict=True):
        prop.layout.view(a)[...] = rng.standard_normal(prop.layout.shape3)
        prop.layout.view(b)[...] = prop.layout.view(a) + 0.1 * rng.standard_normal(prop.layout.shape3)
    start = _energy(prop, state)
    for _ in range(sample(8, 20)):
        prop.advance(state, 25)
        assert _energy(prop, state) == pytest.approx(start, rel=1e-12)


def _energy(prop, state):
    """Return 1/2 |(u[n+1] - u[n]) / dt|^2 in the norm of C^-1, plus 1/2 <u[n+1], -L u[n]>; constant for
    leapfrog."""
    view, params = prop.layout.view, prop.problem.params
    new, old = [view(a) for a in state.curr], [view(a) for a in state.prev]
    rate = [n - o for n, o in zip(new, old, strict=True)]
    m = view(params["m"])  # (v dt)^2, so that the two dt^2 cancel
    if len(new) == 1:
        kinetic = (rate[0] ** 2 / m).sum()
    else:
        e, s = view(params["e"]), view(params["s"])
        det = e - s * s
        kinetic = ((rate[0] ** 2 - 2 * s * rate[0] * rate[1] + e * rate[1] ** 2) / (m * det)).sum()
    lu = prop.kernels.apply_l(prop.problem, state.prev, prop.interior)
    return 0.5 * kinetic - 0.5 * sum((n * a).sum() for n, a in zip(new, lu, strict=True))


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_order_of_convergence_in_space(order):
    # two grids, the finer with half the spacing; sources and receivers on nodes; the box is closed and its
    # echoes arrive after the record; the time-dispersion transform leaves the error in space alone, down to
    # its own 4e-5
    f0, v, r, nt, dt = 10.0, 2000.0, 500.0, 140, 0.004
    coarse = {2: 20.0, 4: 20.0, 6: 25.0, 8: 25.0}[order]
    wavelet = ricker(f0, 0.001)
    exact = analytic.isotropic_waveform([[r, 0.0]], v, padded(wavelet.samples, 4 * nt), 0.001, 4 * nt)[0, ::4]
    errors = []
    for h in (coarse, coarse / 2):
        n = int(2000 / h) + 1
        survey = Survey.from_arrays([[750.0, 1000.0]], [[750.0 + r, 1000.0]], nt=nt, dt=dt)
        model = EarthModel(Grid((n, n), (h, h)), v)
        options = {"order": order, "stencil": "taylor", "boundary": "none", **DOUBLE}
        errors.append(misfit(forward(model, survey, wavelet, **options).data[0, 0], exact))
    # 8 to 10 points per wavelength on the coarse grid: the next term, and the floor, take up to a tenth of
    # the order
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, rel=0.12)


def test_time_stepping_is_of_second_order_and_the_transform_removes_its_error():
    # 20 points per wavelength: the error in space is 1e-3; 5 wavelengths; 0.9 and 0.45 of the stability bound
    f0, v, r, nt, dt = 10.0, 2000.0, 1000.0, 190, 0.004
    wavelet = ricker(f0, 0.001)
    exact = analytic.isotropic_waveform([[r, 0.0]], v, padded(wavelet.samples, 4 * nt), 0.001, 4 * nt)[0, ::4]
    model = EarthModel(Grid((131, 51), (10.0, 10.0)), v)
    survey = Survey.from_arrays([[150.0, 250.0]], [[150.0 + r, 250.0]], nt=nt, dt=dt)

    def error(factor, transform):
        step = factor * model.stable_dt(8)
        got = forward(
            model, survey, wavelet, dt=step, time_dispersion=transform, stencil="taylor", device=DEVICE
        )
        return misfit(got.data[0, 0], exact)

    raw = [error(f, False) for f in (0.9, 0.45)]
    # leading term w^3 dt^2 r / (24 v) of the phase, 0.03 rad at f0 and 0.9 of the bound
    assert raw[0] / raw[1] == pytest.approx(4.0, rel=0.1)
    assert error(0.9, True) < 0.003 < 0.03 < raw[0]


def test_reciprocity():
    model = random_vti((26, 30), (10.0, 10.0), 5)
    options = PropagationOptions(source_taper=None, **DOUBLE)
    a, b = [[52.0, 71.0]], [[203.0, 244.0]]
    # 230 m at 3 km/s are 70 steps of 1.1 ms
    x = np.random.default_rng(2).standard_normal((1, 110))
    there = ModellingOperator(model, a, b, 110, options)
    back = ModellingOperator(model, b, a, 110, options)
    first, second = there.forward(x), back.forward(x)
    # 110 steps of 60 operations, each rounding the field by 1e-16, added up as a random walk
    assert misfit(first, second) < 1e-12


@pytest.mark.parametrize(("ndim", "precision"), some(product([3, 2], ["float32", "float64"]), 2))
def test_vti_without_anisotropy_is_isotropic(ndim, precision):
    rng = np.random.default_rng(7)
    shape = (40, 36) if ndim == 2 else (22, 20, 24)
    grid = Grid(shape, (10.0,) * ndim)
    vp = rng.uniform(1500, 3000, shape)
    middle = np.array([h * (n - 1) / 2 for h, n in zip(grid.spacing, shape, strict=True)])
    options = DOUBLE if precision == "float64" else {"device": DEVICE}
    survey = Survey.from_arrays([middle * 0.7], [middle * 1.3, middle * [0.5] * ndim], nt=80, dt=0.002)
    wavelet = ricker(25.0, 0.002)
    # the bound of the VTI scheme is that of the isotropic one when epsilon = delta = 0
    iso = forward(EarthModel(grid, vp), survey, wavelet, **options).data
    vti = forward(EarthModel(grid, vp, 0.0, 0.0), survey, wavelet, **options).data
    # rounding of 140 steps; data come back as float32
    assert misfit(vti, iso) < (1e-6 if precision == "float64" else 2e-5)


@pytest.mark.parametrize("device", ["reference", DEVICE])
def test_segments_give_the_same_bits(device):
    model = random_vti((24, 26), (10.0, 10.0), 11)
    prop = Propagator(model, PropagationOptions(device=device), model.choose_dt(8))
    samples = np.random.default_rng(0).standard_normal((1, 36))
    where = np.array([[111.0, 0.0, 123.0]])
    results = []
    for cuts in ((36,), (1,) * 36, (7, 20, 9)):
        state, rec = prop.new_state(), prop.recorder(where + 20.0, 37)
        source = prop.source(where, samples)
        for n in cuts:
            prop.advance(state, n, sources=[source], recorders=[rec])
        results.append((rec.data.tobytes(), [prop.layout.view(a).tobytes() for a in state.curr]))
    assert rec.data[:, 30:].any()
    assert results[0] == results[1] == results[2]


def test_free_surface_is_the_mirror_source():
    # p = 0 at z = 0: the field of the source minus that of its image above
    h, v, f0, nt, dt = 10.0, 2000.0, 10.0, 160, 0.004
    model = EarthModel(Grid((121, 91), (h, h)), v)
    survey = Survey.from_arrays([[300.0, 163.0]], [[700.0, 405.0], [905.0, 40.0]], nt=nt, dt=dt)
    wavelet = ricker(f0, 0.001)
    got = forward(model, survey, wavelet, free_surface=True, device=DEVICE).data[0]
    fine = padded(wavelet.samples, 4 * nt)
    r = survey.shots[0].rcv[:, [0, 2]]
    exact = analytic.isotropic_waveform(r - [300.0, 163.0], v, fine, 0.001, 4 * nt)
    exact -= analytic.isotropic_waveform(r - [300.0, -163.0], v, fine, 0.001, 4 * nt)
    # 20 points per wavelength: A4's tolerance for each of the two waves, which nearly cancel near the surface
    for g, e, part in zip(got, exact[:, ::4], (1.0, 0.3), strict=True):
        assert misfit(g, e) < 0.003 / part
