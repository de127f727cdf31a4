"""The sum of Kirchhoff time migration, compiled: traces added to the image traces of a block of locations.

v3 and v4 give the same bits, for any threads and any cut of locations and traces into calls; v2 is a numerics class of
its own. The formulas in NumPy are in `kirchhoff_reference`; the compiled ones in ``native/kernels/kirchhoff_sum.hpp``.

The sum of one block of locations on any device takes blocks of traces one after the other::

    with block_sum(device, where, dt, threads) as adder:
        prepared = prepare(..., out=adder.room(shape))
        contributions = adder.add(prepared, geometry)
        adder.fetch()

A device may hold the sums and lag behind: `fetch` waits for it, and brings image, hits and fold up to date.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import _native
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.kirchhoff_arguments import PAD, Medium, PreparedTraces, TraceGeometry, check_arguments
from subsalt.kernels.kirchhoff_tuning import ISAS, tuner_of
from subsalt.numerics import fixedmath

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.kernels.kirchhoff_arguments import SumOptions

__all__ = ["PAD", "Medium", "PreparedTraces", "TraceGeometry", "medium_bytes", "sum_traces"]

AMPLITUDES = {"none": 0, "2.5d": 1, "3d": 2}
#: samples per entry of the depths by which a trace finds its first sample; rows are whole blocks
BLOCK = 16
#: squared slowness, intervals^2 / m^2, beyond which no product of traveltimes is a float32
MOST_SLOWNESS2 = 1e20
#: (t0 / 2)^2 is at least this, intervals^2, so that nothing is divided by zero at t0 = 0
LEAST_SQUARE = 1e-8
#: shortest taper: without one, the weight still goes from 1 to 0 without a division by zero
LEAST_TAPER = 1e-6
#: stretch below which float32 decides, and no sample is skipped or spared its taper beforehand
LEAST_SKIPPED = 0.01
#: a least J that every sample exceeds but those near t0 = 0
LEAST_J = 1e-3
#: locations whose derived arrays are made at a time, in double precision
AT_ONCE = 256


def sum_traces(
    image: NDArray[np.float32],
    hits: NDArray[np.int32],
    fold: NDArray[np.int32],
    points: NDArray[np.float64],
    axes: ArrayLike,
    medium: Medium,
    time: TimeAxis,
    prepared: PreparedTraces,
    geometry: TraceGeometry,
    options: SumOptions,
    spacing: Sequence[float],
    threads: int = 1,
    isa: str = "",
    tile: int = 0,
) -> int:
    """Add a block of traces to the image traces of a block of locations.

    Every output sample adds its traces in their order, so that neither the cut into calls nor threads change a bit.

    Parameters
    ----------
    image : ndarray, (nloc, nclass, nt), float32
        Added to.
    hits : ndarray, (nloc, nt + 1), int32
        Added to: +1 at the first sample that a trace reaches at a location, -1 behind the last one; cumulated along
        time it is the number of traces per sample.
    fold : ndarray, (nloc, ngroup), int32
        Added to: traces that reach any sample, by offset class.
    points : ndarray, (nloc, 2), float64
        Map positions of the locations, m.
    axes : array_like, (2, 2)
        Unit vectors along which slopes are limited: of inline and crossline numbers.
    medium : Medium
        Velocities at the locations.
    time : TimeAxis
        Two-way time of the image traces, s; starts at 0 or later.
    prepared : Prepared
        The traces, filtered and with interpolation coefficients.
    geometry : TraceGeometry
        Positions, weights and image traces of the same traces.
    options : SumOptions
        Options of the sum: weights, aperture, mutes, antialias.
    spacing : sequence of 2 floats
        Antialias spacing along the axes, m, where the options give none.
    threads : int
        Threads to compute with.
    isa : str
        Instruction set; the one in use when empty.
    tile : int
        Locations that a thread takes at a time, 8 to 64; chosen here when 0. Changes speed, no bit.

    Returns
    -------
    int
        Contributions: samples between the first and the last that each trace reaches, over all locations.

    Raises
    ------
    ConfigError
        When arrays do not fit together.
    """
    axes = np.ascontiguousarray(axes, dtype=np.float64)
    check_arguments(image, hits, fold, points, axes, medium, time, prepared, geometry, options, spacing)
    if threads < 1:
        raise ConfigError(f"threads = {threads}", "use 1 or more")
    group = geometry.slot if geometry.group is None else geometry.group
    height = late = None
    if medium.below is not None:
        assert geometry.height is not None
        assert geometry.late is not None
        height = geometry.height / prepared.dt
        late = (geometry.late / prepared.dt).astype(np.float32)
    return int(
        _native.kirchhoff.sum(
            image,
            hits,
            fold,
            points,
            _derived(medium, time, prepared.dt, options),
            prepared.samples,
            prepared.integrals if options.antialias == "triangle" else None,
            prepared.ns,
            prepared.t_first / prepared.dt,
            geometry.src,
            geometry.rcv,
            geometry.weight,
            geometry.slot,
            group,
            height,
            late,
            _rules(options, axes, options.antialias_spacing or spacing),
            tile,
            threads,
            isa or cpu.in_use()[1],
        )
    )


def medium_bytes(nt: int, options: SumOptions, eta: bool = False) -> int:
    """Return the bytes per location of a `Medium` that has been summed with: velocities and what is derived.

    A medium below a surface is one with an eta.
    """
    row = _row(nt)
    arrays = 1 + (options.amplitude == "3d") + (options.dip is not None) + eta
    return 4 * (nt * (1 + eta) + row * arrays + 2 * row // BLOCK + 4)


def _row(nt: int) -> int:
    return -(-nt // BLOCK) * BLOCK


def _tangent(degrees: float) -> float:
    angle = degrees * fixedmath.PI / 180
    return float(fixedmath.sin(angle)) / float(fixedmath.cos(angle))


def _rules(options: SumOptions, axes: NDArray, spacing: Sequence[float]) -> Any:
    """Return the compiled form of what is summed."""
    antialias = {"none": 0, "triangle": 3}.get(options.antialias)
    if antialias is None:
        antialias = 1 if options.band_choice == "interpolate" else 2
    aperture = dip = stretch = None
    if options.aperture is not None:
        aperture = options.aperture, max(options.aperture_taper, LEAST_TAPER)
    if options.dip is not None:
        dip = _tangent(options.dip), max(options.dip_taper, LEAST_TAPER)
    if options.stretch_mute is not None:
        stretch = options.stretch_mute, max(options.stretch_taper * options.stretch_mute, LEAST_TAPER)
    amplitude = AMPLITUDES[options.amplitude]
    return _native.kirchhoff.rules(
        amplitude, antialias, axes.tolist(), list(map(float, spacing)), aperture, dip, stretch
    )


def _derived(medium: Medium, time: TimeAxis, dt: float, options: SumOptions) -> Any:
    """Return the compiled form of a medium, made at the first call: times in intervals `dt` of the traces."""
    mute = options.stretch_mute, options.stretch_taper
    key = time.nt, time.dt, time.t0, dt, options.amplitude, options.dip is not None, mute
    if key not in medium.cache:
        medium.cache.clear()  # one at a time: they are as large as the velocities
        medium.cache[key] = _derive(medium, time, dt, options)
    return medium.cache[key]


def _derive(medium: Medium, time: TimeAxis, dt: float, options: SumOptions) -> Any:
    (nloc, nt), row = medium.shape, _row(medium.shape[1])
    t0 = np.empty(row)
    t0[:nt] = time.values() / dt
    t0[nt:] = t0[nt - 1]
    half2 = np.maximum((t0 / 2) ** 2, LEAST_SQUARE).astype(np.float32)
    slowness2 = np.empty((nloc, row), dtype=np.float32)
    depth = None if options.dip is None else np.empty((nloc, row), dtype=np.float32)
    below = medium.below
    eta = None if medium.eta is None else np.empty((nloc, row), dtype=np.float32)
    if below is not None and eta is None:
        eta = np.zeros((nloc, row), dtype=np.float32)
    up = np.empty((nloc, row // BLOCK), dtype=np.float32)
    down = np.empty_like(up)
    if options.amplitude == "3d":
        factor = np.empty((nloc, row), dtype=np.float32)
    else:
        scale = math.sqrt(2 * fixedmath.PI * dt) if options.amplitude == "2.5d" else 0.0
        # below a surface t0 is that of every trace
        factor = (scale * (t0 if below is None else np.ones(row))).astype(np.float32)[None, :]
    for lo in range(0, nloc, AT_ONCE):
        some = slice(lo, lo + AT_ONCE)
        v = np.empty((len(medium.v[some]), row))
        v[:, :nt] = medium.v[some]
        v[:, nt:] = v[:, nt - 1 : nt]
        slowness2[some] = np.minimum(1 / (v * dt) ** 2, MOST_SLOWNESS2)
        if below is None:
            deep = v * (t0 * (dt / 2))
        else:
            deep = v * np.maximum(t0 * (dt / 2) + (below.surface - below.zero)[some, None], 0.0)
        if options.amplitude == "3d":
            factor[some] = (t0 if below is None else 1.0) / v
        if depth is not None:
            depth[some] = deep
        if eta is not None and medium.eta is not None:
            eta[some, :nt] = medium.eta[some]
            eta[some, nt:] = eta[some, nt - 1 : nt]
        blocks = deep.reshape(len(v), -1, BLOCK)
        up[some] = np.maximum.accumulate(blocks.max(axis=2), axis=1)
        down[some] = np.minimum.accumulate(blocks.min(axis=2)[:, ::-1], axis=1)[:, ::-1]
    bounds = _bounds(medium, options)
    quarter = (t0 / 4).astype(np.float32)
    datum = None if below is None else below.zero / dt
    return _native.kirchhoff.Medium(
        nt, half2, quarter, slowness2, factor, up, down, bounds, depth, eta, datum
    )


def _bounds(medium: Medium, options: SumOptions) -> NDArray[np.float32]:
    """Return per location what bounds the stretch from below and from above by that without eta, (nloc, 4).

    With u = q / (h^2 + (1 + 2 eta) q) <= 1 / (1 + 2 eta): t^2 lies between h^2 + q and h^2 + q / (1 + 2 eta), and
    P = 1 + 2 eta u^2 between 1 and 1 + 2 eta / (1 + 2 eta)^2. Columns: the scale of q and the least J without eta of
    any sample that lives, then those from which on no sample fades. J of 1 or more: never.
    """
    out = np.ones((len(medium.v), 4), dtype=np.float32)
    if options.stretch_mute is None:
        return out
    if medium.below is not None:
        # J depends on heights: no sample is skipped, none spared its taper
        out[:, 0] = 0.0
        return out
    if options.stretch_mute < LEAST_SKIPPED:
        out[:, 1], out[:, 3] = LEAST_J, 1.0
        return out
    low, high = np.zeros((2, len(medium.v)))
    if medium.eta is not None:
        low, high = np.minimum(medium.eta.min(axis=1), 0.0), np.maximum(medium.eta.max(axis=1), 0.0)
        low, high = low.astype(np.float64), high.astype(np.float64)
    live = 1 / (1 + options.stretch_mute)
    whole = 1 / (1 + options.stretch_mute * (1 - options.stretch_taper))
    out[:, 0] = 1 / (1 + 2 * high)
    steepest = np.minimum(high, 0.5)  # 2 eta / (1 + 2 eta)^2 is largest there
    out[:, 1] = live / (1 + 2 * steepest / (1 + 2 * steepest) ** 2)
    out[:, 2] = 1 / (1 + 2 * low)
    flattest = 1 + 2 * low / (1 + 2 * low) ** 2
    out[:, 3] = np.where(flattest > whole, whole / np.maximum(flattest, whole), 1.0)
    return out


#: modules with a class `BlockSum`; NumPy has no sum that is fast enough for a migration
DEVICES = {
    "cpu": "subsalt.kernels.kirchhoff",
    "cuda": "subsalt.kernels.cuda.kirchhoff",
    "reference": "subsalt.kernels.kirchhoff",
}


#: those of them that sum below a surface, the usual one first
BELOW_A_SURFACE = ("cpu", "reference")


@dataclass(frozen=True)
class Where:
    """A block of locations, and the arrays of the sum there; see `sum_traces`.

    Parameters
    ----------
    image, hits, fold : ndarray
        Arrays to add to.
    points : ndarray, (nloc, 2), float64
        Map positions, m.
    axes : ndarray, (2, 2), float64
        Unit vectors along which slopes are limited.
    medium : Medium
        Velocities.
    time : TimeAxis
        Time axis of the image traces.
    options : SumOptions
        Weights, aperture, mutes, antialias.
    spacing : sequence of 2 floats
        Antialias spacing, m.
    """

    image: NDArray[np.float32]
    hits: NDArray[np.int32]
    fold: NDArray[np.int32]
    points: NDArray[np.float64]
    axes: NDArray[np.float64]
    medium: Medium
    time: TimeAxis
    options: SumOptions
    spacing: Sequence[float]


class Adder(Protocol):
    """Adds blocks of traces to a block of locations; a context manager, which frees its memory."""

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
        """Return memory in which the next block of traces is prepared best, or None; `shape`: of its samples."""
        ...

    def add(self, prepared: PreparedTraces, geometry: TraceGeometry) -> int:
        """Add a block of traces; return the contributions so far, as far as they are known."""
        ...

    def fetch(self) -> int:
        """Bring image, hits and fold up to date; return the contributions of all that was added."""
        ...

    def __enter__(self) -> Self:
        """Return it."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give back what it holds."""
        ...


