"""The algorithms of the real libraries: each one is timed with right answers, or left out with a reason."""

import itertools
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from openmpi_environment import openmpi  # noqa: F401 a fixture

from subsalt_lab.collectives import knobs
from subsalt_lab.collectives.calls import Call
from subsalt_lab.collectives.choice import COLLECTIVES, DEFAULT, Algorithm
from subsalt_lab.collectives.mpit import Variable, loaded_library, named_values
from subsalt_lab.collectives.plan import Cell, StartAnswer, SweepStart
from subsalt_lab.collectives.request import TuningRequest, everything
from subsalt_lab.collectives.sweep import Sweep, algorithms, starter, sweep, tried
from subsalt_lab.pmpi.mpi_in_use import MpiInUse


def request(ranks, collectives, sizes=(8, 4096), **more):
    small = {"rounds": 2, "starts": 1, "oversubscribe": True, "timeout": 100.0}
    return TuningRequest(everything((ranks,), collectives, sizes), **{**small, **more})


@pytest.fixture(scope="module")
def mpich():
    mpi = MpiInUse.find()
    if mpi.family != "mpich":
        pytest.skip(f"this Python uses {mpi.name}")
    return mpi


@pytest.fixture
def open_mpi(openmpi, monkeypatch):  # noqa: F811
    """Return Open MPI 5, used by this Python."""
    for name in set(os.environ) - set(openmpi.environment):
        monkeypatch.delenv(name)
    for name, value in openmpi.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MPI4PY_LIBMPI", str(openmpi.library))
    return openmpi.mpi


def all_accounted(mpi, wanted, swept):
    """Check that every algorithm that the library lists was timed at every size, or left out with a reason."""
    known, _ = algorithms(mpi, wanted, starter(mpi, wanted))
    assert set(known) == set(wanted.collectives)
    timed = {(s.collective, s.nbytes, s.algorithm.name) for s in swept.samples}
    for w in wanted.wanted:
        for a, size in itertools.product(known[w.collective], w.sizes):
            out = [
                x
                for x in swept.left_out
                if x.algorithm == a and (x.up_to is None or size <= x.up_to) and x.why
            ]
            assert ((w.collective, size, a.name) in timed) != bool(out), (a, size, out)
    for s in swept.samples:
        assert len(s.seconds) == wanted.starts
        assert all(t > 0 for line in s.seconds for t in line)
    return known


@pytest.mark.mpi
def test_mpich_times_everything_that_it_lists(mpich):
    wanted = request(2, COLLECTIVES)
    known = all_accounted(mpich, wanted, sweep(mpich, wanted))
    names = {a.name for a in known["allreduce"]}
    assert {"default", "recursive_doubling", "ring", "composition 1"} <= names
    # with threads the shared-memory level never takes the call
    assert "release_gather" not in names


@pytest.mark.mpi
def test_a_switch_reaches_mpich_and_what_ends_it_is_found(mpich):
    bad = Algorithm("allreduce", "none", 999, {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "999"})
    good = Algorithm("allreduce", "ring", 8, {"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM": "ring"})
    cells = [Cell("allreduce", 64, (Algorithm("allreduce", DEFAULT, 0), bad, good))]
    wanted = request(2, ("allreduce",))
    out = Sweep()
    (left,) = tried(2, cells, wanted, starter(mpich, wanted), out, True)
    assert [a.name for a in left.algorithms] == ["default", "ring"]
    (why,) = out.left_out
    assert why.algorithm == bad
    assert "it ends the program" in why.text()


@pytest.mark.mpi
def test_open_mpi_times_everything_that_it_lists(open_mpi):
    wanted = request(2, COLLECTIVES)
    known = all_accounted(open_mpi, wanted, sweep(open_mpi, wanted))
    assert {"default", "basic_linear", "ring", "rabenseifner"} <= {a.name for a in known["allreduce"]}


