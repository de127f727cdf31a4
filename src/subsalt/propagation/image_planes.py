"""Whole planes of an image from the parts that ranks have, for files that are written plane by plane.

Ranks of blocks have some rows of all planes of their slab. After the time steps each sends the others their share of
these planes, and gets all rows of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.parallel.comm import Comm
from subsalt.propagation.domain import Domain
from subsalt.propagation.halo import swap


def whole_planes(
    domain: Domain, fields: Mapping[str, NDArray[np.float32]], group: Comm | None
) -> tuple[Box, dict[str, NDArray[np.float32]]]:
    """Return the planes of the window that a rank writes, and fields on them; collective where rows are cut.

    Parameters
    ----------
    domain : Domain
        Domain of this rank.
    fields : mapping of str to ndarray, shape of `Domain.image_box`
        Fields of this rank; their number and order are equal on all ranks.
    group : Comm, optional
        The ranks that share the window.

    Returns
    -------
    box : Box
        The planes, in indices of the model; may be empty.
    fields : dict of ndarray, shape of `box`
        All rows of them.
    """
    if group is None or len(domain.rows) == 1:
        return domain.image_box, dict(fields)
    box, mine = domain.image_planes, domain.image_box
    out = np.empty((len(fields), *box.shape), np.float32)
    send, receive = {}, {}
    for other in domain.everybody():
        if other.slab != domain.slab:
            continue
        sent = mine.intersect(other.image_planes)
        got = other.image_box.intersect(box)
        if other.rank == domain.rank:
            out[(slice(None), *_within(got, box))] = [a[_within(sent, mine)] for a in fields.values()]
            continue
        if sent.size:
            send[other.rank] = np.stack([a[_within(sent, mine)] for a in fields.values()])
        if got.size:
            receive[other.rank] = (got, np.empty((len(fields), *got.shape), np.float32))
    swap(group, send, {rank: data for rank, (_, data) in receive.items()})
    for got, data in receive.values():
        out[(slice(None), *_within(got, box))] = data
    return box, dict(zip(fields, out, strict=True))


def _within(part: Box, box: Box) -> tuple[slice, slice, slice]:
    """Return the slices of a part of a box, empty ones where it has no point."""
    x, y, z = (slice(l - at, max(h, l) - at) for l, h, at in zip(part.lo, part.hi, box.lo, strict=True))
    return x, y, z
