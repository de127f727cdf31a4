"""From one grid to another without folding: what waves of a band see of a volume stays where it is.

A volume is convolved with a sinc that ends at the Nyquist wavenumber of the coarser grid, in a Kaiser window, along
one axis after the other. An interface between two points of the coarser grid then acts where it is. What is averaged
is what a layered medium shows to waves: 1 / vp^2, 1 + 2 delta and (1 + 2 delta) (epsilon - delta) (`thomsen`). A
sample of a model stands for its cell: two of different velocity meet in the middle between them. Nodes at the edges of
a model have its values there, which absorbing layers continue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt.earth import tilt
from subsalt.earth.building import of_angles, to_angles
from subsalt.earth.grid import Grid
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import InMemoryPlanes, Planes
from subsalt.earth.streamed import Files
from subsalt.numerics import fixedmath
from subsalt.numerics.axis_weights import AxisWeights
from subsalt.numerics.side_by_side import cuts, each
from subsalt.numerics.stencil import Stencil
from subsalt.parallel.comm import Comm


class Mean(NamedTuple):
    """A Kaiser window: half its width in points of the coarser grid, and its shape."""

    reach: int
    shape: float


#: window for models. A reflection needs the model up to nearly the Nyquist wavenumber and nothing beyond it: with the
#: window of images it took 4.6 points per wavelength where 4.4 suffice
OF_MODEL = Mean(10, 5.0)
#: window for images, which have large values beside the sources, from where a longer window rings into the image
OF_IMAGE = Mean(6, 6.0)
#: how far a sharp contrast may swing beyond the velocities of the model, as a part of the fastest and the slowest, in
#: migrations. A larger swing would shorten the time step of the whole survey for the sake of a few points
SWING = 0.1
#: the same where reflections are modelled: a contrast of 1 to 3 that may not swing reflects wrongly by 9 %
FULL_SWING = 1.0

Edge = Literal["nearest", "mirror"]

#: index that counts as that of an edge, or the difference from it
_AT_EDGE = 1e-6

#: points of a block of work in float64: its temporary arrays stay in a core's cache
BLOCK = 1 << 16

_POINT = ((0.0, 1.0),)
#: Gauss-Legendre points of a cell of unit width, and their weights
_CELL = (
    (-0.43056815579702629, 0.17392742256872693),
    (-0.16999052179242813, 0.32607257743127307),
    (0.16999052179242813, 0.32607257743127307),
    (0.43056815579702629, 0.17392742256872693),
)


def window(d: NDArray[np.float64], mean: Mean) -> NDArray[np.float64]:
    """Return the windowed sinc at distances in points of the coarser grid, up to a factor; zero beyond its reach."""
    inside = 1.0 - (d / mean.reach) ** 2
    shape = fixedmath.bessel_i0(mean.shape * np.sqrt(np.clip(inside, 0, None)))
    return np.where(inside >= 0, fixedmath.sinc(d) * shape, 0.0)


def passed(kappa: NDArray[np.float64], mean: Mean = OF_MODEL) -> NDArray[np.float64]:
    """Return the part of a wave along one axis that a window passes, by its wavenumber in radians per coarser point.

    Notes
    -----
    One half at pi, the Nyquist wavenumber; ``passed(k) + passed(2 pi - k)`` is nearly one.
    """
    d = (np.arange(20 * mean.reach) + 0.5) / 20
    w = window(d, mean)
    total = np.zeros(np.shape(kappa))
    for at, weight in zip(d.tolist(), w.tolist(), strict=True):
        total += weight * fixedmath.cos(kappa * at)
    return total / fixedmath.total(w)


def weights_between(
    source: Grid, target: Grid, axis: int, edge: Edge = "nearest", cells: bool = False
) -> AxisWeights:
    """Return the weights (target points, source points) along an axis; those of a target point add up to 1.

    Parameters
    ----------
    source, target : Grid
        Grid of the arrays, and grid of the result.
    axis : int
        Axis of both.
    edge : {"nearest", "mirror"}
        Values outside the source: its edge value, or its values mirrored there.
    cells : bool
        The source is a model, whose values stand for their cells: the window is `OF_MODEL`, averaged over the cell.
        With edge values outside, points at its edges take exactly those (`_take_edges`). Else it is an image, whose
        values stand for points: the window is `OF_IMAGE`.

    Notes
    -----
    All functions have the same bits on every machine, since the weights are on the way to the image.
    """
    n, places = source.shape[axis], target.axis(axis)
    outside = (0, 0)
    if cells and edge == "nearest" and n > 1 and len(places) > 1:
        places, outside = _with_nodes_outside(source, places, axis)
    at, h = source.index_along(axis, places), source.spacing_along(axis, places)
    # the coarser of the two spacings at every target point
    wide = np.maximum(h, target.spacing_along(axis, places))
    mean = OF_MODEL if cells else OF_IMAGE
    reach = mean.reach * wide / h + (0.5 if cells else 0.0)
    first, last = np.ceil(at - reach).astype(int), np.floor(at + reach).astype(int)
    counts = last - first + 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    # all target points in one row: one call for the functions of all weights
    index = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
    h, wide = np.repeat(h, counts), np.repeat(wide, counts)
    d = (index - np.repeat(at, counts)) * h / wide
    raw = np.zeros_like(d)
    for off, weight in _CELL if cells else _POINT:
        raw += weight * window(d + off * h / wide, mean)
    if edge == "nearest" or n == 1:
        inside = np.clip(index, 0, n - 1)
    else:
        inside = (n - 1) - np.abs((n - 1) - np.abs(index) % (2 * n - 2))
    rows: list[dict[int, float]] = []
    for begin, end in pairwise(starts.tolist()):
        weights = raw[begin:end].tolist()
        total = math.fsum(weights)
        known: dict[int, float] = {}
        for i, w in zip(inside[begin:end].tolist(), weights, strict=True):
            known[i] = known.get(i, 0.0) + w
        rows.append({i: w / total for i, w in known.items()})
    if any(outside):
        _take_edges(rows, at, n)
    rows = rows[outside[0] : len(rows) - outside[1]]
    return AxisWeights(rows, n)


def _with_nodes_outside(
    source: Grid, places: NDArray[np.float64], axis: int
) -> tuple[NDArray[np.float64], tuple[int, int]]:
    """Return places, continued on both sides to where a window reaches the source no more, and how many were added."""
    first, last = places[1] - places[0], places[-1] - places[-2]
    h = source.spacing_along(axis, places[[0, -1]]).tolist()
    before, after = (
        math.ceil((OF_MODEL.reach * max(step, of) + 0.5 * of) / step) + 1
        for step, of in zip((first, last), h, strict=True)
    )
    above = places[0] - first * np.arange(before, 0, -1)
    below = places[-1] + last * np.arange(1, after + 1)
    return np.concatenate([above, places, below]), (before, after)


def _take_edges(rows: list[dict[int, float]], at: NDArray[np.float64], n: int) -> None:
    """Let nodes at the edges of a model and outside take the values of its edges, without a change of the integral.

    The absorbing layer continues the outermost node. Where velocity has a slope at the edge, the average there is not
    the value of the edge, and waves along the edge would be too fast or too slow for as far as they go. What the nodes
    at the edge and outside had more than its value goes to the next node inside.
    """
    inside = np.flatnonzero((at > _AT_EDGE) & (at < n - 1 - _AT_EDGE))
    if not len(inside):
        return
    for outer, node, i in (
        (range(inside[0]), int(inside[0]), 0),
        (range(inside[-1] + 1, len(rows)), int(inside[-1]), n - 1),
    ):
        more: dict[int, list[float]] = {}
        for k in outer:
            for column, w in rows[k].items():
                more.setdefault(column, []).append(w)
            more.setdefault(i, []).append(-1.0)
            rows[k] = {i: 1.0}
        for column, terms in more.items():
            rows[node][column] = math.fsum([rows[node].get(column, 0.0), *terms])


class Regridder:
    """Carries arrays from one grid to another, all planes or some of them; bits do not depend on which.

    Parameters
    ----------
    source, target : Grid
        Grid of the arrays, and grid of the result.
    edge : {"nearest", "mirror"}
        Continuation at the edges, as in `weights_between`.
    cells : bool
        Whether samples stand for cells, as in `weights_between`.
    """

    def __init__(self, source: Grid, target: Grid, edge: Edge = "nearest", cells: bool = False) -> None:
        self.source, self.target = source, target
        #: weights along each axis
        self.weights = [weights_between(source, target, axis, edge, cells) for axis in range(source.ndim)]

    def planes(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes (first, end) of the source that the planes `lo` to `hi` of the target take."""
        return self.needed(0, lo, hi)

    def needed(self, axis: int, lo: int, hi: int) -> tuple[int, int]:
        """Return the points (first, end) along an axis of the source that `lo` to `hi` of the target take."""
        return self.weights[axis].needed(lo, hi)

    def carried(self, values: NDArray[Any], first: int, lo: int, hi: int) -> NDArray[np.float64]:
        """Return the planes `lo` to `hi` of the target; `values` are those of the source from plane `first` on.

        Parameters
        ----------
        values : ndarray, (planes, ...)
            Values, in 2-D (nx, nz), in 3-D (nx, ny, nz).
        """
        out = values
        for axis in reversed(range(1, self.source.ndim)):
            out = self.weights[axis].applied(out, axis)
        return self.weights[0].applied(out, 0, lo, hi, first)


