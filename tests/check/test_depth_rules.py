"""Depths of stations against the model and against each other: mistakes, and surveys in order."""

import dataclasses

import numpy as np
import pytest
from layouts import context

from subsalt import check
from subsalt.propagation.options import PropagationOptions

TOP = -300.0


def findings_of(of, code):
    """Return the findings of a code."""
    return [f for f in check.run_rules(of, check.load_rules()) if f.code == code]


def with_depths(change, which=None, **more):
    """Return a survey at the top of a model that begins at 300 m above the datum, receivers of some shots changed."""
    of = context(origin=(0.0, TOP), **more)
    shots = [
        dataclasses.replace(s, rcv=s.rcv * [1, 1, 0] + [0, 0, 1] * change(s.rcv[:, 2:]))
        if which is None or i in which
        else s
        for i, s in enumerate(of.survey.shots)
    ]
    return dataclasses.replace(of, survey=dataclasses.replace(of.survey, shots=shots), samples=[])


def test_elevations_of_all_shots_that_count_downward():
    (f,) = findings_of(with_depths(np.negative), "W391")
    assert "[data.fix] z_sign = -1" in f.fix
    assert "lie 590 m below the top of the model (z = 290" in f.message


def test_elevations_of_one_shot_that_count_downward():
    (f,) = findings_of(with_depths(np.negative, [2]), "W391")
    assert '[data] shots = "1-2, 4-5"' in f.fix
    assert f.evidence["shots"] == [3]


@pytest.mark.parametrize("depth", [TOP + 10, TOP + 150, -20.0, 0.0, 50.0, 100.0, 400.0])
def test_receivers_at_one_depth_of_a_model_that_begins_above_the_datum(depth):
    assert findings_of(with_depths(lambda z: 0 * z + depth), "W391") == []


def test_the_source_at_the_surface_is_named_and_gets_the_depth_of_the_others():
    of = context(propagation=PropagationOptions(free_surface=True))
    first, *rest = of.survey.shots
    up = dataclasses.replace(first, src=first.src * [1, 1, 0])
    of = dataclasses.replace(of, survey=dataclasses.replace(of.survey, shots=[up, *rest]), samples=[])
    (f,) = findings_of(of, "W336")
    assert "(shot 1)" in f.message
    assert "[data.fix] source_depth = 5;" in f.fix
