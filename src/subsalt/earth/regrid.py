"""From one grid to another without folding: what waves of a band see of a volume stays where it is.

A volume is convolved with a sinc that ends at the Nyquist wavenumber of the coarser grid, in a Kaiser window, along
one axis after the other. An interface between two points of the coarser grid then acts where it is. What is averaged
is what a layered medium shows to waves: 1 / vp^2, 1 + 2 delta and (1 + 2 delta) (epsilon - delta) (`thomsen`). A
sample of a model stands for its cell: two of different velocity meet in the middle between them. Nodes at the edges of
a model have its values there, which absorbing layers continue.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
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
from subsalt.earth.volumes import Angles, SymmetryAxis
from subsalt.numerics import fixedmath
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
) -> Any:
    """Return the weights (target points, source points) along an axis as a sparse matrix; each row adds up to 1.

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
    from scipy.sparse import csr_array

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
    columns = [i for row in rows for i in row]
    values = [w for row in rows for w in row.values()]
    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return csr_array((np.array(values), np.array(columns), ends), shape=(len(rows), n))


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
        self._weights = [weights_between(source, target, axis, edge, cells) for axis in range(source.ndim)]

    def planes(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes (first, end) of the source that the planes `lo` to `hi` of the target take."""
        return self.needed(0, lo, hi)

    def needed(self, axis: int, lo: int, hi: int) -> tuple[int, int]:
        """Return the points (first, end) along an axis of the source that `lo` to `hi` of the target take."""
        columns = self._weights[axis][lo:hi].indices
        return (int(columns.min()), int(columns.max()) + 1) if len(columns) else (0, 0)

    def carried(self, values: NDArray[Any], first: int, lo: int, hi: int) -> NDArray[np.float64]:
        """Return the planes `lo` to `hi` of the target; `values` are those of the source from plane `first` on.

        Parameters
        ----------
        values : ndarray, (planes, ...)
            Values, in 2-D (nx, nz), in 3-D (nx, ny, nz).
        """
        return self.along(self.across(values), first, lo, hi)

    def across(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return planes of the source with the other axes of the target, whichever planes they are."""
        out = np.asarray(values, dtype=np.float64)
        for axis in reversed(range(1, self.source.ndim)):
            out = _applied(self._weights[axis], out, axis)
        return np.ascontiguousarray(out)

    def along(self, across: NDArray[np.float64], first: int, lo: int, hi: int) -> NDArray[np.float64]:
        """Return the planes `lo` to `hi` of the target from what `across` gave of planes from `first` on."""
        weights = self._weights[0][lo:hi, first : first + len(across)]
        return np.ascontiguousarray(_applied(weights, across, 0))


def _applied(weights: Any, values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Return weights (target points, source points) applied along an axis."""
    moved = np.moveaxis(values, axis, 0)
    flat = np.ascontiguousarray(moved).reshape(len(moved), -1)
    return np.moveaxis((weights @ flat).reshape(weights.shape[0], *moved.shape[1:]), 0, axis)


class Regridded(Planes):
    """A volume on another grid, by what the wave equation averages, some planes at a time.

    Parameters
    ----------
    volumes : sequence of Planes
        Volumes on the source grid of `by`.
    by : Regridder
        Regridder from that grid to the new one.
    before, after : callable
        From the planes of all volumes to the fields that are averaged, and from those to one volume.
    """

    def __init__(
        self,
        volumes: Sequence[Planes],
        by: Regridder,
        before: Callable[..., list[NDArray[Any]]],
        after: Callable[[list[NDArray[np.float64]]], NDArray[Any]],
    ) -> None:
        super().__init__(by.target.shape)
        self._volumes, self._by, self._before, self._after = volumes, by, before, after
        # the last planes of the source that were carried across, and the number of the first: planes that are read in
        # turn share their margins, which are as wide as they
        self._held: tuple[int, list[NDArray[np.float64]]] = (0, [])

    @property
    def step(self) -> int:
        """As many planes as the margins have, or most of what is read were margins."""
        per_plane = self._by.source.spacing[0] / self._by.target.spacing[0]
        return max(2 * OF_MODEL.reach, int(max(p.step for p in self._volumes) * per_plane))

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        out = np.empty((hi - lo, *self.shape[1:]), np.float32)
        for begin, stop, fields in self._averages(lo, hi):
            out[begin - lo : stop - lo] = self._after(fields)
        return out

    def fields(self, lo: int, hi: int) -> list[NDArray[np.float64]]:
        """Return the averages of the planes ``lo <= ix < hi``, before one volume is made of them."""
        parts = [fields for _, _, fields in self._averages(lo, hi)]
        return [np.concatenate(fields) for fields in zip(*parts, strict=True)]

    def _averages(self, lo: int, hi: int) -> Iterator[tuple[int, int, list[NDArray[np.float64]]]]:
        """Yield first plane, end and averages, some planes at a time: the work is in double precision."""
        for begin in range(lo, hi, self.step):
            stop = min(hi, begin + self.step)
            first, end = self._by.planes(begin, stop)
            across = self._across(first, end)
            if stop == self.shape[0]:
                self._held = (0, [])
            yield begin, stop, [self._by.along(f, first, begin, stop) for f in across]

    def _across(self, first: int, end: int) -> list[NDArray[np.float64]]:
        """Return the planes `first` to `end` of the source, averaged across; those that are held are not read again."""
        first_held, held = self._held
        end_held = first_held + (len(held[0]) if held else 0)
        begin = end_held if held and first_held <= first < end_held <= end else first
        fields = self._before(*(p.read(begin, end) for p in self._volumes)) if begin < end else []
        made = [self._by.across(f) for f in fields]
        if begin > first:
            shared = [f[first - first_held :] for f in held]
            made = [np.concatenate(both) for both in zip(shared, made, strict=True)] if made else shared
        self._held = (first, made)
        return made

    def sources(self) -> list[Planes]:
        """Return those of the volumes."""
        return [s for p in self._volumes for s in p.sources()]


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

    def back(fields: list[NDArray[np.float64]]) -> NDArray[Any]:
        return 1.0 / np.sqrt(np.clip(fields[0], 1.0 / (fast * fast), 1.0 / (slow * slow)))

    return Regridded([vp], by, lambda a: [1.0 / np.square(a, dtype=np.float64)], back)


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

    def delta_of(fields: list[NDArray[np.float64]]) -> NDArray[Any]:
        return 0.5 * (fields[0] - 1.0)

    def epsilon_of(fields: list[NDArray[np.float64]]) -> NDArray[Any]:
        beyond = fields[1] / fields[0]
        means = delta_of(fields) + (beyond if over else np.maximum(beyond, 0.0))
        # after both are rounded to float32
        return means if over else np.maximum(means.astype(np.float32), delta_of(fields).astype(np.float32))

    def terms_of_delta(e: NDArray[Any], d: NDArray[Any]) -> list[NDArray[Any]]:
        return terms(e, d)[:1]

    return {
        "epsilon": Regridded([epsilon, delta], by, terms, epsilon_of),
        "delta": Regridded([epsilon, delta], by, terms_of_delta, delta_of),
    }


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

    mean = Regridded(angles, by, director, lambda fields: fields[0])

    def make(lo: int, hi: int) -> Angles:
        mean_angles = to_angles(mean.fields(lo, hi))
        return tilt.normalised(mean_angles["theta"], mean_angles.get("phi"), ndim, False)

    made = SymmetryAxis(make, by.target.shape, angles, mean.step, ndim == 3)
    return {"theta": made.theta} | ({} if made.phi is None else {"phi": made.phi})


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
