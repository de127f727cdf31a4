"""Shared memory that ranks leave when they are killed: files in /dev/shm, which stay until a reboot.

MPI libraries remove them at MPI_Finalize, which a killed rank never reaches. Their names do not show
which run made them, so that a run notes them while its ranks run, and can remove them later.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
#: files of MPICH, and of Open MPI 4 and 5
OF_MPI = re.compile(r"(?:mpich_shm_[0-9a-f]+_\d+|(?:vader|sm)_segment\.[\w.-]+)", re.ASCII)


def mapped(pid: int | str = "self", folder: Path = FOLDER) -> list[str]:
    """Return the files of an MPI library in /dev/shm that a process uses, by name; none when we may not look."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    start = f"{folder}/"
    paths = (line.split(maxsplit=5)[-1] for line in lines if start in line)
    names = {p.removeprefix(start).removesuffix(" (deleted)") for p in paths if p.startswith(start)}
    return sorted(n for n in names if OF_MPI.fullmatch(n))


def remove_left(names: Iterable[str], folder: Path = FOLDER) -> list[str]:
    """Remove files of an MPI library that belong to this user and that no process uses; return their names."""
    wanted = {n for n in names if OF_MPI.fullmatch(n)}
    if not wanted:
        return []
    used = {n for pid in os.listdir("/proc") if pid.isdigit() for n in mapped(pid, folder)}
    removed = []
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in sorted(wanted - used):
                with suppress(OSError):
                    info = os.lstat(name, dir_fd=fd)
                    if stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid():
                        os.unlink(name, dir_fd=fd)
                        removed.append(name)
        finally:
            os.close(fd)
    return removed
