"""Cures of a grid that is too coarse for its wavelet (E531): the band first, and feet only where the survey speaks for
them."""

import numpy as np
import pytest
from layouts import context
from rule_mistakes import findings
from rules_alone import rules_on

from job_files import MIGRATE, write_files, write_job
from subsalt.job.checking import check_job
from subsalt.job.cures import cured, cures_in
from subsalt.methods.rtm.job import Job


@pytest.mark.parametrize(("width", "offered"), [(250.0, True), (100.0, False)])
def test_feet_are_offered_where_the_survey_spans_most_of_such_a_model(width, offered):
    """The model is 1000 m wide, or 1000 ft: 305 m."""
    src = [[a * width, 5.0] for a in np.linspace(0.2, 0.8, 5)]
    rcv = [[a, 10.0] for a in np.linspace(0.0, width, 24)]
    (finding,) = [f for f in findings(context(f0=60.0, src=src, rcv=rcv)) if f.code == "E531"]
    assert ("lengths of the model are in feet" in finding.fix) is offered


def test_traces_and_wavelet_are_limited_together_and_the_grid_comes_last(tmp_path):
    write_files(tmp_path)
    job = Job.from_toml(write_job(tmp_path, MIGRATE + "\n[propagation]\ngrid = 36\n"))
    before = {f.code: f for f in rules_on(job).findings if f.is_fault}
    first, *others = cures_in(before["E531"].fix)
    assert [f"{k.section} {k.key}" for k in first] == [
        "signal[] step",
        "signal[] corners",
        "source f0",
        "source t0",
    ]
    assert [f"{k.section} {k.key}" for k in others[-1]] == ["propagation grid"]
    assert before["E531"].fix.startswith("limit the band")
    assert '[[signal]] step = "bandpass"' in before["E531"].fix
    left = {f.code for f in rules_on(cured(job, first)).findings if f.is_fault}
    assert left < before.keys()


def test_a_job_with_a_list_of_steps_gets_an_item_for_it(tmp_path):
    write_files(tmp_path)
    steps = 'signal = [{ step = "edit", where = "rms > 20*median" }]\n'
    job = Job.from_toml(write_job(tmp_path, steps + MIGRATE + "\n[propagation]\ngrid = 36\n"))
    (finding,) = [f for f in check_job(job).findings if f.code == "E531"]
    assert "[[signal]]" not in finding.fix
    assert 'add to signal = [...]: { step = "bandpass", corners = [' in finding.fix
    assert [s.step for s in cured(job, cures_in(finding.fix)[0]).signal] == ["edit", "bandpass"]
