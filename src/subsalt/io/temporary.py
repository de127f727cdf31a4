"""Temporary files beside their target: made, named, removed, and what the system refuses put into words."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from subsalt.errors import CannotCreateError, SubsaltError
from subsalt.io.faults import ask
from subsalt.io.os_errors import explain_os_error, free_bytes

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
    return temporary, os.open(temporary, flags, 0o666)


def refuse_special(target: Path) -> None:
    """Never replace a folder, device or pipe by a file."""
    with suppress(FileNotFoundError):
        kind = os.stat(target).st_mode
        if stat.S_ISDIR(kind):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if not stat.S_ISREG(kind):
            raise CannotCreateError(
                f"{target} is a device, pipe or socket, not a file", "give the name of a file", code="E630"
            )


def sync_folder(folder: Path) -> None:
    """Make a rename durable; file systems that cannot sync a folder (EINVAL) are left alone."""
    ask("fsync-folder", str(folder))
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


def remove(path: Path) -> None:
    """Remove a file if it can be removed."""
    with suppress(OSError):
        ask("unlink", str(path))
        os.unlink(path)
