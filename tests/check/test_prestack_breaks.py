"""First breaks and moveout of traces for time migration: mistakes planted in files, and none in files in order."""

import re

import numpy as np
import pytest
from break_surveys import DT, altered, modelled, two_branches
from rules_alone import rules_on

from job_files import shared_data
from subsalt.io.segy.writing import write_survey
from subsalt.job.base import BaseJob
from subsalt.methods import method_of
from thorough import some

JOB = """\
method = "kirchhoff"

[data]
files = ["line.sgy"]
FIX
[velocity]
v = { t = [0.0, 0.3, 1.2], value = [1500.0, 1600.0, 2000.0] }
"""


def findings_by_code(folder, change=None, fix="", dt=None):
    """Return the findings of this subject by code, of a survey that was changed before it was written."""
    survey = modelled("streamer")[0]
    if change is not None:
        survey = altered(survey, change)
    if dt is not None:
        survey = altered(survey, lambda i, s: {})
        survey.time = type(survey.time)(survey.time.nt, dt, survey.time.t0)
    write_survey(folder / "line.sgy", survey)
    path = folder / "time.toml"
    path.write_text(JOB.replace("FIX", fix))
    job: BaseJob = method_of("kirchhoff").job_class().from_toml(path)
    return {f.code: f for f in rules_on(job).findings if re.fullmatch(r"[EW]3(4[5-9]|5\d|61|92)", f.code)}


def test_traces_in_order(tmp_path):
    assert findings_by_code(tmp_path) == {}


def backwards(i, s):
    return {"data": s.data[::-1]}


def test_reversed_channels_and_their_cure(tmp_path):
    wrong = findings_by_code(tmp_path, backwards)
    assert list(wrong) == ["E347"]
    assert '[data.fix] channels = "reversed"' in wrong["E347"].fix
    assert findings_by_code(tmp_path, backwards, 'fix = { channels = "reversed" }') == {}


def test_a_record_of_the_other_sign(tmp_path):
    wrong = findings_by_code(tmp_path, lambda i, s: {"data": -s.data} if i == 2 else {})
    assert list(wrong) == ["E352"]
    assert "(shots 3;" in wrong["E352"].message


def shifted(data, seconds):
    """Return traces that come later, or earlier, with nothing before or after what was recorded."""
    n, out = round(seconds / DT), np.zeros_like(data)
    out[:, max(0, n) : data.shape[1] + min(0, n)] = data[:, max(0, -n) : data.shape[1] - max(0, n)]
    return out


# a period of 0.12 s, and next to no scatter: what is more than a cycle is found
@pytest.mark.parametrize("shift", some([0.132, 0.16, 0.2, 0.26, 0.3, 0.4, -0.2, -0.16, -0.132], 4))
def test_a_record_that_begins_at_another_time(tmp_path, shift):
    wrong = findings_by_code(tmp_path, lambda i, s: {"data": shifted(s.data, shift)} if i == 2 else {})
    assert list(wrong) == ["W361"]
    assert abs(wrong["W361"].evidence["shifts_s"][0] - shift) <= 3 * DT
    assert "exclude = [{shot = 3}]" in wrong["W361"].fix


@pytest.mark.parametrize("shift", [0.04, -0.1, 0.1])
def test_a_record_within_a_cycle_is_no_other_time(tmp_path, shift):
    wrong = findings_by_code(tmp_path, lambda i, s: {"data": shifted(s.data, shift)} if i == 2 else {})
    assert "W361" not in wrong


# first breaks start at 0.09 s of a period of 0.12 s: those that start before -0.12 s or after 0.24 s are wrong
@pytest.mark.parametrize("shift", some([0.16, 0.2, 0.3, -0.28, -0.24], 3))
def test_all_records_begin_at_another_time(tmp_path, shift):
    rng = np.random.default_rng(1)

    def late(i, s):
        noise = 1e-4 * np.abs(s.data).max() * rng.standard_normal(s.data.shape, np.float32)
        return {"data": shifted(s.data, shift) + noise}

    wrong = findings_by_code(tmp_path, late)
    assert list(wrong) == ["W392"]
    # the direct wave of the wavelet is picked at 0.09 s, half a period before its peak, and a sample may be off
    assert wrong["W392"].evidence["intercept_s"] == pytest.approx(0.09 + shift, abs=0.03)
    # what first breaks give is off by the onset of the wavelet, which nothing here tells: no number is offered
    assert re.search(r"observer's log.*delay = \.\.\.", wrong["W392"].fix)
    assert not re.search(r"delay = [-\d]", wrong["W392"].fix)
    assert findings_by_code(tmp_path, late, f"fix = {{ delay = {-shift} }}") == {}


