"""What the alias bands converge to as their number grows: a sharp local low-pass, and, mixed, the triangle filter."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import design, prepare

DT, NT = 0.004, 500
NUMBERS = (5, 10, 20, 40)


def trace() -> np.ndarray:
    """Return a trace of random reflections, content up to 0.6 Nyquist, quiet at both ends."""
    spikes = np.random.default_rng(5).standard_normal(NT)
    window = np.sin(np.pi * (np.arange(NT) + 0.5) / NT) ** 2
    wave = np.convolve(spikes, ricker(25.0, DT, delay=0.1).samples)[25 : 25 + NT]
    return (wave * window).astype(np.float32)


def low_passed(x: np.ndarray, t: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """Return the trace at times t with nothing above a limit each, by its Fourier integral."""
    at = t[:, None] - DT * np.arange(NT)
    return (x * 2 * DT * limit[:, None] * np.sinc(2 * limit[:, None] * at)).sum(axis=1)


@pytest.mark.parametrize("bands", NUMBERS)
def test_two_bands_differ_from_a_sharp_low_pass_in_a_strip_of_four_steps_only(bands):
    """The local filter between two bands is one below its limit less two steps, nothing two steps above it.

    Band 0 ends nowhere, so that the topmost step is left out.
    """
    impulse = design(NT, DT, "none", bands).impulse
    points = 1 << 13
    lags = np.zeros((bands, points))
    reach = impulse.shape[1] // 2
    lags[:, : reach + 1], lags[:, -reach:] = impulse[:, reach:], impulse[:, :reach]
    response = np.fft.rfft(lags).real
    part = np.linspace(0, 1, points // 2 + 1)
    for limit in np.linspace(1 / bands, 1 - 1 / bands, 37):
        b = bands * (1 - limit)
        hats = np.maximum(0, 1 - np.abs(b - np.arange(bands)))
        local = hats @ response
        assert hats.sum() == pytest.approx(1)
        # 3e-4: what cutting the filters at their reach changes (filters.REACH)
        assert np.abs(local[part < limit - 2 / bands] - 1).max(initial=0) < 3e-4
        assert np.abs(local[part > limit + 2 / bands]).max(initial=0) < 3e-4
        assert -6e-4 < local.min() <= local.max() < 1 + 6e-4


def one_operator(bands: int, choice: str = "interpolate") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what one trace gives a location 700 m away, and the time and frequency limit of every sample."""
    v, x, spacing = 2000.0, 700.0, 25.0
    time, image_time = TimeAxis(NT, DT), TimeAxis(430, DT)
    options = KirchhoffOptions(amplitude="none", stretch_mute=None, bands=bands, band_choice=choice)
    shape = (1, image_time.nt)
    image, hits = np.zeros((1, *shape), np.float32), np.zeros((1, image_time.nt + 1), np.int32)
    place = np.array([[x, 0.0]])
    geometry = TraceGeometry(place, place, np.ones(1, np.float32), np.zeros(1, np.int32))
    sum_traces(
        image, hits, np.zeros((1, 1), np.int32), np.zeros((1, 2)), np.eye(2), Medium(np.full(shape, v, np.float32)),
        image_time, prepare(trace()[None], time, options), geometry, options, (spacing, spacing),
    )  # fmt: skip
    t = np.sqrt(image_time.values() ** 2 + (2 * x / v) ** 2)
    limit = 1 / (2 * spacing * 4 * x / (v * v * t))
    return image[0, 0].astype(np.float64), t, limit


@pytest.mark.parametrize("choice", ["interpolate", "nearest"])
def test_an_operator_converges_to_the_sharp_low_pass_at_its_alias_limit(choice):
    """The operator's limit runs from 20 to 51 Hz of a wavelet of 25 Hz.

    The filters differ within two steps fN / B of the limit at most, so that the squared difference is less than the
    energy in that strip, which halves as the number of bands doubles.
    """
    errors, bounds = [], []
    for bands in NUMBERS:
        got, t, limit = one_operator(bands, choice)
        step = 0.5 / DT / bands
        sharp = low_passed(trace(), t, limit)
        strip = low_passed(trace(), t, limit + 2 * step) - low_passed(
            trace(), t, np.maximum(limit - 2 * step, 0)
        )
        errors.append(np.linalg.norm(got - sharp) / np.linalg.norm(sharp))
        bounds.append(np.linalg.norm(strip) / np.linalg.norm(sharp))
    assert all(e < b for e, b in zip(errors, bounds, strict=True)), (errors, bounds)
    # a flat spectrum would give the square root of 8 from 5 to 40 bands; the nearest band may lie beside by chance
    if choice == "interpolate":
        assert all(b < a / 1.2 for a, b in pairwise(errors)), errors
        assert errors[-1] < errors[0] / 2.5
    assert errors[-1] < 0.3


@pytest.mark.parametrize("half_length", [1.5, 3.0, 5.5])
def test_bands_mixed_by_the_response_of_a_triangle_converge_to_the_triangle_filter(half_length):
    """A triangle of half-length T passes R = sinc^2(f T), and that is a mixture of low-passes at the f_j.

    The weight of band j is what R loses over the step around f_j. Binning into steps d spreads the corners by
    d / sqrt(12), the fall of a band by d sqrt(1/3 - 2/pi^2): the mixture passes R + (1/12 + 1/3 - 2/pi^2) d^2 R'' / 2,
    and R'' is largest at zero frequency, 2 pi^2 T^2 / 3. It is held against the second difference of the double
    integral, as the sum reads it.
    """
    x = trace()[None]
    options = KirchhoffOptions(amplitude="none", antialias="triangle")
    exact = triangle_at_samples(prepare(x, TimeAxis(NT, DT), options), half_length)
    errors = []
    for bands in NUMBERS:
        samples = prepare(x, TimeAxis(NT, DT), KirchhoffOptions(amplitude="none", bands=bands)).samples
        between = (bands - np.arange(bands + 1) + 0.5) / bands  # f_j and half a step, parts of Nyquist
        passed = np.sinc(between * half_length / 2) ** 2
        weights = np.diff(passed)
        weights[0] = passed[1]  # band 0 ends nowhere
        mixed = (weights[:, None] * samples[0, :, 0, :NT]).sum(axis=0)
        errors.append(np.linalg.norm(mixed - exact) / np.linalg.norm(x))
        curvature = 2 * np.pi**2 / 3 * (half_length / 2) ** 2
        # 1e-3: interpolation, which the triangle does everywhere and the samples, almost where they are, less
        bound = (1 / 12 + 1 / 3 - 2 / np.pi**2) / 2 * curvature / bands**2
        if bands > 5:  # with 5 the next terms of the expansion count
            assert errors[-1] < bound + 1e-3
    assert all(b < a / 2.5 for a, b in pairwise(errors)), errors


def triangle_at_samples(prepared, half_length: float) -> np.ndarray:
    """Return trace 0 under a triangle at its samples, from the double integral and the polynomials."""
    s, c = prepared.integrals[0], prepared.samples[0, 0].astype(np.float64)
    k = np.arange(len(c))[:, None]

    def integral(position: np.ndarray) -> np.ndarray:
        i = np.clip(position, 0, len(s) - 2).astype(int)
        f = position - i
        q = c[:, i] / ((k + 1) * (k + 2))
        value = s[i] + f * (s[i + 1] - s[i] - q.sum(axis=0)) + f * f * (q * f**k).sum(axis=0)
        return np.where(position > 0, value, 0.0)

    p = np.arange(NT, dtype=np.float64)
    return (integral(p + half_length) - 2 * integral(p) + integral(p - half_length)) / half_length**2
