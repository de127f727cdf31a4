"""The ledger of a run directory: which shots, or blocks of an image, are planned, running, done or quarantined.

An SQLite database (write-ahead log, every commit on disk before it returns) with one writer, the process that
holds the lock of the directory. A shot counts as done only after its partial image is published, and only
while that file has the checksum written here. A damaged ledger is set aside and rebuilt from `ledger.json`
and `events.jsonl`, as far as the partial images have the checksums named there.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError, CorruptionError, DiskError
from subsalt.io import own
from subsalt.io.event_log import read_events
from subsalt.io.publish import publish_text, remove_leftovers
from subsalt.run.lock import RunLock
from subsalt.run.settings import CHECK, COPY, NAME, check_of, hash_of, is_sound, read_only, sound_copy

#: 1: partial images in NPZ files, hashed as a whole; 2: in files of planes, whose hash is that of head and table
FORMAT = 2
STATES = {"planned", "running", "done", "quarantined"}
#: bytes of a path; SQLite opens files up to 512, its journal's suffix included
LONGEST_PATH = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shot (
    id INTEGER PRIMARY KEY,
    place INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    seconds REAL,
    sha256 TEXT,
    reason TEXT,
    failures INTEGER NOT NULL DEFAULT 0,
    deaths INTEGER NOT NULL DEFAULT 0
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

#: what the columns of a shot may hold: a flip of one bit makes a text of a number, or nothing of either
_SHOT: dict[str, Any] = {
    "id": int,
    "place": int,
    "state": str,
    "attempt": int,
    "seconds": int | float | None,
    "sha256": str | None,
    "reason": str | None,
    "failures": int,
    "deaths": int,
}
#: columns that ledgers of before 0.4 lack
_ADDED = ("failures", "deaths")

_NOBODY_RUNS = "UPDATE shot SET state = 'planned' WHERE state = 'running'"


class Ledger:
    """The ledger of one run directory, open for writing; a context manager.

    Parameters
    ----------
    folder : Path
        The run directory; it must exist.

    Attributes
    ----------
    interrupted : list of int
        Shots that were running when the owner before died without a word.

    Raises
    ------
    CannotCreateError
        When another process works in the directory.
    DiskError
        When the ledger cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.rebuilt = False
        self.interrupted: list[int] = []
        #: where kept wavefields of this run go
        self.scratch: list[str] = []
        self.lock = RunLock(self.folder)
        try:
            remove_leftovers(self.folder)
            self._db = self._open()
        except BaseException:
            self.lock.release()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and give the directory free; a shot in hand is planned again."""
        try:
            with suppress(sqlite3.Error):  # the next owner does it too
                self._db.execute(_NOBODY_RUNS)
            self._db.close()
        finally:
            self.lock.release()

    # -- opening

    def _open(self) -> sqlite3.Connection:
        path = self.folder / NAME
        _make_file(path)
        with _disk_errors(path):
            try:
                db = _connect(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                    raise
                self._set_aside(path)
                _make_file(path)
                db = _connect(path)
                self._db = db
                self._rebuild()
                self.rebuilt = True
            # whoever was running is gone: this process holds the lock. Who leaves in order says so, see `close`
            self.interrupted = [
                r[0] for r in db.execute("SELECT id FROM shot WHERE state = 'running' ORDER BY place")
            ]
            db.execute("UPDATE shot SET state = 'planned', deaths = deaths + 1 WHERE state = 'running'")
            found = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if found is None:
                db.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))
            elif int(found[0]) < FORMAT:
                db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))
            elif int(found[0]) > FORMAT:
                db.close()
                raise ConfigError(
                    f"{path} has format {found[0]}, this version knows {FORMAT}",
                    "use the newer subsalt that wrote it, or another directory",
                    code="E803",
                )
        return db

    def _set_aside(self, path: Path) -> None:
        for suffix in ("", "-wal", "-shm"):
            old = path.with_name(path.name + suffix)
            if old.exists():
                os.replace(old, path.with_name(f"{path.name}.damaged{suffix}"))

    def _rebuild(self) -> None:
        """Fill a new ledger from the copy of its settings and the log of events, line by line."""
        copy = sound_copy(self.folder)
        if copy is None:
            return  # damaged as well: what it says of the job cannot be trusted
        meta, shots = copy
        for key, value in meta.items():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
        self.plan(shots)
        unit, planned = self.unit, set(shots)
        for event in read_events(self.folder).known:
            if event.get("event") == "kept":
                self._keep_wavefields(event)
            number, sha, seconds = event.get(unit), event.get("sha256"), event.get("seconds")
            if event.get("event") != "done" or type(number) is not int or not _is_hash(sha):
                continue
            if number not in planned:
                continue  # it may be larger than a number of SQLite
            self._db.execute(
                "UPDATE shot SET state = 'done', sha256 = ?, seconds = ? WHERE id = ?",
                (sha, seconds if isinstance(seconds, float) else None, number),
            )

    @property
    def unit(self) -> str:
        """What its rows are: shots, or blocks of an image; the key of their numbers in the log of events."""
        return self.get("unit") or "shot"

    # -- settings

    def get(self, key: str) -> str | None:
        """Return a setting, None when it was never set."""
        found = self._read("SELECT value FROM meta WHERE key = ?", (key,))
        return str(found[0][0]) if found else None

    def set(self, key: str, value: str) -> None:
        """Store a setting."""
        self.set_all({key: value})

    def set_all(self, values: Mapping[str, str]) -> None:
        """Store some settings: all of them, or after a stop none."""
        new = {key: value for key, value in values.items() if self.get(key) != value}
        if not new:
            return
        with self._at_once():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(new.items()))
            meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (CHECK, check_of(meta)))
        self._copy()

    # -- shots

    def plan(self, ids: Sequence[int]) -> None:
        """Make these the shots of the run, in this order; what is known of them stays."""
        order = [r[0] for r in self._read("SELECT id FROM shot ORDER BY place")]
        if order == list(ids):
            return
        with self._at_once():
            self._db.execute("CREATE TEMP TABLE wanted (id INTEGER PRIMARY KEY)")
            self._db.executemany("INSERT INTO wanted VALUES (?)", [(int(i),) for i in ids])
            self._db.execute("DELETE FROM shot WHERE id NOT IN (SELECT id FROM wanted)")
            self._db.execute("DROP TABLE wanted")
            self._db.executemany(
                "INSERT INTO shot (id, place, state) VALUES (?, ?, 'planned') "
                "ON CONFLICT (id) DO UPDATE SET place = excluded.place",
                [(int(i), place) for place, i in enumerate(ids)],
            )
        self._copy()

    def keep(self, good: Set[int]) -> None:
        """Plan the done shots again that are not among `good`: their partial images lack their checksums."""
        for shot in self.hashes():
            if shot not in good:
                self.release(shot)

    def requeue(self, shots: Set[int]) -> None:
        """Plan done shots again whose partial images are good, but do not hold what is wanted now."""
        for shot in shots:
            self._write("UPDATE shot SET state = 'planned' WHERE id = ? AND state = 'done'", (shot,))

    def start(self, shot: int) -> None:
        """Record that a shot is being computed."""
        self._write(
            "UPDATE shot SET state = 'running', attempt = attempt + 1, reason = NULL WHERE id = ?", (shot,)
        )

    def finish(self, shot: int, sha256: str, seconds: float) -> None:
        """Record that a shot's partial image is published."""
        self._write(
            "UPDATE shot SET state = 'done', sha256 = ?, seconds = ?, reason = NULL WHERE id = ?",
            (sha256, seconds, shot),
        )

    def fail(self, shot: int, reason: str) -> int:
        """Record that a shot has failed and put it back to planned; return how often it has by now."""
        self._write(
            "UPDATE shot SET state = 'planned', sha256 = NULL, failures = failures + 1, reason = ? WHERE id = ?",
            (reason, shot),
        )
        return int(self._read("SELECT failures FROM shot WHERE id = ?", (shot,))[0][0])

    def reset_attempts(self) -> list[int]:
        """Plan all quarantined shots again, as if they had never failed; return their ids."""
        shots = self.failed()
        for shot in shots:
            self._write(
                "UPDATE shot SET state = 'planned', failures = 0, deaths = 0, reason = NULL WHERE id = ?",
                (shot,),
            )
        return shots

    def suspects(self) -> list[int]:
        """Return the planned shots that have failed, or in which a run died more than once, in order."""
        query = "SELECT id FROM shot WHERE state = 'planned' AND (failures > 0 OR deaths > 1) ORDER BY place"
        return [r[0] for r in self._read(query)]

    def quarantine(self, shot: int, reason: str) -> None:
        """Set a shot aside for good: the survey goes on without it."""
        self._write(
            "UPDATE shot SET state = 'quarantined', sha256 = NULL, reason = ? WHERE id = ?", (reason, shot)
        )

    def release(self, shot: int) -> None:
        """Put a shot back to planned."""
        self._write("UPDATE shot SET state = 'planned', sha256 = NULL WHERE id = ?", (shot,))

    def done(self) -> list[int]:
        """Return the ids of finished shots, in order."""
        return [r[0] for r in self._read("SELECT id FROM shot WHERE state = 'done' ORDER BY place")]

    def failed(self) -> list[int]:
        """Return the ids of quarantined shots, in order."""
        query = "SELECT id FROM shot WHERE state = 'quarantined' ORDER BY place"
        return [r[0] for r in self._read(query)]

    def hashes(self) -> dict[int, str]:
        """Return the checksum of the partial image of every finished shot."""
        return dict(self._read("SELECT id, sha256 FROM shot WHERE state = 'done' ORDER BY place"))

    def partials(self) -> dict[int, str]:
        """Return the checksum of every partial image, also of shots that are to be done again."""
        return dict(self._read("SELECT id, sha256 FROM shot WHERE sha256 IS NOT NULL ORDER BY place"))

    # -- wavefields that stay

    def keep_wavefields(self, shot: int, wavefields: Sequence[Wavefield]) -> None:
        """Record what a shot has kept, in place of what it had kept before."""
        with self._at_once():
            self._db.execute("DELETE FROM wavefield WHERE shot = ?", (shot,))
            self._db.executemany("INSERT INTO wavefield VALUES (?, ?, ?, ?, ?)", [w.row for w in wavefields])

    def _keep_wavefields(self, event: Mapping[str, Any]) -> None:
        """Record what an event says of kept wavefields, if it is complete."""
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            shot = int(event["shot"])
            found = [Wavefield.of(shot, w) for w in event["wavefields"]]
            if abs(shot) < 1 << 63 and all(0 <= w.bytes < 1 << 63 for w in found):
                self.keep_wavefields(shot, found)

    def wavefields(self) -> list[Wavefield]:
        """Return what is kept of all shots."""
        with _disk_errors(self.folder / NAME):
            return read_wavefields(self._db)

    def rows(self) -> list[dict[str, Any]]:
        """Return all that is known of every shot, in order."""
        with _disk_errors(self.folder / NAME):
            return read_rows(self._db)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with _disk_errors(self.folder / NAME):
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Do what is in the block as a whole or not at all."""
        with _disk_errors(self.folder / NAME):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._db.execute("ROLLBACK")
                raise

    def _write(self, sql: str, values: tuple[Any, ...]) -> None:
        with _disk_errors(self.folder / NAME):
            self._db.execute(sql, values)

    def _copy(self) -> None:
        """Publish settings and shots beside the database, for the case that it is damaged."""
        meta = dict(self._read("SELECT key, value FROM meta"))
        shots = [r[0] for r in self._read("SELECT id FROM shot ORDER BY place")]
        content = {"meta": meta, "shots": shots}
        publish_text(self.folder / COPY, json.dumps(content | {CHECK: hash_of(content)}, indent=1) + "\n")


@dataclass(frozen=True)
class Wavefield:
    """A kept wavefield of a shot.

    Parameters
    ----------
    shot : int
        Its id.
    name : {"source", "receiver"}
        Which.
    folders : tuple of str
        Of the scratch it lies in; those inside the run directory relative to it.
    sha256 : str
        Of its published descriptions, one per rank.
    bytes : int
        Of its files.
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
        """Return the wavefield that a message or an event tells of."""
        folders = tuple(str(f) for f in facts["folders"])
        return cls(shot, str(facts["name"]), folders, str(facts["sha256"]), int(facts["bytes"]))


