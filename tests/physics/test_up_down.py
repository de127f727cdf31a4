"""Down-going times up-going waves: noise above a salt top is gone, reflectors keep amplitude and phase."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import subsalt
from subsalt import EarthModel, Grid, Survey, ricker
from subsalt.analytic import isotropic_waveform
from subsalt.methods.rtm.companion import add_separated, hilbert_in_time

H, V = 10.0, 2000.0


def migrated(model: EarthModel, survey: Survey, wavelet, condition: str) -> np.ndarray:
    """Return the image; the floor of the division is too small to matter."""
    return subsalt.migrate(model, survey, wavelet, condition=condition, normalise=1e-4).image


def test_noise_above_a_salt_top_falls_by_20_db() -> None:
    """Reflections of a flat top at 600 m, migrated with the salt in the model; more than a wavelength above the top,
    relative to the image of the top.
    """
    wavelet, grid, top = ricker(12.0, 0.001), Grid((121, 85), (H, H)), 60
    salt, rock = (np.full(grid.shape, V, np.float32) for _ in range(2))
    salt[:, top:] = 4500.0
    x = np.arange(50.0, 1151.0, H)
    survey = Survey.from_arrays([(600.0, 0.0, H)], np.stack([x, 0 * x, 0 * x + H], axis=1), nt=260, dt=0.004)
    whole, direct = (subsalt.forward(EarthModel(grid, v), survey, wavelet).data[0] for v in (salt, rock))
    survey.shots[0].data = (whole - direct).astype(np.float32)
    noise = {}
    for condition in ("source-normalised", "up-down"):
        image = migrated(EarthModel(grid, salt), survey, wavelet, condition)[40:81]
        above = np.sqrt(np.square(image[:, 15 : top - 17]).mean())
        noise[condition] = above / np.abs(image[:, top - 3 : top + 4]).max()
    assert noise["up-down"] <= 0.1 * noise["source-normalised"], noise


@pytest.mark.parametrize("dip", [0.0, 20.0])
def test_reflectors_keep_amplitude_and_phase(dip: float) -> None:
    """A flat reflector at 400 m; a dipping one, below 460 m.

    A wave at the angle a from the vertical has the wavenumber k = 2 pi cos(a) / lambda in depth, lambda = 133 m at
    15 Hz. At the distance z from an end of the window 1 / (pi k^2 z^2) of it is wrong, at most twice that: 1 % at 72
    degrees and 400 m.
    """
    wavelet, grid, slope = ricker(15.0, 0.001), Grid((181, 91), (H, H)), np.radians(dip)
    x, depth = np.arange(0.0, grid.last[0] + 1, H), 300.0 if dip else 400.0
    survey = Survey.from_arrays([(400.0, 0.0, 0.0)], np.stack([x, 0 * x, 0 * x], axis=1), nt=400, dt=0.004)
    (shot,) = survey.shots
    normal, along = np.array([-np.sin(slope), np.cos(slope)]), shot.src[[0, 2]]
    mirror = along + 2 * ((np.array([0.0, depth]) - along) @ normal) * normal
    nt = len(wavelet.samples) + int(survey.time.duration / wavelet.dt)
    traces = isotropic_waveform(shot.rcv[:, [0, 2]] - mirror, V, wavelet.samples, wavelet.dt, nt)
    t = wavelet.t0 + wavelet.dt * np.arange(nt)
    shot.data = CubicSpline(t, 0.2 * traces, axis=1)(survey.time.dt * np.arange(survey.time.nt)).astype(
        np.float32
    )
    plain, separated = (
        migrated(EarthModel(grid, V), survey, wavelet, c) for c in ("source-normalised", "up-down")
    )
    widest = 0.0
    for column in range(55, 92 if dip else 146, 9):
        z = depth + np.tan(slope) * column * H
        ray = np.array([column * H - 400.0, z])
        # the steeper of both rays: dip plus half the opening angle
        steepest = dip + np.degrees(np.arccos(ray @ normal / np.hypot(*ray)))
        if steepest > (80.0 if dip else 72.0):
            continue
        widest = max(widest, steepest)
        around = slice(int(z / H) - 6, int(z / H) + 8)
        a, b = plain[column, around], separated[column, around]
        assert abs(np.abs(b).max() / np.abs(a).max() - 1) <= 0.05, (column, steepest)
        # in phase: what is in quadrature has no part in the product with the event, and is little
        assert abs(a @ b / (a @ a) - 1) <= 0.05, (column, steepest)
        assert np.sqrt(((b - a) ** 2).sum() / (a @ a)) <= 0.15, (column, steepest)
    assert widest >= (76.0 if dip else 67.0)


@pytest.mark.parametrize("steep", [80.0, 83.0, 85.0])
@pytest.mark.parametrize("opening", [0.0, 10.0, 25.0])
def test_steep_waves_keep_their_amplitude_half_a_vertical_wavelength_from_the_ends(
    steep: float, opening: float
) -> None:
    """Two plane waves that meet at a reflector: one at the angle `steep` from the vertical, twice `opening` from the
    other, so that dip plus half the opening angle is `steep`.

    The vertical wavelength is lambda / cos(steep); at n of them from an end 1 / (pi k^2 z^2), or 1 / (4 pi^3 n^2), of a
    wave is wrong, 3 % at 0.52. 5 % are what the condition promises; nearer to an end it does not hold: at 0.4 one end
    alone leaves 5 %.
    """
    wavelet_f0, dt = 15.0, 0.004
    cosines = np.cos(np.radians([steep, steep - 2 * opening]))
    wavelength = V / wavelet_f0
    depth = H * np.ceil(0.52 * wavelength / cosines[0] / H)
    z = np.arange(-depth, depth + 1, H)
    # the slowest of both passes every depth, and two periods more on either side
    half = int((depth / V + 2 / wavelet_f0) / dt) + 1
    t = dt * np.arange(-half, half + 1)[:, None]
    down, up = (
        (1 - 2 * a) * np.exp(-a)
        for a in (
            (np.pi * wavelet_f0 * (t + sign * z * c / V)) ** 2
            for sign, c in zip((-1, 1), cosines, strict=True)
        )
    )
    quadrature = hilbert_in_time(up.T).T
    separated = np.zeros((1, 1, len(z)))
    for u, w, q in zip(down, up, quadrature, strict=True):
        add_separated(separated, *(np.ascontiguousarray(a)[None, None] for a in (u, w, q)), 1.0)
    plain = (down * up).sum(axis=0)
    near = np.abs(z) <= 0.5 * wavelength / cosines.sum()
    a, b = plain[near], separated[0, 0, near]
    assert abs(b @ a / (a @ a) - 1) <= 0.05
    assert abs(np.abs(b).max() / np.abs(a).max() - 1) <= 0.05
