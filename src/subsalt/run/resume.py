"""How a run is resumed in a directory that an earlier start has left: which units are done, and which are suspect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from subsalt.io.event_log import log_event
from subsalt.run.crash_evidence import collect_crash_stacks, died_of_memory
from subsalt.run.ledger import Ledger
from subsalt.run.quarantine import add_failure, count_failure


@dataclass(frozen=True)
class ResumeOptions:
    """Options of a start in a run directory that may hold earlier results.

    Parameters
    ----------
    retry_quarantined : bool
        Whether quarantined shots are tried again.
    accept_changed_inputs : bool
        Whether finished shots are kept although files of traces have changed.
    limit : float, optional
        Seconds after which the run stops by itself.
    """

    retry_quarantined: bool = False
    accept_changed_inputs: bool = False
    limit: float | None = None


DEFAULT_RESUME = ResumeOptions()


def review_last_start(ledger: Ledger, resume: ResumeOptions) -> None:
    """Record how the previous start ended, and which units are tried again; on rank 0, which holds the lock.

    Notes
    -----
    Units of a run that was killed from outside have not failed: they are planned again, and come last when it happened
    twice. A crash that left its stack, or an end for lack of memory, is a failure of its unit. Units of a closed round
    are not tried again, since later rounds build on its result.
    """
    word = ledger.unit
    for (number, unit), stack in collect_crash_stacks(ledger.folder).items():
        first = stack.splitlines()[0]
        reason = f"the program crashed in this {word}: {first}"
        _note(ledger, number, unit, {"reason": reason, "stack": stack.splitlines()})
    if len(ledger.interrupted) == 1 and died_of_memory(ledger.lock.previous):
        reason = f"the system ended the run for lack of memory in this {word}"
        _note(ledger, *ledger.interrupted[0], {"reason": reason})
    elif ledger.interrupted:
        log_event(ledger.folder, event="died", **ledger.named_all(ledger.interrupted))
    if resume.retry_quarantined:
        for unit in ledger.reset_attempts():
            log_event(ledger.folder, event="tried again", **ledger.named(unit))


def _note(ledger: Ledger, number: int, unit: int, failure: dict[str, Any]) -> None:
    """Count a failure of which an earlier start has left evidence."""
    # a crash after the unit was done, for example in the image sum, is not its failure; in a closed round none counts
    if number != ledger.round or unit not in ledger.planned():
        return
    add_failure(ledger.folder, unit, failure, number=number)
    aside = count_failure(ledger, unit, failure["reason"])
    what = "quarantined" if aside else "failed"
    log_event(ledger.folder, event=what, **ledger.named(unit), reason=failure["reason"])


def units_to_do(ledger: Ledger) -> list[int]:
    """Return the units of the round that are neither done nor quarantined, suspects last."""
    suspects = set(ledger.suspects())
    return sorted(ledger.planned(), key=lambda unit: unit in suspects)
