"""The numbers of a Kirchhoff case, made from NumPy alone: sources and receivers, image points, traces.

An image point of the peer has a depth, one of ours a two-way time; in a constant medium t0 = 2 z / v makes them the
same point, so that both sum the same samples of the same traces.
"""

from __future__ import annotations

import math

import numpy as np
from cases import Case

V, DT = 2000.0, 0.004
#: m between the image points along x and y; s between them in two-way time
SPACING, DT0 = 25.0, 0.004
#: Hz, of the pulses in the traces: smooth enough for linear interpolation in float32
F0 = 20.0
PULSES = 6


def shots(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return sources (ns, 2) and receivers (nr, 2) over the image, map positions in m: five receivers a source."""
    extent = [(n - 1) * SPACING for n in case.interior[:2]]
    ns = max(1, round(math.sqrt(case.steps / 5)))
    return _spread(ns, extent), _spread(case.steps // ns, extent)


def traces_of(case: Case) -> int:
    """Return how many traces there are: one per source and receiver."""
    src, rcv = shots(case)
    return len(src) * len(rcv)


def _spread(n: int, extent: list[float]) -> np.ndarray:
    """Return n points that fill a rectangle evenly: a golden-ratio lattice."""
    i = np.arange(n)
    return np.stack([(i + 0.5) / n * extent[0], (i * 0.6180339887498949) % 1.0 * extent[1]], axis=1)


def samples(case: Case) -> int:
    """Return samples of a trace: as many as the farthest image point needs."""
    x = np.hypot(*[(n - 1) * SPACING for n in case.interior[:2]])
    t0 = case.interior[2] * DT0
    return int(2 * math.hypot(t0 / 2, x / V) / DT) + 4


def traces(case: Case) -> np.ndarray:
    """Return the traces (n, nt), float32: a few pulses on each, at times that change from trace to trace."""
    n, nt = traces_of(case), samples(case)
    t = DT * np.arange(nt, dtype=np.float32)
    out = np.zeros((n, nt), np.float32)
    for k in range(PULSES):
        at = (k + 0.5 + 0.4 * np.sin(0.37 * np.arange(n) + k)) / PULSES * t[-1]
        a = (np.float32(np.pi * F0) * (t - at[:, None].astype(np.float32))) ** 2
        out += (1 - 2 * a) * np.exp(-a)
    return out
