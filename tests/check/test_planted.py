"""Planted mistakes are caught, and nothing is found in clean surveys.

One form of every mistake is planted here, all of them by ``SUBSALT_TESTS=all`` or
``python tests/check/planted``, which takes minutes. What is not caught yet stands in ``planted/open.txt``; a form that
is caught leaves that list.
"""

from __future__ import annotations

import pytest
from planted.clean import SURVEYS
from planted.form import FORMS, TITLES
from planted.run import Bench, chosen, open_forms, sample
from planted.truth import differs

from subsalt.job.cures import keys_in
from thorough import ALL, some

PLANTED = chosen() if ALL else sample()


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("planted"))


def test_every_mistake_has_forms():
    assert {f.number for f in FORMS} == set(TITLES)
    assert len({f.name for f in FORMS}) == len(FORMS)


def test_there_are_thirty_clean_surveys():
    assert len(SURVEYS) >= 30


@pytest.mark.parametrize(
    ("fix", "keys"),
    [
        ('if feet: [data.fix] unit = "ft"', [("data.fix", "unit", "ft")]),
        ("[data] frame = {x0 = 1.5, y0 = 0}; or wait", [("data", "frame", {"x0": 1.5, "y0": 0})]),
        ("leave [propagation] dt out", [("propagation", "dt", None)]),
        (
            "[data.bytes] source_x = 73, source_y = 77",
            [("data.bytes", "source_x", 73), ("data.bytes", "source_y", 77)],
        ),
        ("give it: [data.fix] source_depth = ...", []),
    ],
)
def test_cures_are_read_as_a_person_pastes_them(fix, keys):
    assert [(k.section, k.key, k.value) for k in keys_in(fix)] == keys


def test_what_is_open_are_forms():
    assert open_forms() <= {f.name for f in FORMS}


@pytest.mark.parametrize("number", sorted(TITLES))
def test_mistakes_are_caught_but_for_those_that_are_open(bench, number):
    verdicts = {f.name: bench.verdict(f) for f in PLANTED if f.number == number}
    missed = {name: f"{v.word}: {v.why}" for name, v in verdicts.items() if not v.caught}
    assert set(missed) == open_forms() & set(verdicts), missed


@pytest.mark.parametrize("name", some(SURVEYS, 36))
def test_nothing_is_found_in_a_clean_survey(bench, name):
    assert bench.false_alarms(name) == []


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("hydrophones, 11", "line"),
        ("hydrophones, 11, in one file", "line"),
        ("vertical components, 12", "time"),
    ],
)
def test_sensors_of_one_kind_are_read_whole(bench, name, same):
    assert differs(bench.clean(name)[2], bench.clean(same)[2], keeps=1.0) == ""
