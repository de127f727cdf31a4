"""How fast waves of the slow mode of a tilted medium run on a grid (docs/theory/rtm.md, "The slow mode").

In the equations the slow mode lies far behind the P wave. On a grid, the derivative along the axis falls to zero
towards the Nyquist wavenumber, the more steeply the higher the order, and waves of the slow mode near that wavenumber,
of frequencies in the band, get a group velocity in proportion. Where it comes near that of P, they arrive with the P
wave, along the axes of the grid, in which they are focused: near a source all of them, farther away the fast ones.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from subsalt.numerics.stencil import Stencil

#: length of a Ricker wavelet, shortest wavelengths: it ends 2.4 / f0 after its traveltime
WAVELET = 6.0
#: share of the slowest P velocity: a slow wave below it has not come 40 shortest wavelengths away when the P wavelet
#: has passed (`reach`)
BEHIND = 40 / (40 + WAVELET)
#: the same one wavelet away, where sources emit the slow mode with full strength
BEHIND_NEAR = 0.5
#: axes of symmetry that are tried, and wavenumbers along an axis of the grid
AXES = ((1, 1, 1), (0, 1, 1))
WAVENUMBERS = 24
#: frequencies that count, of the highest of the band
LOWEST = 0.1


def reach(speed: float) -> float:
    """Return the distance from a source, shortest wavelengths, up to which slow waves come within the P wavelet.

    Parameters
    ----------
    speed : float
        Speed of the slow waves, over the slowest P velocity.

    Notes
    -----
    At the distance L the P wavelet lasts from L to L + `WAVELET`, in periods of the shortest wave, and the slow waves
    come from L / speed on.
    """
    return math.inf if speed >= 1.0 else WAVELET * speed / (1.0 - speed)


@cache
def speed(stencil: Stencil, epsilon: float, delta: float) -> float:
    """Return the largest group velocity of slow waves over the smallest phase velocity of P waves.

    Parameters
    ----------
    stencil : Stencil
        The weights; the band is the one that they carry (`Stencil.points`).
    epsilon, delta : float
        Thomsen parameters of a uniform medium with delta <= epsilon, tilted in any direction.

    Notes
    -----
    With A and V the symbols of -(lap - V) and -V, ``E = 1 + 2 epsilon``, ``D = 2 (epsilon - delta)`` and vp = 1, the
    slow mode has ``w^2 = (t - sqrt(t^2 - 4 D A V)) / 2``, ``t = E A + V``; its gradient in wavenumber is the group
    velocity.
    """
    if delta >= epsilon:
        return 0.0
    c, d, share = stencil.second(tilted=True), stencil.first(tilted=True), stencil.tilt_share()
    line = math.pi * (2 * np.arange(WAVENUMBERS) + 1) / WAVENUMBERS
    # of opposite wavenumbers one is enough
    k = np.meshgrid(line[: WAVENUMBERS // 2], line, line, indexing="ij", sparse=True)
    k2 = [sum(4 * w * np.sin(j * x / 2) ** 2 for j, w in enumerate(c[1:], 1)) for x in k]
    k1 = [sum(2 * w * np.sin(j * x) for j, w in enumerate(d, 1)) for x in k]
    slope2 = [sum(2 * j * w * np.sin(j * x) for j, w in enumerate(c[1:], 1)) for x in k]
    slope1 = [sum(2 * j * w * np.cos(j * x) for j, w in enumerate(d, 1)) for x in k]
    e, gap, fmax = 1 + 2 * epsilon, 2 * (epsilon - delta), 2 * math.pi / stencil.points(tilted=True)
    fastest = 0.0
    for axis in np.array(AXES, dtype=float):
        n = axis / np.linalg.norm(axis)
        flux = sum(a * b for a, b in zip(n, k1, strict=True))
        v = flux**2 + share * sum(b - a * a for a, b in zip(k1, k2, strict=True))
        a = sum(k2) - v
        t = e * a + v
        root = np.sqrt(np.maximum(t * t - 4 * gap * a * v, 0.0))
        # along the axis it stands still, at the frequency zero
        w = np.sqrt(np.maximum(2 * gap * a * v / (t + root), 1e-12))
        by_a, by_v = (e - (t * e - 2 * gap * v) / root) / 2, (1 - (t - 2 * gap * a) / root) / 2
        squares = np.zeros_like(w)
        for i in range(3):
            dv = 2 * flux * n[i] * slope1[i] + share * (slope2[i] - 2 * k1[i] * slope1[i])
            squares = squares + ((by_a * (slope2[i] - dv) + by_v * dv) / (2 * w)) ** 2
        band = (w > LOWEST * fmax) & (w < fmax)
        fastest = max(fastest, float(np.sqrt(squares[band].max(initial=0.0))))
    return fastest / math.sqrt(1 + 2 * min(0.0, delta, epsilon))
