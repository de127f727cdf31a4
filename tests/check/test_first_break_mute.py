"""A mute behind the first breaks: where it lies, when there is none, and what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from job_files import MIGRATE, survey, write_files, write_job
from subsalt.check.mutes import mute_findings
from subsalt.errors import ConfigError, FindingsError
from subsalt.job.signal.first_break_edge import edge_of
from subsalt.job.signal.mute import Mute
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.starter import write_job as start

MUTE = '\n[[signal]]\nstep = "mute"\nkind = "first-breaks"\n'


def noise():
    """Return the shots with noise instead of arrivals."""
    out = survey()
    rng = np.random.default_rng(5)
    for shot in out.shots:
        shot.data = rng.standard_normal(shot.data.shape).astype(np.float32)
    return out


def said(job):
    """Return what check says of the mutes of a job."""
    survey = job.load_survey()
    shot = survey.shots[0]
    return list(mute_findings(survey.reader.flow, shot.offset, 1))


def test_the_edge_lies_two_periods_behind_the_pulse(tmp_path):
    write_files(tmp_path)
    job = Job.from_toml(write_job(tmp_path, MIGRATE + MUTE))
    survey = job.load_survey()
    ((_, step, _),) = survey.reader.flow.mutes()
    # pulses of 10 Hz whose peaks come at 0.15 s + x / 1500; picks before the peak, within half a period
    assert step.velocity == pytest.approx(1500, abs=15)
    # the pulse has ended 0.08 s after its peak; two periods of at most 0.14 s after the pick at its beginning
    assert 0.15 + 0.08 <= step.delay < 0.15 + 2 * 0.14
    assert step.velocity == round(step.velocity)
    assert step.delay == round(step.delay, 3)
    # what there is are the pulses: nothing of them is left
    shot = survey.shots[0]
    assert np.abs(survey.traces(shot)).max() < 0.02 * np.abs(survey.reader.inner(shot)).max()
    (finding,) = said(job)
    assert finding.level == "ok"
    assert "behind the first breaks of 3 of 3 shots" in finding.message
    assert "first breaks" in survey.reader.flow.facts()[0]["label"]
    # the delay of the job is added to what was measured
    later = Job.from_toml(write_job(tmp_path, MIGRATE + MUTE + "delay = 0.05\n")).load_survey()
    assert next(later.reader.flow.mutes())[1].delay == pytest.approx(step.delay + 0.05)


def test_poor_first_breaks_mute_nothing_and_that_is_said(tmp_path):
    write_files(tmp_path, noise())
    job = Job.from_toml(write_job(tmp_path, MIGRATE + MUTE))
    survey = job.load_survey()
    shot = survey.shots[1]
    np.testing.assert_array_equal(survey.traces(shot), survey.reader.inner(shot))
    assert said(job)[0].code == "W319"
    assert "clear in 0 of 3 shots" in said(job)[0].message
    assert survey.reader.flow.facts()[0]["label"].startswith("no mute: first breaks")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda s: np.where(s.time.values() < 0.5, 0, s.data), ""),
        (lambda s: np.roll(s.data, 40 * s.id, axis=1), "off one line"),
        (lambda s: s.data[::-1], "first breaks"),
    ],
)
def test_what_is_no_line_is_no_edge(change, reason):
    made = survey()
    for shot in made.shots:
        shot.time = made.time
        shot.data = np.ascontiguousarray(change(shot), np.float32)
    edge = edge_of(made)
    assert reason in edge.reason
    assert edge.reason


def test_init_writes_the_mute_where_first_breaks_are_good(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    good = start(tmp_path / "good.toml", ["shots.sgy"], vp="vp.rsf")
    job = Job.from_toml(good.path)
    assert [s.kind for s in job.signal] == ["first-breaks"]
    assert any("mute behind the first breaks" in text for text in good.read)
    write_files(tmp_path, noise())
    poor = start(tmp_path / "poor.toml", ["shots.sgy"], vp="vp.rsf")
    # noise has all frequencies, of which the grid carries a part
    assert [s.step for s in Job.from_toml(poor.path).signal] == ["bandpass"]
    assert "# No mute of the direct wave: first breaks are clear in 0 of 3 shots" in poor.text
    by_hand = next(line for line in poor.text.splitlines() if line.startswith("  # { step = "))
    path = write_job(tmp_path, poor.text.replace(by_hand, by_hand.replace("# ", "")), "hand.toml")
    assert [s.step for s in Job.from_toml(path).signal] == ["bandpass", "mute"]
    assert Job.from_toml(path).signal[1].velocity == 1500
    given = start(tmp_path / "given.toml", ["shots.sgy"], vp="vp.rsf", f0="10 Hz")
    assert Job.from_toml(given.path).signal is None
    by_hand = next(line for line in given.text.splitlines() if line.startswith("# signal = "))
    path = write_job(tmp_path, given.text.replace(by_hand, by_hand[2:]), "hand2.toml")
    assert Job.from_toml(path).signal[0].velocity == 1500


def test_wrong_input_is_refused(tmp_path):
    write_files(tmp_path)
    with pytest.raises(FindingsError) as caught:
        Job.from_toml(write_job(tmp_path, MIGRATE + "\n[data.mute]\nvelocity = 1500\n" + MUTE))
    assert [f.code for f in caught.value.findings] == ["E798"]
    with pytest.raises(FindingsError, match="no use for velocity"):
        Job.from_toml(write_job(tmp_path, MIGRATE + MUTE + "velocity = 1500\n"))
    # where there are no shots to measure it on
    with pytest.raises(ConfigError, match="reverse time migration"):
        Mute(step="mute", kind="first-breaks").operator(survey().time, lambda name, key: tmp_path / name)
