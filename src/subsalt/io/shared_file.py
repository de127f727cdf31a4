"""One file written by several ranks, each its part at computed offsets; complete, or not at all.

The same order of events as `atomic_write`: a temporary name in the same folder, full-write loops, fsync by every rank
that wrote, then rename and fsync of the folder by the first rank alone, when all have agreed that theirs is on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt.errors import CannotCreateError
from subsalt.io import own
from subsalt.io.faults import ask
from subsalt.io.publish import explain_os_error, explained, free_bytes, open_temporary, remove, sync_folder

if TYPE_CHECKING:
    from subsalt.parallel.comm import Comm


class Part:
    """The open temporary file on one rank: `write_at` may be called in any order, for parts that do not overlap.

    Parameters
    ----------
    fd : int
        Open for writing.
    target : Path
        The file it will become, for messages.
    size : int
        Bytes the whole file will have.
    """

    def __init__(self, fd: int, target: Path, size: int) -> None:
        self._fd, self._target, self._size = fd, target, size

    def write_at(self, offset: int, data: memoryview | bytes) -> None:
        """Write all of `data` at `offset`, whatever the system splits it into.

        Raises
        ------
        DiskError
            When the disk is full or fails.
        """
        view = memoryview(data).cast("B")
        try:
            while len(view):
                try:
                    allowed = ask("write", str(self._target), min(len(view), 1 << 30))
                    n = os.pwrite(self._fd, view[:allowed], offset)
                except InterruptedError:
                    continue
                view, offset = view[n:], offset + n
        except OSError as e:
            # the blocks already in the temporary file are room as well
            room = free_bytes(self._target) + os.fstat(self._fd).st_blocks * 512
            raise explain_os_error(e, self._target, self._size, room) from e


@contextmanager
def write_together(
    path: str | os.PathLike[str], comm: Comm, size: int, verify: Callable[[Path], None] | None = None
) -> Iterator[Part]:
    """Open `path` on all ranks of `comm`, so that it appears complete at the end of the ``with`` block, or not at all.

    Collective, at the start and at the end of the block.

    Parameters
    ----------
    path : path-like
        The file to make or replace, in a folder that all ranks see.
    comm : Comm
        The ranks that write.
    size : int
        Bytes of the whole file; a lack of space is reported before the first byte.
    verify : callable, optional
        Called on the first rank with the complete temporary file; what it raises keeps the file from being published.

    Raises
    ------
    DiskError, CannotCreateError
        On all ranks, when one cannot write its part. An older file stays as it was.
    """
    target = Path(path)
    temporary, fd, failure = None, -1, None
    if comm.is_root:
        try:
            with explained(target, size):
                temporary, fd = open_temporary(target, size)
        except Exception as error:
            failure = error
    comm.agree(failure)
    name = comm.bcast(None if temporary is None else temporary.name)
    shared = target.parent / str(name)
    try:
        try:
            if fd < 0:
                fd = _join(shared, target)
            yield Part(fd, target, size)
            with explained(target, size):
                ask("fsync", str(target))
                os.fsync(fd)
        except Exception as error:
            failure = error
        finally:
            if fd >= 0:
                os.close(fd)
        comm.agree(failure)
        if comm.is_root:
            try:
                if verify is not None:
                    verify(shared)
                with explained(target, size):
                    ask("rename", str(target))
                    own.replace(shared, target)
            except Exception as error:
                failure = error
        comm.agree(failure)
    except BaseException:
        if comm.is_root:
            remove(shared)
        raise
    if comm.is_root:
        try:
            with explained(target, size):
                sync_folder(target.parent)
        except Exception as error:
            failure = error
    comm.agree(failure)


def _join(shared: Path, target: Path) -> int:
    """Open the temporary file that the first rank has made."""
    try:
        with explained(target, 0):
            ask("open", str(shared))
            return own.open_file(shared, os.O_WRONLY | os.O_NOFOLLOW)
    except CannotCreateError as error:
        if not shared.exists():
            raise CannotCreateError(
                f"{target.parent} is not the same folder on all nodes: a file that rank 0 made in it is missing",
                "write to a file system that all nodes share",
                code="E830",
            ) from error
        raise
