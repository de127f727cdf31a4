"""Runs of several layouts, interleaved, so that what the machine does to one it does to all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Answer = TypeVar("Answer")


def interleaved(
    cases: Sequence[Case], repeats: int, run: Callable[[Case, int], Answer], *, warm: bool = False
) -> list[list[Answer]]:
    """Return what `run(case, round)` gave, by case, one answer per round.

    Every round does every case once, every other round backwards: a drift favours nobody.

    Parameters
    ----------
    cases : sequence
        What is compared.
    repeats : int
        Rounds.
    run : callable
        Does one case; told the number of the round, -1 for the one that is thrown away.
    warm : bool
        Do every case once before the first round and throw the answer away.
    """
    if warm:
        for case in cases:
            run(case, -1)
    answers: list[list[Answer]] = [[] for _ in cases]
    for round_ in range(repeats):
        order = range(len(cases))
        for i in order if round_ % 2 == 0 else reversed(order):
            answers[i].append(run(cases[i], round_))
    return answers
