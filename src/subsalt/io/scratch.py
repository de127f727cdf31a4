"""Scratch files: private folders, new files that no link points to, space reserved beforehand;
and files without a name, which are gone with the program.
"""

from __future__ import annotations

import errno
import mmap
import os
import stat
import tempfile
from collections.abc import Container
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread

from subsalt import _native
from subsalt.errors import CannotCreateError, CorruptionError
from subsalt.io import own
from subsalt.io.faults import ask
from subsalt.io.publish import explain_os_error, free_bytes, remove


def own_folder(path: Path) -> Path:
    """Make a folder that only its owner may enter, or take the one that is there; return it.

    Raises
    ------
    CannotCreateError
        When it cannot be made, or when what is there is a link, no folder, or another user's (E651).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), own.beside(path) as (folder, name):
            ask("mkdir", str(path))
            os.mkdir(name, 0o700, dir_fd=folder)
        check_owner(path)
    except OSError as e:
        raise explain_os_error(e, path) from e
    return path


def claim(path: Path) -> None:
    """Follow no link at and below a folder of scratch from now on; what is around it may be a link."""
    own.claim(path.parent, [path.name], strict=True)


def refuse_others(path: Path) -> None:
    """Refuse a folder of scratch that is a link, belongs to another user, or has links in it; a missing one is fine.

    Raises
    ------
    CannotCreateError
        E651 for the folder, E655 for what is in it.
    """
    with suppress(FileNotFoundError):
        check_owner(path)
        own.refuse_links(path.parent, [path.name], owned=True)


def check_owner(path: Path) -> None:
    """Refuse what stands in the place of a folder of scratch and is a link, no folder, or another user's (E651).

    Raises
    ------
    FileNotFoundError
        When nothing is there.
    """
    status = own.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        what = "belongs to another user" if stat.S_ISDIR(status.st_mode) else "is a link or a file"
        raise CannotCreateError(
            f"{path} is to hold scratch, but {what}",
            "choose another place with [checkpoint] directories",
            code="E651",
        )


def create(path: Path, direct: bool) -> tuple[int, bool]:
    """Create a file for writing and reading at positions; return its descriptor and whether it is direct.

    What an earlier process left under this name is removed, and the room of files that this process removed is waited
    for: it never has more on disk than its stores hold. A file system that refuses O_DIRECT gives a buffered file.
    """
    remove(path)
    wait_for_closing()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        ask("open", str(path))
        if direct:
            with suppress(OSError):
                fd = own.open_file(path, flags | os.O_DIRECT, 0o600)
                try:
                    # some take the flag and refuse the first write
                    with mmap.mmap(-1, mmap.PAGESIZE) as page:
                        os.pwrite(fd, page, 0)
                    return fd, True
                except OSError:
                    os.close(fd)
                    raise
            remove(path)
        return own.open_file(path, flags, 0o600), False
    except OSError as e:
        raise explain_os_error(e, path) from e


def reopen(path: Path, direct: bool, writing: bool = True) -> tuple[int, bool]:
    """Open a file that `create` made; FileNotFoundError when it is not there.

    One with a second name, or of another user, is not the one that was made: it counts as missing.
    """
    flags = (os.O_RDWR if writing else os.O_RDONLY) | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    ask("open", str(path))
    if direct:
        try:
            return _mine(own.open_file(path, flags | os.O_DIRECT), path, writing), True
        except OSError as e:
            if e.errno != errno.EINVAL:
                raise
    return _mine(own.open_file(path, flags), path, writing), False


def _mine(fd: int, path: Path, writing: bool) -> int:
    """Return the descriptor of a file that may be written; close any other."""
    status = os.fstat(fd)
    sound = stat.S_ISREG(status.st_mode) and (
        not writing or (status.st_nlink == 1 and status.st_uid == os.geteuid())
    )
    if not sound:
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    return fd


def allocate(fd: int, path: Path, offset: int, nbytes: int) -> None:
    """Ask the file system for the room of `nbytes` from `offset`; OSError when it has too little.

    File systems that cannot reserve are left alone.
    """
    ask("allocate", str(path), nbytes)
    wait_for_closing()
    if nbytes > free_bytes(path):
        # a file system may hand out all it has before it says that this is not enough
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    code = _native.scratch.reserve_at(fd, offset, nbytes)
    if code:
        raise OSError(code, os.strerror(code), str(path))


#: files that are being closed, by shots that are computed side by side
_closing: list[Thread] = []
_closing_lock = Lock()


def close_removed(fd: int) -> None:
    """Close a file whose name is gone, in the background.

    The last close frees the blocks of the file. For what was written past the page cache that takes a file system
    hundreds of milliseconds per gigabyte, which the next shot need not wait for.
    """
    closing = Thread(target=os.close, args=(fd,), name="closing scratch")
    # another shot may wait for all that are in the list: only what runs can be waited for
    closing.start()
    with _closing_lock:
        _closing[:] = [*(c for c in _closing if c.is_alive()), closing]


def wait_for_closing() -> None:
    """Wait until the room of all removed files is free again."""
    with _closing_lock:
        closing = list(_closing)
    for c in closing:
        c.join()


def sync_data(fd: int, path: Path) -> None:
    """Wait until what was written to a file is on the device."""
    ask("fsync", str(path))
    os.fdatasync(fd)


def clear_folder(path: Path, staying: Container[str] = ()) -> int:
    """Remove the files of a folder of scratch but those named, and the folder when it is empty then; return the bytes.

    What cannot be removed stays: it is scratch, and the next run tries again.
    """
    freed = 0
    try:
        with own.folder(path, owned=True) as fd:
            for entry in list(os.scandir(fd)):
                with suppress(OSError):  # another rank may be at it, too
                    if entry.name not in staying and entry.is_file(follow_symlinks=False):
                        nbytes = entry.stat(follow_symlinks=False).st_blocks * 512
                        ask("unlink", str(path / entry.name))
                        os.unlink(entry.name, dir_fd=fd)
                        freed += nbytes
    except CannotCreateError:
        raise  # a link, or somebody else's: nobody's scratch
    except OSError:
        pass
    remove_empty(path)
    return freed


def remove_empty(path: Path) -> None:
    """Remove a folder of scratch when nothing is in it."""
    with suppress(OSError), own.beside(path) as (folder, name):
        os.rmdir(name, dir_fd=folder)


class UnnamedFile:
    """Bytes at positions, in a folder whose disk has the room.

    Parameters
    ----------
    folder : path
        Existing folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            ask("open", str(folder))
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as e:
            raise explain_os_error(e, folder) from e

    def write(self, data: bytes | memoryview, at: int) -> None:
        """Write all of `data` at byte `at`."""
        view = memoryview(data).cast("B")
        try:
            while len(view):
                allowed = ask("write", str(self.folder), len(view))
                done = os.pwrite(self._file.fileno(), view[:allowed], at)
                view, at = view[done:], at + done
        except OSError as e:
            raise explain_os_error(e, self.folder, len(view)) from e

    def read(self, count: int, at: int) -> bytes:
        """Return `count` bytes from byte `at`, which have been written."""
        parts = []
        try:
            while count:
                part = os.pread(self._file.fileno(), count, at)
                if not part:
                    raise CorruptionError(
                        f"an unnamed file in {self.folder} ends at byte {at}", "try again", code="E640"
                    )
                parts.append(part)
                count, at = count - len(part), at + len(part)
        except OSError as e:
            raise explain_os_error(e, self.folder) from e
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the file and its bytes."""
        self._file.close()
