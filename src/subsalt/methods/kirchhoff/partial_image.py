"""Partial images of blocks: their sums in memory and in files, one plane per location with its own checksum."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import LocationBox
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError
from subsalt.io.volumes.plane_file import PlaneFile, PlaneLayout, unreadable, write_planes
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.parallel.comm import single


@dataclass
class Sums:
    """The accumulators of a block.

    Parameters
    ----------
    block : Block
        Locations and image traces.
    image : ndarray, (locations, classes, nt), float32
        Sums of traces.
    hits : ndarray, (locations, nt + 1), int32
        Differences along time of the number of traces that reach a sample, of all classes of the block.
    fold : ndarray, (locations, groups), int32
        Traces that reach a location, by class; for a single image of all classes, by the classes of all traces.
    next : int
        First trace of the table that is not in it.
    contributions : int
        Samples that were added.
    traces : int
        Traces that were read for it.
    settle : callable
        Brings the arrays up to date, which a device that sums may not have done yet; before they are stored.
    """

    block: Block
    image: NDArray[np.float32]
    hits: NDArray[np.int32]
    fold: NDArray[np.int32]
    next: int = 0
    contributions: int = 0
    traces: int = 0
    settle: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    @classmethod
    def zeros(cls, block: Block, nt: int, groups: int) -> Sums:
        """Return the sums of a block before its first trace.

        Parameters
        ----------
        groups : int
            Classes that are counted in `fold`.
        """
        n = block.locations
        return cls(
            block,
            np.zeros((n, block.classes, nt), np.float32),
            np.zeros((n, nt + 1), np.int32),
            np.zeros((n, groups), np.int32),
        )

    @property
    def nt(self) -> int:
        """Samples of an image trace."""
        return self.image.shape[2]


def rows_of(outer: LocationBox, inner: LocationBox) -> NDArray[np.int64]:
    """Return the rows of the locations of a box among those of a box around it."""
    i = np.arange(inner.i0 - outer.i0, inner.i1 - outer.i0)
    j = np.arange(inner.j0 - outer.j0, inner.j1 - outer.j0)
    return (i[:, None] * (outer.j1 - outer.j0) + j[None, :]).reshape(-1)


#: the one field of a plane: rows of nt numbers, see `rows_of_plane`
FIELD = "sums"
#: bytes that are read at one time
_PIECE = 8 << 20


def rows_of_plane(classes: int, groups: int, nt: int) -> int:
    """Return the rows of a plane: image traces as they are; hits and fold as the bits of their integers."""
    return classes + 1 + -(-groups // nt)


def layout_of_sums(
    locations: int, classes: int, groups: int, nt: int, facts: Mapping[str, Any] | None = None
) -> PlaneLayout:
    """Return how the sums of a block lie in a file."""
    box = Box((0, 0, 0), (locations, rows_of_plane(classes, groups, nt), nt))
    return PlaneLayout(box, (FIELD,), facts or {})


def write_sums(path: Path, sums: Sums) -> str:
    """Publish the sums of a block; return the hash of the whole.

    The file depends on the sums alone: no time, no host.
    """
    n, classes, nt = sums.image.shape
    groups = sums.fold.shape[1]
    facts = {
        "block": sums.block.to_list(),
        "groups": groups,
        "next": sums.next,
        "contributions": sums.contributions,
        "traces": sums.traces,
    }
    layout = layout_of_sums(n, classes, groups, nt, facts)
    rows = layout.box.shape[1]
    return write_planes(path, layout, layout.box, {FIELD: _Planes(sums, rows)}, single())  # type: ignore[dict-item]


class _Planes:
    """The planes of a file of sums, made when they are asked for: no second copy of all sums is held."""

    def __init__(self, sums: Sums, rows: int) -> None:
        self._sums, self._rows = sums, rows

    def __getitem__(self, cut: slice) -> NDArray[np.float32]:
        sums = self._sums
        n = len(sums.image[cut])
        classes, nt = sums.image.shape[1:]
        out = np.zeros((n, self._rows, nt), np.float32)
        out[:, :classes] = sums.image[cut]
        # the last difference is what makes their sum zero
        out[:, classes] = np.ascontiguousarray(sums.hits[cut, :-1]).view(np.float32)
        tail = out[:, classes + 1 :].reshape(n, -1)
        tail[:, : sums.fold.shape[1]] = np.ascontiguousarray(sums.fold[cut]).view(np.float32)
        return out


class SumsFile:
    """A file of sums, open for reading; a context manager.

    Parameters
    ----------
    path : Path
        The file.
    sha256 : str, optional
        Checksum that `write_sums` returned.

    Raises
    ------
    CorruptionError
        When it is missing, damaged, or another one.
    """

    def __init__(self, path: Path, sha256: str | None = None) -> None:
        self._file = PlaneFile(path, sha256)
        try:
            facts = self._file.layout.facts
            self.block = Block.from_list(facts["block"])
            self.groups, self.next = int(facts["groups"]), int(facts["next"])
            self.contributions, self.traces = int(facts["contributions"]), int(facts["traces"])
            n, rows, self.nt = self._file.layout.box.shape
            if n != self.block.locations or rows != rows_of_plane(self.block.classes, self.groups, self.nt):
                raise ValueError("its planes are not those of its block")
        except (KeyError, TypeError, ValueError) as error:
            self._file.close()
            raise unreadable(Path(path), str(error)) from error

    def read(self, lo: int, hi: int) -> Sums:
        """Return the sums of the locations `lo` to `hi` of the block; each is checked against its hash."""
        planes = self._file.read(lo, hi)[FIELD]
        c, n = self.block.classes, len(planes)
        hits = np.zeros((n, self.nt + 1), np.int32)
        hits[:, :-1] = np.ascontiguousarray(planes[:, c]).view(np.int32)
        hits[:, -1] = -hits[:, :-1].sum(axis=1)
        fold = planes[:, c + 1 :].reshape(n, -1)[:, : self.groups]
        return Sums(
            self.block,
            planes[:, :c],
            hits,
            np.ascontiguousarray(fold).view(np.int32),
            self.next,
            self.contributions,
            self.traces,
        )

    def verify(self) -> None:
        """Read all planes once; raise `CorruptionError` on damage."""
        self._file.verify()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> SumsFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def read_sums(path: Path, sha256: str | None = None, part: Block | None = None) -> Sums:
    """Return the sums in a file, or those of a part of its block.

    Parameters
    ----------
    path : Path
        The file.
    sha256 : str, optional
        Checksum that `write_sums` returned.
    part : Block, optional
        Locations of the block, with all its classes.

    Raises
    ------
    CorruptionError
        When the file is missing, damaged, or another one, or does not hold the part.
    """
    with SumsFile(path, sha256) as file:
        block = file.block if part is None else part
        if not (file.block.contains(block) and block.classes == file.block.classes):
            raise CorruptionError(f"{path} holds another block", "run the same command again", code="E641")
        out = Sums.zeros(block, file.nt, file.groups)
        out.next = file.next
        rows = rows_of(file.block.box, block.box)
        if len(rows) and rows[0] == 0:
            # counted once, with the first location
            out.contributions, out.traces = file.contributions, file.traces
        # a piece at a time, no farther than locations lie together: nothing is held twice
        step = max(1, _PIECE // (4 * file.nt * (block.classes + 2)))
        at = 0
        while at < len(rows):
            together = rows[at : at + step] - rows[at] == np.arange(len(rows[at : at + step]))
            n = int(together.argmin()) if not together.all() else len(together)
            some = file.read(int(rows[at]), int(rows[at]) + n)
            out.image[at : at + n], out.hits[at : at + n] = some.image, some.hits
            out.fold[at : at + n] = some.fold
            at += n
    return out
