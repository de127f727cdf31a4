"""Waves on a depth axis that follows the slowest rock: records and images of the uniform grid, exact adjoints."""

from __future__ import annotations

import math

import numpy as np
import pytest

import subsalt
from subsalt.api import WaveGrid
from subsalt.earth.grid import Box, Grid
from subsalt.earth.regrid import Regridder
from subsalt.methods.rtm.filters import laplacian
from subsalt.methods.rtm.modelling import ModellingSetup, model_shot
from subsalt.methods.rtm.operators import ModellingOperator
from subsalt.numerics.depth_axis import DEGREE, DepthAxis, is_stable
from subsalt.numerics.stencil import first_derivative, second_derivative
from thorough import each

H = 10.0
WAVELET = subsalt.ricker(12.0, 0.002)


def model(
    nx: int = 81, nz: int = 81, medium: str = "isotropic", step: float = 1.0, delta: float = 0.1
) -> subsalt.EarthModel:
    """Return a model whose velocity grows from 1500 m/s by 3 m/s per metre, with a contrast at 560 m."""
    z = np.arange(nz) * H
    vp = np.tile((1500.0 + 3.0 * z) * np.where(z > 555, step, 1.0), (nx, 1)).astype(np.float32)
    volumes = {}
    if medium != "isotropic":
        volumes = {"epsilon": np.full_like(vp, 0.2), "delta": np.full_like(vp, delta)}
    if medium == "tti":
        volumes["theta"] = np.full_like(vp, 0.5)
    return subsalt.EarthModel(Grid((nx, nz), (H, H)), vp, **volumes)


def carried(
    earth: subsalt.EarthModel, options: subsalt.PropagationOptions, axis: str, imaging: bool = False
) -> subsalt.EarthModel:
    return WaveGrid("auto", 0.01, axis).carry(earth, options, WAVELET, imaging=imaging)


def records(earth, options, survey, axis, spacing=None):
    """Return the traces of the one shot of a survey."""
    waves = WaveGrid("auto" if spacing is None else spacing, 0.01, axis)
    options = waves.options(options)
    used = waves.carry(earth, options, WAVELET, imaging=False)
    setup = ModellingSetup.build(used, WAVELET, survey.time, options, None)
    return model_shot(setup, survey.shots[0], None).traces


@pytest.fixture(scope="module")
def survey() -> subsalt.Survey:
    receivers = [[x, 80.0] for x in np.arange(150.0, 700.0, 100.0)] + [[400.0, 433.0]]
    return subsalt.Survey.from_arrays([[400.0, 63.0]], receivers, nt=350, dt=0.002)


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_records_are_as_right_as_on_the_uniform_grid_with_fewer_points(medium, survey):
    # elliptical: a source in it excites no slow wave, which no grid here carries
    earth = model(medium=medium, step=1.15, delta=0.2)
    # the taper of a tilt in front of a PML has so many cells: another medium on another grid
    sides = {"boundary": "damping", "layer": 60} if medium == "tti" else {}
    options = subsalt.PropagationOptions(source_taper=0, **sides)
    even, follows = (carried(earth, options, axis) for axis in ("uniform", "auto"))
    # below a tilted medium it goes on as far as the cells that lose their tilt are thicker
    assert follows.grid.shape[1] <= (0.85 if medium == "tti" else 0.8) * even.grid.shape[1]
    assert follows.stable_dt(options.weights) >= 1.1 * even.stable_dt(options.weights)
    # three times as many points per wavelength as are needed
    sides = {"boundary": "damping", "layer": 150} if medium == "tti" else {}
    fine = records(earth, subsalt.PropagationOptions(source_taper=0, **sides), survey, "uniform", 4.0)
    error = {
        axis: np.linalg.norm(records(earth, options, survey, axis) - fine) / np.linalg.norm(fine)
        for axis in ("uniform", "auto")
    }
    # damping, with the tilt, reflects 1 % (`Layer.reflection`)
    assert error["auto"] <= (0.02 if medium == "tti" else 0.01)
    assert error["auto"] <= 1.5 * error["uniform"] + 0.001


def test_python_has_the_axis_by_default_on_a_chosen_grid(survey):
    options = {"grid": "auto", "layer": 8}
    traces = {
        a: subsalt.forward(model(), survey, WAVELET, depth_axis=a, **options) for a in ("auto", "uniform")
    }
    default = subsalt.forward(model(), survey, WAVELET, **options)
    assert default.data.tobytes() == traces["auto"].data.tobytes() != traces["uniform"].data.tobytes()
    assert default.point_steps < traces["uniform"].point_steps
    image = {
        a: subsalt.migrate(model(), default.survey, WAVELET, **options, **named).image.tobytes()
        for a, named in (
            ("default", {}),
            ("auto", {"depth_axis": "auto"}),
            ("uniform", {"depth_axis": "uniform"}),
        )
    }
    assert image["default"] == image["auto"] != image["uniform"]