def read_wavefields(db: sqlite3.Connection) -> list[Wavefield]:
    """Return the kept wavefields in an open ledger; none in one of an older version."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'wavefield'").fetchone() is None:
        return []
    rows = db.execute("SELECT shot, name, folders, sha256, bytes FROM wavefield ORDER BY shot, name")
    # by their types again: what is no number raises ValueError or TypeError
    return [
        Wavefield(int(s), str(n), tuple(map(str, json.loads(f))), str(sha), int(size))
        for s, n, f, sha, size in rows
    ]


def read_rows(db: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return the shots of an open ledger as dictionaries."""
    have = {r[1] for r in db.execute("PRAGMA table_info(shot)")}
    names = ("id", "state", "attempt", "seconds", "sha256", "reason", *(c for c in _ADDED if c in have))
    return [
        dict(zip(names, row, strict=True))
        for row in db.execute(f"SELECT {', '.join(names)} FROM shot ORDER BY place")
    ]


def peek(folder: Path) -> list[dict[str, Any]]:
    """Return the shots of a run directory without locking it; for watching and reports.

    Returns an empty list when there is no readable ledger.
    """
    try:
        with read_only(folder) as db:
            return read_rows(db)
    except (OSError, sqlite3.Error, ValueError, TypeError):
        return []


