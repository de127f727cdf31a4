"""How fast does a directory take and give snapshots, and how does its storage answer transfers of every size?

Put and get are what a migration with snapshots on disk does. The others are the tables by which the founding documents
judged a flash array: 4 KiB at random, 1 MiB in sequence, both mixed, and the service time by transfer size.

Speeds of the page cache are never those of a disk: every row says what its bytes reached. A write is *durable* when the
flush to storage is inside the time, otherwise *cached*; a read came from *storage* when the system fetched its bytes
while it ran, otherwise from *memory*.

One stream against many: threads that write slabs of one file, by a plain writer and by our own snapshot writer.

Both write the same bytes with the same threads, in turns. The plain writer is fio where there is one, threads of this
program otherwise; it computes no checksums. Where the store of the migrations is slower by more than a tenth, its row
is marked.

Past the page cache both move blocks of 1 MiB. Through it the plain writer moves as much at a time as a snapshot has: it
writes one buffer again and again, and one of 1 MiB would stay in the cache of its core and be copied two to four times
as fast as anything that comes from memory (measured, EPYC with 1 MiB of L2), which no snapshot does.

The tests of the founding documents by threads of this program: where fio is missing, and as a cross-check of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

from subsalt.checkpoint.storage.record import BLOCK
from subsalt.errors import DeviceError
from subsalt.host import available_memory, machine_facts, usable_cores
from subsalt.machine import storage
from subsalt.machine.load import Watch
from subsalt.machine.records import Trial, folder_in, trial
from subsalt.machine.storage import Mount, Row, mount_of
from subsalt_lab import storage_rows
from subsalt_lab.fio import CURE, Fio
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import interleaved
from subsalt_lab.storage_rows import FioFile, Transfers
from subsalt_lab.storage_settings import MIB, OUTSTANDING, SIZES, Settings
from subsalt_lab.transfers import PAGE, Taken, TrialFile, direct_refused


def _at_random(nbytes: int, size: int) -> Iterator[int]:
    """Yield offsets of transfers of `size` bytes anywhere in a file, without end."""
    rng = np.random.default_rng(0)
    while True:
        yield from (rng.integers(0, nbytes // size, 1024) * size).tolist()


def transfers(directory: Path, settings: Settings, *, direct: bool) -> Iterator[Row]:
    """Yield the tables of the founding documents: sequence, random, mix, and service times by size."""
    nbytes = settings.file_bytes
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
                yield storage_rows.row(
                    Transfers(what, "sequential", MIB, threads, direct, durable=True), [taken]
                )
        for threads in OUTSTANDING:
            for what, writes in (("read", [False]), ("write", [True]), ("mix", [False, True])):
                taken = run(_at_random(nbytes, PAGE), writes, PAGE, threads)
                yield storage_rows.row(
                    Transfers(what, "random", PAGE, threads, direct, durable=True), [taken]
                )
        for what, write in (("read", False), ("write", True)):
            for size in SIZES:
                taken = run(_at_random(nbytes, size), [write], size, 1)
                # through the cache the time of one write is that of memory, whatever the flush at the end took
                yield storage_rows.row(Transfers(what, "service", size, 1, direct, durable=direct), [taken])
        file.verify(MIB)


def sustained(directory: Path, settings: Settings, *, direct: bool) -> Row:
    """Return the row of sustained random writes of 4 KiB, with the rate of every second."""
    nbytes, rates, moved, seconds = settings.file_bytes, [], 0, 0.0
    threads = max(OUTSTANDING)
    offsets = _at_random(nbytes, PAGE)
    with TrialFile(directory, nbytes, direct=direct) as file:
        file.run([(o, True) for o in range(0, nbytes, MIB)], MIB, 1, flush=True)
        for _ in range(round(settings.sustained)):
            # threads of Python do fewer than this in a second
            requests = [(o, True) for o, _ in zip(offsets, range(400_000), strict=False)]
            taken = file.run(requests, PAGE, threads, flush=True, limit=1.0)
            rates.append(len(taken.services) / taken.seconds)
            moved, seconds = moved + taken.nbytes, seconds + taken.seconds
    return storage_rows.sustained_row("own", rates, moved, seconds, threads, direct)


#: writes the file and returns the seconds; told whether the flush to storage is inside
Writer = Callable[[bool], float]


def streams(
    fio: Fio | None, directory: Path, settings: Settings, *, direct: bool, far: bool
) -> Iterator[Row]:
    """Yield the rows of every number of threads, with and without the flush to storage.

    Parameters
    ----------
    fio : Fio, optional
        The plain writer; threads of this program when None.
    directory : Path
        Directory to measure.
    settings : Settings
        Sizes, threads, repeats.
    direct : bool
        Past the page cache.
    far : bool
        Only what is flushed counts, or the file system is memory.
    """
    count, block = settings.stream_records, min(BLOCK, settings.record)
    moved = count * settings.record
    most = block if direct else settings.record // block * block
    flushed = (True,) if direct or far else (True, False)
    name = "own" if fio is None else "fio"
    for threads in settings.streams:
        slabs = Slabs.of(moved, block, most, threads)
        with (
            _plain(fio, directory, slabs, direct) as plain,
            trial(directory, count, settings.record, threads, direct=direct) as store,
        ):
            plain(True)  # the blocks of a new file are found in this round; the store has had one, too
            writers: dict[str, Writer] = {name: plain, "snapshots": partial(_put, store)}
            cases = [(engine, durable) for durable in flushed for engine in writers]
            samples = interleaved(cases, settings.repeats, partial(_once, writers))
            store.verify()
        taken = dict(zip(cases, samples, strict=True))
        for (engine, durable), seconds in taken.items():
            test = Transfers(
                "write", "streams", slabs.size if engine == name else block, threads, direct, durable
            )
            if engine == name:
                yield storage_rows.stream_row(engine, test, slabs.nbytes, seconds)
                continue
            # seconds of the plain writer for as many bytes
            against = [s * moved / slabs.nbytes for s in taken[name, durable]]
            yield storage_rows.stream_row(engine, test, moved, seconds, against)


@dataclass(frozen=True)
class Slabs:
    """How the plain writer cuts its file: a slab for each thread, of a whole number of transfers.

    Parameters
    ----------
    threads : int
        Slabs.
    size : int
        Bytes of a transfer.
    each : int
        Transfers of a slab.
    """

    threads: int
    size: int
    each: int

    @classmethod
    def of(cls, nbytes: int, block: int, most: int, threads: int) -> Slabs:
        """Cut a file into slabs whose transfers are whole blocks of at most `most` bytes; a rest stays unwritten."""
        blocks = nbytes // block
        threads = min(threads, blocks)
        share = blocks // threads
        each = -(-share * block // most)
        return cls(threads, share // each * block, each)

    @property
    def share(self) -> int:
        """Bytes of a slab."""
        return self.size * self.each

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
        return self.threads * self.share


def _put(store: Trial, durable: bool) -> float:
    return store.put(durable=durable).seconds


def _once(writers: Mapping[str, Writer], case: tuple[str, bool], number: int) -> float:
    engine, durable = case
    return writers[engine](durable)


@contextmanager
def _plain(fio: Fio | None, directory: Path, slabs: Slabs, direct: bool) -> Iterator[Writer]:
    """Give a writer of a file that is gone in the end."""
    if fio is None:
        with TrialFile(directory, slabs.nbytes, direct=direct) as file:
            requests = [(offset, True) for offset in range(0, slabs.nbytes, slabs.size)]
            yield lambda durable: file.run(requests, slabs.size, slabs.threads, flush=durable).seconds
        return
    with folder_in(directory) as folder:
        made = FioFile(fio, folder, slabs.nbytes, direct=direct)
        options = {
            "rw": "write",
            "bs": slabs.size,
            "numjobs": slabs.threads,
            "size": slabs.share,
            "offset_increment": slabs.share,
            "invalidate": 0,  # pages that are in the cache stay there, as they do for the store
        }

        def write(durable: bool) -> float:
            return made.run(f"{slabs.threads} streams", options | {"end_fsync": int(durable)}).seconds

        yield write


def measure(settings: Settings, *, say: Say = lambda text: None) -> Result:
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
            accesses, why = _accesses(directory, settings.direct)
            notes += [f"{directory}: no access past the page cache ({why})"] if why else []
            measured = _measured(directory, settings, fio, mount, accesses, say)
            rows += [storage.labelled(r, name, mount) for r in measured]
    facts = {
        "directories": [settings.name(d) for d in settings.directories],
        "fio": None if fio is None else fio.version,
        "memory_free": free,
    }
    return Result(
        "storage",
        asdict(settings) | facts,
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
    accesses: list[bool],
    say: Say,
) -> Iterator[Row]:
    """Yield the rows of one directory, in the order of the tables."""
    for direct in accesses:
        how = storage.HOW[direct]
        for threads in settings.threads:
            say(f"storage: {directory}, snapshots, {how}, {threads} thread{'s' * (threads != 1)}")
            case = storage.RecordCase(settings.count, settings.record, threads, direct)
            yield from storage.records(directory, case, settings.repeats, far=mount.in_memory)
    if settings.quick:
        return
    direct = accesses[-1]
    own = fio is None or settings.engine == "both"
    if fio is not None:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by fio {fio.version}")
        yield from storage_rows.transfers(fio, directory, settings, direct=direct)
    if own:
        say(f"storage: {directory}, transfers of 4 KiB to 1 MiB by threads of this program")
        yield from transfers(directory, settings, direct=direct)
    for way in accesses if settings.streams else ():
        say(f"storage: {directory}, one stream against many, {storage.HOW[way]}")
        yield from streams(fio, directory, settings, direct=way, far=mount.in_memory)
    if settings.sustained:
        say(f"storage: {directory}, writes that continue for {settings.sustained:g} s")
        if fio is not None:
            yield storage_rows.sustained(fio, directory, settings, direct=direct)
        if own:
            yield sustained(directory, settings, direct=direct)


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
