"""Cost of checkpoints on disk: put, get and total, by their number, by directory, by threads.

The tables of the founding documents, with what those left out: how often and how much was put and got, and what it
reached. *bare* rows move the records and do nothing else; *overlapped* ones are a shot in a VTI medium, migrated with
its snapshots or states on disk, whose image must have the bits of the same shot with all in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.checkpoint.schedule.tasks import Counts, counts_of
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.host import available_memory, human, usable_cores
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels import prepare
from subsalt.machine import records
from subsalt.machine.load import Watch
from subsalt.machine.records import Passed, folder_in, refuse, room_needed, trial, wrong_answer
from subsalt.machine.storage import HOW, Mount, mount_of, reached
from subsalt.methods.rtm.engine import ShotImage, migrate_shot
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt_lab.checkpoint_case import CheckpointCase
from subsalt_lab.result import Result, Say


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    case : CheckpointCase
        The shot.
    directories : sequence of Path
        Compared with the first.
    checkpoints : sequence of int
        How many are kept.
    threads : sequence of int
        Threads that write and read; compared with the first.
    direct : bool
        Past the page cache.
    modes : sequence of str
        ``"bare"``, ``"overlapped"``.
    repeats : int
        Samples of each case; figures are those of the median total.
    names : sequence of str
        Names of the directories in the result; their paths when left out.
    """

    case: CheckpointCase
    directories: Sequence[Path]
    checkpoints: Sequence[int]
    threads: Sequence[int]
    direct: bool = False
    modes: Sequence[str] = ("bare", "overlapped")
    repeats: int = 1
    names: Sequence[str] = ()

    def name(self, directory: Path) -> str:
        """Return what a directory is called."""
        return self.names[list(self.directories).index(directory)] if self.names else str(directory)


def measure(settings: Settings, *, say: Say = lambda text: None) -> Result:
    """Measure every directory.

    Raises
    ------
    MemoryPlanError
        When the memory does not hold the shot.
    DiskError
        When a directory is missing, refuses to be written, or has no room.
    SubsaltError
        When the image depends on where the checkpoints were (E710).
    """
    case = settings.case
    case.refuse_too_large()
    size = case.record_bytes
    need = room_needed(max(settings.checkpoints), size)
    for directory in settings.directories:
        refuse(directory, need, "use fewer --checkpoints, a smaller --grid, or another directory")
    say(f"checkpoint: records of {human(size)}, {human(need)} at most")
    rows: list[Row] = []
    with Watch(usable_cores()) as watch:
        if "bare" in settings.modes:
            rows += list(_bare(settings, size, say))
        if "overlapped" in settings.modes:
            rows += list(_overlapped(settings, say))
    return Result(
        "checkpoint",
        asdict(settings)
        | {"directories": [settings.name(d) for d in settings.directories], "record_bytes": size},
        rows,
        UNITS,
        watch.facts(),
        [*notes(rows), *filter(None, [watch.text()])],
    )


def _cases(settings: Settings) -> Iterator[tuple[int, int, Path]]:
    for count in settings.checkpoints:
        for threads in settings.threads:
            for directory in settings.directories:
                yield count, threads, directory


def _bare(settings: Settings, size: int, say: Say) -> Iterator[Row]:
    """Yield a row that reached storage and, through the page cache, one that did not, of every case."""
    for count, threads, directory in _cases(settings):
        say(f"checkpoint: {count} records, {_words(threads)}, {directory}")
        accesses = (True,) if settings.direct or mount_of(directory).in_memory else (True, False)
        by_access: dict[bool, list[Row]] = {far: [] for far in accesses}
        with trial(directory, count, size, threads, direct=settings.direct) as run:
            for _ in range(settings.repeats):
                for far in accesses:
                    put, get = run.put(durable=far), run.get(cold=far)
                    by_access[far].append(bare(count, put, get, durable=far))
            run.verify()
        for some in by_access.values():
            yield _labelled(settings, some, count, threads, directory)


def _overlapped(settings: Settings, say: Say) -> Iterator[Row]:
    """Yield a row of every case: one shot with its checkpoints on disk, beside one with all in memory."""
    case = settings.case
    prepare("cpu", case.threads)
    remember_tiles()
    shot, traces, pool = case.shot, case.traces(), SnapshotPool()
    for count in settings.checkpoints:
        held = case.scheme(count, on_disk=False)
        setup = case.setup(held.image_step)
        migrated = partial(migrate_shot, setup, shot, traces, pool=pool, scheme=held)
        reference: ShotImage | None = None
        memory_seconds = None
        if count * case.record_bytes < 0.5 * available_memory():
            say(f"checkpoint: a shot with {count} records in memory")
            migrated()  # memory is touched, tiles are chosen
            memory_seconds, reference = _timed(migrated)
        scheme = case.scheme(count, on_disk=True)
        on_disk = partial(migrate_shot, setup, shot, traces, scheme=scheme)
        for threads in settings.threads:
            for directory in settings.directories:
                say(f"checkpoint: a shot with {count} records in {directory}, {_words(threads)}")
                some = []
                for _ in range(settings.repeats):
                    row, image = _shot(settings, on_disk, threads, directory)
                    reference = reference or image
                    if not _same(image, reference) or image.counts != counts_of(scheme):
                        raise wrong_answer(f"a shot with {count} checkpoints in {directory}")
                    some.append(row | {"memory_shot_seconds": memory_seconds})
                yield _labelled(settings, some, count, threads, directory)


def _shot(
    settings: Settings, migrate: Callable[..., ShotImage], threads: int, directory: Path
) -> tuple[Row, ShotImage]:
    """Migrate the shot once with its checkpoints in a directory."""
    with folder_in(directory) as folder:
        scratch = Scratch("lab", [folder], threads, settings.direct)
        try:
            fetched = records.storage_bytes()
            seconds, image = _timed(partial(migrate, scratch=scratch))
            last = records.storage_bytes()
        finally:
            scratch.close()
    got = None if last is None or fetched is None else last - fetched
    return overlapped(image.counts, image.storage, seconds, got, direct=settings.direct), image


def _timed(work: Callable[[], ShotImage]) -> tuple[float, ShotImage]:
    begin = time.perf_counter()
    image = work()
    return time.perf_counter() - begin, image


def _same(a: ShotImage, b: ShotImage) -> bool:
    return all(np.array_equal(a.sums[name], b.sums[name]) for name in b.sums)


def _labelled(settings: Settings, some: Sequence[Row], count: int, threads: int, directory: Path) -> Row:
    label = {
        "directory": settings.name(directory),
        "checkpoints": count,
        "threads": threads,
        "how": HOW[settings.direct],
    }
    return label | in_memory(middle(some), mount_of(directory))


def _words(threads: int) -> str:
    return f"{threads} thread{'s' * (threads != 1)}"


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
        Counts of its stores, which cut large states into several records; put and get are the seconds that threads were
        busy.
    seconds : float
        Seconds of the shot.
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


#: what makes two rows the same case except for what is compared
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
