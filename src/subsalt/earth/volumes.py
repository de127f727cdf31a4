"""Volumes computed from other volumes, some planes at a time: reoriented, interpolated, smoothed, angles of an axis.

The bits of a plane do not depend on how many planes are computed together. Interpolation is linear, smoothing Gaussian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.planes import Planes


def resample(values: NDArray[Any], source: Grid, target: Grid) -> NDArray[np.float32]:
    """Interpolate linearly from grid to grid, axis by axis; outside the source its edge value continues."""
    return resample_planes(values, 0, source, target, 0, target.shape[0])


def resample_planes(
    values: NDArray[Any], first: int, source: Grid, target: Grid, lo: int, hi: int
) -> NDArray[np.float32]:
    """Interpolate the planes `lo` to `hi` of a grid; `values` are those of the source from plane `first` on.

    `planes_between` returns the source planes that are needed.
    """
    out = np.asarray(values, dtype=np.float64)
    for axis in range(source.ndim):
        low, high, share = _neighbours(axis, source, target)
        if axis == 0:
            low, high, share = low[lo:hi] - first, high[lo:hi] - first, share[lo:hi]
        weight = share.reshape([-1 if i == axis else 1 for i in range(source.ndim)])
        out = np.take(out, low, axis) * (1 - weight) + np.take(out, high, axis) * weight
    return out.astype(np.float32)


def planes_between(source: Grid, target: Grid, lo: int, hi: int) -> tuple[int, int]:
    """Return the planes (first, end) of the source between which the planes `lo` to `hi` of the target lie."""
    low, high, _ = _neighbours(0, source, target)
    return (int(low[lo:hi].min()), int(high[lo:hi].max()) + 1) if hi > lo else (0, 0)


def _neighbours(
    axis: int, source: Grid, target: Grid
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return for every point of a target axis the source points on both sides, and the share of the second."""
    at = (target.axis(axis) - source.origin[axis]) / source.spacing[axis]
    at = np.clip(at, 0, source.shape[axis] - 1)
    low = np.minimum(np.floor(at).astype(np.int64), max(source.shape[axis] - 2, 0))
    return low, np.minimum(low + 1, source.shape[axis] - 1), at - low


def same_grid(a: Grid, b: Grid) -> bool:
    """Return whether two grids coincide to a thousandth of a cell."""
    if a.shape != b.shape:
        return False
    close = [
        abs(ha - hb) * max(n - 1, 1) < 1e-3 * hb and abs(oa - ob) < 1e-3 * hb
        for ha, hb, oa, ob, n in zip(a.spacing, b.spacing, a.origin, b.origin, b.shape, strict=True)
    ]
    return all(close)


def smoothing_weights(sigma: float) -> NDArray[np.float64]:
    """Return a normalised Gaussian of `sigma` samples, cut at 4 sigma.

    Rounded to 12 digits, so that the last bit of a mathematical library does not reach the image.
    """
    r = max(1, math.ceil(4 * sigma))
    raw = [round(math.exp(-0.5 * (k / sigma) ** 2), 12) for k in range(-r, r + 1)]
    total = math.fsum(raw)
    return np.array([w / total for w in raw])


def smooth(
    values: NDArray[Any], grid: Grid, sigma: float, top: float | None, own: slice = slice(None)
) -> NDArray[Any]:
    """Return the Gaussian average of a volume, edges continued, nothing changed above the depth `top`.

    Parameters
    ----------
    sigma : float
        Standard deviation in m, the same along all axes.
    top : float, optional
        Depth, m: what lies above stays, and does not leak into what lies below.
    own : slice, optional
        Planes of `values` that are returned; the others only reach into these. All when left out.
    """
    from scipy.ndimage import correlate1d

    first = (
        0
        if top is None
        else int(np.clip(math.ceil((top - grid.origin[-1]) / grid.spacing[-1]), 0, grid.shape[-1]))
    )
    below = values[..., first:].astype(np.float64)
    if below.shape[-1] == 0:
        return values[own]
    for axis, h in enumerate(grid.spacing):
        if below.shape[axis] > 1:
            below = correlate1d(below, smoothing_weights(sigma / h), axis=axis, mode="nearest")
        if axis == 0:
            below = below[own]
    out = values[own].copy()
    out[..., first:] = below
    return out


Part = NDArray[np.float32]

#: theta and phi of some planes, radians; phi None: zero
Angles = tuple[Part, Part | None]


class ReorientedPlanes(Planes):
    """A volume whose file has its axes in another order, or some of them backwards.

    Parameters
    ----------
    source : Planes
        Volume as in the file.
    order : tuple of int
        Axis of the file for each axis of the volume.
    flip : tuple of int
        Axes of the volume that run backwards in the file.

    Notes
    -----
    Axes in another order are read whole; what is only flipped is read by planes.
    """

    def __init__(self, source: Planes, order: tuple[int, ...], flip: tuple[int, ...]) -> None:
        super().__init__(tuple(source.shape[i] for i in order))
        self._source, self._order, self._flip = source, order, flip
        self._whole: Part | None = None

    @property
    def step(self) -> int:
        """Step of the file."""
        return self._source.step

    def read(self, lo: int, hi: int) -> Part:
        """Return the planes ``lo <= ix < hi``."""
        first, end = (len(self) - hi, len(self) - lo) if 0 in self._flip else (lo, hi)
        if self._order == tuple(range(self.ndim)):
            part = self._source.read(first, end)
        else:
            if self._whole is None:
                self._whole = np.transpose(self._source.read(0, len(self._source)), self._order)
            part = self._whole[first:end]
        return np.ascontiguousarray(np.flip(part, self._flip))

    def sources(self) -> list[Planes]:
        """Return the sources of the file."""
        return self._source.sources()


