"""Calls of a Fortran program are counted once, whether its library goes through the functions of C or not.

The wheels of the tests have no Fortran: this needs the compiler of an MPI that is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from openmpi_environment import SETTINGS, clean_environment

from patience import PATIENCE
from subsalt.errors import SubsaltError
from subsalt_lab.pmpi.generate import fortran_names, fortran_wrapper, prototypes
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.run import profile

PROGRAMS = Path(__file__).parent / "programs"
RANKS = 2
#: call, phase -> calls and bytes of both ranks
EXPECTED = {
    ("MPI_Allreduce", ""): (10, 640),
    ("MPI_Barrier", "phase 4"): (2, 0),
    ("MPI_Comm_split", "phase 4"): (2, 0),
    ("MPI_Bcast", "phase 4"): (2, 24),
    ("MPI_Isend", "phase 4"): (2, 16),
    ("MPI_Recv", "phase 4"): (2, 32),
    ("MPI_Wait", "phase 4"): (2, 0),
    ("MPI_Alltoall", "phase 4"): (2, 16),
}


@pytest.fixture(params=["mpif90.openmpi", "mpif90.mpich"])
def compiler(request):
    """Return the Fortran compiler of an MPI, where there is one."""
    path = shutil.which(request.param)
    if path is None:
        pytest.skip(f"no {request.param} on PATH")
    return path


@pytest.fixture(params=["waves.f90", "waves_2008.f90"])
def waves(request, compiler, tmp_path, monkeypatch):
    """Return the program, of `use mpi` or `use mpi_f08`, its text and its MPI."""
    text, program = PROGRAMS / request.param, tmp_path / "waves"
    made = subprocess.run(
        [compiler, "-g", text, "-o", program], capture_output=True, text=True, timeout=PATIENCE
    )
    if made.returncode:
        pytest.skip(f"{compiler} cannot compile: {made.stderr.strip().splitlines()[-1]}")
    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    # of Open MPI 4, which has other names for it
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
    try:
        return program, text, MpiInUse.find(program=program)
    except SubsaltError as error:
        pytest.skip(f"{compiler} makes programs that cannot be started here: {error}")


@pytest.mark.mpi
def test_calls_bytes_communicators_and_lines(waves):
    program, text, mpi = waves
    profiled = profile(mpi.start(RANKS, [str(program)]), sites=True, timeout=PATIENCE).profile
    counts = {(r.call, r.phase): (r.calls, r.bytes) for r in profiled.by_phase()}
    assert {key: counts.get(key) for key in EXPECTED} == EXPECTED
    assert sorted((r.comm, r.comm_size) for r in profiled.by_comm() if r.call == "MPI_Bcast") == [
        ("world/0.0", 1),
        ("world/0.1", 1),
    ]
    if shutil.which("addr2line") is None:
        return  # lines are not known then
    line = next(n for n, words in enumerate(text.read_text().splitlines(), 1) if "MPI_Barrier" in words)
    assert [profiled.places[r.site] for r in profiled.by_site() if r.call == "MPI_Barrier"] == [
        f"{text.name}:{line}"
    ]


TYPES = "".join(f"typedef int MPI_{name};" for name in ("Comm", "Datatype", "Info", "File", "Fint"))


def only(declaration, name="mpi_send_"):
    (names,) = prototypes(TYPES + declaration)
    return fortran_wrapper(names, name)


def test_what_c_takes_by_value_is_read_under_its_name():
    text = only(
        "int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);"
    )
    assert "int count = *(MPI_Fint*)f_count;" in text
    assert "MPI_Datatype datatype = PMPI_Type_f2c(*(MPI_Fint*)f_datatype);" in text
    assert "MPI_Comm comm = PMPI_Comm_f2c(*(MPI_Fint*)f_comm);" in text
    # the tag says nothing about bytes
    assert not re.search(r"int tag =", text)
    assert text.count("next(f_buf, f_count, f_datatype, f_dest, f_tag, f_comm, f_ierror);") == 2


def test_functions_of_mpi_f08_have_their_own_names_and_may_lack_the_error_code():
    (barrier,) = prototypes(TYPES + "int MPI_Barrier(MPI_Comm comm);")
    assert fortran_names(barrier) == ["mpi_barrier_", "mpi_barrier_f08_", "mpi_barrier_f08ts_"]
    text = fortran_wrapper(barrier, "mpi_barrier_f08_")
    assert "PUBLIC void mpi_barrier_f08_(void* f_comm, void* f_ierror)" in text
    assert "if (f_ierror) *(MPI_Fint*)f_ierror" in text
    (large,) = prototypes(TYPES + "int MPI_Send_c(const void *buf, int count, MPI_Comm comm);")
    assert "mpi_send_f08ts_large_" in fortran_names(large)
    assert "mpi_send_" not in fortran_names(large)


def test_texts_have_hidden_lengths_and_are_left_out():
    assert (
        only(
            "int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);"
        )
        is None
    )