def block_sum(device: str, where: Where, dt: float, threads: int) -> Adder:
    """Return the adder of traces to a block of locations on a device.

    Parameters
    ----------
    device : str
        "cpu" or "cuda"; for "reference", too, the CPU computes.
    where : Where
        The block.
    dt : float
        Sample interval of the traces, s.
    threads : int
        Threads of the host.
    """
    if device not in DEVICES:
        raise ConfigError(f"device {device!r} is not one of {', '.join(DEVICES)}", "use cpu", code="E701")
    made: Adder = import_module(DEVICES[device]).BlockSum(where, dt, threads)
    return made


@dataclass(frozen=True)
class Some:
    """Some of the traces of a block; see `PreparedTraces`."""

    samples: NDArray[np.float32]
    t_first: float
    dt: float
    ns: int
    integrals: NDArray[np.float64] | None

    @classmethod
    def of(cls, all_of: PreparedTraces, traces: slice) -> Self:
        """Return those of `traces`."""
        integrals = None if all_of.integrals is None else all_of.integrals[traces]
        return cls(all_of.samples[traces], all_of.t_first, all_of.dt, all_of.ns, integrals)


class BlockSum:
    """The sums of a block of locations on the CPU; blocks of traces are summed in the fastest way (`kirchhoff_tuning`).

    Parameters
    ----------
    where : Where
        The block.
    dt : float
        Not needed here.
    threads : int
        Threads to compute with.
    """

    def __init__(self, where: Where, dt: float, threads: int) -> None:
        self._where, self._threads, self._contributions = where, threads, 0
        self._before: NDArray[np.float32] | None = None
        (locations, nt), eta = where.medium.shape, where.medium.eta is not None
        self._tuner = tuner_of(locations, nt, where.options, eta, threads)

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
        """Return the memory of the block before: new memory costs as much as the filters."""
        return self._before

    def add(self, prepared: PreparedTraces, geometry: TraceGeometry) -> int:
        """Add a block of traces; return the contributions so far."""
        w = self._where
        self._before = prepared.samples
        place = w.image, w.hits, w.fold, w.points, w.axes, w.medium, w.time
        for way, traces in self._tuner.parts(len(prepared.samples)):
            some = Some.of(prepared, traces), geometry.some(traces)
            begin = perf_counter()
            done = sum_traces(
                *place, *some, w.options, w.spacing, self._threads, ISAS.get(way[1], ""), tile=way[0]
            )
            self._tuner.summed(way, traces, done, perf_counter() - begin)
            self._contributions += done
        return self._contributions

    def fetch(self) -> int:
        """Return the contributions of all that was added."""
        return self._contributions

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""
