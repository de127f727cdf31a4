"""The memory that a plan predicts is the memory that ranks of the real command take, to ten per cent."""

import json

import numpy as np
from launch import MPI, run

import subsalt as ss
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job
from thorough import thorough

pytestmark = MPI

#: every sample is imaged: snapshots make a rank several times as large as the program, in few steps
JOB = """
[data]
files = ["shots.sgy"]
first_breaks = "ignore"
[model]
vp = "vp.rsf"
epsilon = "epsilon.rsf"
delta = 0.02
[source]
f0 = 12
[propagation]
grid = "model"
[imaging]
image_step = 1
[output]
pictures = false
[parallel]
threads = 1
ranks_per_shot = 3
"""


def write(folder):
    grid = ss.Grid((150, 90, 80), (10.0,) * 3)
    volume.write(folder / "vp.rsf", grid, np.full(grid.shape, 2000.0, np.float32))
    volume.write(folder / "epsilon.rsf", grid, np.full(grid.shape, 0.1, np.float32))
    src = [[600.0, 450.0, 20.0]]
    rcv = [[x, y, 20.0] for y in (300.0, 600.0) for x in np.linspace(5.0, 1485.0, 30)]
    noise = np.random.default_rng(0).standard_normal((1, len(rcv), 46)).astype(np.float32)
    survey = ss.Survey.from_arrays(src, rcv, nt=46, dt=0.004, data=noise)
    write_survey(folder / "shots.sgy", survey)
    (folder / "job.toml").write_text(JOB)
    return folder / "job.toml"


@thorough  # of one process, in every medium: `methods/rtm/test_memory.py`
def test_three_ranks_take_what_was_planned(tmp_path):
    job = write(tmp_path)
    plan = plan_job(Job.from_toml(job), 3, threads=1)
    arrays = plan.basis.decision.need.arrays
    assert plan.basis.decision.group_size == 3
    assert arrays["snapshots"] > arrays["program"]
    done = run(3, ["subsalt", "migrate", job, "--run", tmp_path / "run", "--json"], own_start=True)
    assert done.rc == 0, done
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    # the run planned the same before it allocated anything, and its report compares that with what it took
    assert facts["memory_plan"] == arrays
    measured = facts["peak_memory_bytes"]
    assert abs(plan.basis.decision.need.total - measured) <= 0.1 * measured, (arrays, measured)
