"""``machine.json``: measurements of this machine by the lab, with which runs are planned.

::

    {"schema": "subsalt-machine-1",
     "machine": {"cpu": ..., "system": ..., "cores": ..., "ram_bytes": ..., "caches": {...}},
     "memory":  [{"what": "update", "isa": "v4", "threads": 2, "rate": ..., "unit": "GB/s", ...}, ...],
     "kernels": [{"medium": "vti", "order": 8, "boundary": "pml", ..., "points_per_s": ...}, ...],
     "storage": [{"mount": "/scratch", "what": "put", "threads": 2, "reaches": "durable", "rate": ...}, ...]}

A section is a list of rows. A new measurement replaces the rows with the same `KEYS` and leaves the others, each with
its date, version, and whether it was noisy; a noisy row does not replace a quiet one of the same version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError, DataError, DiskError, MissingInputError
from subsalt.host import cache_bytes, machine_facts
from subsalt.io.publish import make_folder, publish_text
from subsalt.methods import method_of

SCHEMA = "subsalt-machine-1"
#: name and version of the format of a result of the lab; a reader refuses another one
RESULT_SCHEMA = "subsalt-lab-1"

#: days after which a quiet row is no better than a noisy new one, and worth measuring again
OLD = 30.0

#: keys that identify a row of a section; a method with rates has a section of its name
KEYS: dict[str, tuple[str, ...]] = {
    "memory": ("what", "isa", "threads"),
    "kernels": (
        "medium",
        "dim",
        "order",
        "boundary",
        "layer_cells",
        "loop",
        "model_storage",
        "isa",
        "threads",
        "n",
    ),
    "shots": (
        "medium",
        "dim",
        "order",
        "boundary",
        "layer_cells",
        "free_surface",
        "model_storage",
        "isa",
        "threads",
        "points",
    ),
    "programs": ("method", "python", "version"),
    "network": ("what", "where", "bytes", "ranks", "mpi"),
    "storage": ("mount", "what", "pattern", "bytes", "threads", "how", "reaches", "engine"),
    "device": ("device", "what"),
    "device_kernels": (
        "device",
        "medium",
        "dim",
        "order",
        "boundary",
        "layer_cells",
        "loop",
        "model_storage",
        "n",
    ),
    "copies": ("medium", "dim", "order", "boundary", "model_storage", "isa", "copies", "threads", "n"),
}


def keys_of(section: str) -> tuple[str, ...]:
    """Return the keys that identify a row of a section; sections outside `KEYS` belong to methods."""
    return KEYS[section] if section in KEYS else method_of(section).rate_keys


def default_path() -> Path:
    """Return where machine.json is kept: in the user's cache folder."""
    cache = os.environ.get("XDG_CACHE_HOME") or ""
    # a relative value is to be ignored (XDG base directory specification)
    root = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return root / "subsalt" / "machine.json"


@dataclass(frozen=True)
class Machine:
    """Measurements of one machine.

    Parameters
    ----------
    machine : mapping
        Processor, system, cores, memory, caches.
    sections : mapping of str to list of mapping
        Rows by section.
    """

    machine: Mapping[str, Any]
    sections: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Machine:
        """Return this machine, of which nothing was measured yet."""
        return cls(machine_facts() | {"caches": cache_bytes()})

    def is_same(self, other: Machine) -> bool:
        """Whether both are one kind of processor under one system."""
        return all(self.machine.get(k) == other.machine.get(k) for k in ("cpu", "system"))

    def merged(self, section: str, rows: Iterable[Mapping[str, Any]]) -> Machine:
        """Return this with rows added to a section in place of those with the same `KEYS`."""
        keys = keys_of(section)
        known = {_key(row, keys): dict(row) for row in self.sections.get(section, [])}
        for row in rows:
            old = known.get(_key(row, keys))
            if old is None or not _is_better(old, row):
                known[_key(row, keys)] = dict(row)
        return Machine(self.machine, {**self.sections, section: list(known.values())})

    def find(self, section: str, **wanted: object) -> list[dict[str, Any]]:
        """Return the rows of a section that have all these values, quiet ones first, then the newest.

        Parameters
        ----------
        section : str
            ``"memory"``, ``"kernels"`` or ``"storage"``.
        **wanted
            Values by key, such as ``medium="vti", order=8, boundary="pml"``.
        """
        rows = [r for r in self.sections.get(section, []) if all(r.get(k) == v for k, v in wanted.items())]
        newest = sorted(rows, key=lambda r: str(r.get("date", "")), reverse=True)
        return sorted(newest, key=lambda r: bool(r.get("noisy")))

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the file."""
        return {"schema": SCHEMA, "machine": dict(self.machine), **self.sections}


def _key(row: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(row.get(k) for k in keys)


def _is_better(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether an old row tells more than a new one of the same case: quiet, of the same code, not old."""
    quiet = bool(new.get("noisy")) and not old.get("noisy") and old.get("version") == new.get("version")
    was, now = (days_since(str(row.get("date", "")), datetime.now(UTC)) for row in (old, new))
    return quiet and (was is None or now is None or was - now <= OLD)