def _make_file(path: Path) -> None:
    """Make the file of the database where it is missing, never at the other end of a link; SQLite would follow one."""
    own.refuse_links(path.parent, (NAME, f"{NAME}-*"), in_place=(NAME, f"{NAME}-*"))
    with suppress(OSError):  # SQLite says it, with its cure
        os.close(own.open_file(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))


def _connect(path: Path) -> sqlite3.Connection:
    # used by one thread at a time, though not always by the same one: see `scheduler`
    db = sqlite3.connect(path, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        # FULL, and the folder is synced too where the file system refuses the write-ahead log
        db.execute("PRAGMA synchronous = EXTRA")
        db.execute("PRAGMA journal_mode = WAL")
        result = db.execute("PRAGMA integrity_check").fetchone()
        if result is None or result[0] != "ok":
            raise sqlite3.DatabaseError(f"integrity check: {result}")
        db.executescript(_SCHEMA)
        have = {r[1] for r in db.execute("PRAGMA table_info(shot)")}
        for column in _ADDED:
            if column not in have:
                db.execute(f"ALTER TABLE shot ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
        _refuse_damage(db)
        os.chmod(path, 0o600)
    except BaseException:
        db.close()
        raise
    return db


def _is_hash(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None


def _refuse_damage(db: sqlite3.Connection) -> None:
    """Raise for damage that SQLite does not see: it has no checksums of what is in its cells."""
    try:
        meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
        rows = db.execute(f"SELECT {', '.join(_SHOT)} FROM shot").fetchall()
        typed = all(isinstance(v, kind) for row in rows for v, kind in zip(row, _SHOT.values(), strict=True))
        states = {r[2] for r in rows if typed}
        read_wavefields(db)
    except (sqlite3.OperationalError, ValueError, TypeError) as error:  # a text that is none
        raise sqlite3.DatabaseError(f"malformed: {error}") from error
    if not (typed and is_sound(meta) and states <= STATES and str(meta.get("format", "1")).isdigit()):
        raise sqlite3.DatabaseError("malformed settings or states")


def _is_damage(error: sqlite3.Error) -> bool:
    # the last two: names of columns with a flipped bit
    words = ("malformed", "not a database", "corrupt", "decode", "no such column")
    return any(word in str(error) for word in words)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's failures to read and write into errors with path and cure."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _is_damage(error):
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
