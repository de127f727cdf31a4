"""Noise of low frequencies: the cut that takes it off, and checks that see mistakes in spite of it."""

import dataclasses

import numpy as np
import pytest
from break_surveys import DT, F0, SUBJECTS, altered, context, later, modelled, wavelet

from subsalt.acquisition.band import _quantile, cut_low, dominant_period, low_cut
from subsalt.acquisition.first_breaks import first_breaks, pick, reader_of
from subsalt.check import load_rules, run_rules
from subsalt.check.break_fits import onset
from thorough import each

#: frequencies of swell, Hz
SWELL = (0.5, 5.0)


def swell(shape, rms, seed, band=SWELL, dt=DT):
    """Return noise of a band, of one level from start to end."""
    n, nt = shape
    f = np.fft.rfftfreq(4 * nt, dt)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal((n, 4 * nt)))
    x = np.fft.irfft(spectrum * ((f > band[0]) & (f < band[1])), 4 * nt)[:, :nt]
    return rms * x / np.sqrt((x**2).mean())


def rms(data):
    return float(np.sqrt((data.astype(float) ** 2).mean()))


def in_swell(survey, part=0.2):
    """Return a survey with swell of a part of each shot's rms."""
    return altered(
        survey,
        lambda i, s: {"data": (s.data + swell(s.data.shape, part * rms(s.data), i)).astype(np.float32)},
    )


def said(survey, name):
    """Return what the rules of this subject say of a survey in swell, in order or not."""
    case = context(name, survey=in_swell(survey))
    return run_rules(case, [r for r in load_rules() if r.subject in SUBJECTS])


def shots(name):
    survey = modelled(name)[0]
    return [reader_of(survey)(s, np.arange(len(s.rcv))) for s in survey.shots]


@pytest.mark.parametrize("name", ["streamer", "deep water", "land, split spread", "refractions", "3-D patch"])
def test_records_without_swell_are_left_alone(name):
    data = shots(name)
    assert low_cut(data, DT) == 0.0
    noise = [d + rms(d) * np.random.default_rng(0).standard_normal(d.shape) * 0.4 for d in data]
    assert low_cut(noise, DT) == 0.0
    assert cut_low(data[0], DT, 0.0) is data[0]


@pytest.mark.parametrize("name", ["streamer", "land, split spread", "bottom nodes"])
@pytest.mark.parametrize(("part", "top"), [(0.2, 5.0), (1.0, 3.0)])
def test_the_cut_lies_between_swell_and_signal(name, part, top):
    data = [d + swell(d.shape, part * rms(d), i, (0.5, top)) for i, d in enumerate(shots(name))]
    assert top <= low_cut(data, DT) <= 0.9 * F0
    cut = low_cut(data, DT)
    quiet = np.concatenate([cut_low(d, DT, cut) for d in data])
    assert 0.7 * F0 < 1.0 / dominant_period(quiet, DT) < 1.6 * F0


@pytest.mark.parametrize("cut", [2.0, 4.0, 6.0])
def test_the_cut_is_causal_and_moves_no_pick(cut):
    trace = np.zeros((1, 400))
    t = DT * np.arange(400) - 0.8
    a = (np.pi * F0 * t) ** 2
    trace[0] = np.where(t > -0.15, (1 - 2 * a) * np.exp(-a), 0.0)
    out = cut_low(trace, DT, cut)
    # nothing before the first sample that is not zero: no precursor
    first = int(np.argmax(trace[0] != 0))
    assert not out[0, :first].any()
    # low frequencies go, by 24 dB per octave below the cut, high ones stay
    slow = np.sin(2 * np.pi * 0.25 * cut * DT * np.arange(4000))[None]
    assert np.abs(cut_low(slow, DT, cut)[0, 2000:]).max() < 4.0**-3.9
    fast = np.sin(2 * np.pi * 25.0 * DT * np.arange(4000))[None]
    assert rms(cut_low(fast, DT, cut)[0, 2000:]) == pytest.approx(rms(fast[0, 2000:]), rel=0.01)


