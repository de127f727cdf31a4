"""Mutes that remove everything, or nearly, are said by the checks, with numbers; usual ones are not."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from layouts import context
from rules_alone import rules_on

from job_files import MIGRATE, write_files, write_job
from kirchhoff_jobs import areal
from kirchhoff_jobs import write_job as write_time_job
from subsalt import check
from subsalt.job.base import read_job
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.mute import Mute
from subsalt.methods.rtm.job import Job
from subsalt.propagation.options import ImagingOptions


def muted(**changes):
    """Return what is found of mutes with these options of the image."""
    case = dataclasses.replace(context(), imaging=ImagingOptions(**changes))
    return [f for f in check.run_rules(case, check.load_rules()) if f.code in ("E314", "W314")]


#: the model of the layout is 800 m deep, its records of 2 s reach all of it
@pytest.mark.parametrize(
    ("depth", "code", "words"),
    [
        (800.0, "E314", "800 m deep"),
        (2600.0, "E314", "zeros the whole image"),
        (700.0, "W314", "in 0% of the rows"),
        (590.0, "W314", "in 9% of the rows"),
    ],
)
def test_a_deep_top_mute(depth, code, words):
    (finding,) = muted(top_mute=depth)
    assert finding.code == code
    assert words in finding.message
    assert "top_mute" in finding.fix


@pytest.mark.parametrize("depth", [0.0, 50.0, 300.0, 500.0])
def test_usual_top_mutes_are_fine(depth):
    assert muted(top_mute=depth) == []


def test_a_top_mute_below_what_the_records_reach():
    case = context(nt=101)  # 0.4 s: 380 m
    case = dataclasses.replace(case, imaging=ImagingOptions(top_mute=420.0), samples=[])
    (finding,) = [f for f in check.run_rules(case, check.load_rules()) if f.code == "W314"]
    assert "records of 0.4 s reach 3" in finding.message


def with_mute(velocity, delay, zero_late=False):
    """Return what is found of a mute of the traces; records of 2 s, offsets up to 780 m."""
    case = context()
    step = Mute(step="mute", velocity=velocity, delay=delay, taper=0.1)
    flow = Flow([step], case.survey.time, None, short=True)
    case.survey = dataclasses.replace(
        case.survey, reader=SimpleNamespace(flow=flow, inner=case.survey.reader)
    )
    if zero_late:
        late = case.survey.time.values() > 0.9
        for s in case.samples:
            s.data[:, late] = 0
    return [f for f in check.run_rules(case, check.load_rules()) if f.code in ("E314", "W314")]


@pytest.mark.parametrize(
    ("velocity", "delay", "code", "cure"),
    [
        (1.5, 0.0, "E314", 'velocity = "1.5 km/s"'),
        (400.0, 1.3, "W314", "delay = 0"),
        (1500.0, 200.0, "E314", 'delay = "200 ms"'),
        (1.5, 200.0, "E314", 'velocity = "1.5 km/s", delay = "200 ms"'),
        (1500.0, 2.5, "E314", "delay"),
    ],
)
def test_a_mute_of_the_traces_in_another_unit(velocity, delay, code, cure):
    (finding,) = with_mute(velocity, delay)
    assert finding.code == code
    assert cure in finding.fix
    assert "% of the samples of" in finding.message


def test_a_mute_that_leaves_zeros_only():
    (finding,) = with_mute(1500.0, 1.0, zero_late=True)
    assert finding.code == "E314"
    assert "none that is not zero" in finding.message


def test_a_usual_mute_of_the_traces_is_fine():
    assert with_mute(1500.0, 0.1) == []


def test_the_cure_of_a_mute_works_when_pasted(tmp_path):
    write_files(tmp_path)

    def codes(mute):
        result = rules_on(Job.from_toml(write_job(tmp_path, MIGRATE + f"\n[data.mute]\n{mute}\n")))
        return {f.code: f.fix for f in result.findings if f.is_fault}

    (fix,) = codes("velocity = 1.5\ndelay = 200").values()
    keys = fix.removeprefix("[data.mute] ").split(", if")[0].replace(", ", "\n")
    assert codes(keys) == {}


@pytest.mark.parametrize("limit", ["0.001 %", "0.2 %"])
def test_a_stretch_mute_of_a_hundredth(tmp_path, limit):
    areal(tmp_path / "traces.sgy")

    def findings_of(value):
        job = read_job(write_time_job(tmp_path, kirchhoff={"stretch_mute": value}))
        return [f for f in rules_on(job).findings if f.code in ("E314", "W314")]

    (finding,) = findings_of(limit)
    assert finding.code == ("E314" if limit == "0.001 %" else "W314")
    assert finding.fix.endswith('stretch_mute = "30 %"')
    assert findings_of("30 %") == []
    assert np.isfinite(finding.evidence["kept"])
