"""Imaging conditions: how source and receiver wavefield become an image.

Each condition names the fields it *accumulates* over the imaged samples of a shot, and *finishes* the sums of
all shots into an image. A new condition is one class here and one line in `CONDITIONS`.

Beside the image, which is their value at h = 0, gathers keep ::

    I(x, h) = k dt sum_n u(x - h, n) w(x + h, n)

with h along x or y in whole cells of the grid on which waves are computed. The sums are taken over every k-th sample by
the operations of the image in its order, so that h = 0 has its bits. Where the velocity is right, energy lies at h = 0.

References
----------
Claerbout (1971): zero-lag cross-correlation, I = sum u w dt. Op 't Root et al. (2012), Whitmore and Crawley (2012):
inverse scattering, which removes energy that travels the same way in both fields. Rickett and Sava (2002), Geophysics
67, 883-889: space lags.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError
from subsalt.kernels.device import Device, RowProducts
from subsalt.kernels.problem import Problem
from subsalt.kernels.scaled16 import unpack16
from subsalt.kernels.work import Correlation, Snapshots
from subsalt.methods.rtm.filters import LAPLACIAN_REACH, laplacian


@dataclass
class ImagingSums:
    """Accumulated fields summed over the shots, on some planes of the image.

    Parameters
    ----------
    fields : dict of ndarray, (planes, ny, nz), float64
        By accumulator name.
    grid : Grid
        Grid of these planes.
    normalise : float
        Stabilisation lambda, relative to the mean illumination.
    illumination : tuple of float and int
        Sum of the illumination over the whole image, one value after the other, and its number of points.
    """

    fields: dict[str, NDArray[np.float64]]
    grid: Grid
    normalise: float
    illumination: tuple[float, int]


class Condition:
    """Base class: owns the accumulators of one shot, ``correlation`` (u w) and perhaps ``illumination`` (u^2).

    Parameters
    ----------
    kernels : module
        Kernels of the device.
    problem : Problem
        Problem of the receiver wavefield.
    box : Box
        The imaged window, in indices of the computational grid.
    """

    name: ClassVar[str]
    accumulators: ClassVar[tuple[str, ...]]
    #: the accumulator of products of both wavefields
    product: ClassVar[str] = "correlation"
    #: whether fields are separated into down-going and up-going ones (`subsalt.methods.rtm.companion`)
    separates: ClassVar[bool] = False
    #: planes on either side of a plane that `finish` looks at
    reach: ClassVar[int] = 0

    def __init__(self, kernels: Device, problem: Problem, box: Box) -> None:
        self.kernels, self.problem, self.box = kernels, problem, box
        self.sums: dict[str, NDArray] = {
            name: kernels.zeros(shape, problem.dtype) for name, shape in self.shapes(box.shape).items()
        }

    @classmethod
    def shapes(cls, box: tuple[int, int, int]) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the accumulators on a box of some shape, by name."""
        return dict.fromkeys(cls.accumulators, box)

    @classmethod
    def per_point(cls) -> int:
        """Return the numbers that all accumulators together have for a point of the image."""
        return sum(math.prod(shape) for shape in cls.shapes((1, 1, 1)).values())

    def snapshots(self, fields: Mapping[int, NDArray | None], scale: float) -> Snapshots:
        """Return what the source wavefield leaves: its imaged samples, and its energy where that is accumulated.

        Parameters
        ----------
        fields : mapping of int to ndarray, shape of the box, or None
            Room for the samples, by time index; None where the sample itself is not wanted.
        scale : float
            k dt, the time that a sample stands for.
        """
        return Snapshots(self.box, fields, self.sums.get("illumination"), scale)

    def correlation(self, fields: Mapping[int, NDArray], scale: float) -> Correlation:
        """Return how the receiver wavefield meets those samples, by its own time index."""
        return Correlation(self.box, fields, self.sums[self.product], scale)

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the image on the planes of the sums; a plane is right when `reach` planes beyond it are there."""
        raise NotImplementedError


class CrossCorrelation(Condition):
    """Correlate source and receiver field at every imaged sample.

    Notes
    -----
    ``I(x) = k dt sum_n u(x, n) w(x, n)`` over every k-th sample; units of data times source.
    """

    name: ClassVar[str] = "cross-correlation"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the sum itself, no copy: every step after it makes an array of its own."""
        return sums.fields["correlation"]