def test_the_image_is_that_of_the_uniform_grid(survey):
    true, smooth = model(step=1.15), model()
    shots = subsalt.Survey.from_arrays(
        [[x, 63.0] for x in (200.0, 400.0, 600.0)],
        [[x, 80.0] for x in np.arange(100.0, 720.0, 25.0)],
        nt=350,
        dt=0.002,
    )
    with_step, without = (subsalt.forward(m, shots, WAVELET, grid=5.0).survey for m in (true, smooth))
    for shot, direct in zip(with_step.shots, without.shots, strict=True):
        shot.data -= direct.data
    images = {
        axis: subsalt.migrate(smooth, with_step, WAVELET, grid="auto", depth_axis=axis).image[30:50, 30:]
        for axis in ("uniform", "auto")
    }
    even, follows = images["uniform"].mean(axis=0), images["auto"].mean(axis=0)
    assert abs(int(even.argmax()) - int(follows.argmax())) == 0
    assert abs(int(follows.argmax()) + 30 - 56) <= 1
    assert follows.max() == pytest.approx(even.max(), rel=0.01)
    assert np.linalg.norm(images["auto"] - images["uniform"]) <= 0.02 * np.linalg.norm(images["uniform"])


# the time reversal of each of these is exact: tests/test_depth_rows.py
@pytest.mark.parametrize(
    ("medium", "boundary", "free_surface"),
    each(["isotropic", "vti", "tti"], ["pml", "damping", "none"], [False, True]),
)
def test_modelling_and_born_have_exact_adjoints(medium, boundary, free_surface):
    options = subsalt.PropagationOptions(
        device="reference", dtype="float64", boundary=boundary, free_surface=free_surface, layer=8
    )
    used = carried(model(41, 61, medium), options, "auto", imaging=True)
    assert used.grid.depth_axis is not None
    src, rcv = [[200.0, 63.0]], [[120.0, 71.0], [306.0, 83.0], [200.0, 303.0]]
    few = subsalt.Survey.from_arrays(src, rcv, nt=32, dt=0.004)
    assert subsalt.dot_test(subsalt.rtm_operator(used, few, WAVELET, options)).error < 1e-6
    assert subsalt.dot_test(ModellingOperator(used, src, rcv, 70, options)).error < 1e-6


def test_the_axis_below_a_free_surface_is_one_on_which_no_wave_grows():
    """In layers of a tilted medium the axis that is stable without a surface is not so below one."""
    z = np.arange(161) * H
    vp = np.tile(np.select([z < 344, z < 1402], [1500.0, 2015.0], 2480.0), (11, 1)).astype(np.float32)
    volumes = {n: np.full_like(vp, value) for n, value in (("epsilon", 0.1), ("delta", 0.05), ("theta", 0.5))}
    earth = subsalt.EarthModel(Grid((11, 161), (H, H)), vp, **volumes)
    plain = subsalt.PropagationOptions(device="reference")
    below = subsalt.PropagationOptions(device="reference", free_surface=True)
    without, axis = (carried(earth, options, "auto").grid.depth_axis for options in (plain, below))
    assert is_stable(without.scale, plain.weights, True)
    assert not is_stable(without.scale, plain.weights, True, free_surface=True)
    assert is_stable(axis.scale, below.weights, True, free_surface=True)


def test_windows_and_indices_of_the_grid_say_depths():
    used = carried(model(), subsalt.PropagationOptions(device="reference"), "auto")
    grid = used.grid
    depths = grid.axis(-1)
    assert (np.diff(depths) >= grid.spacing[-1] * (1 - 1e-9)).all()
    assert depths[-1] >= 800.0
    points = np.stack([np.full(grid.shape[1], 50.0), np.zeros(grid.shape[1]), depths], axis=1)
    np.testing.assert_array_equal(grid.to_index(points)[:, 2], np.arange(grid.shape[1]))
    wider = grid.window(Box((0, 0, -5), (grid.shape[0], 1, grid.shape[1] + 7)))
    np.testing.assert_allclose(wider.axis(-1)[5:-7], depths, atol=1e-9)
    np.testing.assert_allclose(np.diff(wider.axis(-1))[:5], depths[1] - depths[0], rtol=1e-9)
    assert wider.last[-1] == wider.axis(-1)[-1]
    assert grid == carried(model(), subsalt.PropagationOptions(device="reference"), "auto").grid
    assert grid != carried(model(), subsalt.PropagationOptions(device="reference"), "uniform").grid


