"""Weights fitted to the waveform: what they keep exactly, and waveforms after 40 wavelengths on the grids promised."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from physics_tools import DEVICE, misfit, padded

from subsalt import EarthModel, Grid, PropagationOptions, Survey, analytic, forward, ricker
from subsalt.errors import ConfigError
from subsalt.numerics.stencil import FITTED_ORDERS, ORDERS, Stencil, _fitted
from subsalt.physics import slow_mode
from thorough import ALL, each, some, thorough

F0, VP, DT = 20.0, 2000.0, 0.002
#: shortest wavelength, of fmax = 2.5 f0, and the distance over which the waveform is promised to stay right
SHORTEST = VP / (2.5 * F0)
FAR = 40 * SHORTEST
ANGLES = np.deg2rad([0.0, 22.5, 45.0, 67.5])
OFFSETS = FAR * np.stack([np.sin(ANGLES), np.cos(ANGLES)], axis=1)


@pytest.mark.parametrize("tilted", [False, True])
@pytest.mark.parametrize("order", FITTED_ORDERS)
def test_long_waves_and_stability_are_exact(order, tilted):
    row = _fitted()[tilted, order]
    c, d = [Fraction(text) for text in row["second"]], [Fraction(text) for text in row["first"]]
    assert len(c) == len(d) == order // 2
    assert sum(k * k * ck for k, ck in enumerate(c, 1)) == 1
    assert sum(2 * k * dk for k, dk in enumerate(d, 1)) == 1
    weights = Stencil(order, "fitted")
    second, first = weights.second(tilted), weights.first(tilted)
    assert second == (float(-2 * sum(c)), *map(float, c))
    assert first == tuple(map(float, d))
    # any wavenumber, long ones too: 1 - cos would cancel there
    k = np.sort(np.random.default_rng(order).uniform(0.001, np.pi, 20_000))
    k2 = sum(4 * ck * np.sin(j * k / 2) ** 2 for j, ck in enumerate(second[1:], 1))
    k1 = sum(2 * dk * np.sin(j * k) for j, dk in enumerate(first, 1))
    assert np.all(k2 >= k1**2)
    assert np.all(np.diff(k2) > 0)
    assert weights.nyquist(tilted) == pytest.approx(4 * sum(second[1::2]), rel=1e-12)
    assert 0 < weights.tilt_share() < 1


def test_order_two_has_none():
    for make in (lambda: Stencil(2, "fitted"), lambda: PropagationOptions(order=2, stencil="fitted")):
        with pytest.raises(ConfigError, match="no weights of order 2") as caught:
            make()
        assert "taylor" in caught.value.fix


#: epsilon, delta and tilt in degrees: with epsilon = delta, media without a slow mode
MEDIA = {"isotropic": (0.0, 0.0, 0.0), "vti": (0.2, 0.2, 0.0), "tti": (0.2, 0.2, 30.0)}


def waveforms(medium, stencil, order, points):
    """Return modelled and exact traces after 40 shortest wavelengths at 0, 22.5, 45 and 67.5 degrees."""
    epsilon, delta, tilt = medium
    h = SHORTEST / points
    # a closed box whose echoes, sqrt(FAR^2 + 4 far^2) long, come after the record
    fast = np.sqrt(1 + 2 * epsilon)
    far = 0.5 * np.sqrt((fast * (FAR + 2.4 / F0 * VP)) ** 2 - FAR**2)
    grid = Grid((int((FAR + 2 * far) / h) + 2,) * 2, (h, h))
    volumes = {"epsilon": epsilon, "delta": delta} if epsilon else {}
    if tilt:
        volumes["theta"] = np.deg2rad(tilt)
    model = EarthModel(grid, VP, **volumes)
    nt = round((FAR / VP + 2.4 / F0) / DT)
    survey = Survey.from_arrays(
        [(far, far + 0.3 * h)], OFFSETS + np.array([far, far + 0.3 * h]), nt=nt, dt=DT
    )
    options = {"stencil": stencil, "order": order, "boundary": "none", "source_taper": None}
    got = forward(model, survey, ricker(F0, DT / 4), device=DEVICE, **options).data[0]
    return got, exact_waveforms(medium, nt)


@cache
def exact_waveforms(medium, nt):
    """Return the exact traces, which take as long as a modelling, and are the same on all grids and by all weights."""
    epsilon, delta, tilt = medium
    wavelet = padded(ricker(F0, DT / 4).samples, 4 * nt)
    return analytic.vti_waveform(
        OFFSETS, VP, epsilon, delta, wavelet, DT / 4, 4 * nt, theta=np.deg2rad(tilt)
    )[:, ::4]


def errors(medium, stencil, order, points):
    """Return the misfit of the four traces."""
    return [misfit(g, e) for g, e in zip(*waveforms(medium, stencil, order, points), strict=True)]


@pytest.mark.parametrize(("order", "name"), each(some(FITTED_ORDERS, 3), list(MEDIA)))
def test_waveforms_after_forty_wavelengths(order, name):
    medium, points = MEDIA[name], Stencil(order, "fitted").points(tilted=name == "tti")
    assert max(errors(medium, "fitted", order, points)) < 0.01
    if name == "tti" or (name == "vti" and not ALL):
        # of many tilts and media, in which Taylor weights are far worse than in this one; upright ones are alike
        return
    # the same grid with the weights that it was not made for
    assert max(errors(medium, "taylor", order, points)) > 0.01


#: epsilon and delta of the media that tilted weights are fitted to, and between them
TILTED = ((0.0, 0.0), (0.1, 0.1), (0.25, 0.1), (0.2, 0.2), (0.25, 0.2), (0.3, 0.0), (0.1, -0.1))


def directions(rng):
    """Return unit vectors: along the axes, the diagonals of a face and of the cube, and 40 at random, (n, 3)."""
    drawn = np.concatenate(
        [np.eye(3), [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]], rng.normal(size=(40, 3))]
    )
    return drawn / np.linalg.norm(drawn, axis=1)[:, None]


def p_frequency(across, along, epsilon, delta):
    """Return the frequency of P over v, of minus the two parts of the Laplacian."""
    t = (1 + 2 * epsilon) * across + along
    return np.sqrt((t + np.sqrt(np.maximum(t * t - 8 * (epsilon - delta) * across * along, 0))) / 2)


def worst_of_all_directions(order, epsilon, delta):
    """Return the error of P waves after 40 wavelengths, on the grid that is promised, in the worst direction."""
    # plane waves of the operator that the kernels apply (test_tilted_operator)
    stencil, rng = Stencil(order, "fitted"), np.random.default_rng(order)
    c, d, share = stencil.second(tilted=True), stencil.first(tilted=True), stencil.tilt_share()
    x = np.linspace(0.02, 1.0, 40)  # of the highest frequency, 2.5 times that of a Ricker wavelet
    power = ((2.5 * x) ** 2 * np.exp(-((2.5 * x) ** 2))) ** 2
    slowest = np.sqrt(1 + 2 * min(0.0, delta))
    omega = x * 2 * np.pi / stencil.points(tilted=True) * slowest
    variants, worst = directions(rng), 0.0
    for axis in directions(rng):
        cos2 = (variants @ axis) ** 2
        speed = p_frequency(1 - cos2, cos2, epsilon, delta)
        k = omega[:, None] / speed[:, None, None] * variants[:, None, :]
        k2 = sum(4 * w * np.sin(j * k / 2) ** 2 for j, w in enumerate(c[1:], 1))
        k1 = sum(2 * w * np.sin(j * k) for j, w in enumerate(d, 1))
        v = (k1 @ axis) ** 2 + share * (k2 - k1**2).sum(axis=-1)
        frequency = p_frequency(k2.sum(axis=-1) - v, v, epsilon, delta)
        # 40 of the shortest wavelengths away
        phase = 2 * np.pi * 40 * x * (slowest / speed)[:, None] * (frequency / omega - 1)
        misfits = np.sqrt((power * (2 * np.sin(phase / 2)) ** 2).sum(axis=1) / power.sum())
        worst = max(worst, float(misfits.max()))
    return worst


@pytest.mark.parametrize(("order", "medium"), each(FITTED_ORDERS, TILTED), ids=str)
def test_p_waves_of_tilted_media_in_all_directions(order, medium):
    assert worst_of_all_directions(order, *medium) <= 0.01


def test_p_waves_beyond_the_media_of_the_fit():
    # what docs/theory/rtm.md says of epsilon = delta = 0.3
    worst = max(worst_of_all_directions(order, 0.3, 0.3) for order in FITTED_ORDERS)
    assert worst == pytest.approx(0.013, abs=5e-4)


@pytest.mark.parametrize(("order", "behind"), [(8, True), (16, False)])
def test_slow_waves_that_are_fast_enough_come_with_p(order, behind):
    # the P wave alone is right with either order; the source emits the slow mode too
    stencil = Stencil(order, "fitted")
    assert (slow_mode.speed(stencil, 0.25, 0.1) < slow_mode.BEHIND) == behind
    assert (max(errors((0.25, 0.1, 45.0), "fitted", order, stencil.points(tilted=True))) < 0.01) == behind


def test_what_the_slow_mode_adds_in_two_dimensions():
    # docs/theory/rtm.md, at the lower end of what the place of the source makes of it. P alone is within 0.01, and both
    # squares add up: sqrt(0.033^2 +- 0.01^2)
    worst = max(errors((0.25, 0.1, 30.0), "fitted", 16, Stencil(16, "fitted").points(tilted=True)))
    assert worst == pytest.approx(0.033, abs=0.002)


@thorough  # in 2-D, far away: the tests above
def test_slow_waves_come_with_p_near_a_source():
    """3-D, order 8, 7.5 wavelengths away along x, y and z: within the reach of slow waves."""
    epsilon, delta, tilt, stencil = 0.25, 0.1, np.deg2rad(30.0), Stencil(8, "fitted")
    assert slow_mode.reach(slow_mode.speed(stencil, epsilon, delta)) > 7.5
    h, r, tail = SHORTEST / stencil.points(tilted=True), 7.5 * SHORTEST, 2.4 / F0
    # a closed box whose echoes come after the record
    far = 0.5 * np.sqrt((np.sqrt(1 + 2 * epsilon) * (r + tail * VP)) ** 2 - r**2)
    grid = Grid((int((r + 2 * far) / h) + 2,) * 3, (h,) * 3)
    model = EarthModel(grid, VP, epsilon=epsilon, delta=delta, theta=tilt, phi=0.0)
    offsets, nt = r * np.eye(3), round((r / VP + tail) / DT)
    survey = Survey.from_arrays([(far,) * 3], far + offsets, nt=nt, dt=DT)
    got = forward(
        model, survey, ricker(F0, DT / 4), boundary="none", source_taper=None, grid="model", device=DEVICE
    ).data[0]
    wavelet = padded(ricker(F0, DT / 4).samples, 4 * nt)
    exact = analytic.vti_waveform(offsets, VP, epsilon, delta, wavelet, DT / 4, 4 * nt, theta=tilt)[:, ::4]
    misfits = [misfit(g, e) for g, e in zip(got, exact, strict=True)]
    # P alone: 7.5 of 40 wavelengths, and the near field of the exact solution
    assert misfits == pytest.approx([0.16, 0.11, 0.02], abs=0.01)


def test_reach_of_slow_waves():
    """The first of them, at L / s, comes when the P wavelet, L + 6 wavelengths, has passed."""
    for s in (0.4, 0.59, 0.71, 40 / 46):
        reach = slow_mode.reach(s)
        assert reach / s == pytest.approx(reach + slow_mode.WAVELET)
    assert slow_mode.reach(slow_mode.BEHIND) == pytest.approx(40)
    assert slow_mode.reach(slow_mode.BEHIND_NEAR) == pytest.approx(slow_mode.WAVELET)
    assert slow_mode.reach(1.0) == slow_mode.reach(2.0) == np.inf


@pytest.mark.parametrize("order", some(ORDERS, 2))
def test_speed_of_slow_waves_by_differences_of_their_frequency(order):
    stencil, epsilon, delta, step = Stencil(order), 0.25, 0.05, 1e-4
    c, d = stencil.second(tilted=True), stencil.first(tilted=True)

    def frequency(n, k):
        k2 = [-(c[0] + 2 * sum(w * np.cos(j * a) for j, w in enumerate(c[1:], 1))) for a in k]
        k1 = [2 * sum(w * np.sin(j * a) for j, w in enumerate(d, 1)) for a in k]
        along = sum(a * b for a, b in zip(n, k1, strict=True)) ** 2
        along = along + stencil.tilt_share() * sum(b - a * a for a, b in zip(k1, k2, strict=True))
        # the roots of the two equations for one wavenumber
        s, both = np.sqrt(1 + 2 * delta), np.zeros((*along.shape, 2, 2))
        both[..., 0, 0], both[..., 0, 1] = (1 + 2 * epsilon) * (sum(k2) - along), s * along
        both[..., 1, 0], both[..., 1, 1] = s * (sum(k2) - along), along
        return np.sqrt(np.abs(np.linalg.eigvals(both).real.min(axis=-1)))

    line = np.pi * (2 * np.arange(slow_mode.WAVENUMBERS) + 1) / slow_mode.WAVENUMBERS
    k = np.meshgrid(line[: len(line) // 2], line, line, indexing="ij")
    fastest, fmax = 0.0, 2 * np.pi / stencil.points(tilted=True)
    for axis in slow_mode.AXES[:2]:
        n = np.array(axis) / np.linalg.norm(axis)
        w = frequency(n, k)
        in_band = (w > slow_mode.LOWEST * fmax) & (w < fmax)
        squares = 0.0
        for i in range(3):
            ahead, behind = ([a[in_band] + s * (j == i) for j, a in enumerate(k)] for s in (step, -step))
            squares = squares + ((frequency(n, ahead) - frequency(n, behind)) / (2 * step)) ** 2
        fastest = max(fastest, np.sqrt(squares.max()))
    # central differences are off by step^2, their rounding by 1e-15 / step
    assert slow_mode.speed(stencil, epsilon, delta) == pytest.approx(fastest, rel=1e-5)
