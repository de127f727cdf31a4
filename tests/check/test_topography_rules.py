"""Topography that is not in the model, too steep, sharply bent, in an anisotropic medium; stations too near to it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from rules_alone import rules_on

from subsalt.acquisition.survey import Shot
from subsalt.check.topography import _stations as stations
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.topography import ENDS
from subsalt.methods.rtm.topography import _brought as brought

RECEIVERS = ENDS[1]


@pytest.fixture
def findings_by_code(tmp_path):
    """Return what gives the findings, by code, of a survey to be modelled over waves of some height and length, m."""

    def check(height=20.0, length=100.0, model=None, **section):
        x = np.arange(-300.0, 1101.0, 10.0)
        z = 180.0 + height * np.sin(x / length)
        rows = "".join(f"{a:g},0,{e:.4f}\n" for a, e in zip(x, z, strict=True))
        (tmp_path / "surface.csv").write_text("x,y,elevation\n" + rows)
        given = {"radius": 20.0, "elevations": "surface.csv", "datum": 300.0} | section
        job = {
            "model": model or {"vp": 2000},
            "grid": {"spacing": 10.0, "shape": [81, 61]},
            "source": {"f0": 18.0},
            "acquisition": {
                "shots": {"first": [200, 0], "last": [600, 0], "n": 3},
                "receivers": {"first": [0, 0], "last": [800, 0], "n": 81},
                "record_length": 0.6,
                "dt": 0.002,
            },
            "propagation": {"topography": given, "grid": "model"},
        }
        return {f.code: f for f in rules_on(Job.from_dict(job, tmp_path)).findings}

    return check


def test_nothing_is_wrong_with_hills_in_the_model(findings_by_code):
    assert not {"E753", "E754", "W753", "W755"} & set(findings_by_code())


def test_an_anisotropic_medium(findings_by_code):
    assert "vti medium" in findings_by_code(model={"vp": 2000, "epsilon": 0.1, "delta": 0.05})["E754"].message


def test_surfaces_that_are_not_in_the_model(findings_by_code):
    said = findings_by_code(datum=150.0)["E753"]
    assert "above the model" in said.message
    assert "z = -119" in said.fix
    assert "near the top" in findings_by_code(datum=230.0)["E753"].message
    assert "reaches down" in findings_by_code(datum=900.0)["E753"].message


def test_surfaces_too_steep_or_bent(findings_by_code):
    """A larger radius is the cure of both: waves of 126 m are averaged away over 200 m."""
    assert "slopes" in findings_by_code(40.0, 20.0)["E753"].message
    assert "bends" in findings_by_code(12.0, 20.0)["W753"].message
    for height in (40.0, 12.0):
        assert not {"E753", "W753"} & set(findings_by_code(height, 20.0, radius=100.0))


@pytest.mark.parametrize(("off", "moved"), [(4e-5, 0), (0.5, 5)])
def test_stations_moved_by_rounding_are_not_moved(off, moved):
    """Receivers 10 m below the ground but for `off`; those moved by less than a millimetre are not counted."""
    rcv = np.c_[np.arange(5) * 100.0, np.zeros(5), np.full(5, 10.0 - off)]
    shots = [Shot(1, np.zeros(3), rcv)]
    flat = SimpleNamespace(depth=lambda xy: np.zeros(len(xy)))
    counts = brought(flat, SimpleNamespace(depth=10.0, radius=20.0), shots, False, RECEIVERS)
    assert counts["moved"] == moved
    np.testing.assert_allclose(shots[0].rcv[:, 2], 10.0)
    notes = {"topography": {"depth": 10.0, "receivers": counts}}
    context = SimpleNamespace(survey=SimpleNamespace(notes=notes), modelling=True)
    (said,) = stations(context, 10.0)
    assert ("brought" in said.message) == bool(moved)


def test_stations_less_than_a_cell_below(findings_by_code):
    said = findings_by_code(depth=2.0)["W755"]
    assert "less than a cell" in said.message
    assert "depth = 10" in said.fix