def _sources(parts: Sequence[Planes]) -> list[Planes]:
    return [s for p in parts for s in p.sources()]


class ResampledPlanes(Planes):
    """Volumes interpolated from their grid to another, some planes at a time.

    Parameters
    ----------
    volumes : sequence of Planes
        Volumes on the grid `source`.
    source, target : Grid
        Grid of the volumes, and grid of the result.
    before, after : callable
        From the planes of all volumes to the fields that are interpolated, and from those, interpolated, to one volume.
    """

    def __init__(
        self,
        volumes: Sequence[Planes],
        source: Grid,
        target: Grid,
        before: Callable[..., list[NDArray]] = lambda a: [a],
        after: Callable[[list[Part]], Part] = lambda parts: parts[0],
    ) -> None:
        super().__init__(target.shape)
        self._volumes, self._source, self._target = volumes, source, target
        self._before, self._after = before, after

    @property
    def step(self) -> int:
        """As many planes as the planes that the source reads together give."""
        per_plane = self._source.spacing[0] / self._target.spacing[0]
        return max(super().step, int(max(p.step for p in self._volumes) * per_plane))

    def read(self, lo: int, hi: int) -> Part:
        """Return the planes ``lo <= ix < hi``."""
        return self._after(self.fields(lo, hi))

    def fields(self, lo: int, hi: int) -> list[Part]:
        """Return the interpolated fields on the planes ``lo <= ix < hi``."""
        first, end = planes_between(self._source, self._target, lo, hi)
        fields = self._before(*(p.read(first, end) for p in self._volumes))
        return [resample_planes(f, first, self._source, self._target, lo, hi) for f in fields]

    def sources(self) -> list[Planes]:
        """Return those of the volumes."""
        return _sources(self._volumes)


class SmoothedPlanes(Planes):
    """Gaussian averages of fields made of volumes: each slab is read with the planes that its averages reach.

    Parameters
    ----------
    volumes : sequence of Planes
        Volumes on `grid`.
    sigma : float
        Standard deviation, m.
    top : float or None
        Depth above which nothing is changed, m.
    before, after : callable
        From the planes of all volumes to the fields that are averaged, and from their averages to one volume.
    """

    def __init__(
        self,
        volumes: Sequence[Planes],
        grid: Grid,
        sigma: float,
        top: float | None,
        before: Callable[..., list[NDArray]] = lambda a: [a],
        after: Callable[[list[NDArray]], Part] = lambda parts: parts[0],
    ) -> None:
        super().__init__(grid.shape)
        self._volumes, self._grid, self._sigma, self._top = volumes, grid, sigma, top
        self._before, self._after = before, after
        #: planes on either side that an average reaches
        self.reach = len(smoothing_weights(sigma / grid.spacing[0])) // 2

    @property
    def step(self) -> int:
        """At least as many planes as both margins have, so that margins are not most of the input."""
        return max(2 * self.reach, *(p.step for p in self._volumes))

    def read(self, lo: int, hi: int) -> Part:
        """Return the planes ``lo <= ix < hi``."""
        return np.ascontiguousarray(self._after(self.fields(lo, hi)))

    def fields(self, lo: int, hi: int) -> list[NDArray]:
        """Return the averaged fields on the planes ``lo <= ix < hi``."""
        first, end = max(0, lo - self.reach), min(len(self), hi + self.reach)
        fields = self._before(*(p.read(first, end) for p in self._volumes))
        own = slice(lo - first, hi - first)
        return [smooth(f, self._grid, self._sigma, self._top, own) for f in fields]

    def sources(self) -> list[Planes]:
        """Return those of the volumes."""
        return _sources(self._volumes)


class SymmetryAxis:
    """The symmetry axis as planes of theta and phi, which are made together.

    Parameters
    ----------
    make : callable
        ``make(lo, hi)`` returns theta and phi (or None) on the planes ``lo <= ix < hi``, radians.
    shape : tuple of int
        Shape of the volumes.
    given : sequence of Planes
        Volumes read for it.
    step : int
        Planes that are best made together.
    azimuth : bool
        Whether there is a phi.
    """

    def __init__(
        self,
        make: Callable[[int, int], Angles],
        shape: tuple[int, ...],
        given: Sequence[Planes],
        step: int,
        azimuth: bool,
    ) -> None:
        self._make, self.shape, self.given, self.step = make, shape, given, step
        self._last: tuple[int, int, Angles] | None = None
        self.theta: Planes = _Angle(self, 0)
        self.phi: Planes | None = _Angle(self, 1) if azimuth else None

    def read(self, lo: int, hi: int) -> Angles:
        """Return both angles on the planes ``lo <= ix < hi``; those asked for last are kept for the other angle."""
        if self._last is None or self._last[:2] != (lo, hi):
            self._last = None
            self._last = lo, hi, self._make(lo, hi)
        return self._last[2]


class _Angle(Planes):
    """One angle of an axis."""

    def __init__(self, axis: SymmetryAxis, which: int) -> None:
        super().__init__(axis.shape)
        self._axis, self._which = axis, which

    @property
    def step(self) -> int:
        """Step of the axis."""
        return self._axis.step

    def read(self, lo: int, hi: int) -> Part:
        """Return the planes ``lo <= ix < hi``."""
        part = self._axis.read(lo, hi)[self._which]
        assert part is not None
        return part

    def sources(self) -> list[Planes]:
        """Return the sources of both angles."""
        return _sources(self._axis.given)
