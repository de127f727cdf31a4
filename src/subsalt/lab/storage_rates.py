"""What `machine.json` knows of the file system of a directory: bytes per second of put and get."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.lab import storage_rows
from subsalt.lab.machine import Machine
from subsalt.lab.mounts import Mount, mount_of
from subsalt.lab.storage_rows import Row


@dataclass(frozen=True)
class Rates:
    """Bytes per second that a directory takes and gives.

    Parameters
    ----------
    put, get : float
        Durable, and from storage.
    put_cached, get_cached : float, optional
        To and from the page cache, where that was measured.
    noisy : bool
        Something else used the machine while they were measured.
    """

    put: float
    get: float
    put_cached: float | None = None
    get_cached: float | None = None
    noisy: bool = False


def rates_of(
    machine: Machine, directory: Path, *, direct: bool = False, threads: int | None = None
) -> Rates | None:
    """Return what is known of the file system of a directory; None when it was not measured.

    Parameters
    ----------
    machine : Machine
        Of machine.json.
    directory : Path
        It need not exist yet.
    direct : bool
        Past the page cache.
    threads : int, optional
        Number of threads; the fastest that was measured when None.
    """
    mount: Mount = mount_of(directory)
    wanted: dict[str, Any] = {"mount": mount.point, "pattern": "record", "how": storage_rows.HOW[direct]}
    if threads is not None:
        wanted["threads"] = threads

    def best(what: str, *reaches: str) -> Row | None:
        found = [r for r in machine.find("storage", what=what, **wanted) if r["reaches"] in reaches]
        quiet = [r for r in found if not r.get("noisy")]
        return max(quiet or found, key=lambda r: float(r["rate"]), default=None)

    def rate(row: Row | None) -> float | None:
        return None if row is None else 1e9 * float(row["rate"])

    # a file system in memory reaches nothing else; of one that fetched nothing its reads are all that is known
    put = best("put", "durable") or best("put", "memory")
    get = best("get", "storage") or best("get", "partly memory", "memory", "unknown")
    if put is None or get is None:
        return None
    return Rates(
        1e9 * float(put["rate"]),
        1e9 * float(get["rate"]),
        rate(best("put", "cached")),
        rate(best("get", "memory")),
        bool(put.get("noisy") or get.get("noisy")),
    )


def ways_measured(machine: Machine, directory: Path) -> list[tuple[int, bool]]:
    """Return with which numbers of threads, and past the page cache or not, put and get of a directory are known."""
    point = mount_of(directory).point
    rows = machine.find("storage", mount=point, pattern="record")
    found = {
        (int(r["threads"]), direct)
        for r in rows
        for direct, how in storage_rows.HOW.items()
        if r["how"] == how and rates_of(machine, directory, direct=direct, threads=int(r["threads"]))
    }
    return sorted(found, key=lambda way: (way[1], way[0]))
