"""Partial images of shots: one checksummed file each, written by the ranks of a group, read by planes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError
from subsalt.io.volumes.plane_file import PlaneFile, PlaneLayout, PlaneNpz, open_planes, write_planes
from subsalt.methods.rtm.engine import ShotImage
from subsalt.parallel.comm import Comm

#: suffixes of partial images: of this version, and of those before 0.3
SUFFIXES = (".planes", ".npz")


def partial_path(folder: Path, shot: int) -> Path:
    """Return the file of one shot's partial image: the one that is there, else the one to be written."""
    new, old = (folder / f"shot_{shot:06d}{suffix}" for suffix in SUFFIXES)
    return old if old.exists() and not new.exists() else new


def write_partial(folder: Path, part: ShotImage, window: Box, group: Comm) -> str:
    """Publish one shot's accumulated fields, every rank of its group its own planes; return the hash. Collective.

    The file depends on the fields and the window alone: no time, no host, no counters, no number of ranks.
    """
    layout = PlaneLayout(window, tuple(part.sums))
    path = folder / f"shot_{part.shot:06d}{SUFFIXES[0]}"
    return write_planes(path, layout, part.box, part.sums, group)


def open_partial(folder: Path, shot: int, sha256: str) -> PlaneFile | PlaneNpz:
    """Open one shot's partial image.

    Raises
    ------
    CorruptionError
        When the file is missing, damaged, or not the one the ledger knows.
    """
    return open_planes(partial_path(folder, shot), sha256)


def read_partial(folder: Path, shot: int, sha256: str, lo: int, hi: int) -> ShotImage:
    """Return the planes `lo` to `hi` of one shot's accumulated fields, as far as its window has them."""
    with open_partial(folder, shot, sha256) as file:
        first, last = file.span(lo, hi)
        window = file.layout.box
        box = Box((first, *window.lo[1:]), (last, *window.hi[1:]))
        return ShotImage(shot, box, file.read(lo, hi), 0, 0.0)


def intact(folder: Path, hashes: Mapping[int, str], world: Comm) -> dict[int, tuple[str, ...]]:
    """Return the fields of the partial images that have their checksums; every rank looks at some. Collective."""
    good = []
    for shot in list(hashes)[world.rank :: world.size]:
        try:
            with open_partial(folder, shot, hashes[shot]) as file:
                file.verify()
                good.append([shot, file.layout.names])
        except CorruptionError:
            continue
    return {shot: tuple(names) for some in world.allgather(good) for shot, names in some}
