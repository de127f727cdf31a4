"""Which grid does a scheme with Taylor weights need for a waveform that is right to 1 %? From its plane waves.

In a uniform medium a record far away is one plane wave per frequency, whose phase a scheme makes wrong by the error of
its frequency times the traveltime. With the time-dispersion transform that is the error in space alone.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from waveform_case import F0, FAR, MEDIA, SHORTEST, VP, axis_of, offsets

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fit_stencils import TAYLOR_SHARE, largest, taylor

Array = NDArray[np.float64]
#: a step of the peer, of the largest that is stable
OF_STABLE = 0.99


@dataclass(frozen=True)
class Medium:
    """A uniform medium and the plane waves that its records consist of."""

    name: str

    @property
    def thomsen(self) -> tuple[float, float]:
        """Epsilon and delta."""
        epsilon = MEDIA[self.name][0]
        return epsilon, epsilon

    @property
    def axis(self) -> Array:
        """The axis of symmetry, a unit vector."""
        return axis_of(self.name)

    @cached_property
    def slownesses(self) -> Array:
        """Slowness of the plane wave that reaches each record, over that along the axis, (10, 3).

        The gradient of the traveltime: along the axis a vector counts in full, across it less.
        """
        d = offsets(self.name) / FAR
        along = (d @ self.axis)[:, None] * self.axis
        return along + (d - along) / (1 + 2 * MEDIA[self.name][0])


@dataclass(frozen=True)
class Scheme:
    """Taylor weights in space: with a tilt, ``fluxes`` is our scheme, ``seconds`` has all second derivatives written
    out, ``examples`` has the first derivatives between the nodes that Devito's examples have.
    """

    medium: Medium
    order: int
    kind: str = ""

    def frequency(self, kh: Array) -> Array:
        """Return the frequency times spacing over VP that the scheme gives plane waves of `kh` (..., 3) in space."""
        w, n = taylor(self.order), self.medium.axis
        parts = [kh[..., i] for i in range(3)]
        second = [w.k2(k) for k in parts]
        if not self.kind:
            along = second[2]
        elif self.kind == "examples":
            half = [half_cell(self.order // 2, k) * np.exp(0.5j * k) for k in parts]
            slope = sum(a * b for a, b in zip(n, half, strict=True))
            along = np.abs(slope) ** 2
        else:
            first = [w.k1(k) for k in parts]
            share = n * n if self.kind == "seconds" else np.full(3, TAYLOR_SHARE)
            along = sum(n[i] * first[i] for i in range(3)) ** 2
            along = along + sum(share[i] * (second[i] - first[i] ** 2) for i in range(3))
        across = np.maximum(sum(second) - along, 0.0)
        return np.sqrt(largest(across, np.asarray(along), self.medium.thomsen))

    @cached_property
    def largest_frequency(self) -> float:
        """The largest frequency times spacing over VP, which rules the time step."""
        k = np.linspace(-math.pi, math.pi, 41)
        return float(self.frequency(np.stack(np.meshgrid(k, k, k, indexing="ij"), axis=-1)).max())

    def stable_step(self, spacing: float, part: float = OF_STABLE) -> float:
        """Return a part of the largest stable time step, s."""
        return part * 2 * spacing / (VP * self.largest_frequency)

    def errors(self, points: float, part: float | None = None) -> Array:
        """Return the relative L2 error of every record at so many points per shortest wavelength.

        `part` is that of the stable time step where its error is left as it is; None where it is undone.
        """
        x = np.linspace(0.02, 1.3, 130)
        f, h = 2.5 * F0 * x, SHORTEST / points
        spectrum = (2.5 * x) ** 2 * np.exp(-((2.5 * x) ** 2))
        out = []
        w, time = 2 * math.pi * f, FAR / VP
        for slowness in self.medium.slownesses:
            got = VP / h * self.frequency(w[:, None] * slowness * h / VP)
            if part is not None:
                dt = self.stable_step(h, part)
                got = 2 / dt * np.arcsin(np.minimum(1.0, got * dt / 2))
            phase = np.clip((got - w) * time, -math.pi, math.pi)
            off = (spectrum * 2 * np.sin(phase / 2)) ** 2
            out.append(math.sqrt(off.sum() / (spectrum**2).sum()))
        return np.array(out)

    def needed(self, accuracy: float, energy: Array | None = None, part: float | None = None) -> float:
        """Return the fewest points per shortest wavelength for all records together, or for every one of them.

        Together they have the error of their sum, in which a record counts by its `energy`; without it the worst one
        rules.
        """

        def error(points: float) -> float:
            e = self.errors(points, part)
            return float(e.max() if energy is None else math.sqrt((e**2 @ energy) / energy.sum()))

        low, high = 2.0, 32.0
        while high - low > 1e-3 * low:
            middle = (low + high) / 2
            # on somewhat finer grids too: an error may pass through zero
            good = max(error(middle * f) for f in (1.0, 1.02, 1.05)) <= accuracy
            low, high = (low, middle) if good else (middle, high)
        return high


def half_cell(order: int, k: Array) -> Array:
    """Return the symbol over i of first derivatives half a cell away from the points that they take."""
    m = np.arange(1, order // 2 + 1)
    odd = 2 * m - 1.0
    weights = np.linalg.solve(odd[None, :] ** odd[:, None], (m == 1).astype(float))
    return np.asarray(sum(2 * c * np.sin(j * k / 2) for j, c in zip(odd, weights, strict=True)))
