"""Attempts at units by processes that do not own the run directory: what each publishes, and how the owner takes it.

Attempts at a unit give the same bytes, so that no process need know of another: one that was thought dead, or comes
late, publishes what is there already. Each attempt has a folder of its own, ``attempts/round_RRR/unit_NNNNNN/ATTEMPT``,
laid out like a small run directory. Its last file, `RECORD`, says that it is complete. The owner of the run moves the
files of the first complete attempt to their places, enters the unit in the ledger, and removes the others.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import CannotCreateError
from subsalt.io import own
from subsalt.io.event_log import log_event
from subsalt.io.publish import explained, make_folder, publish_text, sync_folder
from subsalt.run import quarantine
from subsalt.run.ledger import ATTEMPTS, Ledger
from subsalt.run.method_run import RunState
from subsalt.run.scheduler import Outcome
from subsalt.run.units import enter_outcome

#: the folder of all attempts in a run directory, and the file that makes one complete
FOLDER, RECORD = ATTEMPTS, "unit.json"
_HASH = re.compile(r"[0-9a-f]{64}")


def unit_folder(run: Path, number: int, unit: int) -> Path:
    """Return the folder of the attempts at a unit of a round."""
    return run / FOLDER / f"round_{number:03d}" / f"unit_{unit:06d}"


@dataclass(frozen=True)
class Published:
    """A complete attempt at a unit.

    Parameters
    ----------
    folder : Path
        Folder of the attempt.
    identity : str
        Job, inputs and numerics for which it was computed (`identity_of`).
    round, unit, attempt : int
        Numbers of the round, of the unit, and of the attempt at it.
    files : dict of int
        Bytes of the files of its partial result, by name.
    host : str
        Machine that computed it.
    outcome : dict
        Outcome of the unit, as a rank of a run reports it.
    """

    folder: Path
    identity: str
    round: int
    unit: int
    attempt: int
    files: dict[str, int]
    host: str
    outcome: Outcome

    @property
    def line(self) -> dict[str, Any]:
        """The message that goes through an engine: numbers and short texts, less than 1 kB."""
        known: dict[str, Any] = {k: self.outcome[k] for k in ("sha256", "reason") if k in self.outcome}
        if "reason" in known:
            known["reason"] = str(known["reason"])[:600]
        size, seconds = sum(self.files.values()), round(float(self.outcome.get("seconds", 0.0)), 3)
        line = {"unit": self.unit, "attempt": self.attempt, **known, "bytes": size, "seconds": seconds}
        return line | {"host": self.host[:200]}

    def publish(self) -> None:
        """Make the attempt complete."""
        content = {k: v for k, v in vars(self).items() if k != "folder"}
        publish_text(self.folder / RECORD, json.dumps(content) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Published | None:
        """Return the attempt in a folder; None when it is not complete, or says nothing that could be used."""
        try:
            content = json.loads(own.read_text(folder / RECORD))
            numbers = {k: int(content[k]) for k in ("round", "unit", "attempt")}
            texts = {k: str(content[k]) for k in ("identity", "host")}
            files = {str(name): int(size) for name, size in content["files"].items()}
            outcome = dict(content["outcome"])
            known = "reason" in outcome or _HASH.fullmatch(outcome["sha256"]) is not None
            if not known or outcome["unit"] != numbers["unit"] or any(Path(n).name != n for n in files):
                return None
            outcome["seconds"] = float(outcome.get("seconds", 0.0))
            outcome["work"] = {str(name): int(n) for name, n in dict(outcome.get("work", {})).items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, CannotCreateError):
            return None
        return cls(folder, **texts, **numbers, files=files, outcome=outcome)  # type: ignore[arg-type]


def identity_of(ledger: Ledger) -> str:
    """Return the hash of all that the partial results of a run depend on: its job, its inputs, its numerics class."""
    files = [[str(f["key"]), str(f["sha256"])] for f in json.loads(ledger.get("inputs") or "[]")]
    return hashlib.sha256(json.dumps([ledger.get("key"), files]).encode()).hexdigest()


def complete_attempt(ledger: Ledger, unit: int, identity: str) -> Published | None:
    """Return the first complete attempt at a unit of the current round for this run; None when there is none.

    Parameters
    ----------
    identity : str
        That of the run, see `identity_of`.
    """
    folder = unit_folder(ledger.folder, ledger.round, unit)
    for name in sorted(own.names_in(folder), key=lambda n: (len(n), n)):
        attempt = Published.read(folder / name)
        if attempt is not None and (attempt.identity, attempt.round, attempt.unit) == (
            identity,
            ledger.round,
            unit,
        ):
            return attempt
    return None


def take(state: RunState, attempt: Published) -> Outcome:
    """Move the files of an attempt to their places in the run directory; return the outcome for the ledger.

    Raises
    ------
    FileNotFoundError
        When a file is neither in the attempt nor in its place.
    """
    if "reason" in attempt.outcome:
        _keep_failure(state.folder, attempt)
        return attempt.outcome
    images = attempt.folder / state.images.relative_to(state.folder)
    for name in attempt.files:
        try:
            with explained(state.images / name, 0):
                own.replace(images / name, state.images / name)
        except CannotCreateError as error:
            # moved already, by an owner that was killed before it could say so
            if not (state.images / name).is_file():
                raise FileNotFoundError(str(images / name)) from error
    with explained(state.images, 0):
        sync_folder(state.images)
    state.entered.update(attempt.outcome["work"])
    return attempt.outcome | {"host": attempt.host}


def _keep_failure(run: Path, attempt: Published) -> None:
    """Add the record of a failure to those of the unit in the run directory."""
    record = quarantine.read_record(attempt.folder, attempt.unit, attempt.round)
    failures = record.get("failures") or [{"reason": attempt.outcome["reason"], "host": attempt.host}]
    facts = {k: v for k, v in record.items() if k not in ("failures", "shot", "round")}
    quarantine.add_failure(run, attempt.unit, failures[-1], facts, attempt.round)
    traces = quarantine.traces_path(attempt.folder, attempt.unit)
    if traces.is_file():
        with suppress(OSError):
            own.replace(traces, quarantine.traces_path(run, attempt.unit))


def forget(run: Path, number: int, unit: int) -> None:
    """Remove all attempts at a unit; one that is still being computed there ends with an error of its own."""
    folder = unit_folder(run, number, unit)
    with suppress(FileNotFoundError), own.folder(folder.parent, owned=True) as at:
        own.remove_tree(folder.name, at)


def forget_all(run: Path) -> None:
    """Remove the attempts of all rounds."""
    with suppress(FileNotFoundError), own.folder(run, owned=True) as at:
        own.remove_tree(FOLDER, at)


def planned_with_attempts(ledger: Ledger) -> Iterator[int]:
    """Yield the units of the round that the ledger has not as done, and that have attempts."""
    planned = set(ledger.planned())
    for name in own.names_in(unit_folder(ledger.folder, ledger.round, 0).parent):
        number = name.removeprefix("unit_")
        if number.isdigit() and int(number) in planned:
            yield int(number)


def adopt(state: RunState) -> None:
    """Enter the units of the round that other processes have published since the ledger was last written.

    Collective. Whether their files have their checksums is found with those of all other finished units.
    """
    with state.world.together():
        ledger = state.ledger
        if ledger is None or not (state.folder / FOLDER).is_dir():
            return
        taken, identity = [], identity_of(ledger)
        for unit in list(planned_with_attempts(ledger)):
            attempt = complete_attempt(ledger, unit, identity)
            if attempt is None:
                continue
            with suppress(FileNotFoundError):
                enter_outcome(ledger, take(state, attempt))
                taken.append(unit)
            forget(state.folder, state.round, unit)
        if taken:
            log_event(state.folder, event="adopted", **ledger.named_all([(state.round, u) for u in taken]))
            state.request.say(f"{len(taken)} {ledger.unit}s that other processes have published are entered")


def next_attempt(run: Path, number: int, unit: int) -> int:
    """Return the first number behind those of all attempts at a unit that have a folder."""
    names = own.names_in(unit_folder(run, number, unit))
    return max([int(name) for name in names if name.isdigit()], default=0) + 1


def make_attempt(run: Path, number: int, unit: int, attempt: int | None = None) -> int:
    """Make the folder of an attempt; return its number: the one that is given, or the next that nobody has taken."""
    folder = unit_folder(run, number, unit)
    if attempt is not None:
        make_folder(folder / str(attempt))
        return attempt
    make_folder(folder)
    attempt = next_attempt(run, number, unit)
    # of several processes that try the same number, one makes the folder
    while folder / str(attempt) not in own.make_folders(folder / str(attempt)):
        attempt += 1
    return attempt
