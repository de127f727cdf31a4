"""Penalties of a least-squares problem: the size of the model, or its roughness, is kept small beside the misfit.

A penalty is |R m|^2 with a linear R; the iteration needs R^T R alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath

Kind = Literal["size", "roughness"]


@dataclass(frozen=True)
class Penalty:
    """|R m|^2.

    Parameters
    ----------
    kind : {"size", "roughness"}
        R is the identity, or the differences of neighbours along every axis (of x and y alone where `lateral`).
    lateral : bool
        Differences along the last axis, depth, are left out: an image may vary with depth as it likes.
    """

    kind: Kind = "size"
    lateral: bool = True

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ConfigError(
                f"penalty {self.kind!r}", f"use one of {', '.join(get_args(Kind))}", code="E104"
            )

    def normal(self, m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return R^T R m."""
        if self.kind == "size":
            return m
        out = np.zeros_like(m)
        for axis in self._axes(m):
            d = np.diff(m, axis=axis)
            first, last = _ends(m.ndim, axis)
            out[first] -= d
            out[last] += d
        return out

    def squared(self, m: NDArray[np.float64]) -> float:
        """Return |R m|^2, summed in the order of the array."""
        if self.kind == "size":
            return fixedmath.dot(m, m)
        total = 0.0
        for axis in self._axes(m):
            d = np.diff(m, axis=axis)
            total += fixedmath.dot(d, d)
        return total

    def _axes(self, m: NDArray[np.float64]) -> range:
        return range(m.ndim - 1 if self.lateral and m.ndim > 1 else m.ndim)


def _ends(ndim: int, axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the slices of all points but the last along an axis, and of all but the first."""
    everything = [slice(None)] * ndim
    first, last = list(everything), list(everything)
    first[axis], last[axis] = slice(None, -1), slice(1, None)
    return tuple(first), tuple(last)
