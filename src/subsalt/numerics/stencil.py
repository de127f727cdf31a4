"""Finite-difference weights by order, their Nyquist symbol, and the grid points they need.

Taylor weights of order 2M on a unit grid (physics page, section 3)::

    c_k = 2 (-1)^(k+1) (M!)^2 / (k^2 (M-k)! (M+k)!),   c_0 = -2 sum c_k      second derivative
    d_k =   (-1)^(k+1) (M!)^2 / (k   (M-k)! (M+k)!)                          first derivative, antisymmetric

are exact where waves are longest. Fitted weights make the waveform right instead, to 1 % after 40 of the shortest
wavelengths, on a coarser grid. They come from `fitted_stencils.json`, which `benchmarks/fit_stencils.py` writes: exact
decimals, for media without a tilt and for tilted ones, whose operator needs other weights (`Stencil.tilt_share`). Both
kinds keep constants and the longest waves exact, and ``K2(k) >= K1(k)^2``, which makes the scheme stable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import factorial
from pathlib import Path
from typing import Any, Literal

from subsalt.errors import ConfigError

Kind = Literal["taylor", "fitted"]

ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)
#: orders that have fitted weights; with order 2 there is nothing to fit
FITTED_ORDERS = ORDERS[1:]

#: grid points per shortest wavelength below which a run with Taylor weights is warned of dispersion (about 0.1 % phase
#: error)
POINTS_PER_WAVELENGTH = {2: 40.0, 4: 8.0, 6: 6.0, 8: 5.0, 10: 4.2, 12: 3.8, 14: 3.6, 16: 3.4}
#: grid points per shortest wavelength below which no weights carry a wave
LEAST_POINTS = 2.2
#: share of the Laplacian along the axis of a tilted medium, with Taylor weights (`Stencil.tilt_share`)
TAYLOR_SHARE = 0.2


def default_kind(order: int) -> Kind:
    """Return the weights that an order has when a job does not say: fitted, where there are any."""
    return "fitted" if order in FITTED_ORDERS else "taylor"


def radius_of(order: int) -> int:
    """Return the stencil radius M of an even order 2 to 16."""
    if order not in ORDERS:
        raise ConfigError(
            f"order {order} is not one of {', '.join(map(str, ORDERS))}", "use 8, or 4 for speed"
        )
    return order // 2


@cache
def second_derivative_exact(order: int) -> tuple[Fraction, ...]:
    """Return the Taylor weights c_0 .. c_M as exact fractions."""
    m = radius_of(order)
    f2 = factorial(m) ** 2
    c = [
        Fraction(2 * (-1) ** (k + 1) * f2, k * k * factorial(m - k) * factorial(m + k))
        for k in range(1, m + 1)
    ]
    return _with_centre(c)


def _with_centre(c: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return c_0 .. c_M of c_1 .. c_M: constants have no derivative."""
    return (-2 * sum(c, Fraction(0)), *c)


@cache
def first_derivative_exact(order: int) -> tuple[Fraction, ...]:
    """Return the Taylor weights d_1 .. d_M as exact fractions."""
    m = radius_of(order)
    f2 = factorial(m) ** 2
    return tuple(
        Fraction((-1) ** (k + 1) * f2, k * factorial(m - k) * factorial(m + k)) for k in range(1, m + 1)
    )


def second_derivative(order: int) -> tuple[float, ...]:
    """Return the Taylor weights c_0 .. c_M for unit spacing."""
    return tuple(float(c) for c in second_derivative_exact(order))


def first_derivative(order: int) -> tuple[float, ...]:
    """Return the Taylor weights d_1 .. d_M for unit spacing."""
    return tuple(float(d) for d in first_derivative_exact(order))


@cache
def _fitted() -> dict[tuple[bool, int], dict[str, Any]]:
    """Return the rows of `fitted_stencils.json` by tilt and order."""
    rows = json.loads(Path(__file__).with_name("fitted_stencils.json").read_text(encoding="utf-8"))
    return {(row["family"] == "tilted", row["order"]): row for row in rows}


@dataclass(frozen=True)
class Stencil:
    """The weights of one order and kind, for media with and without a tilt.

    Parameters
    ----------
    order : int
        2 to 16, even.
    kind : {"taylor", "fitted"}
        Exact for the longest waves, or right for the waveform.

    Raises
    ------
    ConfigError
        When there is no such order, or it has no weights of that kind.
    """

    order: int
    kind: Kind = "taylor"

    def __post_init__(self) -> None:
        radius_of(self.order)
        if self.kind == "fitted" and self.order not in FITTED_ORDERS:
            raise ConfigError(
                f'stencil "fitted" has no weights of order {self.order}',
                f'use stencil = "taylor", or one of the orders {", ".join(map(str, FITTED_ORDERS))}',
                code="E104",
            )

    # operators in NumPy ask at every step, and there are fifteen stencils
    @cache  # noqa: B019
    def second(self, tilted: bool = False) -> tuple[float, ...]:
        """Return c_0 .. c_M of the second derivative for unit spacing."""
        if self.kind == "taylor":
            return second_derivative(self.order)
        return tuple(float(c) for c in self._second_fitted(tilted))

    @cache  # noqa: B019
    def first(self, tilted: bool = False) -> tuple[float, ...]:
        """Return d_1 .. d_M of the first derivative for unit spacing."""
        if self.kind == "taylor":
            return first_derivative(self.order)
        return tuple(float(d) for d in _fitted()[tilted, self.order]["first"])

    def nyquist(self, tilted: bool = False) -> float:
        """Return S = -(c_0 + 2 sum (-1)^k c_k), the largest value of the symbol of -D2 on a unit grid."""
        c = second_derivative_exact(self.order) if self.kind == "taylor" else self._second_fitted(tilted)
        return float(-(c[0] + 2 * sum((-1) ** k * ck for k, ck in enumerate(c) if k)))

    def tilt_share(self) -> float:
        """Return the share s of the Laplacian in ``V w = D.(n (n.D w)) + s (lap - D.D) w`` of tilted media.

        It keeps the pseudo-S wave of the shortest wavelengths away from the P wave; constant in space, or the operator
        is no longer symmetric (physics page, 2.1).
        """
        return TAYLOR_SHARE if self.kind == "taylor" else float(_fitted()[True, self.order]["share"])

    def points(self, tilted: bool = False) -> float:
        """Return the grid points per shortest wavelength that a clean waveform takes.

        With Taylor weights about 0.1 % of phase error, with fitted ones 1 % of error of the waveform after 40 shortest
        wavelengths, in the worst direction of media of epsilon up to 0.3 and delta up to 0.2 (at epsilon = delta = 0.3
        up to 1.3 %). Of the P wave: `physics.slow_mode` says where slow waves of tilted media add to it.
        """
        if self.kind == "taylor":
            return POINTS_PER_WAVELENGTH[self.order]
        return float(_fitted()[tilted, self.order]["points"])

    def _second_fitted(self, tilted: bool) -> tuple[Fraction, ...]:
        return _with_centre([Fraction(text) for text in _fitted()[tilted, self.order]["second"]])

    @classmethod
    def of(cls, given: Stencil | int) -> Stencil:
        """Return a stencil as it is, and of an order the weights that it has unless a job says otherwise."""
        return cls(given, default_kind(given)) if isinstance(given, int) else given

    def __str__(self) -> str:
        return f"order {self.order}" + (", fitted" if self.kind == "fitted" else "")
