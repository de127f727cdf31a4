"""Run collective calls with known answers under files and variables, and tell what came of each."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from subsalt.errors import DeviceError, SubsaltError
from subsalt.io.publish import make_folder, publish_text
from subsalt.machine import launcher
from subsalt_lab.pmpi.mpi_in_use import MpiInUse

#: a program that makes one step hang is ended after so many seconds
TIMEOUT = 120.0
#: lines of a backtrace, which tell nothing to who did not write the library
BACKTRACE = re.compile(r"\S*\(\S*\+0x[0-9a-f]+\) \[0x[0-9a-f]+\](?: \| )?")


@dataclass(frozen=True)
class Step:
    """Some calls of one kind.

    Parameters
    ----------
    collective : str
        Of `choice.COLLECTIVES`.
    ranks : int
        Of the communicator.
    bytes : int
        As `Choice` counts them; whole elements of 8 bytes.
    comm : str
        ``"world"``, or ``"part"``: the last ranks in the opposite order.
    operation : str
        Of reductions: ``"sum"``, or ``"order"``, which does not commute and is the user's own.
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
    """What came of steps.

    Parameters
    ----------
    steps : tuple of Step
        As asked for.
    said : tuple of str
        Of each: ``"right"``, ``"wrong: ..."``, ``"raised: ..."``, or ``"not reached"`` after the program ended.
    ended : str
        How the program ended when not by itself; empty otherwise.
    printed : str
        What it printed when it ended by itself.
    """

    steps: tuple[Step, ...]
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
    steps: Sequence[Step],
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
    steps : sequence of Step
        One after the other; all on as many ranks, and all of them on the world or on a part.
    environment : mapping of str to str
        Variables for the ranks.
    ranks : int, optional
        Of the world; those of the steps when left out.
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
        asked = {
            "threads": "single" if threads == "single" else "multiple",
            "steps": [asdict(s) for s in steps],
        }
        publish_text(request, json.dumps(asked))
        program = [sys.executable, "-m", "subsalt_lab.collectives.known_calls_worker", str(request)]
        variables = {"MPI4PY_LIBMPI": str(mpi.library), "OMP_NUM_THREADS": "1", **environment}
        try:
            ran = launcher.run(mpi.start(ranks, program, variables), what="the program", timeout=TIMEOUT)
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


def refuse_without(mpi: MpiInUse, step: Step, folder: Path) -> None:
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
            "mend that first: mpiexec -n 2 hostname shows whether it starts programs",
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
