"""What `subsalt doctor` says of MPI, alone and under mpiexec."""

import json
import os
from types import SimpleNamespace

import pytest
from launch import needs_mpi, run

from subsalt import doctor
from subsalt.errors import ParallelError
from subsalt.parallel import mpi_library


def test_without_mpi4py_one_process_is_all(monkeypatch):
    def missing(name):
        raise doctor.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "version", missing)
    assert doctor.examine_mpi().lines() == [
        "mpi none: one process (for more: in the clone: pip install -e '.[mpi]')"
    ]


def test_a_library_that_does_not_load_is_said_with_its_cure(monkeypatch):
    def broken():
        raise RuntimeError("cannot load MPI library\n  libmpi.so.12: no such file")

    monkeypatch.setattr(doctor.metadata, "version", lambda name: "4.1.2")
    monkeypatch.setattr(mpi_library, "describe", broken)
    diagnosis = doctor.examine_mpi()
    assert diagnosis.lines()[0] == (
        "mpi mpi4py 4.1.2, not usable: cannot load MPI library libmpi.so.12: no such file"
    )
    assert "MPI4PY_LIBMPI" in diagnosis.lines()[1]


@needs_mpi
def test_alone_it_says_how_to_start_ranks():
    (line,) = doctor.examine_mpi().lines()
    assert "mpi4py" in line
    assert "mpiexec -n 2" in line
    assert not mpi_library.is_running()  # the library was asked for its name, and not started


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: Fri Sep 25\n\0", "MPICH 5.0.2"),
        ("Open MPI v5.0.11, package: Open MPI user@localhost, ident: 5.0.11", "Open MPI v5.0.11"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS\n", "Intel(R) MPI Library 2021.18 for Linux* OS"),
    ],
)
def test_libraries_are_named_in_a_few_words(monkeypatch, said, name):
    monkeypatch.setattr(mpi_library, "module", lambda: SimpleNamespace(Get_library_version=lambda: said))
    assert mpi_library.version() == name


def test_ranks_on_several_hosts_and_on_few_cores(monkeypatch):
    monkeypatch.setattr(doctor, "usable_cores", lambda: 2)
    here = os.uname().nodename
    report = doctor.Mpi("4.1", "Open MPI v4", "3.1", "MPI.openmpi", None, "srun", 7, {here: 4, "far": 3})
    report.threads = "MPI_THREAD_FUNNELED"
    first, blind, crowd = report.lines()
    assert f"7 ranks by srun: 4 on {here}, 3 on far; MPI_THREAD_FUNNELED" in first
    assert "is not noticed" in blind
    assert f"4 ranks share 2 cores of {here}" in crowd


@needs_mpi
def test_under_mpiexec_the_ranks_are_counted(tmp_path):
    done = run(3, ["subsalt", "doctor", "--json", "--scratch", tmp_path])
    assert done.rc == 0, done
    assert done.out[1:] == ["", ""]
    assert done.err[1:] == ["", ""]
    assert not done.mpiexec, done
    result = json.loads(done.out[0])
    assert result["mpi"]["ranks"] == 3
    assert result["mpi"]["hosts"] == {os.uname().nodename: 3}
    assert result["mpi"]["threads"] == "MPI_THREAD_MULTIPLE"
    # the self-test ran in one process, after MPI had ended
    assert all(test["passed"] for test in result["tests"])
    assert f"3 ranks by mpiexec: 3 on {os.uname().nodename}" in done.err[0]


@needs_mpi
def test_a_launcher_of_another_mpi_is_refused_once():
    other = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2"}
    done = run(1, ["subsalt", "doctor"], env=other)
    assert done.rc == ParallelError.exit_code == 69, done
    assert done.err[0].startswith("error E712"), done


@pytest.mark.parametrize("value", ["off", "0", "no"])
def test_ranks_may_be_runs_of_their_own(monkeypatch, value):
    monkeypatch.setenv("PMI_RANK", "1")
    monkeypatch.setenv("PMI_SIZE", "3")
    monkeypatch.setenv("SUBSALT_MPI", value)
    monkeypatch.setattr("subsalt.parallel.comm._world", None)
    assert doctor.examine_mpi().ranks == 1
