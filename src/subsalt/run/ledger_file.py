"""The database file of a ledger: its tables, opening, updates from older formats, damage that SQLite overlooks."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import CorruptionError, DiskError
from subsalt.io import own
from subsalt.run.settings import NAME, is_sound, read_only

#: 1: partial images in NPZ files, hashed as a whole; 2: in files of planes, whose hash is that of head and table; 3:
#: units are those of a round
FORMAT = 3
STATES = {"planned", "running", "done", "quarantined"}
#: bytes of a path; SQLite opens files up to 512, its journal's suffix included
LONGEST_PATH = 500

#: the table of units has the name of the first kind there was; blocks of an image are in it as well
SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shot (
    id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    seconds REAL,
    sha256 TEXT,
    reason TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0,
    round INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (round, id)
);
CREATE TABLE IF NOT EXISTS wavefield (
    shot INTEGER NOT NULL,
    name TEXT NOT NULL,
    folders TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (shot, name)
);
"""

#: types of the columns of a unit: a flip of one bit makes a text of a number, or nothing of either
_UNIT: dict[str, Any] = {
    "id": int,
    "place": int,
    "state": str,
    "attempt": int,
    "seconds": int | float | None,
    "sha256": str | None,
    "reason": str | None,
    "failures": int,
    "deaths": int,
    "round": int,
}
#: columns that ledgers of before 0.4 lack
_ADDED = ("failures", "deaths")
#: setting that holds the results of the rounds that are closed; only methods of several rounds have it
ROUNDS = "rounds"


@dataclass(frozen=True)
class Wavefield:
    """A kept wavefield of a shot.

    Parameters
    ----------
    shot : int
        Id of the shot.
    name : {"source", "receiver"}
        Which of its wavefields.
    folders : tuple of str
        Scratch folders that hold it; those inside the run directory relative to it.
    sha256 : str
        Hash of its published descriptions, one per rank.
    bytes : int
        Size of its files.
    """

    shot: int
    name: str
    folders: tuple[str, ...]
    sha256: str
    bytes: int

    @property
    def row(self) -> tuple[int, str, str, str, int]:
        """The values as they stand in the ledger."""
        return self.shot, self.name, json.dumps(self.folders), self.sha256, self.bytes

    @classmethod
    def of(cls, shot: int, facts: Mapping[str, Any]) -> Wavefield:
        """Return the wavefield that a message or an event describes."""
        folders = tuple(str(f) for f in facts["folders"])
        return cls(shot, str(facts["name"]), folders, str(facts["sha256"]), int(facts["bytes"]))


def read_wavefields(db: sqlite3.Connection) -> list[Wavefield]:
    """Return the kept wavefields in an open ledger; none in one of an older version."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'wavefield'").fetchone() is None:
        return []
    rows = db.execute("SELECT shot, name, folders, sha256, bytes FROM wavefield ORDER BY shot, name")
    # converted to their types, so that damaged values raise ValueError or TypeError
    return [
        Wavefield(int(s), str(n), tuple(map(str, json.loads(f))), str(sha), int(size))
        for s, n, f, sha, size in rows
    ]


def read_rows(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the units of an open ledger as dictionaries; with their rounds where a run has several."""
    have = {r[1] for r in db.execute("PRAGMA table_info(shot)")}
    names = ["id", "state", "attempt", "seconds", "sha256", "reason", *(c for c in _ADDED if c in have)]
    if several := db.execute("SELECT 1 FROM meta WHERE key = ?", (ROUNDS,)).fetchone() is not None:
        names.append("round")
    order = "round, place" if several else "place"
    return [
        dict(zip(names, row, strict=True))
        for row in db.execute(f"SELECT {', '.join(names)} FROM shot ORDER BY {order}")
    ]


def peek(folder: Path) -> list[dict[str, Any]]:
    """Return the units of a run directory without locking it; for watching and reports.

    Returns an empty list when there is no readable ledger.
    """
    try:
        with read_only(folder) as db:
            return read_rows(db)
    except (OSError, sqlite3.Error, ValueError, TypeError):
        return []


def make_file(path: Path) -> None:
    """Make the file of the database where it is missing, never at the other end of a link; SQLite would follow one."""
    own.refuse_links(path.parent, (NAME, f"{NAME}-*"), in_place=(NAME, f"{NAME}-*"))
    with suppress(OSError):  # SQLite says it, with its cure
        os.close(own.open_file(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def connect(path: Path) -> sqlite3.Connection:
    """Open the database for writing, in the form of this version; sqlite3.DatabaseError when it is damaged."""
    # used by one thread at a time, though not always by the same one: see `scheduler`
    db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        # FULL, and the folder is synced too where the file system refuses the write-ahead log
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("PRAGMA journal_mode = WAL")
        result = db.execute("PRAGMA integrity_check").fetchone()
        if result is None or result[0] != "ok":
            raise sqlite3.DatabaseError(f"integrity check: {result}")
        db.executescript(SCHEMA)
        have = {r[1] for r in db.execute("PRAGMA table_info(shot)")}
        for column in _ADDED:
            if column not in have:
                db.execute(f"ALTER TABLE shot ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
        if "round" not in have:
            _number_by_round(db)
        _refuse_damage(db)
        os.chmod(path, 0o600)
    except UnicodeDecodeError as error:  # the message of SQLite quotes a damaged name
        db.close()
        raise sqlite3.DatabaseError(f"malformed: {error}") from error
    except BaseException:
        db.close()
        raise
    return db


def _number_by_round(db: sqlite3.Connection) -> None:
    """Make the units of a ledger from before there were rounds those of round 0, all of them or after a stop none."""
    columns = ", ".join(name for name in _UNIT if name != "round")
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute("ALTER TABLE shot RENAME TO former")
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"INSERT INTO shot ({columns}, round) SELECT {columns}, 0 FROM former")
        db.execute("DROP TABLE former")
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _refuse_damage(db: sqlite3.Connection) -> None:
    """Raise for damage that SQLite does not see: it has no checksums of what is in its cells."""
    try:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        rows = db.execute(f"SELECT {', '.join(_UNIT)} FROM shot").fetchall()
        typed = all(isinstance(v, kind) for row in rows for v, kind in zip(row, _UNIT.values(), strict=True))
        states = {r[2] for r in rows if typed}
        read_wavefields(db)
    except (sqlite3.OperationalError, ValueError, TypeError) as error:  # a text that is none
        raise sqlite3.DatabaseError(f"malformed: {error}") from error
    if not (typed and is_sound(meta) and states <= STATES and str(meta.get("format", "1")).isdigit()):
        raise sqlite3.DatabaseError("malformed settings or states")


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an error says that the file is damaged, not that it cannot be read or written."""
    # the last two: names of columns with a flipped bit
    words = ("malformed", "not a database", "corrupt", "decode", "no such column")
    return any(word in str(error) for word in words)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's failures to read and write into errors with path and cure."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            raise CorruptionError(
                f"{path}: {error}", "start the same command again: the ledger is rebuilt", code="E641"
            ) from error
        if not isinstance(error, sqlite3.OperationalError):
            raise
        cure = "check space and permissions, then start the same command again"
        if len(os.fsencode(os.path.abspath(path))) > LONGEST_PATH:
            cure = (
                f"choose a run directory whose whole path is shorter: SQLite opens up to {LONGEST_PATH} bytes"
            )
        raise DiskError(f"{path}: {error}", cure, code="E622") from error
