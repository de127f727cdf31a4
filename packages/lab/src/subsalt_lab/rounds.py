"""Samples of several cases taken in turns, so that what the machine does to one it does to all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Answer = TypeVar("Answer")
Work = Callable[[], object]
Clock = Callable[[], float]

#: seconds a sample should take at least: a thousand times what starting threads costs
SAMPLE_SECONDS = 0.02


def interleaved(
    cases: Sequence[Case],
    rounds: int,
    run: Callable[[Case, int], Answer],
    *,
    before: Work | None = None,
) -> list[list[Answer]]:
    """Return what `run(case, round)` gave, by case, one answer per round.

    Every round does every case once, every other round backwards: a drift favours no case.

    Parameters
    ----------
    cases : sequence
        Cases to compare.
    rounds : int
        Answers of each.
    run : callable
        Does one case; told the number of the round.
    before : callable, optional
        Called at the start of every round.
    """
    answers: list[list[Answer]] = [[] for _ in cases]
    for round_ in range(rounds):
        if before is not None:
            before()
        order = range(len(cases))
        for i in order if round_ % 2 == 0 else reversed(order):
            answers[i].append(run(cases[i], round_))
    return answers


def repeats(work: Mapping[str, Work], seconds: float, clock: Clock = time.perf_counter) -> dict[str, int]:
    """Return how often each piece of work must be done for a sample of `seconds`; each is done twice here.

    Parameters
    ----------
    work : mapping of str to callable
        Pieces of work by name.
    seconds : float
        Wanted length of a sample.
    clock : callable
        Returns seconds.
    """
    wanted = {}
    for name, run in work.items():
        run()  # touches what the first call touches
        begin = clock()
        run()
        took = clock() - begin
        wanted[name] = max(1, math.ceil(seconds / took)) if took > 0 else 1
    return wanted


def round_robin(
    work: Mapping[str, Work],
    rounds: int,
    *,
    seconds: float = SAMPLE_SECONDS,
    clock: Clock = time.perf_counter,
    before: Work | None = None,
) -> dict[str, list[float]]:
    """Return the seconds of one piece of work, by name, one sample per round.

    Parameters
    ----------
    work : mapping of str to callable
        Pieces of work by name.
    rounds : int
        Samples of each.
    seconds : float
        Length of a sample at least; short work is repeated.
    clock : callable
        Returns seconds.
    before : callable, optional
        Called at the start of every round, not timed.
    """
    times = repeats(work, seconds, clock)

    def sample(name: str, round_: int) -> float:
        run, count = work[name], times[name]
        begin = clock()
        for _ in range(count):
            run()
        return (clock() - begin) / count

    names = list(work)
    return dict(zip(names, interleaved(names, rounds, sample, before=before), strict=True))
