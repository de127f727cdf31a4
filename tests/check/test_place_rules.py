"""Rules on where stations stand name the single mistake: a scalar, a unit, an exchange, one receiver far away."""

import dataclasses
from types import SimpleNamespace

import pytest
from layouts import context
from rule_mistakes import MISTAKES, moved, one_receiver_far_away, problems, with_survey

from subsalt.acquisition.survey import TimeAxis
from subsalt.check.geometry import same_dimension


def test_guesses_name_the_single_mistake():
    by = {f.code: f for f in problems(MISTAKES["x and y swapped"][1]())}
    assert "swap_xy" in by["E330"].fix
    by = {f.code: f for f in problems(MISTAKES["scalar forgotten"][1]())}
    assert "scalar = -100" in by["E330"].fix
    by = {f.code: f for f in problems(MISTAKES["no overlap"][1]())}
    assert "-50000" in by["E330"].fix
    by = {f.code: f for f in problems(MISTAKES["receivers in the air"][1]())}
    assert "z_sign" in by["E334"].fix


def test_receiver_outside_is_counted_and_named():
    (finding,) = [f for f in problems(one_receiver_far_away()) if f.code == "E332"]
    assert finding.evidence["count"] == 1
    assert finding.evidence["shots"] == [3]


def test_short_record_says_how_deep_it_reaches():
    case = with_survey(context(vp=2000.0), time=TimeAxis(101, 0.004))
    (finding,) = problems(case)
    # 2000 m/s, 0.4 s two-way
    assert finding.evidence["reach"] == pytest.approx(400.0, rel=1e-6)


def test_a_scalar_in_the_header_is_mended_and_not_replaced_by_its_correction():
    # the header says -10 and should say -1000: the key names the whole scalar
    case = moved(context(origin=(2000.0, 0.0)), scale=100.0)
    boxes = {
        "source_raw": ((0, 2.8e6), (0, 0), (0, 0)),
        "source": ((0, 2.8e5), (0, 0), (0, 0)),
        "receiver_raw": ((0, 0), (0, 0), (0, 0)),
        "receiver": ((0, 0), (0, 0), (0, 0)),
    }
    case.scan = SimpleNamespace(files=[SimpleNamespace(boxes=boxes)], findings=[], n_traces=1)
    by = {f.code: f for f in problems(case)}
    assert "[data.fix] scalar = -1000" in by["E330"].fix


def test_feet_are_not_called_a_scalar():
    # 1 / 0.3048 = 3.28: a tenth brings the survey onto the model too, but spans only a third of it
    by = {f.code: f for f in problems(moved(context(), scale=1 / 0.3048))}
    assert 'unit = "ft"' in by["E332"].fix
    # a model that is too small looks the same: the cure names both
    assert "else extend the model" in by["E332"].fix


def test_numbers_of_the_model_are_those_of_its_grid():
    by = {f.code: f for f in problems(moved(context(), (50_000, 0, 0), (50_000, 0, 0)))}
    assert "(model 0 .. 1000)" in by["E330"].message
    assert "centres are x -50000 m apart" in by["E330"].fix
    (finding,) = [f for f in problems(moved(context(), (0, 0, -20), (0, 0, 0))) if f.code == "E333"]
    assert "up to 15 m (z = -15, the model begins at 0)" in finding.message


def test_a_line_below_a_volume_gets_a_section_or_3d_waves():
    model = SimpleNamespace(grid=SimpleNamespace(ndim=3))
    case = dataclasses.replace(context(), model=model)
    (finding,) = same_dimension(case)
    assert finding.code == "E329"
    assert "vp[:, j, :]" in finding.fix
    assert '[data] line = "3d"' in finding.fix
