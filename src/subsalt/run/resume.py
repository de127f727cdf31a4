"""How a run goes on in a directory that an earlier start has left: what is done, what is suspect.

Evidence of a crash: which shot a rank worked on when it died, and of what.

A process that is killed from outside says nothing of the shot it was in. One that crashes (a segmentation fault, an
abort) leaves its stack in a small file of the run directory, and one that the system ended for lack of memory shows in
the system's counter. Only such evidence counts as a failure of the shot.

Shots that fail: tried once more at the end of the survey, then quarantined with all that is needed to examine them.

A failure belongs to the shot when trying again may help or nothing else is touched: traces that are wrong or cannot be
read, a wavefield that blows up, too little memory. What cannot be written stops the run: the next shot would meet it
too.
"""

from __future__ import annotations

import faulthandler
import json
import os
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.survey import Shot, Survey
from subsalt.errors import (
    CorruptionError,
    DataError,
    MissingInputError,
    NumericalFailure,
    ResourceError,
    SubsaltError,
)
from subsalt.host import kills_for_memory
from subsalt.io import own
from subsalt.io.event_log import log_event
from subsalt.io.publish import make_folder, publish_array, publish_text
from subsalt.parallel.comm import Comm
from subsalt.run.ledger import Ledger
from subsalt.run.lock import boot_id

if TYPE_CHECKING:
    from subsalt.earth.grid import Box

FOLDER = "quarantine"
#: failures of a shot after which it is set aside
TRIES = 2
#: bytes of traces that are copied beside the record of a failure
MOST_TRACES = 256 << 20


def belongs_to_shot(error: BaseException, group: Comm) -> bool:
    """Return whether an error is a failure of the shot in hand, which all ranks of its group have met together."""
    if isinstance(error, DataError | NumericalFailure):
        return True
    known = (
        isinstance(error, MemoryError | CorruptionError | MissingInputError)
        # a read that failed; writes have codes of their own
        or (isinstance(error, ResourceError) and error.code == "E601")
    )
    return known and (group.size == 1 or getattr(error, "agreed_ranks", 0) >= group.size)


def words_of(error: BaseException) -> str:
    """Return an error for people, its code first."""
    if isinstance(error, SubsaltError):
        return f"{error.code} {error}"
    return f"{type(error).__name__}: {error}".rstrip(": ")


def record_path(folder: Path, unit: int, number: int = 0) -> Path:
    """Return the record of a unit's failures in a round of a run."""
    of_round = f".round_{number:03d}" if number else ""
    return folder / FOLDER / f"shot_{unit:06d}{of_round}.json"


def read_record(folder: Path, unit: int, number: int = 0) -> dict[str, Any]:
    """Return the record of a unit's failures in a round, empty when there is none."""
    try:
        content = json.loads(own.read_text(record_path(folder, unit, number)))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def record(
    folder: Path,
    survey: Survey,
    shot: Shot,
    window: Box,
    error: BaseException,
    where: dict[str, object],
    number: int = 0,
) -> None:
    """Publish what is known of a failure beside those before it; called by one rank.

    Parameters
    ----------
    folder : Path
        The run directory.
    survey, shot : Survey, Shot
        What failed.
    window : Box
        Its part of the model.
    error : BaseException
        How.
    where : dict
        Rank and host.
    number : int
        The round in hand.
    """
    index = shot.trace_index
    facts: dict[str, Any] = {
        "source": [float(c) for c in shot.src],
        "receivers": len(shot.rcv),
        "receivers_from": [float(c) for c in shot.rcv.min(axis=0)] if len(shot.rcv) else [],
        "receivers_to": [float(c) for c in shot.rcv.max(axis=0)] if len(shot.rcv) else [],
        "window": {"lo": list(window.lo), "hi": list(window.hi)},
        "traces": {
            "files": list(survey.source_files),
            "first": None if index is None or not len(index) else int(index.min()),
            "last": None if index is None or not len(index) else int(index.max()),
        },
    }
    failure = where | {"reason": words_of(error), "traceback": traceback.format_exception(error)}
    name = _copy_traces(folder, survey, shot)
    add(folder, shot.id, failure, facts | ({"copy": name} if name else {}), number)


def add(
    folder: Path,
    unit: int,
    failure: dict[str, object],
    facts: dict[str, Any] | None = None,
    number: int = 0,
) -> None:
    """Publish one more failure of a unit.

    Parameters
    ----------
    failure : dict
        ``reason``, and what else is known.
    facts : dict, optional
        The unit's inputs.
    number : int
        The round in which it failed.
    """
    known = read_record(folder, unit, number)
    failures = known.get("failures")
    now = {"time": datetime.now(UTC).isoformat(timespec="seconds"), **failure}
    known |= {"shot": unit, **({"round": number} if number else {}), **(facts or {})}
    known["failures"] = [*(failures if isinstance(failures, list) else []), now]
    make_folder(folder / FOLDER)
    publish_text(record_path(folder, unit, number), json.dumps(known, indent=1) + "\n")


