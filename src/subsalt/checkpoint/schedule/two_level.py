"""Checkpointing with slots of two kinds: memory, which is free, and disk, whose writes and reads cost w and r steps.

*Multistage* (Stumm and Walther, 2009): the schedule of `revolve` with all slots, those that are used least on disk. It
does the fewest forward steps, whatever w and r.

*Segments* (Disk-Revolve: Aupy, Herrmann, Hovland and Robert, 2016): the first sweep leaves states on disk; each is
read once, and the segment of states behind it is then visited with the memory slots alone. With ``t`` of `revolve` the
cost is ``D(l) = min( t(l, c), min_j j + w + D(l - j) + r + t(j, c) )``, for s segments of j_1 .. j_s states ::

    l - j_s + sum_i t(j_i, c) + (s - 1) (w + r)

and t(j, c) is convex in j: its slope from j to j + 1 is the repetition number of j + 1 states. So for a given s the
best lengths fill slopes from below, the last segment, which the sweep need not cross, one slope further; and the best
cost is convex in s.

Binomial checkpointing: visit l states in reverse order with c slots and the fewest forward steps; its actions.

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

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import comb
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    The working state begins as x_0, which stays in the slot of depth 0: it is loaded, but neither stored nor
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


#: slots up to which schedules are counted by recursion
DEEP = 400


class Slots(NamedTuple):
    """States that can be kept at a time besides x_0, a field at rest, which needs no slot.

    Parameters
    ----------
    memory, disk : int
        How many.
    write, read : int
        Cost of a disk slot, in the unit in which an advance from block to block costs `advance`.
    advance : int
        That unit.
    """

    memory: int
    disk: int = 0
    write: int = 0
    read: int = 0
    advance: int = 1


def uses(length: int, slots: int) -> tuple[tuple[int, int], ...]:
    """Return the stores and loads of every depth of `revolve.reversal`; depth 0 is the start, never stored.

    Notes
    -----
    Added up along the recursion of the schedule, whose parts come again and again; step by step where it is deep.
    """
    # no schedule has more states than there are: parts are alike for all larger numbers of slots
    used = _uses(length, min(slots, max(1, length))).tolist()
    return tuple((stores, loads) for stores, loads in [*used, *[(0, 0)] * (slots - len(used))])


@lru_cache(maxsize=1 << 10)
def _uses(length: int, slots: int) -> NDArray[np.int64]:
    """Return them as an array (slots, 2): thousands of parts are kept."""
    used = np.zeros((slots, 2), np.int64)
    if slots > DEEP:
        for move in reversal(length, slots):
            if move.kind in ("store", "load"):
                used[move.depth, int(move.kind == "load")] += 1
        return used
    left = length
    while left > 1 and slots > 1:
        m = distance(left, slots)
        if left - m > 1:
            used[1, 0] += 1
            behind = _uses(left - m, min(slots - 1, left - m))
            used[1 : 1 + len(behind)] += behind
        used[0, 1] += 1
        left = m
    used[0, 1] += left - 1
    return used


def on_disk(length: int, slots: Slots) -> frozenset[int]:
    """Return the depths of the multistage schedule whose slots are on disk: those that cost least there."""
    used = uses(length, slots.memory + slots.disk + 1)
    depths = [d for d in range(1, len(used)) if used[d][0]]
    weights = {d: used[d][0] * slots.write + used[d][1] * slots.read for d in depths}
    counts = {d: used[d][0] + used[d][1] for d in depths}
    # a depth deeper down is stored later, and more often taken from memory that is still in a cache
    depths.sort(key=lambda d: (weights[d], counts[d], d))
    return frozenset(depths[: max(0, len(depths) - slots.memory)])


def multistage_cost(length: int, slots: Slots) -> int:
    """Return what the multistage schedule costs, in the unit of `slots`."""
    total = slots.memory + slots.disk + 1
    used = uses(length, total)
    disk = sum(used[d][0] * slots.write + used[d][1] * slots.read for d in on_disk(length, slots))
    return forward_steps(length, total) * slots.advance + disk


def multistage(length: int, slots: Slots) -> Iterator[Action]:
    """Yield the actions of the multistage schedule."""
    total = slots.memory + slots.disk + 1
    if not slots.disk:  # nothing to be decided: the first action comes at once
        return _placed(length, total, {d: ("memory", d - 1) for d in range(1, total)})
    disk = on_disk(length, slots)
    places: dict[int, tuple[Level, int]] = {}
    numbers = {"memory": 0, "disk": 0}
    for depth in (d for d, (stores, _) in enumerate(uses(length, total)) if stores):
        level: Level = "disk" if depth in disk else "memory"
        places[depth] = level, numbers[level]
        numbers[level] += 1
    return _placed(length, total, places)


def _placed(
    length: int,
    slots: int,
    places: dict[int, tuple[Level, int]],
    first: int = 0,
    start: tuple[Level, int] | None = None,
) -> Iterator[Action]:
    """Yield the reversal of the blocks from `first` on, whose start stands in the slot `start`, or is x_0."""
    for move in reversal(length, slots):
        block = first + move.state
        if move.kind == "advance":
            yield Action("advance", block)
        elif move.kind == "visit":
            yield Action("image", block)
        elif move.depth == 0:
            yield Action("rest", 0) if start is None else Action("load", block, *start)
        else:
            yield Action(move.kind, block, *places[move.depth])  # type: ignore[arg-type]


def segment_lengths(length: int, count: int, slots: int, spare: int = 0) -> list[int]:
    """Return the best lengths of `count` segments, in the order of time.

    Parameters
    ----------
    length : int
        States in all, at least `count`.
    count : int
        Segments.
    slots : int
        Memory slots, with the one of a segment's start.
    spare : int
        Slots that the first segment has besides them: x_0 needs none.
    """
    sizes = [slots + spare] + [slots] * (count - 1)
    ahead = [0] * (count - 1) + [
        1
    ]  # the last segment is not crossed by the sweep: one slope more costs the same

    def filled(level: int) -> list[int]:
        """Return the longest segments whose last state costs `level` repetitions."""
        return [
            max(1, comb(c + level + a, c)) if level + a >= 0 else 1 for c, a in zip(sizes, ahead, strict=True)
        ]

    low, high = -1, 1
    while sum(filled(high)) < length:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sum(filled(middle)) < length else (low, middle)
    lengths, most = filled(low), filled(high)
    left = length - sum(lengths)
    for i in range(count - 1, -1, -1):
        more = min(left, most[i] - lengths[i])
        lengths[i] += more
        left -= more
    return lengths


def segments_cost(length: int, count: int, slots: Slots, *, spare: int = 1, free: int = 1) -> int:
    """Return what `count` segments cost, in the unit of `slots`.

    Parameters
    ----------
    spare : int
        As in `segment_lengths`.
    free : int
        Starts of segments that need neither be written nor read, besides the last one: x_0 is one.
    """
    lengths = segment_lengths(length, count, slots.memory, spare)
    sizes = [slots.memory + spare] + [slots.memory] * (count - 1)
    steps = length - lengths[-1] + sum(forward_steps(n, c) for n, c in zip(lengths, sizes, strict=True))
    return steps * slots.advance + max(0, count - 1 - free) * (slots.write + slots.read)


def best_count(length: int, slots: Slots, *, spare: int = 1, free: int = 1, most: int | None = None) -> int:
    """Return the number of segments that costs least; the cost is convex in it from 2 on."""
    most = length if most is None else min(most, length)

    def cost(count: int) -> int:
        return segments_cost(length, count, slots, spare=spare, free=free)

    low, high = min(2, most), most
    while low < high:
        middle = (low + high) // 2
        if cost(middle) <= cost(middle + 1):
            high = middle
        else:
            low = middle + 1
    return min((1, low), key=cost)


def disk_revolve_cost(length: int, slots: int, write: int, read: int) -> int:
    """Return D(l): cost in steps with unlimited disk and `slots` memory slots, one of them a segment's start."""
    kind = Slots(slots, length, write, read)
    return segments_cost(length, best_count(length, kind, spare=0, free=0), kind, spare=0, free=0)