def days_since(date: str, now: datetime) -> float | None:
    """Return the days since a date such as ``2026-11-22T10:00:00Z``; None when it is none."""
    try:
        then = datetime.fromisoformat(date)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (now - then).total_seconds() / 86400)


def read(path: Path) -> Machine:
    """Read a machine.json.

    Raises
    ------
    MissingInputError
        When there is none.
    DataError
        When it is damaged, or of another format.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingInputError(
            f"{path} does not exist", "make it with subsalt lab memory and subsalt lab kernels", code="E110"
        ) from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check name and permissions", code="E111"
        ) from error
    except UnicodeDecodeError:
        raise _damaged(path, "it is not UTF-8 text") from None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, f"it is not JSON ({error})") from None
    if not isinstance(content, dict) or "schema" not in content:
        raise _damaged(path, "it says no format")
    if content["schema"] != SCHEMA:
        raise _damaged(path, f"its format is {content['schema']!r}, not {SCHEMA!r}")
    machine = content.get("machine")
    sections = {k: v for k, v in content.items() if k not in ("schema", "machine")}
    if not isinstance(machine, dict):
        raise _damaged(path, "it names no machine")
    for name, rows in sections.items():
        if not isinstance(rows, list) or not all(isinstance(r, dict) for r in rows):
            raise _damaged(path, f"section {name!r} is not a list of rows")
    return Machine(machine, sections)


def _damaged(path: Path, why: str) -> DataError:
    return DataError(
        f"{path} cannot be used: {why}", "remove it, or give another name with --out", code="E643"
    )


def prepare(path: Path) -> Machine:
    """Return the content of `path`, or this machine without measurements if there is no file yet.

    Raises
    ------
    ConfigError
        When the file describes another machine and is not that of the user's cache.
    DataError
        When it is damaged.
    DiskError
        When the file could not be written afterwards.
    """
    here = Machine.here()
    make_folder(path.parent)
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise DiskError(f"{path} cannot be written", "give another name with --out", code="E620")
    if not path.exists():
        return here
    known = read(path)
    if not known.is_same(here):
        if path == default_path():
            return here  # the file of the user's cache is of the machine that was measured last
        raise ConfigError(
            f"{path} describes another machine ({known.machine.get('cpu')}, {known.machine.get('system')}); "
            f"this is {here.machine['cpu']}, {here.machine['system']}",
            "give another name with --out",
            code="E644",
        )
    return known


def save(path: Path, section: str, rows: Iterable[Mapping[str, Any]]) -> int:
    """Add rows to a section of the file at `path`, which appears complete or not at all.

    Measurements of another machine in the user's cache are moved to ``machine.other.json``.

    Returns
    -------
    int
        How many rows were left out because a quiet one of the same case and version is there.
    """
    # read again: another measurement may have finished meanwhile
    known = Machine(Machine.here().machine, prepare(path).sections)
    if path.exists() and not read(path).is_same(known):
        os.replace(path, path.with_name(f"{path.stem}.other{path.suffix}"))
    new = [dict(r) for r in rows]
    merged = known.merged(section, new)
    text = json.dumps(merged.to_dict(), indent=1, allow_nan=False)
    publish_text(path, text + "\n")
    return sum(r not in merged.sections[section] for r in new)
