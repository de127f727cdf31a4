"""Partial images of shots: one checksummed file each, written by the ranks of a group, read by planes.

The sums of gathers lie in a file of their own beside it, whose hash stands in the header of the partial image.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError
from subsalt.io.volumes.plane_file import PlaneFile, PlaneLayout, PlaneNpz, open_planes, write_planes
from subsalt.methods.rtm.conditions import LAGS, LagBox
from subsalt.methods.rtm.engine import ShotImage
from subsalt.parallel.comm import Comm

#: suffixes of partial images: of this version, and of those before 0.3
SUFFIXES = (".planes", ".npz")

#: suffix of the sums of gathers
LAGS_SUFFIX = ".lags"

#: keys of the header of a partial image: name and hash of the sums of its gathers
LAGS_NAME, LAGS_HASH = "lags", "lags_sha256"


def partial_path(folder: Path, shot: int) -> Path:
    """Return the file of one shot's partial image: the one that is there, else the one to be written."""
    new, old = (folder / f"shot_{shot:06d}{suffix}" for suffix in SUFFIXES)
    return old if old.exists() and not new.exists() else new


def lags_path(folder: Path, shot: int) -> Path:
    """Return the file of the sums of one shot's gathers."""
    return folder / f"shot_{shot:06d}{LAGS_SUFFIX}"


def lags_layout(part: LagBox) -> PlaneLayout:
    """Return the layout of the sums of the gathers of a window: a plane has the columns of one place along x."""
    return PlaneLayout(part.columns, (LAGS,), {LAGS_NAME: part.lags.name})


def write_partial(folder: Path, part: ShotImage, window: Box, group: Comm, lags: LagBox | None = None) -> str:
    """Publish one shot's accumulated fields, every rank of its group its own planes; return the hash. Collective.

    The file depends on the fields and the window alone: no time, no host, no counters, no number of ranks.

    Parameters
    ----------
    folder : Path
        Folder of the partial images.
    part : ShotImage
        Fields of the shot on the planes of this rank.
    window : Box
        Window of the shot.
    group : Comm
        The ranks that share it.
    lags : LagBox, optional
        Part of the gathers of the survey in the window, where `part` has their sums.
    """
    facts = {}
    if lags is not None:
        assert part.lags is not None, "the sums of gathers are of a run without any"
        layout = lags_layout(lags)
        # before the partial image, by whose header they are known
        own = lags.share(group.rank, group.size).columns
        sha = write_planes(lags_path(folder, part.shot), layout, own, {LAGS: part.lags}, group)
        facts = {LAGS_NAME: lags.lags.name, LAGS_HASH: sha}
    layout = PlaneLayout(window, tuple(part.sums), facts)
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


def names_of(file: PlaneFile | PlaneNpz) -> tuple[str, ...]:
    """Return the names of the sums of a partial image, and of those of its gathers."""
    name = file.layout.facts.get(LAGS_NAME)
    return file.layout.names if name is None else (*file.layout.names, str(name))


def open_lags(folder: Path, shot: int, file: PlaneFile | PlaneNpz) -> PlaneFile:
    """Open the sums of the gathers of a shot whose partial image is open; raises `CorruptionError` as that."""
    return PlaneFile(lags_path(folder, shot), str(file.layout.facts.get(LAGS_HASH)))


def read_partial(
    folder: Path, shot: int, sha256: str, lo: int, hi: int, lags: tuple[int, int] | None = None
) -> ShotImage:
    """Return the planes `lo` to `hi` of one shot's accumulated fields, as far as its window has them.

    Parameters
    ----------
    lags : tuple of int, optional
        Which columns along x of the gathers are wanted, too; none when left out.
    """
    with open_partial(folder, shot, sha256) as file:
        first, last = file.span(lo, hi)
        window = file.layout.box
        box = Box((first, *window.lo[1:]), (last, *window.hi[1:]))
        sums = None
        if lags is not None:
            sums = read_lags(folder, shot, file, *lags)
        return ShotImage(shot, box, file.read(lo, hi), 0, 0.0, lags=sums)


def read_lags(
    folder: Path, shot: int, file: PlaneFile | PlaneNpz, first: int, end: int
) -> NDArray[np.float32]:
    """Return the sums of the gathers of a shot in the columns `first` to `end` along x, as far as it has them."""
    with open_lags(folder, shot, file) as stored:
        sums = stored.read(first, end)[LAGS]
        return np.ascontiguousarray(sums, np.float32)


def intact(folder: Path, hashes: Mapping[int, str], world: Comm) -> dict[int, tuple[str, ...]]:
    """Return the fields of the partial images that have their checksums; every rank looks at some. Collective."""
    good = []
    for shot in list(hashes)[world.rank :: world.size]:
        try:
            with open_partial(folder, shot, hashes[shot]) as file:
                file.verify()
                names = names_of(file)
                if len(names) > len(file.layout.names):
                    names = names if _has_lags(folder, shot, file) else file.layout.names
                good.append([shot, names])
        except CorruptionError:
            continue
    return {shot: tuple(names) for some in world.allgather(good) for shot, names in some}


def _has_lags(folder: Path, shot: int, file: PlaneFile | PlaneNpz) -> bool:
    """Return whether the sums of the gathers of a shot have their checksums."""
    try:
        with open_lags(folder, shot, file) as stored:
            stored.verify()
    except CorruptionError:
        return False
    return True
