"""How fast does a directory take and give snapshots, and how does its storage answer transfers of every size?

Put and get are what a migration with snapshots on disk does. The others are the tables by which the founding documents
judged a flash array: 4 KiB at random, 1 MiB in sequence, both mixed, and the service time by transfer size.

Speeds of the page cache are never those of a disk: every row says what its bytes reached. A write is *durable* when the
flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system fetched its bytes
while it ran, otherwise from *memory*.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.errors import ConfigError, DiskError
from subsalt.host import usable_cores
from subsalt.io.os_errors import free_bytes, human
from subsalt.lab import storage_rows
from subsalt.lab.load import Watch
from subsalt.lab.machine import Machine
from subsalt.lab.mounts import Mount, mount_of
from subsalt.lab.result import Result
from subsalt.lab.storage_rows import Row
from subsalt.lab.transfers import PAGE, Taken, TrialFile, direct_refused

KIB, MIB = 1 << 10, 1 << 20

#: transfers at a time of the random tests: one, and the founding documents' 32
OUTSTANDING = (1, 32)
#: transfer sizes of the service times, bytes
SIZES = tuple(4 * KIB << i for i in range(9))
#: part of the free room that a measurement takes at most
SHARE = 0.5


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
    block : int
        Bytes of one transfer of a snapshot.
    direct : bool, optional
        Past the page cache, through it, or both when None.
    quick : bool
        Put and get alone.
    repeats : int
        Samples of put and get.
    seconds : float
        Length of each of the other tests.
    """

    directories: Sequence[Path]
    nbytes: int = 1 << 30
    threads: Sequence[int] = (1, 4)
    block: int = 4 * MIB
    direct: bool | None = None
    quick: bool = False
    repeats: int = 3
    seconds: float = 1.0


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
        _refuse(directory, settings.nbytes)
    rows: list[Row] = []
    notes: list[str] = []
    with Watch(usable_cores()) as watch:
        for directory in settings.directories:
            mount = mount_of(directory)
            ways, why = _ways(directory, settings.direct)
            notes += [f"{directory}: no access past the page cache ({why})"] if why else []
            for direct in ways:
                how = storage_rows.HOW[direct]
                for threads in settings.threads:
                    say(f"storage: {directory}, snapshots, {how}, {threads} thread{'s' * (threads != 1)}")
                    rows += [
                        storage_rows.labelled(r, directory, mount)
                        for r in records(directory, settings, threads, direct=direct, far=mount.in_memory)
                    ]
            if not settings.quick:
                say(f"storage: {directory}, transfers of 4 KiB to 1 MiB")
                rows += [
                    storage_rows.labelled(r, directory, mount)
                    for r in transfers(directory, settings, direct=ways[-1])
                ]
    return Result(
        "storage",
        asdict(settings) | {"directories": [str(d) for d in settings.directories]},
        rows,
        storage_rows.UNITS,
        watch.facts(),
        [*notes, *storage_rows.notes(rows), *filter(None, [watch.text()])],
    )


def measure_directory(
    path: Path, nbytes: int = 256 * MIB, threads: int = 2, direct: bool = False, block: int = 4 * MIB
) -> list[Row]:
    """Return the rows that a plan needs of one directory, ready for ``machine.save(path, "storage", rows)``.

    Parameters
    ----------
    path : Path
        The directory.
    nbytes : int
        Put and got once, durable and from storage.
    threads : int
        Which move them.
    direct : bool
        Past the page cache.
    block : int
        Bytes of one transfer.

    Raises
    ------
    DiskError
        When the directory is missing, refuses to be written or has no room.
    """
    settings = Settings([path], nbytes, [threads], block, direct, quick=True, repeats=1)
    return for_machine(measure(settings))


def _refuse(directory: Path, nbytes: int) -> None:
    """Refuse a directory in which nothing can be measured."""
    if not directory.is_dir():
        raise DiskError(f"{directory} is no directory", "give one that exists", code="E620")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DiskError(f"{directory} cannot be written", "give another directory", code="E620")
    room = free_bytes(directory)
    if nbytes > SHARE * room:
        raise DiskError(
            f"the measurement writes {human(nbytes)}, {directory} has {human(room)}: it takes at most half",
            f"use --size {human(SHARE * room * 0.9).replace(' ', '')}, or another directory",
            code="E787",
        )


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
    size = settings.block
    nbytes = -(-settings.nbytes // size) * size
    offsets = range(0, nbytes, size)
    with TrialFile(directory, nbytes, direct=direct) as file:

        def put(flush: bool) -> Taken:
            return file.run([(o, True) for o in offsets], size, threads, flush=flush)

        def get(cold: bool) -> Taken:
            if cold:
                file.forget()
            # as a migration gets them: backwards
            return file.run([(o, False) for o in reversed(offsets)], size, threads)

        put(flush=True)  # the blocks of a new file are found in this round
        samples: dict[tuple[str, bool], list[Taken]] = {}
        for _ in range(settings.repeats):
            for durable in (True,) if direct or far else (True, False):
                samples.setdefault(("put", durable), []).append(put(flush=durable))
                samples.setdefault(("get", durable), []).append(get(cold=durable))
        file.verify(size)
    for (what, durable), taken in samples.items():
        yield storage_rows.row(what, "record", size, threads, direct, taken, durable=durable)


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


def for_machine(result: Result) -> list[Row]:
    """Return the rows for machine.json, without samples."""
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [
        {k: v for k, v in row.items() if k != "seconds"}
        | {"directory": str(Path(row["directory"]).absolute())}
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
    noisy : bool
        Something else used the machine while they were measured.
    """

    put: float
    get: float
    noisy: bool


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

    def best(what: str, reaches: tuple[str, ...]) -> Row | None:
        found = [r for r in machine.find("storage", what=what, **wanted) if r["reaches"] in reaches]
        quiet = [r for r in found if not r.get("noisy")]
        return max(quiet or found, key=lambda r: float(r["rate"]), default=None)

    put, get = best("put", ("durable", "memory")), best("get", ("storage",))
    if get is None and put is not None:
        # nothing was fetched from storage: a file system in memory, or one whose reads the system does not count
        get = best("get", ("memory", "unknown"))
    if put is None or get is None:
        return None
    return Rates(put["rate"] * 1e9, get["rate"] * 1e9, bool(put.get("noisy") or get.get("noisy")))
