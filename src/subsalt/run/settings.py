"""The settings of a run directory: the job and its identity, kept in the ledger and in a copy next to it.

Both have a checksum, since SQLite does not check the values in its cells.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subsalt.io import own

#: the database, and the copy of its settings
NAME = "ledger.sqlite"
COPY = "ledger.json"
#: setting that holds the hash of the others
CHECK = "check"
#: setting that holds the resolved job, with which a run is resumed without its job file
JOB = "resolved"


@contextmanager
def read_only(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the ledger of a run for reading, without locking it; sqlite3.Error or OSError when there is none."""
    path = Path(folder) / NAME
    if path.is_symlink() or not path.is_file():
        raise FileNotFoundError(path)
    # without a log beside it nobody writes: then not even the helper files of a reader are left behind
    mode = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "immutable=1"
    db = sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, timeout=5.0)
    # a damaged text is a text nevertheless: what it says is compared, not believed
    db.text_factory = lambda text: text.decode("utf-8", "replace")
    try:
        yield db
    finally:
        db.close()


def settings_of(folder: Path) -> dict[str, str]:
    """Return the settings of a run directory, without locking it; empty when there are none that can be trusted.

    Those of the ledger, or of the copy beside it where the ledger is damaged or older than the copy: what stands in a
    log of the database that is damaged is lost without a word.
    """
    settings = _sound_settings(folder)
    copy = sound_copy(folder)
    if copy is not None and (settings is None or resolved_of(copy[0])[0] > resolved_of(settings)[0]):
        return copy[0]
    return settings or {}


def _sound_settings(folder: Path) -> dict[str, str] | None:
    """Return the settings in the database; None when there are none, or they fail their checksum."""
    try:
        with read_only(folder) as db:
            meta = dict(db.execute("SELECT key, value FROM meta").fetchall())
    except (OSError, sqlite3.Error, ValueError):  # a damaged text is no UTF-8
        return None
    return meta if meta and is_sound(meta) else None


def sound_copy(folder: Path) -> tuple[dict[str, str], dict[int, list[int]]] | None:
    """Return settings and units by round of the copy beside the ledger; None when it is missing or damaged."""
    try:
        content = json.loads(own.read_text(folder / COPY))
        meta, known = dict(content["meta"]), content.pop(CHECK, None)  # versions before 0.9 wrote none
        rounds = {"0": content["shots"], **content.get("rounds", {})}
        units = {int(number): list(dict.fromkeys(ids)) for number, ids in rounds.items()}
        whole = known is None or known == hash_of(content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    numbers = [i for number, ids in units.items() for i in (number, *ids)]
    plain = all(type(i) is int and abs(i) < 1 << 63 for i in numbers) and all(
        isinstance(v, str) for v in meta.values()
    )
    return (meta, units) if whole and plain and is_sound(meta) else None


def resolved_of(settings: Mapping[str, str]) -> tuple[int, str]:
    """Return the resolved job that settings hold, and how many there were before it; (0, "") of older versions."""
    try:
        number, text = json.loads(settings[JOB])
        return int(number), str(text)
    except (KeyError, TypeError, ValueError):
        return 0, ""


def with_resolved(settings: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the setting that holds a resolved job: the next one, where it differs from the last."""
    number, known = resolved_of(settings)
    return {JOB: json.dumps([number + (text != known), text])}


def is_sound(meta: Mapping[str, str]) -> bool:
    """Return whether settings have their checksum; those of before 0.3 have none."""
    # a cell of a database may have another type after a flip
    plain = all(isinstance(text, str) for item in meta.items() for text in item)
    return plain and meta.get(CHECK, "") in ("", check_of(meta))


def check_of(meta: Mapping[str, str]) -> str:
    """Return the hash of all settings but that of the format, which is changed in place."""
    return hash_of({k: v for k, v in meta.items() if k not in (CHECK, "format")})


def hash_of(content: Mapping[str, Any]) -> str:
    """Return the hash of plain values, whatever their order."""
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
