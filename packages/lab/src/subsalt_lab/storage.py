"""How fast does a directory take and give snapshots, and how does its storage answer transfers of every size?

Put and get are what a migration with snapshots on disk does. The others are the tables by which the founding documents
judged a flash array: 4 KiB at random, 1 MiB in sequence, both mixed, and the service time by transfer size.

Speeds of the page cache are never those of a disk: every row says what its bytes reached. A write is *durable* when the
flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system fetched its bytes
while it ran, otherwise from *memory*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from subsalt.errors import DeviceError
from subsalt.host import available_memory, machine_facts, usable_cores
from subsalt.machine import storage
from subsalt.machine.load import Watch
from subsalt.machine.mounts import Mount, mount_of
from subsalt.machine.storage import Row
from subsalt_lab import storage_fio, storage_own, storage_rows
from subsalt_lab.fio import CURE, Fio
from subsalt_lab.result import Result
from subsalt_lab.storage_settings import Settings
from subsalt_lab.streams import streams
from subsalt_lab.transfers import direct_refused


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
        storage.refuse_too_large(directory, settings.count, settings.record)
    free = available_memory()
    fio, notes = _fio(settings)
    rows: list[Row] = []
    with Watch(usable_cores()) as watch:
        for directory in settings.directories:
            mount, name = mount_of(directory), settings.name(directory)
            ways, why = _accesses(directory, settings.direct)
            notes += [f"{directory}: no access past the page cache ({why})"] if why else []
            found = _measured(directory, settings, fio, mount, ways, say)
            rows += [storage.labelled(r, name, mount) for r in found]
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
        how = storage.HOW[direct]
        for threads in settings.threads:
            say(f"storage: {directory}, snapshots, {how}, {threads} thread{'s' * (threads != 1)}")
            yield from storage.records(
                directory,
                settings.count,
                settings.record,
                threads,
                settings.repeats,
                direct=direct,
                far=mount.in_memory,
            )
    if settings.quick:
        return
    direct = ways[-1]
    own = fio is None or settings.engine == "both"
    if fio is not None:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by fio {fio.version}")
        yield from storage_fio.transfers(fio, directory, settings, direct=direct)
    if own:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by threads of this program")
        yield from storage_own.transfers(directory, settings, direct=direct)
    for way in ways if settings.streams else ():
        say(f"storage: {directory}, one stream against many, {storage.HOW[way]}")
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


def _accesses(directory: Path, wanted: bool | None) -> tuple[list[bool], str]:
    """Return through the page cache, past it, or both; and why not past it."""
    if wanted is False:
        return [False], ""
    refused = direct_refused(directory)
    if refused is None:
        return ([True] if wanted else [False, True]), ""
    if wanted:
        raise storage.no_direct(directory, refused)
    return [False], refused


def for_machine(result: Result, settings: Settings) -> list[Row]:
    """Return the rows for machine.json."""
    mounts = {settings.name(d): mount_of(d).point for d in settings.directories}
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [storage.machine_row(mounts[row["directory"]], row) | common for row in result.rows]
