"""Shots on a depth axis that follows the rock, shared by ranks in slabs and blocks: the bytes of one process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from launch import MPI, run
from survey_jobs import results

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job
from subsalt.run.migrate import migrate_job
from thorough import each

pytestmark = MPI

JOB = """
[model]
vp = {{ z = [0, 480], value = [1500, 3900] }}
{tilt}
[grid]
spacing = 12
shape = [31, 21, 41]
[source]
f0 = 12
[propagation]
grid = "auto"
depth_axis = "auto"
layer = 6
[output]
pictures = false
formats = ["rsf"]
"""
ACQUISITION = """
[acquisition]
shots = { first = [192, 140, 24], n = 1 }
receivers = { first = [60, 100, 24], last = [330, 180, 24], n = [10, 3] }
record_length = 0.16
dt = 0.004
files = "per-shot"
"""
TILTS = {"isotropic": "", "tilted": "epsilon = 0.15\ndelta = 0.08\ntheta = 25\nphi = 40"}


#: number of ranks, and how they cut a shot
CUTS = {2: 'ranks_per_shot = 2\ndecomp = "slabs"', 4: "ranks_per_shot = 4\ndecomp = [2, 2]"}


@pytest.mark.parametrize(("tilt", "ranks"), each(list(TILTS), list(CUTS)))
def test_ranks_write_the_files_of_one_process(tmp_path: Path, tilt: str, ranks: int) -> None:
    text = JOB.format(tilt=TILTS[tilt])
    (tmp_path / "model.toml").write_text(text + ACQUISITION)
    model = Job.from_toml(tmp_path / "model.toml")
    model_job(model, tmp_path / "shots")
    assert model.open_propagation_model().grid.depth_axis is not None
    text += '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n'
    (tmp_path / "alone.toml").write_text(text)
    alone = migrate_job(Job.from_toml(tmp_path / "alone.toml"), tmp_path / "alone")
    assert np.fromfile(tmp_path / "alone" / "image.rsf@", np.float32).any()
    job = tmp_path / "shared.toml"
    job.write_text(f"{text}[parallel]\nthreads = 1\n{CUTS[ranks]}\n")
    done = run(ranks, ["subsalt", "migrate", job, "--run", tmp_path / "shared", "--json"])
    assert done.rc == 0, done
    assert json.loads(done.out[0])["sha256"] == alone.sha256
    assert results(tmp_path / "shared") == results(tmp_path / "alone")
