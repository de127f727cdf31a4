"""The rows of `lab checkpoint`, and what compares them: one directory with another, many threads with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from subsalt.checkpoint.schedule.tasks import Counts
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.machine.mounts import Mount
from subsalt.machine.records import Passed
from subsalt.machine.storage import HOW, reached

__all__ = ["HOW", "UNITS", "bare", "compared", "in_memory", "middle", "notes", "overlapped"]

Row = dict[str, Any]

UNITS = {
    "put_bytes": "B",
    "get_bytes": "B",
    "put_seconds": "s",
    "get_seconds": "s",
    "total_seconds": "s",
    "stall_seconds": "s",
    "put_rate": "GB/s",
    "get_rate": "GB/s",
    "shot_seconds": "s",
    "memory_shot_seconds": "s",
}


def bare(count: int, put: Passed, get: Passed, *, durable: bool) -> Row:
    """Return what moving `count` records to a directory and back took; seconds are those of the clock."""
    share = None if get.fetched is None else min(1.0, get.fetched / get.nbytes)
    return _row("bare", (count, put.nbytes, put.seconds), (count, get.nbytes, get.seconds)) | {
        "flushed": durable,
        "put_reaches": "durable" if durable else "cached",
        "get_reaches": reached([] if share is None else [share]),
        "stall_seconds": put.stall + get.stall,
    }


def overlapped(did: Counts, counts: StoreCounts, seconds: float, fetched: int | None, *, direct: bool) -> Row:
    """Return what a shot with checkpoints on disk did.

    Parameters
    ----------
    did : Counts
        Snapshots and states that it put and got.
    counts : StoreCounts
        Of its stores, which cut large states into several records; put and get are the seconds that their threads were
        busy.
    seconds : float
        Of the shot.
    fetched : int, optional
        Bytes that the system fetched from storage meanwhile.
    direct : bool
        Past the page cache: then puts are on the device, though its own cache is not flushed.
    """
    share = None if fetched is None else min(1.0, fetched / max(1, counts.disk_read))
    return _row(
        "overlapped",
        (did.snapshots_written + did.states_stored_disk, counts.bytes_written, counts.put_seconds),
        (did.snapshots_read + did.states_loaded_disk, counts.bytes_read, counts.get_seconds),
    ) | {
        "flushed": False,
        "put_reaches": "device" if direct else "cached",
        "get_reaches": reached([] if share is None else [share]),
        "stall_seconds": counts.stall_seconds,
        "shot_seconds": seconds,
    }


def _row(mode: str, put: tuple[int, int, float], get: tuple[int, int, float]) -> Row:
    row: Row = {"mode": mode}
    for name, (count, nbytes, seconds) in (("put", put), ("get", get)):
        row |= {
            f"{name}s": count,
            f"{name}_bytes": nbytes,
            f"{name}_seconds": seconds,
            f"{name}_rate": nbytes / seconds / 1e9 if seconds > 0 else None,
        }
    return row | {"total_seconds": put[2] + get[2]}


def in_memory(row: Row, mount: Mount) -> Row:
    """Return a row that says so where the directory lies in memory."""
    if not mount.in_memory:
        return row
    return row | {"put_reaches": "memory", "get_reaches": "memory"}


def middle(samples: Sequence[Row]) -> Row:
    """Return the sample whose total is the median, with all totals."""
    key = "shot_seconds" if "shot_seconds" in samples[0] else "total_seconds"
    ordered = sorted(samples, key=lambda r: float(r[key]))
    return ordered[(len(ordered) - 1) // 2] | {"seconds": [r[key] for r in samples]}


#: what makes two rows the same case but for what is compared
_CASE = ("mode", "checkpoints", "threads", "how", "flushed")


def compared(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Return the rows with their speed-up over the first directory, and over the fewest threads, by the total.

    Notes
    -----
    Only rows that did the same are compared: the page cache of one directory is not faster than another directory's
    disk. What a directory in memory did is said of its rows.
    """
    first: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    fewest: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    out = []
    for row in rows:
        case = tuple(row[k] for k in _CASE)
        same_place = (row["directory"], *(row[k] for k in _CASE if k != "threads"))
        over, alone = first.setdefault(case, row), fewest.setdefault(same_place, row)
        total = row["total_seconds"]
        out.append(
            dict(row)
            | {
                "over_first": over["total_seconds"] / total if over is not row else None,
                "over_one": alone["total_seconds"] / total if alone is not row else None,
                "of_memory": row["shot_seconds"] / row["memory_shot_seconds"]
                if row.get("memory_shot_seconds")
                else None,
            }
        )
    return out


def notes(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what a reader of the numbers must know."""
    out = []
    if any(r["mode"] == "overlapped" for r in rows):
        out.append(
            "overlapped: put and get are the seconds that the threads of the store were busy, summed; waited is what "
            "the shot stood still for them; every image had the bits of the others"
        )
    if any(r["put_reaches"] == "cached" for r in rows):
        out.append(
            "cached: no flush to storage is in the time; such rates are those of memory, not of a disk"
        )
    if any(r["get_reaches"] in ("memory", "partly memory") for r in rows):
        out.append("memory: the page cache gave (part of) what was got")
    places = sorted({r["directory"] for r in rows if r["put_reaches"] == "memory"})
    out += [f"{d} lies in memory: none of its speeds is that of a disk" for d in places]
    return out
