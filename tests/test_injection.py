from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, special

from subsalt.acquisition.injection import (
    COARSE,
    COARSEST,
    HICKS,
    Points,
    Window,
    sinc_points,
    support_reach,
    window_of,
)
from subsalt.errors import ConfigError, GeometryError
from subsalt.numerics.stencil import Stencil

SHAPE = (24, 20, 22)


def dense(points: Points, shape) -> np.ndarray:
    """Return the weights of every point on the whole grid, (n, nx, ny, nz)."""
    out = np.zeros((len(points), *shape))
    for i in range(len(points)):
        wx, wy, wz = points.weights[i].astype(np.float64)
        for jx, jy, jz in np.argwhere((wx[:, None, None] * wy[None, :, None] * wz[None, None, :]) != 0):
            node = points.base[i] + (jx, jy, jz)
            out[(i, *node)] += wx[jx] * wy[jy] * wz[jz]
    return out


def hicks(t, window=HICKS):
    radius, b = window.radius, window.b
    t = np.asarray(t, dtype=float)
    inside = np.maximum(0, 1 - (t / radius) ** 2)
    w = np.sinc(t) * special.i0(b * np.sqrt(inside)) / special.i0(b)
    return np.where(np.abs(t) < radius, w, 0)


def test_weights_follow_the_formula():
    index = np.array([[10.3, 9.8, 11.5]])
    got = dense(sinc_points(SHAPE, index, 3), SHAPE)[0]
    axes = [hicks(np.arange(n) - x) for n, x in zip(SHAPE, index[0], strict=True)]
    want = axes[0][:, None, None] * axes[1][None, :, None] * axes[2][None, None, :]
    # three weights rounded to float32, each at most one
    np.testing.assert_allclose(got, want, atol=3 * 2**-24)


@pytest.mark.parametrize("shift", [0.0, 3e-7, -8e-7])
def test_a_node_is_a_unit_spike(shift):
    index = np.array([[0.0, 19.0, 7.0]]) + shift
    points = sinc_points(SHAPE, index, 3)
    got = dense(points, SHAPE)[0]
    assert got[0, 19, 7] == 1.0
    assert np.count_nonzero(got) == 1
    assert (points.base >= 0).all()
    assert (points.base + points.width <= SHAPE).all()


def test_mixed_axes():
    points = sinc_points(SHAPE, [[4.5, 19.0, 3.25]], 3)
    got = dense(points, SHAPE)[0]
    assert got[:, 19, :].any()
    assert not got[:, :19, :].any()
    assert points.box.lo == (1, 19, 0)
    assert points.box.hi == (9, 20, 8)


def test_two_dimensions():
    points = sinc_points((24, 1, 22), [[10.3, 123.0, 11.0]], 2)
    np.testing.assert_array_equal(points.base[:, 1], 0)
    np.testing.assert_array_equal(points.weights[0, 1], [1, 0, 0, 0, 0, 0, 0, 0])
    assert points.box.shape == (8, 1, 1)


def worst_error(b, radius):
    """Return the largest error of sampling exp(i k x), over positions between nodes and k up to half of Nyquist."""
    k = np.linspace(0, np.pi / 2, 60)
    t = np.arange(1 - radius, radius + 1) - np.linspace(0, 1, 21)[1:-1, None]
    window = special.i0(b * np.sqrt(np.maximum(0, 1 - (t / radius) ** 2))) / special.i0(b)
    sampled = np.einsum("xj,xjk->xk", np.sinc(t) * window, np.exp(1j * t[:, :, None] * k))
    return np.abs(sampled - 1).max()


def ricker_error(b, radius, points):
    """Return the error of a Ricker wavelet, relative L2, at the position between nodes where it is largest."""
    x = np.linspace(0.02, 1.0, 50)  # of 2.5 peak frequencies
    power = ((2.5 * x) ** 2 * np.exp(-((2.5 * x) ** 2))) ** 2
    t = np.arange(1 - radius, radius + 1) - np.linspace(0, 1, 21)[1:-1, None]
    window = special.i0(b * np.sqrt(np.maximum(0, 1 - (t / radius) ** 2))) / special.i0(b)
    waves = np.exp(1j * t[:, :, None] * 2 * np.pi * x / points)
    error = np.abs(np.einsum("xj,xjk->xk", np.sinc(t) * window, waves) - 1) ** 2
    return math.sqrt((error @ power).max() / power.sum())


