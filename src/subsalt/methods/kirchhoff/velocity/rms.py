"""Rms, interval and average velocity in two-way time, and what layers do to the moveout.

With interval velocity v(t) at vertical two-way time t ::

    v_rms(t)^2 = (1/t) int_0^t v^2 ds        v_avg(t) = (1/t) int_0^t v ds
    mu_j(t)    = (1/t) int_0^t v^j ds

(Dix 1955, Geophysics 20, 68). The moments mu_j also give the moveout below layers (Taner and Koehler 1969,
Geophysics 34, 859), which an effective eta stands for (Alkhalifah 1997, Geophysics 62, 662). Velocities are given at
nodes; every integral is exact for what lies between them. Sums run in the order of time, in double precision: no
function here has bits that depend on the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["rms", "interval", "average"]
Array = NDArray[np.float64]

#: an interval velocity from rms velocities is kept within these multiples of the rms velocity
DIX_LIMITS = 1 / 3, 3.0
#: lateral distance of source or receiver, in depths, at which times through layers are made right
MATCHED = 2 / 3


def linear(times: Array, values: Array, at: Array) -> Array:
    """Return values between nodes, linear in time, constant before the first node and after the last.

    Parameters
    ----------
    times : ndarray, (m,), float64
        Times of the nodes, ascending, s.
    values : ndarray, (..., m), float64
        Values there.
    at : ndarray, (nt,), float64
        Where values are wanted, s.

    Returns
    -------
    ndarray, (..., nt), float64
    """
    i, later = _segments(times, at)
    a = values[..., i]
    share = np.clip(later, 0.0, None) / _lengths(times)[i]
    return a + (values[..., _after(times, i)] - a) * np.clip(share, 0.0, 1.0)


def rms_of_interval(times: Array, values: Array, at: Array) -> Array:
    """Return rms velocities of interval velocities that are linear between nodes; arrays as in `linear`.

    Notes
    -----
    The square of a line from a to b over h has the integral ``h (a^2 + a b + b^2) / 3``.
    """
    times, values = _from_zero(times, values)
    i, later = _segments(times, at)
    h, after = _lengths(times), _after(times, np.arange(times.size))
    a, b = values, values[..., after]
    done = _summed(h * (a * a + a * b + b * b) / 3.0)
    slope = (b - a) / h
    p = a[..., i]
    q = p + slope[..., i] * later
    return _mean_root(done[..., i] + later * (p * p + p * q + q * q) / 3.0, at, p)


def rms_of_layers(times: Array, values: Array, at: Array) -> Array:
    """Return rms velocities of layers of constant velocity; arrays as in `linear`.

    The value of a node is the velocity of the layer that ends there, by Dix's formula; the last layer continues.
    """
    i = np.minimum(np.searchsorted(times, at, side="left"), times.size - 1)
    begin = np.concatenate([[0.0], times[:-1]])
    squares = values * values
    done = np.zeros_like(values)
    done[..., 1:] = np.add.accumulate(squares * (times - begin), axis=-1)[..., :-1]
    first = squares[..., i]
    return _mean_root(done[..., i] + first * np.clip(at - begin[i], 0.0, None), at, values[..., i])


def rms_of_average(times: Array, values: Array, at: Array) -> Array:
    """Return rms velocities of average velocities that are linear between nodes; arrays as in `linear`.

    Notes
    -----
    Depth is ``t v_avg / 2``, so the interval velocity ``v_avg + t dv_avg/dt`` is linear between nodes, too.
    """
    times, values = _from_zero(times, values)
    i, later = _segments(times, at)
    h, after = _lengths(times), _after(times, np.arange(times.size))
    slope = (values[..., after] - values) / h
    p = values + times * slope
    q = p + 2.0 * slope * h
    done = _summed(h * (p * p + p * q + q * q) / 3.0)
    first = p[..., i]
    last = first + 2.0 * slope[..., i] * later
    squares = later * (first * first + first * last + last * last) / 3.0
    return _mean_root(done[..., i] + squares, at, values[..., i])


#: how values at nodes become rms velocities at other times, by the kind of the values
CONVERSIONS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "rms": linear,
    "interval": rms_of_interval,
    "layers": rms_of_layers,
    "average": rms_of_average,
}


def dix(times: Array, v_rms: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return squared interval velocities between the times of rms velocities, by Dix's formula.

    Parameters
    ----------
    times : ndarray, (nt,), float64
        Ascending, s, not negative.
    v_rms : ndarray, (..., nt), float64
        Rms velocities, m/s.

    Returns
    -------
    squared : ndarray, (..., nt), float64
        ``(t_k V_k^2 - t_(k-1) V_(k-1)^2) / (t_k - t_(k-1))``, m2/s2, of the interval that ends at each time; the first
        one begins at time zero. May be negative: then no layer has these rms velocities.
    beyond : ndarray, (..., nt), bool
        Where the interval velocity is outside `DIX_LIMITS` times the rms velocity, or not real.
    """
    energy = v_rms * v_rms * times
    h = np.diff(times, prepend=0.0)
    rise = np.diff(energy, axis=-1, prepend=0.0)
    squared = np.where(h > 0, rise / np.where(h > 0, h, 1.0), v_rms * v_rms)
    low, high = _limits(v_rms)
    return squared, (squared < low) | (squared > high)


