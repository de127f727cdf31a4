"""Extremes of the values of an earth model: what its validity, its time step and its wavelengths depend on.

Found by compiled code in one pass over values that stay in a cache (``native/signal/model_extremes.hpp``), by all
threads: 137 million points of a VTI model took 24 thread-seconds in NumPy. No bit depends on the number of threads or
on the cut of a model into slabs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.numerics.side_by_side import cuts, each


class FiniteRange(NamedTuple):
    """The finite ones of some values.

    Parameters
    ----------
    low, high : float
        Smallest and largest of them; inf and -inf where there is none.
    bad : int
        Number of values that are not finite.
    first_bad : int
        The first of those, in the order of the values; -1: there is none.
    """

    low: float
    high: float
    bad: int
    first_bad: int


def finite_range(values: NDArray[np.float32]) -> FiniteRange:
    """Return the range of the finite ones of some values, C-ordered."""
    flat = values.reshape(-1)
    parts = cuts(flat.size, flat.size) or [slice(0, 0)]
    low, high, bad, first = zip(*each(lambda cut: _native.finite_range(flat[cut]), parts), strict=True)
    firsts = (cut.start + at for cut, at in zip(parts, first, strict=True) if at >= 0)
    return FiniteRange(min(low), max(high), sum(bad), next(firsts, -1))


class WaveExtremes(NamedTuple):
    """Extremes of the waves in a model.

    Parameters
    ----------
    slowest_by_depth : ndarray, (nz,)
        Smallest phase velocity of P waves at each depth, m/s.
    fastest : float
        Largest velocity of P waves in any direction, m/s.
    eigenvalue : float
        Largest eigenvalue of -C L, 1/s^2.
    over : int
        Number of nodes with delta > epsilon.
    first_over : int
        The first of them in the order of the values; -1: there is none.
    """

    slowest_by_depth: NDArray[np.float64]
    fastest: float
    eigenvalue: float
    over: int
    first_over: int


def wave_extremes(
    vp: NDArray[np.float32],
    anisotropy: tuple[NDArray[np.float32], NDArray[np.float32]] | None,
    stiffness: tuple[float, NDArray[np.float64]],
    *,
    tilted: bool,
) -> WaveExtremes:
    """Return the extremes of the waves in a model.

    Parameters
    ----------
    vp : ndarray, (..., nz), float32, C-ordered
        Velocity along the symmetry axis, m/s; finite.
    anisotropy : tuple of ndarray of the same shape, or None
        epsilon and delta; finite.
    stiffness : tuple of float and ndarray, (nz,)
        Largest eigenvalues of -(d2/dx2 + d2/dy2), and of -d2/dz2 at each depth, 1/m^2.
    tilted : bool
        The eigenvalue is that of the tilted scheme.
    """
    nz = vp.shape[-1]
    along, down = stiffness[0], np.ascontiguousarray(stiffness[1], dtype=np.float64)
    columns = [None if a is None else a.reshape(-1, nz) for a in (vp, *(anisotropy or (None, None)))]
    parts = cuts(vp.size // nz, vp.size)

    def some(cut: slice) -> tuple[NDArray[np.float64], int, int]:
        out = np.empty((3, nz))
        count, first = _native.wave_extremes(
            *(None if a is None else a[cut] for a in columns), tilted, along, down, out
        )
        return out, count, -1 if first < 0 else cut.start * nz + first

    by_part = each(some, parts)
    slowest = np.min([out[0] for out, _, _ in by_part], axis=0)
    fastest, eigenvalue = (max(float(out[k].max()) for out, _, _ in by_part) for k in (1, 2))
    over = sum(count for _, count, _ in by_part)
    return WaveExtremes(slowest, fastest, eigenvalue, over, next((at for *_, at in by_part if at >= 0), -1))
