"""What happens in time steps of a wavefield besides the steps: sources, recorders, snapshots, correlations, hooks.

The shell of a box: the cells within some cells of its faces, and the order in which a record holds them.

What lies inside a shell as wide as a stencil reaches can be computed without the world outside. A wavefield that has
gone forward runs backwards in time inside, when the shell is put back after every step (`subsalt.reversal`).

What advances a wavefield: one protocol for a step in Python, a compiled segment, a pass, and steps queued on a GPU.

`subsalt.propagation.march` asks a stepper for time steps until all are done; `Device.stepper` chooses it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition import injection
from subsalt.earth.grid import Box
from subsalt.kernels.passes import Cuts
from subsalt.kernels.problem import Problem, State

Widths = tuple[int, int, int, int, int, int]


@dataclass(frozen=True)
class Shell:
    """The cells of a box within `widths` cells of its faces.

    Parameters
    ----------
    box : Box
        Index box of the computational grid.
    widths : tuple of int
        Cells from the faces inwards: x low, x high, y low, y high, z low, z high; 0 where nothing is kept. Opposite
        ones fit into the box (`Shell.of` makes them fit).
    """

    box: Box
    widths: Widths

    @classmethod
    def of(cls, box: Box, widths: Widths) -> Shell:
        """Return the shell of a box that may be thinner than both its faces ask for: it then is the whole box."""
        fit = []
        for axis, n in enumerate(box.shape):
            low = min(max(0, widths[2 * axis]), n)
            fit += [low, min(max(0, widths[2 * axis + 1]), n - low)]
        return cls(box, (fit[0], fit[1], fit[2], fit[3], fit[4], fit[5]))

    @property
    def inside(self) -> Box:
        """The cells of the box that are not in the shell; may be empty."""
        lo = tuple(l + w for l, w in zip(self.box.lo, self.widths[0::2], strict=True))
        hi = tuple(h - w for h, w in zip(self.box.hi, self.widths[1::2], strict=True))
        return Box(lo, hi)  # type: ignore[arg-type]

    @property
    def cells(self) -> int:
        """Cells of the shell, of one field."""
        return cells_of(self.box.shape, self.widths)

    def mask(self) -> NDArray[np.bool_]:
        """Return where in the box the shell is; a record holds these cells in the order of the array."""
        out: NDArray[np.bool_] = np.ones(self.box.shape, dtype=bool)
        nx, ny, nz = self.box.shape
        x0, x1, y0, y1, z0, z1 = self.widths
        out[x0 : nx - x1, y0 : ny - y1, z0 : nz - z1] = False
        return out


def cells_of(shape: tuple[int, int, int], widths: Widths) -> int:
    """Return the cells of a shell in a box of some shape."""
    inside = (n - widths[2 * a] - widths[2 * a + 1] for a, n in enumerate(shape))
    return math.prod(shape) - math.prod(max(0, n) for n in inside)


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


class Exchange(Protocol):
    """What brings ghost planes from the neighbours (`subsalt.propagation.halo`), and the word that all must stop."""

    #: the time index at which all ranks stop; None: none is known of
    stop: int | None

    def start(self, level: Sequence[Any]) -> None:
        """Begin the exchange of a time level."""

    def poke(self) -> bool:
        """Let it go on; return whether it is complete."""

    def finish(self) -> None:
        """Wait until it is complete."""

    def stop_soon(self, it: int) -> None:
        """Let all ranks stop at one time index, at or after `it`."""


class Alone:
    """The exchange of a rank that has a wavefield to itself: there is none."""

    def __init__(self) -> None:
        self.stop: int | None = None

    def start(self, level: Sequence[Any]) -> None:
        """Do nothing."""

    def poke(self) -> bool:
        """Return True."""
        return True

    def finish(self) -> None:
        """Do nothing."""

    def stop_soon(self, it: int) -> None:
        """Stop at `it`."""
        self.stop = it


@dataclass(frozen=True)
class Sharing:
    """How a rank shares a wavefield with others.

    Parameters
    ----------
    cuts : Cuts
        Its slab.
    depth : int
        Steps of a pass that suit the slabs of all ranks.
    exchange : Exchange
        Of ghost planes.
    rows : Cuts, optional
        Its rows along y; None where they are not cut.
    """

    cuts: Cuts
    depth: int
    exchange: Exchange
    rows: Cuts | None = None


class Stepper(Protocol):
    """Advances one wavefield on the planes that a rank holds, with all that its steps carry (`Work`)."""

    #: points of all steps so far that were advanced, where those that a wavefield has not reached are left out; else 0
    points: int = 0

    def begin(self, state: State) -> None:
        """Prepare the first of many steps: fetch the ghost planes of the level where it starts."""
        return

    def advance(
        self,
        state: State,
        n: int,
        finite_every: int,
        check_last: bool,
        progress: Callable[[int], None] | None = None,
    ) -> bool:
        """Advance `state` by one step or more, `n` at most; return whether it is finite.

        Looked at when a multiple of `finite_every` is reached or passed, and after step `n` with `check_last`. However
        this ends, the state stands between two steps.
        """

    def arriving(self) -> AbstractContextManager[None]:
        """Return a context at whose end what came out is on the host, and the ghost planes have come."""
        return nullcontext()


class Stepwise(Stepper):
    """A stepper that returns to Python after one step or a few, and looks at the wavefield there.

    Parameters
    ----------
    problem : Problem
        What is advanced.
    is_finite : callable
        That of the device.
    """

    def __init__(self, problem: Problem, is_finite: Callable[[Problem, list[Any]], bool]) -> None:
        self.problem, self.is_finite = problem, is_finite

    def steps(self, state: State, n: int) -> None:
        """Advance `state` by one step or more, `n` at most."""
        raise NotImplementedError

    def advance(
        self,
        state: State,
        n: int,
        finite_every: int,
        check_last: bool,
        progress: Callable[[int], None] | None = None,
    ) -> bool:
        """Do `Stepper.advance`."""
        before = state.it
        self.steps(state, n)
        looked_at = state.it // finite_every > before // finite_every
        looked_at = looked_at or (check_last and state.it == before + n)
        finite = not looked_at or self.is_finite(self.problem, state.curr)
        if progress is not None:
            progress(state.it)
        return finite
