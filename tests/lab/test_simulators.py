"""The examples of other simulators run where Debian's programs are: profile and barriers of foreign programs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patience import PATIENCE

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.mpi


def example(name, folder, *more, **variables):
    """Return the finished run of an example on its small case, without scaling."""
    words = [
        sys.executable,
        str(EXAMPLES / name),
        "--folder",
        str(folder),
        "--quick",
        "--repeats",
        "0",
        *more,
    ]
    return subprocess.run(
        words, capture_output=True, text=True, timeout=PATIENCE, env=os.environ | variables, check=False
    )


def needs(*programs):
    """Return the mark that skips a test where one is missing."""
    lacking = [p for p in programs if shutil.which(p) is None]
    return pytest.mark.skipif(bool(lacking), reason=f"{', '.join(lacking)} not on PATH")


@needs("flow", "mpiexec.openmpi", "mpicc.openmpi")
def test_opm_flow_is_profiled_as_it_is(tmp_path):
    done = example("opm_flow.py", tmp_path)
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "profile.json").read_text())["profile"]
    assert stored["ranks"] == 2
    assert stored["mpi"].startswith("Open MPI")
    calls = {c["call"] for c in stored["calls"]}
    # what a distributed linear solver cannot do without
    assert {"MPI_Allreduce", "MPI_Irecv"} <= calls
    barriers = json.loads((tmp_path / "barriers.json").read_text())
    assert sum(row["calls"] for row in barriers["rows"]) > 0
    assert {row["class"] for row in barriers["rows"]} <= {"candidate", "weak", "keep"}
    assert "MPI_Barrier" in calls
    assert "published simulator, case 4" in done.stdout
    assert "What it does in MPI" in (tmp_path / "profile.html").read_text()


@needs("icoFoam", "blockMesh", "decomposePar", "mpiexec.openmpi", "mpicc.openmpi")
def test_openfoam_is_profiled_as_it_is(tmp_path):
    done = example("openfoam.py", tmp_path)
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "ranks-2" / "profile.json").read_text())["profile"]
    assert stored["ranks"] == 2
    calls = {c["call"]: c["calls"] for c in stored["calls"]}
    assert "MPI_Barrier" not in calls
    assert calls["MPI_Allreduce"] > 0
    # the solver came to its last time: both ranks wrote it
    assert len(list((tmp_path / "ranks-2").glob("processor?/0.[0-9]*/U"))) == 2


@pytest.mark.parametrize(
    ("name", "package"), [("opm_flow.py", "libopm-simulators-bin"), ("openfoam.py", "openfoam")]
)
def test_a_missing_simulator_is_said_in_one_line(tmp_path, name, package):
    done = example(name, tmp_path / "case", PATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("skipped: ")
    assert f"apt install {package}" in done.stdout
    assert not (tmp_path / "case").exists()
