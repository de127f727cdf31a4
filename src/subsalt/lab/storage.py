"""How fast does a directory take and give snapshots, and how does its storage answer transfers of every size?

Put and get are what a migration with snapshots on disk does. The others are the tables by which the founding documents
judged a flash array: 4 KiB at random, 1 MiB in sequence, both mixed, and the service time by transfer size.

Speeds of the page cache are never those of a disk: every row says what its bytes reached. A write is *durable* when the
flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system fetched its bytes
while it ran, otherwise from *memory*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from subsalt.errors import ConfigError, DeviceError
from subsalt.host import available_memory, machine_facts, usable_cores
from subsalt.io.publish import free_bytes, human
from subsalt.lab import storage_fio, storage_own, storage_rows
from subsalt.lab.fio import CURE, Fio
from subsalt.lab.load import Watch
from subsalt.lab.mounts import Mount, mount_of
from subsalt.lab.records import SHARE, Passed, refuse, room_needed, trial
from subsalt.lab.result import Result
from subsalt.lab.storage_own import transfers
from subsalt.lab.storage_rates import Rates, rates_of
from subsalt.lab.storage_rows import Row
from subsalt.lab.storage_settings import MIB, Settings
from subsalt.lab.streams import streams
from subsalt.lab.transfers import direct_refused

__all__ = [
    "Rates",
    "Settings",
    "for_machine",
    "measure",
    "measure_directory",
    "rates_of",
    "records",
    "transfers",
]


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
    free = available_memory()
    fio, notes = _fio(settings)
    rows: list[Row] = []
    with Watch(usable_cores()) as watch:
        for directory in settings.directories:
            mount, name = mount_of(directory), settings.name(directory)
            ways, why = _ways(directory, settings.direct)
            notes += [f"{directory}: no access past the page cache ({why})"] if why else []
            found = _measured(directory, settings, fio, mount, ways, say)
            rows += [storage_rows.labelled(r, name, mount) for r in found]
    told = {
        "directories": [settings.name(d) for d in settings.directories],
        "fio": None if fio is None else fio.version,
        "memory_free": free,
    }
    return Result(
        "storage",
        asdict(settings) | told,
        rows,
        storage_rows.UNITS,
        watch.facts(),
        [*notes, *_sizes(settings, free), *storage_rows.notes(rows), *filter(None, [watch.text()])],
    )


def _measured(
    directory: Path,
    settings: Settings,
    fio: Fio | None,
    mount: Mount,
    ways: list[bool],
    say: Callable[[str], None],
) -> Iterator[Row]:
    """Yield the rows of one directory, in the order of the tables."""
    for direct in ways:
        how = storage_rows.HOW[direct]
        for threads in settings.threads:
            say(f"storage: {directory}, snapshots, {how}, {threads} thread{'s' * (threads != 1)}")
            yield from records(directory, settings, threads, direct=direct, far=mount.in_memory)
    if settings.quick:
        return
    direct = ways[-1]
    own = fio is None or settings.engine == "both"
    if fio is not None:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by fio {fio.version}")
        yield from storage_fio.transfers(fio, directory, settings, direct=direct)
    if own:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by threads of this program")
        yield from transfers(directory, settings, direct=direct)
    for way in ways if settings.streams else ():
        say(f"storage: {directory}, one stream against many, {storage_rows.HOW[way]}")
        yield from streams(fio, directory, settings, direct=way, far=mount.in_memory)
    if settings.sustained:
        say(f"storage: {directory}, writes that go on for {settings.sustained:g} s")
        if fio is not None:
            yield storage_fio.sustained(fio, directory, settings, direct=direct)
        if own:
            yield storage_own.sustained(directory, settings, direct=direct)


def _fio(settings: Settings) -> tuple[Fio | None, list[str]]:
    """Return the fio that is used, and a note where there should be one and is not.

    Raises
    ------
    DeviceError
        When it was asked for and cannot be used (E960).
    """
    if settings.quick or settings.engine == "own":
        return None, []
    try:
        return Fio.find(), []
    except DeviceError as error:
        if settings.engine != "auto" or error.code != "E960":
            raise
        return None, [f"{error.message}: threads of this program made the transfers; {CURE.split(', or')[0]}"]


def _sizes(settings: Settings, free: int) -> list[str]:
    """Return what the size of the files and the memory say about the speeds."""
    total = machine_facts()["ram_bytes"]
    if settings.quick or settings.nbytes > total:
        return []
    return [
        f"files of {settings.nbytes / 1e9:.3g} GB, {free / 1e9:.1f} GB of {total / 1e9:.0f} GB memory free at the "
        f"start: what caches on the way hold is not the device's; --size {total / 1e9 * 1.25:.0f}GB leaves memory out"
    ]


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


def for_machine(result: Result, settings: Settings) -> list[Row]:
    """Return the rows for machine.json, without samples: by file system, in place of directory.

    Rows of fio say so; those without an engine are our own, as they have always been.
    """
    mounts = {settings.name(d): mount_of(d).point for d in settings.directories}
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    left_out = ("seconds", "directory", "per_second", "marks")

    def kept(row: Mapping[str, Any]) -> Row:
        plain = {k: v for k, v in row.items() if k not in left_out}
        if row["engine"] != "fio" and row["pattern"] != "streams":
            del plain["engine"]
        return plain

    return [{"mount": mounts[row["directory"]]} | kept(row) | common for row in result.rows]