@pytest.mark.parametrize("delay", [0.2, 0.3])
def test_a_delay_of_the_headers_that_is_none(tmp_path, delay):
    wrong = findings_by_code(tmp_path, fix=f"fix = {{ delay = {delay} }}")
    assert list(wrong) == ["W392"]
    assert "[data.fix] delay = 0:" in wrong["W392"].fix


def test_direct_and_head_waves_are_lines_of_their_own(tmp_path):
    """One line through both would start 0.22 s late; the direct wave starts where a Ricker peak at 0.12 s does."""
    survey = modelled("streamer")[0]
    assert "W392" not in findings_by_code(tmp_path, two_branches(survey))
    wrong = findings_by_code(tmp_path, two_branches(survey, late=0.42))
    assert wrong["W392"].evidence["intercept_s"] == pytest.approx(0.42 - 0.5 / 12.0, abs=0.02)


@pytest.mark.parametrize("start", some([0.2, 0.3, 0.4], 2))
def test_the_line_of_a_mute_is_no_direct_wave(tmp_path, start):
    t = modelled("streamer")[0].time.values()

    def muted(i, s):
        return {"data": (s.data * (t > s.offset[:, None] / 1500.0 + start)).astype(np.float32)}

    assert "W392" not in findings_by_code(tmp_path, muted)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_interval_and_its_cure(tmp_path, factor):
    wrong = findings_by_code(tmp_path, dt=factor * DT)
    assert list(wrong) == ["W345"]
    assert "[data.fix] dt = 0.004;" in wrong["W345"].fix
    assert findings_by_code(tmp_path, dt=factor * DT, fix="fix = { dt = 0.004 }") == {}


def test_events_at_equal_times_are_corrected_for_moveout(tmp_path):
    # events at equal times at all offsets: what the correction leaves, without its mute
    t = modelled("streamer")[0].time.values()
    events = np.zeros(len(t))
    events[20::23] = np.random.default_rng(0).choice([-1.0, 1.0], len(events[20::23]))
    a = (np.pi * 20.0 * (t - 0.1)) ** 2
    flat = np.convolve(events, ((1 - 2 * a) * np.exp(-a))[:50], "same").astype(np.float32)
    wrong = findings_by_code(tmp_path, lambda i, s: {"data": np.repeat(flat[None], len(s.data), axis=0)})
    assert list(wrong) == ["E354"]


@pytest.mark.shared_data
def test_real_gathers_before_and_after_the_correction(tmp_path):
    from subsalt.check.moveout import FLAT, MORE, flatness
    from subsalt.io.prestack.positions import LineGeometry
    from subsalt.io.prestack.table import open_traces

    path = shared_data() / "segy" / "cdp601to610_be.su"
    table = open_traces(path, line=LineGeometry(spacing=13.335, first_cdp=601))
    rows = np.flatnonzero(table.cdp == 605)
    data, offset = table.files.read(table.number[rows]), table.offset[rows]

    # the stacking velocity of these gathers, as examples/cdp601to610.toml has it
    def v(when):
        return np.interp(when, [0.5, 1.6, 2.8, 4.0], [1630.0, 1900.0, 2100.0, 2300.0])

    flat, bent, n = flatness(data, offset, table.time.dt, table.time.t0, v)
    assert n > 10
    assert flat < bent
    t = table.time.values()
    rows = zip(offset, data, strict=True)
    after = np.stack([np.interp(np.sqrt(t**2 + (x / v(t)) ** 2), t, trace, right=0.0) for x, trace in rows])
    flat_after, bent_after, _ = flatness(after.astype(np.float32), offset, table.time.dt, table.time.t0, v)
    # the rule: twice as much, both ways
    assert bent > MORE * flat or flat < FLAT
    assert flat_after > max(FLAT, MORE * bent_after)