def test_arrays_go_to_the_axis_and_back():
    """A band-limited function of depth is what it was, at depths as good as on a uniform grid."""
    earth = model()
    grid = carried(earth, subsalt.PropagationOptions(device="reference"), "auto").grid

    def wave(z):
        return np.cos(2 * np.pi * z / 200.0)

    there = Regridder(grid, earth.grid, "mirror")
    values = np.tile(wave(grid.axis(-1)), (grid.shape[0], 1))
    back = there.carried(values, 0, 0, earth.grid.shape[0])
    inside = slice(15, 60)
    np.testing.assert_allclose(back[40, inside], wave(earth.grid.axis(-1))[inside], atol=0.01)


def linear_axis(count: int, h: float, first: float, slope: float) -> DepthAxis:
    """Return an axis with a = first + slope z, whose nodes have the closed form of `depth_of`."""
    knots = np.arange(-DEGREE, count + DEGREE + 1) * h / (first + slope * count * h)
    # a spline whose coefficients are linear in the means of the knots under them is linear itself
    means = np.mean([knots[1 + i : len(knots) - DEGREE + i] for i in range(DEGREE)], axis=0)
    return DepthAxis(0.0, count, h, knots, first + slope * means)


@pytest.mark.parametrize("order", [2, 4, 8, 12])
def test_the_laplacian_sees_depths(order):
    """Of z^2 / 2 it is 1, to what Taylor's theorem leaves of its stencils, where the axis has no knots.

    With a = 1 + slope z the node k lies at z = (s - 1) / slope, s = (1 + 2 slope h k)^(1/2). Then a = s, and z^2 / 2 is
    linear in k but for -s / slope^2: all that the weights see are derivatives of s.
    """
    count, h, slope = 61, 5.0, -1.2e-3
    axis = linear_axis(count, h, 1.0, slope)
    k, radius = np.arange(count, dtype=float), order // 2
    root = 1.0 + 2.0 * slope * h * k
    np.testing.assert_allclose(axis.depths, (np.sqrt(root) - 1.0) / slope, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(axis.scale, np.sqrt(root), rtol=1e-12)

    def slopes(n: int, at: np.ndarray) -> np.ndarray:
        """Return the size of the n-th derivative of s by k, which grows with k."""
        factors = np.prod([abs(0.5 - i) for i in range(n)])
        return factors * abs(2.0 * slope * h) ** n * (1.0 + 2.0 * slope * h * at) ** (0.5 - n)

    def left(weights: np.ndarray, n: int) -> np.ndarray:
        """Return what the remainder of a sum over both sides is at most, the first n - 1 derivatives being right."""
        reach = np.arange(1, radius + 1, dtype=float)
        sums = 2.0 * (np.abs(weights) * reach**n).sum() / math.factorial(n)
        return sums * slopes(n, np.minimum(k + radius, count - 1))

    first = left(np.array(first_derivative(order)), order + 1)
    second = left(np.array(second_derivative(order)[1:]), order + 2)
    a = np.sqrt(root)
    z = (a - 1.0) / slope
    # f_zz h^2 = a^2 D2 f + a D1 a D1 f; the derivatives of f and of a are off by so much
    slope_of_f, slope_of_a = np.abs(z * h / a), np.abs(slope * h / a)
    off_f = first / slope**2
    bound = a**2 * second / slope**2 + a * (slope_of_a * off_f + slope_of_f * first + first * off_f)
    rounding = 64 * order * np.finfo(float).eps * (z.max() / h) ** 2
    grid = Grid((5, count), (h, h), (0.0, 0.0), axis)
    curvature = laplacian(np.broadcast_to(0.5 * axis.depths**2, (5, 1, count)), grid, order)[2, 0]
    inside = slice(radius, count - radius)
    off = np.abs(curvature - 1.0)[inside]
    assert (off <= (bound / h**2 + rounding)[inside]).all()
    # without the slope of a, or with that of another axis, it would be off by this
    assert (np.abs(slope * z / a)[inside][-1]) > 100 * (bound / h**2)[inside].max()


def test_the_axis_follows_the_rock_unless_it_is_asked_not_to_or_velocity_does_not_grow():
    options = subsalt.PropagationOptions(device="reference")
    assert WaveGrid("auto").carry(model(), options, WAVELET, imaging=False).grid.depth_axis is not None
    for spacing in ("model", 12.0):
        assert WaveGrid(spacing).carry(model(), options, WAVELET, imaging=False).grid.depth_axis is None
    assert carried(model(), options, "uniform").grid.depth_axis is None
    flat = subsalt.EarthModel(Grid((81, 81), (H, H)), np.full((81, 81), 2000.0, np.float32))
    assert carried(flat, options, "auto").grid.depth_axis is None
    with pytest.raises(subsalt.errors.ConfigError, match="depth_axis"):
        WaveGrid("auto", 0.01, "stretched")
