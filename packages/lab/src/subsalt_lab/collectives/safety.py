"""Does every call at the edges of the tuned sizes still give the right answer? What does not is taken out.

Some algorithms add in another order, and are wrong for operations that do not commute; some need more elements than
ranks; some do not work in place. The library asks such questions before it chooses by itself; a file is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from subsalt_lab.collectives import known_calls, writers
from subsalt_lab.collectives.choice import Choice
from subsalt_lab.collectives.known_calls import Step
from subsalt_lab.collectives.known_calls_worker import ELEMENT
from subsalt_lab.collectives.writers import Say, Written
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: largest vector that is tried, bytes of one rank: the answers are kept whole
MOST = 64 << 20


@dataclass(frozen=True)
class Removed:
    """A choice that was taken out.

    Parameters
    ----------
    choice : Choice
        Which.
    reason : str
        The call that failed, and how.
    """

    choice: Choice
    reason: str


@dataclass(frozen=True)
class Safety:
    """What was checked.

    Parameters
    ----------
    written : Written
        What is left: files and variables of the choices that were right everywhere.
    checked : int
        Calls with right answers under it.
    removed : tuple of Removed
        What was taken out.
    """

    written: Written
    checked: int
    removed: tuple[Removed, ...]


def safety(
    mpi: MpiInUse, written: Written, *, built_in_only: bool = False, say: Say = lambda text: None
) -> Safety:
    """Try what was written at every edge, and write it anew without what fails until nothing does.

    Parameters
    ----------
    built_in_only : bool
        The programs that will use it reduce by built-in operations only: others are not tried.
    mpi, written, say
        As `prove.examine` takes them.

    Raises
    ------
    DeviceError
        When a call fails without the choices too (E943).
    """
    removed: list[Removed] = []
    while True:
        checked, bad = 0, None
        for ranks in sorted({c.comm_size for c in written.choices}):
            here = [c for c in written.choices if c.comm_size == ranks]
            for comm in ("world", "part"):
                say(f"collectives: are calls on {ranks} ranks right at every edge, {comm}?")
                tries = [(c, s) for c in here for s in steps(c, comm, built_in_only=built_in_only)]
                tried = [s for _, s in tries]
                answers = known_calls.run(
                    mpi, tried, written.environment, folder=written.folder, threads=written.level
                )
                if answers.failed is not None or answers.ended:
                    failed = tries[answers.failed or 0]
                    known_calls.refuse_without(mpi, failed[1], written.folder)
                    bad = Removed(_responsible(here, *failed), answers.text())
                    break
                checked += len(tries)
            if bad:
                break
        if bad is None:
            return Safety(written, checked, tuple(removed))
        say(f"collectives: {bad.choice.collective} by {bad.choice.algorithm.name} is taken out: {bad.reason}")
        removed.append(bad)
        left = [c for c in written.choices if c is not bad.choice]
        written = writers.write(
            mpi, left, written.folder, threads=written.level, as_variables=written.as_variables
        )


def _responsible(choices: Sequence[Choice], origin: Choice, step: Step) -> Choice:
    """Return the choice that a call came to: at the edge of one its neighbour may begin."""
    for c in choices:
        end = c.bytes_below if c.bytes_below is not None else step.bytes + 1
        if c.collective == step.collective and c.bytes_from <= step.bytes < end:
            return c
    return origin


def steps(choice: Choice, comm: str, *, built_in_only: bool = False) -> list[Step]:
    """Return the calls at the edges of a choice: both ends and one element to each side, and the middle.

    Parameters
    ----------
    choice : Choice
        What is tried.
    comm : str
        ``"world"`` or ``"part"``.
    built_in_only : bool
        Leave operations of the user out.
    """
    out = []
    reduction = choice.collective in ("allreduce", "reduce")
    operations = ["sum"] if built_in_only or not reduction else ["sum", "order"]
    rooted = choice.collective in ("bcast", "reduce")
    for nbytes in sizes(choice):
        for operation in operations:
            for in_place in (False, True) if choice.collective not in ("bcast", "barrier") else (False,):
                for root in ("first", "last") if rooted else ("first",):
                    out.append(
                        Step(
                            choice.collective,
                            choice.comm_size,
                            nbytes,
                            comm,
                            operation,
                            root,
                            in_place,
                            calls=2,
                        )
                    )
    # at the end enough calls for what the library does differently later on
    return [*out[:-1], replace(out[-1], calls=12)]


def sizes(choice: Choice) -> list[int]:
    """Return the bytes at the edges of a choice, whole elements, ascending.

    Parameters
    ----------
    choice : Choice
        A barrier has no size.
    """
    if choice.collective == "barrier":
        return [0]
    first = choice.bytes_from // ELEMENT
    end = -(-choice.bytes_below // ELEMENT) if choice.bytes_below is not None else 2 * first + 64
    # around the number of ranks, where vectors get shorter than ranks
    inside = [n for n in (choice.comm_size - 1, choice.comm_size, choice.comm_size + 1) if first <= n <= end]
    middle = int((max(1, first) * max(1, end)) ** 0.5)
    counts = {n + d for n in (first, end) for d in (-1, 0, 1)} | {middle, *inside}
    most = MOST // ELEMENT // (choice.comm_size if choice.collective in ("allgather", "alltoall") else 1)
    return [n * ELEMENT for n in sorted(counts) if 0 <= n <= most]
