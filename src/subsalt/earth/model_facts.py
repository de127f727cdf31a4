"""What a model is as a whole, found slab by slab: extremes and counts, the same bits for any cut into slabs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from subsalt.earth.model import EarthModel


@dataclass(frozen=True)
class Facts:
    """What a run needs to know of all of a model, or of a slab of it.

    Parameters
    ----------
    limits : dict
        Smallest and largest value by parameter.
    slowest, fastest : float
        Smallest and largest phase velocity, m/s (`EarthModel.slowest`, `fastest`).
    eigenvalue : float
        Largest eigenvalue of -C L at the order that was asked for, 1/s^2.
    tilted, anisotropic : bool
        Some theta, some epsilon or delta is not zero.
    over : int
        Nodes with delta > epsilon.
    first_over : int or None
        The first of them, counted along the whole model in the order of its values.
    """

    limits: dict[str, tuple[float, float]]
    slowest: float
    fastest: float
    eigenvalue: float
    tilted: bool
    anisotropic: bool
    over: int
    first_over: int | None

    @classmethod
    def of(cls, slab: EarthModel, order: int, start: int = 0) -> Facts:
        """Return the facts of a slab whose first value is number `start` of the whole."""
        over, first = 0, None
        if slab.epsilon is not None and slab.delta is not None:
            bad = slab.delta > slab.epsilon
            over = int(np.count_nonzero(bad))
            first = start + int(np.argmax(bad)) if over else None
        return cls(
            {name: slab.limits(name) for name in slab.volumes},
            slab.slowest,
            slab.fastest,
            slab.max_eigenvalue(order),
            slab.theta is not None and bool(slab.theta.any()),
            any(a is not None and bool(a.any()) for a in (slab.epsilon, slab.delta)),
            over,
            first,
        )

    def __add__(self, other: Facts) -> Facts:
        """Return the facts of both slabs together."""
        firsts = [f for f in (self.first_over, other.first_over) if f is not None]
        return Facts(
            {
                name: (min(low, other.limits[name][0]), max(high, other.limits[name][1]))
                for name, (low, high) in self.limits.items()
            },
            min(self.slowest, other.slowest),
            max(self.fastest, other.fastest),
            max(self.eigenvalue, other.eigenvalue),
            self.tilted or other.tilted,
            self.anisotropic or other.anisotropic,
            self.over + other.over,
            min(firsts, default=None),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the facts as JSON, which keeps every bit of a float."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Facts:
        """Return the facts that `to_json` told."""
        limits = {name: (low, high) for name, (low, high) in told["limits"].items()}
        return cls(**(told | {"limits": limits}))


def together(parts: Iterable[Facts]) -> Facts:
    """Return the facts of all slabs together; there is at least one."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
