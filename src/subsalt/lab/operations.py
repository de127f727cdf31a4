"""Bytes and floating-point operations per point of the core steps, as the heads of the kernels state them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What one step costs per point in 3-D.

    Parameters
    ----------
    bytes : int
        Read and written, every array once.
    operations : callable
        Of the stencil radius; a multiply-add counts two.
    streams : str
        The arrays behind the bytes.
    """

    bytes: int
    operations: Callable[[int], int]
    streams: str


#: by medium; a test compares with the heads in native/kernels
COSTS = {
    # three axes of M (add, multiply-add), the centre, and two multiply-adds
    "isotropic": Cost(16, lambda m: 9 * m + 5, "p, prev, m read, prev written"),
    # x and y on p, z on q, two centres, s B, and six multiply-adds
    "vti": Cost(36, lambda m: 9 * m + 15, "2 fields, 2 prev, m, e, s read, 2 prev written"),
    # per field 18 M - 6 for both derivatives of three axes, 24 for fluxes and Laplacian, 9 M for the divergence
    "tti": Cost(48, lambda m: 54 * m + 49, "2 fields, 2 prev, m, e, s, 3 of the axis read, 2 prev written"),
}


def cost(medium: str) -> Cost:
    """Return the cost of a medium."""
    return COSTS[medium]
