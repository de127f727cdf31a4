"""What of a run's numerics stands in its class: runs of another one are refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from job_files import RUN, write_files, write_job
from subsalt.errors import ConfigError
from subsalt.methods.rtm.job import Job
from subsalt.propagation.options import PropagationOptions
from subsalt.run.identity import CHOSEN_GRID, numerics_of
from subsalt.run.ledger import Ledger
from subsalt.run.migrate import migrate_job

DEVICE = {"class": "fma"}


def test_a_grid_that_is_not_the_models_has_a_class_of_its_own():
    plain = PropagationOptions()
    assert numerics_of(DEVICE, plain)["class"] == "fma"
    assert numerics_of(DEVICE, replace(plain, trace_error=1e-4))["class"] == f"fma, {CHOSEN_GRID}"


def test_a_run_of_a_former_mean_is_not_continued(tmp_path):
    """A run that 0.8.0 began on a chosen grid has its class without the mean of the model."""
    write_files(tmp_path)
    job = Job.from_toml(write_job(tmp_path, RUN + '\n[propagation]\ngrid = "auto"\n'))
    folder = tmp_path / "job.run"
    migrate_job(job, folder)
    with Ledger(folder) as ledger:
        key = json.loads(ledger.get("key"))
        assert CHOSEN_GRID in key["numerics"]
        ledger.set_all({"key": json.dumps(key | {"numerics": "fma"})})
    with pytest.raises(ConfigError) as caught:
        migrate_job(Job.from_toml(job.path), folder)
    assert caught.value.code == "E810"
    assert "numerics: fma ->" in caught.value.message