def best_b(error, *args):
    """Return the shape parameter of the least error."""
    b = np.arange(3.0, 12.0, 0.5)
    near = b[np.argmin([error(v, *args) for v in b])]
    around = (near - 0.5, near + 0.5)
    return optimize.minimize_scalar(
        error, args=args, bounds=around, method="bounded", options={"xatol": 1e-3}
    ).x


def test_the_usual_window_is_the_one_that_errs_least_up_to_half_of_nyquist():
    """Hicks (2002) chooses b by the least largest error; his table has two decimals."""
    assert HICKS.b == pytest.approx(best_b(worst_error, HICKS.radius), abs=0.01)


@pytest.mark.parametrize(("order", "window"), [(12, COARSE), (16, COARSEST)])
def test_other_windows_are_those_that_err_least_on_the_coarsest_grids(order, window):
    weights = Stencil(order, "fitted")
    assert window_of(weights) == window
    assert window.b == pytest.approx(best_b(ricker_error, window.radius, weights.points()), abs=0.01)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("order", [4, 6, 8, 10, 12, 14, 16])
def test_windows_leave_the_accuracy_to_the_weights_on_the_coarsest_grids(order, tilted):
    """The weights promise 1 %, of which a share of 1 / 4 per axis leaves 0.8 % when source and receiver lie between the
    nodes of all three axes: sqrt(1 - 6 / 16).
    """
    weights = Stencil(order, "fitted")
    window = window_of(weights)
    assert ricker_error(window.b, window.radius, weights.points(tilted)) < 0.01 / 4
    assert window_of(Stencil(order, "taylor")) == HICKS


def test_sampling_a_smooth_field():
    # wavenumbers up to half of Nyquist: the error of the window of radius 4 is a few 1e-4 there (Hicks,
    # figure 3)
    rng = np.random.default_rng(3)
    index = rng.uniform(5, 15, (20, 3))
    points = dense(sinc_points(SHAPE, index, 3), SHAPE)
    x, y, z = np.meshgrid(*(np.arange(n) for n in SHAPE), indexing="ij")
    for k in (0.2, 0.8, 1.5):
        field = np.cos(k * x + 0.3) * np.cos(0.7 * k * y - 0.2) * np.cos(0.5 * k * z)
        px, py, pz = index.T
        want = np.cos(k * px + 0.3) * np.cos(0.7 * k * py - 0.2) * np.cos(0.5 * k * pz)
        got = (points * field).sum(axis=(1, 2, 3))
        np.testing.assert_allclose(got, want, atol=3e-3)


def test_free_surface_folds_with_the_opposite_sign():
    depth = np.array([0.0, 0.4, 1.0, 1.7, 3.5, 9.0])
    index = np.column_stack([np.full(6, 10.0), np.full(6, 10.0), depth])
    got = dense(sinc_points(SHAPE, index, 3, free_surface_row=0), SHAPE)[:, 10, 10, :]
    for i, z in enumerate(depth):
        nodes = np.arange(-8, SHAPE[2])
        w = hicks(nodes - z) if z % 1 else (nodes == z).astype(float)
        want = w[8:].copy()
        for k in range(1, 8):
            want[k] -= w[8 - k]
        want[0] = 0.0
        np.testing.assert_allclose(got[i], want, atol=2**-23)


def test_free_surface_samples_an_odd_field_exactly_as_a_whole_one():
    z = np.array([0.3, 1.5, 2.6])
    index = np.column_stack([np.full(3, 10.0), np.full(3, 10.0), z])
    weights = dense(sinc_points(SHAPE, index, 3, free_surface_row=0), SHAPE)[:, 10, 10, :]
    field = np.sin(0.5 * np.arange(SHAPE[2]))
    np.testing.assert_allclose(weights @ field, np.sin(0.5 * z), atol=1e-3)


def test_points_on_the_surface_are_silent():
    points = sinc_points(SHAPE, [[10.0, 10.0, 0.0], [10.5, 10.0, 0.5]], 3, free_surface_row=0)
    np.testing.assert_array_equal(points.silent, [True, False])