class SourceNormalised(Condition):
    """Correlate, and accumulate the energy of the source field beside it.

    Notes
    -----
    ``I(x) = sum u w / (sum u^2 + lambda mean(sum u^2))``, both summed over all shots first; lambda = 0.01 by
    default. Dimensionless when source and data have the same unit.

    In reflectivity mode a reflection coefficient, over the cosine of the angle of incidence: reflectors that are seen
    at wide angles come out larger.

    The floor is taken from the mean over the image. The maximum, which stands right at a source and grows
    without bound as the grid gets finer, would in 3-D lie above the illumination of the whole depth: a
    reflector of R = 0.2 at 330 m then images as 0.06.
    """

    name: ClassVar[str] = "source-normalised"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation", "illumination")

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Divide correlation by stabilised illumination; zero where no source energy came at all."""
        illumination = sums.fields["illumination"]
        total, points = sums.illumination
        floor = sums.normalise * total / points
        if floor <= 0.0:
            return np.zeros_like(illumination)
        return sums.fields[cls.product] / (illumination + floor)


class InverseScattering(Condition):
    """Correlate both fields; weigh every pair of waves by 1 - cos of the angle between them.

    Notes
    -----
    The condition is ``IS = sum [u_t w_t / v^2 - grad u . grad w] dt`` with w in forward time. Two waves along
    n and n' meet in it with the factor ``k^2 (1 - n . n')``: nothing for waves that travel together, ``2 k^2
    cos^2`` of half the opening angle for source and reflected wave. Both fields obey the wave equation away
    from sources, so that ::

        lap(u w) = u w_tt / v^2 + w u_tt / v^2 + 2 grad u . grad w

    and, with sums by parts over time, for any v(x)::

        IS = - 1/2 lap sum u w dt

    Only the correlation has to be accumulated. Exact for isotropic media; with the imaged field of VTI media
    an approximation.
    """

    name: ClassVar[str] = "inverse-scattering"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)
    reach: ClassVar[int] = LAPLACIAN_REACH

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return -1/2 lap of the correlation."""
        return -0.5 * laplacian(sums.fields["correlation"], sums.grid)


class UpDown(SourceNormalised):
    """Multiply the down-going part of the source field and the up-going part of that of the receivers.

    Notes
    -----
    ``I(x) = sum u_down w_up / (sum u^2 + lambda mean(sum u^2))`` (Liu et al. 2011), both summed over all shots first.
    Waves that a strong contrast sends back travel beside those that came, down or up in both fields, and are left out.
    So is what a turned wave or the lower side of a reflector would image. Which way a wave goes is the sign of its
    wavenumber in depth: near the horizontal a field is parted gradually. `subsalt.methods.rtm.companion` has formulas.
    """

    name: ClassVar[str] = "up-down"
    accumulators: ClassVar[tuple[str, ...]] = ("separated", "illumination")
    product: ClassVar[str] = "separated"
    separates: ClassVar[bool] = True

    def correlation(self, fields: Mapping[int, NDArray], scale: float) -> Correlation:
        """Return no products of whole wavefields: they are separated first."""
        return Correlation(self.box, {}, self.sums[self.product], scale)


CONDITIONS: dict[str, type[Condition]] = {
    "cross-correlation": CrossCorrelation,
    "source-normalised": SourceNormalised,
    "inverse-scattering": InverseScattering,
    "up-down": UpDown,
}


def condition_of(name: str) -> type[Condition]:
    """Return the condition class by its job-file name."""
    if name not in CONDITIONS:
        raise ConfigError(
            f"condition {name!r} is not one of {', '.join(CONDITIONS)}", "use source-normalised", "E130"
        )
    return CONDITIONS[name]


#: name of the sums of gathers among the accumulators of a shot
LAGS = "lags"

#: samples of both wavefields whose products are added together at most
MOST_SAMPLES = 8

#: a half offset this near to a whole number of cells is one, in cells
WHOLE = 1e-6

#: bytes of a number in single precision, and of a triple of rows (`Device.row_products`)
FLOAT, TRIPLE = 4, 24


