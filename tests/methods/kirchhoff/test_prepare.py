"""Preparation of traces: the compiled one against NumPy, same bits however it is run, and the ends of records."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.kirchhoff import PAD
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import (
    LARGEST,
    band_count,
    design,
    polynomials,
    prepare,
    prepared_bytes,
    taps,
)

DT = 0.004

KINDS = {
    "3-D, ten bands": KirchhoffOptions(),
    "2.5-D, three bands": KirchhoffOptions(amplitude="2.5d", bands=3),
    "bands alone, linear": KirchhoffOptions(amplitude="none", bands=4, interpolation="linear"),
    "nothing": KirchhoffOptions(amplitude="none", antialias="none"),
    "nothing, linear": KirchhoffOptions(amplitude="none", antialias="none", interpolation="linear"),
    "3-D, triangle": KirchhoffOptions(antialias="triangle"),
}


@pytest.fixture(params=KINDS)
def options(request):
    return KINDS[request.param]


def noise(n, nt, seed=3):
    return np.random.default_rng(seed).standard_normal((n, nt)).astype(np.float32)


def bank_of(time, options):
    return design(time.nt, time.dt, options.amplitude, band_count(options))


@pytest.mark.parametrize("nt", [2, 15, 16, 17, 200, 641])
def test_equals_numpy(options, nt):
    time = TimeAxis(nt, DT)
    traces = noise(19, nt)
    bank = bank_of(time, options)
    want = polynomials(traces, bank, taps(options.interpolation))
    # rounding of single precision (6e-8): log2(points) <= 11 stages there and back, then 16 taps and five sums of
    # coefficients no larger than 2; errors add as in a random walk, sqrt(22 + 21) of them, about the largest gain
    eps = np.finfo(np.float32).eps / 2
    gain = np.abs(bank.impulse).sum(axis=1).max() * np.abs(taps(options.interpolation)).sum(axis=1).max()
    allowed = eps * np.sqrt(43) * gain * np.abs(traces).max()
    for isa in cpu.available():
        with cpu.forced(isa=isa):
            got = prepare(traces, time, options).samples
        assert np.abs(got - want).max() < allowed, isa


def test_same_bits_for_any_instruction_set_threads_and_neighbours(options):
    time = TimeAxis(333, DT)
    traces = noise(37, 333)
    fused = [isa for isa in cpu.available() if isa in ("v3", "v4", "generic")]
    with cpu.forced(isa=fused[0]):
        want = prepare(traces, time, options, threads=1)
        alone = [prepare(traces[i : i + 1], time, options) for i in (0, 5, 36)]
        three = prepare(traces, time, options, threads=3)
        mixed = prepare(np.roll(traces, 3, axis=0), time, options)
    for i, one in zip((0, 5, 36), alone, strict=True):
        assert one.samples.tobytes() == want.samples[i].tobytes()
    assert three.samples.tobytes() == want.samples.tobytes()
    assert np.roll(mixed.samples, -3, axis=0).tobytes() == want.samples.tobytes()
    if want.integrals is not None:
        assert three.integrals.tobytes() == want.integrals.tobytes()
    for isa in fused[1:]:
        with cpu.forced(isa=isa):
            assert prepare(traces, time, options).samples.tobytes() == want.samples.tobytes(), isa


def test_memory_is_used_again_and_every_value_written(options):
    time = TimeAxis(100, DT)
    old = prepare(noise(20, 100), time, options)
    want = prepare(noise(9, 100, seed=8), time, options).samples.tobytes()
    old.samples.fill(np.nan)
    again = prepare(noise(9, 100, seed=8), time, options, out=old)
    assert np.shares_memory(again.samples, old.samples)
    assert again.samples.tobytes() == want
    # not aligned to cache lines: written another way, the same bits
    shifted = np.full(old.samples.size + 1, np.nan, dtype=np.float32)[1:]
    loose = replace(old, samples=shifted[: old.samples.size].reshape(old.samples.shape))
    assert prepare(noise(9, 100, seed=8), time, options, out=loose).samples.tobytes() == want
    # too small: left alone
    assert not np.shares_memory(prepare(noise(21, 100), time, options, out=old).samples, old.samples)


def test_layout_and_bytes(options):
    time = TimeAxis(100, DT, 0.5)
    prepared = prepare(noise(5, 100), time, options)
    n, bands, coefficients, row = prepared.samples.shape
    assert (n, bands) == (5, band_count(options))
    assert coefficients == (2 if options.interpolation == "linear" else 5)
    assert row >= 100 + PAD
    assert row % 16 == 0
    assert prepared.samples.flags.c_contiguous
    assert (prepared.t_first, prepared.dt, prepared.ns) == (0.5, DT, 100)
    assert not prepared.samples[..., 100:].any()
    assert not prepared.samples[:, :, 1:, 99].any()
    assert prepared.samples[:, :, 0, 99].all()
    integrals = 0 if prepared.integrals is None else prepared.integrals.nbytes
    assert prepared.samples.nbytes + integrals == 5 * prepared_bytes(100, options)
    assert (prepared.integrals is not None) == (options.antialias == "triangle")


def at(prepared, band, position):
    """Return band `band` of trace 0 at a position in samples."""
    i = int(position)
    return np.polyval(prepared.samples[0, band, ::-1, i].astype(np.float64), position - i)


@pytest.mark.parametrize("amplitude", ["3d", "2.5d", "none"])
def test_sinusoids_come_out_as_the_phase_filter_says(amplitude):
    """Away from the ends a band-limited tone has the gain and phase of the theory, between samples, too."""
    nt, f = 1000, 31.0
    w = 2 * np.pi * f
    t = DT * np.arange(nt)
    hann = np.sin(np.pi * (np.arange(nt) + 0.5) / nt) ** 2  # no ends
    prepared = prepare((hann * np.cos(w * t))[None], TimeAxis(nt, DT), KirchhoffOptions(amplitude=amplitude))
    gain = {"3d": -1j * w, "2.5d": np.conj(np.sqrt(1j * w)), "none": 1.0}[amplitude]
    for p in (480.0, 500.25, 511.5, 530.9):
        now = np.sin(np.pi * (p + 0.5) / nt) ** 2
        want = now * (gain * np.exp(1j * w * DT * p)).real
        # interpolation 1e-4 at a quarter of Nyquist, filters 3e-4; the window's sides, at +-1 / (nt dt), see a gain
        # that differs by 1 / (nt dt f) on either side, which cancels where the window is flat to
        # pi |p - nt/2| / nt of it
        slack = 1e-3 + np.pi * abs(p - nt / 2) / nt / (nt * DT * f)
        assert abs(at(prepared, 0, p) - want) < slack * abs(gain), p


def test_bands_pass_below_and_stop_above():
    nt, bands = 1200, 10
    hann = np.sin(np.pi * (np.arange(nt) + 0.5) / nt) ** 2
    options = KirchhoffOptions(amplitude="none", bands=bands)
    nyquist = 0.5 / DT
    for part in (0.05, 0.25, 0.45, 0.65):
        tone = hann * np.cos(2 * np.pi * part * nyquist * DT * np.arange(nt))
        samples = prepare(tone[None], TimeAxis(nt, DT), options).samples[0, :, 0, :nt]
        for j in range(bands):
            passes = j == 0 or part < (bands - j - 1) / bands
            error = samples[j] - (tone if passes else 0.0)
            if passes or part > (bands - j + 1) / bands:
                # filters, then what the taps of order 0 miss at the samples themselves, and the window's sides
                assert np.abs(error).max() < 1e-3, (part, j)


def test_no_wrap_around():
    """What happens at one end of a record does not reach the other: beyond the reach of the filters is nothing."""
    nt = 1000
    for options in (
        KirchhoffOptions(),
        KirchhoffOptions(amplitude="none"),
        KirchhoffOptions(amplitude="2.5d"),
    ):
        bank = bank_of(TimeAxis(nt, DT), options)
        for spike in (0, nt - 1):
            traces = np.zeros((1, nt), dtype=np.float32)
            traces[0, spike] = 1.0
            samples = prepare(traces, TimeAxis(nt, DT), options).samples[0]
            want = polynomials(traces, bank, taps("sinc"))[0]
            # rounding, spread over the record; the anticausal half derivative truly reaches from the last sample to
            # the first, but not the other way round
            assert np.abs(samples - want).max() < 3e-6 * np.abs(want).max()
            far = np.abs(np.arange(nt) - spike) > bank.reach + 8
            assert np.abs(samples[:, 0, :nt][:, far]).max(initial=0) < 3e-6 * np.abs(want).max()
    assert abs(samples[0, 0, 10]) < 1e-4 * np.abs(samples[0, 0]).max()


def test_records_end_as_if_silence_followed():
    """A record cut out of a longer silent one is filtered to the same values: no special treatment of its ends."""
    nt = 300
    traces = noise(3, nt) + 5.0  # a step at both ends
    inside = slice(400, 400 + nt)
    wide = np.zeros((3, 1100), dtype=np.float32)
    wide[:, inside] = traces
    for options in (
        KirchhoffOptions(),
        KirchhoffOptions(amplitude="none"),
        KirchhoffOptions(amplitude="2.5d"),
    ):
        short = prepare(traces, TimeAxis(nt, DT), options).samples
        long = prepare(wide, TimeAxis(1100, DT), options).samples[..., inside]
        assert np.abs(short[..., : nt - 1] - long[..., : nt - 1]).max() < 3e-6 * np.abs(long).max()


def test_delay_moves_times_and_no_value():
    traces = noise(2, 200)
    one, two = (prepare(traces, TimeAxis(200, DT, t0), KirchhoffOptions()) for t0 in (0.0, 1.25))
    assert one.samples.tobytes() == two.samples.tobytes()
    assert two.t_first == 1.25


def test_double_integral_gives_triangles_of_any_length(options):
    """The second difference of S is the trace under a triangle: constants pass, tones by the square of a sinc."""
    if options.antialias != "triangle":
        options = replace(options, antialias="triangle")
    options = replace(options, amplitude="none")
    nt = 400
    for tone, allowed in ((np.ones(nt), 1e-9), (np.cos(np.pi * 0.4 * np.arange(nt)), 1e-3)):
        linear = options.interpolation == "linear"
        prepared = prepare(tone[None], TimeAxis(nt, DT), options)
        for p, length in ((200.0, 0.05), (201.3, 0.7), (199.9, 1.5), (180.5, 7.25), (200.0, 40.0)):
            got = triangle(prepared, p, length)
            if tone[1] == 1.0:
                # S up to nt^2 / 2 in double precision, four of them, over length^2
                assert got == pytest.approx(1.0, abs=max(1e-6, 4 * 1.1e-16 * nt**2 / length**2)), length
                continue
            gain = np.sinc(0.2 * length) ** 2
            # linear: the trace is its chords, a tone under a triangle of one sample and images of it
            want = gain * np.cos(np.pi * 0.4 * p)
            slack = 1 - np.sinc(0.2) ** 2 if linear else allowed
            assert abs(got - want) < slack + 1e-6, (p, length)


def triangle(prepared, p, length):
    """Return trace 0 under a triangle, as the notes of `Prepared` say."""

    def integral(position):
        if position <= 0:
            return 0.0
        i = int(position)
        f = position - i
        c = prepared.samples[0, 0, :, i].astype(np.float64)
        k = np.arange(len(c))
        q = c / ((k + 1) * (k + 2))
        first, second = prepared.integrals[0, i : i + 2]
        return first + f * (second - first - q.sum()) + f * f * (q * f**k).sum()

    return (integral(p + length) - 2 * integral(p) + integral(p - length)) / length**2


@pytest.mark.parametrize("interpolation", ["sinc", "linear"])
def test_double_integral_is_that_of_the_polynomials(interpolation):
    options = KirchhoffOptions(antialias="triangle", interpolation=interpolation)
    prepared = prepare(noise(3, 90), TimeAxis(90, DT), options, threads=2)
    c = prepared.samples[:, 0].astype(np.float64)
    k = np.arange(c.shape[1])[:, None]
    slope = np.cumsum((c / (k + 1)).sum(axis=1), axis=1)
    rise = (c / ((k + 1) * (k + 2))).sum(axis=1)
    rise[:, 1:] += slope[:, :-1]
    want = np.cumsum(rise, axis=1)
    assert not prepared.integrals[:, 0].any()
    # two running sums of 120 numbers
    eps = 2 * c.shape[-1] * np.finfo(float).eps
    np.testing.assert_allclose(prepared.integrals[:, 1:], want[:, :-1], rtol=0, atol=eps * np.abs(want).max())


def test_double_integral_goes_on_as_a_straight_line():
    prepared = prepare(noise(4, 90), TimeAxis(90, DT), KirchhoffOptions(antialias="triangle"))
    tail = prepared.integrals[:, 90:]
    assert tail.shape[1] >= PAD
    bend = np.abs(np.diff(tail, 2, axis=1)).max()
    assert bend <= 4 * np.finfo(float).eps * np.abs(tail).max()


def test_no_traces(options):
    prepared = prepare(np.zeros((0, 50), dtype=np.float32), TimeAxis(50, DT), options)
    assert len(prepared.samples) == 0


def test_silence_stays_silent(options):
    prepared = prepare(np.zeros((17, 50), dtype=np.float32), TimeAxis(50, DT), options)
    assert not prepared.samples.any()


def test_the_largest_amplitudes_stay_finite(options):
    traces = np.full((2, 3000), LARGEST, dtype=np.float32)
    traces[1, ::2] *= -1
    assert np.isfinite(prepare(traces, TimeAxis(3000, 0.0005), options).samples).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 2e28])
def test_what_cannot_be_filtered_is_named(bad):
    traces = noise(6, 50)
    traces[4, 7] = bad
    with pytest.raises(ConfigError, match=r"^trace 4 holds ") as caught:
        prepare(traces, TimeAxis(50, DT), KirchhoffOptions())
    assert caught.value.code == "E718"
    with pytest.raises(ConfigError, match="trace 4104 holds "):
        prepare(traces, TimeAxis(50, DT), KirchhoffOptions(), numbers=4100 + np.arange(6))


@pytest.mark.parametrize("shape", [(50,), (3, 49), (1, 2, 50)])
def test_traces_that_do_not_fit(shape):
    with pytest.raises(ConfigError, match="the time axis has 50 samples") as caught:
        prepare(np.zeros(shape, dtype=np.float32), TimeAxis(50, DT), KirchhoffOptions())
    assert caught.value.code == "E717"
