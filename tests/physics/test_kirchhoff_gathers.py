"""Image gathers: flat at the right velocity, curved as they should be at a wrong one, muted where they stretch."""

from __future__ import annotations

import numpy as np
import pytest
from kirchhoff_tools import (
    BARE,
    DEPTH,
    F0,
    REFLECTIVITY,
    TRACE_TIME,
    WAVELET,
    Line,
    V,
    common_offset,
    migrate,
    on_x,
    peak,
)
from physics_tools import ricker

from subsalt import analytic
from subsalt.acquisition.survey import TimeAxis
from subsalt.analytic import Plane
from subsalt.methods.kirchhoff.options import KirchhoffOptions

T0 = 2 * DEPTH / V
OFFSETS = np.arange(0.0, 1801.0, 200.0)
IMAGE_TIME = TimeAxis(180, 0.004, 0.6)


def classes(midpoints: np.ndarray, offsets: np.ndarray, measure: float) -> tuple[Line, np.ndarray]:
    """Return the traces of several offsets, and the image class of each."""
    lines = [common_offset(midpoints, h, measure) for h in offsets]
    slot = np.repeat(np.arange(len(offsets), dtype=np.int32), len(midpoints))
    return Line(np.concatenate([l.src for l in lines]), np.concatenate([l.rcv for l in lines]), measure), slot


def gather(velocity: float, **options: object) -> np.ndarray:
    """Return the gather (offset, time) of a flat reflector, migrated with `velocity`."""
    line, slot = classes(on_x(0.0, 900.0, 10.0), OFFSETS, 10.0)
    traces = line.traces([Plane(DEPTH, REFLECTIVITY)], V, WAVELET, TRACE_TIME)
    chosen = KirchhoffOptions(amplitude="2.5d", **{**BARE, **options})
    return migrate(traces, TRACE_TIME, line, (0.0, 0.0), velocity, chosen, IMAGE_TIME, slot=slot)[0][0]


def test_the_right_velocity_gives_flat_gathers_of_one_amplitude():
    # 0.1 % and 0.1 ms: test_kirchhoff_amplitudes says why
    for offset, trace in zip(OFFSETS, gather(V), strict=True):
        time, value = peak(trace, IMAGE_TIME, T0)
        assert value == pytest.approx(REFLECTIVITY, rel=1e-3), offset
        assert time == pytest.approx(T0, abs=1e-4), offset


@pytest.mark.parametrize(("factor", "sign"), [(0.95, -1), (1.05, 1)])
def test_a_wrong_velocity_curves_gathers_by_the_residual_moveout(factor, sign):
    # the trace above the location, t^2 = t0^2 + X^2 / v^2, goes to tau^2 = t^2 - X^2 / vm^2: up when vm is too small
    exact = np.sqrt(T0**2 + OFFSETS**2 * (1 - factor**-2) / V**2)
    peaks = np.array(
        [peak(trace, IMAGE_TIME, t)[0] for trace, t in zip(gather(factor * V), exact, strict=True)]
    )
    assert (np.diff(peaks) * sign > 0)[1:].all()
    assert abs(peaks[-1] - T0) > 0.03
    # the next term of stationary phase, a wavelength times 1 / (w t0), no longer vanishes by symmetry: 2e-4 s
    np.testing.assert_allclose(peaks, exact, rtol=0, atol=3e-4)


def test_the_stretch_mute_ends_at_the_analytic_offset():
    # J = dt / dt0 = t0 / t at the trace above a flat reflector: 1 / J - 1 = smax where X = v t0 sqrt((1 + smax)^2 - 1)
    smax, taper = 0.3, 0.2
    line, slot = classes(np.zeros((1, 2)), OFFSETS, 1.0)
    time = TimeAxis(500, 0.004)
    ones = np.ones((len(slot), time.nt), np.float32)
    options = KirchhoffOptions(
        amplitude="none", antialias="none", interpolation="linear", stretch_mute=smax, stretch_taper=taper
    )
    image, hits, _ = migrate(ones, time, line, (0.0, 0.0), V, options, TimeAxis(350, 0.004), slot=slot)
    t0 = TimeAxis(350, 0.004).values()
    for k, offset in enumerate(OFFSETS):
        first = offset / (V * np.sqrt((1 + smax) ** 2 - 1))
        whole = offset / (V * np.sqrt((1 + smax * (1 - taper)) ** 2 - 1))
        # within float32 of the limit a sample may fall on either side; none of these does
        assert not image[0, k, t0 < first].any(), offset
        assert (image[0, k, t0 > first] > 0).all(), offset
        np.testing.assert_allclose(image[0, k, t0 > whole], 1.0, rtol=1e-6)
        # the middle of a raised cosine
        middle = offset / (V * np.sqrt((1 + smax * (1 - taper / 2)) ** 2 - 1))
        if offset:
            assert np.interp(middle, t0, image[0, k]) == pytest.approx(0.5, abs=0.02)
    live = np.array([(t0 > h / (V * np.sqrt((1 + smax) ** 2 - 1))) | (h == 0) for h in OFFSETS]).sum(axis=0)
    # a flat trace of ones at t0 = 0 counts or not: nothing can be said of a sample without a weight
    np.testing.assert_array_equal(hits[0, 1:], live[1:])


