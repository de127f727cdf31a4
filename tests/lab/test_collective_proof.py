"""What is written is used by real MPI libraries, and what is wrong in it is found: without a clock."""

import json
from dataclasses import replace

import pytest
from collective_choices import mpich, openmpi
from launch import MPI
from openmpi_environment import openmpi as openmpi_fixture

from subsalt.errors import DeviceError, SubsaltError
from subsalt_lab.collectives import known_calls, openmpi_rules, proof, writers
from subsalt_lab.collectives.known_calls import CallSeries, Safety
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from thorough import thorough

pytestmark = MPI
other = openmpi_fixture


@pytest.fixture
def mine():
    """Return the MPI of this Python, when it is MPICH 5."""
    mpi = MpiInUse.find()
    if mpi.family != "mpich" or int(mpi.version.split(".")[0]) < 5:
        pytest.skip(f"{mpi.name}: its tables are not those of MPICH 5")
    return mpi


@pytest.fixture
def open_mpi(other, monkeypatch):
    """Return Open MPI, with what its launcher needs here."""
    for name, value in other.environment.items():
        monkeypatch.setenv(name, value)
    return other.mpi


def test_mpich_comes_to_every_choice(mine, tmp_path):
    """To those of an earlier measurement, which are proven before they are used."""
    choices = [mpich("allreduce", "recexch", 2, 0, 1024), mpich("allgather", "k_brucks")]
    written = writers.write(mine, choices, tmp_path)
    shown = proof.proven(mine, writers.read(tmp_path), print)
    assert shown.tried == (
        "allreduce of 16 bytes on 2 ranks by MPI_SUM",
        "allgather of 1024 bytes on 2 ranks",
    )
    # nothing of the mines is left
    assert not [p for p in tmp_path.iterdir() if "mined" in p.name or p.name.startswith(".")]
    with pytest.raises(SubsaltError, match="for an MPI of the family openmpi, this is MPICH"):
        proof.proven(mine, replace(written, family="openmpi"), print)


def test_mpich_without_threads_comes_past_the_shared_memory_level(mine, tmp_path):
    written = writers.write(mine, [mpich("bcast", "pipelined_tree")], tmp_path, threads="single")
    assert proof.examine(mine, written).loaded
    # without the table of the node, shared memory takes the calls after the first few
    general = {n: v for n, v in written.environment.items() if "POSIX" not in n}
    alone = proof.examine(mine, replace(written, environment=general))
    assert not alone.loaded
    assert "does not come to the choice" in alone.failed


def test_mpich_variables_are_proven_by_a_name_that_does_not_exist(mine, tmp_path):
    written = writers.write(mine, [mpich("bcast", "binomial")], tmp_path, as_variables=True)
    assert proof.examine(mine, written).loaded


def test_mpich_that_does_not_start_with_the_file_is_told(mine, tmp_path):
    written = writers.write(mine, [mpich("bcast", "binomial")], tmp_path)
    text = written.files[0].read_text()
    written.files[0].write_text(text.replace("MPIR_Bcast_intra_binomial", "MPIR_Bcast_intra_by_pigeon", 1))
    with pytest.raises(DeviceError, match=r"without a mine, barrier .* ended with exit code") as wrong:
        proof.prove(mine, written)
    assert wrong.value.code == "E942"


@thorough  # a file that they do not see: test_what_is_not_used_does_not_stay
def test_variables_that_do_not_reach_the_ranks_prove_nothing(mine, tmp_path):
    written = writers.write(mine, [mpich("bcast", "binomial")], tmp_path)
    with pytest.raises(DeviceError, match="does not use what was written") as wrong:
        proof.prove(mine, replace(written, environment={}))
    assert wrong.value.code == "E942"


@thorough  # allreduce: test_a_crash_of_one_rule_costs_the_others_nothing
def test_mpich_gives_right_answers_at_every_edge(mine, tmp_path):
    choices = [
        mpich("allreduce", "ring", 3),
        mpich("alltoall", "brucks", 3),
        mpich("reduce", "reduce_scatter_gather", 3),
    ]
    safety = known_calls.safety(mine, writers.write(mine, choices, tmp_path))
    assert safety.removed == ()
    assert safety.checked == sum(
        len(known_calls.steps(c, comm)) for c in choices for comm in ("world", "part")
    )


def test_open_mpi_comes_to_every_choice(open_mpi, tmp_path):
    written = writers.write(open_mpi, [openmpi("alltoall", "pairwise")], tmp_path)
    assert proof.prove(open_mpi, written).tried == ("alltoall of 1024 bytes on 2 ranks",)


