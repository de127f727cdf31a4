"""Put and get of records through the store that migrations use, in any directory, timed and checked.

A record begins and ends with its number and is noise in between, which no storage makes smaller. Every record that
comes back within the time is looked at; `Trial.verify` compares every byte of it.

Which bytes came from the page cache: asking the system to forget files, and its count of what it fetched.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.file_store import FileStore
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.store import StoreCounts, file_bytes
from subsalt.errors import DiskError, SubsaltError
from subsalt.host import human
from subsalt.io.publish import free_bytes


def drop_from_cache(files: Iterable[str | os.PathLike[str]]) -> bool:
    """Ask the system to forget what it keeps of some files in memory; return whether it took the request.

    Taking it is no promise: memory file systems have nothing else, and network file systems keep caches of their own.
    `storage_bytes` tells what had to be fetched.
    """
    if not hasattr(os, "posix_fadvise"):
        return False
    for path in files:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)  # pages not yet written stay
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        except OSError:
            return False
        finally:
            os.close(fd)
    return True


def load_into_cache(files: Iterable[str | os.PathLike[str]]) -> None:
    """Read files once, so that the system keeps of them what it can."""
    buffer = bytearray(1 << 22)
    for path in files:
        with open(path, "rb", buffering=0) as f:
            while f.readinto(buffer):
                pass


def storage_bytes(io: Path = Path("/proc/self/io")) -> int | None:
    """Return the bytes this process had fetched from storage since it began; None where the system does not say."""
    try:
        words = dict(line.split(": ") for line in io.read_text().splitlines())
        return int(words["read_bytes"])
    except (OSError, KeyError, ValueError):
        return None


#: records in memory at most: one is written or read, one waits, one is in the hands of the caller
BUFFERS = 3
#: part of the free room that a measurement takes at most
SHARE = 0.5


@dataclass(frozen=True)
class Passed:
    """Seconds of putting or getting all records once.

    Parameters
    ----------
    seconds : float
        From the first to the last, with the flush to the device where one was asked for.
    nbytes : int
        Bytes of the records.
    busy : float
        Seconds the threads of the store moved them, summed over threads.
    stall : float
        Seconds the caller waited.
    fetched : int, optional
        Bytes that the system fetched from storage meanwhile; None where it does not say.
    """

    seconds: float
    nbytes: int
    busy: float
    stall: float
    fetched: int | None


def refuse(directory: Path, nbytes: int, cure: str) -> None:
    """Refuse a directory in which nothing can be measured.

    Parameters
    ----------
    directory : Path
        Folder in which files would be made.
    nbytes : int
        Bytes of these files.
    cure : str
        Remedy when they do not fit.

    Raises
    ------
    DiskError
        When it is missing, not writable, or has no room.
    """
    if not directory.is_dir():
        raise DiskError(f"{directory} is no directory", "give one that exists", code="E620")
    if not os.access(directory, os.W_OK | os.X_OK):
        raise DiskError(f"{directory} cannot be written", "give another directory", code="E620")
    room = free_bytes(directory)
    if nbytes > SHARE * room:
        raise DiskError(
            f"the measurement writes {human(nbytes)}, {directory} has {human(room)}: it takes at most half",
            cure,
            code="E787",
        )


def wrong_answer(of: str) -> SubsaltError:
    """Return the error of a measurement whose answer is wrong."""
    return SubsaltError(
        f"{of}: wrong answer; no figure is given", "run subsalt doctor, and report it", code="E710"
    )


@contextmanager
def folder_in(directory: Path) -> Iterator[Path]:
    """Make a folder of our own in a directory for the files of a measurement, and remove it in the end."""
    folder = directory / f"subsalt-lab-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Trial:
    """A store of `count` records in `folder`.

    Parameters
    ----------
    folder : Path
        Folder of the scratch; made by the store.
    count : int
        Records.
    nbytes : int
        Bytes of a record.
    threads : int
        Threads that move the records.
    direct : bool
        Past the page cache.
    clock : callable
        Returns seconds.

    Raises
    ------
    DiskError
        When the system refuses.
    """

    def __init__(
        self,
        folder: Path,
        count: int,
        nbytes: int,
        threads: int,
        *,
        direct: bool,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.count, self.floats, self.clock = count, nbytes // 4, clock
        self._noise = np.random.default_rng(7).standard_normal(self.floats, dtype=np.float32)
        self.scratch = Scratch("lab", [folder], threads, direct)
        self.store = self.scratch.open("states", 0, self.floats, BUFFERS, records=count)
        buffers = [self.store.room() for _ in range(BUFFERS)]
        for buffer in buffers:
            buffer[:] = self._noise
            self.store.give_back(buffer)
        self.put(durable=True)  # the blocks of new files are found in this round

    @property
    def direct(self) -> bool:
        """Whether all files are moved past the page cache."""
        return isinstance(self.store, FileStore) and self.store.files.direct

    def close(self) -> None:
        """Remove the files and end the threads."""
        self.store.close()
        self.scratch.close()

    def put(self, *, durable: bool) -> Passed:
        """Put every record again; when `durable` the time ends when they are on the device."""

        def work() -> None:
            for key in range(self.count):
                self.store.put(key, self._numbered(self.store.room(), key))
            self.store.flush(durable=durable)

        return self._passed(work)

    def get(self, *, cold: bool) -> Passed:
        """Get every record, last one first as a migration does; when `cold` the page cache has forgotten them."""
        if cold:
            drop_from_cache(p for d in self.scratch.folders(0) for p in d.iterdir())

        def work() -> None:
            keys = range(self.count - 1, -1, -1)
            self.store.expect(keys)
            for key in keys:
                buffer = self.store.get(key)
                if buffer[0] != key or buffer[-1] != key:
                    raise wrong_answer(f"getting record {key}")
                self.store.give_back(buffer)

        return self._passed(work)

    def verify(self) -> None:
        """Compare every byte of every record.

        Raises
        ------
        SubsaltError
            When one differs.
        """
        for key in range(self.count):
            buffer = self.store.get(key)
            right = buffer[0] == key == buffer[-1] and (buffer[1:-1] == self._noise[1:-1]).all()
            self.store.give_back(buffer)
            if not right:
                raise wrong_answer(f"getting record {key}")

    def _numbered(self, buffer: NDArray[np.float32], key: int) -> NDArray[np.float32]:
        buffer[0] = buffer[-1] = key
        return buffer

    def _passed(self, work: Callable[[], None]) -> Passed:
        before = self.store.counts + StoreCounts()
        fetched = storage_bytes()
        begin = self.clock()
        work()
        seconds = self.clock() - begin
        counts, last = self.store.counts, storage_bytes()
        return Passed(
            seconds,
            4 * self.floats * self.count,
            counts.put_seconds + counts.get_seconds - before.put_seconds - before.get_seconds,
            counts.stall_seconds - before.stall_seconds,
            None if last is None or fetched is None else last - fetched,
        )


@contextmanager
def trial(directory: Path, count: int, nbytes: int, threads: int, *, direct: bool) -> Iterator[Trial]:
    """Make a `Trial` in a folder of its own in `directory`, and remove both in the end."""
    with folder_in(directory) as folder:
        made = Trial(folder, count, nbytes, threads, direct=direct)
        try:
            yield made
        finally:
            made.close()


def room_needed(count: int, nbytes: int) -> int:
    """Return the bytes of the files of a trial."""
    return file_bytes(nbytes // 4, count)
