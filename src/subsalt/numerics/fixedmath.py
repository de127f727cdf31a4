"""Elementary functions and sums with the same bits on every processor and for any number of threads.

NumPy and the C library pick code for exp, sin or a sum by processor, which changes last bits. Whatever ends
in the image uses these instead: fixed sequences of IEEE operations in double precision
(``native/signal/fixed_math.hpp``), accurate to about one unit in the last place. NumPy's elementwise ``+ - *
/`` and ``sqrt`` are exactly rounded and need no replacement.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import _native

PI = 3.141592653589793


def _apply(function: Callable[[NDArray, NDArray], None], x: ArrayLike) -> NDArray[np.float64]:
    a = np.asarray(x, dtype=np.float64)
    flat = np.ascontiguousarray(a).reshape(-1)
    out = np.empty_like(flat)
    function(flat, out)
    return out.reshape(a.shape)


def exp(x: ArrayLike) -> NDArray[np.float64]:
    """Return e to the power x."""
    return _apply(_native.fixed_exp, x)


def log(x: ArrayLike) -> NDArray[np.float64]:
    """Return the natural logarithm of x; NaN below zero."""
    return _apply(_native.fixed_log, x)


def sin(x: ArrayLike) -> NDArray[np.float64]:
    """Return the sine of x radians, for abs(x) up to 3e7; NaN beyond."""
    return _apply(_native.fixed_sin, x)


def cos(x: ArrayLike) -> NDArray[np.float64]:
    """Return the cosine of x radians, for abs(x) up to 3e7; NaN beyond."""
    return _apply(_native.fixed_cos, x)


def asin(x: ArrayLike) -> NDArray[np.float64]:
    """Return the arc sine in radians; NaN outside [-1, 1]."""
    return _apply(_native.fixed_asin, x)


def sinc(x: ArrayLike) -> NDArray[np.float64]:
    """Return sin(pi x) / (pi x), exactly zero at the integers except 0."""
    return _apply(_native.fixed_sinc, x)


def bessel_i0(x: ArrayLike) -> NDArray[np.float64]:
    """Return the modified Bessel function I0, for abs(x) up to 30; NaN beyond."""
    return _apply(_native.fixed_bessel_i0, x)


def power(x: ArrayLike, exponent: float) -> NDArray[np.float64]:
    """Return x to a real power, x >= 0.

    Multiples of one half up to 8 are products and square roots; others go through ``exp(exponent log x)``,
    whose relative error grows with ``abs(exponent log x)``.
    """
    a = np.asarray(x, dtype=np.float64)
    doubled = 2 * exponent
    if doubled == int(doubled) and 0 <= doubled <= 16:
        out = np.sqrt(a) if int(doubled) % 2 else np.ones_like(a)
        for _ in range(int(doubled) // 2):
            out = out * a
        return out
    return exp(exponent * log(a))


def total(x: ArrayLike, start: float = 0.0) -> float:
    """Return `start` plus all values, added one after the other in the order of the array.

    The total of an array is that of its parts, each started with the total of those before.
    """
    a = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    if start != 0.0:
        a = np.concatenate([[start], a])
    return float(_native.fixed_total(a))


def dot(x: ArrayLike, y: ArrayLike) -> float:
    """Return the sum of the products of two arrays, added one after the other in the order of the arrays."""
    a = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    return float(_native.fixed_dot(a, np.ascontiguousarray(y, dtype=np.float64).reshape(-1)))


def ramp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a smooth step: 0 below 0, 1 above 1, 3 x^2 - 2 x^3 between."""
    t = np.clip(x, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)