def _copy_traces(folder: Path, survey: Survey, shot: Shot) -> str:
    """Keep the traces as they were read; return the name of the file, empty when they could not be."""
    name = f"{FOLDER}/shot_{shot.id:06d}.traces.npy"
    if (folder / name).exists() or 4 * len(shot.rcv) * survey.time.nt > MOST_TRACES:
        return name if (folder / name).exists() else ""
    try:
        data = survey.traces(shot)
    except (SubsaltError, OSError, MemoryError):
        return ""
    make_folder(folder / FOLDER)
    publish_array(folder / name, data)
    return name


def forget(folder: Path, unit: int, number: int = 0) -> None:
    """Remove the records of a unit that has succeeded after all."""
    if not (folder / FOLDER).is_dir():
        return
    for path in (record_path(folder, unit, number), folder / FOLDER / f"shot_{unit:06d}.traces.npy"):
        with suppress(FileNotFoundError):
            own.unlink(path)


def fail(ledger: Ledger, unit: int, reason: str) -> bool:
    """Write a failure into the ledger, and set the unit aside when it is one too many; return whether it was."""
    aside = ledger.fail(unit, reason) >= TRIES
    if aside:
        ledger.quarantine(unit, reason)
    return aside


#: files of the ranks, and letters of a stack that are kept
PATTERN, MOST = "crash.r*.txt", 8000


class CrashNote:
    """The file in which a rank says what it works on, and in which a crash leaves its stack. A context manager.

    Parameters
    ----------
    folder : Path
        The run directory.
    rank : int
        Of this process.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self.path = folder / f"crash.r{rank:04d}.txt"
        #: the round in hand
        self.round = 0
        self._fd = -1
        self._ours = False

    def __enter__(self) -> CrashNote:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError):  # evidence is worth no failure of its own
            with suppress(FileNotFoundError):
                os.unlink(self.path)  # what lies there may be somebody else's as well
            self._fd = os.open(self.path, flags, 0o600)
        if self._fd >= 0 and not faulthandler.is_enabled():
            faulthandler.enable(self._fd)
            self._ours = True
        return self

    def now(self, unit: int) -> None:
        """Say which unit this rank begins."""
        of_round = f" {self.round}" if self.round else ""
        if self._fd >= 0:
            with suppress(OSError):
                os.ftruncate(self._fd, 0)
                os.write(self._fd, f"{unit}{of_round}\n".encode())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            faulthandler.disable()
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
                os.unlink(self.path)
            self._fd = -1


def collect(folder: Path) -> dict[tuple[int, int], str]:
    """Return the stacks that crashed ranks of an earlier start left, by round and unit, and remove all notes.

    Only for the owner of the run directory.
    """
    stacks: dict[tuple[int, int], str] = {}
    for path in sorted(folder.glob(PATTERN)):
        with suppress(OSError, ValueError):
            with open(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
            ) as file:
                head, _, stack = file.read(MOST).decode(errors="replace").partition("\n")
            unit, _, number = head.partition(" ")
            if stack.strip():
                stacks.setdefault((int(number or 0), int(unit)), stack.strip())
        with suppress(OSError):
            path.unlink()
    return stacks


def died_of_memory(lease: dict[str, object]) -> bool:
    """Return whether the system ended a process for lack of memory since the owner of a lease began, here.

    Parameters
    ----------
    lease : dict
        Of an owner that is dead.
    """
    before, now = lease.get("memory_kills"), kills_for_memory()
    return isinstance(before, int) and now is not None and lease.get("boot") == boot_id() and now > before


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
    """Write down how the start before ended, and which units are tried again; on rank 0, which holds the lock.

    Notes
    -----
    A run that was killed from outside is no fault of the units it was in: they are only planned again, and last when
    it happened twice. A crash that left its stack, or an end for lack of memory, is a failure of its unit. Units of a
    round that is closed are not tried again: what followed was made of its result.
    """
    word = ledger.unit
    for (number, unit), stack in collect(ledger.folder).items():
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
    """Count a failure that a start before has left evidence of."""
    # a crash after the unit was done, in the image sum say, is none of its doing; nor counts one in a closed round
    if number != ledger.round or unit not in ledger.planned():
        return
    add(ledger.folder, unit, failure, number=number)
    aside = fail(ledger, unit, failure["reason"])
    what = "quarantined" if aside else "failed"
    log_event(ledger.folder, event=what, **ledger.named(unit), reason=failure["reason"])


def units_to_do(ledger: Ledger) -> list[int]:
    """Return the units of the round that are neither done nor quarantined, suspects last."""
    suspects = set(ledger.suspects())
    return sorted(ledger.planned(), key=lambda unit: unit in suspects)
