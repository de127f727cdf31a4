"""The sum of Kirchhoff time migration in NumPy, double precision: the text against which the compiled one is read.

Per output sample (location x, two-way time t0), trace by trace, with h = t0 / 2, s = 1 / v^2, q = x_leg^2 s:

    leg         t_leg^2 = h^2 + q - 2 eta q^2 / (h^2 + (1 + 2 eta) q);    t = t_s + t_r
    weight      3d     (t0 / v) (t_s + t_r) (t_s^2 + t_r^2) / (t_s t_r)^2
                2.5d   sqrt(2 pi) t0 sqrt(t_s + t_r) (t_s^2 + t_r^2) / (t_s t_r)^(3/2)
    slope       dt/dx_m = s (Q_s x_s / t_s + Q_r x_r / t_r),   Q = d(t_leg^2) / dq
    stretch     1 / J - 1,  J = dt/dt0 = (t0 / 4) (P_s / t_s + P_r / t_r),   P = d(t_leg^2) / d(h^2)
    triangle    (S(p - N) - 2 S(p) + S(p + N)) / N^2, S the trace twice integrated, N = max |slope| spacing / dt
    bands       b = B (1 - f / f_Nyquist),  f = 1 / (2 max |slope| spacing); hats of width 1 around b, or band ceil(b)

Below a surface a leg has h = t0 / 2 + height of its end - height of time zero (one-way times), the weight h_s + h_r
for t0, and J is (P_s h_s / t_s + P_r h_r / t_r) / 2; samples not below both ends are not live.

Without eta P = Q = 1. Weights: common-offset migration of Bleistein, Cohen & Stockwell (2001), Zhang, Gray & Young
(2000); eta: Alkhalifah & Tsvankin (1995); bands, triangle: Lumley, Claerbout & Bevc (1994), Abma et al. (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.kernels.kirchhoff_arguments import Medium, PreparedTraces, TraceGeometry

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.kernels.kirchhoff_arguments import SumOptions

#: sin(pi w) / w in w^2 for |w| <= 1/2 (error 7e-9): the raised cosine of every taper is 1/2 + sin(pi w) / 2
COSINE = (3.1415926401, -5.1677100835, 2.5500775232, -0.5982912856, 0.0776576603)
#: (t0 / 2)^2 is at least this, in samples^2: nothing is divided by zero at t0 = 0, where the weight is 0
LEAST_SQUARE = 1e-8
#: shortest taper
LEAST_TAPER = 1e-6
#: shortest half-length of the triangle, samples
LEAST_HALF = 0.05


def taper(u: NDArray) -> NDArray:
    """Return the raised cosine: 0 for u <= 0, 1 for u >= 1, sin^2(pi u / 2) between."""
    w = np.clip(u, 0.0, 1.0) - 0.5
    value = 0.5 + 0.5 * w * np.polynomial.polynomial.polyval(w * w, np.array(COSINE))
    return np.where(u <= 0, 0.0, np.where(u >= 1, 1.0, np.maximum(value, 0.0)))


@dataclass(frozen=True)
class Leg:
    """One leg at all locations and samples.

    Parameters
    ----------
    x : ndarray, (nloc, 2)
        Location minus source or receiver, m.
    t : ndarray, (nloc, nt)
        Traveltime, s.
    p, q : ndarray, (nloc, nt)
        Derivatives of t^2 by h^2 and by x^2 / v^2.
    h : ndarray, (nloc, nt)
        One-way time straight down, s.
    """

    x: NDArray
    t: NDArray
    p: NDArray
    q: NDArray
    h: NDArray


def leg(x: NDArray, h: NDArray, least: float, s: NDArray, eta: NDArray | None) -> Leg:
    """Return the leg of horizontal vector `x` (nloc, 2); h^2 is at least `least`, s^2."""
    h2 = np.maximum(h * np.abs(h), least)
    q = (x * x).sum(axis=1)[:, None] * s
    if eta is None:
        return Leg(x, np.sqrt(h2 + q), np.ones_like(s), np.ones_like(s), h)
    wide = 1 + 2 * eta
    u = q / (h2 + wide * q)
    t = np.sqrt(h2 + q - 2 * eta * q * u)
    return Leg(x, t, 1 + 2 * eta * u * u, 1 - 2 * eta * u * (2 - wide * u), h)


def amplitude(kind: str, t0: NDArray, s: NDArray, ts: NDArray, tr: NDArray) -> NDArray:
    """Return the weight of every sample."""
    if kind == "none":
        return np.ones_like(ts)
    both, squares, product = ts + tr, ts * ts + tr * tr, ts * tr
    if kind == "3d":
        return t0 * np.sqrt(s) * both * squares / product**2
    return np.sqrt(2 * np.pi) * t0 * np.sqrt(both) * squares / product**1.5


def interpolate(coefficients: NDArray, at: NDArray) -> NDArray:
    """Return the piecewise polynomial (order + 1, ns_pad) at the positions `at`, in samples."""
    i = at.astype(np.int64)
    f = at - i
    value = np.zeros_like(at)
    for row in coefficients[::-1].astype(np.float64):
        value = value * f + row[i]
    return value


def banded(samples: NDArray, at: NDArray, slope: NDArray, options: SumOptions) -> NDArray:
    """Return the trace (bands, order + 1, ns_pad) at `at`, low-passed for `slope` samples per antialias spacing."""
    bands = len(samples)
    with np.errstate(divide="ignore"):
        b = np.clip(bands - bands / slope, 0.0, bands - 1.0)
    b = b if options.band_choice == "interpolate" else np.ceil(b)
    value = np.zeros_like(at)
    for j in range(bands):
        value += np.maximum(0.0, 1.0 - np.abs(b - j)) * interpolate(samples[j], at)
    return value


def triangle(integral: NDArray, coefficients: NDArray, at: NDArray, slope: NDArray) -> NDArray:
    """Return the trace averaged by a triangle of half-length `slope` samples; `integral`: it twice integrated."""
    half = np.maximum(slope, LEAST_HALF)
    c = coefficients.astype(np.float64)
    whole = sum(row / ((k + 1) * (k + 2)) for k, row in enumerate(c))

    def read(position: NDArray) -> NDArray:
        i = np.clip(position, 0, len(integral) - 2).astype(np.int64)  # behind the row: a straight line
        f = position - i
        within = f * f * sum(row[i] * f**k / ((k + 1) * (k + 2)) for k, row in enumerate(c))
        value = integral[i] + f * (integral[i + 1] - integral[i] - np.asarray(whole)[i]) + within
        return np.where(position > 0, value, 0.0)

    return (read(at - half) - 2 * read(at) + read(at + half)) / (half * half)


def sum_traces(
    image: NDArray[np.float32],
    hits: NDArray[np.int32],
    fold: NDArray[np.int32],
    points: NDArray[np.float64],
    axes: ArrayLike,
    medium: Medium,
    time: TimeAxis,
    prepared: PreparedTraces,
    geometry: TraceGeometry,
    options: SumOptions,
    spacing: Sequence[float],
) -> int:
    """Add a block of traces to the image; arguments and result of `subsalt.kernels.kirchhoff.sum_traces`."""
    t0 = time.values()[None, :]
    least, below = LEAST_SQUARE * prepared.dt**2, medium.below
    zero = np.zeros(len(points)) if below is None else below.zero
    surface_t0 = t0 if below is None else below.t0(time)
    v = medium.v.astype(np.float64)
    s = 1 / (v * v)
    eta = None if medium.eta is None else medium.eta.astype(np.float64)
    group = geometry.slot if geometry.group is None else geometry.group
    k = np.arange(time.nt)
    done = 0
    for i in np.flatnonzero(geometry.slot >= 0):
        ends = (0.0, 0.0) if geometry.height is None else geometry.height[i]
        late = 0.0 if geometry.late is None else geometry.late[i]
        src, rcv = (
            leg(points - at[i], t0 / 2 + (end - zero)[:, None], least, s, eta)
            for at, end in zip((geometry.src, geometry.rcv), ends, strict=True)
        )
        midpoint = np.sqrt((((src.x + rcv.x) / 2) ** 2).sum(axis=1))[:, None]
        at = (src.t + rcv.t + late - prepared.t_first) / prepared.dt
        room = rooms(options, midpoint, src, rcv, surface_t0, v)
        live = (np.min(room, axis=0) > 0) & (at >= 0) & (at <= prepared.ns - 1)
        if below is not None:
            live &= (src.h > 0) & (rcv.h > 0)
        at = np.clip(at, 0, prepared.ns - 1)
        slope = _slope(src, rcv, s, np.asarray(axes), options.antialias_spacing or spacing) / prepared.dt
        if options.antialias == "triangle":
            assert prepared.integrals is not None
            value = triangle(prepared.integrals[i], prepared.samples[i, 0], at, slope)
        elif options.antialias == "bands":
            value = banded(prepared.samples[i], at, slope, options)
        else:
            value = interpolate(prepared.samples[i, 0], at)
        value *= np.prod([taper(r) for r in room], axis=0)
        value *= geometry.weight[i] * amplitude(options.amplitude, src.h + rcv.h, s, src.t, rcv.t)
        image[:, geometry.slot[i]] += np.where(live, value, 0.0).astype(np.float32)
        # the range: from the first live sample to the last
        reached = np.flatnonzero(live.any(axis=1))
        first = np.where(live, k, time.nt).min(axis=1)[reached]
        end = np.where(live, k + 1, 0).max(axis=1)[reached]
        hits[reached, first] += 1
        hits[reached, end] -= 1
        fold[reached, group[i]] += 1
        done += int((end - first).sum())
    return done


def _slope(src: Leg, rcv: Leg, s: NDArray, axes: NDArray, spacing: Sequence[float]) -> NDArray:
    """Return the larger of |dt/dx_m| spacing along the two axes, s."""
    along = [
        np.abs((src.x @ a)[:, None] * src.q / src.t + (rcv.x @ a)[:, None] * rcv.q / rcv.t) * d
        for a, d in zip(axes, spacing, strict=True)
    ]
    return s * np.maximum(*along)


def rooms(
    options: SumOptions, midpoint: NDArray, src: Leg, rcv: Leg, t0: NDArray, v: NDArray
) -> list[NDArray]:
    """Return how far each sample is from being muted, in parts of the taper of aperture, dip and stretch."""
    out = [np.ones_like(src.t)]
    if options.aperture is not None:
        left = (1 - midpoint / options.aperture) / max(options.aperture_taper, LEAST_TAPER)
        out.append(np.broadcast_to(left, src.t.shape))
    if options.dip is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            share = midpoint / (v * t0 / 2 * np.tan(np.deg2rad(options.dip)))
        out.append((1 - np.where(midpoint > 0, share, 0.0)) / max(options.dip_taper, LEAST_TAPER))
    if options.stretch_mute is not None:
        most = options.stretch_mute
        with np.errstate(divide="ignore"):
            stretch = 2 / (src.p * src.h / src.t + rcv.p * rcv.h / rcv.t) - 1
        out.append((most - stretch) / max(options.stretch_taper * most, LEAST_TAPER))
    return out
