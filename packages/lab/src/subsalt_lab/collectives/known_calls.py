"""Calls with known answers under files and variables, and what is not safe there: wrong answers are taken out.

Some algorithms add in another order, and are wrong for operations that do not commute; some need more elements than
ranks; some do not work in place. The library asks such questions before it chooses by itself; a file is believed.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from subsalt.errors import DeviceError, SubsaltError
from subsalt.io.publish import make_folder, publish_text
from subsalt.machine import programs
from subsalt_lab.collectives import writers
from subsalt_lab.collectives.choice import AlgorithmChoice
from subsalt_lab.collectives.known_calls_worker import ELEMENT
from subsalt_lab.collectives.writers import TuningFiles
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Say

#: a program that makes one step hang is ended after so many seconds
TIMEOUT = 120.0
#: lines of a backtrace, which tell nothing to who did not write the library
BACKTRACE = re.compile(r"\S*\(\S*\+0x[0-9a-f]+\) \[0x[0-9a-f]+\](?: \| )?")


@dataclass(frozen=True)
class CallSeries:
    """Some calls of one kind.

    Parameters
    ----------
    collective : str
        Collective operation, one of `choice.COLLECTIVES`.
    ranks : int
        Size of the communicator.
    bytes : int
        As `AlgorithmChoice` counts them; whole elements of 8 bytes.
    comm : str
        ``"world"``, or ``"part"``: the last ranks in the opposite order.
    operation : str
        Operation of reductions: ``"sum"``, or ``"order"``, which does not commute and is defined by the user.
    root : str
        ``"first"`` or ``"last"`` rank.
    in_place : bool
        With MPI_IN_PLACE.
    calls : int
        How often.
    """

    collective: str
    ranks: int
    bytes: int
    comm: str = "world"
    operation: str = "sum"
    root: str = "first"
    in_place: bool = False
    calls: int = 1

    def __str__(self) -> str:
        words = [self.collective, f"of {self.bytes} bytes on {self.ranks} ranks"]
        words += ["of a sub-communicator"] * (self.comm == "part")
        if self.collective in ("allreduce", "reduce"):
            words.append(
                "by an operation that does not commute" if self.operation == "order" else "by MPI_SUM"
            )
        return " ".join([*words, *["in place"] * self.in_place])


@dataclass(frozen=True)
class Answers:
    """Answers of a program to its steps.

    Parameters
    ----------
    steps : tuple of CallSeries
        Steps in their order.
    said : tuple of str
        Answer to each step: ``"right"``, ``"wrong: ..."``, ``"raised: ..."``; ``"not reached"`` after its end.
    ended : str
        How the program ended when not by itself; empty otherwise.
    printed : str
        Output of the program when it ended by itself.
    """

    steps: tuple[CallSeries, ...]
    said: tuple[str, ...]
    ended: str = ""
    printed: str = ""

    @property
    def failed(self) -> int | None:
        """Number of the first step that is not right, None when all are."""
        return next((i for i, s in enumerate(self.said) if s != "right"), None)

    def text(self) -> str:
        """Return what failed first, empty when nothing did."""
        if self.failed is None:
            return self.ended
        said = self.said[self.failed]
        how = self.ended if said == "not reached" else said
        return f"{self.steps[self.failed]}: {how}"


def run(
    mpi: MpiInUse,
    steps: Sequence[CallSeries],
    environment: Mapping[str, str],
    *,
    ranks: int | None = None,
    folder: Path,
    threads: str = "multiple",
) -> Answers:
    """Run steps in a program of their own.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    steps : sequence of CallSeries
        One after the other; all on as many ranks, and all of them on the world or on a part.
    environment : mapping of str to str
        Variables for the ranks.
    ranks : int, optional
        Ranks of the world; those of the steps when left out.
    folder : path
        Seen by all nodes; what is made in it is removed.
    threads : str
        ``"multiple"`` or ``"single"``: what the program asks MPI for.
    """
    ended = printed = ""
    # a part is one of a world with one rank more
    ranks = ranks or steps[0].ranks + (steps[0].comm == "part")
    with _scratch(folder) as scratch:
        request = scratch / "request.json"
        steps_request = {
            "threads": "single" if threads == "single" else "multiple",
            "steps": [asdict(s) for s in steps],
        }
        publish_text(request, json.dumps(steps_request))
        program = [sys.executable, "-m", "subsalt_lab.collectives.known_calls_worker", str(request)]
        variables = {"MPI4PY_LIBMPI": str(mpi.library), "OMP_NUM_THREADS": "1", **environment}
        try:
            ran = programs.run(mpi.start(ranks, program, variables), what="the program", timeout=TIMEOUT)
            printed = ran.stdout + ran.stderr
        except SubsaltError as error:
            ended = BACKTRACE.sub("", error.message)
        of_ranks = [_read(scratch / f"rank-{r}.jsonl") for r in range(ranks)]
    said = []
    for i in range(len(steps)):
        answers = [a.get(i, "not reached") for a in of_ranks]
        # what was said about the answer tells more than that another rank did not get there
        said.append(
            next((a for a in answers if a not in ("right", "not reached")), max(answers, key="right".__ne__))
        )
    return Answers(tuple(steps), tuple(said), ended, printed)


def refuse_without(mpi: MpiInUse, step: CallSeries, folder: Path) -> None:
    """Refuse to blame files and variables for a call that fails without them too.

    Raises
    ------
    DeviceError
        When it does (E943).
    """
    answers = run(mpi, [step], {}, folder=folder)
    if answers.failed is not None or answers.ended:
        raise DeviceError(
            f"{mpi.name} fails without any choice of ours: {answers.text()}",
            "correct that first: mpiexec -n 2 hostname shows whether it starts programs",
            code="E943",
        )


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    make_folder(folder)
    scratch = Path(tempfile.mkdtemp(prefix=".subsalt-calls-", dir=folder))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _read(path: Path) -> dict[int, str]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    return dict(json.loads(line) for line in lines)


#: largest vector that is tried, bytes of one rank: the answers are kept whole
MOST = 64 << 20


@dataclass(frozen=True)
class Removed:
    """A choice that was taken out.

    Parameters
    ----------
    choice : AlgorithmChoice
        Which.
    reason : str
        The call that failed, and how.
    """

    choice: AlgorithmChoice
    reason: str


@dataclass(frozen=True)
class Safety:
    """Result of the checks of known calls.

    Parameters
    ----------
    written : TuningFiles
        Files and variables of the choices that were right everywhere.
    checked : int
        Calls with right answers under it.
    removed : tuple of Removed
        Choices that were removed.
    """

    written: TuningFiles
    checked: int
    removed: tuple[Removed, ...]


def safety(
    mpi: MpiInUse, written: TuningFiles, *, built_in_only: bool = False, say: Say = lambda text: None
) -> Safety:
    """Try what was written at every edge, and write it again without what fails until nothing does.

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
                answers = run(mpi, tried, written.environment, folder=written.folder, threads=written.level)
                if answers.failed is not None or answers.ended:
                    failed = tries[answers.failed or 0]
                    refuse_without(mpi, failed[1], written.folder)
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


def _responsible(
    choices: Sequence[AlgorithmChoice], origin: AlgorithmChoice, step: CallSeries
) -> AlgorithmChoice:
    """Return the choice that a call came to: at the edge of one its neighbour may begin."""
    for c in choices:
        end = c.bytes_below if c.bytes_below is not None else step.bytes + 1
        if c.collective == step.collective and c.bytes_from <= step.bytes < end:
            return c
    return origin


def steps(choice: AlgorithmChoice, comm: str, *, built_in_only: bool = False) -> list[CallSeries]:
    """Return the calls at the edges of a choice: both ends and one element to each side, and the middle.

    Parameters
    ----------
    choice : AlgorithmChoice
        Choice that is tried.
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
                        CallSeries(
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


def sizes(choice: AlgorithmChoice) -> list[int]:
    """Return the bytes at the edges of a choice, whole elements, ascending.

    Parameters
    ----------
    choice : AlgorithmChoice
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
