"""The sum over the traces of one block of locations, by device: blocks of traces come one after the other.

    with block_sum(device, where, dt, threads) as adder:
        prepared = prepare(..., out=adder.room(shape))
        contributions = adder.add(prepared, geometry)
        adder.fetch()

A device may hold the sums and lag behind: `fetch` waits for it, and brings image, hits and fold up to date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.kernels import kirchhoff
from subsalt.kernels.kirchhoff_arguments import Medium, PreparedTraces, TraceGeometry

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

#: modules with a class `BlockSum`; NumPy has no sum that is fast enough for a migration
DEVICES = {
    "cpu": "subsalt.kernels.kirchhoff_block",
    "cuda": "subsalt.kernels.cuda.kirchhoff",
    "reference": "subsalt.kernels.kirchhoff_block",
}


@dataclass(frozen=True)
class Where:
    """A block of locations, and what is summed there; see `kirchhoff.sum_traces`.

    Parameters
    ----------
    image, hits, fold : ndarray
        Added to.
    points : ndarray, (nloc, 2), float64
        Map positions, m.
    axes : ndarray, (2, 2), float64
        Unit vectors along which slopes are limited.
    medium : Medium
        Velocities.
    time : TimeAxis
        Of the image traces.
    options : KirchhoffOptions
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
    options: KirchhoffOptions
    spacing: Sequence[float]


class Adder(Protocol):
    """Adds blocks of traces to a block of locations; a context manager, which gives back what it holds."""

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
    """Return what adds traces to a block of locations on a device.

    Parameters
    ----------
    device : str
        "cpu" or "cuda"; what computes for "reference" is the CPU.
    where : Where
        The block.
    dt : float
        Sample interval of the traces, s.
    threads : int
        Of the host.
    """
    if device not in DEVICES:
        raise ConfigError(f"device {device!r} is not one of {', '.join(DEVICES)}", "use cpu", code="E701")
    made: Adder = import_module(DEVICES[device]).BlockSum(where, dt, threads)
    return made


class BlockSum:
    """On the CPU: every block of traces is summed at once.

    Parameters
    ----------
    where : Where
        The block.
    dt : float
        Not needed here.
    threads : int
        To compute with.
    """

    def __init__(self, where: Where, dt: float, threads: int) -> None:
        self._where, self._threads, self._contributions = where, threads, 0
        self._before: NDArray[np.float32] | None = None

    def room(self, shape: tuple[int, ...]) -> NDArray[np.float32] | None:
        """Return the memory of the block before: new memory costs as much as the filters."""
        return self._before

    def add(self, prepared: PreparedTraces, geometry: TraceGeometry) -> int:
        """Add a block of traces; return the contributions so far."""
        w = self._where
        self._before = prepared.samples
        self._contributions += kirchhoff.sum_traces(
            w.image,
            w.hits,
            w.fold,
            w.points,
            w.axes,
            w.medium,
            w.time,
            prepared,
            geometry,
            w.options,
            w.spacing,
            self._threads,
        )
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
