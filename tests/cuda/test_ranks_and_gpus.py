"""Which GPU a rank takes, what is said of shared and idle ones, and ranks without: the decision is one of all."""

import json
import textwrap

import pytest
from emulated_ranks import MARKS, environment
from launch import run

from subsalt import kernels
from subsalt.errors import DeviceError
from subsalt.parallel import comm
from subsalt.propagation import devices


def seen(*ranks):
    """Return what ranks say, each given as the host and the GPUs it may see."""
    return [{"host": h, "gpus": [[bus, "H200"] for bus in buses], "why": ""} for h, buses in ranks]


def numbers(*ranks):
    """Return the GPU that each rank takes, by number, and how many share it."""
    return [(s.number, s.sharing) for s in devices.Gpus.of(seen(*ranks)).seats]


def test_ranks_of_a_node_that_see_all_gpus_take_one_each():
    assert numbers(*[("a", "pqrs")] * 4) == [(0, 1), (1, 1), (2, 1), (3, 1)]


def test_nodes_are_counted_apart_in_any_order_of_ranks():
    got = numbers(("a", "pq"), ("b", "pq"), ("a", "pq"), ("b", "pq"))
    assert got == [(0, 1), (0, 1), (1, 1), (1, 1)]


def test_a_launcher_that_gives_each_rank_a_gpu_is_obeyed():
    # Slurm's --gpus-per-task=1: every rank sees one GPU, its number 0
    assert numbers(("a", "r"), ("a", "p"), ("a", "q")) == [(0, 1), (0, 1), (0, 1)]
    # parts of a node that overlap: the one nobody has taken
    assert numbers(("a", "pq"), ("a", "pq"), ("a", "qr")) == [(0, 1), (1, 1), (1, 1)]


def test_more_ranks_than_gpus_share_them_evenly_and_it_is_said():
    ranks = [("a", "pq")] * 5
    assert numbers(*ranks) == [(0, 3), (1, 2), (0, 3), (1, 2), (0, 3)]
    (findings,) = devices.Gpus.of(seen(*ranks)).findings()
    assert (findings.code, findings.message) == ("W992", "5 ranks share 2 GPUs of a, memory included")
    assert findings.fix == "start 2 ranks there"


def test_idle_gpus_are_said_by_node():
    made = devices.Gpus.of(seen(("a", "pqrs"), ("b", "pq"), ("b", "pq"), ("c", "pq")))
    assert [(f.code, f.message, f.fix) for f in made.findings()] == [
        ("W993", "3 of 4 GPUs of a idle", "start 4 ranks there"),
        ("W993", "1 of 2 GPUs of c idle", "start 2 ranks there"),
    ]
    assert made.facts()["idle_gpus"] == 4
    assert [g["bus"] for g in made.facts()["gpus"]] == ["p", "p", "q", "p"]


def test_a_process_alone_takes_the_first_gpu(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_GPUS", "3")
    assert devices.prepare(comm.single(), "cuda", 1) is kernels.get("cuda")
    assert devices.seat().number == emulated.chosen().number == 0
    assert [f.code for f in devices.findings()] == ["W993"]
    assert devices.prepare(comm.single(), "cpu", 1) is kernels.get("cpu")
    assert devices.seat() is None
    assert devices.findings() == []


#: lets every rank decide, and say what it got; `before` changes what ranks see
DECIDE = """
    import os
    from subsalt.parallel.comm import world
    from subsalt.propagation import devices
    from subsalt.errors import DeviceError
    from subsalt.propagation.devices import no_gpu
    rank = int(os.environ["PMI_RANK"])
    {before}
    group = world()
    try:
        found = devices.prepare(group, {device!r}, 1).describe()
        seat = devices.seat()
        print(found["device"], seat and seat.number, [f.code for f in no_gpu("auto") + devices.findings()])
    except DeviceError as error:
        print(type(error).__name__, error.code, error)
"""


def decide(device, before="", gpus="1", ranks=3):
    """Return what each of the ranks got."""
    env = environment(SUBSALT_EMULATED_GPUS=gpus)
    done = run(ranks, DECIDE.format(device=device, before=before), env=env)
    assert done.rc == 0, done
    return [out.strip() for out in done.out]


#: ranks that take an emulated device by themselves, as they would a GPU
REAL = (
    "import dataclasses; from subsalt.kernels import cuda_library; there = cuda_library.availability(); "
    + ("cuda_library.availability = lambda: dataclasses.replace(there, emulated=False); ")
)


#: the command; of what it measures and tests, the GPU alone (the rest: tests/test_doctor.py)
DOCTOR = """
    import sys
    from subsalt import doctor
    from subsalt.cli import app, guard
    doctor.write_speed = lambda folder: 1.0
    doctor.dot_product = doctor.restart_identity = lambda: (True, "")
    sys.exit(guard.run(app.app, ["doctor", "--json"]))
"""


class TestOnRanks:
    """Each launch is one decision."""

    pytestmark = MARKS

    def test_every_rank_takes_a_gpu(self):
        assert decide("cuda", gpus="2") == [f"cuda {n} ['W992']" for n in (0, 1, 0)]

    def test_a_rank_without_gpu_ends_all_with_one_message(self):
        said = decide("cuda", before='os.environ["SUBSALT_EMULATED_GPUS"] = "0" if rank == 1 else "1"')
        assert len(set(said)) == 1, said
        assert said[0].startswith("DeviceError E991 device = cuda, but 1 of 3 ranks without GPU: rank 1 on ")
        assert "(this machine has none)" in said[0]

    def test_ranks_that_would_take_gpus_follow_those_that_cannot(self):
        before = 'os.environ["SUBSALT_EMULATED_GPUS"] = "0" if rank == 2 else "1"; ' + REAL
        assert decide("auto", before) == ["cpu None ['W980']"] * 3

    def test_ranks_that_all_have_gpus_take_them(self):
        assert decide("auto", REAL, gpus="4") == [f"cuda {n} ['W993']" for n in (0, 1, 2)]

    def test_no_gpu_at_all_is_the_error_of_one_process(self):
        said = decide("cuda", gpus="0")
        assert len(set(said)) == 1, said
        assert said[0].startswith("DeviceError E981")

    def test_a_gpu_that_lets_nobody_in_ends_all(self):
        before = """
        from subsalt.kernels import cuda_library
        def in_use():
            if rank == 1:
                raise DeviceError("GPU 0 is taken", code="E700")
        cuda_library.library = in_use
        """
        said = decide("cuda", textwrap.indent(textwrap.dedent(before), "    ").strip())
        assert len(set(said)) == 1, said
        assert said[0].startswith("DeviceError E700 GPU 0 is taken (rank 1 on ")

    def test_doctor_says_what_the_ranks_have(self):
        done = run(2, DOCTOR, env=environment(messages="direct"))
        assert done.rc == 0, done
        said = json.loads(done.out[0])
        assert said["mpi"]["cuda_aware"] is True
        assert [(t["name"], t["detail"]) for t in said["tests"] if t["detail"]] == [("gpu", "same bytes")]
        assert "2 ranks on 1 GPU\n" in done.err[0]
        assert "2 ranks share 1 GPU of" in done.err[0]
        assert "CUDA-aware: yes (SUBSALT_GPU_MPI=direct); ghost planes go straight" in done.err[0]


def test_a_second_gpu_in_one_process_is_refused(emulated, monkeypatch):
    monkeypatch.setenv("SUBSALT_EMULATED_GPUS", "2")
    emulated.library()
    with pytest.raises(DeviceError, match="start another process"):
        emulated.choose(1)
