"""Angle gathers of space-lag gathers: an event comes out at its angle, and angles add up to the image."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.methods.rtm.filters import angle_gathers, end_taper, widest_angle

DZ, DH, NZ = 5.0, 10.0, 240
LAGS = DH * np.arange(-30, 31)
ANGLES = np.radians(np.arange(-60.0, 60.5, 1.0))


def ricker(z: np.ndarray, wavelength: float = 60.0) -> np.ndarray:
    """Return a Ricker wavelet over depth, m, of a peak wavelength."""
    a = (np.pi * z / wavelength) ** 2
    return (1 - 2 * a) * np.exp(-a)


def gather(gamma: np.ndarray, weight: np.ndarray, z0: float = 600.0) -> np.ndarray:
    """Return the gather of an event with amplitudes by angle: z = z0 - h tan gamma of each."""
    z = DZ * np.arange(NZ)
    return np.einsum(
        "g,ghz->hz", weight, ricker(z[None, None] - z0 + LAGS[None, :, None] * np.tan(gamma)[:, None, None])
    )


@pytest.mark.parametrize("degrees", [-35.0, -10.0, 0.0, 20.0, 40.0])
def test_an_event_comes_out_at_its_angle_and_depth(degrees: float) -> None:
    """The width of the stack over so many half offsets, lambda / (2 h), is 6 degrees; its peak is within one."""
    out = angle_gathers(gather(np.radians([degrees]), np.ones(1)), LAGS, DZ, ANGLES)
    a, z = np.unravel_index(np.abs(out).argmax(), out.shape)
    assert abs(np.degrees(ANGLES[a]) - degrees) <= 1.0
    assert abs(DZ * z - 600.0) <= DZ


def test_angles_add_up_to_the_image() -> None:
    gamma = np.radians(np.arange(-40.0, 40.01, 0.5))
    smooth = np.cos(np.pi * gamma / np.radians(80.0)) ** 2
    given = np.stack([gather(gamma, smooth), gather(gamma, smooth, 400.0)])
    out = angle_gathers(given, LAGS, DZ, ANGLES)
    assert out.shape == (2, len(ANGLES), NZ)
    total = (out / np.cos(ANGLES)[:, None] ** 2).sum(axis=1) * (ANGLES[1] - ANGLES[0])
    image = given[:, len(LAGS) // 2]
    assert np.abs(total - image).max() <= 0.02 * np.abs(image).max()
    # and the amplitude of an angle is that of its part of the image, relative to the one at zero
    peak = out[0, :, 120]
    middle = len(ANGLES) // 2
    ratio = (peak / np.cos(ANGLES) ** 2 / peak[middle])[middle - 20 : middle + 21]
    assert (
        np.abs(ratio - np.cos(np.pi * ANGLES[middle - 20 : middle + 21] / np.radians(80.0)) ** 2).max() < 0.1
    )


def test_half_offsets_fade_at_both_ends_and_not_in_the_middle() -> None:
    weights = end_taper(LAGS)
    assert weights[30] == 1.0
    assert np.array_equal(weights, weights[::-1])
    assert (np.diff(weights[30:]) <= 0).all()
    assert 0 < weights[-1] < 0.05


def test_beyond_the_nyquist_wavenumber_of_the_half_offsets_there_is_nothing() -> None:
    """Half offsets 50 m apart carry a wave of 60 m up to 31 degrees; a flat event is aliased at steep angles."""
    every = slice(None, None, 5)
    flat = gather(np.zeros(1), np.ones(1))[every]
    wide = widest_angle(LAGS[every], 60.0)
    assert np.degrees(wide) == pytest.approx(30.96, abs=0.01)
    out = angle_gathers(flat, LAGS[every], DZ, ANGLES)
    energy = (out**2).sum(axis=-1)
    assert energy[np.abs(ANGLES) > np.radians(55)].max() < 1e-3 * energy.max()
