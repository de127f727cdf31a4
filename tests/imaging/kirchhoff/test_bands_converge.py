"""What the alias bands converge to as their number grows: a sharp local low-pass, and, mixed, the triangle filter."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.imaging.kirchhoff.filters import design
from subsalt.imaging.kirchhoff.prepare import prepare
from subsalt.kernels.kirchhoff import Medium, TraceGeometry, sum_traces
from subsalt.options_kirchhoff import KirchhoffOptions
from subsalt.survey import TimeAxis
from subsalt.wavelet import ricker

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
def test_two_bands_differ_from_a_sharp_low_pass_in_a_strip_of_three_steps_only(bands):
    """The local filter between bands j - 1 and j is one below its limit less two steps, nothing a step above it."""
    impulse = design(NT, DT, "none", bands).impulse
    points = 1 << 13
    lags = np.zeros((bands, points))
    reach = impulse.shape[1] // 2
    lags[:, : reach + 1], lags[:, -reach:] = impulse[:, reach:], impulse[:, :reach]
    response = np.fft.rfft(lags).real
    part = np.linspace(0, 1, points // 2 + 1)
    for limit in np.linspace(1 / bands, 1, 37)[1:-1]:
        b = bands * (1 - limit)
        hats = np.maximum(0, 1 - np.abs(b - np.arange(bands)))
        local = hats @ response
        assert hats.sum() == pytest.approx(1)
        # 3e-4: what cutting the filters at their reach changes (filters.REACH)
        assert np.abs(local[part < limit - 2 / bands] - 1).max(initial=0) < 3e-4
        assert np.abs(local[part > limit + 1 / bands]).max(initial=0) < 3e-4
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

    The filters differ in a strip of a width of 3 (interpolated) or 2 (nearest) steps fN / B below and at the limit, so
    that the squared difference is the energy in that strip at most; it halves as the number of bands doubles.
    """
    errors, bounds = [], []
    for bands in NUMBERS:
        got, t, limit = one_operator(bands, choice)
        step = 0.5 / DT / bands
        sharp = low_passed(trace(), t, limit)
        width = 3 if choice == "interpolate" else 2
        below = limit - 2 * step
        strip = low_passed(trace(), t, below + width * step) - low_passed(trace(), t, np.maximum(below, 0))
        errors.append(np.linalg.norm(got - sharp) / np.linalg.norm(sharp))
        bounds.append(np.linalg.norm(strip) / np.linalg.norm(sharp))
    # the strip moves with time, which spreads its energy a little: a tenth of room
    assert all(e < 1.1 * b for e, b in zip(errors, bounds, strict=True)), (errors, bounds)
    assert errors == sorted(errors, reverse=True)
    # a flat spectrum would give the square root of 8 from 5 to 40 bands; this one rises towards low frequencies first
    assert errors[-1] < errors[0] / 2


@pytest.mark.parametrize("half_length", [1.5, 3.0, 5.5])
def test_bands_mixed_by_the_response_of_a_triangle_converge_to_the_triangle_filter(half_length):
    """A triangle of half-length T passes sinc^2(f T), and that is a mixture of low-passes at f_j.

    With the weights R(f_{j+1}) - R(f_j), R(f_0) = 0, of a response R the mixture passes R(f_j) at every f_j, and
    between them something between: the error is at most the largest step of R. It is held against the second
    difference of the double integral, as the sum reads it.
    """
    x = trace()[None]
    options = KirchhoffOptions(amplitude="none", antialias="triangle")
    exact = triangle_at_samples(prepare(x, TimeAxis(NT, DT), options), half_length)
    errors = []
    for bands in NUMBERS:
        samples = prepare(x, TimeAxis(NT, DT), KirchhoffOptions(amplitude="none", bands=bands)).samples
        ends = (bands - np.arange(bands + 1)) / bands  # f_j, parts of Nyquist
        passed = np.sinc(ends * half_length / 2) ** 2
        weights = np.diff(passed)
        weights[0] = passed[1]
        mixed = (weights[:, None] * samples[0, :, 0, :NT]).sum(axis=0)
        errors.append(np.linalg.norm(mixed - exact) / np.linalg.norm(x))
        # 1e-3: interpolation between samples, which the triangle does everywhere and the samples do nowhere
        assert errors[-1] < np.abs(np.diff(passed)).max() + 1e-3
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] / 8


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