def test_free_surface_on_a_deeper_row():
    points = sinc_points(SHAPE, [[10.0, 10.0, 5.5]], 3, free_surface_row=5)
    top = sinc_points(SHAPE, [[10.0, 10.0, 0.5]], 3, free_surface_row=0)
    assert points.base[0, 2] == 5
    np.testing.assert_array_equal(points.weights, top.weights)


def test_points_that_leave_the_grid_are_named():
    index = np.array([[10.5, 10.0, 10.0], [2.5, 10.0, 10.0], [10.0, 10.0, 10.0]])
    with pytest.raises(
        GeometryError, match=r"1 of 3 receivers .* along x, first receiver 1 at index 2.5"
    ) as caught:
        sinc_points(SHAPE, index, 3, name="receiver")
    assert caught.value.code == "E310"
    with pytest.raises(GeometryError, match="along z"):
        sinc_points(SHAPE, [[10.0, 10.0, 18.5]], 3)
    sinc_points(SHAPE, [[3.5, 10.0, 17.5]], 3)
    with pytest.raises(GeometryError):
        sinc_points(SHAPE, [[10.0, 10.0, 22.0]], 3)


def test_other_wrong_points():
    with pytest.raises(GeometryError, match="above the free surface"):
        sinc_points(SHAPE, [[10.0, 10.0, -0.5]], 3, free_surface_row=0)
    with pytest.raises(GeometryError, match="not finite"):
        sinc_points(SHAPE, [[10.0, np.nan, 3.0]], 3)
    with pytest.raises(GeometryError, match="7 points along x"):
        sinc_points((7, 20, 20), [[3.0, 10.0, 10.0]], 3)
    with pytest.raises(ConfigError, match="radius"):
        sinc_points(SHAPE, [[3.0, 10.0, 10.0]], 3, Window(9, 6.31))


def test_other_radii():
    points = sinc_points(SHAPE, [[10.3, 9.6, 11.5]], 3, COARSEST)
    assert points.weights.shape == (1, 3, 12)
    np.testing.assert_allclose(points.weights[0, 0], hicks(np.arange(5, 17) - 10.3, COARSEST), atol=2**-24)


def test_reach():
    low, high = support_reach([[10.0, 10.5, 3.0], [2.2, 0.0, 5.0000001]], 3)
    np.testing.assert_array_equal(low, [[0, 4, 0], [4, 0, 0]])
    np.testing.assert_array_equal(high, low)
    assert not support_reach([[1.0, 0.5, 1.0]], 2)[0].any()


def test_some_and_no_points():
    points = sinc_points(SHAPE, np.random.default_rng(0).uniform(4, 15, (5, 3)), 3)
    np.testing.assert_array_equal(points[1:3].base, points.base[1:3])
    assert points[1:3].weights.flags.c_contiguous
    none = sinc_points(SHAPE, np.zeros((0, 3)), 3)
    assert len(none) == 0
    assert none.box.size == 0


@pytest.mark.parametrize(
    ("order", "shape", "error"),
    [(8, None, 6e-4), (12, None, 2.1e-3), (16, None, 1.1e-3), (12, 6.31, 4e-3), (16, 6.31, 1e-2)],
)
def test_a_ricker_wavelet_between_nodes_is_right_to_what_the_page_says(order, shape, error):
    """Of one axis, relative L2 at the worst place in a cell, on the coarsest grid of fitted weights (theory/rtm.md)."""
    stencil = Stencil(order, "fitted")
    window = window_of(stencil) if shape is None else Window(4, shape)
    x = np.linspace(0.005, 1.0, 200)  # of the highest frequency, 2.5 times the peak
    power = ((2.5 * x) ** 2 * np.exp(-((2.5 * x) ** 2))) ** 2
    k = 2 * np.pi * x / stencil.points()
    worst = 0.0
    for place in np.linspace(0, 1, 21):
        t = np.arange(1 - window.radius, window.radius + 1) - place
        bell = np.i0(window.b * np.sqrt(np.maximum(1 - (t / window.radius) ** 2, 0))) / np.i0(window.b)
        off = np.abs(((np.sinc(t) * bell)[:, None] * np.exp(1j * k * t[:, None])).sum(axis=0) - 1)
        worst = max(worst, np.sqrt((power * off**2).sum() / power.sum()))
    # as the page rounds it
    assert worst == pytest.approx(error, rel=0.05)
