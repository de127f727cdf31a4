"""How an image is cut into blocks that fit into memory and keep all ranks busy: pure arithmetic.

A block is a box of output locations with a range of their image traces. Blocks are cut between classes first: then
every input trace belongs to one block alone, and is read and prepared once in the whole run, however many passes it
takes. Only where that is not enough, or where all traces go into one image, locations are cut as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import LocationBox
from subsalt.errors import MemoryPlanError
from subsalt.methods.kirchhoff.classes import Classes

#: blocks that each rank should get where cutting costs nothing
PER_RANK = 3


@dataclass(frozen=True)
class Block:
    """A unit of work: the image traces ``c0 <= slot < c1`` of a box of locations.

    Parameters
    ----------
    id : int
        From 1.
    box : LocationBox
        Box of output locations.
    c0, c1 : int
        Half-open range of image traces.
    """

    id: int
    box: LocationBox
    c0: int
    c1: int

    @property
    def locations(self) -> int:
        """Number of locations."""
        return self.box.size

    @property
    def classes(self) -> int:
        """Number of image traces per location."""
        return self.c1 - self.c0

    def contains(self, other: Block) -> bool:
        """Return whether another block is a part of this one."""
        a, b = self.box, other.box
        inside = a.i0 <= b.i0 and b.i1 <= a.i1 and a.j0 <= b.j0 and b.j1 <= a.j1
        return inside and self.c0 <= other.c0 and other.c1 <= self.c1

    def to_list(self) -> list[int]:
        """Return it as plain numbers."""
        return [self.id, self.box.i0, self.box.i1, self.box.j0, self.box.j1, self.c0, self.c1]

    @classmethod
    def from_list(cls, values: Sequence[int]) -> Block:
        """Return the block that `to_list` gave."""
        number, i0, i1, j0, j1, c0, c1 = (int(v) for v in values)
        return cls(number, LocationBox(i0, i1, j0, j1), c0, c1)


def accumulator_bytes(locations: int, classes: int, groups: int, nt: int) -> int:
    """Return the bytes of the sums of a block: image traces, hits by sample, fold by class."""
    return 4 * locations * (classes * nt + nt + 1 + groups)


def medium_bytes(locations: int, nt: int, eta: bool) -> int:
    """Return the bytes of the velocities of a block and of what the kernel derives from them."""
    return 4 * locations * nt * (DERIVED + 2 * eta)


#: arrays of the size of the velocities that a block holds, with those which the kernel makes of them
DERIVED = 4


def block_bytes(locations: int, classes: int, groups: int, nt: int, eta: bool = False) -> int:
    """Return the bytes that a block takes while its traces are summed, without those of the traces."""
    return accumulator_bytes(locations, classes, groups, nt) + medium_bytes(locations, nt, eta)


def cut(
    shape: tuple[int, int],
    classes: Classes,
    nt: int,
    memory: int | None = None,
    ranks: int = 1,
    *,
    eta: bool = False,
    location_work: NDArray[np.float64] | None = None,
    class_work: NDArray[np.float64] | None = None,
) -> list[Block]:
    """Cut an image into blocks.

    Parameters
    ----------
    shape : (inlines, crosslines)
        Locations of the image.
    classes : Classes
        Classes of its image traces.
    nt : int
        Samples of an image trace.
    memory : int, optional
        Bytes that a block may take, `block_bytes`; None: no limit.
    ranks : int
        That will take blocks, one at a time each.
    eta : bool
        The velocity has an eta.
    location_work, class_work : ndarray, optional
        Predicted work by location (inlines, crosslines) and by class; equal when None.

    Returns
    -------
    list of Block
        Numbered from 1 in the order of their work, the largest first. They cover every image trace of every location
        once.

    Raises
    ------
    MemoryPlanError
        When one image trace of one location does not fit.
    """
    count = classes.count
    groups = classes.groups if classes.kind == "image" else count
    total = shape[0] * shape[1]

    def held(locations: int, some: int) -> int:
        return block_bytes(locations, some, groups if count == 1 else some, nt, eta)

    if memory is not None and held(1, 1) > memory:
        raise MemoryPlanError(
            f"an image trace of one location takes {held(1, 1) / 1e6:.1f} MB beside its traces, "
            f"{memory / 1e6:.1f} MB are left for it",
            "allow more with [kirchhoff] memory, or use fewer samples or a smaller trace_block",
            code="E891",
        )
    # as few cuts between locations as the memory allows, for each of them reads and prepares traces again
    places = 1
    while memory is not None and held(-(-total // places), 1) > memory:
        places += 1
    # classes cost nothing to cut: whoever is early takes another
    wanted = ranks if ranks == 1 or count < ranks else min(count, ranks * PER_RANK)
    parts = max(1, min(count, -(-wanted // places)))
    while memory is not None and parts < count and held(-(-total // places), -(-count // parts)) > memory:
        parts += 1
    while places * parts < ranks and places < total:
        places += 1
    work = np.ones(count) if class_work is None or count == 1 else np.asarray(class_work, np.float64)
    there = np.ones(shape) if location_work is None else np.asarray(location_work, np.float64)
    ranges = _ranges(work, parts)
    boxes = _bisect(LocationBox(0, shape[0], 0, shape[1]), places, there)
    pieces = [(box, c0, c1) for box in boxes for c0, c1 in ranges]
    if memory is not None:
        # parts of equal work are not of equal size
        pieces = [p for piece in pieces for p in _fit(*piece, memory, held)]

    def predicted(piece: tuple[LocationBox, int, int]) -> float:
        box, c0, c1 = piece
        return float(there[box.i0 : box.i1, box.j0 : box.j1].sum() * work[c0:c1].sum())

    # the large ones first, so that the small ones fill what is left of the time
    pieces.sort(key=predicted, reverse=True)
    return [Block(n, box, c0, c1) for n, (box, c0, c1) in enumerate(pieces, 1)]


def recut(
    blocks: Sequence[Block],
    done: Set[int],
    begun: Set[int],
    ranks: int,
    fits: Callable[[Block], bool] = lambda block: True,
) -> list[Block]:
    """Cut what is left of a run again, so that `ranks` have something to do and every block fits into memory.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of the run so far.
    done : set of int
        Numbers of those that are finished: they stay as they are.
    begun : set of int
        Numbers of those that have sums already: they are cut between locations alone.
    ranks : int
        That will take blocks.
    fits : callable
        ``fits(block)``: whether a rank has the memory for it.

    Returns
    -------
    list of Block
        Finished blocks, whole ones, and parts of others, with numbers of their own.
    """
    left = [b for b in blocks if b.id not in done]
    each = -(-ranks // max(1, len(left)))
    number = max((b.id for b in blocks), default=0)
    out = []
    for block in blocks:
        pieces = [block] if block.id in done else _parts(block, each, block.id not in begun, fits)
        if len(pieces) > 1:
            pieces = [replace(p, id=number + n) for n, p in enumerate(pieces, 1)]
            number += len(pieces)
        out += pieces
    return out


def _parts(block: Block, parts: int, by_class: bool, fits: Callable[[Block], bool]) -> list[Block]:
    """Return a block in at least so many parts, where it has as many, each of which fits where it can."""
    if (parts <= 1 and fits(block)) or (block.locations == 1 and (block.classes == 1 or not by_class)):
        return [block]
    if by_class and block.classes > 1:
        halves = [
            replace(block, c0=a + block.c0, c1=b + block.c0) for a, b in _ranges(np.ones(block.classes), 2)
        ]
    else:
        box = block.box
        cut_in_two = _bisect(box, 2, np.ones((box.i1 - box.i0, box.j1 - box.j0)), box)
        halves = [replace(block, box=half) for half in cut_in_two]
    first, second = parts - parts // 2, parts // 2
    return [*_parts(halves[0], first, by_class, fits), *_parts(halves[1], second, by_class, fits)]


def _ranges(work: NDArray[np.float64], parts: int) -> list[tuple[int, int]]:
    """Return `parts` ranges of classes with about the same work, none of them empty."""
    total = np.concatenate([[0.0], np.cumsum(work)])
    at = [0]
    for k in range(1, parts):
        nearest = int(np.argmin(np.abs(total - total[-1] * k / parts)))
        at.append(min(max(nearest, at[-1] + 1), len(work) - (parts - k)))
    return list(zip(at, [*at[1:], len(work)], strict=True))


def _bisect(
    box: LocationBox, parts: int, work: NDArray[np.float64], whole: LocationBox | None = None
) -> list[LocationBox]:
    """Return a box in `parts` boxes of about the same work, halved along its longer side again and again."""
    ni, nj = box.i1 - box.i0, box.j1 - box.j0
    if parts <= 1 or ni * nj == 1:
        return [box]
    i, j = (0, 0) if whole is None else (whole.i0, whole.j0)
    inside = work[box.i0 - i : box.i1 - i, box.j0 - j : box.j1 - j]
    first = parts // 2
    along_i = ni >= nj
    n = ni if along_i else nj
    total = np.cumsum(inside.sum(axis=1 if along_i else 0))
    at = int(np.argmin(np.abs(total - total[-1] * first / parts))) + 1
    at = min(max(at, 1), n - 1)
    if along_i:
        a = LocationBox(box.i0, box.i0 + at, box.j0, box.j1)
        b = LocationBox(box.i0 + at, box.i1, box.j0, box.j1)
    else:
        a = LocationBox(box.i0, box.i1, box.j0, box.j0 + at)
        b = LocationBox(box.i0, box.i1, box.j0 + at, box.j1)
    origin = whole or LocationBox(0, 0, 0, 0)
    # a half with fewer locations than parts leaves its share to the other
    first = min(max(first, parts - b.size), a.size)
    return [*_bisect(a, first, work, origin), *_bisect(b, parts - first, work, origin)]


def _fit(
    box: LocationBox, c0: int, c1: int, memory: int, held: Callable[[int, int], int]
) -> list[tuple[LocationBox, int, int]]:
    """Return a piece in as many as fit."""
    if held(box.size, c1 - c0) <= memory:
        return [(box, c0, c1)]
    if c1 - c0 > 1:
        middle = (c0 + c1) // 2
        return [*_fit(box, c0, middle, memory, held), *_fit(box, middle, c1, memory, held)]
    halves = _bisect(box, 2, np.ones((box.i1 - box.i0, box.j1 - box.j0)), box)
    return [p for half in halves for p in _fit(half, c0, c1, memory, held)]