def segments(length: int, count: int, slots: Slots) -> Iterator[Action]:
    """Yield the actions of a sweep that leaves the starts of `count` segments behind, and of their reversals."""
    lengths = segment_lengths(length, count, slots.memory, 1)
    starts = [sum(lengths[:i]) for i in range(count)]
    for i in range(1, count):
        yield Action("advance", starts[i])
        if i < count - 1:
            yield Action("store", starts[i], "disk", i - 1)
    inner: dict[int, tuple[Level, int]] = {d: ("memory", d) for d in range(1, slots.memory)}
    for i in range(count - 1, 0, -1):
        if i < count - 1:
            yield Action("load", starts[i], "disk", i - 1)
            yield Action("drop", starts[i], "disk", i - 1)
        if lengths[i] > 1:
            yield Action("store", starts[i], "memory", 0)
        yield from _placed(lengths[i], slots.memory, inner, starts[i], ("memory", 0))
        if lengths[i] > 1:
            yield Action("drop", starts[i], "memory", 0)
    yield Action("rest", 0)
    yield from _placed(
        lengths[0], slots.memory + 1, {d: ("memory", d - 1) for d in range(1, slots.memory + 1)}
    )


class Way(NamedTuple):
    """How a schedule uses its slots: ``segments`` of them, or 0: multistage with so many disk slots."""

    segments: int
    disk: int


