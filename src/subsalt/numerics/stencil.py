"""Finite-difference weights by order, their Nyquist symbol, and the dispersion rule.

Taylor weights of order 2M on a unit grid (physics page, section 3)::

    c_k = 2 (-1)^(k+1) (M!)^2 / (k^2 (M-k)! (M+k)!),   c_0 = -2 sum c_k      second derivative
    d_k =   (-1)^(k+1) (M!)^2 / (k   (M-k)! (M+k)!)                          first derivative, antisymmetric
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import factorial

from subsalt.errors import ConfigError

ORDERS = (2, 4, 6, 8, 10, 12, 14, 16)

#: grid points per shortest wavelength below which a run is warned of dispersion (about 0.1 % phase error)
POINTS_PER_WAVELENGTH = {2: 40.0, 4: 8.0, 6: 6.0, 8: 5.0, 10: 4.2, 12: 3.8, 14: 3.6, 16: 3.4}


def radius_of(order: int) -> int:
    """Return the stencil radius M of an even order 2 to 16."""
    if order not in ORDERS:
        raise ConfigError(
            f"order {order} is not one of {', '.join(map(str, ORDERS))}", "use 8, or 4 for speed"
        )
    return order // 2


@cache
def second_derivative_exact(order: int) -> tuple[Fraction, ...]:
    """Return c_0 .. c_M as exact fractions."""
    m = radius_of(order)
    f2 = factorial(m) ** 2
    c = [
        Fraction(2 * (-1) ** (k + 1) * f2, k * k * factorial(m - k) * factorial(m + k))
        for k in range(1, m + 1)
    ]
    return (-2 * sum(c, Fraction(0)), *c)


@cache
def first_derivative_exact(order: int) -> tuple[Fraction, ...]:
    """Return d_1 .. d_M as exact fractions."""
    m = radius_of(order)
    f2 = factorial(m) ** 2
    return tuple(
        Fraction((-1) ** (k + 1) * f2, k * factorial(m - k) * factorial(m + k)) for k in range(1, m + 1)
    )


def second_derivative(order: int) -> tuple[float, ...]:
    """Return c_0 .. c_M for unit spacing."""
    return tuple(float(c) for c in second_derivative_exact(order))


def first_derivative(order: int) -> tuple[float, ...]:
    """Return d_1 .. d_M for unit spacing."""
    return tuple(float(d) for d in first_derivative_exact(order))


def nyquist_symbol(order: int) -> float:
    """Return S = -(c_0 + 2 sum (-1)^k c_k), the largest value of the symbol of -D2 on a unit grid."""
    c = second_derivative_exact(order)
    return float(-(c[0] + 2 * sum((-1) ** k * ck for k, ck in enumerate(c) if k)))