class Regridded:
    """Volumes on another grid, made together by what the wave equation averages, some planes at a time.

    Parameters
    ----------
    volumes : sequence of Planes
        Volumes on the source grid of `by`.
    by : Regridder
        Regridder from that grid to the new one.
    before : callable
        From values of all volumes to those of the `fields` that are averaged, point by point.
    after : callable
        From averages to the values of all `made`, point by point.
    fields, made : int
        Numbers of fields that are averaged, and of volumes made of them.

    Attributes
    ----------
    parts : list of Planes
        The volumes that are made. What one of them reads is made for all and kept until each has read it.
    """

    def __init__(
        self,
        volumes: Sequence[Planes],
        by: Regridder,
        before: Callable[..., list[NDArray[Any]]],
        after: Callable[[list[NDArray[np.float64]]], list[NDArray[Any]]],
        *,
        fields: int = 1,
        made: int = 1,
    ) -> None:
        self._volumes, self._by, self._before, self._after = list(volumes), by, before, after
        self._fields = fields
        self.shape = by.target.shape
        self.parts: list[Planes] = [_Part(self, which) for which in range(made)]
        # what some of the parts have yet to read
        self._kept: tuple[int, int, dict[int, NDArray[np.float32]]] = (0, 0, {})
        # the planes of the source that are held, averaged across, and their numbers: planes that are read in turn share
        # their margins, which are as wide as they. Plane i is at i modulo the length of the rings
        self._rings: list[NDArray[np.float64]] = []
        self._held = (0, 0)

    @property
    def step(self) -> int:
        """As many planes as the margins have, or most of what is read were margins."""
        per_plane = self._by.source.spacing[0] / self._by.target.spacing[0]
        return max(2 * OF_MODEL.reach, int(max(p.step for p in self._volumes) * per_plane))

    def read(self, which: int, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi`` of one of the parts."""
        if (lo, hi) != self._kept[:2] or which not in self._kept[2]:
            self._kept = (lo, hi, {})
            self._kept = (lo, hi, dict(enumerate(self._made(lo, hi))))
        return self._kept[2].pop(which)

    def sources(self) -> list[Planes]:
        """Return those of the volumes."""
        return [s for p in self._volumes for s in p.sources()]

    def _made(self, lo: int, hi: int) -> list[NDArray[np.float32]]:
        """Return the planes ``lo <= ix < hi`` of all parts, made some at a time: averages are in double precision."""
        out = [np.empty((hi - lo, *self.shape[1:]), np.float32) for _ in self.parts]
        for begin in range(lo, hi, self.step):
            stop = min(hi, begin + self.step)
            first, end = self._by.planes(begin, stop)
            self._hold(first, end)
            self._finish([a[begin - lo : stop - lo] for a in out], begin, first)
            if stop == self.shape[0]:
                self._rings, self._held = [], (0, 0)
        return out

    def _finish(self, out: list[NDArray[np.float32]], begin: int, first: int) -> None:
        """Write planes of all parts, from `begin` on, made of planes of the source that are held, from `first` on."""
        planes, inner = len(out[0]), math.prod(self.shape[1:])
        rings = [ring.reshape(1, len(ring), inner) for ring in self._rings]
        flat = [a.reshape(planes, inner) for a in out]
        turn = first // len(self._rings[0]) * len(self._rings[0])

        def some(cut: slice) -> None:
            means = [np.empty((1, planes, cut.stop - cut.start)) for _ in rings]
            for mean, ring in zip(means, rings, strict=True):
                self._by.weights[0].into(mean, ring[:, :, cut], begin, turn, ring=True)
            for to, values in zip(flat, self._after([mean[0] for mean in means]), strict=True):
                to[:, cut] = values

        each(some, cuts(inner, planes * inner, BLOCK))

    def _hold(self, first: int, end: int) -> None:
        """Hold the planes `first` to `end` of the source, averaged across; those that are held are not read again."""
        if not self._rings:
            most = max(self._by.weights[0].most(self.step), end - first)
            across = self._by.target.shape[1:]
            self._rings = [np.empty((most, *across)) for _ in range(self._fields)]
        first_held, end_held = self._held
        begin = end_held if first_held <= first < end_held <= end else first
        if begin < end:
            values = [p.read(begin, end) for p in self._volumes]
            each(
                lambda cut: self._across(
                    [v[cut.start - begin : cut.stop - begin] for v in values], cut.start
                ),
                self._pieces(begin, end),
            )
        self._held = (first, end)

    def _pieces(self, begin: int, end: int) -> list[slice]:
        """Return the planes `begin` to `end` of the source in pieces of which the end of the rings cuts none."""
        plane, ring = math.prod(self._by.source.shape[1:]), len(self._rings[0])
        turns = [(max(begin, turn), min(end, turn + ring)) for turn in range(begin // ring * ring, end, ring)]
        return [
            slice(lo + cut.start, lo + cut.stop)
            for lo, hi in turns
            for cut in cuts(hi - lo, (hi - lo) * plane, BLOCK)
        ]

    def _across(self, values: list[NDArray[np.float32]], first: int) -> None:
        """Put planes of the source, from `first` on, averaged across, into the rings."""
        at = first % len(self._rings[0])
        planes, last = len(values[0]), self._by.weights[-1]
        rings = [ring[at : at + planes] for ring in self._rings]
        # by columns along z
        columns = [v.reshape(-1, v.shape[-1], 1) for v in values]
        n, nz = columns[0].shape[:2]
        along_z = [r.reshape(n, -1, 1) if r.ndim == 2 else np.empty((n, last.shape[0], 1)) for r in rings]
        for cut in cuts(n, n * nz, BLOCK):
            for field, to in zip(self._before(*(c[cut] for c in columns)), along_z, strict=True):
                last.into(to[cut], field, 0, 0)
        if self._by.source.ndim == 3:
            for field, to in zip(along_z, rings, strict=True):
                self._by.weights[1].into(to, field.reshape(planes, -1, field.shape[1]), 0, 0)


class _Part(Planes):
    """One of the volumes that are made together."""

    def __init__(self, regridded: Regridded, which: int) -> None:
        super().__init__(regridded.shape)
        self._regridded, self._which = regridded, which

    @property
    def step(self) -> int:
        """Step of all of them."""
        return self._regridded.step

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        return self._regridded.read(self._which, lo, hi)

    def sources(self) -> list[Planes]:
        """Return the sources of all of them."""
        return self._regridded.sources()


def velocity(vp: Planes, by: Regridder, limits: tuple[float, float], swing: float = SWING) -> Planes:
    """Return vp (m/s) by the mean of 1 / vp^2.

    Parameters
    ----------
    limits : tuple of float
        Slowest and fastest of the model, m/s.
    swing : float
        Overshoot of a contrast, beyond the fastest, as a part of it; beyond the slowest `SWING`, which none reaches.
    """
    slow, fast = limits[0] * (1 - SWING), limits[1] * (1 + swing)

    def back(fields: list[NDArray[np.float64]]) -> list[NDArray[Any]]:
        return [1.0 / np.sqrt(np.clip(fields[0], 1.0 / (fast * fast), 1.0 / (slow * slow)))]

    return Regridded([vp], by, lambda a: [1.0 / np.square(a, dtype=np.float64)], back).parts[0]


def thomsen(epsilon: Planes, delta: Planes, by: Regridder, over: bool) -> dict[str, Planes]:
    """Return epsilon and delta by the means of what the waves of a layered medium see.

    Parameters
    ----------
    over : bool
        The model has delta > epsilon somewhere, which the gate treats; else the averages have it nowhere.

    Notes
    -----
    In a medium that changes with z alone, at the horizontal slowness u, the field q of `subsalt.physics.vti` obeys ::

        q_zz = w^2 [ -1/v^2 + u^2 s^2 / (1 - v^2 u^2 d) ] q,    s^2 = 1 + 2 delta,  d = 2 (epsilon - delta)

    so that the means of 1 / v^2, of s^2 and, for the next power of u^2, of s^2 d are what reflects.
    """

    def terms(e: NDArray[Any], d: NDArray[Any]) -> list[NDArray[Any]]:
        e, d = e.astype(np.float64), d.astype(np.float64)
        return [1.0 + 2.0 * d, (1.0 + 2.0 * d) * (e - d)]

    def back(fields: list[NDArray[np.float64]]) -> list[NDArray[Any]]:
        mean_delta = 0.5 * (fields[0] - 1.0)
        beyond = fields[1] / fields[0]
        mean_epsilon = mean_delta + (beyond if over else np.maximum(beyond, 0.0))
        if not over:
            # after both are rounded to float32
            mean_epsilon = np.maximum(mean_epsilon.astype(np.float32), mean_delta.astype(np.float32))
        return [mean_epsilon, mean_delta]

    made = Regridded([epsilon, delta], by, terms, back, fields=2, made=2)
    return dict(zip(("epsilon", "delta"), made.parts, strict=True))


def axis(angles: list[Planes], by: Regridder) -> dict[str, Planes]:
    """Return theta and, in 3-D, phi of the symmetry axis, radians, by the mean of the director (`building.of_angles`).

    Parameters
    ----------
    angles : list of Planes
        theta and, where there is one, phi.
    """
    ndim = by.source.ndim

    def director(theta: NDArray[Any], phi: NDArray[Any] | None = None) -> list[NDArray[Any]]:
        return of_angles(theta, np.zeros_like(theta) if ndim == 3 and phi is None else phi)

    def back(fields: list[NDArray[np.float64]]) -> list[NDArray[Any]]:
        mean = to_angles(fields)
        angles_made = tilt.normalised(mean["theta"], mean.get("phi"), ndim, False)
        return [a for a in angles_made if a is not None]

    number, names = (6, ("theta", "phi")) if ndim == 3 else (2, ("theta",))
    made = Regridded(angles, by, director, back, fields=number, made=len(names))
    return dict(zip(names, made.parts, strict=True))


def carried(model: ModelLike, grid: Grid, stencil: Stencil, comm: Comm, *, imaging: bool) -> Files:
    """Return the volumes of a model on another grid, to be read whole or by window. Collective over `comm`.

    Parameters
    ----------
    model : ModelLike
        Model in memory or in its files.
    grid : Grid
        Grid on which waves are computed.
    stencil : Stencil
        Weights in space, by which the time step is found.
    imaging : bool
        Images are made with the waves: sharp contrasts are held down to `SWING`, and reflect less exactly.
    """
    by = Regridder(model.grid, grid, cells=True)
    given = {name: _as_planes(model, name) for name in model.volumes}
    swing = SWING if imaging else FULL_SWING
    volumes: dict[str, Planes] = {"vp": velocity(given["vp"], by, model.limits("vp"), swing)}
    if "epsilon" in given:
        over = model.anisotropy_gate("lower-delta")[1] > 0
        volumes |= thomsen(given["epsilon"], given["delta"], by, over)
    if "theta" in given:
        volumes |= axis([given[name] for name in ("theta", "phi") if name in given], by)
    return Files(grid, model.frame, volumes, comm, stencil)


def _as_planes(model: ModelLike, name: str) -> Planes:
    volume = model.volume(name)
    assert volume is not None
    return volume if isinstance(volume, Planes) else InMemoryPlanes(volume)
