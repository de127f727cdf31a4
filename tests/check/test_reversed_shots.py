"""Shots of the opposite sign, where picks stand on different lobes at different offsets."""

from __future__ import annotations

import numpy as np

from subsalt import Shot
from subsalt.acquisition.first_breaks import WINDOW, ShotBreaks, fit
from subsalt.check.polarity import opposite

PERIOD, SLOWNESS = 0.08, 1 / 1480.0
OFFSETS = 250.0 + 25.0 * np.arange(40)
#: between these offsets every pick stands half a period later, on the next lobe
LATE = (OFFSETS > 550) & (OFFSETS < 900)


def shot_with(number: int, reversed_shot: bool = False, without: np.ndarray | None = None) -> ShotBreaks:
    """Return the picks of a shot on two lobes of a ringing wave."""
    wave = np.cos(2 * np.pi * np.arange(WINDOW) / (WINDOW / 3)) * np.hanning(WINDOW)
    wave /= np.sqrt((wave**2).sum())
    sign = np.where(LATE, -1.0, 1.0) * (-1.0 if reversed_shot else 1.0)
    time = OFFSETS * SLOWNESS + np.where(LATE, PERIOD / 2, 0.0)
    windows = sign[:, None] * wave
    if without is not None:
        time[without] = np.nan
        windows[without] = 0.0
    n = len(OFFSETS)
    shot = Shot(
        number,
        np.array([0.0, 5.0]),
        np.stack([OFFSETS, np.full(n, 8.0)], axis=1),
        np.zeros((n, 8), np.float32),
    )
    picks = ShotBreaks(shot, np.arange(n), OFFSETS, time, windows, np.ones(n), 0.0, PERIOD)
    fit(picks)
    return picks


def test_a_shot_whose_picks_are_mostly_on_another_lobe_is_not_reversed():
    every_other = np.flatnonzero(~LATE)[::2]
    shots = [shot_with(k) for k in range(8)] + [shot_with(8, without=every_other)]
    assert opposite(shots) is None


def test_a_reversed_shot_is_reported_beside_it():
    shots = [shot_with(k) for k in range(8)] + [shot_with(8, reversed_shot=True)]
    reversed_shots = opposite(shots)
    assert reversed_shots is not None
    assert [b.shot.id for b in reversed_shots.wrong] == [8]