def test_the_mute_leaves_the_event_inside_and_nothing_outside():
    # smax = 0.3 at t0 = 1 s, v = 2000: X = 1661 m; traces beside the middle one are muted a little earlier
    muted, bare = gather(V, stretch_mute=0.3), gather(V)
    event = slice(85, 115)
    inside, outside = OFFSETS <= 1000, OFFSETS >= 1800
    np.testing.assert_allclose(muted[inside][:, event], bare[inside][:, event], atol=2e-3 * REFLECTIVITY)
    assert np.abs(muted[outside][:, event]).max() < 0.01 * REFLECTIVITY


@pytest.mark.parametrize("kind", ["vti", "elliptical"])
def test_eta_images_a_vti_medium_as_well_as_its_formula_allows(kind):
    vp, epsilon, delta = V, 0.2, 0.2 if kind == "elliptical" else 0.08
    nmo, eta = vp * np.sqrt(1 + 2 * delta), (epsilon - delta) / (1 + 2 * delta)
    midpoints = on_x(0.0, 1100.0, 10.0)
    offsets = np.arange(0.0, 2 * DEPTH + 1, 400.0)
    line, slot = classes(midpoints, offsets, 10.0)
    # a flat reflector: exact group-velocity times, the same at every midpoint
    legs = np.stack([offsets / 2, np.full_like(offsets, DEPTH)], axis=1)
    exact = 2 * analytic.traveltime(legs, vp, epsilon, delta)
    time = TimeAxis(520, 0.004)
    shots = ricker(time.values() - exact[:, None], F0).astype(np.float32)
    traces = np.repeat(shots, len(midpoints), axis=0)
    options = KirchhoffOptions(amplitude="2.5d", **BARE)
    image, _, _ = migrate(traces, time, line, (0.0, 0.0), nmo, options, IMAGE_TIME, eta=eta, slot=slot)
    q = (offsets / 2 / nmo) ** 2
    h2 = (T0 / 2) ** 2
    formula = 2 * np.sqrt(h2 + q - 2 * eta * q**2 / (h2 + (1 + 2 * eta) * q))
    u = q / (h2 + (1 + 2 * eta) * q)
    stretch = (T0 / formula) * (1 + 2 * eta * u**2)
    # what the formula misses moves the event, and nothing else does (the next term of stationary phase: 3e-4 s)
    shift = (exact - formula) / stretch
    peaks = np.array([peak(trace, IMAGE_TIME, T0)[0] for trace in image[0]])
    np.testing.assert_allclose(peaks, T0 + shift, rtol=0, atol=3e-4)
    # Alkhalifah & Tsvankin 1995: the fourth-order formula is good to some 0.2 % of the time up to offset = 2 depth
    assert np.abs(peaks - T0).max() < (3e-4 if kind == "elliptical" else 3.5e-3)
    if kind == "vti":
        hyperbola = migrate(traces, time, line, (0.0, 0.0), nmo, options, IMAGE_TIME, slot=slot)[0][0]
        left = abs(peak(hyperbola[-1], IMAGE_TIME, T0 + 0.06, 0.1)[0] - T0)
        assert left > 10 * abs(peaks[-1] - T0)


def test_neither_cuts_of_locations_nor_of_traces_change_a_bit():
    # aperture, dip, stretch and antialias all cut within these locations and times
    rng = np.random.default_rng(5)
    midpoints = rng.uniform(-400, 400, (60, 2))
    line = common_offset(midpoints, 300.0, 1.0, 0.8)
    traces = rng.standard_normal((60, TRACE_TIME.nt)).astype(np.float32)
    points = np.stack(np.meshgrid(np.arange(-100, 101, 50.0), np.arange(-60, 61, 30.0)), axis=-1).reshape(
        -1, 2
    )
    v = np.linspace(1800, 2400, len(points) * 180, dtype=np.float32).reshape(len(points), 180)
    options = KirchhoffOptions(aperture=420.0, dip=35.0, stretch_mute=0.2)
    whole = migrate(traces, TRACE_TIME, line, points, v, options, IMAGE_TIME)
    # every location loses some traces, and none all of them
    assert 0 < whole[2].min() < whole[2].max() < 60
    for cut in (slice(0, 1), slice(3, 14), slice(14, 25)):
        part = migrate(traces, TRACE_TIME, line, points[cut], v[cut], options, IMAGE_TIME)
        for a, b in zip(part, whole, strict=True):
            np.testing.assert_array_equal(a, b[cut])
