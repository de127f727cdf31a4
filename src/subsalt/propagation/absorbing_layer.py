"""Absorbing layers: their widths and the damping profile.

The profile of a layer of N cells of length L = N h is::

    sigma = (m + 1) vmax ln(1/R) / (2 L) (d/L)^m,      d/L = 1/N .. 1 from the inner edge outwards

with R the reflection at normal incidence of the continuous problem. It is the sigma of the symmetric PML and
the s of the damping term alike (physics page, sections 4.1 and 4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath

LayerKind = Literal["pml", "damping", "none"]

#: cells of a layer by default
DEFAULT_WIDTH: dict[str, int] = {"pml": 12, "damping": 40, "none": 0}

#: thinner layers reflect visibly: 1e-3 at normal incidence for a PML, some percent at 30 degrees for damping
WEAK_BELOW: dict[str, int] = {"pml": 8, "damping": 40, "none": 0}


@dataclass(frozen=True)
class Layer:
    """An absorbing layer; what is left out takes its default by kind and width.

    Parameters
    ----------
    kind : {"pml", "damping", "none"}
        Symmetric PML (default), damping term, or reflecting sides.
    width : int, optional
        Cells per side: 12 for a PML, 40 for damping; fewer than 8 or 40 are `weak`.
    m : float, optional
        Exponent of the profile: 2, or 1.5 for a PML of 8 cells or fewer.
    reflection : float, optional
        R of the profile: for a PML of N cells ``10^(-(N-2)/2)``, not below 1e-8 (1e-5 at 12 cells); 1e-2 for
        damping.
    """

    kind: LayerKind = "pml"
    width: int | None = None
    m: float | None = None
    reflection: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in DEFAULT_WIDTH:
            raise ConfigError(f"boundary kind = {self.kind!r}", "use pml, damping or none", code="E150")
        width = DEFAULT_WIDTH[self.kind] if self.width is None else int(self.width)
        if self.kind == "none":
            width = 0
        elif width < 1:
            raise ConfigError(
                f"a {self.kind} layer of {width} cells",
                f"use {DEFAULT_WIDTH[self.kind]} cells, or boundary = none",
                code="E151",
            )
        object.__setattr__(self, "width", width)
        object.__setattr__(self, "m", self._default_m(width) if self.m is None else float(self.m))
        r = self._default_reflection(width) if self.reflection is None else float(self.reflection)
        object.__setattr__(self, "reflection", r)
        if not 0 < r < 1 or not 0 < self.exponent <= 8:
            raise ConfigError(
                f"boundary reflection = {r:g} and m = {self.exponent:g}",
                "use a reflection between 0 and 1 and an exponent m from 1 to 4",
                code="E152",
            )

    def _default_m(self, width: int) -> float:
        return 1.5 if self.kind == "pml" and width <= 8 else 2.0

    def _default_reflection(self, width: int) -> float:
        if self.kind != "pml":
            return 1e-2
        # 10^(-(N-2)/2) by multiplications, whose bits do not depend on the C library
        r = fixedmath.power(0.1, max(0.5, (width - 2) / 2))
        return max(1e-8, float(r))

    @property
    def cells(self) -> int:
        """Width in cells as a number."""
        return self.width or 0

    @property
    def exponent(self) -> float:
        """Exponent m as a number."""
        return 2.0 if self.m is None else self.m

    @property
    def r(self) -> float:
        """Reflection R as a number."""
        return 1e-2 if self.reflection is None else self.reflection

    @property
    def is_weak(self) -> bool:
        """The layer is too thin to absorb well."""
        return self.cells < WEAK_BELOW[self.kind]

    def profile(self, n: int, lo: int, hi: int, h: float, vmax: float) -> NDArray[np.float64]:
        """Return sigma of one axis (function `profile`); `lo` and `hi` are the widths of its two sides."""
        return profile(n, lo, hi, h, vmax, m=self.exponent, r=self.r)


def profile(n: int, lo: int, hi: int, h: float, vmax: float, *, m: float, r: float) -> NDArray[np.float64]:
    """Return the damping profile along one axis.

    Parameters
    ----------
    n : int
        Points of the axis, layers included.
    lo, hi : int
        Cells of the layer at the first and at the last point; 0 where there is none.
    h : float
        Spacing, m.
    vmax : float
        Largest velocity, sqrt(1 + 2 epsilon) included, m/s.
    m, r : float
        Exponent and reflection of the profile.

    Returns
    -------
    sigma : ndarray, (n,), float64
        Damping rate, 1/s; zero outside the layers.
    """
    if lo < 0 or hi < 0 or lo + hi > n:
        raise ConfigError(
            f"layers of {lo} and {hi} cells do not fit on an axis of {n} points",
            "enlarge the grid",
            code="E153",
        )
    sigma = np.zeros(n)
    for width, side in ((lo, sigma[:lo][::-1]), (hi, sigma[n - hi :])):
        if width:
            d = np.arange(1, width + 1, dtype=np.float64) / width
            top = (m + 1.0) * vmax * -float(fixedmath.log(r)) / (2.0 * width * h)
            side[:] = top * fixedmath.power(d, m)
    return sigma


def decay(sigma: ArrayLike, dt: float) -> NDArray[np.float64]:
    """Return the factor of the PML recursion, ``b = exp(-sigma dt)``, in double precision."""
    return fixedmath.exp(-np.asarray(sigma, dtype=np.float64) * dt)
