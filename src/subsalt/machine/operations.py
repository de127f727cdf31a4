"""Bytes and floating-point operations per point of the core steps, as the heads of the kernels state them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from subsalt.kernels.problem import FIELD_NAMES


@dataclass(frozen=True)
class Cost:
    """What one step costs per point in 3-D.

    Parameters
    ----------
    bytes : int
        Read and written, every array once, float32.
    packed : int or None
        The same with model arrays of 16 bits; None where there are none.
    operations : callable
        Of the stencil radius; a multiply-add counts two.
    streams : str
        The arrays behind the bytes.
    """

    bytes: int
    packed: int | None
    operations: Callable[[int], int]
    streams: str


#: by medium; a test compares with the heads in native/kernels
COSTS = {
    # three axes of M (add, multiply-add), the centre, and two multiply-adds
    "isotropic": Cost(16, 14, lambda m: 9 * m + 5, "p, prev, m read, prev written"),
    # x and y on p, z on q, two centres, s B, and six multiply-adds
    "vti": Cost(36, 30, lambda m: 9 * m + 15, "2 fields, 2 prev, m, e, s read, 2 prev written"),
    # per field 18 M - 6 for both derivatives of three axes, 24 for fluxes and Laplacian, 9 M for the divergence
    "tti": Cost(
        48, None, lambda m: 54 * m + 49, "2 fields, 2 prev, m, e, s, 3 of the axis read, 2 prev written"
    ),
}


def cost(medium: str) -> Cost:
    """Return the cost of a medium."""
    return COSTS[medium]


def bytes_of(medium: str, storage: str) -> int:
    """Return the bytes per point of one step with models stored as ``"f32"`` or ``"u16"``."""
    price = COSTS[medium]
    if storage == "f32":
        return price.bytes
    if price.packed is None:
        raise ValueError(f"{medium} has no models of 16 bits")
    return price.packed


def pass_bytes(medium: str, storage: str = "f32") -> float:
    """Return the bytes per point and step of two steps in one pass over memory.

    The models are read once for both steps; both levels of every field are read once and written once.
    """
    fields = len(FIELD_NAMES[medium])
    models = bytes_of(medium, storage) - 12 * fields
    return (models + 16 * fields) / 2
