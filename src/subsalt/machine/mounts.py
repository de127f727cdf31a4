"""Which file system a directory lies on: what was measured in one of its directories holds in the others."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

#: file systems that keep files in memory: nothing about them is a disk's
IN_MEMORY = frozenset({"tmpfs", "ramfs", "hugetlbfs"})


@dataclass(frozen=True)
class Mount:
    """A mounted file system.

    Parameters
    ----------
    point : str
        Where it is mounted.
    kind : str
        Such as ``"ext4"``; empty where the system does not say.
    """

    point: str
    kind: str

    @property
    def in_memory(self) -> bool:
        """Whether its files lie in memory."""
        return self.kind in IN_MEMORY


def mount_of(path: str | os.PathLike[str], table: Path = Path("/proc/self/mountinfo")) -> Mount:
    """Return the file system of `path`, or of the nearest folder above it that exists.

    Parameters
    ----------
    path : path-like
        A file or folder.
    table : Path
        Where Linux lists what is mounted.
    """
    place = Path(path).absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    place = place.resolve()
    try:
        lines = table.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return Mount(_point(place), "")
    best = Mount("", "")
    for line in lines:
        # number, parent, device, root, mount point, options, optional fields ... - type source options
        words = line.split()
        point = _plain(words[4])
        above = place == Path(point) or Path(point) in place.parents
        # of several on one point the last one is seen
        if above and len(point) >= len(best.point):
            best = Mount(point, words[words.index("-") + 1])
    return best if best.point else Mount(_point(place), "")


def _plain(text: str) -> str:
    r"""Return a path of the table, in which blanks and the like stand as ``\040``."""
    return re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), text)


def _point(place: Path) -> str:
    """Return the mount point above `place`, asked of the folders themselves."""
    while not os.path.ismount(place) and place != place.parent:
        place = place.parent
    return str(place)
