"""The tests of the founding documents by threads of this program: where fio is missing, and as a cross-check of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from subsalt.machine.storage import Row
from subsalt_lab import storage_rows
from subsalt_lab.storage_settings import MIB, OUTSTANDING, SIZES, Settings
from subsalt_lab.transfers import PAGE, Taken, TrialFile


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
                yield storage_rows.row(what, "sequential", MIB, threads, direct, [taken], durable=True)
        for threads in OUTSTANDING:
            for what, writes in (("read", [False]), ("write", [True]), ("mix", [False, True])):
                taken = run(_at_random(nbytes, PAGE), writes, PAGE, threads)
                yield storage_rows.row(what, "random", PAGE, threads, direct, [taken], durable=True)
        for what, write in (("read", False), ("write", True)):
            for size in SIZES:
                taken = run(_at_random(nbytes, size), [write], size, 1)
                # through the cache the time of one write is that of memory, whatever the flush at the end took
                yield storage_rows.row(what, "service", size, 1, direct, [taken], durable=direct)
        file.verify(MIB)


def sustained(directory: Path, settings: Settings, *, direct: bool) -> Row:
    """Return the row of random writes of 4 KiB that go on for a while, with the rate of every second."""
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
