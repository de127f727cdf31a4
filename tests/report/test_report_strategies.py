"""The report says what shots did to have their source wavefields again, and whether that was planned."""

import re

import pytest

from subsalt.report.facts import RunFacts
from subsalt.report.render import part
from subsalt.report.time_spent import strategy


def section_words(**changes):
    """Return the words of the section for two shots of one strategy."""
    facts = RunFacts.__new__(RunFacts)
    shot = {
        "planned": {"source_steps": 700, "receiver_steps": 500, "states_stored_disk": 3, "restart_points": 0},
        "counted": {"source_steps": 700, "receiver_steps": 500, "states_stored_disk": 3, "restart_points": 0},
        "bytes_written": [3_000_000, 3_000_000],
        "bytes_read": [0, 0],
        "damaged": 0,
    }
    run = {"strategy": "revolve, disk", "why": "the only one that fits", "differing": []}
    facts.run = {
        "checkpoint": run
        | {"shots": {"1": shot, "2": shot | changes}}
        | {k: changes[k] for k in run if k in changes}
    }
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", part("run.html", "strategy", strategy(facts))))


def test_planned_beside_counted():
    text = section_words()
    assert "revolve, disk: the only one that fits. What the shots did is as planned." in text
    assert "states stored on disk 6 6" in text
    assert "written to scratch 6 MB 6 MB" in text
    assert "restart points" not in text
    assert "read from scratch" not in text


def test_damage_and_differences_are_told():
    text = section_words(damaged=2, recomputed=40, differing=[2])
    assert "not as planned in 1 of 2 shots" in text
    assert "damaged records 2" in text
    assert "done again for them 40" in text


@pytest.mark.parametrize("run", [{}, {"checkpoint": {}}, {"checkpoint": {"strategy": 3, "shots": {"1": {}}}}])
def test_runs_that_say_nothing_have_no_section(run):
    facts = RunFacts.__new__(RunFacts)
    facts.run = run
    assert strategy(facts) is None