@pytest.mark.parametrize("cut", [0.0, 2.0, 4.0, 6.0])
def test_picks_and_the_onset_of_the_wavelet_move_together(cut):
    made = wavelet(delay=0.0)
    quiet = np.zeros(400)
    trace = np.concatenate([quiet, made.samples, quiet])[None]
    at = pick(cut_low(trace, made.dt, cut), made.dt, 1 / F0)[0][0] - 400 * made.dt + made.t0
    assert at == pytest.approx(onset(made, cut), abs=1e-4)


def test_zeros_that_a_mute_left_stay():
    data = swell((4, 300), 1.0, 0)
    data[:, :50] = 0
    assert not cut_low(data, DT, 4.0)[:, :50].any()


def test_picks_in_swell_are_those_without_it():
    plain, noisy = first_breaks(modelled("streamer")[0]), first_breaks(in_swell(modelled("streamer")[0]))
    for a, b in zip(plain, noisy, strict=True):
        assert a.cut == 0 < b.cut
        assert b.good
        late = (b.time - onset(wavelet(), b.cut)) - (a.time - onset(wavelet()))
        # an eighth of a period for the phase of a 2-D wave, with which the onset of the wavelet goes along
        assert abs(np.nanmedian(late)) <= 1 / F0 / 8
        # a tenth of a period, where single picks are trusted to a quarter
        assert np.nanmedian(np.abs(late - np.nanmedian(late))) < 0.1 / F0


def change(name, fields):
    return altered(modelled(name)[0], fields)


def with_interval(name, factor):
    survey = modelled(name)[0]
    return dataclasses.replace(survey, time=dataclasses.replace(survey.time, dt=factor * DT))


def two_flipped(i, s):
    sign = np.where(np.isin(np.arange(len(s.data)), [7, 30]), -1, 1).astype(np.float32)
    return {"data": s.data * sign[:, None]}


MISTAKES = {
    "reversed": ("E347", lambda n: change(n, lambda i, s: {"data": s.data[::-1]})),
    "one reversed": ("E347", lambda n: change(n, lambda i, s: {"data": s.data[::-1]} if i == 1 else {})),
    "interval doubled": ("E345", lambda n: with_interval(n, 2.0)),
    "interval halved": ("E345", lambda n: with_interval(n, 0.5)),
    "polarity": ("W351", lambda n: change(n, lambda i, s: {"data": -s.data})),
    "polarity of one": ("E352", lambda n: change(n, lambda i, s: {"data": -s.data} if i == 1 else {})),
    "polarity of traces": ("W353", lambda n: change(n, two_flipped)),
    "late": ("E346", lambda n: change(n, lambda i, s: {"data": later(s.data, 50)})),
    "one late": ("E346", lambda n: change(n, lambda i, s: {"data": later(s.data, 50)} if i == 1 else {})),
}


@pytest.mark.parametrize(("name", "mistake"), each(["streamer", "land, split spread"], list(MISTAKES)))
def test_mistakes_are_found_in_swell(name, mistake):
    code, make = MISTAKES[mistake]
    assert [f.code for f in said(make(name), name) if f.is_fault] == [code]


@pytest.mark.parametrize(
    "name", ["streamer", "streamer under a free surface", "deep water", "bottom nodes", "VTI"]
)
def test_nothing_is_found_in_swell_alone(name):
    assert not [f for f in said(modelled(name)[0], name) if f.is_fault]


def test_what_stays_unclear_is_unchecked():
    """Swell ten times as strong as the data, up to their band, leaves nothing."""
    survey = altered(
        modelled("streamer")[0],
        lambda i, s: {
            "data": (s.data + swell(s.data.shape, 10 * rms(s.data), i, (0.5, 15.0))).astype(np.float32)
        },
    )
    findings = run_rules(context(survey=survey), [r for r in load_rules() if r.subject == "first_breaks"])
    assert [f.level for f in findings] == ["unchecked"]
    assert "clear enough" in findings[0].message


def test_the_quantile_of_few_numbers_is_that_of_numpy():
    rng = np.random.default_rng(8)
    for n in (*range(1, 24), 500):
        x = rng.standard_normal(n)
        assert [_quantile(x, q) for q in (0.0, 0.1, 0.37, 1.0)] == np.quantile(
            x, (0.0, 0.1, 0.37, 1.0)
        ).tolist()
