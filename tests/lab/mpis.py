"""Both kinds of MPI for a test, and small C programs compiled for each.

from mpis import mpi, openmpi       # `mpi` needs the fixture `openmpi` to be known too

def test_counts(mpi, tmp_path):
    program = mpi.compile("profiled.c", tmp_path)
    ran = mpi.profile(2, [program, tmp_path / "file"])
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from launch import _why_not
from openmpi_environment import clean_environment, openmpi  # noqa: F401

from patience import PATIENCE
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.run import Profiled, profile

PROGRAMS = Path(__file__).parent / "programs"


@dataclass(frozen=True)
class TestMpi:
    """One MPI: what it is, its Python with mpi4py, and the variables that its launcher needs."""

    __test__ = False
    mpi: MpiInUse
    python: Path
    environment: dict[str, str]

    def compile(self, name: str, folder: Path) -> Path:
        """Return the program made from a text of `programs`."""
        if self.mpi.compiler is None:
            pytest.skip(f"no mpicc of {self.mpi.name}")
        out = folder / Path(name).stem
        words = [str(self.mpi.compiler), "-g", "-pthread", str(PROGRAMS / name), "-o", str(out)]
        subprocess.run(words, check=True, timeout=PATIENCE)
        return out

    def words(self, ranks: int, program: Sequence[object]) -> list[str]:
        """Return the launch line of a program."""
        return self.mpi.start(ranks, [str(w) for w in program])

    @contextmanager
    def surroundings(self) -> Iterator[None]:
        """Have the variables that its launcher needs in the environment."""
        before = dict(os.environ)
        os.environ.clear()
        os.environ.update({**self.environment, **{k: v for k, v in before.items() if k == "XDG_CACHE_HOME"}})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def profile(self, ranks: int, program: Sequence[object], *, sites: bool = False) -> Profiled:
        """Run a program under the interposer."""
        with self.surroundings():
            return profile(self.words(ranks, program), sites=sites, timeout=PATIENCE)


@pytest.fixture(scope="session", params=["mpich", "openmpi"])
def mpi(request) -> TestMpi:
    """MPICH, then Open MPI; skipped with a reason where one is missing."""
    if request.param == "openmpi":
        other = request.getfixturevalue("openmpi")
        return TestMpi(other.mpi, other.python, other.environment)
    if (why := _why_not()) is not None:
        pytest.skip(why)
    import sys

    library = MpiInUse.find()
    if library.family != "mpich":
        pytest.skip(f"mpi4py of this environment uses {library.name}")
    return TestMpi(library, Path(sys.executable), clean_environment())
