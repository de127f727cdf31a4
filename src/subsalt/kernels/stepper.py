"""Steppers advance a wavefield: one protocol for single steps in Python, compiled segments, passes, and a GPU's queue.

`subsalt.propagation.march` calls a stepper until all time steps are done; `Device.stepper` chooses it. Where ranks
share a wavefield, an `Exchange` brings the ghost planes of their neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from subsalt.kernels.passes import Cuts
from subsalt.kernels.problem import Problem, State


class Exchange(Protocol):
    """Exchange of ghost planes with the neighbours, and of requests to stop (`subsalt.propagation.halo`)."""

    #: the time index at which all ranks stop; None while no stop is known
    stop: int | None

    def start(self, level: Sequence[Any]) -> None:
        """Begin the exchange of a time level."""

    def poke(self) -> bool:
        """Make progress on the exchange; return whether it is complete."""

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
        Planes of its slab.
    depth : int
        Steps of a pass that suit the slabs of all ranks.
    exchange : Exchange
        Exchange of ghost planes.
    rows : Cuts, optional
        Rows of the rank along y; None where they are not cut.
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

        The wavefield is checked when a multiple of `finite_every` is reached or passed, and after step `n` with
        `check_last`. However this ends, the state stands between two steps.
        """

    def arriving(self) -> AbstractContextManager[None]:
        """Return a context at whose end all output is on the host and the ghost planes have arrived."""
        return nullcontext()


class Stepwise(Stepper):
    """A stepper that returns to Python after one step or a few, and looks at the wavefield there.

    Parameters
    ----------
    problem : Problem
        Medium and grid of the wavefield.
    is_finite : callable
        Check of the device that a wavefield is finite.
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
