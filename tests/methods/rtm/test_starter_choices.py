"""`init` writes no job that `check` refuses for what `init` chose."""

import tomllib
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from subsalt.errors import Finding
from subsalt.examples import make_example
from subsalt.job.checking import check_job
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import write_job
from subsalt.methods.rtm.starter_choices import Choices, corrected, steps_of
from thorough import thorough


@pytest.fixture(scope="module")
def marine(tmp_path_factory):
    """Return the folder of a short marine line with ghosts, noise and a grid too coarse for its band."""
    folder = tmp_path_factory.mktemp("marine") / "line"
    make_example("marine", folder, 3)
    return folder


def test_a_marine_line_gets_a_job_that_is_in_order(marine):
    made = write_job(marine / "a.toml", [str(marine / "line.sgy")], vp=str(marine / "vp.sgy"))
    raw = tomllib.loads(made.text)
    # the data peak at 35 Hz: more than a grid of 12.5 m carries of a wavelet in water
    assert [step["step"] for step in raw["signal"]] == ["edit", "bandpass", "mute"]
    assert raw["source"]["f0"] < 15
    assert raw["signal"][1]["corners"][-1] == pytest.approx(2.5 * raw["source"]["f0"], abs=0.3)
    assert raw["propagation"]["free_surface"] is True
    # the source function peaks at 14 ms and has its trough at 30 ms; 1.5 / f0 would be 114 ms
    assert 0.014 <= raw["source"]["t0"] <= 0.05
    assert "E246" not in {f.code for f in made.findings}
    result = check_job(Job.from_toml(made.path))
    assert not result.has_errors
    assert not {"E346", "W346"} & {f.code for f in result.findings}
    # and without the mute, which takes no part in the choice
    text = "".join(line for line in made.text.splitlines(True) if 'step = "mute"' not in line)
    unmuted = check_job(Job.from_dict(tomllib.loads(text), marine))
    assert not {"E346", "W346"} & {f.code for f in unmuted.findings}
    assert "constant_s" not in {name for f in unmuted.findings for name in f.evidence}


# that it stays: test_no_band_is_chosen_where_the_model_is_the_mistake; that it is written: test_rtm_starter
@thorough
def test_a_frequency_that_the_user_gives_stays(marine):
    made = write_job(marine / "b.toml", [str(marine / "line.sgy")], vp=str(marine / "vp.sgy"), f0="12 Hz")
    raw = tomllib.loads(made.text)
    assert raw["source"]["f0"] == 12.0
    assert "bandpass" not in [step["step"] for step in raw["signal"]]


@dataclass
class Result:
    """What a run of the rules gives, as far as choices look at it."""

    findings: list
    facts: dict = field(default_factory=dict)

    @property
    def context(self):
        return SimpleNamespace(facts=self.facts, wavelet=SimpleNamespace(peak_time=1.5 / 36.0))


def finding(code, fix, level="error"):
    return Finding(code, level, "a mistake", fix)


def test_noise_and_band_come_before_times_and_ghosts():
    first = Choices(36.0, given=False)
    late = finding("E346", "[data.fix] delay = 0.068; or, where the wavelet is wrong: [source] t0 = 0.05")
    ghosts = finding("W397", "[propagation] free_surface = true", "warning")
    noise, coarse = finding("E246", "[data] exclude = []"), finding("E531", "[propagation] grid = 4.67")
    facts = {"fmax_without_dispersion": 33.7}
    second = corrected(first, Result([noise, coarse, late, ghosts], facts))
    # a lower frequency does not move the peak: it stays where that of 36 Hz was
    assert second == Choices(13.2, given=False, band=33.0, noise="zeroed", t0=0.0417)
    third = corrected(second, Result([late, ghosts], facts))
    by_breaks = {"t0": 0.05, "t0_by": "first breaks"}
    assert third == Choices(13.2, given=False, band=33.0, noise="zeroed", **by_breaks)
    assert corrected(third, Result([ghosts], facts)).free_surface
    assert corrected(third, Result([], facts)) == third
    assert [line.split('"')[1] for line in steps_of(third)] == ["edit", "bandpass"]


def test_a_peak_that_direct_waves_do_not_confirm_is_moved():
    """Where the waveform is another, `check` leaves open whether time zero or the wavelet is off; `init` does not."""
    early = Finding("I001", "unchecked", "first breaks: ...", "", {"constant_s": -0.02})
    moved = corrected(Choices(13.2, given=True), Result([early]))
    assert moved == Choices(13.2, given=True, t0=0.0217, t0_by="first breaks")
    fits = Finding("I001", "unchecked", "echoes: ...", "", {"given": 0.07})
    assert corrected(moved, Result([fits])) == moved


@pytest.mark.parametrize(
    ("choices", "late"),
    [(Choices(13.0, given=True), 0.227), (Choices(13.0, given=True, vp_guessed=True), -0.02)],
    ids=["later than a pulse can peak", "velocities are a guess"],
)
def test_times_that_do_not_speak_of_the_wavelet_do_not_move_its_peak(choices, late):
    """Refracted first arrivals of four field shots were taken for direct waves: the peak moved to 342 ms."""
    left_open = Finding("I001", "unchecked", "first breaks: ...", "", {"constant_s": late})
    assert corrected(choices, Result([left_open])) == choices


def test_a_step_that_leaves_noise_is_taken_back():
    noise = finding("E246", "[data] exclude = []")
    zeroed = corrected(Choices(10.0, given=True), Result([noise]))
    left = corrected(zeroed, Result([noise]))
    assert (zeroed.noise, left.noise) == ("zeroed", "left")
    assert steps_of(left) == []
    assert corrected(left, Result([noise])) == left


def test_no_band_is_chosen_where_the_model_is_the_mistake():
    coarse = finding("E531", "[propagation] grid = 0.1")
    choices = Choices(30.0, given=False)
    assert corrected(choices, Result([coarse], {"fmax_without_dispersion": 0.4})) == choices
    given = Choices(30.0, given=True)
    assert corrected(given, Result([coarse], {"fmax_without_dispersion": 20.0})) == given
