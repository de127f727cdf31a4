"""Schedules with memory and disk slots: costs against the recursion, limits, live states; no physics."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk import walk

from subsalt.checkpoint.schedule.two_level import (
    Slots,
    best_way,
    disk_revolve_cost,
    forward_steps,
    moves_of,
    multistage_cost,
    reversal,
    segment_lengths,
    two_level,
    uses,
    way_cost,
)


def recursion(longest: int, slots: int, write: int, read: int) -> list[int]:
    """Return D(l) from its definition, for l = 1 .. `longest`."""
    best = [0]
    for length in range(1, longest + 1):
        costs = [forward_steps(length, slots)]
        costs += [j + write + best[length - j] + read + forward_steps(j, slots) for j in range(1, length)]
        best.append(min(costs))
    return best[1:]


def test_the_closed_form_for_unlimited_disk_is_the_recursion() -> None:
    for slots, (write, read) in product((1, 2, 3, 5), ((0, 0), (1, 1), (2, 3), (9, 0), (0, 40))):
        wanted = recursion(90, slots, write, read)
        assert [disk_revolve_cost(n, slots, write, read) for n in range(1, 91)] == wanted


def test_every_schedule_costs_what_it_says_and_keeps_to_its_slots() -> None:
    for length, memory, disk in product((1, 2, 3, 7, 20, 57), range(5), range(6)):
        for write, read in ((0, 0), (100, 100), (30, 500)):
            slots = Slots(memory, disk, write, read, 100)
            done, moves = walk(two_level(length, slots)), moves_of(length, slots)
            assert done.visits == list(range(length))[::-1]
            assert done.most["memory"] <= memory
            assert done.most["disk"] <= disk
            paid = 100 * done.advances + write * done.stores["disk"] + read * done.loads["disk"]
            assert paid == way_cost(length, slots, best_way(length, slots))
            assert moves == (
                done.advances,
                done.stores["memory"],
                done.stores["disk"],
                done.loads["memory"],
                done.loads["disk"],
                done.most["memory"],
                done.most["disk"],
            )


@settings(max_examples=60)
@given(
    st.integers(1, 700),
    st.integers(0, 30),
    st.integers(0, 40),
    st.integers(0, 5000),
    st.integers(0, 5000),
)
def test_more_slots_never_cost_more_and_free_disk_is_memory(
    length: int, memory: int, disk: int, write: int, read: int
) -> None:
    slots = Slots(memory, disk, write, read, 100)
    if memory == 0 and disk == 0:
        length = min(length, 60)
    cost = way_cost(length, slots, best_way(length, slots))
    done = walk(two_level(length, slots))
    assert done.visits == list(range(length))[::-1]
    assert 100 * done.advances + write * done.stores["disk"] + read * done.loads["disk"] == cost
    assert cost <= multistage_cost(length, slots)
    assert cost <= 100 * forward_steps(length, memory + 1)
    free = Slots(memory, disk, 0, 0, 100)
    assert way_cost(length, free, best_way(length, free)) == 100 * forward_steps(length, memory + disk + 1)


def test_memory_alone_and_disk_alone_are_the_binomial_schedule() -> None:
    for length, c in product((5, 40, 200), (1, 4, 12)):
        memory, disk = Slots(c, 0, 7, 7, 100), Slots(0, c, 0, 0, 100)
        for slots in (memory, disk):
            assert walk(two_level(length, slots)).advances == forward_steps(length, c + 1)


def test_lengths_of_segments_are_best_of_all() -> None:
    @cache
    def cheapest(left: int, sizes: tuple[int, ...]) -> int:
        head, rest = sizes[0], sizes[1:]
        if not rest:
            return forward_steps(left, head)
        return min(
            j + forward_steps(j, head) + cheapest(left - j, rest) for j in range(1, left - len(rest) + 1)
        )

    for length, count, slots in product((6, 17, 40), (1, 2, 4), (1, 2, 4)):
        lengths = segment_lengths(length, count, slots, 1)
        assert sum(lengths) == length
        assert min(lengths) >= 1
        sizes = (slots + 1, *[slots] * (count - 1))
        cost = sum(lengths[:-1]) + sum(forward_steps(n, c) for n, c in zip(lengths, sizes, strict=True))
        assert cost == cheapest(length, sizes)


def test_multistage_has_the_steps_and_the_disk_traffic_of_checkpoint_schedules() -> None:
    library = pytest.importorskip("checkpoint_schedules")
    for length, memory, disk in ((30, 2, 2), (80, 3, 4), (100, 1, 6), (64, 4, 1)):
        stores = steps = 0
        for action in library.MultistageCheckpointSchedule(length, memory, disk, trajectory="maximum"):
            if type(action).__name__ == "Forward":
                if not action.write_adj_deps:
                    steps += action.n1 - action.n0
                if action.write_ics:
                    stores += action.storage == library.StorageType.DISK
        # the library's start of all takes a slot too, x_0 here does not
        ours = Slots(memory, disk - 1, 0, 0, 100)
        done = walk(two_level(length, ours))
        assert done.advances == steps == forward_steps(length, memory + disk)
        assert done.stores["disk"] <= stores


def test_uses_of_slots_are_those_of_the_moves() -> None:
    for length, slots in ((1, 3), (9, 1), (40, 39), (300, 7), (1500, 33), (700, 300), (900, 420)):
        counted = [[0, 0] for _ in range(slots)]
        for move in reversal(length, slots):
            if move.kind in ("store", "load"):
                counted[move.depth][move.kind == "load"] += 1
        assert [list(pair) for pair in uses(length, slots)] == counted
