"""Time migration of NumPy arrays: traces and positions in, image and gathers out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt import kernels
from subsalt.acquisition.image_grid import ImageGrid, TimeVelocity
from subsalt.acquisition.survey import TimeAxis, refuse_bad_traces
from subsalt.errors import DataError
from subsalt.extensions import library
from subsalt.io.prestack.table import TraceTable, azimuths
from subsalt.io.segy.trace_files import TraceFiles
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.engine import migrate_block, select, start, trace_block, velocities
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.stacking import live_classes, stack
from subsalt.methods.kirchhoff.velocity.time_velocity import ConstantVelocity, VelocityFunction
from subsalt.methods.kirchhoff.weights import Weighting, trace_weights
from subsalt.propagation.grid_warning import KM_PER_S
from subsalt.timing import Phases

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True)
class TimeImage:
    """A prestack time migration.

    Parameters
    ----------
    image : ndarray, (inlines, crosslines, nt), float32
        The mean over the live classes.
    gathers : ndarray or None, (inlines, crosslines, classes, nt), float32
        Image traces by class; None for ``gathers="image"``.
    hits : ndarray, (inlines, crosslines, nt), int32
        Traces that were added, by sample.
    fold : ndarray, (inlines, crosslines, groups), int32
        Traces that reach a location, by class.
    classes : Classes
        Their offsets and azimuth sectors.
    grid : ImageGrid
        Grid of the image.
    contributions : int
        Samples that were added, after aperture and mute.
    phases : dict
        Seconds by phase; they sum to `wall`.
    """

    image: NDArray[np.float32]
    gathers: NDArray[np.float32] | None
    hits: NDArray[np.int32]
    fold: NDArray[np.int32]
    classes: Classes
    grid: ImageGrid
    contributions: int
    phases: dict[str, float]

    def _repr_html_(self) -> str:
        return str(library("notebook_html").of_time_image(self))

    def to_xarray(self) -> xarray.Dataset:
        """Return image, gathers, hits and fold as a dataset of xarray, on inline, crossline, offset_class and time.

        Raises
        ------
        MissingInputError
            When xarray is not installed (E118).
        """
        dataset: xarray.Dataset = library("xarray_time_images").of_time_image(self)
        return dataset

    @classmethod
    def from_xarray(cls, dataset: Any) -> TimeImage:
        """Return the result of a dataset of xarray; the inverse of `to_xarray`, bit for bit.

        Raises
        ------
        DataError
            When a variable, coordinates or units are missing (E119).
        MissingInputError
            When xarray is not installed (E118).
        """
        result: TimeImage = library("xarray_time_images").to_time_image(dataset)
        return result


def migrate_time(
    traces: ArrayLike,
    src: ArrayLike,
    rcv: ArrayLike,
    *,
    dt: float,
    vrms: float | tuple[ArrayLike, ArrayLike] | TimeVelocity,
    grid: ImageGrid,
    t0: float = 0.0,
    options: KirchhoffOptions | None = None,
    gathers: str | Classes = "image",
    weighting: Weighting = "bin",
    threads: int | None = None,
    device: str = "auto",
    progress: Callable[[float], None] = lambda fraction: None,
) -> TimeImage:
    """Migrate prestack traces in time (Kirchhoff), all in memory.

    Parameters
    ----------
    traces : array_like, (n, samples)
        Traces in any order.
    src, rcv : array_like, (n, 2)
        Map positions of source and receiver, m.
    dt : float
        Sampling interval of the traces, s.
    vrms : float, (times, velocities), or TimeVelocity
        Rms velocity, m/s: one number, a function of two-way time (s), or a velocity of `methods.kirchhoff.velocity`.
    grid : ImageGrid
        Locations and times of the image.
    t0 : float
        Time of the first sample of the traces, s.
    options : KirchhoffOptions, optional
        Aperture, mutes, antialias, amplitudes.
    gathers : {"image", "full-offset"} or Classes
        One image; image traces for every nominal offset; or for the classes given.
    weighting : {"bin", "uniform"}
        How the midpoint area is divided among traces.
    threads : int, optional
        Threads; all processors of the process when None.
    device : {"auto", "cpu", "cuda"}
        Device that sums the traces: a GPU when there is one; the processor; a GPU or nothing. The bytes are the same.
    progress : callable, optional
        ``progress(fraction)``.

    Returns
    -------
    TimeImage

    Raises
    ------
    DataError
        When the arrays do not belong together.
    ConfigError
        When options or classes contradict each other.

    Warns
    -----
    UserWarning
        When velocities are likely in km/s.

    Examples
    --------
    >>> image = subsalt.migrate_time(traces, src, rcv, dt=0.004, vrms=2000.0, grid=grid).image  # doctest: +SKIP
    """
    clock = Phases()
    data = np.ascontiguousarray(traces, np.float32)
    a, b = (np.asarray(p, np.float64) for p in (src, rcv))
    if data.ndim != 2 or a.shape != (len(data), 2) or b.shape != a.shape:
        raise DataError(
            f"traces have shape {data.shape}, src {a.shape}, rcv {b.shape}",
            "give traces (n, samples), and src and rcv (n, 2): x and y of each trace",
            code="E892",
        )
    refuse_bad_traces(data, "traces", code="E892")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        bad = int(np.argmax(~(np.isfinite(a) & np.isfinite(b)).all(axis=1)))
        raise DataError(
            f"src or rcv of trace {bad} is not finite",
            "correct the positions, or leave the trace out",
            code="E892",
        )
    options = options or KirchhoffOptions()
    threads, computes = kernels.threads_to_use(threads), kernels.chosen(device).name
    with clock("setup"):
        table = table_of(data, a, b, TimeAxis(data.shape[1], dt, t0))
        if isinstance(gathers, Classes):
            classes = gathers
        else:
            classes = Classes.image(table.offset) if gathers == "image" else Classes.full(table.offset)
        weights = trace_weights(table, classes, grid, options, weighting)
        velocity = _velocity(vrms)
        _warn_of_units(velocity, grid)
        setup = KirchhoffSetup(grid, velocity, table, options, classes, weights)
        block = Block(1, grid.whole, 0, classes.count)
        index = select(setup, block)
        sums = start(setup, block)
    size = trace_block(data.shape[1], options)

    def blocks() -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
        for first in range(0, len(index), size):
            some = index[first : first + size]
            yield some, table.files.read(table.number[some])

    done = [0]

    def after(_: object) -> None:
        done[0] += size
        progress(min(1.0, done[0] / len(index)))

    migrate_block(setup, sums, blocks(), threads, clock, after, device=computes)
    with clock("stack"):
        v, eta = velocities(setup, grid.positions())
        live = live_classes(classes, sums.fold, v, eta, grid.time, table.time, options)
        image = stack(sums.image, live)
    shape = grid.shape
    return TimeImage(
        image.reshape(*shape, -1),
        None if classes.kind == "image" else sums.image.reshape(*shape, classes.count, -1),
        np.cumsum(sums.hits[:, :-1], axis=1, dtype=np.int32).reshape(*shape, -1),
        sums.fold.reshape(*shape, -1),
        classes,
        grid,
        sums.contributions,
        clock.table(),
    )


class TracesInMemory:
    """Samples in memory, in place of the files of a trace table.

    Parameters
    ----------
    samples : ndarray, (n, nt), float32
        Samples of the traces, in the order of the table.
    """

    def __init__(self, samples: NDArray[np.float32]) -> None:
        self.samples = samples

    def read(self, number: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the samples of some traces."""
        return self.samples[number]


