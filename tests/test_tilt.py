"""The symmetry axis: one form per axis, components never longer than 1, and the taper at layers and free surface."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from subsalt import physics
from subsalt.earth import tilt
from subsalt.errors import ConfigError, ModelError
from subsalt.kernels.problem import Layout
from subsalt.methods.rtm.setup import gate
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

PI = np.pi
#: float32 rounds an angle of pi by half of this, and a fold adds two of them
ANGLE = 4 * PI * 2.0**-23


def axes_of(theta, phi):
    theta = np.asarray(theta, dtype=np.float64)
    phi = np.zeros_like(theta) if phi is None else np.asarray(phi, dtype=np.float64)
    return np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])


def test_an_axis_keeps_its_direction_and_gets_one_form():
    rng = np.random.default_rng(0)
    theta = rng.uniform(-PI, PI, 20_000).astype(np.float32)
    phi = rng.uniform(-2 * PI, 2 * PI, 20_000).astype(np.float32)
    theta[:6] = np.array([0, PI / 2, -PI / 2, PI, -PI, -0.0], dtype=np.float32)
    phi[6:11] = np.array([0, PI, -PI, 2 * PI, -2 * PI], dtype=np.float32)
    new_theta, new_phi = tilt.normalised(theta, phi, 3)
    assert new_theta.dtype == new_phi.dtype == np.float32
    assert 0 <= new_theta.min() < new_theta.max() <= tilt.HALF_PI
    assert -tilt.PI < new_phi.min() < new_phi.max() <= tilt.PI
    before, after = axes_of(theta, phi), axes_of(new_theta, new_phi)
    turned = np.minimum(np.abs(before - after).max(axis=0), np.abs(before + after).max(axis=0))
    assert turned.max() < ANGLE


def test_in_2d_the_tilt_has_a_sign_and_the_azimuth_goes_into_it():
    given = np.array([0.3, -0.3, 2.0, -2.0, PI / 2, -PI / 2, PI], dtype=np.float32)
    expected = np.array([0.3, -0.3, 2.0 - PI, PI - 2.0, PI / 2, PI / 2, 0.0])
    for phi, sign in ((None, 1), (0.0, 1), (2 * PI, 1), (PI, -1), (-PI, -1)):
        azimuth = None if phi is None else np.full(given.shape, phi, dtype=np.float32)
        theta, none = tilt.normalised(given, azimuth, 2)
        assert none is None
        # pi/2 and -pi/2 are one axis
        np.testing.assert_allclose(np.sin(2 * theta), sign * np.sin(2 * expected), atol=ANGLE)
        np.testing.assert_allclose(np.abs(theta), np.abs(expected), atol=ANGLE)
        assert theta.min() > -tilt.HALF_PI


def test_angles_in_form_are_not_copied():
    theta, phi = (np.full((3, 4, 5), v, dtype=np.float32) for v in (0.5, -1.0))
    same = tilt.normalised(theta, phi, 3)
    assert same[0] is theta
    assert same[1] is phi
    assert tilt.normalised(theta, None, 3) == (theta, None)


def test_single_precision_axes_are_not_longer_than_one():
    rng = np.random.default_rng(1)
    theta = rng.uniform(0, PI / 2, 50_000).astype(np.float32)
    phi = rng.uniform(-PI, PI, 50_000).astype(np.float32)
    exact = tilt.axis(theta, phi, 3)
    np.testing.assert_allclose(exact, axes_of(theta, phi), atol=1e-15)
    length = sum(tilt.towards_zero(a).astype(np.float64) ** 2 for a in exact)
    assert length.max() <= 1.0
    assert length.min() > 1.0 - 3 * 2.0**-23
    # to nearest would not do
    assert sum(a.astype(np.float32).astype(np.float64) ** 2 for a in exact).max() > 1.0
    upright = tilt.axis(np.zeros(1, dtype=np.float32), None, 2)
    assert [float(tilt.towards_zero(a)[0]) for a in upright] == [0.0, 1.0]


def test_the_taper_is_zero_where_asked_and_one_inside():
    x, y, z = (a.ravel() for a in tilt.taper((40, 9, 30), [16, 16, None, None, 5, None]))
    assert y.tolist() == [1.0] * 9
    assert not z[:5].any()
    assert z[5] > 0
    assert z[5 + tilt.TAPER_CELLS - 1] < 1
    assert (z[5 + tilt.TAPER_CELLS :] == 1).all()
    assert (np.diff(z[4 : 5 + tilt.TAPER_CELLS]) > 0).all()
    assert not x[:16].any()
    assert not x[24:].any()
    np.testing.assert_array_equal(x, x[::-1])
    assert 0 < x[16:24].max() < 1  # two sides nearer to each other than two tapers


def tilted(shape, **angles):
    return ss.EarthModel(ss.Grid(shape, (10.0,) * len(shape)), 2000.0, 0.2, 0.1, **angles)


def test_which_medium_a_model_is():
    assert tilted((5, 6), theta=0.2).medium == "tti"
    assert tilted((5, 6), theta=0.0).medium == "vti"
    assert tilted((5, 6, 7), phi=0.3).medium == "vti"
    assert tilted((5, 6, 7), phi=0.3).phi is None
    bare = ss.EarthModel(ss.Grid((5, 6), (10.0, 10.0)), 2000.0, theta=0.2)
    assert bare.medium == "isotropic"
    assert bare.tilt_is_idle
    assert ss.EarthModel(bare.grid, 2000.0, 0.0, 0.0, theta=0.2).tilt_is_idle
    assert not tilted((5, 6), theta=0.2).tilt_is_idle
    for medium, model in (("tti", bare), ("vti", bare)):
        with pytest.raises(ConfigError, match=f"medium is {medium}, but the model has no epsilon"):
            physics.medium_of(model, medium)


def test_a_medium_uses_its_part_of_the_model():
    model = tilted((5, 6, 7), theta=0.2, phi=0.4)
    assert model.as_medium("tti") is model
    vti = model.as_medium("vti")
    assert (vti.medium, vti.theta, vti.phi) == ("vti", None, None)
    isotropic = model.as_medium("isotropic")
    assert (isotropic.medium, isotropic.epsilon, isotropic.theta) == ("isotropic", None, None)
    for medium in ("auto", "vti", "isotropic"):
        used, _ = gate(model, PropagationOptions(medium=medium))
        assert used.medium == (model.medium if medium == "auto" else medium)
    # the tilted scheme has a smaller bound than VTI, also where the tilt is zero
    upright, _ = gate(tilted((5, 6, 7)), PropagationOptions(medium="tti"))
    assert upright.stable_dt(8) == model.stable_dt(8) < vti.stable_dt(8)


def test_the_gate_and_windows_keep_the_tilt():
    rng = np.random.default_rng(2)
    shape = (8, 7, 6)
    grid = ss.Grid(shape, (10.0,) * 3)
    theta, phi = rng.uniform(0, 1.5, shape), rng.uniform(-3, 3, shape)
    model = ss.EarthModel(grid, 2000.0, 0.1, 0.2, theta, phi)
    mended, count = model.anisotropy_gate()
    assert count == grid.size
    np.testing.assert_array_equal(mended.theta, theta.astype(np.float32))
    part = mended.window(ss.Box((-2, 1, 3), (4, 5, 9)))
    np.testing.assert_array_equal(part.theta[2:, :, :3], mended.theta[:4, 1:5, 3:])
    np.testing.assert_array_equal(part.phi[:2, :, 0], np.broadcast_to(mended.phi[0, 1:5, 3], (2, 4)))


@pytest.mark.parametrize(
    ("shape", "angles", "code", "words"),
    [
        ((5, 6), {"theta": 30.0}, "E525", "theta: 30 of 30 values outside -pi to pi"),
        ((4, 5, 6), {"theta": 0.3, "phi": 90.0}, "E525", "phi: 120 of 120 values outside -2 pi to 2 pi"),
        ((5, 6), {"theta": np.nan}, "E410", "theta: 30 of 30 values not finite"),
        ((5, 6), {"theta": 0.3, "phi": 1.0}, "E526", "phi: 30 of 30 values neither 0 nor pi"),
        (
            (5, 6),
            {"theta": "30 deg"},
            "E405",
            "theta is not real numbers: '30 deg'; give theta .* in radians",
        ),
        ((5, 6), {"theta": np.zeros((5, 6), complex)}, "E405", "theta holds complex128"),
        ((5, 6), {"theta": np.zeros((6, 5))}, "E401", r"theta has shape \(6, 5\), the grid has \(5, 6\)"),
    ],
)
def test_wrong_angles_are_refused(shape, angles, code, words):
    with pytest.raises(ModelError, match=words) as caught:
        tilted(shape, **angles)
    assert caught.value.code == code
    assert caught.value.fix


@pytest.mark.parametrize("free_surface", [False, True])
def test_the_axis_is_upright_where_the_layer_acts(free_surface):
    model = tilted((61, 58, 55), theta=0.9, phi=0.7)
    m, width = 4, 12
    prop = Propagator(model, PropagationOptions(free_surface=free_surface), 0.001)
    n = {k: prop.layout.view(prop.problem.params[k]) for k in ("nx", "ny", "nz")}
    upright = (n["nx"] == 0) & (n["ny"] == 0) & (n["nz"] == 1)
    near = np.ones(prop.layout.shape3, dtype=bool)
    near[
        width + m : -width - m, width + m : -width - m, (m + 1 if free_surface else width + m) : -width - m
    ] = False
    np.testing.assert_array_equal(upright, near)
    # ten cells further in the model's tilt is whole
    far = width + m + tilt.TAPER_CELLS
    inside = n["nz"][far:-far, far:-far, far:-far]
    np.testing.assert_allclose(inside, np.cos(0.9), rtol=1e-6)
    assert inside.size > 0


@pytest.mark.parametrize("boundary", ["damping", "none"])
def test_without_a_pml_the_tilt_reaches_the_edge(boundary):
    prop = Propagator(tilted((30, 25), theta=-0.9), PropagationOptions(boundary=boundary), 0.001)
    np.testing.assert_allclose(prop.layout.view(prop.problem.params["nx"]), np.sin(-0.9), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(7, 11), (7, 9, 11)])
def test_parameters_of_the_step(shape, dtype):
    rng = np.random.default_rng(3)
    grid = ss.Grid(shape, (10.0,) * len(shape))
    phi = rng.uniform(-3, 3, shape) if len(shape) == 3 else None
    model = ss.EarthModel(grid, 2000.0, 0.2, 0.1, rng.uniform(0, 1.5, shape), phi)
    layout = Layout(grid.shape3, 4, len(shape))
    params = physics.tti.parameters(model, layout, 0.001, dtype)
    names = ("nx", "ny", "nz") if len(shape) == 3 else ("nx", "nz")
    assert tuple(params) == ("m", "e", "s", *names)
    n = axes_of(model.theta, model.phi)[[0, 1, 2] if len(shape) == 3 else [0, 2]]
    for name, exact in zip(names, n, strict=True):
        assert params[name].dtype == dtype
        got = layout.view(params[name]).reshape(shape)
        np.testing.assert_allclose(got, exact, atol=1.2e-7 if dtype == np.float32 else 1e-15)
        assert np.count_nonzero(params[name]) == np.count_nonzero(got)  # nothing in halo and padding
