"""Rates at which snapshots are written to and read from a directory: measured, or found in ``machine.json``.

Put and get are the operations of a migration with snapshots on disk. Every row says what its bytes reached: a write is
*durable* when the flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system
fetched its bytes while it ran, otherwise from *memory*.

A further row is the time to publish a file, complete and on storage, as runs do with each of their files.

Measurements in one directory of a file system hold for its other directories.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from subsalt.errors import ConfigError
from subsalt.host import human, usable_cores
from subsalt.io.publish import free_bytes, publish_bytes
from subsalt.machine.load import Watch
from subsalt.machine.machine_file import Machine
from subsalt.machine.records import SHARE, Passed, refuse, room_needed, trial
from subsalt.machine.stats import summary

#: file systems that keep files in memory: nothing about them is a disk's
IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})


@dataclass(frozen=True)
class Mount:
    """A mounted file system.

    Parameters
    ----------
    point : str
        Mount point.
    kind : str
        Such as ``"ext4"``; empty where the system does not say.
    """

    point: str
    kind: str

    @property
    def in_memory(self) -> bool:
        """Whether its files lie in memory."""
        return self.kind in IN_MEMORY


def mount_of(path: str | os.PathLike[str], table: Path = Path("/proc/self/mountinfo")) -> Mount:
    """Return the file system of `path`, or of the nearest folder above it that exists.

    Parameters
    ----------
    path : path-like
        A file or folder.
    table : Path
        File in which Linux lists mounted file systems.
    """
    place = Path(path).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    place = place.resolve()
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return Mount(_point(place), "")
    best = Mount("", "")
    for line in lines:
        # number, parent, device, root, mount point, options, optional fields ... - type source options
        words = line.split()
        point = _plain(words[4])
        above = place == Path(point) or Path(point) in place.parents
        # of several on one point the last one is seen
        if above and len(point) >= len(best.point):
            best = Mount(point, words[words.index("-") + 1])
    return best if best.point else Mount(_point(place), "")


def _plain(text: str) -> str:
    r"""Return a path of the table, in which blanks and the like stand as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def _point(place: Path) -> str:
    """Return the mount point above `place`, asked of the folders themselves."""
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return str(place)


#: bytes of the files: one that is nothing but its publishing, and one of samples
SMALL, LARGE = 4096, 16 << 20
#: files of each size
REPEATS = 5