@pytest.mark.mpi
def test_a_switch_reaches_open_mpi(open_mpi):
    # an algorithm for two ranks refuses three: only when it is really taken
    names = {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_barrier_algorithm": "two_proc"}
    pair = Algorithm("barrier", "two_proc", 5, names)
    cells = [Cell("barrier", 0, (Algorithm("barrier", DEFAULT, 0), pair))]
    wanted = request(3, ("barrier",))
    out = Sweep()
    (left,) = tried(3, cells, wanted, starter(open_mpi, wanted), out, True)
    assert [a.name for a in left.algorithms] == ["default"]
    (why,) = out.left_out
    assert "MPI_ERR_UNSUPPORTED_OPERATION" in why.text()


NO_COMM = SimpleNamespace(DOUBLE=None)


def answer(collective, nbytes, ranks, rank):
    """Return a call of one rank with the answer that the definition of the collective gives."""
    calls = [Call(NO_COMM, collective, nbytes, ranks, r) for r in range(ranks)]
    call = calls[rank]
    given = [c.given for c in calls]
    n = nbytes // 8
    call.got[:] = {
        "allreduce": lambda: sum(given),
        "reduce": lambda: sum(given),
        "bcast": lambda: given[0],
        "allgather": lambda: np.concatenate(given),
        "alltoall": lambda: np.concatenate([g[rank * n : (rank + 1) * n] for g in given]),
        "barrier": lambda: 0.0,
    }[collective]()
    return call


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_right_and_wrong_answers_are_told_apart(collective):
    for rank in range(3):
        call = answer(collective, 0 if collective == "barrier" else 4096, 3, rank)
        assert call.right()
        receives = {"barrier": False, "reduce": rank == 0, "bcast": rank != 0}.get(collective, True)
        if receives:
            call.got[300] += 1.0
            assert not call.right()
        call.forget()
        assert call.right() != receives


def test_two_parts_that_changed_places_are_wrong():
    call = answer("alltoall", 64, 2, 1)
    call.got[:] = np.roll(call.got, 8)
    assert not call.right()


def test_names_of_values_come_from_the_description():
    about = (
        "To select\nauto - Internal algorithm selection (x)\nnb   - Force nb\ntree- no\nk_ring - Force a ring"
    )
    assert named_values(about) == {"auto": 0, "nb": 1, "k_ring": 2}
    assert Variable("V", about, named_values(about)).number("k_ring") == 2
    assert Variable("V", about).number("7") == 7


MPICH_BCAST = [
    Variable("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "", {"auto": 0, "binomial": 1}),
    Variable("MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM", "", {"mpir": 0, "release_gather": 1, "auto": 2}),
    Variable(
        "MPIR_CVAR_BCAST_COMPOSITION",
        "Select composition (inter_node + intra_node) for Bcast 0 Auto selection 1 NM + SHM with explicit send-recv "
        "between rank 0 and root 2 NM + SHM without the explicit send-recv 3 NM only",
    ),
]


def test_mpich_has_three_levels():
    names = [a.name for a in knobs.algorithms("mpich", MPICH_BCAST, "bcast")]
    assert names == ["binomial", "composition 1", "composition 2", "composition 3"]
    single = knobs.algorithms("mpich", MPICH_BCAST, "bcast", threads="single")
    assert [dict(a.settings) for a in single[:2]] == [
        # without threads the shared memory of a node would take the call before
        {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial", "MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "mpir"},
        {"MPIR_CVAR_BCAST_POSIX_INTRA_ALGORITHM": "release_gather"},
    ]


def test_open_mpi_on_several_nodes_sets_han_aside():
    variables = [
        Variable("coll_tuned_bcast_algorithm", "", {"ignore": 0, "chain": 2}),
        Variable("coll_tuned_use_dynamic_rules", ""),
        Variable("coll_han_priority", ""),
    ]
    (one,) = knobs.algorithms("openmpi", variables, "bcast")
    assert one == Algorithm(
        "bcast", "chain", 2, {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_bcast_algorithm": "chain"}
    )
    without, chain = knobs.algorithms("openmpi", variables, "bcast", nodes=2)
    assert (without.name, dict(without.settings)) == ("without han", {"coll_han_priority": "0"})
    assert chain.settings["coll_han_priority"] == "0"


def test_what_a_start_does_and_says_travels_as_text():
    start = SweepStart(
        "measure", (Cell("bcast", 8, (Algorithm("bcast", "chain", 2, {"a": "b"}),)),), 3, wanted=("x",)
    )
    assert SweepStart.read(start.text()) == start
    answer = StartAnswer(
        2, ("a", "b"), {"a": 1, "b": 1}, [{"name": "x"}], wrong=[(0, 1)], seconds={"0,0": [1e-6]}, floor=1e-7
    )
    assert StartAnswer.read(answer.text()) == answer


def test_the_library_is_the_one_that_is_mapped(tmp_path):
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r--p 0 fe:00 1 /opt/lib/libmpicxx.so.1\n7f02-7f03 r-xp 0 fe:00 2 /opt/a b/libmpi.so.40.30.4\n"
    )
    assert loaded_library(maps) == Path("/opt/a b/libmpi.so.40.30.4")
    maps.write_text("7f00-7f01 r--p 0 fe:00 1 [heap]\n")
    assert loaded_library(maps) is None
