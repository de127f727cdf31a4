"""The step `swell`: what it takes of swell and of signal, and that conditions of `edit` may name a band."""

import numpy as np
import pytest
from test_signal_steps import flow, headers, ricker

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import Finding, FindingsError
from subsalt.job.signal.edit import Edit
from subsalt.job.signal.edited_noise import knowing_edits
from subsalt.job.signal.step import Headers
from subsalt.job.signal.summary import signal_ended, signal_facts
from subsalt.job.signal.traces import treated
from subsalt.numerics.filters import convolve
from subsalt.parallel.comm import single
from subsalt.timing import Phases

LONG = TimeAxis(1501, 0.004)
BELOW = 5.0


def records(n, rng):
    """Return traces (n, nt) of a dozen arrivals that decay."""
    t = LONG.dt * np.arange(LONG.nt)
    times = rng.uniform(0.2, 5.5, 12)
    return np.array([sum(np.exp(-a) * ricker(t - a - 0.01 * k) for a in times) for k in range(n)])


def swell(n, rng, top=2.5):
    """Return stationary noise (n, nt) below `top` Hz, of unit rms."""
    f = np.fft.rfftfreq(4 * LONG.nt, LONG.dt)
    white = rng.standard_normal((n, len(f))) + 1j * rng.standard_normal((n, len(f)))
    noise = np.fft.irfft(np.where(f < top, white, 0))[:, : LONG.nt]
    return noise / np.sqrt(np.mean(noise**2, axis=1, keepdims=True))


def through(made, x):
    """Return the traces after the steps, and their headers with marks."""
    its = headers(len(x))
    marked = Headers(its.shot, its.offset, its.values, made.marks(lambda rows: x[rows], its))
    return made.apply(x, marked), marked


def test_swell_goes_and_signal_stays():
    """Of noise twice as strong as the record less than a tenth is left, and the clean record, which the filter never
    touched, comes out to the bit."""
    rng = np.random.default_rng(1)
    clean, n = records(24, rng), 24
    loud = clean + 2 * np.sqrt(np.mean(clean**2)) * swell(n, rng)
    made = flow({"step": "swell"}, time=LONG)
    out, marked = through(made, loud)
    # a share is known to 0.2, and 1 is three deviations above the half from which all is taken
    assert np.mean(marked.marks[0] == 100) > 0.9
    assert (marked.marks[0] > 50).all()
    left = np.linalg.norm(out - clean) / np.linalg.norm(loud - clean)
    # what is left: the low band of the record itself, a thousandth of its energy, and the filter's ends
    assert left < 0.1
    same, unmarked = through(made, clean)
    assert not unmarked.marks[0].any()
    np.testing.assert_array_equal(same, clean)


def test_what_it_takes_lies_in_the_band_alone():
    """Above the end of the band nothing changes: the difference is the filter's, whose ramp ends at 1.5 times below."""
    rng = np.random.default_rng(2)
    loud = records(6, rng) + 3 * swell(6, rng)
    taken = loud - through(flow({"step": "swell"}, time=LONG), loud)[0]
    power = np.abs(np.fft.rfft(taken * np.hanning(LONG.nt), axis=1)) ** 2
    f = np.fft.rfftfreq(LONG.nt, LONG.dt)
    # the ends of the record cut the filter's output, which leaks as the window does: below -60 dB
    assert power[:, f > 2 * BELOW].sum() < 1e-6 * power.sum()


def test_only_traces_with_swell_are_touched_and_the_report_counts_them():
    rng = np.random.default_rng(3)
    x = records(30, rng).astype(np.float32)
    x[[4, 17]] += 5 * swell(2, rng).astype(np.float32)
    points = np.stack([25.0 * np.arange(30), np.zeros(30), np.zeros(30)], axis=1)
    survey = Survey(
        [Shot(7, np.zeros(3), points, None)],
        LONG,
        2,
        reader=lambda shot, rows=None: x if rows is None else x[rows],
    )
    survey = treated(survey, flow({"step": "swell"}, time=LONG))
    facts = signal_facts(survey, single(), Phases())["signal"]
    (edit,) = facts["edited"]
    assert edit["traces"] == 2
    assert edit["do"] == "attenuate"
    assert "below 5 Hz" in edit["reason"]
    assert [t["trace"] for t in edit["listed"]] == [5, 18]
    out = survey.reader(survey.shots[0])
    others = np.setdiff1d(np.arange(30), [4, 17])
    np.testing.assert_array_equal(out[others], x[others])
    (share,) = signal_ended(survey, single())["signal_taken"]
    wide = x.astype(np.float64)
    assert share == pytest.approx(((wide - out) ** 2).sum() / (wide**2).sum(), rel=1e-6)


