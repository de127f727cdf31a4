"""Direct waves of shots against each other and against zero: places of sources, times of single shots and of all."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from break_surveys import DT, F0, altered, context, findings, later, modelled

from subsalt.check import load_rules, run_rules
from subsalt.check.near_source import BETWEEN, KNOWN, compare_shots, lateness
from subsalt.check.picked import breaks, measured, seen
from thorough import each, some

PERIOD = 1.0 / F0
#: of the direct wave
SPEED = {"streamer": 1500.0, "land, split spread": 1800.0, "streamer under a free surface": 1500.0}


def moved(name, by, which=None):
    """Return a context whose sources are said to stand `by` m farther along the line."""
    return context(
        name, lambda i, s: {"src": s.src + np.array([by, 0.0, 0.0])} if which is None or i in which else {}
    )


def shifted(name, samples, which=None):
    """Return a context whose traces come some samples later, or earlier."""

    def change(i, s):
        if which is not None and i not in which:
            return {}
        if samples > 0:
            return {"data": later(s.data, samples)}
        out = np.zeros_like(s.data)
        out[:, :samples] = s.data[:, -samples:]
        return {"data": out}

    return context(name, change)


@pytest.mark.parametrize("name", ["streamer", "land, split spread", "bottom nodes", "inversion", "3-D patch"])
def test_surveys_in_order_scatter_by_less_than_a_sample(name):
    made = context(name)
    lateness_of_all = compare_shots(
        [c for b in breaks(made) if (c := lateness(measured(made, b))) is not None]
    )
    assert lateness_of_all.scatter < DT / 4
    assert not lateness_of_all.late.any()
    assert not lateness_of_all.moved.any()
    assert abs(lateness_of_all.time) < KNOWN * PERIOD


@pytest.mark.parametrize("by", some([50.0, -50.0, 100.0, -100.0], 2))
def test_the_source_of_one_shot_in_a_split_spread(by):
    (reported,) = findings(moved("land, split spread", by, [2]))
    assert reported.code == "W394"
    # half a station of 25 m, and a tenth
    assert reported.evidence["moved_m"][0][0] == pytest.approx(-by, abs=13.0 + 0.1 * abs(by))
    assert reported.evidence["shots"] == [3]
    assert 'shots = "1-2, 4-5"' in reported.fix


@pytest.mark.parametrize("by", some([50.0, -50.0, 100.0, -100.0], 2))
def test_the_source_of_one_shot_of_a_streamer(by):
    (reported,) = findings(moved("streamer", by, [2]))
    assert reported.code == "W394"
    assert reported.evidence["late_s"][0] == pytest.approx(-by / SPEED["streamer"], abs=DT)
    assert float(re.search(r"or the source, by (\d+) m", reported.message)[1]) == pytest.approx(
        abs(by), abs=DT * 1500.0
    )


@pytest.mark.parametrize(
    ("name", "samples"),
    each(["streamer", "land, split spread", "streamer under a free surface"], [6, -6, 12]),
)
def test_one_shot_at_another_time(name, samples):
    """24 ms are more than the 15 % of a period, and the noise of picks, that shots may differ by."""
    assert abs(samples) * DT > BETWEEN * PERIOD + DT
    (reported,) = findings(shifted(name, samples, [3]))
    assert reported.code == "W394"
    assert reported.evidence["late_s"][0] == pytest.approx(samples * DT, abs=DT)


@pytest.mark.parametrize("name", ["streamer", "land, split spread"])
def test_one_shot_within_what_picks_scatter_is_none(name):
    assert findings(shifted(name, 2, [3])) == []


@pytest.mark.parametrize("samples", [10, -10, 15])
def test_all_times_within_a_period_in_a_split_spread(samples):
    """The waveform is that of the wavelet: 40 ms of 100 are none of its phase. The cure is right to a sample."""
    (reported,) = findings(shifted("land, split spread", samples))
    assert reported.code == "W346"
    delay = float(reported.fix.split("delay = ")[1].split(";")[0])
    assert delay == pytest.approx(-samples * DT, abs=1.01 * DT)


@pytest.mark.parametrize("by", [60.0, -100.0])
def test_all_sources_of_a_streamer_offer_no_delay(by):
    """On one side of the sources a distance looks like a time: a delay would be a wrong image where it is not."""
    (reported,) = findings(moved("streamer", by))
    assert reported.code == "W346"
    assert "delay =" not in reported.fix
    assert "t0 =" not in reported.fix
    assert "near offset" in reported.fix
    assert reported.evidence["shift_s"] == pytest.approx(by / SPEED["streamer"], abs=2 * DT)


def test_a_phase_that_is_not_known_is_left_open():
    """A wavelet a quarter of a cycle on: times within half a period may be its phase's, and that is said."""
    survey = modelled("land, split spread")[0]

    def turned(i, s):
        f = np.fft.rfft(s.data, 2 * s.data.shape[1], axis=1)
        return {"data": np.fft.irfft(f * 1j, axis=1)[:, : s.data.shape[1]].astype(np.float32)}

    made = context("land, split spread", survey=altered(survey, turned))
    said = run_rules(made, [r for r in load_rules() if r.subject == "first_breaks"])
    assert not [f for f in said if f.is_fault]


def test_a_source_that_is_off_keeps_most_of_the_survey():
    """No cure leaves out most shots: two of five that are off leave it open which are right."""
    for f in findings(moved("streamer", 100.0, [1, 2, 3])):
        assert "[data] shots" not in f.fix


@pytest.mark.parametrize(
    ("slowness", "words"),
    [(1 / 1800.0, "1800 m/s"), (-1 / 26141.0, "no moveout"), (-1 / 3000.0, "times that fall with offset")],
)
def test_the_line_of_a_bad_shot_has_no_absurd_velocity(slowness, words):
    shot = SimpleNamespace(line=SimpleNamespace(slowness=slowness, intercept=0.131))
    assert seen([shot]) == f"{words}, intercept 131 ms"
