"""`subsalt check` of time migrations whose velocity is wrong: one message each, with the cure, and the exit code."""

import numpy as np
import pytest
from rules_alone import rules_on

from kirchhoff_data import line_positions, make_survey
from subsalt.job.base import read_job

JOB = """method = "kirchhoff"
[data]
files = ["line.sgy"]
[velocity]
{velocity}
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("line")
    src, rcv = line_positions(40, 25.0, [200.0, 600.0])
    traces = np.random.default_rng(1).normal(size=(len(src), 126)).astype(np.float32)
    make_survey(folder / "line.sgy", src, rcv, traces, 0.008)
    return folder


def check(line, velocity, **texts):
    for name, text in texts.items():
        (line / f"{name}.txt").write_text(text)
    (line / "job.toml").write_text(JOB.format(velocity=velocity))
    checked = rules_on(read_job(line / "job.toml"))
    return checked.exit_code(), checked


def errors(checked):
    return [(f.code, f"{f.message}; {f.fix}") for f in checked.findings if f.level == "error"]


def test_a_velocity_in_order_is_among_the_facts(line, subsalt_command):
    code, findings = check(line, 'file = "v.txt"', v="1 0 1500\n1 1 2000\n40 0 1600\n40 1 2100\n")
    assert errors(findings) == []
    assert code == 0
    facts = findings.facts["velocity"]
    assert (facts["v_rms"]["min"], facts["v_rms"]["max"]) == (1500, 2100)
    assert facts["v"]["functions"] == 2


@pytest.mark.parametrize(
    ("velocity", "text", "code", "word"),
    [
        ("v = 2.0", "", "E744", 'unit = "km/s"'),
        ('file = "v.txt"', "1 0 5000\n1 1 9000\n", "E745", 'unit = "ft/s"'),
        ('file = "v.txt"', "1 0 1500\n1 1000 2000\n", "E743", 'time_unit = "ms"'),
        ('file = "v.txt"', "1 0 1500\n1 1 -1\n", "E740", "velocity -1 of cdp 1 at time 1"),
        ('file = "v.txt"', "1 0 1500\n1 1 2000\n1 0.5 2000\n", "E742", "line 3"),
        ('file = "v.txt"', "1 0 1500 7 8\n", "E741", "5 columns"),
    ],
)
def test_each_mistake_has_one_message_with_its_cure(line, velocity, text, code, word):
    left, findings = check(line, velocity, v=text)
    assert [c for c, _ in errors(findings)] == [code]
    assert word in errors(findings)[0][1]
    assert left == 65


def test_data_in_feet_make_feet_of_velocities_likelier(line):
    slow = "1 0 5000\n1 1 7000\n"
    assert errors(check(line, 'file = "v.txt"', v=slow)[1]) == []
    job = JOB.format(velocity='file = "v.txt"') + '[data.fix]\nunit = "ft"\n'
    (line / "feet.toml").write_text(job)
    checked = errors(rules_on(read_job(line / "feet.toml")))
    assert [c for c, _ in checked] == ["E745"]
    assert "the data count in feet" in checked[0][1]


def test_a_file_that_is_not_there(line, subsalt_command):
    left, findings = check(line, 'file = "nowhere.txt"')
    assert "E110" in [c for c, _ in errors(findings)]
    assert left == 66


def test_interval_velocities_given_as_rms_warn(line, subsalt_command):
    left, findings = check(line, 'file = "v.txt"', v="1 0 1500\n1 0.69 1500\n1 0.7 3500\n1 1 3500\n")
    assert left == 0
    assert [f.code for f in findings.findings if f.level == "warning"] == ["W740"]
