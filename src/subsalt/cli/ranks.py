"""The command under mpiexec: which commands all ranks work on, who speaks, and how an error ends all ranks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import Finding, SubsaltError
from subsalt.parallel import comm, mpi_library
from subsalt.parallel.mpi_library import launched

if TYPE_CHECKING:
    from subsalt.cli.output import Out
    from subsalt.job.base import BaseJob

#: commands that all ranks work on; any other one is done by rank 0 while the others leave
PARALLEL = ("check", "migrate", "vscan", "model", "resume", "unit", "reimage", "doctor")


def leaves(argv: list[str]) -> bool:
    """Return whether this rank has nothing to do in a command, since rank 0 does it alone.

    Parameters
    ----------
    argv : list of str
        Arguments without the program's name.
    """
    launch = launched()
    command = next((a for a in argv if not a.startswith("-")), "")
    asks = "--help" in argv or "-h" in argv or not command
    if launch is None or launch.size == 1 or (command in PARALLEL and not asks):
        return False
    comm.stay_alone()
    if launch.rank == 0 and not asks:
        others = launch.size - 1
        text = f"subsalt {command} works in one process; {others} other rank{'s' * (others > 1)} had nothing to do"
        print(text, file=sys.stderr)
    return launch.rank != 0


def end(error: BaseException, known: SubsaltError, out: Out) -> int:
    """Say an error once and return the exit code of the command; ranks that know nothing of it are ended.

    Parameters
    ----------
    error : BaseException
        The exception that was raised.
    known : SubsaltError
        The same, as it is said.
    out : Out
        Where to.
    """
    world = comm.world_if_started()
    if world is not None and world.size > getattr(error, "agreed_ranks", 1):
        world.abort(known, out.error)
    # before MPI starts, all ranks see the same command line and the same error
    if comm.speaks():
        out.error(known)
    return known.exit_code


@contextmanager
def on_all_ranks(read: Path | Callable[[], BaseJob], out: Out, shots: str | None = None) -> Iterator[BaseJob]:
    """Read a job on all ranks, and watch over them while the block runs; collective.

    Parameters
    ----------
    read : Path or callable
        The job file, or what returns the job.
    out : Out
        Where errors are said.
    shots : str, optional
        Only these.
    """
    from subsalt.job.base import read_job
    from subsalt.parallel.watchdog import watch

    world = comm.world()
    with world.together():
        job = read_job(read) if isinstance(read, Path) else read()
        if shots is not None:
            job = job.with_shots(shots)

    def warn(finding: Finding) -> None:
        out.findings([finding])

    with watch(world, job.parallel.patience, out.error, warn):
        yield job


def together() -> AbstractContextManager[None]:
    """Return a context whose end is collective over all ranks: an exception inside on any is raised on all."""
    return comm.world().together()


def leave(code: int) -> int:
    """Return an exit code that this rank alone leaves with; the others are ended with it, without a word."""
    world = comm.world_if_started()
    if world is not None and world.size > 1:
        mpi_library.end_all(code)
    return code


def shows(error: BaseException) -> bool:
    """Return whether this rank is the one to show a traceback: all do, unless they raise the same together."""
    return comm.speaks() or not hasattr(error, "agreed_ranks")
