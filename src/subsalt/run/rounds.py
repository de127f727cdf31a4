"""Rounds of a run: iterations over its units, each of which begins with the published results of those before.

A round is closed once its result is published and the ledger has the checksums of its files. From then on its partial
results are not needed. A later start resumes with the first round that is not closed. A closed round whose files are
damaged is computed again before that, and must give the same bytes, since later rounds were made from them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import CorruptionError
from subsalt.io import own
from subsalt.io.event_log import log_event
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
    """

    files: Sequence[Path]
    last: bool
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RoundResult:
    """A closed round: checksums of its files by their paths in the run directory, and whether it was the last."""

    files: dict[str, str]
    last: bool


def closed_rounds(ledger: Ledger) -> list[RoundResult]:
    """Return the closed rounds of a run, in order."""
    return [RoundResult(dict(r["files"]), bool(r["last"])) for r in json.loads(ledger.get(ROUNDS) or "[]")]


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
        known = state.world.bcast([vars(r) for r in closed])
        self.closed = [RoundResult(dict(r["files"]), bool(r["last"])) for r in known]

    def to_do(self) -> Iterator[int]:
        """Yield the rounds to compute, in order; each is closed before the next is yielded."""
        number = 0
        while True:
            self._take(number)
            damaged = self._damaged(number)
            if damaged:
                self.state.request.say(
                    f"{', '.join(damaged)}: the result of round {number} is damaged; the round is computed again"
                )
            if damaged or number >= len(self.closed):
                with self.state.world.together():
                    if self.state.ledger is not None:
                        make_folder(self.state.images)
                yield number
            else:
                self._remove_partials()
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
        names = [str(path.relative_to(state.folder)) for path in end.files]
        result = RoundResult(self._digests(names), end.last)
        if number < len(self.closed):
            changed = [
                name for name, sha in self.closed[number].files.items() if result.files.get(name) != sha
            ]
            if changed or result.last != self.closed[number].last:
                raise CorruptionError(
                    f"{state.folder}: round {number}, computed again, gives another {', '.join(changed) or 'end'} than "
                    "before, and what follows was made of that",
                    "start again in another directory, or move the old result away with --recompute",
                    code="E815",
                )
        else:
            self.closed.append(result)
        with state.world.together():
            if state.ledger is not None:
                state.ledger.set(ROUNDS, json.dumps([vars(r) for r in self.closed]))
                log_event(state.folder, event="round", round=number, files=result.files, **end.facts)
        self._remove_partials()

    def _take(self, number: int) -> None:
        """Make a round the current one."""
        self.state.round = number
        self.state.several_rounds = self.several
        self.state.results = self.closed[:number]
        if self.state.ledger is not None:
            self.state.ledger.round = number

    def _damaged(self, number: int) -> list[str]:
        """Return the files of a closed round that are gone or lack their checksums."""
        if number >= len(self.closed):
            return []
        files = self.closed[number].files
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
