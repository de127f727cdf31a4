"""The time of a time migration on a GPU: the sum there beside the filters on the CPU."""

from dataclasses import replace

import pytest
from time_case import make

from subsalt.machine.machine_file import Machine
from subsalt.methods.kirchhoff import duration as kirchhoff_time
from subsalt.methods.kirchhoff.duration import Share, prediction_of
from subsalt.methods.rtm.job import Job
from subsalt.plan import gpu as gpus
from subsalt.plan.prediction import Writes
from subsalt.plan.world import World

#: what was measured on the CPU: 50 M prepared samples and 2 G contributions per second
ROW = {"contributions_per_s": 2e9, "prepared_samples_per_s": 5e7, "start_seconds": 1.0, "threads": 8}
#: samples of a trace of the job
NT = 125


@pytest.fixture
def seconds(tmp_path, monkeypatch):
    """Return a function that gives the time of a share on a GPU, or on the CPU."""
    monkeypatch.setattr(kirchhoff_time, "_row", lambda *_: ROW)
    setup = Job.from_toml(make(tmp_path)).setup()
    world = World(1, 10**10, 8, 1)

    def of(share, gpu):
        writes = Writes({"image": 10**6}, pictures=True)
        return prediction_of(setup, replace(world, gpu=gpu), share, Machine.here(), writes)

    return of


def test_a_gpu_sums_while_the_next_traces_are_prepared(seconds):
    gpu = gpus.named("h200")
    # much to sum: the filters hide behind it; 0.035 contributions per byte that the GPU copies
    many = Share(3e14, 10**6, 10**6)
    there, here = seconds(many, gpu), seconds(many, None)
    assert there.rate == pytest.approx(0.035 * 4.3e12)
    prepare = 10**6 * NT / 5e7
    assert there.phases["prepare"] == here.phases["prepare"] == pytest.approx(prepare)
    # prepared traces go over the link: 4 bands of 5 coefficients of 160 samples, and their positions
    link = 10**6 * 4 * 4 * 5 * 160 / gpu.up
    assert there.phases["sum"] == pytest.approx(3e14 / there.rate + link - prepare, rel=0.01)
    assert here.phases["sum"] == pytest.approx(3e14 / 2e9)
    assert "assumed from its copies" in there.notes[0]
    # little to sum: the filters are what is left
    few = seconds(Share(1e9, 10**6, 10**6), gpu)
    assert few.phases["sum"] == 0.0
    assert few.wall > prepare


def test_ranks_that_share_a_gpu_wait_for_each_other(seconds):
    gpu, share = gpus.named("h200"), Share(3e14, 1000, 1000)
    one, two = seconds(share, gpu), seconds(share, replace(gpu, sharing=2))
    prepare = 1000 * NT / 5e7
    assert two.phases["sum"] + prepare == pytest.approx(2 * (one.phases["sum"] + prepare))