def test_open_mpi_says_nothing_about_a_file_that_it_does_not_read(open_mpi, tmp_path):
    written = writers.write(open_mpi, [openmpi("bcast", "pipeline")], tmp_path)
    name = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
    elsewhere = replace(written, environment=written.environment | {name: str(tmp_path / "missing")})
    assert "does not come to the choice" in proof.examine(open_mpi, elsewhere).failed
    if open_mpi.version.startswith("5."):
        # before version 6, JSON is left aside as silently
        rule = {"msg_size_min": 0, "alg": openmpi_rules.MINE}
        path = tmp_path / "rules.json"
        path.write_text(json.dumps({"collectives": {"bcast": [{"comm_size_min": 0, "rules": [rule]}]}}))
        answers = known_calls.run(
            open_mpi, [CallSeries("bcast", 2, 2048)], written.environment | {name: str(path)}, folder=tmp_path
        )
        assert answers.failed is None


def test_a_ring_of_open_mpi_is_wrong_for_operations_that_do_not_commute(open_mpi, tmp_path):
    bad = openmpi("allreduce", "ring", end=1025)
    written = writers.write(open_mpi, [bad], tmp_path)
    safety = known_calls.safety(open_mpi, written)
    assert [r.choice for r in safety.removed] == [bad]
    assert "does not commute: wrong" in safety.removed[0].reason
    # who reduces by built-in operations only may keep it
    written = writers.write(open_mpi, [bad], tmp_path)
    assert known_calls.safety(open_mpi, written, built_in_only=True).removed == ()


def test_a_launcher_that_does_not_start_is_no_reason_to_take_rules_out(mine, tmp_path):
    written = writers.write(mine, [mpich("bcast", "binomial")], tmp_path)
    broken = replace(mine, launcher=replace(mine.launcher, words=("false",)))
    for check in (known_calls.safety, proof.prove):
        with pytest.raises(DeviceError, match="fails without any choice of ours") as wrong:
            check(broken, written)
        assert wrong.value.code == "E943"
    assert writers.read(tmp_path).choices == written.choices


def test_a_crash_of_one_rule_costs_the_others_nothing(mine, tmp_path):
    # recursive doubling of an allgather is for powers of two; the library asks, a file is believed
    good, bad = mpich("allreduce", "ring", 3), mpich("allgather", "recursive_doubling", 3)
    outcome = proof.proven_and_safe(mine, writers.write(mine, [bad, good], tmp_path), print)
    assert [r.choice for r in outcome.removed] == [bad]
    assert outcome.written.choices == (good,) == writers.read(tmp_path).choices
    assert outcome.tried == ("allreduce of 1024 bytes on 3 ranks by MPI_SUM",)
    # what is left gave right answers at every edge
    assert outcome.checked == sum(len(known_calls.steps(good, comm)) for comm in ("world", "part"))
    assert any(line.startswith("taken out: allgather by recursive_doubling") for line in outcome.lines())


def test_files_with_which_nothing_starts_are_told_before_rules_are_blamed(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(
        writers, "publish_text", lambda path, text: path.write_text(text.replace("MPIR_", "X_"))
    )
    with pytest.raises(DeviceError, match="programs do not start with it") as wrong:
        proof.proven_and_safe(mine, writers.write(mine, [mpich("bcast", "binomial")], tmp_path), print)
    assert wrong.value.code == "E942"
    assert not list(tmp_path.iterdir())


def test_what_is_not_used_does_not_stay(mine, tmp_path, monkeypatch):
    # that it starts and is safe is asked before, and told by the tests above
    monkeypatch.setattr(proof, "refuse_no_start", lambda mpi, written: None)
    monkeypatch.setattr(known_calls, "safety", lambda mpi, written, **more: Safety(written, 0, ()))
    monkeypatch.setattr(proof, "mine", lambda mpi, written, choice: replace(written, files=()))
    with pytest.raises(
        DeviceError, match=r"does not use what was written .*does not come to the choice"
    ) as wrong:
        proof.proven_and_safe(mine, writers.write(mine, [mpich("bcast", "binomial")], tmp_path), print)
    assert wrong.value.code == "E942"
    assert not list(tmp_path.iterdir())


@thorough  # another call of such a program: test_mpich_without_threads_comes_past_the_shared_memory_level
def test_a_barrier_of_a_program_without_threads_comes_to_its_choice(mine, tmp_path):
    written = writers.write(mine, [mpich("barrier", "recexch")], tmp_path, threads="single")
    assert proof.examine(mine, written).loaded
