"""Which bytes came from the page cache: asking the system to forget files, and its count of what it fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def drop(files: Iterable[str | os.PathLike[str]]) -> bool:
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


def load(files: Iterable[str | os.PathLike[str]]) -> None:
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
