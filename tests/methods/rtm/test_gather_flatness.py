"""Flatness and curvature of angle gathers: planted moveout is found, as uncertain as repeated noise shows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from subsalt.methods.rtm.flatness import (
    SCANNED,
    WIDEST,
    GatherAxes,
    Noise,
    Semblance,
    curvature,
    depth_windows,
    event_depth,
    flattened,
    held_angles,
    holds_event,
    peak_of,
    windowed,
)

DZ, NZ, Z0, WAVELENGTH = 5.0, 240, 700.0, 80.0
AXES = GatherAxes(np.radians(np.arange(-50.0, 50.5, 2.0)), 0.0, DZ)
WINDOWS = depth_windows(NZ, 40)


def gather(rho: float, *depths: float) -> np.ndarray:
    """Return the gather of reflectors: a Ricker wavelet, stretched by angle, whose amplitude ends at 45 degrees."""
    out = np.zeros((len(AXES.angles), NZ))
    for z0 in depths or (Z0,):
        apart = AXES.depths(NZ)[None] - event_depth(rho * z0, rho, AXES.angles)[:, None]
        a = (np.pi * np.cos(AXES.angles)[:, None] * apart / WAVELENGTH) ** 2
        fades = np.maximum(np.cos(2 * AXES.angles), 0.0)[:, None]
        out += np.nan_to_num(fades * (1 - 2 * a) * np.exp(-a))
    return out


@pytest.mark.parametrize("rho", [0.95, 1.0, 1.05])
def test_the_formula_is_that_of_rays(rho: float) -> None:
    """Source and receiver ray at the angle of migration, for the time of the true ones, meet at half offset h; the
    event dips by tan gamma from there to zero (Sava and Fomel 2003).
    """
    v, gamma = 2000.0, np.radians(np.arange(0.0, 41.0, 5.0))
    beta = np.arcsin(np.sin(gamma) / rho)
    half_time, half_offset = Z0 / np.cos(beta) / v, Z0 * np.tan(beta)
    z, h = rho * v * half_time * np.cos(gamma), half_offset - rho * v * half_time * np.sin(gamma)
    wanted = z - h * np.tan(gamma)
    assert np.allclose(event_depth(rho * Z0, rho, gamma), wanted, rtol=1e-12)


@pytest.mark.parametrize("rho", [0.95, 0.985, 1.0, 1.05])
def test_planted_moveout_is_found(rho: float) -> None:
    """To a tenth of the step between scanned values, in one window, and at the depth of the event at zero angle.

    Near its top semblance is a parabola: the values of rho lie 0.0075 apart, which moves an event at 40 degrees by
    0.0075 * 700 m * tan^2 = 3.7 m, a twentieth of a wavelength (phase 0.3): the term of fourth order is 0.3^2 / 12 of
    the second, less than a hundredth.
    """
    one = curvature(gather(rho), AXES, WINDOWS)
    (w,) = np.flatnonzero(np.isfinite(one.rho))
    assert abs(one.rho[w] - rho) <= 0.1 * WIDEST / SCANNED
    assert abs(one.depth[w] - rho * Z0) <= 20 * DZ / 2 + DZ
    flat = Semblance.of(flattened(gather(rho), AXES, rho), WINDOWS).ratio[w]
    assert flat >= one.semblance[w] - 1e-12
    assert (flat > one.semblance[w] + 0.05) == (abs(rho - 1) > 0.04)


def test_the_uncertainty_is_what_repeated_noise_shows() -> None:
    """32 draws tell a standard deviation to 1 / sqrt(64), 13 %; the count of independent values of noise in the band of
    the wavelet, and the curvature of a semblance that has noise, a factor of two.
    """
    rng, clean = np.random.default_rng(5), gather(1.03)
    band = np.fft.rfftfreq(NZ, DZ) < 2 / WAVELENGTH
    measured = []
    for _ in range(32):
        noise = np.fft.irfft(np.fft.rfft(rng.standard_normal(clean.shape)) * band, NZ)
        measured.append(curvature(clean + 0.15 * noise / noise.std(), AXES, [(124, 164)]))
    rho, sigma = np.array([f.rho[0] for f in measured]), np.array([f.sigma[0] for f in measured])
    assert 0.5 <= sigma.mean() / rho.std() <= 2.0
    assert abs(rho.mean() - 1.03) <= 3 * rho.std() / np.sqrt(32) + 0.1 * WIDEST / SCANNED


def test_two_reflectors_are_measured_by_themselves() -> None:
    both = gather(0.97, 400.0, 900.0)
    both[:, 130:] = gather(1.02, 400.0, 900.0)[:, 130:]
    one = curvature(both, AXES, WINDOWS)
    seen = np.isfinite(one.rho)
    assert np.count_nonzero(seen) == 2
    assert np.allclose(one.rho[seen], [0.97, 1.02], atol=0.2 * WIDEST / SCANNED)


def test_quiet_windows_and_moveout_beyond_the_scan_say_nothing() -> None:
    assert not np.isfinite(curvature(np.zeros((len(AXES.angles), NZ)), AXES, WINDOWS).rho).any()
    far = curvature(gather(1.05), AXES, WINDOWS, np.array([0.98, 0.99, 1.0]))
    assert not np.isfinite(far.rho).any()
    assert np.isinf(far.sigma).all()


def test_semblance_is_of_the_angles_that_the_data_hold() -> None:
    """Equal traces are 1 over any angles; with half of them empty the empty ones do not count."""
    trace = np.zeros(NZ)
    trace[100:120] = np.hanning(20)
    a = np.tile(trace, (20, 1))
    assert np.isclose(Semblance.of(a, [(90, 130)]).ratio[0], 1.0)
    a[10:] = 0
    assert np.isclose(Semblance.of(a, [(90, 130)]).ratio[0], 1.0)
    held = held_angles(windowed(a**2, [(90, 130)]))
    assert held[:10].all()
    assert not held[10:].any()
    # of noise: 1 / n expected, with 40 samples and 20 angles to 3 / sqrt(40)
    noise = np.random.default_rng(1).standard_normal((20, NZ))
    assert abs(20 * Semblance.of(noise, [(90, 130)]).ratio[0] - 1) <= 3 * np.sqrt(2 / 40)
    # a few angles do not say anything
    assert np.isnan(Semblance.of(a[:4], [(90, 130)]).ratio[0])


def test_windows_cover_all_depths_half_over_each_other() -> None:
    for nz, length in ((240, 40), (33, 40), (100, 30), (7, 2)):
        windows = depth_windows(nz, length)
        assert (windows[0][0], windows[-1][1]) == (0, nz)
        assert all(a < c < b < d for (a, b), (c, d) in pairwise(windows))
    power = np.zeros(240)
    for at in (20, 77, 123, 200):
        power[:] = 0
        power[at] = 1
        assert np.count_nonzero(holds_event(power, WINDOWS)) == 1


def test_strong_events_weigh_most_in_the_flatness_of_a_place() -> None:
    a = np.zeros((10, 80))
    a[:, 20] = 1.0
    a[::2, 60], a[1::2, 60] = 0.1, -0.1
    of = Semblance.of(a, [(10, 30), (50, 70)])
    assert np.allclose(of.ratio, [1.0, 0.0])
    assert np.isclose(of.over_depth(), 1 / 1.01)


def test_a_peak_has_no_value_where_semblance_does_not_change() -> None:
    at, noise = np.array([0.9, 1.0, 1.1]), Noise(0.1, 10.0)
    exact = peak_of(at, 1 - (at - 1.02) ** 2, noise)
    assert exact.best == pytest.approx(1.02)
    # c = 2: sigma^2 = 2 * 0.1 / (10 * 2)
    assert exact.sigma == pytest.approx(0.1)
    assert np.isnan(peak_of(at, np.full(3, 0.5), noise).best)
    assert np.isnan(peak_of(at, np.array([0.5, np.nan, 0.5]), noise).best)
    end = peak_of(at, np.array([0.7, 0.6, 0.5]), noise)
    assert end.at_end
    assert np.isinf(end.sigma)
