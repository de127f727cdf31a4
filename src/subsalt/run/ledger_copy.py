"""The ledger of a run as a process that computes single units sees it: in memory, made of the published copy.

The database has one writer, the process that holds the lock of the run directory. Others do not open it: SQLite's log
beside it needs memory that both share, which machines do not. The copy is one file, replaced as a whole.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from subsalt.errors import CorruptionError, MissingInputError
from subsalt.run.ledger import Ledger
from subsalt.run.ledger_file import SCHEMA
from subsalt.run.settings import COPY, sound_copy


class PlannedLedger(Ledger):
    """Settings and units of a run without their states: every unit counts as planned. What is written is not kept.

    Parameters
    ----------
    folder : Path
        The run directory.

    Raises
    ------
    MissingInputError
        When no run has been begun there, or this machine does not see it (E841).
    CorruptionError
        When the copy cannot be read (E641).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.rebuilt, self.interrupted, self.round = False, [], 0
        self.scratch: list[str] = []
        copy = sound_copy(self.folder)
        if copy is None and not (self.folder / COPY).exists():
            raise MissingInputError(
                f"{self.folder} holds no prepared run: {COPY} is not in it",
                "begin it with subsalt migrate JOB --prepare, in a folder that this machine sees as well",
                code="E841",
            )
        if copy is None:
            raise CorruptionError(
                f"{self.folder / COPY} cannot be read",
                f"subsalt resume {self.folder} writes it again",
                code="E641",
            )
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.executescript(SCHEMA)
        settings, rounds = copy
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", list(settings.items()))
        for number, ids in rounds.items():
            self.round = number
            self.plan(ids)
        self.round = 0

    def close(self) -> None:
        """Let go of the copy."""
        self._db.close()

    def _copy(self) -> None:
        """Publish nothing: the owner of the run does."""
