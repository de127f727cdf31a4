"""Land against a model that counts from elsewhere: the model is given its place, stations are not sunk into it."""

import re

import numpy as np
import pytest
from line_files import FFID, GX, SX, findings_by_code, positions, survey

#: elevation of the ground at sources and receivers, m
GROUNDS = {
    "flat": lambda x: 500.0 + 0 * x,
    "high hills": lambda x: 2000.0 + 20.0 * np.sin(x / 300.0),
}


def words(ground, deep=10.0):
    """Return the words of a survey on a ground, charges so deep, in centimetres."""
    return {
        "receiver_elevation": np.round(100 * ground(GX)),
        "source_elevation": np.round(100 * ground(SX)),
        "source_depth": 100 * deep,
    }


@pytest.mark.parametrize("name", GROUNDS)
def test_the_model_is_given_the_elevation_of_the_ground(tmp_path, name):
    """Cured, no station is above the model, and each is as far below its top as below the highest one."""
    job = survey(tmp_path, **words(GROUNDS[name]))
    fault = findings_by_code(job)["E337"]
    assert "source_depth" not in fault.fix
    assert "z_sign" not in fault.fix
    table = re.search(r"\[model\] vp = (\{.*?\})", fault.fix).group(1)
    after = findings_by_code(survey(tmp_path, vp=table, **words(GROUNDS[name])))
    assert not {"E333", "E334", "E337"} & set(after)
    highest = max(GROUNDS[name](GX).max(), (GROUNDS[name](SX) - 10.0).max())
    src, rcv = positions(job)
    assert rcv[:, 2] == pytest.approx(highest - GROUNDS[name](GX), abs=0.01)
    assert src[:, 2] == pytest.approx(highest - GROUNDS[name](np.unique(SX)) + 10.0, abs=0.01)


def test_sources_at_an_elevation_and_receivers_ten_metres_below(tmp_path):
    flat = words(GROUNDS["flat"], 0.0) | {"receiver_elevation": 49_000}
    assert "origin = [0.0, -500.0]" in findings_by_code(survey(tmp_path, **flat))["E337"].fix


def test_a_ground_that_is_low_is_known_by_its_word(tmp_path):
    """Byte 45 has it; without that word, 30 m could be a cable of the wrong sign."""
    assert "E337" in findings_by_code(survey(tmp_path, **words(lambda x: 30.0 + 0 * x)))


def test_a_grid_of_the_job_is_raised_with_its_profile(tmp_path):
    profile = "{z = [0, 700, 710], value = [1500, 1500, 2200]}"
    grid = "[grid]\nspacing = 10\ndepth = 1200\nmargin = 100\n{}"
    job = survey(tmp_path, vp=profile, tables=grid.format(""), **words(GROUNDS["flat"]))
    fix = findings_by_code(job)["E337"].fix
    assert (
        "[model] vp = {z = [-500.0, 200.0, 210.0], value = [1500.0, 1500.0, 2200.0]}, [grid] origin = " in fix
    )
    raised = re.search(r"vp = (\{.*?\}), \[grid\] (origin = \[.*?\])", fix)
    job = survey(tmp_path, vp=raised[1], tables=grid.format(raised[2]), **words(GROUNDS["flat"]))
    assert "E337" not in findings_by_code(job)
    assert positions(job)[1][:, 2] == pytest.approx(0.0, abs=1e-6)


def test_elevations_with_the_wrong_sign_on_a_model_from_the_ground(tmp_path):
    """Stations 500 m inside the model: the other sign alone would put them above it."""
    wrong = {k: -v for k, v in words(GROUNDS["flat"], 0.0).items()} | {"source_depth": 1000}
    fault = findings_by_code(survey(tmp_path, **wrong))["W396"]
    assert "[data.fix] z_sign = -1, [model] vp = " in fault.fix
    table = re.search(r"\[model\] vp = (\{.*?\})", fault.fix).group(1)
    job = survey(tmp_path, "fix = {z_sign = -1}", vp=table, **wrong)
    assert not {"W396", "E333", "E334", "E337"} & set(findings_by_code(job))
    assert positions(job)[0][:, 2] == pytest.approx(10.0)


def test_elevations_with_the_wrong_sign_on_a_model_with_its_place(tmp_path):
    wrong = {k: -v for k, v in words(GROUNDS["flat"], 0.0).items()} | {"source_depth": 1000}
    by = findings_by_code(survey(tmp_path, top=-500.0, **wrong))
    assert "[data.fix] z_sign = -1" in by["W391"].fix
    assert "W396" not in by


def test_an_origin_that_is_an_elevation(tmp_path):
    by = findings_by_code(survey(tmp_path, top=500.0, **words(GROUNDS["flat"])))
    assert "origin = [0.0, -500.0]" in by["E337"].fix


def test_receivers_alone_have_elevations(tmp_path):
    """Nodes on the sea floor or land without the word of the sources: both are said, each with its keys."""
    by = findings_by_code(survey(tmp_path, receiver_elevation=50_000))
    assert "E337" not in by
    fix = by["E334"].fix
    assert "[data.fix] z_sign = -1;" in fix
    assert '[data.fix] source_depth = -490, [model] vp = {file = "vp.npz", origin = [0.0, -500.0]}' in fix


@pytest.mark.parametrize(
    "right",
    [
        {"receiver_elevation": -800, "source_depth": 600},  # a cable
        {"receiver_elevation": -23_000, "source_depth": 600},  # nodes on the sea floor
        {"receiver_elevation": -100 * (np.arange(873) % 600), "source_depth": 200},  # receivers in a well
    ],
)
def test_depths_in_order(tmp_path, right):
    codes = {"E333", "E334", "E335", "E337", "W391", "W396", "W216", "W218", "E236"}
    assert not codes & set(findings_by_code(survey(tmp_path, **right)))


@pytest.mark.parametrize("floor", [23_000, 23_000 + 10 * FFID], ids=["one depth", "a slope"])
def test_depths_of_nodes_and_sources_are_exchanged(tmp_path, floor):
    """The scalar holds for both: one that makes 230 m a depth of guns would bring receivers to 0.6 m."""
    exchanged = {"receiver_elevation": -600, "source_depth": floor}
    fix = findings_by_code(survey(tmp_path, **exchanged))["E236"].fix
    assert "elevation_scalar = -1000" not in fix
    keys = re.search(r"\[data\] (fix = \{.*?\})(?:, \[data\] (bytes = \{.*?\}))?", fix)
    job = survey(tmp_path, "\n".join(k for k in keys.groups() if k), **exchanged)
    assert not {"E236", "E333", "E334"} & set(findings_by_code(job))
    src, rcv = positions(job)
    assert src[:, 2] == pytest.approx(6.0)
    assert rcv[:, 2] == pytest.approx(np.broadcast_to(floor, FFID.shape) / 100.0)
