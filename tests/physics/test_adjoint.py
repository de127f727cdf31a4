"""Dot tests of modelling and Born, in float64 to rounding and in float32, and Born against finite differences
(A2, A3)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from physics_tools import DEVICE, DOUBLE, misfit, random_tti, random_vti
from physics_tools import ricker as ricker_at
from scipy.ndimage import gaussian_filter

from subsalt import PropagationOptions, Survey, dot_test, forward, ricker, rtm_operator
from subsalt.methods.rtm.operators import ModellingOperator
from thorough import ALL, pairs

#: physics page, section 9
SINGLE_TOLERANCE, DOUBLE_TOLERANCE = 1e-6, 1e-12

BOUNDARIES = {
    "pml": {"boundary": "pml"},
    "damping": {"boundary": "damping"},
    "free-surface": {"boundary": "pml", "free_surface": True},
    "closed": {"boundary": "none"},
}


MEDIA = ("isotropic", "vti", "tti")


def medium_model(medium, ndim, seed, closed=False):
    """Return a random model; one with epsilon >= delta on every node."""
    spacing = (10.0, 12.0, 9.0)[-ndim:]
    if medium == "tti" and closed:  # no layer, no taper
        return random_tti((22, 26) if ndim == 2 else (14, 13, 16), spacing, seed)
    if medium == "tti":  # large enough that the taper leaves some cells their whole tilt
        return random_tti((40, 38) if ndim == 2 else (27, 26, 28), spacing, seed)
    return random_vti((22, 26) if ndim == 2 else (14, 13, 16), spacing, seed).as_medium(medium)


def scheme(medium, ndim, boundary, precision):
    """Return the options of a case: of three dimensions and a tilt, fewer cells of layer and taper.

    In ``make test`` all layers are thin: every cell of them does the same, and waves come back from thin ones, too.
    """
    kind = DOUBLE if precision == "float64" else {"device": DEVICE}
    small = {"order": 4, "layer": 6} if (medium, ndim) == ("tti", 3) and boundary != "closed" else {}
    if not ALL and boundary != "closed":
        small["layer"] = 10 if boundary == "damping" else 6
    return PropagationOptions(**BOUNDARIES[boundary], **kind, **small)


def largest_tilt(propagator):
    """Return the largest horizontal component of the axis on the computational grid."""
    return np.abs(propagator.problem.params["nx"]).max()


class InBand:
    """An operator without the parts of its input that no survey has: static loads, the Nyquist frequency,
    checkerboards.

    In float32 the rounding of a static load grows with the square of the number of steps, since nothing
    carries it away, and the slow mode of VTI media traps a checkerboard. Both filters are symmetric and
    applied in float64: a Ricker wavelet over time, and for models a Gaussian of one cell.
    """

    def __init__(self, operator, nt, dt, f0):
        self.operator = operator
        self.domain_shape, self.range_shape = operator.domain_shape, operator.range_shape
        lag = np.arange(nt)
        self.band = ricker_at((lag[:, None] - lag) * dt, f0)

    def prepare(self, x):
        if x.shape[-1] == len(self.band):
            return x @ self.band
        return gaussian_filter(x, 1.0, mode="constant")

    def forward(self, x):
        return self.operator.forward(self.prepare(x)).astype(np.float64) @ self.band

    def adjoint(self, y):
        return self.prepare(self.operator.adjoint(y @ self.band).astype(np.float64))


def positions(model, seed, count):
    """Return off-grid positions in the inner three quarters of the model."""
    rng = np.random.default_rng(seed)
    return rng.uniform(0.125, 0.875, (count, model.grid.ndim)) * np.array(model.grid.last)


def cases(boundaries, too_many_points):
    """Return boundaries, media, dimensions and precisions but those that NumPy would take long for."""
    return pairs(boundaries, MEDIA, (2, 3), ("float64", "float32"), without=too_many_points)


# damping in 3-D has 96^3 points: float64 sees its lines in 2-D, the compiled kernels run it in 3-D; in `make test` a
# tilt in 3-D is seen in float64 in a closed box, and with the other boundaries by the compiled kernels or in 2-D
@pytest.mark.parametrize(
    ("boundary", "medium", "ndim", "precision"),
    cases(
        BOUNDARIES,
        lambda boundary, medium, ndim, kind: (
            (ndim, kind) == (3, "float64")
            and (
                (boundary == "damping" and medium != "tti")
                or (not ALL and medium == "tti" and boundary != "closed")
            )
        ),
    ),
)
def test_modelling_and_its_adjoint(boundary, medium, ndim, precision):
    model = medium_model(medium, ndim, 1, boundary == "closed")
    tolerance = DOUBLE_TOLERANCE if precision == "float64" else SINGLE_TOLERANCE
    options = scheme(medium, ndim, boundary, precision)
    operator = ModellingOperator(model, positions(model, 2, 2), positions(model, 3, 5), 120, options)
    assert medium != "tti" or largest_tilt(operator.propagator) > 0.9
    tested = (
        operator if precision == "float64" else InBand(operator, operator.nt, operator.dt, 0.12 / operator.dt)
    )
    result = dot_test(tested, seed=4, tolerance=tolerance)
    assert result, result


# Born keeps every step of the source field: in 3-D only the compiled kernels, without the wide damping layer
@pytest.mark.parametrize(
    ("boundary", "medium", "ndim", "precision"),
    cases(
        ("pml", "damping", "free-surface"),
        lambda boundary, _, ndim, kind: ndim == 3 and (boundary == "damping" or kind == "float64"),
    ),
)
def test_born_and_its_adjoint(boundary, medium, ndim, precision):
    model = medium_model(medium, ndim, 6)
    tolerance = DOUBLE_TOLERANCE if precision == "float64" else SINGLE_TOLERANCE
    # the sum over shots is that of all media and boundaries
    shots = 2 if ALL or (medium == "isotropic" and boundary != "pml") else 1
    # by 70 ms waves have come back from the layer: with a cell more of it the data differ by 1e-6 to 1e-4, a million
    # times the tolerance and more
    nt = 45 if ALL or precision == "float32" else 36
    survey = Survey.from_arrays(positions(model, 7, shots), positions(model, 8, 4), nt=nt, dt=0.002)
    options = scheme(medium, ndim, boundary, precision)
    if medium != "isotropic" and not ALL:  # half as many operations; modelling has the wider stencil
        options = replace(options, order=4)
    operator = rtm_operator(model, survey, ricker(40.0, 0.002), options)
    tested = operator if precision == "float64" else InBand(operator, nt, 0.002, 40.0)
    result = dot_test(tested, seed=9, tolerance=tolerance)
    assert result, result


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_born_is_the_derivative_of_modelling(medium):
    # central difference in m = 1 / v^2 around a smooth model; the perturbation stays M cells away from the
    # layer
    base = medium_model(medium, 2, 10)
    shape = base.grid.shape
    x, z = np.meshgrid(np.linspace(-1, 1, shape[0]), np.linspace(-1, 1, shape[1]), indexing="ij")
    bump = np.exp(-8 * (x**2 + z**2))
    bump[:5], bump[-5:], bump[:, :5], bump[:, -5:] = 0, 0, 0, 0
    vp = 2000.0 + 300.0 * z
    survey = Survey.from_arrays([[33.0, 40.0]], [[150.0, 50.0], [120.0, 180.0]], nt=70, dt=0.002)
    wavelet = ricker(20.0, 0.002)
    dm = bump * 0.01 / 2000.0**2
    # stable in both models: 1 % of m is half of that of the velocity
    order = 8 if ALL or medium == "isotropic" else 4
    dt = 0.9 * replace(base, vp=vp.max()).stable_dt(order)
    options = {"dt": dt, "source_taper": None, "layer": 6, "order": order, **DOUBLE}

    def data(sign):
        model = replace(base, vp=1 / np.sqrt(1 / vp**2 + sign * dm))
        return forward(model, survey, wavelet, **options).data.astype(np.float64)

    difference = 0.5 * (data(1) - data(-1))
    model = replace(base, vp=vp)
    operator = rtm_operator(model, survey, wavelet, PropagationOptions(**options))
    born = operator.forward(dm)
    # third-order term of a 1 % perturbation, and float32 velocities and traces (6e-8 / 1e-2) in the
    # difference
    assert misfit(born, difference) < 1e-3


def test_a_wrong_adjoint_fails():
    model = medium_model("isotropic", 2, 1)
    operator = ModellingOperator(
        model, positions(model, 2, 1), positions(model, 3, 2), 80, PropagationOptions(device=DEVICE)
    )
    right = operator.adjoint
    operator.adjoint = lambda y: right(y) * 1.0001
    assert not dot_test(operator)
