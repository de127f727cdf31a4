"""Antialiasing of Kirchhoff migration: aliased operators go, events stay, wavelets keep their phase."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from kirchhoff_tools import PLANS, REFLECTIVITY, common_offset, disc, migrate, on_x

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.analytic import Plane
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from thorough import some, thorough

V, DEPTH, F0 = 2000.0, 1000.0, 30.0
TRACE_TIME, IMAGE_TIME = TimeAxis(400, 0.004), TimeAxis(300, 0.004)
WAVELET = ricker(F0, 0.002, delay=0.0)

KINDS = {
    "bands": {"antialias": "bands"},
    "twenty bands": {"antialias": "bands", "bands": 20},
    "triangle": {"antialias": "triangle"},
}


@lru_cache
def recorded(step: float, amplitude: str):
    """Return the zero-offset traces over a flat reflector, `step` m apart, as far as an operator of 1 s meets it."""
    if amplitude == "3d":
        line = common_offset(disc((0.0, 0.0), 1150.0, step), 0.0, step**2)
    else:
        line = common_offset(on_x(0.0, 1600.0, step), 0.0, step)
    return line, line.traces([Plane(DEPTH, REFLECTIVITY)], V, WAVELET, TRACE_TIME)


def image(step: float, amplitude: str = "2.5d", **options: object) -> np.ndarray:
    """Return image traces at nine locations between two midpoints."""
    line, traces = recorded(step, amplitude)
    points = [(x * step / 8, 0.0) for x in range(9)]
    chosen = KirchhoffOptions(amplitude=amplitude, stretch_mute=None, **options)
    return migrate(traces, TRACE_TIME, line, points, V, chosen, IMAGE_TIME, spacing=(step, step))[0][:, 0]


def energy(traces: np.ndarray, first: float, last: float) -> float:
    t = IMAGE_TIME.values()
    return float((traces[:, (t >= first) & (t <= last)] ** 2).sum())


# Above the reflector at t = 1 s the operator of an image sample t0 meets its reflection with the slope
# (2 / v) sqrt(1 - t0^2 / t^2), and what it collects there should cancel. With midpoints 20 m apart it does not where
# the slope passes 1 / (2 f 20 m): for 60 Hz, twice the peak of the wavelet, up to t0 = 0.9 s.
NOISE = (0.15, 0.85)


@pytest.mark.parametrize("step", [20.0, 40.0])
@pytest.mark.parametrize("kind", KINDS)
def test_aliased_steep_operators_lose_20_db(step, kind):
    none = image(step, antialias="none")
    left = energy(image(step, **KINDS[kind]), *NOISE) / energy(none, *NOISE)
    assert 10 * np.log10(left) < -20
    # and it was aliasing: traces four times as dense cancel without a filter
    fine = energy(image(step / 4, antialias="none"), *NOISE) / energy(none, *NOISE)
    assert 10 * np.log10(fine) < -20


@pytest.mark.parametrize("kind", KINDS)
def test_aliased_operators_of_an_area_lose_20_db(kind):
    # the rim of the area lies behind the reflection of every sample but the first: its end is not in the window
    none = image(40.0, "3d", antialias="none")
    assert 10 * np.log10(energy(image(40.0, "3d", **KINDS[kind]), 0.3, 0.8) / energy(none, 0.3, 0.8)) < -20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("amplitude", ["3d", "2.5d"])
def test_flat_events_are_untouched(kind, amplitude):
    plans = [p for p in PLANS if p.dip == 0 and p.amplitude == amplitude]
    # of bands between those of the default, the nearest and the farthest offset
    for plan in some(plans, 2) if kind == "twenty bands" else plans:
        time, value = plan.image(**KINDS[kind])
        assert value == pytest.approx(REFLECTIVITY, rel=0.01), plan
        assert time == pytest.approx(1.0, abs=0.002), plan


def test_nearest_band_leaves_flat_events_too():
    for plan in (p for p in PLANS if p.dip == 0):
        assert plan.image(antialias="bands", band_choice="nearest")[1] == pytest.approx(
            REFLECTIVITY, rel=0.01
        )


@pytest.mark.parametrize("plan", [p for p in PLANS if p.dip != 0], ids=str)
def test_bands_keep_dips_that_are_not_aliased(plan):
    # 25 degrees at 20 m are aliased above v / (4 sin(25 degrees) 20 m) = 59 Hz, between the bands of 62.5 and 50 Hz,
    # which mixed begin to fall at 37.5 Hz. 7 % of the amplitude of the wavelet lies above, most of it just above,
    # where little is taken; the design asks for 2 %.
    time, value = plan.image(antialias="bands")
    assert value == pytest.approx(REFLECTIVITY, rel=0.02)
    assert time == pytest.approx(1.0, abs=0.002)


@pytest.mark.parametrize(
    ("amplitude", "kind"),
    [
        *(("2.5d", kind) for kind in [*KINDS, "none"]),
        *(("3d", kind) for kind in ("bands", "triangle", "none")),
        # more bands along a line, and fewer of an area: above
        pytest.param("3d", "twenty bands", marks=thorough),
    ],
)
def test_a_zero_phase_wavelet_stays_one(amplitude, kind):
    """The image of a reflector is R times the wavelet, sample by sample: no phase is left over."""
    options = KINDS.get(kind, {"antialias": "none"})
    traces = image(20.0, amplitude, **options)
    t = IMAGE_TIME.values() - 2 * DEPTH / V
    near = np.abs(t) < 0.05
    a = (np.pi * F0 * t) ** 2
    want = REFLECTIVITY * (1 - 2 * a) * np.exp(-a)
    # the weights are the first term of an expansion in 1 / (w t0): a phase of 0.5 % at 30 Hz, 1 % at 15 Hz; steep
    # operators within the Fresnel zone lose their highest frequencies to the triangle, another 1 %. A phase of 5
    # degrees would be 9 %.
    for trace in traces:
        error = trace[near] - want[near]
        assert np.linalg.norm(error) < 0.02 * np.linalg.norm(want[near])
        # symmetric about its time: odd part against even part
        odd = 0.5 * (trace[near] - trace[near][::-1])
        assert np.linalg.norm(odd) < 0.02 * np.linalg.norm(want[near])
