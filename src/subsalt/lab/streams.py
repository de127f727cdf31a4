"""One stream against many: threads that write slabs of one file, by a plain writer and by our own snapshot writer.

Both write the same bytes in the same blocks with the same threads, in turns. The plain writer is fio where there is
one, threads of this program otherwise; it computes no checksums. Where the store of the migrations is slower by more
than a tenth, its row is marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from subsalt.checkpoint.record import BLOCK
from subsalt.lab import storage_rows
from subsalt.lab.campaign import interleaved
from subsalt.lab.fio import Fio
from subsalt.lab.records import Trial, folder_in, trial
from subsalt.lab.storage_fio import FioFile
from subsalt.lab.storage_rows import Row
from subsalt.lab.storage_settings import Settings
from subsalt.lab.transfers import TrialFile

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
    nbytes = count * settings.record // block * block
    flushed = (True,) if direct or far else (True, False)
    name = "own" if fio is None else "fio"
    for threads in settings.streams:
        with (
            _plain(fio, directory, nbytes, block, threads, direct) as plain,
            trial(directory, count, settings.record, threads, direct=direct) as store,
        ):
            plain(True)  # the blocks of a new file are found in this round; the store has had one, too
            writers: dict[str, Writer] = {name: plain, "snapshots": partial(_put, store)}
            cases = [(engine, durable) for durable in flushed for engine in writers]
            found = interleaved(cases, settings.repeats, partial(_once, writers))
            store.verify()
        taken = dict(zip(cases, found, strict=True))
        for (engine, durable), seconds in taken.items():
            moved = nbytes if engine == name else count * settings.record
            # seconds of the yardstick for as many bytes
            against = [] if engine == name else [s * moved / nbytes for s in taken[name, durable]]
            yield storage_rows.stream_row(engine, threads, direct, durable, moved, seconds, block, against)


def _put(store: Trial, durable: bool) -> float:
    return store.put(durable=durable).seconds


def _once(writers: Mapping[str, Writer], case: tuple[str, bool], number: int) -> float:
    engine, durable = case
    return writers[engine](durable)


@contextmanager
def _plain(
    fio: Fio | None, directory: Path, nbytes: int, block: int, threads: int, direct: bool
) -> Iterator[Writer]:
    """Give a writer of a file of `nbytes` that is gone in the end."""
    if fio is None:
        with TrialFile(directory, nbytes, direct=direct) as file:
            requests = [(offset, True) for offset in range(0, nbytes, block)]
            yield lambda durable: file.run(requests, block, threads, flush=durable).seconds
        return
    with folder_in(directory) as folder:
        made = FioFile(fio, folder, nbytes, direct=direct)
        blocks = nbytes // block
        writers = min(threads, blocks)
        share = blocks // writers * block
        slabs: dict[str, object] = {
            "rw": "write",
            "bs": block,
            "numjobs": writers,
            "size": share,
            "offset_increment": share,
        }
        slabs["invalidate"] = 0  # pages that are in the cache stay there, as they do for the store

        def write(durable: bool) -> float:
            answer = made.run(f"{writers} streams", slabs | {"end_fsync": int(durable)})
            # what does not divide by the threads is left out by fio
            return answer.seconds * nbytes / answer.written

        yield write
