"""The sum of the partial images of shots, on all planes of the image or on some of them.

Whoever has some planes of every shot can finish these planes of the image: sums are taken point by point in the order
of the survey, what looks at neighbours (a Laplacian) has a few planes more on either side, and the one number that
belongs to the whole image, the mean illumination, is one chain of additions through the planes, handed on from one part
to the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.earth.regrid import Regridder
from subsalt.kernels.sizes import DOUBLE, FLOAT
from subsalt.methods.rtm.conditions import Condition, ImagingSums, condition_of
from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.filters import LAPLACIAN_REACH, laplacian, top_mute
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.numerics import fixedmath
from subsalt.numerics.side_by_side import cuts, each

#: bytes of a point of the image while condition, filter and mute make it, beside the sums
FINISHING = 3 * DOUBLE + FLOAT

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
        reach = reach_of(setup)
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
            own = {name: a.astype(np.float64) for name, a in sums.items()}
            sums = {"image": self.condition.finish(self._sums(own, self.setup.model.grid.window(box), known))}
        x, y, z = box.slices
        for name, a in sums.items():
            total = self.fields[name][x.start - lo : x.stop - lo, y, z]
            each(partial(_add, total, a), cuts(len(total), total.size))

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


def shapes_of_sums(setup: MigrationSetup, box: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the sums over shots on a box of the propagation grid, by name."""
    return {"image": box} if divides_shots(setup) else condition_of(setup.imaging.condition).shapes(box)


def sums_bytes(setup: MigrationSetup, points: float) -> int:
    """Return the bytes of the sums over shots on so many points of the propagation grid (`ImageSum.fields`)."""
    return math.ceil(DOUBLE * points * sum(map(math.prod, shapes_of_sums(setup, (1, 1, 1)).values())))


def carried_bytes(setup: MigrationSetup, points: int) -> int:
    """Return the bytes of carrying the sums to so many points of the grid of the image; 0 where they stand there."""
    if not setup.carries:
        return 0
    # the sums, and what an axis at a time holds beside the one that is carried
    return DOUBLE * (condition_of(setup.imaging.condition).per_point() + 3) * points


def summing_bytes(setup: MigrationSetup, ranks: int) -> dict[str, int]:
    """Return the bytes by array of summing partial images and finishing, where ranks share the planes."""
    nx, ny, nz = setup.image_grid.shape3
    points = min(nx, -(-nx // ranks) + 2 * reach_of(setup)) * ny * nz
    own = setup.model.grid.size / setup.image_grid.size
    # a shot's planes, once as read
    read = 2 * FLOAT * condition_of(setup.imaging.condition).per_point()
    return {
        "image": sums_bytes(setup, points * own) + carried_bytes(setup, points),
        "working space": max(read, FINISHING) * points,
        "geometry of the image": nx * ny * 3 * DOUBLE,
    }


def _add(total: NDArray, a: NDArray, some: slice) -> None:
    total[some] += a[some]


def _copy(target: NDArray, a: NDArray, some: slice) -> None:
    target[some] = a[some]


def light_of(sums: Mapping[str, NDArray], before: float = 0.0) -> float:
    """Return `before` plus the illumination of a shot's planes, one value after the other; 0 where it has none."""
    return fixedmath.total(sums[ILLUMINATION], before) if ILLUMINATION in sums else before
