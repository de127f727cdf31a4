"""Residual moveout of events in angle gathers, and the scale at which it vanishes."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.methods.rtm.depth_scan import scan_place
from subsalt.methods.rtm.flatness import GatherAxes, Noise, peak_of
from subsalt.methods.rtm.residual_moveout import Bend, bend_of, flat_scale

DZ, NZ, Z0, WAVELENGTH = 10.0, 140, 700.0, 100.0
ANGLES = np.radians(np.arange(-38.0, 38.5, 2.0))
TANGENTS = np.tan(ANGLES)
#: two and a half wavelengths
WINDOW = (58, 83)
SCALES, RIGHT = np.array([0.94, 0.96, 0.98, 1.0]), 0.9665


def gather(bend: float, fading: float = 0.0) -> np.ndarray:
    """Return a Ricker wavelet, stretched by angle, at Z0 + bend tan^2; `fading` takes amplitude from wide angles."""
    apart = DZ * np.arange(NZ)[None] - (Z0 + bend * TANGENTS**2)[:, None]
    a = (np.pi * np.cos(ANGLES)[:, None] * apart / WAVELENGTH) ** 2
    return (1 - fading * TANGENTS**2)[:, None] * (1 - 2 * a) * np.exp(-a)


@pytest.mark.parametrize("bend", [-20.0, -3.0, 0.0, 0.7, 12.0])
def test_a_planted_bend_is_found(bend: float) -> None:
    """To a tenth of the step between the finest curves that are tried: semblance is a parabola that wide.

    They are half a wavelength over 24 apart at the widest angle: 3.4 m of c.
    """
    measured = bend_of(gather(bend), TANGENTS, WINDOW, DZ)
    assert abs(measured.depth - bend) <= 0.1 * 0.5 / 24 * WAVELENGTH / TANGENTS[-1] ** 2
    assert measured.side == np.sign(measured.depth)
    assert measured.semblance > 0.9


def test_a_bend_beyond_reach_tells_its_side_alone() -> None:
    for bend in (-90.0, 90.0):
        measured = bend_of(gather(bend), TANGENTS, WINDOW, DZ)
        assert not measured.known
        assert measured.side == np.sign(bend)


def test_amplitudes_that_change_with_the_scale_do_not_move_the_best_one() -> None:
    """4 % of a layer of 300 m: c = 3 m for every percent. Wide angles fade more at the first scales."""
    gathers = [
        gather(300.0 * (s - RIGHT), fade) for s, fade in zip(SCALES, (0.9, 0.6, 0.3, 0.0), strict=True)
    ]
    scan = scan_place(gathers, SCALES, GatherAxes(ANGLES, 0.0, DZ), [WINDOW], True)
    (peak,) = scan.peaks
    assert peak.best == pytest.approx(RIGHT, abs=5e-4)
    # semblance alone is larger where amplitudes are more alike
    alone = peak_of(SCALES, scan.semblance[:, 0], Noise(0.1, 10.0)).best
    assert alone > RIGHT + 0.005


def bend(depth: float, side: int | None = None) -> Bend:
    return Bend(depth, 0.5, int(np.sign(depth)) if side is None else side, 0.9)


def test_the_best_scale_is_where_the_bend_vanishes() -> None:
    straight = flat_scale(SCALES, [bend(10 * (s - RIGHT)) for s in SCALES])
    assert straight is not None
    assert straight.best == pytest.approx(RIGHT)
    # 0.5 m of bend, 10 m for a scale of one
    assert straight.sigma == pytest.approx(0.05)
    # of two values the line
    assert flat_scale(SCALES[:2], [bend(-1.0), bend(3.0)]).best == pytest.approx(0.945)
    # a curve is followed: c = x + x^2, x = s - RIGHT in hundredths
    x = 100 * (SCALES - RIGHT)
    curved = flat_scale(SCALES, [bend(v + 0.05 * v**2) for v in x])
    assert curved.best == pytest.approx(RIGHT, abs=2e-4)


def test_a_scan_on_one_side_of_the_right_scale_says_so() -> None:
    low = flat_scale(SCALES, [bend(3.0), bend(6.0), bend(9.0), bend(float("nan"), 1)])
    high = flat_scale(SCALES, [bend(float("nan"), -1), bend(-6.0), bend(-3.0), bend(-1.0)])
    assert (low.best, low.at_end) == (0.94, True)
    assert (high.best, high.at_end) == (1.0, True)
    # steps too wide for neighbours to be within reach, or no event at all: nothing is said
    wide = [bend(float("nan"), -1), bend(float("nan"), -1), bend(float("nan"), 1), bend(float("nan"), 1)]
    assert flat_scale(SCALES, wide) is None
    assert flat_scale(SCALES, [bend(float("nan"), 0)] * 4) is None