def measure_publishing(directory: Path) -> list[dict[str, Any]]:
    """Return rows of the section ``storage``: seconds of a small published file, bytes per second of a large one.

    Parameters
    ----------
    directory : Path
        Exists; a folder in it is made and removed again.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    mount = mount_of(directory)
    spent: dict[int, list[float]] = {}
    with Watch(1) as watch, tempfile.TemporaryDirectory(prefix=".publishing_", dir=directory) as place:
        for size in (SMALL, LARGE):
            data = bytes(size)
            spent[size] = [_published(Path(place) / f"{size}_{i}", data) for i in range(REPEATS)]
    least = median(spent[SMALL])
    return [
        {
            "mount": mount.point,
            "file_system": mount.kind,
            "what": "publish",
            "pattern": "file",
            "bytes": size,
            "threads": 1,
            "how": "buffered",
            "reaches": "memory" if mount.in_memory else "durable",
            "seconds_median": median(seconds),
            # a large file less what any file takes
            "rate": size / max(median(seconds) - least, 1e-6) / 1e9 if size == LARGE else None,
            **watch.stamp(),
        }
        for size, seconds in spent.items()
    ]


def _published(path: Path, data: bytes) -> float:
    begin = time.perf_counter()
    publish_bytes(path, data)
    return time.perf_counter() - begin


def publishing_known(machine: Machine | None, directory: Path) -> tuple[float, float] | None:
    """Return seconds of a published file, and bytes per second of what is in it; None where nothing was measured."""
    if machine is None:
        return None
    mount = mount_of(directory).point
    rows = [machine.find("storage", mount=mount, what="publish", bytes=size) for size in (SMALL, LARGE)]
    if not all(rows):
        return None
    return float(rows[0][0]["seconds_median"]), 1e9 * float(rows[1][0]["rate"])


Row = dict[str, Any]

MIB = 1 << 20
#: through or past the page cache
HOW = {False: "buffered", True: "direct"}
#: share of the bytes of a read that storage must have given for it to be a read from storage
FROM_STORAGE = 0.95


@dataclass(frozen=True)
class StorageRates:
    """Rates of writing to and reading from a directory, bytes per second.

    Parameters
    ----------
    put, get : float
        Durable, and from storage.
    put_cached, get_cached : float, optional
        Rates to and from the page cache, where they were measured.
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
) -> StorageRates | None:
    """Return the measurements of the file system of a directory; None when there are none.

    Parameters
    ----------
    machine : Machine
        Content of machine.json.
    directory : Path
        Directory, which need not exist yet.
    direct : bool
        Past the page cache.
    threads : int, optional
        Number of threads; the fastest that was measured when None.
    """
    mount: Mount = mount_of(directory)
    wanted: dict[str, Any] = {"mount": mount.point, "pattern": "record", "how": HOW[direct]}
    if threads is not None:
        wanted["threads"] = threads

    def best(what: str, *reaches: str) -> Row | None:
        matching = [r for r in machine.find("storage", what=what, **wanted) if r["reaches"] in reaches]
        quiet = [r for r in matching if not r.get("noisy")]
        return max(quiet or matching, key=lambda r: float(r["rate"]), default=None)

    def rate(row: Row | None) -> float | None:
        return None if row is None else 1e9 * float(row["rate"])

    # a file system in memory reaches nothing else; of one that fetched nothing its reads are all that is known
    put = best("put", "durable") or best("put", "memory")
    get = best("get", "storage") or best("get", "partly memory", "memory", "unknown")
    if put is None or get is None:
        return None
    return StorageRates(
        1e9 * float(put["rate"]),
        1e9 * float(get["rate"]),
        rate(best("put", "cached")),
        rate(best("get", "memory")),
        bool(put.get("noisy") or get.get("noisy")),
    )


def accesses_measured(machine: Machine, directory: Path) -> list[tuple[int, bool]]:
    """Return with which numbers of threads, and past the page cache or not, put and get of a directory are known."""
    point = mount_of(directory).point
    rows = machine.find("storage", mount=point, pattern="record")
    accesses = {
        (int(r["threads"]), direct)
        for r in rows
        for direct, how in HOW.items()
        if r["how"] == how and rates_of(machine, directory, direct=direct, threads=int(r["threads"]))
    }
    return sorted(accesses, key=lambda way: (way[1], way[0]))


@dataclass(frozen=True)
class RecordCase:
    """Records that are put and got.

    Parameters
    ----------
    count, record : int
        Snapshots, and bytes of each.
    threads : int
        Threads that move the records.
    direct : bool
        Past the page cache.
    """

    count: int
    record: int
    threads: int
    direct: bool = False


def records(directory: Path, case: RecordCase, repeats: int = 1, *, far: bool = False) -> Iterator[Row]:
    """Yield rates of put and get: durable and from storage, then, unless `far`, of the page cache.

    Past the cache there is no put without the flush of the device, and a file system in memory has no cache.

    Parameters
    ----------
    directory : Path
        Folder in which the files are made.
    case : RecordCase
        The records.
    repeats : int
        Samples of each row.
    far : bool
        Whether rates of the page cache are left out.

    Raises
    ------
    ConfigError
        When the file system has no access past the page cache (E788).
    """
    samples: dict[tuple[str, bool], list[Passed]] = {}
    direct = case.direct
    with trial(directory, case.count, case.record, case.threads, direct=direct) as run:
        if direct and not run.direct:
            raise no_direct(directory, "its files refuse O_DIRECT")
        for _ in range(repeats):
            for durable in (True,) if direct or far else (True, False):
                samples.setdefault(("put", durable), []).append(run.put(durable=durable))
                samples.setdefault(("get", durable), []).append(run.get(cold=durable))
        run.verify()
    for (what, durable), passed in samples.items():
        yield record_row(what, case, passed, durable=durable)


