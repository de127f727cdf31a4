"""How fast does a directory take and give snapshots, and how does its storage answer transfers of every size?

Put and get are what a migration with snapshots on disk does. The others are the tables by which the founding documents
judged a flash array: 4 KiB at random, 1 MiB in sequence, both mixed, and the service time by transfer size.

Speeds of the page cache are never those of a disk: every row says what its bytes reached. A write is *durable* when the
flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system fetched its bytes
while it ran, otherwise from *memory*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.errors import ConfigError
from subsalt.host import usable_cores
from subsalt.io.os_errors import free_bytes, human
from subsalt.lab import storage_rows
from subsalt.lab.load import Watch
from subsalt.lab.machine import Machine
from subsalt.lab.mounts import Mount, mount_of
from subsalt.lab.records import SHARE, Passed, refuse, room_needed, trial
from subsalt.lab.result import Result
from subsalt.lab.storage_rows import Row
from subsalt.lab.transfers import PAGE, Taken, TrialFile, direct_refused

KIB, MIB = 1 << 10, 1 << 20

#: transfers at a time of the random tests: one, and the founding documents' 32
OUTSTANDING = (1, 32)
#: transfer sizes of the service times, bytes
SIZES = tuple(4 * KIB << i for i in range(9))


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    directories : sequence of Path
        Each is measured.
    nbytes : int
        Put and got for one figure.
    threads : sequence of int
        Threads that put and get.
    record : int
        Bytes of a snapshot.
    direct : bool, optional
        Past the page cache, through it, or both when None.
    quick : bool
        Put and get alone.
    repeats : int
        Samples of put and get.
    seconds : float
        Length of each of the other tests.
    names : sequence of str
        What the directories are called in the result; their paths when left out.
    """

    directories: Sequence[Path]
    nbytes: int = 1 << 30
    threads: Sequence[int] = (1, 4)
    record: int = 32 * MIB
    direct: bool | None = None
    quick: bool = False
    repeats: int = 3
    seconds: float = 1.0
    names: Sequence[str] = ()

    def name(self, directory: Path) -> str:
        """Return what a directory is called."""
        return self.names[list(self.directories).index(directory)] if self.names else str(directory)

    @property
    def count(self) -> int:
        """Snapshots put and got for one figure."""
        return max(1, self.nbytes // self.record)


def measure(settings: Settings, *, say: Callable[[str], None] = lambda text: None) -> Result:
    """Measure every directory.

    Raises
    ------
    DiskError
        When one is missing, refuses to be written, or has no room.
    SubsaltError
        When what was read is not what was written.
    """
    for directory in settings.directories:
        room = SHARE * free_bytes(directory)
        smaller = f"use --size {human(0.9 * room).replace(' ', '')}, or " if room > MIB else "give "
        refuse(directory, room_needed(settings.count, settings.record), f"{smaller}another directory")
    rows: list[Row] = []
    notes: list[str] = []
    with Watch(usable_cores()) as watch:
        for directory in settings.directories:
            mount, name = mount_of(directory), settings.name(directory)
            ways, why = _ways(directory, settings.direct)
            notes += [f"{directory}: no access past the page cache ({why})"] if why else []
            for direct in ways:
                how = storage_rows.HOW[direct]
                for threads in settings.threads:
                    say(f"storage: {directory}, snapshots, {how}, {threads} thread{'s' * (threads != 1)}")
                    rows += [
                        storage_rows.labelled(r, name, mount)
                        for r in records(directory, settings, threads, direct=direct, far=mount.in_memory)
                    ]
            if not settings.quick:
                say(f"storage: {directory}, transfers of 4 KiB to 1 MiB")
                rows += [
                    storage_rows.labelled(r, name, mount)
                    for r in transfers(directory, settings, direct=ways[-1])
                ]
    return Result(
        "storage",
        asdict(settings) | {"directories": [settings.name(d) for d in settings.directories]},
        rows,
        storage_rows.UNITS,
        watch.facts(),
        [*notes, *storage_rows.notes(rows), *filter(None, [watch.text()])],
    )


def measure_directory(
    path: Path, nbytes: int = 256 * MIB, threads: int = 2, direct: bool = False, record: int = 32 * MIB
) -> list[Row]:
    """Return the rows that a plan needs of one directory, ready for ``machine.save(path, "storage", rows)``.

    Parameters
    ----------
    path : Path
        The directory.
    nbytes : int
        Put and got once for each row.
    threads : int
        Which move them.
    direct : bool
        Past the page cache.
    record : int
        Bytes of a snapshot.

    Raises
    ------
    DiskError
        When the directory is missing, refuses to be written or has no room.
    """
    settings = Settings([path], nbytes, [threads], record, direct, quick=True, repeats=1)
    return for_machine(measure(settings), settings)


def _ways(directory: Path, wanted: bool | None) -> tuple[list[bool], str]:
    """Return through the page cache, past it, or both; and why not past it."""
    if wanted is False:
        return [False], ""
    refused = direct_refused(directory)
    if refused is None:
        return ([True] if wanted else [False, True]), ""
    if wanted:
        raise ConfigError(
            f"--direct: {directory} has no access past the page cache ({refused})",
            "leave --direct out",
            code="E788",
        )
    return [False], refused


def records(
    directory: Path, settings: Settings, threads: int, *, direct: bool, far: bool = False
) -> Iterator[Row]:
    """Yield put and get: durable and from storage, then, unless only what is `far` counts, of the page cache.

    Past the cache a put without the flush of the device is no other thing, and a file system in memory has no cache.
    """
    samples: dict[tuple[str, bool], list[Passed]] = {}
    with trial(directory, settings.count, settings.record, threads, direct=direct) as run:
        for _ in range(settings.repeats):
            for durable in (True,) if direct or far else (True, False):
                samples.setdefault(("put", durable), []).append(run.put(durable=durable))
                samples.setdefault(("get", durable), []).append(run.get(cold=durable))
        run.verify()
    for (what, durable), passed in samples.items():
        yield storage_rows.record_row(
            what, settings.record, settings.count, threads, direct, passed, durable=durable
        )


def transfers(directory: Path, settings: Settings, *, direct: bool) -> Iterator[Row]:
    """Yield the tables of the founding documents: sequence, random, mix, and service times by size."""
    nbytes = -(-settings.nbytes // MIB) * MIB
    rng = np.random.default_rng(0)

    def at_random(size: int) -> Iterator[int]:
        while True:
            yield from (rng.integers(0, nbytes // size, 1024) * size).tolist()

    with TrialFile(directory, nbytes, direct=direct) as file:

        def run(offsets: Iterable[int], writes: Sequence[bool], size: int, threads: int) -> Taken:
            if not direct:
                file.forget()
            # more than the seconds allow, and each place of a sequence once
            most = nbytes // size if isinstance(offsets, range) else max(64, int(2e5 * settings.seconds))
            requests = list(zip(offsets, cycle(writes), range(most), strict=False))
            pairs = [(o, w) for o, w, _ in requests]
            return file.run(pairs, size, threads, flush=any(writes), limit=settings.seconds)

        sequence = range(0, nbytes, MIB)
        file.run([(o, True) for o in sequence], MIB, 1, flush=True)
        for threads in (1, max(settings.threads)):
            for what, write in (("write", True), ("read", False)):
                taken = run(sequence, [write], MIB, threads)
                yield storage_rows.row(what, "sequential", MIB, threads, direct, [taken], durable=True)
        for threads in OUTSTANDING:
            for what, writes in (("read", [False]), ("write", [True]), ("mix", [False, True])):
                taken = run(at_random(PAGE), writes, PAGE, threads)
                yield storage_rows.row(what, "random", PAGE, threads, direct, [taken], durable=True)
        for what, write in (("read", False), ("write", True)):
            for size in SIZES:
                taken = run(at_random(size), [write], size, 1)
                # through the cache the time of one write is that of memory, whatever the flush at the end took
                yield storage_rows.row(what, "service", size, 1, direct, [taken], durable=direct)
        file.verify(MIB)


def for_machine(result: Result, settings: Settings) -> list[Row]:
    """Return the rows for machine.json, without samples: by file system, in place of directory."""
    mounts = {settings.name(d): mount_of(d).point for d in settings.directories}
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [
        {"mount": mounts[row["directory"]]}
        | {k: v for k, v in row.items() if k not in ("seconds", "directory")}
        | common
        for row in result.rows
    ]


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
