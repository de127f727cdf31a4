"""Writing files: complete or not at all.

Every output goes through `atomic_write`: a temporary name in the same folder, full-write loops, fsync,
rename, fsync of the folder. A reader therefore never sees half a file, and a failure leaves neither the old
file damaged nor a stray one.

Every system call asks `faults` first, which may raise an `OSError` or shorten a write in tests.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import CannotCreateError, DiskError, ResourceError, SubsaltError
from subsalt.host import human
from subsalt.io import own
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.faults import ask

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


_CANNOT_CREATE = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.EEXIST,
}


def free_bytes(path: str | os.PathLike[str]) -> int:
    """Return the bytes an ordinary user may still write where `path` lies (the nearest folder that
    exists).
    """
    folder = Path(path).absolute()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        info = os.statvfs(folder)
    except OSError:
        return 0
    return info.f_bavail * info.f_frsize


def explain_os_error(
    error: OSError, path: str | os.PathLike[str], need: int = 0, have: int | None = None
) -> ResourceError:
    """Return the error of ours that says what the system refused, where, and what to do.

    Parameters
    ----------
    error : OSError
        Error of the system.
    path : path-like
        The file or folder that was to be written.
    need : int
        Bytes the file needs altogether, if known.
    have : int, optional
        Bytes there were room for; asked from the file system when left out.
    """
    if isinstance(error, ResourceError):
        return error  # explained already
    code = error.errno or errno.EIO
    what = f"{os.strerror(code)} (errno {code})"
    if code in _FULL:
        room = free_bytes(path) if have is None else have
        limit = ""
        if code == errno.EFBIG:
            limit = ", file size limit"
        elif code == errno.EDQUOT:
            limit = ", quota"
        explained_error: ResourceError = DiskError(
            f"disk full{limit}: need {human(need)}, have {human(room)} at {path}",
            "free space, or choose another folder; then start the same command again",
            code="E621",
        )
    elif code in _CANNOT_CREATE:
        explained_error = CannotCreateError(
            f"cannot create {path}: {what}",
            "check that the folder exists and that you may write there",
            code="E630",
        )
    else:
        explained_error = DiskError(
            f"cannot write {path}: {what}", "check the disk; then start the same command again", code="E620"
        )
    explained_error.errno = code
    return explained_error


#: names of temporary files and folders: of `atomic_write` and `publish_folder`, and of no user's file
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.(tmp|old)", re.DOTALL)


@contextmanager
def explained(target: Path, need: int) -> Iterator[None]:
    """Turn an `OSError` of the system into one of ours."""
    try:
        yield
    except SubsaltError:
        raise
    except OSError as e:
        raise explain_os_error(e, target, need) from e


def open_temporary(target: Path, size: int | None) -> tuple[Path, int]:
    """Create the temporary file beside `target`; return its name and descriptor."""
    refuse_special(target)
    if size is not None and target.parent.is_dir() and size > free_bytes(target.parent):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
    temporary = target.parent / f".{target.name[:200]}.{secrets.token_hex(6)}.tmp"
    ask("open", str(temporary))
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return temporary, own.open_file(temporary, flags, 0o666)


def refuse_special(target: Path) -> None:
    """Never replace a folder, device or pipe by a file."""
    with suppress(FileNotFoundError), own.beside(target) as (folder, name):
        # in a folder of ours a link is replaced, whatever it leads to
        kind = os.stat(name, dir_fd=folder, follow_symlinks=folder is None).st_mode
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
            raise CannotCreateError(
                f"{target} is a device, pipe or socket, not a file", "give the name of a file", code="E630"
            )


def sync_folder(folder: Path) -> None:
    """Make a rename durable; file systems that cannot sync a folder (EINVAL) are left alone."""
    ask("fsync-folder", str(folder))
    with own.folder(folder) as fd:
        try:
            os.fsync(fd)
        except OSError as e:
            if e.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise


def remove(path: Path) -> None:
    """Remove a file if it can be removed."""
    with suppress(OSError):
        ask("unlink", str(path))
        own.unlink(path)


class _FullWriter(io.RawIOBase):
    """A file descriptor whose `write` always writes everything or raises."""

    def __init__(self, fd: int, path: str, size: int | None = None) -> None:
        super().__init__()
        self._fd, self._path, self._size = fd, path, size
        self.high_water = 0
        self._failure: SubsaltError | None = None

    def forget(self) -> None:
        """Let go of the descriptor, which others close."""
        self._fd = -1

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._fd, offset, whence)

    def tell(self) -> int:
        return os.lseek(self._fd, 0, os.SEEK_CUR)

    def write(self, data: Any) -> int:
        # what writes containers tries to finish them after a failure: the first error is the one that tells
        if self._failure is not None:
            raise self._failure
        view = memoryview(data).cast("B")
        end = self.tell() + len(view)
        try:
            write_all(self._fd, view, self._path)
        except OSError as e:
            # the bytes already in the temporary file are room as well
            room = free_bytes(self._path) + os.fstat(self._fd).st_size
            self._failure = explain_os_error(e, self._path, self._size or max(self.high_water, end), room)
            raise self._failure from e
        self.high_water = max(self.high_water, end)
        return len(view)


def write_all(fd: int, data: memoryview | bytes, path: str = "") -> None:
    """Write all of `data` to a descriptor, whatever the system splits it into."""
    view = memoryview(data).cast("B")
    while len(view):
        try:
            # Linux moves at most 2 GiB - 4 kB per call
            allowed = ask("write", path, min(len(view), 1 << 30))
            view = view[os.write(fd, view[:allowed]) :]
        except InterruptedError:
            continue


@contextmanager
def atomic_write(
    path: str | os.PathLike[str],
    mode: str = "wb",
    size: int | None = None,
    verify: Callable[[Path], None] | None = None,
) -> Iterator[IO[Any]]:
    """Open `path` for writing so that it appears complete, at the end of the ``with`` block, or not at all.

    Parameters
    ----------
    path : path-like
        The file to make or replace; its folder must exist.
    mode : {"wb", "w"}
        Bytes, or text in UTF-8.
    size : int, optional
        Bytes the file will have; then a lack of space is reported before the first byte is written.
    verify : callable, optional
        Called with the temporary file once it is complete; what it raises keeps the file from being
        published.

    Raises
    ------
    DiskError
        Disk full (``need X, have Y at PATH``) or failing; nothing is left behind and an older file stays as
        it was.
    CannotCreateError
        Folder missing or not writable, or `path` is a folder or a device.
    """
    if mode not in ("wb", "w"):
        raise ValueError(f"mode {mode!r}; use 'wb' or 'w'")
    target = Path(path)
    with explained(target, size or 0):
        temporary, fd = open_temporary(target, size)
    raw = _FullWriter(fd, str(target), size)
    try:
        try:
            buffered = io.BufferedWriter(raw, buffer_size=1 << 20)  # type: ignore[arg-type]
            if mode == "wb":
                yield buffered
            else:
                text = io.TextIOWrapper(buffered, encoding="utf-8", newline="\n", write_through=True)
                yield text
                text.flush()
                text.detach()
            buffered.flush()
            buffered.detach()
            with explained(target, size or raw.high_water):
                ask("fsync", str(target))
                os.fsync(fd)
        finally:
            # a buffer that could not be written must not try again while it is collected
            raw.forget()
            os.close(fd)
        if verify is not None:
            verify(temporary)
        with explained(target, size or raw.high_water):
            ask("rename", str(target))
            own.replace(temporary, target)
    except BaseException:
        remove(temporary)
        raise
    with explained(target, size or raw.high_water):
        sync_folder(target.parent)


@contextmanager
def publish_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new empty folder that takes the name `path`, complete and synced, at the end of the block.

    For stores that are folders. A folder that is already there is replaced.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name[:200]}.{secrets.token_hex(6)}.tmp"
    with explained(target, 0):
        if target.exists() and not target.is_dir():
            raise OSError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        ask("open", str(temporary))
        temporary.mkdir()
    try:
        try:
            yield temporary
        except OSError as e:
            raise explain_os_error(e, target) from e
        with explained(target, 0):
            for folder, _, files in os.walk(temporary):
                for name in files:
                    _sync_file(Path(folder, name))
                sync_folder(Path(folder))
            ask("rename", str(target))
            old = temporary.with_suffix(".old")
            if target.exists():
                os.replace(target, old)
            os.replace(temporary, target)
            sync_folder(target.parent)
            own.remove_tree(str(old))
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _sync_file(path: Path) -> None:
    ask("fsync", str(path))
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def publish_bytes(path: str | os.PathLike[str], data: bytes | memoryview) -> str:
    """Publish `data` as the file `path`; return its sha256."""
    with atomic_write(path, size=len(data)) as f:
        f.write(data)
    return hashlib.sha256(data).hexdigest()


def publish_text(path: str | os.PathLike[str], text: str) -> str:
    """Publish `text` in UTF-8 as the file `path`; return its sha256."""
    return publish_bytes(path, text.encode("utf-8"))


def private_text(folder: str | os.PathLike[str], name: str, text: str) -> Path:
    """Write `text` as a new file that only this user may read, in a folder that others share; return its path.

    Its name, ``NAME-XXXXXXXX.txt``, cannot be guessed, and a file or link of that name is not used.
    """
    path = Path(folder, f"{name}-{secrets.token_hex(8)}.txt")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        write_all(fd, text.encode("utf-8", errors="backslashreplace"), str(path))
    finally:
        os.close(fd)
    return path


def publish_array(path: str | os.PathLike[str], array: NDArray) -> str:
    """Publish an array as ``.npy`` (C order, no pickle); return the sha256 of the file."""
    digest = hashlib.sha256()
    a = np.ascontiguousarray(array)
    if a.dtype.hasobject:
        raise TypeError("arrays of objects cannot be written")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(a))
    with atomic_write(path, size=a.nbytes + head.tell()) as f:
        for part in (memoryview(head.getvalue()), raw_bytes(a)):
            digest.update(part)
            f.write(part)
    return digest.hexdigest()


def show_text(path: str | os.PathLike[str], text: str) -> bool:
    """Replace a file that is only looked at, such as the progress of a run; return whether it could be.

    A reader sees the old text or the new one. Nothing is synced, and no failure is raised: nothing depends on it.
    """
    target = Path(path)
    temporary = target.parent / f".{target.name[:200]}.{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = own.open_file(temporary, flags, 0o666)
        try:
            data = memoryview(text.encode("utf-8"))
            while len(data):
                data = data[os.write(fd, data) :]
        finally:
            os.close(fd)
        own.replace(temporary, target)
    except OSError:
        with suppress(OSError):
            own.unlink(temporary)
        return False
    return True


def append_line(path: str | os.PathLike[str], line: str) -> None:
    """Append one line to a log such as events.jsonl; the line goes out in one piece.

    A line that a loss of power cut off is ended first: it must not spoil the next one. A file that has a second name is
    refused, for it is another's as well.
    """
    data = (line.rstrip("\n") + "\n").encode("utf-8")
    try:
        ask("open", str(path))
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW
        fd = own.open_file(path, flags, 0o666)
        try:
            own.refuse_shared(fd, path)
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                data = b"\n" + data
            write_all(fd, data, str(path))
        finally:
            os.close(fd)
    except OSError as e:
        raise explain_os_error(e, path, len(data)) from e


def make_folder(path: str | os.PathLike[str], mode: int = 0o777) -> Path:
    """Make a folder, with its parents, so that it survives a loss of power; return it."""
    folder = Path(path)
    try:
        ask("mkdir", str(path))
        # what is synced inside a folder is lost with the folder's own name
        for made in own.make_folders(folder, mode):
            sync_folder(made.parent)
    except OSError as e:
        raise explain_os_error(e, path) from e
    return folder


def remove_leftovers(folder: str | os.PathLike[str], but: str = "") -> list[Path]:
    """Remove what writers that were killed left in a folder and its subfolders; return the paths.

    Only for folders whose lock the caller holds: the temporary files of an active writer look the same. A subfolder
    named `but`, in which others may write, is left out.
    """
    removed = []
    for place, folders, files, fd in os.fwalk(folder, follow_symlinks=False):
        if os.fstat(fd).st_uid not in {os.geteuid(), os.stat(folder).st_uid}:
            folders.clear()  # nothing of ours is in a folder of somebody else
            continue
        if but in folders and os.fspath(place) == os.fspath(folder):
            folders.remove(but)
        for name in [n for n in (*folders, *files) if TEMPORARY.fullmatch(n)]:
            if name in folders:
                folders.remove(name)
            with suppress(OSError):
                ask("unlink", str(Path(place, name)))
                own.remove_tree(name, fd)
            removed.append(Path(place, name))
    return removed


def sha256_file(path: str | os.PathLike[str]) -> str:
    """Return the sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as f:
        while piece := f.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()
