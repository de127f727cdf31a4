"""What do checkpoints on disk cost: put, get and total, by their number, by directory, by threads?

The tables of the founding documents, with what those left out: how often and how much was put and got, and what it
reached. *bare* rows move the records and do nothing else; *overlapped* ones are a shot in a VTI medium, migrated with
its snapshots or states on disk, whose image must have the bits of the same shot with all in memory.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.host import available_memory, usable_cores
from subsalt.io.publish import human
from subsalt.kernels import prepare
from subsalt.machine import page_cache
from subsalt.machine.load import Watch
from subsalt.machine.mounts import mount_of
from subsalt.machine.records import folder_in, refuse, room_needed, trial, wrong_answer
from subsalt.methods.rtm.rtm import ShotImage, migrate_shot
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt_lab import checkpoint_rows
from subsalt_lab.checkpoint_case import Case
from subsalt_lab.checkpoint_rows import Row
from subsalt_lab.result import Result


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    case : Case
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
        What the directories are called in the result; their paths when left out.
    """

    case: Case
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


def measure(settings: Settings, *, say: Callable[[str], None] = lambda text: None) -> Result:
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
        checkpoint_rows.UNITS,
        watch.facts(),
        [*checkpoint_rows.notes(rows), *filter(None, [watch.text()])],
    )


def _cases(settings: Settings) -> Iterator[tuple[int, int, Path]]:
    for count in settings.checkpoints:
        for threads in settings.threads:
            for directory in settings.directories:
                yield count, threads, directory


def _bare(settings: Settings, size: int, say: Callable[[str], None]) -> Iterator[Row]:
    """Yield a row that reached storage and, through the page cache, one that did not, of every case."""
    for count, threads, directory in _cases(settings):
        say(f"checkpoint: {count} records, {_words(threads)}, {directory}")
        in_memory = mount_of(directory).in_memory
        ways = (True,) if settings.direct or in_memory else (True, False)
        found: dict[bool, list[Row]] = {far: [] for far in ways}
        with trial(directory, count, size, threads, direct=settings.direct) as run:
            for _ in range(settings.repeats):
                for far in ways:
                    put, get = run.put(durable=far), run.get(cold=far)
                    found[far].append(checkpoint_rows.bare(count, put, get, durable=far))
            run.verify()
        for some in found.values():
            yield _labelled(settings, some, count, threads, directory)


def _overlapped(settings: Settings, say: Callable[[str], None]) -> Iterator[Row]:
    """Yield a row of every case: one shot with its checkpoints on disk, beside one with all in memory."""
    case = settings.case
    prepare("cpu", case.threads)
    shot, traces, pool = case.shot, case.traces(), SnapshotPool()
    for count in settings.checkpoints:
        held = case.scheme(count, on_disk=False)
        setup = case.setup(held.image_step)
        in_memory = partial(migrate_shot, setup, shot, traces, pool=pool, scheme=held)
        reference: ShotImage | None = None
        memory_seconds = None
        if count * case.record_bytes < 0.5 * available_memory():
            say(f"checkpoint: a shot with {count} records in memory")
            in_memory()  # memory is touched, tiles are chosen
            memory_seconds, reference = _timed(in_memory)
        scheme = case.scheme(count, on_disk=True)
        for threads in settings.threads:
            for directory in settings.directories:
                say(f"checkpoint: a shot with {count} records in {directory}, {_words(threads)}")
                some = []
                for _ in range(settings.repeats):
                    row, image = _shot(settings, setup, scheme, threads, directory, shot, traces)
                    reference = reference or image
                    if not _same(image, reference) or image.counts != counts_of(scheme):
                        raise wrong_answer(f"a shot with {count} checkpoints in {directory}")
                    some.append(row | {"memory_shot_seconds": memory_seconds})
                yield _labelled(settings, some, count, threads, directory)


def _shot(
    settings: Settings, setup: Any, scheme: Any, threads: int, directory: Path, shot: Any, traces: Any
) -> tuple[Row, ShotImage]:
    """Migrate the shot once with its checkpoints in a directory."""
    with folder_in(directory) as folder:
        scratch = Scratch("lab", [folder], threads, settings.direct)
        try:
            fetched = page_cache.storage_bytes()
            seconds, image = _timed(
                partial(migrate_shot, setup, shot, traces, scheme=scheme, scratch=scratch)
            )
            last = page_cache.storage_bytes()
        finally:
            scratch.close()
    got = None if last is None or fetched is None else last - fetched
    return checkpoint_rows.overlapped(
        image.counts, image.storage, seconds, got, direct=settings.direct
    ), image


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
        "how": checkpoint_rows.HOW[settings.direct],
    }
    return label | checkpoint_rows.in_memory(checkpoint_rows.middle(some), mount_of(directory))


def _words(threads: int) -> str:
    return f"{threads} thread{'s' * (threads != 1)}"
