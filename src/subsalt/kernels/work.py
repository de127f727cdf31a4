"""What happens in time steps of a wavefield besides the steps: sources, recorders, snapshots, correlations, hooks."""

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
        Where.
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
        By time index: the arrays that are written; None where only `energy` is wanted. Of int16 and of the shape
        `subsalt.kernels.scaled16.shape16` they take the field in 16 bits.
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
    """What is kept of every time level during `Propagator.advance`, or put back into it: the shell of a box.

    Parameters
    ----------
    shell : Shell
        Which cells.
    data : ndarray, (rows, fields, cells)
        Row r holds the shell at time index ``first + r * direction``; other time indices are left alone.
    first : int
        Time index of row 0.
    direction : {1, -1}
        Backwards when a wavefield that runs backwards reads what it left on its way forward.
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
    """What happens in the steps of a segment besides the steps.

    Parameters
    ----------
    sources, recorders : sequence
        What goes in and what comes out at points.
    snapshots : Snapshots, optional
        What is copied.
    correlation : Correlation, optional
        What is imaged.
    hook : callable, optional
        Called with the state at the time indices in `at`.
    at : container of int, optional
        None: after every step.
    progress : callable, optional
        Called now and then with the time index reached.
    boxes : sequence of Box
        Tiles of the grid, computed one after the other; the whole grid when there are none.
    shells : Shells, optional
        What is kept of every time level, or put back, after what is injected and before what is copied out.
    inner : Box, optional
        What alone is advanced; the rest of the grid keeps its values. Not with a PML.
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
