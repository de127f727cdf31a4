"""How a run goes on in a directory that an earlier start has left: what is done, what is suspect."""

from __future__ import annotations

from dataclasses import dataclass

from subsalt.run import quarantine
from subsalt.run.crashes import collect, died_of_memory
from subsalt.run.facts import log_event
from subsalt.run.ledger import Ledger


@dataclass(frozen=True)
class ResumeOptions:
    """What a start of a run does with what it finds, and when it stops.

    Parameters
    ----------
    retry_quarantined : bool
        Quarantined shots are tried again.
    accept_changed_inputs : bool
        Finished shots are kept although files of traces have changed.
    limit : float, optional
        Seconds after which the run stops by itself.
    """

    retry_quarantined: bool = False
    accept_changed_inputs: bool = False
    limit: float | None = None


AS_IT_IS = ResumeOptions()


def review_last_start(ledger: Ledger, resume: ResumeOptions) -> None:
    """Write down how the start before ended, and which shots are tried again; on rank 0, which holds the lock.

    Notes
    -----
    A run that was killed from outside is no fault of the shots it was in: they are only planned again, and last when
    it happened twice. A crash that left its stack, or an end for lack of memory, is a failure of its shot.
    """
    for shot, stack in collect(ledger.folder).items():
        first = stack.splitlines()[0]
        _note(ledger, shot, f"the program crashed in this shot: {first}", {"stack": stack.splitlines()})
    if len(ledger.interrupted) == 1 and died_of_memory(ledger.lock.previous):
        _note(ledger, ledger.interrupted[0], "the system ended the run for lack of memory in this shot", {})
    elif ledger.interrupted:
        log_event(ledger.folder, event="died", **{f"{ledger.unit}s": ledger.interrupted})
    if resume.retry_quarantined:
        for shot in ledger.forgive():
            log_event(ledger.folder, event="tried again", shot=shot)


def _note(ledger: Ledger, shot: int, reason: str, more: dict[str, object]) -> None:
    # a crash after the shot was done, in the image sum say, is none of its doing
    if not any(r["id"] == shot and r["state"] == "planned" for r in ledger.rows()):
        return
    quarantine.add(ledger.folder, shot, {"reason": reason, **more})
    aside = quarantine.fail(ledger, shot, reason)
    log_event(ledger.folder, event="quarantined" if aside else "failed", shot=shot, reason=reason)


def units_to_do(ledger: Ledger) -> list[int]:
    """Return the units that are neither done nor quarantined, suspects last."""
    suspects = set(ledger.suspects())
    planned = [r["id"] for r in ledger.rows() if r["state"] == "planned"]
    return sorted(planned, key=lambda shot: shot in suspects)
