"""Rounds of a run: iterations over its units, each of which begins with the published results of those before.

A round is closed once its result is published and the ledger has the checksums of its files. From then on its partial
results are not needed. A later start resumes with the first round that is not closed. A closed round whose files are
damaged is computed again before that, and must give the same bytes, since later rounds were made from them.

A round can supersede files of earlier ones, which no later round reads. They are removed once the next round is closed:
until then they are what the round is computed from again, should its own files be damaged. The ledger knows which
files those are before the first of them is removed, so that a start after a kill removes what is left.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import CorruptionError
from subsalt.io import own
from subsalt.io.event_log import log_event
from subsalt.io.faults import ask
from subsalt.io.publish import explained, make_folder
from subsalt.run.ledger_file import ROUNDS

if TYPE_CHECKING:
    from subsalt.run.ledger import Ledger
    from subsalt.run.method_run import RunState


@dataclass(frozen=True)
class RoundEnd:
    """The end of a round, as the method reports it.

    Parameters
    ----------
    files : sequence of Path
        The published result, in the run directory.
    last : bool
        Whether this was the last round.
    facts : mapping
        Numbers for the log of events: misfit, step length.
    superseded : sequence of Path
        Files of earlier rounds that no round behind this one reads.
    """

    files: Sequence[Path]
    last: bool
    facts: Mapping[str, Any] = field(default_factory=dict)
    superseded: Sequence[Path] = ()


@dataclass(frozen=True)
class RoundResult:
    """A closed round.

    Parameters
    ----------
    files : dict of str to str
        Checksums of its files by their paths in the run directory.
    last : bool
        Whether it was the last.
    superseded : list of str
        Files of earlier rounds that no round behind it reads.
    """

    files: dict[str, str]
    last: bool
    superseded: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> RoundResult:
        """Return the round of plain values, as `dataclasses.asdict` gives them."""
        return cls(dict(values["files"]), bool(values["last"]), list(values.get("superseded", ())))


def closed_rounds(ledger: Ledger) -> list[RoundResult]:
    """Return the closed rounds of a run, in order."""
    return [RoundResult.of(r) for r in json.loads(ledger.get(ROUNDS) or "[]")]


def store_rounds(ledger: Ledger, closed: Sequence[RoundResult]) -> None:
    """Store the closed rounds of a run in its ledger, durably."""
    ledger.set(ROUNDS, json.dumps([asdict(r) for r in closed]))


class Rounds:
    """The rounds of a run, on one rank; all ranks call the functions together.

    Parameters
    ----------
    state : RunState
        State of the run, with the ledger on rank 0. Its `round` is set to the current round, its `results` to the
        results of the rounds before.
    several : bool
        Whether the method has several rounds. Otherwise there is one, which is never closed: its result is that of the
        run.
    """

    def __init__(self, state: RunState, several: bool) -> None:
        self.state, self.several = state, several
        ledger = state.ledger
        if ledger is not None:
            if several and ledger.get(ROUNDS) is None:
                ledger.set(ROUNDS, "[]")
            closed = closed_rounds(ledger) if several else []
            ledger.forget_rounds_after(len(closed))
            ledger.round = len(closed)
        else:
            closed = []
        known = state.world.bcast([asdict(r) for r in closed])
        self.closed = [RoundResult.of(r) for r in known]

    def to_do(self) -> Iterator[int]:
        """Yield the rounds to compute, in order; each is closed before the next is yielded."""
        again = self._damaged()
        number = 0
        while True:
            self._take(number)
            if number in again or number >= len(self.closed):
                with self.state.world.together():
                    if self.state.ledger is not None:
                        make_folder(self.state.images)
                yield number
            else:
                self._remove_partials()
                self._remove_superseded()
            if not self.several or self.closed[number].last:
                return
            number += 1

    def close(self, end: RoundEnd) -> None:
        """Record the published result of the current round, and remove its partial results.

        Raises
        ------
        CorruptionError
            When a round that is computed again has another result than before (E815).
        """
        state, number = self.state, self.state.round
        names, gone = (
            [str(path.relative_to(state.folder)) for path in paths] for paths in (end.files, end.superseded)
        )
        result = RoundResult(self._digests(names), end.last, gone)
        if number < len(self.closed):
            before = self.closed[number].files
            changed = [name for name, sha in before.items() if result.files.get(name) != sha]
            if changed or (result.last and number + 1 < len(self.closed)):
                raise CorruptionError(
                    f"{state.folder}: round {number}, computed again, gives another {', '.join(changed) or 'end'} than "
                    "before, and what follows was made of that",
                    "start again in another directory, or move the old result away with --recompute",
                    code="E815",
                )
            self.closed[number] = result
        else:
            self.closed.append(result)
        with state.world.together():
            if state.ledger is not None:
                store_rounds(state.ledger, self.closed)
                log_event(state.folder, event="round", round=number, files=result.files, **end.facts)
        self._remove_partials()
        self._remove_superseded()

    def _take(self, number: int) -> None:
        """Make a round the current one."""
        self.state.round = number
        self.state.several_rounds = self.several
        self.state.results = self.closed[:number]
        if self.state.ledger is not None:
            self.state.ledger.round = number

    def _damaged(self) -> set[int]:
        """Return the closed rounds that are computed again, and say why.

        Files that a later round has superseded do not matter, unless it is computed again itself: then they are its
        input. Where that is gone, all is computed again.
        """
        superseded = {name for r in self.closed for name in r.superseded}
        again: set[int] = set()
        for number, result in enumerate(self.closed):
            damaged = self._gone_or_changed(
                {name: sha for name, sha in result.files.items() if name not in superseded}
            )
            if not damaged:
                continue
            said = f"{', '.join(damaged)}: the result of round {number} is damaged"
            if self._gone_or_changed(self._inputs(number)):
                said += f", and so is what it was made of; rounds 0 to {number} are computed again"
                again |= set(range(number + 1))
            else:
                said += "; the round is computed again"
                again.add(number)
            self.state.request.say(said)
        return again

    def _inputs(self, number: int) -> dict[str, str]:
        """Return the checksums of files of earlier rounds that a closed round reads and a later start may lack."""
        names = {name for r in self.closed[number:] for name in r.superseded}
        earlier = (r.files.items() for r in self.closed[:number])
        return {name: sha for files in earlier for name, sha in files if name in names}

    def _gone_or_changed(self, files: Mapping[str, str]) -> list[str]:
        """Return the files that are gone or lack their checksums."""
        now = self._digests(list(files))
        return [name for name, sha in files.items() if now.get(name) != sha]

    def _digests(self, names: Sequence[str]) -> dict[str, str]:
        """Return the checksums of files that can be read; every rank looks at some."""
        world, mine = self.state.world, {}
        for name in names[world.rank :: world.size]:
            try:
                path = self.state.folder / name
                with open(own.open_file(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                    mine[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError:
                continue
        return {name: sha for some in world.allgather(mine) for name, sha in some.items()}

    def _remove_partials(self) -> None:
        """Remove the partial results of the current round, which is closed."""
        with self.state.world.together():
            if self.state.world.is_root and self.state.images.exists():
                with explained(self.state.images, 0), own.folder(self.state.images.parent) as at:
                    own.remove_tree(self.state.images.name, at)

    def _remove_superseded(self) -> None:
        """Remove what the round before the current one, which is closed, has superseded: the one before that is gone.

        A round that is computed again makes its files again, hence at every start of every round.
        """
        number = self.state.round
        with self.state.world.together():
            if not self.state.world.is_root or number == 0:
                return
            for name in self.closed[number - 1].superseded:
                path = self.state.folder / name
                if path.exists():
                    with explained(path, 0):
                        ask("unlink", str(path))
                        own.unlink(path)
