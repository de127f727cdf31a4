"""Does the MPI in use read what was written, and do calls reach it? Shown by a rule that no call survives.

The choice is written again, by the same writer and given to programs in the same way, with a mine in the place of its
algorithm. With Open MPI a call that reaches it raises an error, with MPICH it ends the program; Intel MPI complains
about the value when it starts, and not about the true one. No clock is needed, and no noise can hide it. The same calls
without the mine must go through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from subsalt.errors import DeviceError
from subsalt.io.publish import publish_text
from subsalt_lab.collectives import known_calls, writers
from subsalt_lab.collectives.choice import AlgorithmChoice
from subsalt_lab.collectives.known_calls import CallSeries, Removed
from subsalt_lab.collectives.known_calls_worker import ELEMENT
from subsalt_lab.collectives.writers import TuningFiles
from subsalt_lab.option_values import wrong
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Say

#: calls of another collective before: MPICH takes another way after the first few of a communicator
CALLS = 12
#: what Intel MPI says, at its start, of a value that it does not know; its report must be read, as it continues
INTEL_SAYS = "MPI startup(): Incorrect"


@dataclass(frozen=True)
class Proof:
    """Whether calls come to what was written.

    Parameters
    ----------
    loaded : bool
        All of the choices that were tried are reached.
    tried : tuple of str
        Calls that came to a mine.
    failed : str
        Calls that did not reach it, or that do not run at all; empty otherwise.
    """

    loaded: bool
    tried: tuple[str, ...]
    failed: str = ""


def prove(mpi: MpiInUse, written: TuningFiles, *, say: Say = lambda text: None) -> Proof:
    """Show that calls come to what was written.

    Raises
    ------
    DeviceError
        When a program does not end badly that should, or does not run with what was written (E942); when it does not
        run without it either (E943).
    """
    proof = examine(mpi, written, say=say)
    if not proof.loaded:
        raise _not_used(mpi, written, proof.failed)
    return proof


def _not_used(mpi: MpiInUse, written: TuningFiles, why: str) -> DeviceError:
    where = ", ".join(f"{n}={v}" for n, v in written.environment.items())
    return DeviceError(
        f"{mpi.name} does not use what was written ({where}): {why}",
        "nothing was applied; look whether its ranks see the file and get the variables",
        code="E942",
    )


def refuse_no_start(mpi: MpiInUse, written: TuningFiles) -> None:
    """Refuse files with which programs do not even start: no single rule of theirs is to blame.

    Raises
    ------
    DeviceError
        When a program without any collective call ends with them (E942), or without them too (E943).
    """
    ranks = min(c.comm_size for c in written.choices)
    folder = written.folder
    answers = known_calls.run(mpi, [], written.environment, ranks=ranks, folder=folder)
    if answers.ended:
        known_calls.refuse_without(mpi, CallSeries("barrier", ranks, 0), folder)
        raise _not_used(mpi, written, f"programs do not start with it: {answers.ended}")


def examine(mpi: MpiInUse, written: TuningFiles, *, say: Say = lambda text: None) -> Proof:
    """Try whether calls come to what was written.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    written : TuningFiles
        Files and variables, as `writers.write` returned them.
    say : callable
        Callback for progress text.
    """
    tried: list[str] = []
    for choice in representatives([c for c in written.choices if _has_rule(c)]):
        step = _inside(choice)
        say(f"collectives: does {mpi.name} read the choice for {step}?")
        plain = _run(mpi, written, step)
        if plain.failed is not None or plain.ended:
            known_calls.refuse_without(mpi, step, written.folder)
            return Proof(False, tuple(tried), f"without a mine, {plain.text()}")
        mined = mine(mpi, written, choice)
        try:
            answers = _run(mpi, mined, step)
        finally:
            for file in mined.files:
                file.unlink(missing_ok=True)
        if mpi.family == "intel":
            refused = INTEL_SAYS in answers.printed and INTEL_SAYS not in plain.printed
        else:
            refused = answers.failed is not None
        if not refused:
            return Proof(
                False, tuple(tried), f"{step} does not come to the choice of {choice.algorithm.name}"
            )
        tried.append(str(step))
    return Proof(True, tuple(tried))


def representatives(choices: Sequence[AlgorithmChoice]) -> list[AlgorithmChoice]:
    """Return one choice of each collective and number of ranks: the file is read whole, or not at all."""
    return list({(c.collective, c.comm_size): c for c in reversed(choices)}.values())[::-1]


def _has_rule(choice: AlgorithmChoice) -> bool:
    """Return whether a choice is a rule for calls; to set a component of Open MPI aside is none."""
    return list(choice.algorithm.settings) != ["coll_han_priority"]


def mine(mpi: MpiInUse, written: TuningFiles, choice: AlgorithmChoice) -> TuningFiles:
    """Write what was written once more, under other names, with a mine in the place of one choice."""
    texts = writers.compose(
        mpi, written.choices, threads=written.level, as_variables=written.as_variables, mined=choice
    )
    environment, files = dict(written.environment), []
    if not texts.files:
        environment = dict(texts.environment)
    for name, text in texts.files.items():
        file = written.folder / f"mined-{name}"
        publish_text(file, text)
        files.append(file)
        # the same variables, however they are given to the ranks; only the name of the file differs
        environment = {n: v.replace(str(written.folder / name), str(file)) for n, v in environment.items()}
    return replace(written, files=tuple(files), environment=environment)


def _inside(choice: AlgorithmChoice) -> CallSeries:
    """Return calls in the middle of a choice: the smallest whole number of elements, one or more, that is inside."""
    # calls without any data return before an algorithm is looked for
    least = 0 if choice.collective == "barrier" else max(choice.bytes_from, 1)
    nbytes = -(-least // ELEMENT) * ELEMENT
    if choice.collective in ("allreduce", "reduce"):
        # shorter vectors than ranks go the library's way, see mpich_table.guarded
        nbytes = max(nbytes, choice.comm_size * ELEMENT)
    return CallSeries(choice.collective, choice.comm_size, nbytes)


def _run(mpi: MpiInUse, written: TuningFiles, step: CallSeries) -> known_calls.Answers:
    other = "bcast" if step.collective == "barrier" else "barrier"
    before = CallSeries(other, step.ranks, 0 if other == "barrier" else ELEMENT, calls=CALLS)
    return known_calls.run(
        mpi, [before, step], written.environment, folder=written.folder, threads=written.level
    )


@dataclass(frozen=True)
class TuningOutcome:
    """Files and variables that were written, and the checks that they passed.

    Parameters
    ----------
    written : TuningFiles
        Files and variables of the choices that are left.
    tried : tuple of str
        Calls that were shown to reach them.
    checked : int
        Calls with right answers under them.
    removed : tuple of Removed
        Choices that were wrong somewhere.
    """

    written: TuningFiles
    tried: tuple[str, ...] = ()
    checked: int = 0
    removed: tuple[Removed, ...] = ()

    def lines(self) -> list[str]:
        """Return the lines for the user."""
        out = [
            f"taken out: {r.choice.collective} by {r.choice.algorithm.name} on {r.choice.comm_size} ranks: {r.reason}"
            for r in self.removed
        ]
        if not self.written.empty:
            calls = f"{len(self.tried)} call{'s' * (len(self.tried) != 1)}"
            out.append(f"proven: {calls} came to a mine in what was written, so this MPI uses it")
            if self.checked:
                out.append(f"safe: {self.checked} calls at every edge gave the right answer")
            out += [f"note: {n}" for n in self.written.notes]
        return [*out, self.written.how_to_use()]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return self.written.to_dict() | {
            "folder": str(self.written.folder),
            "proven": list(self.tried),
            "checked": self.checked,
            "removed": [{"choice": r.choice.to_dict(), "reason": r.reason} for r in self.removed],
        }


def proven_and_safe(
    mpi: MpiInUse, written: TuningFiles, say: Say, *, built_in_only: bool = False
) -> TuningOutcome:
    """Take out what is not safe of what was written, and show that the MPI uses the rest.

    Parameters
    ----------
    mpi : MpiInUse
        Which MPI.
    written : TuningFiles
        Choices of the sweep; none is a result too.
    say : callable
        Callback for progress text.
    built_in_only : bool
        Programs reduce by built-in operations only.

    Raises
    ------
    DeviceError
        When the MPI does not use what was written (E942), or cannot be told (E940); then nothing stays.
    """
    if written.empty:
        return TuningOutcome(written)
    try:
        refuse_no_start(mpi, written)
        safe = known_calls.safety(mpi, written, built_in_only=built_in_only, say=say)
        # what is left after that is proven: right answers of a file that is not read prove nothing
        proof = Proof(True, ())
        if not safe.written.empty:
            proof = prove(mpi, safe.written, say=say)
    except BaseException:
        # what is not known to be used and to be right is left out
        writers.remove(written.folder)
        raise
    return TuningOutcome(safe.written, proof.tried, safe.checked, safe.removed)


def proven(mpi: MpiInUse, written: TuningFiles, say: Say) -> TuningOutcome:
    """Show that an MPI uses what an earlier measurement wrote.

    Raises
    ------
    ConfigError
        When it was written for another one (E128).
    DeviceError
        When it is not used (E942).
    """
    if written.empty:
        return TuningOutcome(written)
    if mpi.family != written.family:
        raise wrong(
            f"{written.folder} was written for an MPI of the family {written.family}, this is {mpi.name}",
            "measure with the MPI of the program, and use another --folder",
        )
    return TuningOutcome(written, prove(mpi, written, say=say).tried)
