"""The memory of a job with every step on traces: what its process took, against its plan."""

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from plan_cases import wide_job

from subsalt.acquisition.survey import TimeAxis
from subsalt.host import peak_resident
from subsalt.job.signal.mute import Mute
from subsalt.job.signal.step import CHUNK
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job, program
from subsalt.plan.world import PROGRAM


@pytest.mark.parametrize(
    "kind", [{"velocity": 1500.0}, {"kind": "hyperbolic", "velocity": 1500.0, "t0": 0.2}]
)
def test_weights_of_mutes_are_those_of_few_traces_at_a_time(kind):
    time, traces = TimeAxis(1000, 0.004), 4000
    mute = Mute(step="mute", **kind).operator(time, lambda name, key: name)
    offset = np.linspace(0.0, 3000.0, traces)
    tracemalloc.start()
    share = mute.audible_share(offset)
    silent = mute.silences(np.zeros((traces, time.nt), np.float32), offset)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # the zeros, and of a chunk at most ten arrays in double precision; all weights would be 32 MB each
    assert taken < 4 * traces * time.nt + 10 * 8 * CHUNK * time.nt
    assert silent
    assert np.array_equal(share[:5], (mute.weights_at(offset[:5]) >= 0.5).mean(axis=1))


def test_a_process_does_not_take_over_the_size_of_the_one_that_started_it():
    held = np.ones(25_000_000)  # 200 MB
    words = [sys.executable, "-c", "from subsalt.host import peak_resident; print(peak_resident())"]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert peak_resident() > held.nbytes
    # an interpreter with one module
    assert 1e6 < int(said) < 0.25 * held.nbytes


def test_a_run_with_every_step_takes_what_was_planned(tmp_path):
    job = wide_job(tmp_path)
    plan = plan_job(Job.from_toml(job), 1, run_dir=tmp_path / "run")
    # interpreter and libraries differ from machine to machine: as they are here
    planned = plan.bytes_per_rank - PROGRAM + program.measure("rtm")["bytes"]
    subprocess.run(
        [sys.executable, "-m", "subsalt", "migrate", str(job), "--run", str(tmp_path / "run")],
        check=True,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["peak_memory_bytes"] == pytest.approx(planned, rel=0.10)
