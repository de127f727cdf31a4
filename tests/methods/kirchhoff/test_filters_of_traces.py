"""Phase and band filters: what their impulse responses do to every frequency, and what they are exact for."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.methods.kirchhoff.prepare import REACH, design, transform

DT = 0.004

#: what cutting the tails may change of a response, by the gain of the phase filter (filters.REACH)
CUT = 3e-4


def response(bank, points=1 << 14):
    """Return the responses (bands, points / 2 + 1) of finite impulse responses, by NumPy's transform."""
    lags = np.zeros((len(bank.impulse), points))
    lags[:, : bank.reach + 1] = bank.impulse[:, bank.reach :]
    if bank.reach:
        lags[:, -bank.reach :] = bank.impulse[:, : bank.reach]
    return np.fft.rfft(lags)


def phase(amplitude, w):
    return {"3d": -1j * w, "2.5d": np.conj(np.sqrt(1j * w)), "none": np.ones_like(w)}[amplitude]


def fall(part, middle, width):
    return 0.5 + 0.5 * np.cos(np.pi * np.clip((part - middle) / width + 0.5, 0, 1))


@pytest.mark.parametrize("amplitude", ["3d", "2.5d", "none"])
@pytest.mark.parametrize("bands", [1, 2, 10, 24])
def test_responses_are_those_of_the_theory(amplitude, bands):
    nt = 700
    bank = design(nt, DT, amplitude, bands)
    responses = response(bank)
    part = np.arange(responses.shape[1]) / (responses.shape[1] - 1)
    ideal = phase(amplitude, np.pi * part / DT)
    # the half derivative ends with the record: seen from frequencies of many periods per record, the cut tail is
    # 0.28 n^-1.5 summed over n > nt, at w by its first half period: below 0.28 nt^-1.5 / w, against a gain of sqrt(w)
    low = 0.02
    w = np.pi * low
    allowed = CUT + (0.28 * nt**-1.5 / w / np.sqrt(w) if amplitude == "2.5d" else 0.0)
    use = part >= low if amplitude == "2.5d" else part > 0
    for j, got in enumerate(responses):
        shape = np.ones_like(part) if j == 0 else fall(part, (bands - j) / bands, 2 / bands)
        if amplitude != "none":
            shape *= fall(part, 0.9, 0.2)
        error = np.abs(got - ideal * shape)[use] / np.maximum(np.abs(ideal), np.abs(ideal[1]) * 16)[use]
        assert error.max() < allowed, j
    assert bank.corner == pytest.approx([(bands - j) / bands / (2 * DT) for j in range(bands)])


def test_constants_pass_bands_exactly_and_have_no_derivative():
    bank = design(500, DT, "none", 10)
    assert np.abs(bank.impulse.sum(axis=1) - 1).max() < 1e-13
    assert np.abs(design(500, DT, "3d", 10).impulse.sum(axis=1)).max() * DT < 1e-13


def test_signs():
    """-d/dt of a ramp is -1; the half derivative twice is the derivative with the time turned, and is anticausal."""
    slope = design(500, DT, "3d", 1)
    ramp = DT * np.arange(-slope.reach, slope.reach + 1)
    assert np.dot(ramp, slope.impulse[0][::-1]) == pytest.approx(-1.0, abs=CUT)
    half = response(design(2000, DT, "2.5d", 1))[0]
    part = np.arange(len(half)) / (len(half) - 1)
    inside = (part > 0.05) & (part < 0.8)
    w = np.pi * part[inside] / DT
    assert np.abs(half[inside] ** 2 + 1j * w).max() / w.max() < 1e-3  # conj(sqrt(iw))^2 = -iw
    impulse = design(2000, DT, "2.5d", 1)
    energy = impulse.impulse[0] ** 2
    assert energy[impulse.reach + 8 :].sum() < 0.01 * energy[: impulse.reach + 1].sum()


def test_reach_follows_the_narrowest_fall():
    assert design(900, DT, "none", 20).reach == 10 * REACH
    assert design(500, DT, "none", 1).is_identity
    assert design(500, DT, "3d", 1).reach == 5 * REACH
    # no further than a record: its longest lag, and the 8 samples that interpolation takes beyond its end
    short, long = design(100, DT, "3d", 10), design(500, DT, "3d", 10)
    assert short.reach == 107
    np.testing.assert_array_equal(short.impulse, long.impulse[:, long.reach - 107 : long.reach + 108])


def test_zero_phase_bands_are_symmetric():
    bank = design(500, DT, "none", 7)
    np.testing.assert_allclose(bank.impulse, bank.impulse[:, ::-1], atol=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 12, 64, 96, 108])
def test_transform_is_the_discrete_fourier_transform(n):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))
    a, b = transform(x.real, x.imag)
    assert np.abs(a + 1j * b - np.fft.fft(x)).max() < 1e-14 * n
    a, b = transform(a, b, sign=1)
    assert np.abs(a + 1j * b - n * x).max() < 1e-14 * n * n


def test_transform_refuses_other_lengths():
    with pytest.raises(ValueError, match="5 points"):
        transform(np.zeros(10)[::2], np.zeros(5))
