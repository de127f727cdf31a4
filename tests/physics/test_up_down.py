"""Down-going times up-going waves: noise above a salt top is gone, reflectors keep amplitude and phase."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import subsalt
from subsalt import EarthModel, Grid, Survey, ricker
from subsalt.analytic import isotropic_waveform

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
