"""Temporary files of tests lie in memory: a small run waits a third of its time for the disk otherwise.

Every output is synced to storage before it gets its name, and so is every entry of a ledger. That a program syncs is
tested by what it calls; that bytes outlive a loss of power, by disks of their own (``tests/faults/disks.py``). What
other tests write is read again, no more. ``make test-all``, and whoever sets TMPDIR, writes where TMPDIR says.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from thorough import ALL

#: the file system in memory of every Linux; that of a container may be small
MEMORY = Path("/dev/shm")
#: bytes that must be free there, and in memory: four workers keep 2 GB at most
ROOM = 8 << 30


def why_not(folder: Path = MEMORY, room: int = ROOM) -> str | None:
    """Return why tests cannot write into a folder in memory; None where they can.

    Parameters
    ----------
    folder : path
        Of a file system in memory.
    room : int
        Bytes that must be free there.
    """
    if not os.access(folder, os.W_OK | os.X_OK):
        return f"{folder} cannot be written"
    facts = os.statvfs(folder)
    if facts.f_bavail * facts.f_frsize < room:
        return f"{folder} has less than {room >> 30} GB"
    if _available() < room:
        return f"less than {room >> 30} GB of memory are free"
    if facts.f_flag & os.ST_NOEXEC:
        return f"{folder} lets no program start"
    try:  # before Linux 6.6 none could bypass the page cache
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_DIRECT))
    except OSError:
        return f"{folder} has no direct input and output"
    return None


def _available() -> int:
    """Return the bytes that programs may take."""
    rows = dict(row.split(":") for row in Path("/proc/meminfo").read_text().splitlines())
    return 1024 * int(rows["MemAvailable"].split()[0])


def use_memory() -> None:
    """Let this process and those below it make temporary files in memory, where that can be."""
    if not ALL and "TMPDIR" not in os.environ and why_not() is None:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # whoever asked before
