"""Modelled traces against exact waveforms and traveltimes of uniform and two-layer media (A4 to A8)."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import DEVICE, best_shift, misfit, padded

from subsalt import EarthModel, Grid, Survey, analytic, forward, ricker
from thorough import some

F0, VP = 20.0, 2000.0
WAVELENGTH = VP / F0
E, D = 0.25, 0.1
#: every record has this interval; the exact solutions are computed four times finer, from samples of the
# wavelet
DT = 0.002


def exact_traces(solution, nt):
    """Return ``solution(wavelet, dt, nt)`` at every fourth sample."""
    wavelet = padded(ricker(F0, DT / 4).samples, 4 * nt)
    return solution(wavelet, DT / 4, 4 * nt)[:, ::4]


def modelled(h, sides, src, offsets, nt, epsilon=None, delta=None, **options):
    """Return traces of a uniform model of `sides` metres with spacing h."""
    grid = Grid(tuple(round(side / h) + 1 for side in sides), (h,) * len(sides))
    model = EarthModel(grid, VP, epsilon, delta)
    survey = Survey.from_arrays([src], np.asarray(src) + offsets, nt=nt, dt=DT)
    return forward(model, survey, ricker(F0, DT / 4), source_taper=None, device=DEVICE, **options).data[0]


@pytest.mark.parametrize(("points", "tolerance"), [(10, 0.02), (20, 0.003)])
def test_a4_isotropic_waveforms_2d(points, tolerance):
    # 8 wavelengths in three directions, nothing on a node; record 2 / f0 longer than the arrival
    angle = np.deg2rad([3.0, 40.0, 84.0])
    offsets = 8 * WAVELENGTH * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    nt = 290
    got = modelled(WAVELENGTH / points, (1010.0, 1010.0), (101.3, 102.7), offsets, nt, stencil="taylor")
    exact = exact_traces(lambda w, dt, n: analytic.isotropic_waveform(offsets, VP, w, dt, n), nt)
    for g, e in zip(got, exact, strict=True):
        assert misfit(g, e) < tolerance


@pytest.mark.parametrize(("points", "tolerance"), some([(10, 0.02), (20, 0.003)], 1))
def test_a4_isotropic_waveforms_3d(points, tolerance):
    way = np.array([0.88, 0.36, 0.31])
    offsets = 8 * WAVELENGTH * way[None, :] / np.sqrt((way**2).sum())
    nt = 290
    sides = np.abs(offsets[0]) + 130.0
    got = modelled(WAVELENGTH / points, sides, (61.3, 62.7, 64.1), offsets, nt)
    exact = exact_traces(lambda w, dt, n: analytic.isotropic_waveform(offsets, VP, w, dt, n), nt)
    assert misfit(got[0], exact[0]) < tolerance


@pytest.mark.parametrize("ndim", [2, 3])
def test_a5_vti_waveforms(ndim):
    # 20 points per wavelength at f0 along the slow axis; the window holds the P wave, 1.2 / f0 around its
    # arrival in 3-D the slow mode is focused towards the axis: within 10 degrees of it, its near field, which
    # is part of the solution but not of the P wave, still adds 2 % at 3 wavelengths
    angle = np.deg2rad([0.0 if ndim == 2 else 15.0, 20.0, 40.0, 60.0, 75.0, 90.0])
    r = 4.5 * WAVELENGTH if ndim == 2 else 3 * WAVELENGTH
    offsets = r * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    sides = (r + 130.0,) * 2
    if ndim == 3:
        azimuth = np.deg2rad([0.0, 10.0, 30.0, 20.0, 0.0, 15.0])
        x = offsets[:, 0]
        offsets = np.stack([x * np.cos(azimuth), x * np.sin(azimuth), offsets[:, 1]], axis=1)
        sides = (r + 120.0, np.abs(offsets[:, 1]).max() + 120.0, r + 120.0)
    nt = round((r / VP + 3.6 / F0) / DT)
    got = modelled(WAVELENGTH / 20, sides, (61.3, 62.7, 64.1)[:ndim], offsets, nt, E, D)
    exact = exact_traces(lambda w, dt, n: analytic.vti_waveform(offsets, VP, E, D, w, dt, n), nt)
    arrival = analytic.traveltime(offsets, VP, E, D) + 1.5 / F0
    time = np.arange(nt) * DT
    for g, e, t in zip(got, exact, arrival, strict=True):
        window = np.abs(time - t) < 1.2 / F0
        assert misfit(g[window], e[window]) < 0.01


@pytest.mark.parametrize("ndim", some([2, 3], 1))  # in 3-D: A6, whose axis is tilted
@pytest.mark.parametrize("epsilon", [0.2, -0.1])
def test_elliptical_waveforms(ndim, epsilon):
    # the upright case of A6: epsilon = delta, where a closed form holds and the slow mode is not excited
    angle = np.deg2rad([0.0, 35.0, 65.0, 90.0])
    r = 4 * WAVELENGTH
    across = np.sin(angle)
    plane = [across] if ndim == 2 else [across * np.cos(0.4), across * np.sin(0.4)]
    offsets = r * np.stack([*plane, np.cos(angle)], axis=1)
    nt = round((r / (VP * min(1, np.sqrt(1 + 2 * epsilon))) + 3.6 / F0) / DT)
    sides = np.abs(offsets).max(axis=0) + 130.0
    got = modelled(WAVELENGTH / 16, sides, (61.3, 62.7, 64.1)[:ndim], offsets, nt, epsilon, epsilon)
    exact = exact_traces(lambda w, dt, n: analytic.elliptical_waveform(offsets, VP, epsilon, w, dt, n), nt)
    for g, e in zip(got, exact, strict=True):
        assert misfit(g, e) < 0.01


def test_source_taper_removes_the_slow_mode():
    # what follows the P wave is the slow mode; the taper must take nine tenths of it, and delay P by less than
    # 2 ms across the axis: what a medium made elliptical over 6 cells of 10 m costs
    offsets = np.array([[300.0, 0.0], [0.0, 300.0]])
    nt, h = 260, 10.0
    grid = Grid((101, 101), (h, h))
    model = EarthModel(grid, VP, E, D)
    survey = Survey.from_arrays([[350.0, 350.0]], 350.0 + offsets, nt=nt, dt=DT)
    plain, tapered = (
        forward(model, survey, ricker(F0, DT / 4), source_taper=taper, device=DEVICE).data[0]
        for taper in (None, 6.0)
    )
    arrival = analytic.traveltime(offsets, VP, E, D) + 1.5 / F0
    time = np.arange(nt) * DT
    for a, b, t in zip(plain, tapered, arrival, strict=True):
        first, later = np.abs(time - t) < 1.2 / F0, time > t + 1.5 / F0
        assert np.abs(a[later]).max() > 0.02 * np.abs(a).max()
        assert np.abs(b[later]).max() < 0.1 * np.abs(a[later]).max()
        assert abs(best_shift(b * first, a * first, DT)) < 0.002


@pytest.mark.parametrize(("epsilon", "delta"), [(None, None), (E, D), (0.2, -0.1)])
def test_a7_traveltimes(epsilon, delta):
    # 8 wavelengths from the vertical to the horizontal. The pick is the shift that fits best an isotropic
    # waveform at the distance vp t: the same pulse, but for near-field terms of some 1 / (k r)^2
    angle = np.deg2rad(np.arange(0.0, 91.0, 10.0))
    offsets = 8 * WAVELENGTH * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    nt = 290
    got = modelled(WAVELENGTH / 16, (930.0, 930.0), (62.3, 63.7), offsets, nt, epsilon, delta)
    times = analytic.traveltime(offsets, VP, epsilon or 0.0, delta or 0.0)
    pulse = exact_traces(
        lambda w, dt, n: analytic.isotropic_waveform(np.stack([VP * times, 0 * times], axis=1), VP, w, dt, n),
        nt,
    )
    start = np.arange(nt) * DT
    for g, p, t in zip(got, pulse, times, strict=True):
        window = np.abs(start - t - 1.5 / F0) < 1.2 / F0
        assert abs(best_shift(g * window, p * window, DT)) < max(0.002 * t, DT / 2)


def tilted(h, far, offsets, nt, *medium, **options):
    """Return traces of a uniform tilted model, source and receivers `far` metres or more from its edges.

    A closed edge and the taper in front of a PML send waves back, which must come after the record.
    """
    low = far - np.minimum(offsets.min(axis=0), 0.0) + 1.3
    sides = low + np.maximum(offsets.max(axis=0), 0.0) + far
    grid = Grid(tuple(round(side / h) + 1 for side in sides), (h,) * len(sides))
    survey = Survey.from_arrays([low], low + offsets, nt=nt, dt=DT)
    return forward(
        EarthModel(grid, VP, *medium), survey, ricker(F0, DT / 4), source_taper=None, device=DEVICE, **options
    ).data[0]


@pytest.mark.parametrize(
    ("ndim", "theta", "phi"), some([(2, 0.6, 0.0), (2, -1.2, 0.0), (3, 0.8, 0.0), (3, 0.5, 2.2)], 2)
)
def test_a6_elliptical_tilted_waveforms(ndim, theta, phi):
    # epsilon = delta = 0.2: the closed form along the axis, across it, and between
    epsilon, r, points = 0.2, *((4 * WAVELENGTH, 20) if ndim == 2 else (1.5 * WAVELENGTH, 16))
    angle = np.deg2rad([0.0, 35.0, 65.0, 90.0])
    if ndim == 2:
        offsets = r * np.stack([np.sin(angle + theta), np.cos(angle + theta)], axis=1)
    else:
        axis = np.array([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)])
        across = np.cross(axis, [0.3, -0.5, 0.2])
        across /= np.sqrt((across**2).sum())
        offsets = r * (np.cos(angle)[:, None] * axis + np.sin(angle)[:, None] * across)
    # the record ends 1.2 / f0 after the peak. The echo of an edge has sqrt(r^2 + 4 far^2) to go, and must not begin
    # before, at the faster velocity; its wavelet begins 1 / f0 before its peak
    nt = round((r / VP + 2.7 / F0) / DT)
    way = (r / VP + 2.2 / F0) * VP * np.sqrt(1 + 2 * epsilon)
    far = 0.5 * np.sqrt(way**2 - r**2) + (0 if ndim == 3 else 16 * WAVELENGTH / points)
    medium = (epsilon, epsilon, theta, phi if ndim == 3 else None)
    boundary = "none" if ndim == 3 else "pml"
    got = tilted(WAVELENGTH / points, far, offsets, nt, *medium, boundary=boundary)
    exact = exact_traces(
        lambda w, dt, n: analytic.elliptical_waveform(offsets, VP, epsilon, w, dt, n, theta, phi), nt
    )
    for g, e in zip(got, exact, strict=True):
        assert misfit(g, e) < 0.003  # A6 asks for 1 %


@pytest.mark.parametrize(("epsilon", "delta", "theta"), [(E, D, np.pi / 4), (0.2, -0.1, -1.0)])
def test_a7_traveltimes_of_tilted_media(epsilon, delta, theta):
    # as above, from the axis to the direction across it: 8 wavelengths, 16 points per wavelength
    angle = np.deg2rad(np.arange(0.0, 91.0, 10.0)) + theta
    offsets = 8 * WAVELENGTH * np.stack([np.sin(angle), np.cos(angle)], axis=1)
    nt = 290
    got = tilted(WAVELENGTH / 16, 300.0, offsets, nt, epsilon, delta, theta)
    times = analytic.traveltime(offsets, VP, epsilon, delta, theta)
    pulse = exact_traces(
        lambda w, dt, n: analytic.isotropic_waveform(np.stack([VP * times, 0 * times], axis=1), VP, w, dt, n),
        nt,
    )
    start = np.arange(nt) * DT
    for g, p, t in zip(got, pulse, times, strict=True):
        window = np.abs(start - t - 1.5 / F0) < 1.2 / F0
        assert abs(best_shift(g * window, p * window, DT)) < max(0.002 * t, DT / 2)


@pytest.mark.parametrize("ndim", some([2, 3], 1))
def test_a8_two_layer_reflection(ndim):
    # the interface of a model sampled at nodes lies half a cell above the first node of the lower layer; the
    # jump is met to second order in h: 4.5 % too much at 10 points per wavelength, 1.8 to 2.2 % at the 16
    # taken here
    v1, v2, h = VP, 3000.0, 6.25
    row = round(400.0 / h)
    depth = (row - 0.5) * h
    offset = np.array([0.0, 100.0, 250.0])  # angles up to 19 degrees
    nx, ny, nz = round(550 / h) + 1, round(150 / h) + 1, row + round(150 / h)
    shape, src = ((nx, nz), [150.0, 50.0]) if ndim == 2 else ((nx, ny, nz), [150.0, 75.0, 50.0])
    rcv = np.array([[src[0] + x, *src[1:-1], 75.0] for x in offset])
    nt = 280
    survey = Survey.from_arrays([src], rcv, nt=nt, dt=DT)
    grid, vp = Grid(shape, (h,) * ndim), np.full(shape, v1)
    dt = EarthModel(grid, v2).choose_dt(8)
    direct = forward(EarthModel(grid, vp), survey, ricker(F0, DT / 4), dt=dt, device=DEVICE)
    vp[..., row:] = v2
    both = forward(EarthModel(grid, vp), survey, ricker(F0, DT / 4), dt=dt, device=DEVICE)
    reflection = both.data[0].astype(np.float64) - direct.data[0]
    exact = exact_traces(
        lambda w, dt, n: analytic.reflection_waveform(offset, 50.0, 75.0, depth, v1, v2, w, dt, n, ndim), nt
    )
    for g, e in zip(reflection, exact, strict=True):
        assert abs(best_shift(g, e, DT)) < DT
        assert (g * e).sum() / (e * e).sum() == pytest.approx(1.0, abs=0.03)
