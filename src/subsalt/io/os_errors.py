"""What the system refused, in words: disk full with need and have, folder not writable, device failing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from subsalt.errors import CannotCreateError, DiskError, ResourceError

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


def human(nbytes: float) -> str:
    """Return a size in B, kB, MB, GB or TB."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


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
        What the system said.
    path : path-like
        The file or folder that was to be written.
    need : int
        Bytes the file needs altogether, if known.
    have : int, optional
        Bytes there were room for; asked from the file system when left out.
    """
    code = error.errno or errno.EIO
    what = f"{os.strerror(code)} (errno {code})"
    if code in _FULL:
        room = free_bytes(path) if have is None else have
        limit = ""
        if code == errno.EFBIG:
            limit = ", file size limit"
        elif code == errno.EDQUOT:
            limit = ", quota"
        found: ResourceError = DiskError(
            f"disk full{limit}: need {human(need)}, have {human(room)} at {path}",
            "free space, or choose another folder; then start the same command again",
            code="E621",
        )
    elif code in _CANNOT_CREATE:
        found = CannotCreateError(
            f"cannot create {path}: {what}",
            "check that the folder exists and that you may write there",
            code="E630",
        )
    else:
        found = DiskError(
            f"cannot write {path}: {what}", "check the disk; then start the same command again", code="E620"
        )
    found.errno = code
    return found
