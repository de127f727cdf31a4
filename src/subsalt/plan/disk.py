"""Files that a run writes, compared with the free space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from subsalt.errors import DiskError

#: bytes of a SEG-Y file before its traces, and before the samples of each
SEGY_HEADERS, TRACE_HEADER = 3600, 240

#: ledger, logs and report of a run beside what it draws, and the same of every shot or block
BESIDE, BESIDE_UNIT = 150_000, 1_000
#: pictures of a section, or of a volume with its planes, once as files and once in the report
PICTURES_2D, PICTURES_3D = 1_100_000, 2_000_000

#: files that are written after the snapshots of all shots are removed
LATE = ("image", "pictures, report, ledger")


@dataclass(frozen=True)
class Disk:
    """Bytes a run writes.

    Parameters
    ----------
    parts : dict of str to int
        Partial images that are not there yet, outputs, or shots.
    free : int
        Bytes free where they go.
    where : Path
        The folder, or the nearest one above it that is there.
    passing : int
        Bytes of the parts that have gone before the last ones come.
    late : int
        Bytes of those last ones.
    """

    parts: dict[str, int]
    free: int
    where: Path
    passing: int = 0
    late: int = 0

    @property
    def total(self) -> int:
        """Bytes at most at a time."""
        return sum(self.parts.values()) - min(self.passing, self.late)

    @property
    def fits(self) -> bool:
        """Whether there is room."""
        return self.total <= self.free

    def holding(self, parts: Mapping[str, int]) -> Disk:
        """Return it with further parts."""
        return replace(self, parts={**self.parts, **parts})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"parts": self.parts, "total_bytes": self.total, "free_bytes": self.free, "fits": self.fits}


def existing(folder: Path) -> Path:
    """Return a folder, or the nearest one above it that is there."""
    where = folder.absolute()
    while not where.exists():
        where = where.parent
    return where


def beside(units: int, drawn: int) -> int:
    """Return the bytes of ledger, logs, report and pictures of so many shots or blocks.

    Parameters
    ----------
    drawn : int
        Dimensions of what is drawn; 0: no pictures.
    """
    return BESIDE + BESIDE_UNIT * units + {0: 0, 2: PICTURES_2D, 3: PICTURES_3D}[drawn]


def disk_error(disks: Sequence[Disk]) -> DiskError | None:
    """Return the error of the first file system that is too small, None when all have the room."""
    for disk in disks:
        if not disk.fits:
            names = ", ".join(f"{name} {size / 1e9:.2f} GB" for name, size in disk.parts.items())
            return DiskError(
                f"the run writes {disk.total / 1e9:.2f} GB, {disk.where} has {disk.free / 1e9:.2f} GB free: {names}",
                "free space, choose another folder with --run, or name folders in [checkpoint] directories",
                code="E663",
            )
    return None
