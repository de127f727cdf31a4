"""Binomial checkpointing: visit l states in reverse order with c slots and the fewest forward steps; its actions.

The states x_0 .. x_(l-1) are visited from the last to the first; x_0 occupies one of the c slots. With r the least
integer for which ``C(c + r, c) >= l``, no state need be made more than r times, and the forward steps, first sweep
included, are ::

    t(l, c) = r l - C(c + r, c + 1)

which solves ``t(1, c) = 0``, ``t(l, 1) = l (l - 1) / 2``, ``t(l, c) = min_m m + t(l - m, c - 1) + t(m, c)``: advance m
steps, store, visit what lies behind with a slot less, come back for the first m.

Actions are what a schedule tells the executor to do with the source wavefield: blocks of imaged samples are visited
from the last to the first, a working state goes forward from the start of one block to the start of another, and slots
keep copies of it.

References
----------
Griewank (1992), Optimization Methods and Software 1, 35-54; Griewank and Walther (2000), ACM TOMS 26, 19-45
(Algorithm 799).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import comb
from typing import Literal, NamedTuple

Kind = Literal["rest", "advance", "store", "load", "drop", "image"]
Level = Literal["memory", "disk"]


class Action(NamedTuple):
    """One action of a schedule.

    Parameters
    ----------
    kind : str
        ``rest``: the working state becomes x_0, a field at rest. ``advance``: it goes forward to the start of `block`.
        ``store``: it is copied into a slot. ``load``: it becomes a copy of a slot. ``drop``: a slot becomes free.
        ``image``: it stands at the start of `block`, whose samples are now wanted; it does not stay there.
    block : int
        Which block's start the state is, or becomes.
    level : str
        Where the slot is; "" where none takes part.
    slot : int
        Which one of its level; -1 where none takes part.
    """

    kind: Kind
    block: int
    level: Level | Literal[""] = ""
    slot: int = -1


def repetitions(length: int, slots: int) -> int:
    """Return r, the least integer with ``C(slots + r, slots) >= length``: how often a state is made at most."""
    low, high = -1, 1
    while comb(slots + high, slots) < length:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if comb(slots + middle, slots) < length else (low, middle)
    return high if length > 1 else 0


def forward_steps(length: int, slots: int) -> int:
    """Return t(l, c): forward steps that visit `length` states in reverse with `slots` slots.

    Parameters
    ----------
    length : int
        l, at least 1.
    slots : int
        c, at least 1; x_0 occupies one of them.
    """
    if length < 1 or slots < 1:
        raise ValueError(f"{length} states with {slots} slots: both are at least 1")
    r = repetitions(length, slots)
    return r * length - comb(slots + r, slots + 1)


@lru_cache(maxsize=1 << 14)
def distance(length: int, slots: int) -> int:
    """Return m: how far to advance before the next state is stored, with `slots` >= 2 and `length` >= 2.

    Notes
    -----
    With ``b(c, r) = C(c + r, c)`` any m is optimal for which ``b(c, r - 2) <= m <= b(c, r - 1)`` and
    ``b(c - 1, r - 1) <= l - m <= b(c - 1, r)``: neither part then needs more repetitions. The least m is taken: of 200
    states with 10 slots 147 are then stored, with the largest 162.
    """
    r = repetitions(length, slots)
    return max(comb(slots + r - 2, slots), length - comb(slots + r - 1, slots - 1), 1)


class Move(NamedTuple):
    """One step of a reversal; `depth` is the number of stored states below the slot, the start's being 0."""

    kind: Literal["advance", "store", "load", "drop", "visit"]
    state: int
    depth: int


def reversal(length: int, slots: int) -> Iterator[Move]:
    """Yield how to visit `length` states in reverse; `forward_steps` counts the advances.

    The working state begins as x_0, which stands in the slot of depth 0 for good: it is loaded, but neither stored nor
    dropped here. A move costs O(log l), and nothing is done before the first.
    """
    starts, end, here = [0], length, 0
    while end:
        start = starts[-1]
        if here != start:
            yield Move("load", start, len(starts) - 1)
        here, left = start, end - start
        while left > 1:
            free = slots - len(starts)
            m = distance(left, free + 1) if free else left - 1
            here, left = here + m, left - m
            yield Move("advance", here, -1)
            if left > 1:
                yield Move("store", here, len(starts))
                starts.append(here)
        end -= 1
        yield Move("visit", end, -1)
        here = -1
        if end and starts[-1] == end:
            yield Move("drop", end, len(starts) - 1)
            starts.pop()
