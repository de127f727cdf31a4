"""The loop over the time steps of one wavefield by any stepper, on a whole grid or on the slab of a rank.

`march` calls a stepper from hook to hook and ends when the wavefield is no longer finite. `by_step` is a separate
reference: a loop in Python over the kernels of any device on a whole grid, whose bits every stepper reproduces.
"""

from __future__ import annotations

from collections.abc import Callable

from subsalt.kernels.device import Device
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.stepper import Alone, Exchange, Sharing, Stepper
from subsalt.kernels.steps import PythonSteps, imaging_step, shell_step
from subsalt.kernels.work import FINITE_EVERY, Work


def stepper_of(
    kernels: Device, problem: Problem, work: Work, sharing: Sharing | None = None, *, compiled: bool = True
) -> Stepper:
    """Return the stepper of a wavefield: that of the device, or one with steps in Python.

    Parameters
    ----------
    kernels : Device
        The device that computes.
    problem : Problem
        The problem on the planes that this rank holds.
    work : Work
        Sources, recorders and the like.
    sharing : Sharing, optional
        How the wavefield is shared with other ranks.
    compiled : bool
        False: steps in Python in any case.
    """
    chosen = kernels.stepper(problem, work, sharing) if compiled and work.compiles else None
    return PythonSteps(kernels, problem, work, sharing) if chosen is None else chosen


def march(
    stepper: Stepper,
    state: State,
    n: int,
    work: Work,
    exchange: Exchange | None = None,
    blown_up: Callable[[State], None] = lambda state: None,
) -> bool:
    """Advance `state` by `n` steps; return whether it was finite at each check (`Work.check_last`).

    Collective over a group, in which nothing but ghost planes travels.

    Parameters
    ----------
    stepper : Stepper
        Stepper of the wavefield.
    state : State
        Wavefield, advanced in place.
    n : int
        Number of steps.
    work : Work
        Work of the stepper; its hook is called here.
    exchange : Exchange, optional
        Exchange of the stepper; None where a rank has the wavefield to itself.
    blown_up : callable
        Called once with the state, when it is no longer finite. The steps continue until all ranks know
        (`Exchange.stop_soon`), since the others wait for ghost planes.
    """
    exchange = Alone() if exchange is None else exchange
    finite, last, exchange.stop = True, state.it + n, None
    stepper.begin(state)
    for until in work.stops(state.it, n):
        with stepper.arriving():
            while state.it < until and state.it != exchange.stop:
                end = until if exchange.stop is None else min(until, exchange.stop)
                look = work.check_last and end == last
                fine = stepper.advance(state, end - state.it, FINITE_EVERY, look, work.progress)
                if finite and not fine:
                    finite = False
                    blown_up(state)
                    exchange.stop_soon(state.it)
        if state.it == exchange.stop:
            break
        if work.hook is not None and work.hook_at(until):
            work.hook(state)
    return finite


def by_step(kernels: Device, problem: Problem, state: State, n: int, work: Work) -> bool:
    """Advance step by step; return whether the field is finite (checked every `FINITE_EVERY` steps and at the end)."""
    for i in range(n):
        if work.inner is not None:
            kernels.field_step(problem, state, work.inner)
        elif work.boxes:
            for box in work.boxes:
                kernels.memory_step(problem, state, box)
            for box in work.boxes:
                kernels.field_step(problem, state, box)
        else:
            kernels.time_step(problem, state)
        now = state.it
        state.rotate()
        for src in work.sources:
            if now < src.samples.shape[1]:
                kernels.inject(problem, state.curr, src.points, src.samples[:, now])
        if problem.mirror is not None and kernels.mirror is not None:
            kernels.mirror(problem, state)
        shell_step(kernels, problem, state.curr, state.it, work.shells)
        for rec in work.recorders:
            if state.it < rec.data.shape[1]:
                rec.data[:, state.it] = kernels.record(problem, state.curr, rec.points)
        imaging_step(kernels, problem, state, work)
        if work.hook is not None and work.hook_at(state.it):
            work.hook(state)
        if (state.it % FINITE_EVERY == 0 or i == n - 1) and not kernels.is_finite(problem, state.curr):
            return False
        if work.progress is not None:
            work.progress(state.it)
    return True
