"""The numbers of a least-squares migration that two programs do: box, perturbation, survey, made from NumPy alone.

The background is uniform, so that the scattered data of the perturbation are known without any grid of waves
(`born_reference.py`): both sides invert the same data, made by neither. The perturbation is smooth on the grid, so that
the sum over its points is the integral over the plane.
"""

from __future__ import annotations

import numpy as np
from cases import Case

#: velocity of the background, m/s; peak frequency, Hz; sampling interval, s, and time step of both sides
V, F0, DT = 2000.0, 15.0, 0.0024
#: delay of the peak of the wavelet, s
DELAY = 1.5 / F0
#: sources and receivers lie so many cells below the top; points above this depth are kept, m
DEPTH_CELLS, KEPT = 2, 120.0
#: standard deviation of a layer across itself, m: at the end of what the grid carries its spectrum is below 1e-8
SIGMA = 20.0
#: 1 / v^2 of the layers over that of the background, less 1
CONTRAST = 0.03


def shots(case: Case) -> int:
    """Return how many shots there are: one per 40 cells, and as many for each of two threads."""
    return max(2, 2 * (case.interior[0] // 80))


def samples(case: Case) -> int:
    """Return samples of a record: the echo of the lowest layer at the largest offset that is wanted ends in it."""
    nx, nz = case.interior
    path = 2.0 * np.hypot((nz - 1) * case.spacing, 0.3 * (nx - 1) * case.spacing)
    # a multiple of 4: a peer that adds to the gradient at every fourth step asks for it
    return 4 * round((path / V + 2 * DELAY) / DT / 4)


def survey(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes (ix, iz) of sources (ns, 2) and receivers (nr, 2): every shot is recorded at all of them."""
    nx = case.interior[0]
    source = np.rint(np.linspace(0.05, 0.95, shots(case)) * (nx - 1)).astype(int)
    receiver = np.arange(4, nx - 4, 2)
    return _at_depth(source), _at_depth(receiver)


def _at_depth(ix: np.ndarray) -> np.ndarray:
    return np.stack([ix, np.full_like(ix, DEPTH_CELLS)], axis=1)


def wavelet(case: Case) -> np.ndarray:
    """Return a Ricker wavelet at the samples of a record, (nt,) float64."""
    a = (np.pi * F0 * (np.arange(samples(case)) * DT - DELAY)) ** 2
    return (1 - 2 * a) * np.exp(-a)


def mask(case: Case) -> np.ndarray:
    """Return 0 where the image is kept, near sources and receivers, and 1 below."""
    out = np.ones(case.interior)
    out[:, np.arange(case.interior[1]) * case.spacing < KEPT] = 0.0
    return out


def perturbation(case: Case) -> np.ndarray:
    """Return the perturbation of 1 / v^2, s^2/m^2, float64: a flat, a dipping and a bent layer that end inside."""
    nx, nz = case.interior
    x = np.linspace(0.0, 1.0, nx)[:, None]
    z = np.arange(nz) * case.spacing
    bottom = z[-1]
    tops = (
        np.full_like(x, 0.35 * bottom),
        (0.45 + 0.15 * x) * bottom,
        (0.75 + 0.05 * np.cos(4 * np.pi * x)) * bottom,
    )
    layers = sum(
        sign * np.exp(-0.5 * ((z - top) / SIGMA) ** 2) for sign, top in zip((1, -1, 1), tops, strict=True)
    )
    ends = np.exp(-0.5 * (np.clip(np.abs(x - 0.5) - 0.3, 0.0, None) / 0.05) ** 2)
    values = CONTRAST / V**2 * ends * layers
    # where next to nothing is, nothing is: the reference leaves these points out
    return np.where(np.abs(values) < 1e-6 * np.abs(values).max(), 0.0, values) * mask(case)


def relative(residual: np.ndarray, data: np.ndarray) -> float:
    """Return |residual|^2 over |data|^2, summed in double precision."""
    r, d = (np.asarray(a, dtype=np.float64) for a in (residual, data))
    return float((r**2).sum() / (d**2).sum())
