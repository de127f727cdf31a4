"""Choices of algorithms as files and variables: complete or not there, read back as written."""

import json
from pathlib import Path

import pytest
from collective_choices import intel, mpich, openmpi

from subsalt.errors import SubsaltError
from subsalt.io.faults import set_fault
from subsalt.machine.launcher import Launcher
from subsalt_lab.collectives import known_calls, proof, writers
from subsalt_lab.collectives.known_calls import Answers
from subsalt_lab.collectives.openmpi_rules import FILE, read
from subsalt_lab.pmpi.mpi_in_use import MpiInUse


def of(family, library="/nowhere/libmpi.so.40"):
    return MpiInUse(family, "5.0", Path(library), None, None, Launcher(("mpiexec",)))


CHOICES = [openmpi("bcast", "pipeline"), openmpi("allreduce", "recursive_doubling", 4, 0, 1024)]


def test_what_is_written_is_read_back(tmp_path):
    written = writers.write(of("openmpi"), CHOICES, tmp_path / "made")
    assert writers.read(tmp_path / "made") == written
    assert read((tmp_path / "made" / FILE).read_text())["bcast"][2][1].algorithm == 3
    assert written.environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(written.files[0])


def test_how_to_use_it_is_told_for_a_shell_slurm_and_mpiexec(tmp_path):
    text = writers.write(of("openmpi"), CHOICES, tmp_path).how_to_use()
    assert f"source {tmp_path}/collectives.sh" in text
    assert "srun --export=ALL,OMPI_MCA_coll_tuned_use_dynamic_rules=1," in text
    assert "mpiexec --mca coll_tuned_use_dynamic_rules 1 " in text
    exported = (tmp_path / "collectives.sh").read_text().splitlines()
    assert exported[0] == "export OMPI_MCA_coll_tuned_use_dynamic_rules=1"


def test_no_choices_leave_a_record_that_says_so_and_nothing_of_an_earlier_one(tmp_path):
    writers.write(of("openmpi"), CHOICES, tmp_path)
    written = writers.write(of("openmpi"), [], tmp_path)
    assert written.empty
    assert [p.name for p in tmp_path.iterdir()] == [writers.RECORD]
    assert writers.read(tmp_path).empty
    assert written.how_to_use().startswith("no change")


def test_a_write_that_fails_leaves_no_record(tmp_path):
    writers.write(of("openmpi"), CHOICES, tmp_path)
    seen = []

    def fail(what, path, *rest):
        if what == "write" and "record" not in path:
            seen.append(path)
            raise OSError(28, "No space left on device")

    set_fault(fail)
    try:
        with pytest.raises(SubsaltError):
            writers.write(of("openmpi"), CHOICES[:1], tmp_path)
    finally:
        set_fault(None)
    assert seen
    assert not any(tmp_path.iterdir())


def test_han_is_set_aside_where_that_was_measured(tmp_path):
    plain = writers.write(of("openmpi"), CHOICES, tmp_path)
    assert "OMPI_MCA_coll_han_priority" not in plain.environment
    assert "several nodes" in plain.notes[0]
    aside = writers.write(of("openmpi"), [openmpi("bcast", "pipeline", coll_han_priority="0")], tmp_path)
    assert aside.environment["OMPI_MCA_coll_han_priority"] == "0"


def test_intel_gets_ranges_with_both_ends(tmp_path):
    choices = [
        intel("allreduce", 2, 4, 0, 1024),
        intel("allreduce", 5, 4, 1024, 4097),
        intel("bcast", 3, 2, 8, None),
    ]
    written = writers.write(of("intel"), choices, tmp_path)
    assert written.environment == {
        "I_MPI_ADJUST_ALLREDUCE": "2:0-1023@4-4;5:1024-4096@4-4",
        "I_MPI_ADJUST_BCAST": "3:8-2147483647@2-2",
    }
    assert written.files == ()
    assert written.arguments[:2] == ("-genv", "I_MPI_ADJUST_ALLREDUCE")
    assert "srun '--export=ALL,I_MPI_ADJUST_ALLREDUCE=2:0-1023@4-4;5:1024-4096@4-4," in written.how_to_use()
    # the semicolon must not end the line of a shell
    assert (
        "export I_MPI_ADJUST_ALLREDUCE='2:0-1023@4-4;5:1024-4096@4-4'"
        in (tmp_path / "collectives.sh").read_text()
    )


def test_variables_hold_for_all_sizes_and_so_for_one_algorithm_only(tmp_path):
    one = writers.write(of("mpich"), [mpich("bcast", "binomial")], tmp_path, as_variables=True)
    assert one.environment == {"MPIR_CVAR_BCAST_INTRA_ALGORITHM": "binomial"}
    assert "all sizes" in one.notes[0]
    two = [mpich("bcast", "binomial"), mpich("bcast", "tree", 2, 4097, 9000)]
    with pytest.raises(SubsaltError, match="several algorithms"):
        writers.write(of("mpich"), two, tmp_path, as_variables=True)
    both = writers.write(of("openmpi"), CHOICES, tmp_path, as_variables=True)
    assert both.environment["OMPI_MCA_coll_tuned_bcast_algorithm"] == "pipeline"
    assert both.environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] == "1"


def test_a_folder_without_choices_is_refused(tmp_path):
    with pytest.raises(SubsaltError, match="no choices of algorithms were written") as missing:
        writers.read(tmp_path)
    for text in ("{", json.dumps({"schema": "other"}), json.dumps({"schema": writers.SCHEMA})):
        (tmp_path / writers.RECORD).write_text(text)
        with pytest.raises(SubsaltError, match="not a record of choices") as wrong:
            writers.read(tmp_path)
    assert {missing.value.code, wrong.value.code} == {"E941"}


def test_why_an_algorithm_cannot_be_written_is_said(tmp_path):
    library = tmp_path / "libmpi.so.12"
    library.write_bytes(b"no tables")
    assert "has no table" in writers.writable(of("mpich", library), mpich("bcast", "binomial").algorithm)
    assert writers.writable(of("openmpi"), CHOICES[0].algorithm) == ""


@pytest.mark.parametrize(
    ("plain", "mined", "loaded"),
    [
        ("", "MPI startup(): Incorrect algorithm: BCAST=9999, will be ignored", True),
        ("", "", False),
        ("MPI startup(): Incorrect algorithm: BCAST=77, will be ignored",) * 2 + (False,),
    ],
)
def test_intel_is_proven_by_what_it_says_at_its_start(tmp_path, monkeypatch, plain, mined, loaded):
    def run(mpi, steps, environment, **more):
        printed = mined if "9999" in environment["I_MPI_ADJUST_BCAST"] else plain
        return Answers(tuple(steps), ("right",) * len(steps), printed=printed)

    monkeypatch.setattr(known_calls, "run", run)
    written = writers.write(of("intel"), [intel("bcast", 3)], tmp_path)
    assert proof.examine(of("intel"), written).loaded == loaded


@pytest.mark.parametrize(
    ("collective", "low", "nbytes"),
    [("alltoall", 0, 8), ("bcast", 0, 8), ("bcast", 181, 184), ("allreduce", 0, 32), ("barrier", 0, 0)],
)
def test_a_proof_calls_with_data(collective, low, nbytes):
    choice = mpich(collective, "any", 4, low)
    # a call without data returns before an algorithm is looked for
    assert proof._inside(choice).bytes == nbytes
