"""One stream against many: threads that write slabs of one file, by a plain writer and by our own snapshot writer.

Both write the same bytes with the same threads, in turns. The plain writer is fio where there is one, threads of this
program otherwise; it computes no checksums. Where the store of the migrations is slower by more than a tenth, its row
is marked.

Past the page cache both move blocks of 1 MiB. Through it the plain writer moves as much at a time as a snapshot has: it
writes one buffer again and again, and one of 1 MiB would stay in the cache of its core and be copied two to four times
as fast as anything that comes from memory (measured, EPYC with 1 MiB of L2), which no snapshot does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from subsalt.checkpoint.storage.record import BLOCK
from subsalt.machine.records import Trial, folder_in, trial
from subsalt.machine.storage import Row
from subsalt_lab import storage_rows
from subsalt_lab.campaign import interleaved
from subsalt_lab.fio import Fio
from subsalt_lab.storage_fio import FioFile
from subsalt_lab.storage_settings import Settings
from subsalt_lab.transfers import TrialFile

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
        What is measured.
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
            found = interleaved(cases, settings.repeats, partial(_once, writers))
            store.verify()
        taken = dict(zip(cases, found, strict=True))
        for (engine, durable), seconds in taken.items():
            if engine == name:
                yield storage_rows.stream_row(
                    engine, threads, direct, durable, slabs.nbytes, seconds, slabs.size
                )
                continue
            # seconds of the plain writer for as many bytes
            against = [s * moved / slabs.nbytes for s in taken[name, durable]]
            yield storage_rows.stream_row(engine, threads, direct, durable, moved, seconds, block, against)


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
