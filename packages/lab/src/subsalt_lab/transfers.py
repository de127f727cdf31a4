"""Positioned reads and writes of a file without a name, by several threads, each timed and each checked.

Every page of the file begins with its number, and continues with the same noise: a transfer that went to the wrong
place, or stayed short, shows. The file has no name, so that nothing is left behind whatever ends the measurement.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DiskError, SubsaltError
from subsalt.io.faults import ask
from subsalt.io.publish import explain_os_error
from subsalt.machine.records import storage_bytes, wrong_answer

#: bytes of a page; transfers are whole pages, as O_DIRECT requires
PAGE = 4096
_WORDS = PAGE // 8


@dataclass(frozen=True)
class Taken:
    """Time and bytes of some transfers.

    Parameters
    ----------
    seconds : float
        From the first to the last, with the flush where one was asked for.
    nbytes : int
        Moved.
    services : ndarray of float64
        Seconds of each transfer.
    fetched : int, optional
        Bytes that the system fetched from storage meanwhile; None where it does not say.
    """

    seconds: float
    nbytes: int
    services: NDArray[np.float64]
    fetched: int | None

    @property
    def count(self) -> int:
        """Transfers."""
        return len(self.services)

    @property
    def from_storage(self) -> float | None:
        """Share of the bytes that storage gave; of writes it means nothing."""
        return None if self.fetched is None else min(1.0, self.fetched / max(1, self.nbytes))


class TransferBuffer:
    """Whole pages of memory on a page boundary, for one thread."""

    def __init__(self, nbytes: int) -> None:
        self.memory = mmap.mmap(-1, nbytes)
        self.pages = np.frombuffer(self.memory, dtype=np.uint64).reshape(-1, _WORDS)
        self.pages[:] = noise()

    def stamp(self, offset: int, nbytes: int) -> None:
        """Number the pages as those from `offset` on."""
        n, first = nbytes // PAGE, offset // PAGE
        self.pages[:n, 0] = np.arange(first, first + n, dtype=np.uint64)

    def is_of(self, offset: int, nbytes: int, *, whole: bool = False) -> bool:
        """Whether the pages are those from `offset` on, by their numbers or as a `whole`."""
        n, first = nbytes // PAGE, offset // PAGE
        numbers = np.arange(first, first + n, dtype=np.uint64)
        right = bool((self.pages[:n, 0] == numbers).all())
        return right and (not whole or bool((self.pages[:n, 1:] == noise()[1:]).all()))


_NOISE = np.random.default_rng(7).integers(0, 2**64, _WORDS, dtype=np.uint64)


def noise() -> NDArray[np.uint64]:
    """Return what a page holds beside its number: nothing that a storage could make smaller."""
    return _NOISE


class TrialFile:
    """A file of `nbytes` in `directory`, gone when it is closed.

    Parameters
    ----------
    directory : Path
        On the file system that is measured.
    nbytes : int
        Its size; whole pages.
    direct : bool
        Leave the page cache out (O_DIRECT).

    Raises
    ------
    DiskError
        When there is no room, or the file system has no such access.
    """

    def __init__(self, directory: Path, nbytes: int, *, direct: bool) -> None:
        self.directory, self.nbytes, self.direct = directory, nbytes, direct
        try:
            ask("open", str(directory))
            self._file = tempfile.TemporaryFile(dir=directory, buffering=0)  # noqa: SIM115
        except OSError as error:
            raise explain_os_error(error, directory, nbytes) from None
        try:
            os.posix_fallocate(self.fd, 0, nbytes)
            if direct:
                fcntl.fcntl(self.fd, fcntl.F_SETFL, fcntl.fcntl(self.fd, fcntl.F_GETFL) | os.O_DIRECT)
        except OSError as error:
            self.close()
            raise explain_os_error(error, directory, nbytes) from None

    @property
    def fd(self) -> int:
        """Descriptor."""
        return self._file.fileno()

    def close(self) -> None:
        """Close and so remove the file."""
        self._file.close()

    def __enter__(self) -> TrialFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def forget(self) -> None:
        """Have what was written on storage, and ask the system to keep none of it in memory."""
        os.fdatasync(self.fd)
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_DONTNEED)

    def run(
        self,
        requests: Sequence[tuple[int, bool]],
        size: int,
        threads: int,
        *,
        flush: bool = False,
        limit: float = float("inf"),
        clock: Callable[[], float] = time.perf_counter,
    ) -> Taken:
        """Do transfers of `size` bytes; `threads` of them are in flight at a time.

        Parameters
        ----------
        requests : sequence of (int, bool)
            Offset, and whether it is written.
        size : int
            Bytes of each; whole pages.
        threads : int
            Which take the requests in their order.
        flush : bool
            Have everything on storage before the clock stops.
        limit : float
            Seconds after which no other transfer is begun.
        clock : callable
            Returns seconds.

        Raises
        ------
        DiskError
            When the system refuses a transfer.
        SubsaltError
            When what was read is not what was written (E710).
        """
        pending = iter(requests)  # taking from it is one step of the interpreter: no two threads get the same

        def work(buffer: TransferBuffer) -> list[float]:
            services = []
            for offset, write in pending:
                if write:
                    buffer.stamp(offset, size)
                begin = clock()
                self._transfer(buffer, offset, size, write)
                end = clock()
                services.append(end - begin)
                if not write and not buffer.is_of(offset, size):
                    raise wrong_answer(f"reading {self.directory}")
                if end - started > limit:
                    break
            return services

        buffers = [TransferBuffer(size) for _ in range(threads)]
        fetched = storage_bytes()
        with ThreadPoolExecutor(threads) as pool:
            started = clock()
            try:
                services = [s for part in pool.map(work, buffers) for s in part]
                if flush:
                    ask("fsync", str(self.directory))
                    os.fdatasync(self.fd)
            except OSError as error:
                if isinstance(error, SubsaltError):
                    raise
                raise explain_os_error(error, self.directory, self.nbytes) from None
            seconds = clock() - started
        last = storage_bytes()
        return Taken(
            seconds,
            size * len(services),
            np.array(services),
            None if last is None or fetched is None else last - fetched,
        )

    def verify(self, size: int) -> None:
        """Read the whole file and compare every byte.

        Raises
        ------
        SubsaltError
            When one differs.
        """
        buffer = TransferBuffer(size)
        for offset in range(0, self.nbytes, size):
            self._transfer(buffer, offset, size, write=False)
            if not buffer.is_of(offset, size, whole=True):
                raise wrong_answer(f"reading {self.directory}")

    def _transfer(self, buffer: TransferBuffer, offset: int, size: int, write: bool) -> None:
        """Move all of `size` bytes, whatever the system splits them into."""
        view = memoryview(buffer.memory)[:size]
        done = 0
        while done < size:
            part = view[done : done + ask("write" if write else "read", str(self.directory), size - done)]
            moved = (
                os.pwrite(self.fd, part, offset + done)
                if write
                else os.preadv(self.fd, [part], offset + done)
            )
            if moved == 0:
                raise DiskError(f"{self.directory}: a file ends early", "check the disk", code="E620")
            done += moved


def direct_refused(directory: Path) -> str | None:
    """Return why the file system of `directory` has no access past the page cache; None when it has."""
    try:
        with TrialFile(directory, PAGE, direct=True) as file:
            file.run([(0, True), (0, False)], PAGE, 1)
    except DiskError as error:
        return str(error)
    return None
