"""Classes of traces: the image traces of an output location, by offset and azimuth sector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.methods.kirchhoff.weights import trace_weights

__all__ = ["Classes", "Gathers", "trace_weights"]

Gathers = Literal["image", "offset", "full"]

#: m: offsets that lie closer than this to a neighbour are one nominal offset, measured with noise
SAME = 1.0
#: m: a nominal offset that spreads farther is none
SPREAD = 12.5
#: times that nominal offsets lie farther apart than they spread
CLEAR = 4.0
#: nominal offsets of a survey; a recording cable has some hundreds of channels
MOST = 2000
#: offset classes that balance the traces of a single image where the offsets are not nominal
OF_ONE_IMAGE = 48


@dataclass(frozen=True)
class Classes:
    """Offset classes, each divided into azimuth sectors.

    Parameters
    ----------
    edges : tuple of float
        Limits of the offset classes, m, ascending: class c holds ``edges[c] <= offset < edges[c + 1]``; the last one
        also its upper limit.
    kind : {"image", "offset", "full"}
        ``"image"``: all classes go into one image trace per location; ``"offset"``: one image trace per class;
        ``"full"``: the same for the nominal offsets of the data.
    sectors : int
        Azimuth sectors of a class. They divide 180 degrees: source and receiver change places without a change of the
        trace.
    first_azimuth : float
        Where the first sector begins, degrees clockwise from north.
    nominal : tuple of float, optional
        Offset of each class for headers; the middle of its limits when empty.
    """

    edges: tuple[float, ...]
    kind: Gathers = "offset"
    sectors: int = 1
    first_azimuth: float = 0.0
    nominal: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(Gathers):
            raise ConfigError(f"gathers = {self.kind!r}", "use image, offset or full-offset", code="E768")
        if len(self.edges) < 2 or any(b <= a for a, b in pairwise(self.edges)):
            raise ConfigError(
                f"limits of offset classes {self.edges} do not grow",
                "give a first offset, a larger last one and a positive step",
                code="E768",
            )
        if self.sectors < 1:
            raise ConfigError(f"sectors = {self.sectors}", "use 1, 2, ... azimuth sectors", code="E768")

    # -- the three ways to make them

    @classmethod
    def offset(
        cls, first: float, last: float, step: float, sectors: int = 1, first_azimuth: float = 0.0
    ) -> Classes:
        """Return classes with centres first, first + step, ... up to `last`, each `step` wide.

        Raises
        ------
        ConfigError
            When the three numbers describe no classes.
        """
        if not (0 <= first <= last < math.inf) or not 0 < step < math.inf:
            raise ConfigError(
                f"offset classes from {first:g} to {last:g} m, every {step:g} m",
                "give first >= 0, last >= first and a positive step",
                code="E768",
            )
        count = math.floor((last - first) / step + 1e-9) + 1
        centres = tuple(first + step * c for c in range(count))
        edges = tuple(first + step * (c - 0.5) for c in range(count + 1))
        return cls(edges, "offset", sectors, first_azimuth, centres)

    @classmethod
    def full(cls, offsets: NDArray[np.float64], sectors: int = 1, first_azimuth: float = 0.0) -> Classes:
        """Return one class for each nominal offset of the data.

        Parameters
        ----------
        offsets : ndarray, (n,)
            Offsets of the traces, m.

        Raises
        ------
        ConfigError
            When the offsets are not nominal: they fill the axis, or are too many.
        """
        groups = _nominal(offsets)
        if groups is None:
            low, high = (float(f(offsets)) for f in (np.min, np.max)) if len(offsets) else (0.0, 0.0)
            step = _round_up((high - low) / OF_ONE_IMAGE)
            raise ConfigError(
                f"the offsets of the traces, {low:.0f} to {high:.0f} m, have no nominal values: gathers of every "
                "offset would have no end",
                f'use gathers = "offset" with classes, such as offset = {{first = {step / 2:g}, '
                f"last = {max(high, step / 2):.0f}, step = {step:g}}}",
                code="E890",
            )
        return cls(_between(groups), "full", sectors, first_azimuth, groups)

    @classmethod
    def image(cls, offsets: NDArray[np.float64]) -> Classes:
        """Return the classes that balance the traces of a single image: nominal offsets, or `OF_ONE_IMAGE` steps."""
        groups = _nominal(offsets)
        if groups is not None:
            return cls(_between(groups), "image", nominal=groups)
        step = _round_up(float(np.max(offsets)) / OF_ONE_IMAGE)
        count = math.floor(float(np.max(offsets)) / step) + 1
        return cls(tuple(step * c for c in range(count + 1)), "image")

    # -- numbers

    @property
    def offsets(self) -> int:
        """Number of offset classes."""
        return len(self.edges) - 1

    @property
    def groups(self) -> int:
        """Number of classes: offsets times sectors."""
        return self.offsets * self.sectors

    @property
    def count(self) -> int:
        """Number of image traces per location."""
        return 1 if self.kind == "image" else self.groups

    @property
    def centres(self) -> NDArray[np.float64]:
        """Offset of every class, m, (groups,): what stands in headers, and what the stack knows of its mute."""
        e = np.asarray(self.edges, np.float64)
        middle = (
            np.asarray(self.nominal, np.float64) if self.nominal else np.maximum(0.5 * (e[1:] + e[:-1]), 0.0)
        )
        return np.repeat(middle, self.sectors)

    @property
    def sector_centres(self) -> NDArray[np.float64]:
        """Azimuth in the middle of the sector of every class, degrees from 0 to 180, (groups,)."""
        width = 180.0 / self.sectors
        one = (self.first_azimuth + width * (np.arange(self.sectors) + 0.5)) % 180.0
        return np.tile(one, self.offsets)

    def group_of(self, offset: NDArray[np.float64], azimuth: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the class of traces, -1 outside of all: class = offset class x sectors + sector.

        Parameters
        ----------
        offset : ndarray, (n,)
            m.
        azimuth : ndarray, (n,)
            From source to receiver, degrees clockwise from north.
        """
        x = np.asarray(offset, np.float64)
        c = np.searchsorted(np.asarray(self.edges, np.float64), x, side="right") - 1
        c[x == self.edges[-1]] = self.offsets - 1
        outside = (c < 0) | (c >= self.offsets)
        if self.sectors > 1:
            turn = (np.asarray(azimuth, np.float64) - self.first_azimuth) % 180.0
            sector = np.minimum((turn * (self.sectors / 180.0)).astype(np.int64), self.sectors - 1)
            c = c * self.sectors + sector
        return np.where(outside, -1, c).astype(np.int32)

    def slots(self, offset: NDArray[np.float64], azimuth: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the image trace that traces go to, -1 for those that go nowhere; see `group_of`."""
        group = self.group_of(offset, azimuth)
        return np.minimum(group, 0).astype(np.int32) if self.kind == "image" else group


def _nominal(offsets: NDArray[np.float64]) -> tuple[float, ...] | None:
    """Return the nominal offsets of traces, None when they have none."""
    if not len(offsets):
        return None
    values = np.unique(np.round(np.asarray(offsets, np.float64), 1))
    breaks = np.flatnonzero(np.diff(values) > SAME) + 1
    first, last = values[np.r_[0, breaks]], values[np.r_[breaks - 1, len(values) - 1]]
    apart = np.median(np.diff(first)) if len(first) > 1 else np.inf
    noise = max(float((last - first).mean()), 0.5 * SAME)
    if len(first) > MOST or np.any(last - first > SPREAD) or apart < CLEAR * noise:
        return None
    return tuple(float(v) for v in np.round(0.5 * (first + last), 1))


def _between(centres: tuple[float, ...]) -> tuple[float, ...]:
    """Return limits halfway between centres, the outermost as far outside as the next one is inside."""
    if len(centres) == 1:
        return centres[0] - 0.5 * SPREAD, centres[0] + 0.5 * SPREAD
    middle = [0.5 * (a + b) for a, b in pairwise(centres)]
    return (2 * centres[0] - middle[0], *middle, 2 * centres[-1] - middle[-1])


def _round_up(x: float) -> float:
    """Return the next of 1, 2, 5, 10, 20, 25, 50, ... m upwards."""
    if not x > 1:
        return 1.0
    decade = 10.0 ** math.floor(math.log10(x))
    return float(next(decade * m for m in (1, 2, 2.5, 5, 10) if decade * m >= x * (1 - 1e-12)))