@dataclass(frozen=True)
class LagAxis:
    """Half offsets along one axis.

    Parameters
    ----------
    axis : int
        0: along x, 1: along y.
    cells : tuple of int
        The half offsets that are summed, in cells of the grid on which waves are computed, ascending.
    lags : tuple of float
        Those that are asked for, m, ascending.
    weights : ndarray, (lags, cells), float64, or None
        Interpolation of the asked ones between the summed ones; None where they are the same.
    """

    axis: int
    cells: tuple[int, ...]
    lags: tuple[float, ...]
    weights: NDArray[np.float64] | None = None

    @property
    def name(self) -> str:
        """``"x"`` or ``"y"``."""
        return "xy"[self.axis]

    @property
    def key(self) -> str:
        """Name of the axis in files and datasets."""
        return f"half_offset_{self.name}"

    @property
    def meaning(self) -> str:
        """Meaning of its numbers, in words."""
        return f"half offset along {self.name}, m"

    def interpolated(self, summed: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the gathers that are asked for, (..., lags, nz), of the finished ones of all `cells`."""
        if self.weights is None:
            return summed
        out = np.matmul(self.weights, summed.astype(np.float64)).astype(np.float32)
        # the image itself is not interpolated: not even the sign of a zero changes
        out[..., len(self.lags) // 2, :] = summed[..., self.cells.index(0), :]
        return out


@dataclass(frozen=True)
class Lags:
    """The gathers of a survey: half offsets, columns of the image, and the columns on which their sums are taken.

    Parameters
    ----------
    axes : tuple of LagAxis
        Half offsets along x, along y, or both.
    columns : tuple of tuple of int
        Numbers of the columns of the image along x, and along y, that get gathers.
    summed : tuple of tuple of int
        Numbers along x and y of the columns on the grid of the waves that these are made of, ascending.
    """

    axes: tuple[LagAxis, ...]
    columns: tuple[tuple[int, ...], tuple[int, ...]]
    summed: tuple[tuple[int, ...], tuple[int, ...]]

    @cached_property
    def shifts(self) -> NDArray[np.int64]:
        """Half offsets that are summed, in cells along x and y, (n, 2): of the first axis, then of the other one."""
        out = np.zeros((sum(len(a.cells) for a in self.axes), 2), np.int64)
        first = 0
        for a in self.axes:
            out[first : first + len(a.cells), a.axis] = a.cells
            first += len(a.cells)
        return out

    def within(self, stored: Lags) -> bool:
        """Return whether other gathers have the sums of all half offsets and columns of these."""
        shifts = [set(map(tuple, lags.shifts.tolist())) for lags in (self, stored)]
        some = (set(a) <= set(b) for a, b in zip(self.summed, stored.summed, strict=True))
        return all(some) and shifts[0] <= shifts[1]

    def taken_from(self, stored: Lags, sums: NDArray[np.float32], box: Box) -> NDArray[np.float32]:
        """Return the sums of these in a window from those of gathers that have them all (`within`)."""
        own, theirs, shifts = self.inside(box), stored.inside(box), stored.shifts.tolist()
        each = sums.reshape(*map(len, theirs.places), len(shifts), sums.shape[-1])
        columns = [np.searchsorted(a, b) for a, b in zip(theirs.places, own.places, strict=True)]
        chosen = each[np.ix_(*columns, [shifts.index(s) for s in self.shifts.tolist()])]
        return np.ascontiguousarray(chosen.reshape(own.shape))

    @cached_property
    def name(self) -> str:
        """Name that tells these sums from those of other half offsets or columns."""
        text = repr((self.shifts.tolist(), self.summed))
        return f"{LAGS} {hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def inside(self, box: Box) -> LagBox:
        """Return the part of the sums that lies in a box of the grid of the waves."""
        (a, b), (c, d) = (
            np.searchsorted(np.array(self.summed[i]), [box.lo[i], box.hi[i]]).tolist() for i in (0, 1)
        )
        n = len(self.shifts)
        return LagBox(self, box, Box((a, c * n, box.lo[2]), (max(a, b), max(c, d) * n, box.hi[2])))

    def part(self, first: int, end: int) -> tuple[int, int]:
        """Return which of the columns along x of the sums lie in the planes `first` to `end` of the grid."""
        a, b = np.searchsorted(np.array(self.summed[0]), [first, end]).tolist()
        return a, max(a, b)

    def refuse_wide(self, box: Box, grid: Grid, shot: int) -> None:
        """Raise when no column of a window has both wavefields at the largest half offset.

        Raises
        ------
        ConfigError
            E756, with the largest that would do.
        """
        for a in self.axes:
            n, h, most = box.shape[a.axis], grid.spacing3[a.axis], a.lags[-1]
            if most > h * ((n - 1) // 2 + WHOLE):
                raise ConfigError(
                    f"gathers max = {most:g} m along {a.name}: the wavefields are read {2 * most:g} m apart, and the "
                    f"window of shot {shot} is {(n - 1) * h:g} m wide",
                    f"use max = {h * ((n - 1) // 2):g} or less, or a wider [imaging] aperture",
                    code="E756",
                )


@dataclass(frozen=True)
class LagBox:
    """The sums of the gathers of a window.

    Parameters
    ----------
    lags : Lags
        Those of the survey.
    box : Box
        The window, on the grid of the waves.
    columns : Box
        Numbers of its columns along x among those that are summed; along y these times the half offsets, one after the
        other; depths of the window.
    """

    lags: Lags
    box: Box
    columns: Box

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of the sums: (columns along x, columns along y times half offsets, nz)."""
        return self.columns.shape

    def share(self, rank: int, ranks: int) -> LagBox:
        """Return the columns along x of one of the ranks that share a shot."""
        (a, *lo), (b, *hi) = self.columns.lo, self.columns.hi
        first, end = (a + (b - a) * k // ranks for k in (rank, rank + 1))
        return replace(self, columns=Box((first, lo[0], lo[1]), (end, hi[0], hi[1])))

    @property
    def span(self) -> int:
        """Planes from the first column along x to the last one."""
        xs = self.places[0]
        return int(xs[-1] - xs[0]) + 1 if len(xs) else 0

    @cached_property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Points of the columns along x and y, counted from the beginning of the window."""
        (a, c, _), (b, d, _) = self.columns.lo, self.columns.hi
        n = len(self.lags.shifts)
        xs, ys = (np.array(s, np.int64) for s in self.lags.summed)
        return xs[a:b] - self.box.lo[0], ys[c // n : d // n] - self.box.lo[1]

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """Triples (sum, source, receivers) of rows whose products are added, (n, 3), column by column.

        Pairs that reach out of the window have none.
        """
        nx, ny, _ = self.box.shape
        xs, ys = self.places
        sx, sy = self.lags.shifts.T
        x, y = xs[:, None, None], ys[None, :, None]
        source, receivers = (x - sx, y - sy), (x + sx, y + sy)
        inside = np.ones((len(xs), len(ys), len(sx)), bool)
        for px, py in (source, receivers):
            inside &= (px >= 0) & (px < nx) & (py >= 0) & (py < ny)
        at = np.arange(inside.size).reshape(inside.shape)
        u, w = (np.broadcast_to(px * ny + py, inside.shape) for px, py in (source, receivers))
        return np.ascontiguousarray(np.stack([at[inside], u[inside], w[inside]], axis=1), np.int64)

    @property
    def bytes(self) -> int:
        """Bytes of the sums."""
        return FLOAT * self.products

    @property
    def products(self) -> int:
        """Products that a sample adds, those of pairs that reach out of the window included."""
        return math.prod(self.shape)

    @property
    def at_once(self) -> int:
        """Samples whose products are added together: more where the sums are large beside the fields.

        The sums go through memory once for all of them, the fields of the receivers are held meanwhile.
        """
        return max(1, min(MOST_SAMPLES, self.bytes // max(1, FLOAT * self.box.size)))

    @property
    def held(self) -> int:
        """Bytes of the samples that are held, and of the triples of rows."""
        pairs = math.prod(self.shape[:2])
        # twice: pairs, and those inside
        return self.at_once * FLOAT * self.box.size + 2 * TRIPLE * pairs

    def weigh(self, sums: NDArray[np.float32], weights: Sequence[NDArray[np.float32]]) -> None:
        """Multiply sums of a shot by weights along x, y and z, as the image is (`engine.window_weights`)."""
        xs, ys = self.places
        each = sums.reshape(len(xs), len(ys), len(self.lags.shifts), sums.shape[-1])
        for weight in weights:
            along = weight[xs] if weight.shape[0] > 1 else weight
            along = along[:, ys] if along.shape[1] > 1 else along
            each *= along[:, :, None, :]


class SharedRows(Protocol):
    """The rows of wavefields that the columns of a rank read; see `lag_exchange.RowExchange`."""

    box: LagBox
    shape: tuple[int, int, int]
    rows: NDArray[np.int64]

    def brought(self, fields: Sequence[NDArray[np.float32]]) -> list[NDArray[np.float32]]:
        """Return the rows that are read, of every sample; collective."""


class LagSums:
    """Accumulates the gathers of a shot while the wavefield of its receivers runs.

    Parameters
    ----------
    lags : Lags
        Those of the survey.
    kernels : Device
        Kernels of the device.
    box : Box
        Window of the shot, on the grid of the waves.
    dtype : type
        Type of the numbers of wavefields.
    shared : SharedRows, optional
        Brings the rows that columns read where ranks share the shot.

    Attributes
    ----------
    sums : ndarray, `LagBox.shape`
        ``k dt sum u(x - h) w(x + h)``.
    """

    def __init__(
        self,
        lags: Lags,
        kernels: Device,
        box: Box,
        dtype: type = np.float32,
        shared: SharedRows | None = None,
    ) -> None:
        whole = lags.inside(box)
        self._products, self.box, self._shared = refuse_device(kernels), whole, shared
        self._rows, shape = (whole.rows, box.shape) if shared is None else (shared.rows, shared.shape)
        if shared is not None:
            self.box = shared.box
        self.sums: NDArray = kernels.zeros(self.box.shape, dtype)
        # as many samples at once on all ranks
        self._rooms: list[NDArray] = [np.zeros(shape, dtype) for _ in range(whole.at_once)]

    def pieces(self, samples: Sequence[int], one_by_one: bool = False) -> list[list[int]]:
        """Return samples in pieces of those that are added together."""
        size = 1 if one_by_one else len(self._rooms)
        return [list(samples[i : i + size]) for i in range(0, len(samples), size)]

    def room(self, number: int) -> NDArray:
        """Return memory for the field of the receivers at a sample of a piece."""
        return self._rooms[number]

    def add(self, source: Sequence[NDArray], receivers: Sequence[NDArray], scale: float) -> None:
        """Add the products of some samples, the first one first; collective where ranks share the shot.

        Parameters
        ----------
        source, receivers : sequence of ndarray, shape of the window
            Fields; those of the source may be packed in 16 bits (`subsalt.kernels.scaled16`).
        scale : float
            k dt.
        """
        nz = self.box.box.shape[2]
        u, w = ([_plain(a, nz).reshape(-1, nz) for a in fields] for fields in (source, receivers))
        if self._shared is not None:
            u, w = self._shared.brought(u), self._shared.brought(w)
        if len(self._rows):
            self._products(self.sums.reshape(-1, nz), u, w, self._rows, scale)


def refuse_device(kernels: Device) -> RowProducts:
    """Return the kernel for gathers of a device.

    Raises
    ------
    ConfigError
        E757: it has none.
    """
    if kernels.row_products is None:
        raise ConfigError(
            f"the device {kernels.NAME} has no kernels for gathers",
            'use device = "cpu", or leave [imaging] gathers out',
            code="E757",
        )
    return kernels.row_products


def refuse_own_memory(kernels: Device, what: str) -> None:
    """Raise where wavefields lie in the memory of a device: a second wavefield of the receivers runs on a processor.

    Raises
    ------
    ConfigError
        E758.
    """
    if kernels.OWN_MEMORY:
        raise ConfigError(
            f"{what}: the device {kernels.NAME} does not advance a second wavefield of the receivers",
            'use device = "cpu", or leave it out',
            code="E758",
        )


def _plain(field: NDArray, nz: int) -> NDArray:
    """Return a field as it is, or unpacked, which is exact."""
    return unpack16(field, nz) if field.dtype == np.int16 else field