def record_row(what: str, case: RecordCase, passed: Sequence[Passed], *, durable: bool) -> Row:
    """Return the row of some samples of putting (``"put"``) or getting (``"get"``) the records of a case."""
    rates = summary([p.nbytes / p.seconds for p in passed])
    shares = [min(1.0, p.fetched / p.nbytes) for p in passed if p.fetched is not None]
    reads = what == "get"
    return {
        "engine": "snapshots",
        "what": what,
        "pattern": "record",
        "bytes": case.record,
        "threads": case.threads,
        "how": HOW[case.direct],
        "reaches": reached(shares) if reads else "durable" if durable else "cached",
        "count": case.count,
        "moved": passed[0].nbytes,
        "rate": rates.median / 1e9,
        "spread": rates.spread,
        "busy": median(p.busy for p in passed),
        "stall": median(p.stall for p in passed),
        "from_storage": median(shares) if reads and shares else None,
        "seconds": [p.seconds for p in passed],
    }


def reached(shares: Sequence[float]) -> str:
    """Return where the bytes of a read came from, by the share that storage gave."""
    if not shares:
        return "unknown"
    share = median(shares)
    if share >= FROM_STORAGE:
        return "storage"
    return "memory" if share <= 1 - FROM_STORAGE else "partly memory"


def labelled(row: Row, directory: str, mount: Mount) -> Row:
    """Return a row with its directory in front; on a file system in memory nothing reaches storage."""
    label = {"directory": directory, "file_system": mount.kind}
    if mount.in_memory:
        row = row | {"reaches": "memory"}
    return label | row


def machine_row(mount: str, row: Mapping[str, Any]) -> Row:
    """Return a row as machine.json has it, without samples: by file system, in place of directory.

    Rows of fio say so; those without an engine are our own, as they have always been.
    """
    left_out = ["seconds", "directory", "per_second", "marks"]
    if row["engine"] != "fio" and row["pattern"] != "streams":
        left_out.append("engine")
    return {"mount": mount} | {k: v for k, v in row.items() if k not in left_out}


def refuse_too_large(directory: Path, count: int, record: int) -> None:
    """Refuse a directory in which `count` snapshots of `record` bytes cannot be measured.

    Raises
    ------
    DiskError
        When it is missing, refuses to be written, or has no room.
    """
    room = SHARE * free_bytes(directory)
    smaller = f"use --size {human(0.9 * room).replace(' ', '')}, or " if room > MIB else "give "
    refuse(directory, room_needed(count, record), f"{smaller}another directory")


def no_direct(directory: Path, why: str) -> ConfigError:
    """Return the error of a file system that has no access past the page cache."""
    return ConfigError(
        f"--direct: {directory} has no access past the page cache ({why})", "leave --direct out", code="E788"
    )


def measure_directory(
    path: Path, nbytes: int = 256 * MIB, threads: int = 2, direct: bool = False, record: int = 32 * MIB
) -> list[Row]:
    """Return the rows that a plan needs of one directory, ready for ``machine_file.save(path, "storage", rows)``.

    Parameters
    ----------
    path : Path
        The directory.
    nbytes : int
        Put and got once for each row.
    threads : int
        Threads that move the records.
    direct : bool
        Past the page cache.
    record : int
        Bytes of a snapshot.

    Raises
    ------
    DiskError
        When the directory is missing, refuses to be written or has no room.
    """
    count, mount = max(1, nbytes // record), mount_of(path)
    refuse_too_large(path, count, record)
    with Watch(usable_cores()) as watch:
        rows = list(records(path, RecordCase(count, record, threads, direct), far=mount.in_memory))
    return [machine_row(mount.point, labelled(row, str(path), mount)) | watch.stamp() for row in rows]