def test_zeros_and_blocks_change_nothing():
    rng = np.random.default_rng(4)
    x = (records(70, rng) + 2 * swell(70, rng)).astype(np.float32)
    x[11] = 0
    made = flow({"step": "swell"}, time=LONG)
    whole, marked = through(made, x)
    assert not whole[11].any()
    assert marked.marks[0][11] == 0
    parts = [made.apply(x[a:b], marked.take(slice(a, b))) for a, b in ((0, 1), (1, 40), (40, 70))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    ("keys", "time", "words"),
    [
        ({"below": 90}, LONG, "below = 90 Hz: its band ends at 135 Hz"),
        ({"below": 5}, TimeAxis(301, 0.004), "records of 1.204 s are too short"),
    ],
)
def test_bands_that_cannot_be_are_refused(keys, time, words):
    with pytest.raises(FindingsError) as raised:
        flow({"step": "swell", **keys}, time=time)
    assert raised.value.findings[0].code == "E791"
    assert words in raised.value.findings[0].message


def test_a_condition_looks_at_its_band():
    """A hum that is weak beside the record is the strongest there is in its band."""
    rng = np.random.default_rng(5)
    x = records(20, rng)
    t = LONG.dt * np.arange(LONG.nt)
    x[6] += 0.3 * np.sqrt(np.mean(x[6] ** 2)) * np.sin(2 * np.pi * 3 * t)
    broad, banded = ({"step": "edit", "where": "rms > 3*median", **more} for more in ({}, {"band": [0, 5]}))
    assert not through(flow(broad, time=LONG), x)[1].marks[0].any()
    assert np.flatnonzero(through(flow(banded, time=LONG), x)[1].marks[0]).tolist() == [6]
    made = flow(banded, time=LONG).operators[0]
    # inside the band all passes, from a quarter beyond on nothing
    response = made._band.response(np.array([0.5, 4.0, 6.5, 60.0]), LONG.dt)[0]
    np.testing.assert_allclose(response, [1, 1, 0, 0], atol=2e-3)
    assert convolve(x, made._band).shape == x.shape
    assert flow(banded, time=LONG).steps[0].label() == "zero traces where rms > 3*median from 0 to 5 Hz"


@pytest.mark.parametrize(
    ("band", "where", "words"),
    [
        ([5, 3], "rms > 1", "band = "),
        ([3], "rms > 1", "band = "),
        ([0, 5], "offset > 30", "does not look at samples"),
    ],
)
def test_bands_of_conditions_that_mean_nothing(band, where, words):
    with pytest.raises(Exception, match=words) as raised:
        Edit.model_validate({"step": "edit", "where": where, "band": band})
    assert getattr(raised.value, "code", "E796") == "E796"


def test_a_band_above_nyquist_is_refused():
    with pytest.raises(FindingsError, match="Nyquist"):
        flow({"step": "edit", "where": "rms > 3*median", "band": [100, 200]}, time=LONG)


@pytest.mark.parametrize(
    ("step", "level"),
    [
        ({"step": "swell"}, "ok"),
        ({"step": "bandpass", "corners": [3, 6, 60, 80]}, "ok"),
        ({"step": "bandpass", "high": 60}, "warning"),
        ({"step": "gain", "kind": "power", "power": 1}, "warning"),
    ],
)
def test_check_knows_the_steps_that_take_swell(step, level):
    survey = Survey([], LONG, 2, reader=lambda shot, rows=None: np.zeros((0, LONG.nt)))
    survey = treated(survey, flow(step, time=LONG))
    swell = Finding("W270", "warning", "3 of 9 traces looked at hold swell noise", "a cure", {})
    loud = Finding(
        "E246",
        "error",
        "3 of 9 traces are far stronger",
        "a cure",
        {"kind": "swell below 5 Hz", "numbers": {}},
    )
    spikes = Finding(
        "E246", "error", "3 of 9 traces are far stronger", "a cure", {"kind": "spikes", "numbers": {}}
    )
    edits = knowing_edits([swell, loud, spikes], survey)
    assert [f.level for f in edits] == [level, "ok" if level == "ok" else "error", "error"]
