"""Interpolation between samples: error over frequency and phase, constants, and the numbers' origin."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.methods.kirchhoff.prepare import AFTER, BEFORE, taps


def errors(interpolation, part):
    """Return the error (frequency, phase) for sinusoids at parts of the Nyquist frequency."""
    w = np.pi * np.asarray(part)[:, None, None]
    at = np.arange(-BEFORE, AFTER + 1)
    f = np.linspace(0, 1, 201)
    c = (np.exp(1j * w * at) * taps(interpolation)[None]).sum(axis=2)  # (frequency, power)
    value = (c[:, :, None] * f ** np.arange(c.shape[1])[:, None]).sum(axis=1)
    return np.abs(value - np.exp(1j * w[:, 0] * f))


def test_error_below_one_in_a_thousand_up_to_seven_tenths_of_nyquist():
    error = errors("sinc", np.linspace(0, 0.7, 300)).max(axis=1)
    assert error.max() < 1e-3
    assert error[0] < 1e-9  # constants
    assert error[: 300 * 2 // 7].max() < 5e-5  # below 0.2
    assert errors("sinc", [0.5]).max() < 5e-4


def test_linear_is_linear():
    assert errors("linear", [0.0]).max() == 0
    # 1 - cos(w/2) in the middle of an interval
    part = np.array([0.1, 0.3, 0.5])
    assert errors("linear", part)[:, 100] == pytest.approx(1 - np.cos(np.pi * part / 2))


def test_straight_lines_pass():
    at = np.arange(-BEFORE, AFTER + 1)
    c = taps("sinc") @ at
    # no term above the first order, by the flatness of the response at zero frequency
    f = np.linspace(0, 1, 11)
    assert np.abs((c[:, None] * f ** np.arange(5)[:, None]).sum(axis=0) - f).max() < 1e-3


def test_taps_are_shared_and_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        taps("sinc")[0, 0] = 1.0
