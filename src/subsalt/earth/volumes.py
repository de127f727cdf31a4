"""Volumes made of other volumes, some planes at a time: turned, interpolated, smoothed, the angles of an axis.

The bits of a plane do not depend on how many are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.planes import Planes
from subsalt.earth.regrid import planes_between, resample_planes, smooth, smoothing_weights

Part = NDArray[np.float32]

#: theta and phi of some planes, radians; phi None: zero
Angles = tuple[Part, Part | None]


class Turned(Planes):
    """A volume whose file has its axes in another order, or some of them backwards.

    Parameters
    ----------
    source : Planes
        As in the file.
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
        """That of the file."""
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
        """Return those of the file."""
        return self._source.sources()


def _sources(parts: Sequence[Planes]) -> list[Planes]:
    return [s for p in parts for s in p.sources()]


class Resampled(Planes):
    """Volumes interpolated from their grid to another, some planes at a time.

    Parameters
    ----------
    volumes : sequence of Planes
        On the grid `source`.
    source, target : Grid
        From which, to which.
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
        """As many planes as come from what the source reads together."""
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


class Smoothed(Planes):
    """Gaussian averages of fields made of volumes: each slab is read with the planes that its averages reach.

    Parameters
    ----------
    volumes : sequence of Planes
        On `grid`.
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
        """As many planes as both margins have, or most of what is read were margins."""
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


class Axis:
    """The symmetry axis as planes of theta and phi, which are made together.

    Parameters
    ----------
    make : callable
        ``make(lo, hi)`` returns theta and phi (or None) on the planes ``lo <= ix < hi``, radians.
    shape : tuple of int
        Of the volumes.
    given : sequence of Planes
        What is read for it.
    step : int
        Planes that are best made together.
    azimuth : bool
        There is a phi.
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

    def __init__(self, axis: Axis, which: int) -> None:
        super().__init__(axis.shape)
        self._axis, self._which = axis, which

    @property
    def step(self) -> int:
        """As many planes as the axis takes together."""
        return self._axis.step

    def read(self, lo: int, hi: int) -> Part:
        """Return the planes ``lo <= ix < hi``."""
        part = self._axis.read(lo, hi)[self._which]
        assert part is not None
        return part

    def sources(self) -> list[Planes]:
        """Return those of both angles."""
        return _sources(self._axis.given)
