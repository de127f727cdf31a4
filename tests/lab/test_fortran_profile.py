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

from subsalt.errors import SubsaltError
from subsalt.lab.pmpi.generate import fortran_wrapper, prototypes
from subsalt.lab.pmpi.mpi_in_use import MpiInUse
from subsalt.lab.pmpi.run import profile

TEXT = Path(__file__).parent / "programs" / "waves.f90"
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


@pytest.fixture
def waves(tmp_path, monkeypatch):
    """Return the program and its MPI, where there is a Fortran compiler of one."""
    compiler = shutil.which("mpif90.openmpi") or shutil.which("mpif90")
    if compiler is None:
        pytest.skip("no mpif90 on PATH")
    program = tmp_path / "waves"
    made = subprocess.run([compiler, "-g", TEXT, "-o", program], capture_output=True, text=True, timeout=120)
    if made.returncode:
        pytest.skip(f"{compiler} cannot compile: {made.stderr.strip().splitlines()[-1]}")
    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    # of Open MPI 4, which has other names for it
    monkeypatch.setenv("OMPI_MCA_rmaps_base_oversubscribe", "1")
    try:
        return program, MpiInUse.find(program=program)
    except SubsaltError as error:
        pytest.skip(f"{compiler} makes programs that cannot be started here: {error}")


@pytest.mark.mpi
def test_calls_bytes_communicators_and_lines(waves):
    program, mpi = waves
    found = profile(mpi.start(RANKS, [str(program)]), sites=True, timeout=120).profile
    counts = {(r.call, r.phase): (r.calls, r.bytes) for r in found.by_phase()}
    assert {key: counts.get(key) for key in EXPECTED} == EXPECTED
    assert sorted((r.comm, r.comm_size) for r in found.by_comm() if r.call == "MPI_Bcast") == [
        ("world/0.0", 1),
        ("world/0.1", 1),
    ]
    if shutil.which("addr2line") is None:
        return  # lines are not known then
    line = next(n for n, text in enumerate(TEXT.read_text().splitlines(), 1) if "MPI_Barrier" in text)
    assert [found.places[r.site] for r in found.by_site() if r.call == "MPI_Barrier"] == [f"waves.f90:{line}"]


TYPES = "".join(f"typedef int MPI_{name};" for name in ("Comm", "Datatype", "Info", "File", "Fint"))


def only(declaration):
    (found,) = prototypes(TYPES + declaration)
    return fortran_wrapper(found)


def test_what_c_takes_by_value_is_read_under_its_name():
    text = only(
        "int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm);"
    )
    assert "int count = *(MPI_Fint*)f_count;" in text
    assert "MPI_Datatype datatype = PMPI_Type_f2c(*(MPI_Fint*)f_datatype);" in text
    assert "MPI_Comm comm = PMPI_Comm_f2c(*(MPI_Fint*)f_comm);" in text
    # the tag says nothing about bytes
    assert not re.search(r"int tag =", text)
    assert text.count("pmpi_send_(f_buf, f_count, f_datatype, f_dest, f_tag, f_comm, f_ierror);") == 2


def test_texts_have_hidden_lengths_and_are_left_out():
    assert (
        only(
            "int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh);"
        )
        is None
    )