def layer_eta(times: Array, v_rms: Array) -> tuple[Array, int]:
    """Return the effective eta by which layering bends rays, and how many interval velocities were clamped.

    Parameters
    ----------
    times, v_rms
        As in `dix`; samples close enough for the integrals (the samples of the image).

    Returns
    -------
    eta : ndarray, (..., nt), float64
        Never negative; 0 at time zero and below one layer.
    clamped : int
        Intervals whose Dix velocity was outside `DIX_LIMITS` and was brought to the limit.

    Notes
    -----
    With ``y = (x / (v t0 / 2))^2`` the time of a leg is ``(2 t / t0)^2 = 1 + y - a y^2 + b y^3 ...``, where ::

        a = (r4 - 1) / 4,   b = (2 r4^2 - r6 - r4) / 8,   r_j = mu_j / mu_2^(j/2)

    The eta of the moments, a / 2, makes the fourth-order term right and leaves, at offsets of twice the depth, nearly
    half of the error of straight rays. The one returned makes the time right at x = `MATCHED` times the depth
    ``mu_1 t0 / 2`` instead, where the series is summed as the fraction ``a y^2 / (1 + b y / a)``: about a quarter of
    the error at offsets of twice the depth, and small ones of the other sign before. It is kept between a / 2 and a.
    """
    squared, beyond = dix(times, v_rms)
    low, high = _limits(v_rms)
    squared = np.clip(squared, low, high)
    h = np.diff(times, prepend=0.0)
    t = np.where(times > 0, times, 1.0)
    mu1 = np.add.accumulate(np.sqrt(squared) * h, axis=-1) / t
    mu2, mu4, mu6 = (np.add.accumulate(power * h, axis=-1) / t for power in _powers(squared))
    mu2 = np.where(mu2 > 0, mu2, 1.0)
    r4, r6 = mu4 / (mu2 * mu2), mu6 / (mu2 * mu2 * mu2)
    # moments of one set of velocities: r4 is at least 1 (Cauchy and Schwarz), rounding aside
    a = np.maximum(r4 - 1.0, 0.0) / 4.0
    b = (2.0 * r4 * r4 - r6 - r4) / 8.0
    y = MATCHED * MATCHED * mu1 * mu1 / mu2
    q = a / np.maximum(1.0 + np.where(a > 0, b / np.where(a > 0, a, 1.0), 0.0) * y, 0.25)
    eta = q * (1.0 + y) / (2.0 * np.maximum(1.0 - q * y, 0.1))
    return np.clip(eta, a / 2.0, a), int(np.count_nonzero(beyond))


def _powers(squared: Array) -> tuple[Array, Array, Array]:
    return squared, squared * squared, squared * squared * squared


def _limits(v_rms: Array) -> tuple[Array, Array]:
    low, high = (DIX_LIMITS[0] * v_rms, DIX_LIMITS[1] * v_rms)
    return low * low, high * high


def _from_zero(times: Array, values: Array) -> tuple[Array, Array]:
    """Return nodes that begin at time zero: integrals do."""
    if times[0] == 0.0:
        return times, values
    first = linear(times, values, np.zeros(1))
    keep = times > 0.0
    return np.concatenate([[0.0], times[keep]]), np.concatenate([first, values[..., keep]], axis=-1)


def _segments(times: Array, at: Array) -> tuple[NDArray[np.int64], Array]:
    """Return for every time the node before it (the first one for those before all), and how much later it is."""
    i = np.maximum(np.searchsorted(times, at, side="right") - 1, 0)
    return i, np.clip(at - times[i], 0.0, None)


def _lengths(times: Array) -> Array:
    """Return the lengths of the segments after every node; any for the last, where nothing changes."""
    return np.append(np.diff(times), 1.0)


def _after(times: Array, i: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.minimum(i + 1, times.size - 1)


def _summed(parts: Array) -> Array:
    """Return the sum of the segments before every node, added in the order of time."""
    out = np.zeros_like(parts)
    out[..., 1:] = np.add.accumulate(parts, axis=-1)[..., :-1]
    return out


def _mean_root(integral: Array, at: Array, at_zero: Array) -> Array:
    """Return the root of integral / time, and the velocity itself up to time zero."""
    later = at > 0.0
    return np.where(later, np.sqrt(integral / np.where(later, at, 1.0)), at_zero)
