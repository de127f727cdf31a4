"""The ledger of a run directory: which units (shots, or blocks of an image) are planned, running, done or quarantined.

An SQLite database (write-ahead log, every commit on disk before it returns) with one writer, the process that
holds the lock of the directory. A unit counts as done only after its partial result is published, and only
while that file has the checksum written here. Units are numbered within their round; without rounds it is round 0.
A damaged ledger is moved away and rebuilt from `ledger.json` and `events.jsonl`, as far as the partial results have the
checksums named there.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError
from subsalt.io.event_log import read_events
from subsalt.io.publish import publish_text, remove_leftovers
from subsalt.run.ledger_file import (
    FORMAT,
    ROUNDS,
    Wavefield,
    connect,
    disk_errors,
    is_damage,
    make_file,
    read_rows,
    read_wavefields,
)
from subsalt.run.lock import RunLock
from subsalt.run.settings import CHECK, COPY, NAME, check_of, hash_of, sound_copy

#: the folder in which processes that do not hold the lock compute units (`run.attempts`)
ATTEMPTS = "attempts"
_NOBODY_RUNS = "UPDATE shot SET state = 'planned' WHERE state = 'running'"


class Ledger:
    """The ledger of one run directory, open for writing; a context manager.

    Parameters
    ----------
    folder : Path
        The run directory; it must exist.

    Attributes
    ----------
    interrupted : list of (int, int)
        Round and number of the units that were running when the previous owner was killed.
    round : int
        The current round, to which all units belong.

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
        self.interrupted: list[tuple[int, int]] = []
        self.round = 0
        #: scratch folders for kept wavefields of this run
        self.scratch: list[str] = []
        self.lock = RunLock(self.folder)
        try:
            remove_leftovers(self.folder, but=ATTEMPTS)
            self._db = self._open()
        except BaseException:
            self.lock.release()
            raise

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and release the directory; units that are running are planned again."""
        try:
            with suppress(sqlite3.Error):  # the next owner does it too
                self._db.execute(_NOBODY_RUNS)
            self._db.close()
        finally:
            self.lock.release()

    # -- opening

    def _open(self) -> sqlite3.Connection:
        path = self.folder / NAME
        make_file(path)
        with disk_errors(path):
            try:
                db = connect(path)
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not is_damage(error):
                    raise
                self._set_aside(path)
                make_file(path)
                db = connect(path)
                self._db = db
                self._rebuild()
                self.rebuilt = True
            # units marked as running belong to a killed process, since this one holds the lock; `close` leaves none
            running = "SELECT round, id FROM shot WHERE state = 'running' ORDER BY round, place"
            self.interrupted = [(r[0], r[1]) for r in db.execute(running)]
            db.execute("UPDATE shot SET state = 'planned', deaths = deaths + 1 WHERE state = 'running'")
            row = db.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
            if row is None:
                db.execute("INSERT INTO meta VALUES ('format', ?)", (str(FORMAT),))
            elif int(row[0]) < FORMAT:
                db.execute("UPDATE meta SET value = ? WHERE key = 'format'", (str(FORMAT),))
            elif int(row[0]) > FORMAT:
                db.close()
                raise ConfigError(
                    f"{path} has format {row[0]}, this version knows {FORMAT}",
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
        """Fill a new ledger from the copy of the settings and from the log of events."""
        copy = sound_copy(self.folder)
        if copy is None:
            return  # damaged as well: its settings cannot be trusted
        meta, rounds = copy
        for key, value in meta.items():
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
        for number, ids in rounds.items():
            self.round = number
            self.plan(ids)
        self.round = 0
        name = self.unit
        for event in read_events(self.folder).known:
            if event.get("event") == "kept":
                self._keep_wavefields(event)
            unit, sha, seconds = event.get(name), event.get("sha256"), event.get("seconds")
            if event.get("event") != "done" or type(unit) is not int or not _is_hash(sha):
                continue
            number = event.get("round", 0)
            if type(number) is not int or unit not in rounds.get(number, ()):
                continue  # it may be too large for SQLite
            self._db.execute(
                "UPDATE shot SET state = 'done', sha256 = ?, seconds = ? WHERE round = ? AND id = ?",
                (sha, seconds if isinstance(seconds, float) else None, number, unit),
            )

    @property
    def unit(self) -> str:
        """Name of a unit, ``"shot"`` or ``"block"``: the key of its number in the log of events."""
        return self.get("unit") or "shot"

    def named(self, unit: int) -> dict[str, int]:
        """Return the keys that name a unit in the log of events: its number, and its round where a run has several."""
        return {self.unit: unit} | ({"round": self.round} if self.get(ROUNDS) is not None else {})

    def named_all(self, units: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
        """Return the keys that name units, given by round and number, in the log of events."""
        several = self.get(ROUNDS) is not None
        return {f"{self.unit}s": [unit for _, unit in units]} | (
            {"rounds": [number for number, _ in units]} if several else {}
        )

    # -- settings

    def get(self, key: str) -> str | None:
        """Return a setting, None when it was never set."""
        rows = self._read("SELECT value FROM meta WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def set(self, key: str, value: str) -> None:
        """Store a setting."""
        self.set_all({key: value})

    def set_all(self, values: Mapping[str, str]) -> None:
        """Store settings atomically: all of them or none."""
        new = {key: value for key, value in values.items() if self.get(key) != value}
        if not new:
            return
        with self._at_once():
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(new.items()))
            meta = dict(self._db.execute("SELECT key, value FROM meta").fetchall())
            self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (CHECK, check_of(meta)))
        self._copy()

    # -- units of the current round

    def plan(self, ids: Sequence[int]) -> None:
        """Make these the units of the round, in this order; the states of known units stay."""
        order = [r[0] for r in self._units("id", "1 ORDER BY place")]
        if order == list(ids):
            return
        with self._at_once():
            self._db.execute("CREATE TEMP TABLE wanted (id INTEGER PRIMARY KEY)")
            self._db.executemany("INSERT INTO wanted VALUES (?)", [(int(i),) for i in ids])
            self._db.execute(
                "DELETE FROM shot WHERE round = ? AND id NOT IN (SELECT id FROM wanted)", (self.round,)
            )
            self._db.execute("DROP TABLE wanted")
            self._db.executemany(
                "INSERT INTO shot (round, id, place, state) VALUES (?, ?, ?, 'planned') "
                "ON CONFLICT (round, id) DO UPDATE SET place = excluded.place",
                [(self.round, int(i), place) for place, i in enumerate(ids)],
            )
        self._copy()

    def keep(self, good: Set[int]) -> None:
        """Plan done units again that are not in `good`, since their partial results lack their checksums."""
        for unit in self.hashes():
            if unit not in good:
                self.release(unit)

    def requeue(self, units: Set[int]) -> None:
        """Plan done units again whose partial results are good, but lack arrays that the job now requires."""
        for unit in units:
            self._set("state = 'planned'", (), unit, "state = 'done'")

    def start(self, unit: int) -> None:
        """Record that a unit is being computed."""
        self._set("state = 'running', attempt = attempt + 1, reason = NULL", (), unit)

    def attempt(self, unit: int) -> int:
        """Return how often a unit has been started."""
        return int(self._units("attempt", "id = ?", (unit,))[0][0])

    def finish(self, unit: int, sha256: str, seconds: float) -> None:
        """Record that the partial result of a unit is published."""
        self._set("state = 'done', sha256 = ?, seconds = ?, reason = NULL", (sha256, seconds), unit)

    def fail(self, unit: int, reason: str) -> int:
        """Record that a unit has failed and put it back to planned; return how often it has by now."""
        self._set("state = 'planned', sha256 = NULL, failures = failures + 1, reason = ?", (reason,), unit)
        return int(self._units("failures", "id = ?", (unit,))[0][0])

    def reset_attempts(self) -> list[int]:
        """Plan all quarantined units again, as if they had never failed; return their ids."""
        units = self.failed()
        for unit in units:
            self._set("state = 'planned', failures = 0, deaths = 0, reason = NULL", (), unit)
        return units

    def suspects(self) -> list[int]:
        """Return the planned units that have failed, or in which a run died more than once, in order."""
        return self._ids("state = 'planned' AND (failures > 0 OR deaths > 1)")

    def quarantine(self, unit: int, reason: str) -> None:
        """Quarantine a unit: the survey continues without it."""
        self._set("state = 'quarantined', sha256 = NULL, reason = ?", (reason,), unit)

    def release(self, unit: int) -> None:
        """Put a unit back to planned."""
        self._set("state = 'planned', sha256 = NULL", (), unit)

    def planned(self) -> list[int]:
        """Return the ids of the units that are neither done nor quarantined, in order."""
        return self._ids("state = 'planned'")

    def done(self) -> list[int]:
        """Return the ids of finished units, in order."""
        return self._ids("state = 'done'")

    def failed(self) -> list[int]:
        """Return the ids of quarantined units, in order."""
        return self._ids("state = 'quarantined'")

    def hashes(self) -> dict[int, str]:
        """Return the checksum of the partial result of every finished unit."""
        return dict(self._units("id, sha256", "state = 'done' ORDER BY place"))

    def hash_of(self, unit: int) -> str | None:
        """Return the checksum of the partial result of one unit; None when it is not finished."""
        rows = self._units("sha256", "id = ? AND state = 'done'", (unit,))
        return str(rows[0][0]) if rows else None

    def partials(self) -> dict[int, str]:
        """Return the checksum of every partial result, also of units that are planned again."""
        return dict(self._units("id, sha256", "sha256 IS NOT NULL ORDER BY place"))

    def _ids(self, which: str) -> list[int]:
        """Return the ids of the units of the round for which a condition holds, in order."""
        return [r[0] for r in self._units("id", f"{which} ORDER BY place")]

    def _units(self, columns: str, which: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Return columns of the units of the round for which a condition holds."""
        return self._read(f"SELECT {columns} FROM shot WHERE round = ? AND {which}", (self.round, *values))

    def _set(self, columns: str, values: tuple[Any, ...], unit: int, which: str = "1") -> None:
        """Change a unit of the round, if a condition holds."""
        with disk_errors(self.folder / NAME):
            self._db.execute(
                f"UPDATE shot SET {columns} WHERE round = ? AND id = ? AND {which}",
                (*values, self.round, unit),
            )

    def forget_rounds_after(self, number: int) -> None:
        """Remove the units of rounds after a round; they are planned again once that one is closed."""
        with disk_errors(self.folder / NAME):
            self._db.execute("DELETE FROM shot WHERE round > ?", (number,))

    # -- kept wavefields

    def keep_wavefields(self, shot: int, wavefields: Sequence[Wavefield]) -> None:
        """Record the kept wavefields of a shot, in place of earlier ones."""
        with self._at_once():
            self._db.execute("DELETE FROM wavefield WHERE shot = ?", (shot,))
            self._db.executemany("INSERT INTO wavefield VALUES (?, ?, ?, ?, ?)", [w.row for w in wavefields])

    def _keep_wavefields(self, event: Mapping[str, Any]) -> None:
        """Record the kept wavefields of an event, if it is complete."""
        with suppress(KeyError, TypeError, ValueError, OverflowError):
            shot = int(event["shot"])
            wavefields = [Wavefield.of(shot, w) for w in event["wavefields"]]
            if abs(shot) < 1 << 63 and all(0 <= w.bytes < 1 << 63 for w in wavefields):
                self.keep_wavefields(shot, wavefields)

    def wavefields(self) -> list[Wavefield]:
        """Return the kept wavefields of all shots."""
        with disk_errors(self.folder / NAME):
            return read_wavefields(self._db)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all units, in order, round by round."""
        with disk_errors(self.folder / NAME):
            return read_rows(self._db)

    def _read(self, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with disk_errors(self.folder / NAME):
            return self._db.execute(sql, values).fetchall()

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Run the block as one transaction."""
        with disk_errors(self.folder / NAME):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._db.execute("ROLLBACK")
                raise

    def _copy(self) -> None:
        """Publish a copy of settings and units next to the database, in case that is damaged."""
        meta = dict(self._read("SELECT key, value FROM meta"))
        rounds: dict[int, list[int]] = {}
        for number, unit in self._read("SELECT round, id FROM shot ORDER BY round, place"):
            rounds.setdefault(number, []).append(unit)
        content: dict[str, Any] = {"meta": meta, "shots": rounds.pop(0, [])}
        if rounds:
            content["rounds"] = {str(number): ids for number, ids in rounds.items()}
        publish_text(self.folder / COPY, json.dumps(content | {CHECK: hash_of(content)}, indent=1) + "\n")


def _is_hash(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[0-9a-f]{64}", text) is not None
