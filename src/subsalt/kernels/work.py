"""The work of time steps besides the wave equation: sources, recorders, snapshots, correlations, shells, hooks."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition import injection
from subsalt.earth.grid import Box
from subsalt.kernels.problem import State
from subsalt.kernels.shell import Shell

#: time steps between two checks that the wavefield is finite; a blow-up stops the run within this many steps
FINITE_EVERY = 50

#: called after a step with the state; its `it` is the index of the newest sample
Hook = Callable[[State], None]


@dataclass
class Source:
    """Sample sequences injected at points during `Propagator.advance`.

    Parameters
    ----------
    points : injection.Points
        Points of injection.
    samples : ndarray, (n, nt), float32
        Sample f[it] per point; acts in the step that makes u[it + 1]. Already divided by the cell volume.
    """

    points: injection.Points
    samples: NDArray


@dataclass
class Recorder:
    """Samples recorded during `Propagator.advance`: ``data[:, it]`` holds the field at time index `it`."""

    points: injection.Points
    data: NDArray


@dataclass
class Snapshots:
    """Copies of the imaged field, p or (p + q) / 2, made during `Propagator.advance`.

    Parameters
    ----------
    box : Box
        Index box of the computational grid.
    fields : mapping of int to ndarray, shape of the box, or None
        Arrays to write, by time index; None where only `energy` is wanted. Arrays of int16 and of the shape
        `subsalt.kernels.scaled16.shape16` store the field in 16 bits.
    energy : ndarray, shape of the box, optional
        Accumulates ``scale w^2`` of every snapshot w.
    scale : float
        Weight of a snapshot in `energy`.
    """

    box: Box
    fields: Mapping[int, NDArray | None]
    energy: NDArray | None = None
    scale: float = 1.0


@dataclass
class Correlation:
    """The product of the imaged field w with other fields u, summed over time indices during `Propagator.advance`.

    Parameters
    ----------
    box : Box
        Index box of the computational grid.
    fields : mapping of int to ndarray, shape of the box
        u by the time index of w that it meets; in 16 bits where it is of int16.
    image : ndarray, shape of the box
        Accumulates ``scale u w``.
    scale : float
        Weight of a product.
    """

    box: Box
    fields: Mapping[int, NDArray]
    image: NDArray
    scale: float


@dataclass
class Shells:
    """The shell of a box, kept of every time level during `Propagator.advance`, or put back into it.

    Parameters
    ----------
    shell : Shell
        Cells of the shell.
    data : ndarray, (rows, fields, cells)
        Row r holds the shell at time index ``first + r * direction``; other time indices are left alone.
    first : int
        Time index of row 0.
    direction : {1, -1}
        -1 when a wavefield that runs backwards reads the shells of its forward run.
    put_back : bool
        Write `data` over the cells after every step, instead of the reverse.
    """

    shell: Shell
    data: NDArray
    first: int
    direction: Literal[1, -1] = 1
    put_back: bool = False

    def row(self, it: int) -> NDArray | None:
        """Return the record of time index `it`, or None."""
        at = (it - self.first) * self.direction
        return self.data[at] if 0 <= at < len(self.data) else None


@dataclass
class Work:
    """The work of the steps of a segment besides the wave equation.

    Parameters
    ----------
    sources, recorders : sequence
        Injection and recording at points.
    snapshots : Snapshots, optional
        Copies of the imaged field.
    correlation : Correlation, optional
        Products of the imaged field with other fields.
    hook : callable, optional
        Called with the state at the time indices in `at`.
    at : container of int, optional
        Time indices of the hook; every step when None.
    progress : callable, optional
        Called occasionally with the time index reached.
    boxes : sequence of Box
        Tiles of the grid, computed one after the other; the whole grid when there are none.
    shells : Shells, optional
        Shell that is kept of every time level, or put back, after injection and before snapshots.
    inner : Box, optional
        The only part of the grid that is advanced; the rest keeps its values. Not with a PML.
    check_last : bool
        Look whether the wavefield is finite after the last step, too, and not every `FINITE_EVERY` steps alone.
    """

    sources: Sequence[Source] = ()
    recorders: Sequence[Recorder] = ()
    snapshots: Snapshots | None = None
    correlation: Correlation | None = None
    hook: Hook | None = None
    at: Container[int] | None = None
    progress: Callable[[int], None] | None = None
    boxes: Sequence[Box] = field(default_factory=tuple)
    shells: Shells | None = None
    inner: Box | None = None
    check_last: bool = True

    def hook_at(self, it: int) -> bool:
        """Return whether the hook is called at time index `it`."""
        return self.hook is not None and (self.at is None or it in self.at)

    def stops(self, it: int, n: int) -> list[int]:
        """Return the time indices in (it, it + n] after which Python is called, and the last one."""
        last = it + n
        return [*(t for t in range(it + 1, last) if self.hook_at(t)), last]

    @property
    def compiles(self) -> bool:
        """Whether compiled code can do it: without tiles, and without Python between every two steps."""
        if self.boxes or (self.hook is not None and self.at is None):
            return False
        # samples that come one step at a time (`subsalt.propagation.dense`) are no array
        if not all(isinstance(s.samples, np.ndarray) for s in self.sources):
            return False
        return all(
            np.asarray(r.data).flags.f_contiguous and r.data.dtype == np.float32 for r in self.recorders
        )
