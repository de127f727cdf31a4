"""Checks see traces after the steps of the job that move times or change the band, and after no other."""

import numpy as np
import pytest
from break_surveys import DT, altered, layers, modelled
from rules_alone import rules_on

from subsalt.check.looked_at import traces_of
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods import method_of

DEPTH = """\
[data]
files = ["line.sgy"]
line = "2d"

[model]
vp = "vp.rsf"

[source]
f0 = "10 Hz"

[output]
pictures = false

"""
TIME = """\
method = "kirchhoff"

[data]
files = ["line.sgy"]

[velocity]
v = { t = [0.0, 0.3, 1.2], value = [1500.0, 1600.0, 2000.0] }

"""
#: the subject of first breaks
OWN = ("E346", "W346", "W392", "W361", "E345", "W354", "W394")


def write(folder, change=None):
    survey = modelled("streamer")[0]
    write_survey(folder / "line.sgy", survey if change is None else altered(survey, change))
    model = layers()
    volume.write(folder / "vp.rsf", model.grid, np.asarray(model.vp))


def check(folder, text):
    path = folder / "job.toml"
    path.write_text(text)
    kind = "kirchhoff" if "kirchhoff" in text else "rtm"
    return rules_on(method_of(kind).job_class().from_toml(path))


def codes(folder, text):
    return {f.code: f for f in check(folder, text).findings if f.code in OWN}


def late(samples):
    def change(i, s):
        out = np.zeros_like(s.data)
        out[:, max(0, samples) : s.data.shape[1] + min(0, samples)] = s.data[
            :, max(0, -samples) : s.data.shape[1] - max(0, samples)
        ]
        return {"data": out}

    return change


SHIFT = '[[signal]]\nstep = "shift"\ntime = {}\n'


def test_a_delay_that_is_applied_twice(tmp_path):
    """The header's delay is right; a step that moves traces by the same again is not."""
    write(tmp_path)
    findings = codes(tmp_path, DEPTH + SHIFT.format(0.2))
    assert list(findings) == ["E346"]
    assert findings["E346"].fix.startswith(
        "leave out the shift by 200 ms of [[signal]]; or [data.fix] delay = -0.2"
    )
    assert codes(tmp_path, DEPTH) == {}


def test_a_step_that_mends_a_delay(tmp_path):
    write(tmp_path, late(50))
    assert list(codes(tmp_path, DEPTH)) == ["E346"]
    assert codes(tmp_path, DEPTH + SHIFT.format(-0.2)) == {}


def test_the_same_in_time_migration(tmp_path):
    write(tmp_path, late(75))
    assert list(codes(tmp_path, TIME)) == ["W392"]
    assert codes(tmp_path, TIME + SHIFT.format(-0.3)) == {}
    write(tmp_path)
    assert list(codes(tmp_path, TIME + SHIFT.format(0.3))) == ["W392"]


STEPS = {
    "a band": '[[signal]]\nstep = "bandpass"\nlow = 4.0\n',
    "a gain": '[[signal]]\nstep = "gain"\nkind = "power"\npower = 2\n',
    "a mute": '[[signal]]\nstep = "mute"\nvelocity = 1400.0\ndelay = 0.3\n',
    "another interval": '[[signal]]\nstep = "resample"\ndt = 0.008\n',
}


@pytest.mark.parametrize("name", STEPS)
def test_other_steps_leave_a_survey_in_order(tmp_path, name):
    write(tmp_path)
    assert codes(tmp_path, DEPTH + STEPS[name]) == {}


def test_only_steps_that_move_times_or_the_band_are_applied(tmp_path):
    write(tmp_path)
    context = check(
        tmp_path, DEPTH + STEPS["a gain"] + SHIFT.format(10 * DT) + STEPS["another interval"]
    ).context
    shot = context.survey.shots[1]
    rows = np.arange(5)
    plain, moved = modelled("streamer")[0].shots[1].data[rows], traces_of(context, shot, rows)
    assert moved.shape == plain.shape
    assert np.abs(moved[:, 10:] - plain[:, :-10]).max() < 1e-3 * np.abs(plain).max()


def test_zeros_at_the_start_stay_zeros_after_a_band(tmp_path):
    """A filter of zero phase reaches into what a mute left; picks stand at its edge still."""
    write(tmp_path, lambda i, s: {"data": s.data * (np.arange(s.data.shape[1]) > 60)})
    context = check(tmp_path, DEPTH + STEPS["a band"]).context
    assert not traces_of(context, context.survey.shots[0], np.arange(8))[:, :61].any()