@lru_cache(maxsize=1 << 12)
def best_way(length: int, slots: Slots) -> Way:
    """Return the cheapest of: multistage with some or all disk slots, segments."""
    if not slots.disk:
        return Way(0, 0)
    candidates = [Way(0, d) for d in sorted({*_some(min(slots.disk, max(0, length - 2 - slots.memory)))})]
    if slots.memory and slots.disk and length > 1:
        candidates.append(Way(best_count(length, slots, most=slots.disk + 2), 0))
    return min(candidates, key=lambda way: way_cost(length, slots, way))


def _some(most: int) -> Sequence[int]:
    """Return 0, `most`, and numbers between them half a power of two apart: of disk slots all are rarely best."""
    between = {round(2 ** (i / 2)) for i in range(2 * most.bit_length())}
    return [0, *sorted(d for d in between if d < most), most]


def way_cost(length: int, slots: Slots, way: Way) -> int:
    """Return what a way costs, in the unit of `slots`."""
    if way.segments:
        return segments_cost(length, way.segments, slots)
    return multistage_cost(length, slots._replace(disk=way.disk))


def two_level(length: int, slots: Slots) -> Iterator[Action]:
    """Yield the actions of the cheapest way: to visit `length` blocks in reverse, beginning at rest."""
    way = best_way(length, slots)
    if way.segments:
        return segments(length, way.segments, slots)
    return multistage(length, slots._replace(disk=way.disk))


class Moves(NamedTuple):
    """Moves of a schedule: blocks advanced, stores and loads by level, slots of memory and of disk that are used."""

    advances: int = 0
    stored_memory: int = 0
    stored_disk: int = 0
    loaded_memory: int = 0
    loaded_disk: int = 0
    memory: int = 0
    disk: int = 0


@lru_cache(maxsize=1 << 12)
def moves_of(length: int, slots: Slots) -> Moves:
    """Return what `two_level` does."""
    way = best_way(length, slots)
    if not way.segments:
        return _multistage_moves(length, slots._replace(disk=way.disk))
    done = {("store", "memory"): 0, ("store", "disk"): 0, ("load", "memory"): 0, ("load", "disk"): 0}
    here = advances = most = disk = 0
    for action in segments(length, way.segments, slots):
        if action.kind == "advance":
            advances += action.block - here
        elif (action.kind, action.level) in done:
            done[action.kind, action.level] += 1  # type: ignore[index]
            if action.level == "memory":
                most = max(most, action.slot + 1)
            else:
                disk = max(disk, action.slot + 1)
        here = action.block if action.kind != "drop" else here
    stored, loaded = ((done[kind, "memory"], done[kind, "disk"]) for kind in ("store", "load"))
    return Moves(advances, *stored, *loaded, memory=most, disk=disk)


@lru_cache(maxsize=1 << 12)
def memory_uses(length: int, slots: Slots) -> tuple[tuple[int, int], ...]:
    """Return the stores and loads of every memory slot that `two_level` uses, by its number."""
    way = best_way(length, slots)
    if not way.segments:
        slots = slots._replace(disk=way.disk)
        used, disk = uses(length, slots.memory + slots.disk + 1), on_disk(length, slots)
        return tuple(used[d] for d in range(1, len(used)) if used[d][0] and d not in disk)
    done: list[list[int]] = [[0, 0] for _ in range(moves_of(length, slots).memory)]
    for action in segments(length, way.segments, slots):
        if action.level == "memory" and action.kind in ("store", "load"):
            done[action.slot][action.kind == "load"] += 1
    return tuple((stores, loads) for stores, loads in done)


def _multistage_moves(length: int, slots: Slots) -> Moves:
    total = slots.memory + slots.disk + 1
    used, disk = uses(length, total), on_disk(length, slots)
    memory = [d for d in range(1, total) if used[d][0] and d not in disk]
    stored, loaded = ((sum(used[d][i] for d in memory), sum(used[d][i] for d in disk)) for i in (0, 1))
    return Moves(forward_steps(length, total), *stored, *loaded, memory=len(memory), disk=len(disk))
