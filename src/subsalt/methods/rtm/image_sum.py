"""The sum of the partial images of shots, on all planes of the image or on some of them.

Whoever has some planes of every shot can finish these planes of the image: sums are taken point by point in the order
of the survey, what looks at neighbours (a Laplacian) has a few planes more on either side, and the one number that
belongs to the whole image, the mean illumination, is one chain of additions through the planes, handed on from one part
to the next.

Half offsets of gathers are summed at some columns, and finished one by one: each takes the place of the image among the
sums of the survey, so that condition, interpolation, filter and mute are those of the image, and the bits at zero. A
column of the image is made of several columns of sums: of all that an interpolation or a Laplacian looks at.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.earth.regrid import Regridder
from subsalt.kernels.sizes import DOUBLE, FLOAT
from subsalt.methods.rtm.conditions import (
    Condition,
    ImagingSums,
    LagAxis,
    Lags,
    condition_of,
)
from subsalt.methods.rtm.dips import DIP_REACH, dipping_angle_gathers, stretch_of
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.filters import LAPLACIAN_REACH, angle_gathers, laplacian, top_mute
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.numerics import fixedmath
from subsalt.numerics.side_by_side import cuts, each

ILLUMINATION = "illumination"


class ImageSum:
    """Partial images summed in the order in which they are added: the order of the survey.

    Parameters
    ----------
    setup : MigrationSetup
        Grid and imaging options.
    planes : tuple of int, optional
        First plane along x of the image that is wanted, and the one behind the last; all when left out. The image is
        made on `held`, which is wider by what the imaging looks at.

    Attributes
    ----------
    fields : dict of ndarray, (summed planes, ny, nz), float64
        The sums on the propagation grid; with ``illumination = "shot"`` the sum of the images of the shots. Where the
        image has another grid they are carried to it before anything else, so that a quotient of two sums and a
        Laplacian are taken there.
    """

    def __init__(self, setup: MigrationSetup, planes: tuple[int, int] | None = None) -> None:
        self.setup, self.shots = setup, 0
        self.grid = setup.image_grid
        nx = self.grid.shape3[0]
        self.planes = planes or (0, nx)
        lo, hi = self.planes
        reach = held_reach(setup)
        #: carries sums to the grid of the image; None where they stand there
        self.carry = Regridder(setup.model.grid, self.grid, "mirror") if setup.carries else None
        #: the planes of the image that are made
        self.held = (max(0, lo - reach), min(nx, hi + reach)) if hi > lo else (lo, lo)
        #: the planes that are summed
        self.summed = self.held if self.carry is None else self.carry.planes(*self.held)
        box = (self.summed[1] - self.summed[0], *setup.model.grid.shape3[1:])
        self.fields = {name: np.zeros(shape) for name, shape in shapes_of_sums(setup, box).items()}
        self._carried: dict[str, NDArray[np.float64]] = {}

    @property
    def condition(self) -> type[Condition]:
        """The imaging condition."""
        return condition_of(self.setup.imaging.condition)

    @property
    def by_shot(self) -> bool:
        """Shots are divided by their own illumination before they are added."""
        return divides_shots(self.setup)

    def add(self, part: ShotImage, illumination: tuple[float, int] | None = None) -> None:
        """Add one shot's accumulated fields; with ``illumination = "shot"`` its finished image.

        Parameters
        ----------
        part : ShotImage
            All planes of its window that lie in `held`; others do no harm.
        illumination : tuple of float and int, optional
            Sum of the shot's illumination and points of its window; of `part`, then the whole window, when left out.
        """
        self.shots += 1
        self._carried = {}
        lo, hi = self.summed
        box = part.box.intersect(Box((lo, *part.box.lo[1:]), (hi, *part.box.hi[1:])))
        if not box.size:
            return
        skip = slice(box.lo[0] - part.box.lo[0], box.hi[0] - part.box.lo[0])
        # partial images of another condition may hold more
        wanted = self.condition.accumulators
        sums: Mapping[str, NDArray] = {name: a[skip] for name, a in part.sums.items() if name in wanted}
        if self.by_shot:
            known = illumination or (light_of(part.sums), part.box.size)
            sums = {"image": self.of_shot(sums, box, known)}
        x, y, z = box.slices
        for name, a in sums.items():
            total = self.fields[name][x.start - lo : x.stop - lo, y, z]
            each(partial(_add, total, a), cuts(len(total), total.size))

    def take_up(self, sums: Mapping[str, NDArray[np.float64]]) -> None:
        """Begin with the sums over the first shots of the survey, on all planes `summed`; shots are added to them."""
        for name, a in sums.items():
            if name in self.fields:
                self.fields[name][...] = a

    def of_shot(
        self, sums: Mapping[str, NDArray], box: Box, illumination: tuple[float, int]
    ) -> NDArray[np.float64]:
        """Return the finished image of a shot on a box, from its sums there; parameters as of `add`."""
        own = {name: a.astype(np.float64) for name, a in sums.items() if name in self.condition.accumulators}
        return self.condition.finish(self._sums(own, self.setup.model.grid.window(box), illumination))

    def with_sum(self, name: str, values: NDArray[np.float64]) -> ImageSum:
        """Return a copy with other values of one of the sums, of the shape of that."""
        other = copy.copy(self)
        other.fields = self.fields | {name: values}
        other._carried = {n: a for n, a in self._carried.items() if n != name}
        return other

    def on_image_grid(self, name: str) -> NDArray[np.float64] | None:
        """Return one of the sums on the planes `held` of the image; None when the condition accumulates no such."""
        a, carry = self.fields.get(name), self.carry
        if a is None or carry is None:
            return a
        if name not in self._carried:
            flat = a if self.grid.ndim == 3 else a[:, 0]
            out = (
                carry.carried(flat, self.summed[0], *self.held)
                if len(a)
                else np.zeros((0, *self.grid.shape[1:]))
            )
            if name == ILLUMINATION:
                # beside a peak the average swings; light is not negative
                out = np.maximum(out, 0.0)
            self._carried[name] = out.reshape(len(out), *self.grid.shape3[1:])
        return self._carried[name]

    def light(self, before: float = 0.0) -> float:
        """Return `before` plus the illumination of `planes`, one value after the other; 0 where none is accumulated."""
        a = self.on_image_grid(ILLUMINATION)
        return before if a is None else fixedmath.total(self._wanted(a), before)

    def finish(self, light: float | None = None) -> NDArray[np.float32]:
        """Return the image on `planes`, (planes, ny, nz) or (planes, nz): condition, filter, mute.

        Parameters
        ----------
        light : float, optional
            `light` of the whole image, handed on through its parts; of this part, then the whole, when left out.
        """
        image = np.zeros(0)
        for _, image in self.steps(light):  # noqa: B007 - the last one is the image
            pass
        return self._as_image(self._wanted(image))

    def steps(self, light: float | None = None) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Yield the image on `held` after every step that makes it, with the name of the step.

        Parameters
        ----------
        light : float, optional
            As of `finish`.
        """
        grid, imaging = self.grid, self.setup.imaging
        box = Box((self.held[0], 0, 0), (self.held[1], *grid.shape3[1:]))
        if not box.size:
            yield "imaging condition", np.zeros(box.shape)
            return
        if self.by_shot:
            image = self._sum("image")
        else:
            known = self.light() if light is None else light, grid.size
            sums = {name: self._sum(name) for name in self.fields}
            image = self.condition.finish(self._sums(sums, grid.window(box), known))
        yield "imaging condition", image
        if imaging.filter == "laplacian":
            image = -laplacian(image, grid)
            yield "filter", image
        if imaging.top_mute > 0:
            image = top_mute(image, grid, imaging.top_mute, self._surface)
            yield "top_mute", image
        if self._surface is not None:
            yield "topography", self._below_topography(image)

    @cached_property
    def _surface(self) -> NDArray[np.float64] | None:
        """Depth of a free surface inside the model below the first row of `held`, (planes, ny); None without one."""
        surface = self.setup.propagation.topography
        if surface is None:
            return None
        # of all planes, then of some: their bits do not depend on which are held
        return surface.under(self.grid)[self.held[0] : self.held[1]] - self.grid.origin3[2]

    def _below_topography(self, a: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return an array on `held` with zeros above the surface: what stands there are mirror images."""
        assert self._surface is not None
        z = np.arange(a.shape[2]) * self.grid.spacing3[2]
        return np.where(z > self._surface[:, :, None], a, 0.0)

    def illumination(self) -> NDArray[np.float32] | None:
        """Return the source illumination on `planes` summed over shots, when the condition accumulates it."""
        a = self.on_image_grid(ILLUMINATION)
        if a is not None and self._surface is not None:
            a = self._below_topography(a)
        return None if a is None else self._as_image(self._wanted(a))

    def around(self, light: float | None = None) -> tuple[NDArray[np.float64], int]:
        """Return the finished image on `planes` and those beside that the dips of its events look at (`dip_reach`), and
        the number of the first plane; `light` as of `finish`.
        """
        image = np.zeros((0, *self.grid.shape3[1:]))
        for _, image in self.steps(light):  # noqa: B007 - the last one is the image
            pass
        more, (lo, hi) = dip_reach(self.setup), self.planes
        first, end = max(0, lo - more), min(self.grid.shape3[0], hi + more)
        return image[first - self.held[0] : end - self.held[0]], first

    def _wanted(self, a: NDArray) -> NDArray:
        """Return `planes` of an array on `held`."""
        return a[self.planes[0] - self.held[0] : self.planes[1] - self.held[0]]

    def _as_image(self, a: NDArray) -> NDArray[np.float32]:
        """Return planes (planes, ny, nz) in the shape and precision of an image."""
        image = np.empty((len(a), *self.grid.shape[1:]), dtype=np.float32)
        each(partial(_copy, image, a.reshape(image.shape)), cuts(len(a), a.size))
        return image

    def _sum(self, name: str) -> NDArray[np.float64]:
        total = self.on_image_grid(name)
        assert total is not None
        return total

    def _sums(
        self, fields: dict[str, NDArray[np.float64]], grid: Grid, light: tuple[float, int]
    ) -> ImagingSums:
        return ImagingSums(fields, grid, self.setup.imaging.normalise, light)


def divides_shots(setup: MigrationSetup) -> bool:
    """Return whether shots are divided by their own illumination before they are added."""
    return setup.imaging.illumination == "shot"


def reach_of(setup: MigrationSetup) -> int:
    """Return the planes on either side of a plane that making the image looks at."""
    filtered = LAPLACIAN_REACH if setup.imaging.filter == "laplacian" else 0
    return condition_of(setup.imaging.condition).reach + filtered


def dip_reach(setup: MigrationSetup) -> int:
    """Return the planes on either side of a plane that the dips of its events look at, where gathers need these."""
    gathers = setup.imaging.gathers
    dips = gathers is not None and gathers.kind == "angle" and setup.image_grid.ndim == 3
    return DIP_REACH if dips else 0


def held_reach(setup: MigrationSetup) -> int:
    """Return the planes on either side of its own on which a rank makes the image."""
    return reach_of(setup) + dip_reach(setup)


def shapes_of_sums(setup: MigrationSetup, box: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the sums over shots on a box of the propagation grid, by name."""
    return {"image": box} if divides_shots(setup) else condition_of(setup.imaging.condition).shapes(box)


def sums_bytes(setup: MigrationSetup, points: float) -> int:
    """Return the bytes of the sums over shots on so many points of the propagation grid (`ImageSum.fields`)."""
    return math.ceil(DOUBLE * points * sum(map(math.prod, shapes_of_sums(setup, (1, 1, 1)).values())))


def _add(total: NDArray, a: NDArray, some: slice) -> None:
    total[some] += a[some]


def _copy(target: NDArray, a: NDArray, some: slice) -> None:
    target[some] = a[some]


def light_of(sums: Mapping[str, NDArray], before: float = 0.0) -> float:
    """Return `before` plus the illumination of a shot's planes, one value after the other; 0 where it has none."""
    return fixedmath.total(sums[ILLUMINATION], before) if ILLUMINATION in sums else before


@dataclass(frozen=True)
class GatherPlanes:
    """The gathers of some planes of the image, along one direction of the half offsets.

    Parameters
    ----------
    axis : LagAxis
        Half offsets.
    angles : tuple of float
        Half opening angles, rad, of angle gathers; empty of others, whose traces are those of `axis.lags`.
    columns : tuple of tuple of int
        Numbers of the columns along x, and along y, on the grid of the image.
    values : ndarray, (columns along x, columns along y, traces, nz), float32
        The gathers.
    """

    axis: LagAxis
    angles: tuple[float, ...]
    columns: tuple[tuple[int, ...], tuple[int, ...]]
    values: NDArray[np.float32]

    @property
    def traces(self) -> tuple[float, ...]:
        """Half offsets, m, or angles, degrees, of the traces of a column."""
        return tuple(math.degrees(a) for a in self.angles) or self.axis.lags

    @property
    def meaning(self) -> str:
        """Meaning of these numbers, in words."""
        return "half opening angle, degrees" if self.angles else self.axis.meaning

    def inside(self, region: Box) -> GatherPlanes:
        """Return those whose columns lie in a region of the image, counted from its beginning."""
        keep = [
            [n for n, c in enumerate(some) if lo <= c < hi]
            for some, lo, hi in zip(self.columns, region.lo, region.hi, strict=False)
        ]
        columns = [
            tuple(some[n] - lo for n in numbers)
            for some, numbers, lo in zip(self.columns, keep, region.lo, strict=False)
        ]
        values = self.values[np.ix_(*keep)][..., region.lo[2] : region.hi[2]]
        return replace(self, columns=(columns[0], columns[1]), values=np.ascontiguousarray(values))


class LagSum:
    """Sums of gathers over shots, on the columns that some planes of the image need.

    Parameters
    ----------
    setup : MigrationSetup
        With gathers.
    image : ImageSum
        The sum of the images on the same planes; shots are added to it and to this one alike.
    """

    def __init__(self, setup: MigrationSetup, image: ImageSum) -> None:
        lags = setup.gathers
        assert lags is not None
        self.setup, self.image = setup, image
        self.lags: Lags = lags
        #: the columns along x that are summed, by their numbers among those of the survey
        self.part = lags.part(*image.summed)
        nz = setup.model.grid.shape3[2]
        count = len(lags.summed[1]) * len(lags.shifts)
        self.sums = np.zeros((self.part[1] - self.part[0], count, nz))

    @property
    def angles(self) -> tuple[float, ...]:
        """Half opening angles that are asked for, rad; none of gathers by half offset."""
        options = self.setup.imaging.gathers
        return options.angles if options is not None and options.kind == "angle" else ()

    def add(self, part: ShotImage, illumination: tuple[float, int] | None = None) -> None:
        """Add the sums of a shot (`ImageSum.add`); they are of `part` of the columns along x, as far as it has them."""
        # columns are cut like planes: by their numbers
        box, own = part.box, self.lags.inside(part.box).columns
        a, b = max(own.lo[0], self.part[0]), min(own.hi[0], self.part[1])
        if a >= b:
            return
        sums = self.of_shot(part, a, b)
        if self.image.by_shot:
            sums = self._divided(part, sums, (a, b), box, illumination)
        self.sums[a - self.part[0] : b - self.part[0], own.lo[1] : own.hi[1]] += sums

    def of_shot(self, part: ShotImage, first: int, end: int) -> NDArray[Any]:
        """Return the sums of a shot in the columns along x with numbers `first` to `end` among those of the survey."""
        assert part.lags is not None
        at = self.lags.inside(part.box).columns.lo[0]
        return part.lags[first - at : end - at]

    def _divided(
        self,
        part: ShotImage,
        sums: NDArray[Any],
        columns: tuple[int, int],
        box: Box,
        illumination: tuple[float, int] | None,
    ) -> NDArray[np.float64]:
        """Return what a shot adds to gathers of quotients: of every half offset the finished image of the shot."""
        xs, ys = self.places(columns, box)
        known = illumination or (light_of(part.sums), part.box.size)
        n = len(self.lags.shifts)
        each = sums.reshape(len(xs), len(ys), n, sums.shape[-1])
        out = np.zeros(each.shape)
        field = np.zeros(box.shape, np.float32)
        for k in range(n):
            field[np.ix_(xs, ys)] = each[:, :, k]
            finished = self.image.of_shot({**part.sums, "correlation": field}, box, known)
            out[:, :, k] = finished[np.ix_(xs, ys)]
        return out.reshape(sums.shape)

    def places(self, columns: tuple[int, int], box: Box) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the points of columns in a box, along x and y."""
        xs = np.array(self.lags.summed[0][columns[0] : columns[1]], np.int64) - box.lo[0]
        ys = np.array([y for y in self.lags.summed[1] if box.lo[1] <= y < box.hi[1]], np.int64) - box.lo[1]
        return xs, ys

    def finish(self, light: float) -> list[GatherPlanes]:
        """Return the gathers of the planes of the image, along every direction.

        Parameters
        ----------
        light : float
            `ImageSum.light` of the whole image.
        """
        image, lags = self.image, self.lags
        lo, hi = image.planes
        xs = np.array([c - lo for c in lags.columns[0] if lo <= c < hi], np.int64)
        ys = np.array(lags.columns[1], np.int64)
        name = "image" if image.by_shot else "correlation"
        box = Box((image.summed[0], 0, 0), (image.summed[1], *self.setup.model.grid.shape3[1:]))
        at = self.places(self.part, box)
        each = self.sums.reshape(len(at[0]), len(at[1]), len(lags.shifts), self.sums.shape[-1])
        out, k = [], 0
        for axis in lags.axes:
            nz = self.setup.image_grid.shape3[2]
            summed = np.zeros((len(xs), len(ys), len(axis.cells), nz), np.float32)
            for n in range(len(axis.cells)):
                if len(xs):
                    field = np.zeros(box.shape)
                    field[np.ix_(*at)] = each[:, :, k]
                    finished = image.with_sum(name, field).finish(light)
                    planes = finished.reshape(hi - lo, -1, nz)
                    summed[:, :, n] = planes[np.ix_(xs, ys)]
                k += 1
            columns = (tuple((xs + lo).tolist()), lags.columns[1])
            values, angles = axis.interpolated(summed), self.angles
            if angles:
                values = self._by_angle(values, axis, (xs + lo, ys), light)
            out.append(GatherPlanes(axis, angles, columns, values))
        return out

    def _by_angle(
        self,
        values: NDArray[np.float32],
        axis: LagAxis,
        columns: tuple[NDArray[np.int64], NDArray[np.int64]],
        light: float,
    ) -> NDArray[np.float32]:
        """Return angle gathers of finished ones by half offset; in 3-D without the dips of the image at the columns."""
        grid = self.setup.image_grid
        if grid.ndim == 2:
            return angle_gathers(values, axis.lags, grid.spacing3[2], self.angles)
        if not values.size:
            return np.zeros((*values.shape[:2], len(self.angles), values.shape[-1]), np.float32)
        image, first = self.image.around(light)
        stretch = stretch_of(image, grid, axis.axis)[np.ix_(columns[0] - first, columns[1])]
        return dipping_angle_gathers(values, axis.lags, grid.spacing3[2], self.angles, stretch)


def gathers_bytes(setup: MigrationSetup, ranks: int) -> dict[str, int]:
    """Return the bytes by array of summing gathers and finishing them beside the image; ranks share the planes."""
    lags = setup.gathers
    if lags is None:
        return {}
    share = -(-len(lags.summed[0]) // ranks) * len(lags.summed[1]) * len(lags.shifts)
    columns = -(-len(lags.columns[0]) // ranks) * len(lags.columns[1])
    options, grid = setup.imaging.gathers, setup.model.grid
    angles = len(lags.axes) * len(options.angles) if options is not None and options.kind == "angle" else 0
    own = columns * max(2 * len(lags.shifts), len(lags.shifts) + angles)
    planes = min(grid.shape3[0], -(-grid.shape3[0] // ranks) + 2 * held_reach(setup))
    one = DOUBLE * planes * grid.size // grid.shape3[0]
    if dip_reach(setup):
        # the image, both derivatives, their products, and the sums of one of these beside it
        planes = min(
            setup.image_grid.shape3[0], -(-setup.image_grid.shape3[0] // ranks) + 2 * held_reach(setup)
        )
        one = max(one, 7 * DOUBLE * planes * math.prod(setup.image_grid.shape3[1:]))
    # of a shot, by class, they are made in double precision
    number = FLOAT if setup.offsets is None else DOUBLE
    read = number * share * grid.shape3[2]
    return {
        "sums of gathers": DOUBLE * share * grid.shape3[2],
        "gathers": FLOAT * own * setup.image_grid.shape3[2] + max(one, 2 * read),
    }
