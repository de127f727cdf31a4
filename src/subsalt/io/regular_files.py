"""Small files read as a whole, as bytes, JSON or TOML: they must be regular files, and no larger than expected."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from typing import Any


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a file that must be a regular one; a pipe would wait, and a device never ends.

    Raises
    ------
    OSError
        When it cannot be opened or read.
    ValueError
        When it is a pipe or device, or holds more than `most` bytes; the message goes on a sentence whose subject is
        the file.
    """
    # O_NONBLOCK: opening a pipe that nobody writes must not hang
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise ValueError("is a pipe or device, not a file")
        if info.st_size > most:
            raise ValueError(f"has {info.st_size} bytes, more than the {most} of such a file")
        # files of the kernel say that they are empty, whatever they hold
        parts, left = [], most
        while left >= 0 and (part := file.read(1 << 20)):
            parts.append(part)
            left -= len(part)
    if left < 0:
        raise ValueError(f"has more than the {most} bytes of such a file")
    return b"".join(parts)


#: bytes of a text that a run wrote of itself
MOST_TEXT = 64 << 20


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return what a file of JSON holds; whatever the file is, it neither waits nor fills the memory.

    Raises
    ------
    OSError
        When it cannot be read.
    ValueError
        When it is no regular file, too large, or no JSON.
    """
    try:
        return json.loads(read_regular(path, MOST_TEXT))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the tables of a file of TOML; errors as of `read_json`."""
    try:
        return tomllib.loads(read_regular(path, MOST_TEXT).decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
