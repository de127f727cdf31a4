"""Common-receiver gathers of a job: proposed by check and plan, accepted by a key, refused for sensors of motion."""

from __future__ import annotations

import numpy as np
import pytest
from rules_alone import rules_on

from job_files import MIGRATE, nodes, write_files, write_job
from subsalt.errors import GeometryError
from subsalt.methods.rtm.job import Job
from subsalt.plan.planning import plan_job


def test_few_receivers_are_proposed_and_accepted(tmp_path):
    write_files(tmp_path, nodes())
    job = Job.from_toml(write_job(tmp_path))
    findings = {f.code: f for f in rules_on(job).findings}
    assert (findings["W370"].level, findings["W370"].evidence) == ("ok", {"receivers": 2, "shots": 6})
    assert "W370" in {f.code for f in plan_job(job).findings}
    key = findings["W370"].fix.removeprefix("[data] ")
    accepted = Job.from_toml(write_job(tmp_path, MIGRATE.replace("[data]", f"[data]\n{key}"), "nodes.toml"))
    assert len(accepted.load_survey()) == 2
    result = rules_on(accepted)
    assert not result.has_errors, result.findings
    assert any(f.message.startswith("2 common-receiver gathers of 6 shots") for f in result.findings)
    for gather, k in zip(accepted.load_survey(), (0, 1), strict=True):
        np.testing.assert_array_equal(
            accepted.load_survey().traces(gather), [s.data[k] for s in nodes().shots]
        )


def test_sensors_of_motion_are_refused(tmp_path):
    write_files(tmp_path)
    path = tmp_path / "shots.sgy"
    data = bytearray(path.read_bytes())
    size = 240 + 4 * 151
    for trace in range((len(data) - 3600) // size):
        data[3600 + trace * size + 29] = 12
    path.write_bytes(data)
    job = Job.from_toml(write_job(tmp_path, MIGRATE.replace("[data]", '[data]\ngathers = "receiver"')))
    with pytest.raises(GeometryError, match="byte 29: 12") as caught:
        job.load_survey()
    assert caught.value.code == "E370"
