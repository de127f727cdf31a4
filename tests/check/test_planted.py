"""Planted mistakes are caught, no cure that is printed does harm, and nothing is found in clean surveys.

The first form of every fifth mistake is planted here, and is named; of some, every cure is pasted that is printed. All
forms are planted and judged by ``SUBSALT_TESTS=all`` or ``make prove-cures``, which takes an hour. What is not caught
yet stands in ``planted/open.txt``, what is wrongly said of clean surveys in ``planted/alarms.txt``;
``python tests/check/planted --write-open`` writes both lists.
"""

from __future__ import annotations

import numpy as np
import pytest
from planted.clean import SURVEYS
from planted.form import FORMS, TITLES
from planted.images import counterparts
from planted.judge import offered, pasted, words_of
from planted.run import Bench, chosen, known_alarms, open_forms, sample
from planted.truth import differs, truth

from subsalt.job.cures import keys_in
from subsalt.methods.rtm.job import Job
from thorough import ALL, some

PLANTED = chosen() if ALL else sample()
#: numbers of the mistakes whose cures are pasted one by one: some that take a second each
JUDGED = sorted(TITLES) if ALL else [1, 27, 42, 68]
#: those that a check is to name: from the third on, of which none is planted in a survey in 3-D
NAMED = sorted(TITLES) if ALL else sorted(TITLES)[2::5]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("planted"))


def test_every_mistake_has_forms():
    assert {f.number for f in FORMS} == set(TITLES)
    assert len({f.name for f in FORMS}) == len(FORMS)


def test_there_are_eighty_clean_surveys():
    assert len(SURVEYS) >= 80


def test_what_is_open_are_forms():
    assert open_forms() <= {f.name for f in FORMS}


def test_known_alarms_are_of_clean_surveys():
    assert set(known_alarms()) <= set(SURVEYS)


@pytest.mark.parametrize(
    ("fix", "cures"),
    [
        # alternatives are tried one by one, what belongs together at once
        (
            '[data.fix] unit = "ft"; [data.fix] scalar = -10',
            ["[data.fix] unit = ft", "[data.fix] scalar = -10"],
        ),
        ("[data.fix] dt = 0.004, delay = 0.1", ["[data.fix] dt = 0.004, [data.fix] delay = 0.1"]),
        # one value for a key is another cure than the other
        (
            "[data.fix] scalar = -10 or [data.fix] scalar = 10",
            ["[data.fix] scalar = -10", "[data.fix] scalar = 10"],
        ),
        # what confirms, is to be filled in, or only looks like a key
        ("[data.fix] format = 5; if the headers are right: [data.fix] format = 1", ["[data.fix] format = 5"]),
        ("[data.fix] scalar = -10; [data.fix] scalar = 1 says that it is right", ["[data.fix] scalar = -10"]),
        ("give the depth: [data.fix] source_depth = ...", []),
        ("leave the file out: [data] exclude = [3]", ["[data] exclude = [3]"]),
        ("leave [source] f0 out", ["leave [source] f0 out"]),
    ],
)
def test_cures_are_offered_as_a_person_pastes_them(bench, fix, cures):
    assert [words_of(c) for c in offered(fix, bench.case("line"))] == cures


def four_shots(bench):
    """Return a clean line of four shots, and what it holds."""
    clean = bench.case("npz")
    return clean, truth(Job.from_toml(clean.write_job()))


@pytest.mark.parametrize(
    ("fix", "low", "high"),
    some(
        [
            # a wave of 12 Hz that comes 10 ms late is moved by an eighth of its period: cos(2 pi / 8) = 0.71, and the
            # band reaches twice as far up as down
            ("[data.fix] delay = 0.01", 0.5, 0.85),
            # another grid of the same waves, and shots that are left out of both
            ("[propagation] grid = 9", 0.99, 1.0),
            ('[data] shots = "101-103"', 0.9999, 1.0),
        ],
        2,
    ),
)
def test_images_tell_a_wrong_cure_from_a_treatment(bench, fix, low, high):
    clean, then = four_shots(bench)
    case = pasted(clean, keys_in(fix), "tried")
    job = Job.from_toml(case.write_job())
    assert low < bench.images.likeness(job, truth(job), clean, then, keys_in(fix)) < high + 1e-6


def test_a_shot_that_differs_is_compared_alone(bench):
    clean, then = four_shots(bench)
    job = Job.from_toml(clean.path)
    now = truth(job)
    # one shot of four, its cable 25 m off: the image of all is still more like than unlike
    now["rcv"] = now["rcv"] + np.where(now["shot"] == 103, 25.0, 0.0)[:, None] * [1, 0, 0]
    now["data"] = np.where((now["shot"] == 103)[:, None], -now["data"], now["data"])
    rows = counterparts(now, then)
    assert bench.images._alike(job, now, clean, then, rows, [], False) > 0
    assert bench.images.likeness(job, now, clean, then, []) < 0


@pytest.mark.parametrize("number", JUDGED)
def test_mistakes_are_caught_but_for_those_that_are_open(bench, number):
    verdicts = {f.name: bench.verdict(f) for f in PLANTED if f.number == number}
    missed = {name: f"{v.word}: {v.why}" for name, v in verdicts.items() if not v.caught}
    assert set(missed) == open_forms() & set(verdicts), missed


@pytest.mark.parametrize("number", NAMED)
def test_a_check_names_the_mistake(bench, number):
    forms = [f for f in PLANTED if f.number == number and f.name not in open_forms()]
    assert [f.name for f in forms if not bench.is_named(f)] == []


@pytest.mark.parametrize("name", some(SURVEYS, 4))
def test_nothing_is_found_in_a_clean_survey_but_what_is_known(bench, name):
    findings = bench.false_alarms(name)
    assert {line.split()[0] for line in findings} == known_alarms().get(name, set()), findings


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("hydrophones, 11", "line"),
        ("hydrophones, 11, in one file", "line"),
        ("vertical components, 12", "time"),
    ],
)
def test_sensors_of_one_kind_are_read_whole(bench, name, same):
    one, other = (truth(Job.from_toml(bench.case(of).path)) for of in (name, same))
    assert differs(one, other, keeps=1.0) == ""