def table_of(
    samples: NDArray[np.float32], src: NDArray[np.float64], rcv: NDArray[np.float64], time: TimeAxis
) -> TraceTable:
    """Return the table of traces that lie in memory: samples (n, nt), positions (n, 2), m."""
    d = rcv - src
    offset = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)
    none = np.zeros(len(src), np.int32)
    return TraceTable(
        number=np.arange(len(src), dtype=np.int64),
        src=src,
        rcv=rcv,
        offset=offset,
        azimuth=azimuths(d, offset),
        cdp=none,
        ffid=none,
        channel=none,
        time=time,
        files=cast("TraceFiles", TracesInMemory(samples)),
    )


def _warn_of_units(velocity: TimeVelocity, grid: ImageGrid) -> None:
    """Warn of an rms velocity that is likely in km/s."""
    fastest = float(velocity.at(grid.positions()[:1], grid.time)[0].max())
    if 0 < fastest < KM_PER_S:
        warnings.warn(
            f"vrms is at most {fastest:.4g}: if that is km/s, give m/s, 1000 times as much", stacklevel=3
        )


def _velocity(vrms: float | tuple[ArrayLike, ArrayLike] | TimeVelocity) -> TimeVelocity:
    """Return what gives velocities: made of a number or a function, or as it was given."""
    if isinstance(vrms, tuple):
        times, values = (np.asarray(x, np.float64) for x in vrms)
        return VelocityFunction(times, values)
    return ConstantVelocity(float(vrms)) if isinstance(vrms, int | float | np.number) else vrms
