"""Angle gathers are compared in the band of the source, whose place in wavenumber depends on the angle."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.acquisition.wavelet import ricker
from subsalt.methods.rtm.source_band import FADE, SourceBand

STEP, NT = 0.002, 500


def tone(f: float, angle: float) -> np.ndarray:
    """Return an event of frequency f, Hz, at half the opening angle, radians: a tone under a Gaussian of 0.1 s."""
    t = STEP * (np.arange(NT) - NT // 2)
    return np.cos(2 * np.pi * 2 * f * np.cos(angle) * t) * np.exp(-0.5 * (t / 0.1) ** 2)


def test_the_band_of_a_ricker_wavelet_ends_at_half_its_largest_amplitude() -> None:
    """Its amplitude is x exp(1 - x) with x = (f / f0)^2, half at x = 0.2320 and 2.6783; to a step of frequency."""
    w = ricker(15.0, 0.002)
    band = SourceBand.of(w.samples, w.dt)
    step = 1 / (10 * len(w.samples) * w.dt)
    assert band.low == pytest.approx(15 * np.sqrt(0.2320), abs=step)
    assert band.high == pytest.approx(15 * np.sqrt(2.6783), abs=step)


@pytest.mark.parametrize("degrees", [0.0, 40.0])
def test_events_of_the_band_stay_and_others_go_at_every_angle(degrees: float) -> None:
    """The Gaussian of 0.1 s is one of 1.6 cycles per second, 0.8 to 1.04 Hz of waves: five of them are 5.2 Hz."""
    band, angle = SourceBand(10.0, 30.0), np.radians([degrees])
    gone = 2.0**FADE
    for f, stays in ((20.0, True), (10.0 / gone - 5.2, False), (30.0 * gone + 5.2, False)):
        event = tone(f, angle[0])[None]
        out = band.passed(event, angle, STEP)
        assert np.abs(out - event * stays).max() < 1e-5
