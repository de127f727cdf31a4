"""Binomial schedules without physics: counts, live states and visits, against the recursion and against a library."""

from __future__ import annotations

from functools import cache
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subsalt.checkpoint.schedule import two_level
from subsalt.checkpoint.schedule.two_level import distance, forward_steps, repetitions, reversal

#: forward steps for l states (rows) with c slots: physics of checkpointing, the same in docs/theory/checkpoints.md
TABLE = {
    10: {1: 45, 2: 20, 3: 15, 4: 14, 5: 13, 6: 12, 8: 10, 10: 9, 12: 9},
    50: {1: 1225, 2: 285, 3: 180, 4: 144, 5: 122, 6: 114, 8: 95, 10: 88, 12: 86},
    100: {1: 4950, 2: 845, 3: 490, 4: 374, 5: 316, 6: 280, 8: 245, 10: 222, 12: 195},
    200: {1: 19900, 2: 2470, 3: 1305, 4: 948, 5: 790, 6: 680, 8: 580, 10: 522, 12: 495},
}
#: forward steps and repetitions of 800 steps by number of slots
FOUNDING = {
    5: (8, 4684),
    10: (4, 2836),
    20: (3, 2147),
    40: (2, 1558),
    80: (2, 1518),
    200: (2, 1398),
    400: (2, 1198),
}


@cache
def recursion(length: int, slots: int) -> int:
    """Return t(l, c) from its definition."""
    if length == 1:
        return 0
    if slots == 1:
        return length * (length - 1) // 2
    return min(m + recursion(length - m, slots - 1) + recursion(m, slots) for m in range(1, length))


def follow(length: int, slots: int) -> tuple[int, int, list[int]]:
    """Return forward steps, states held at most, and the states in the order of their visits."""
    here, steps, most, visits = 0, 0, 1, []
    held = {0: 0}
    for move in reversal(length, slots):
        if move.kind == "advance":
            assert move.state > here >= 0
            steps += move.state - here
            here = move.state
        elif move.kind == "load":
            assert held[move.depth] == move.state
            here = move.state
        elif move.kind == "store":
            assert move.state == here
            assert move.depth not in held
            held[move.depth] = here
            most = max(most, len(held))
        elif move.kind == "drop":
            assert held.pop(move.depth) == move.state
        else:
            assert move.state == here
            visits.append(here)
            here = -1
    assert held == {0: 0}
    return steps, most, visits


def test_closed_form_is_the_recursion_for_thousands_of_pairs() -> None:
    for length in range(1, 161):
        for slots in range(1, 17):
            assert forward_steps(length, slots) == recursion(length, slots)


def test_schedules_do_the_fewest_steps_and_visit_every_state_once_in_reverse() -> None:
    for length in range(1, 161):
        for slots in range(1, 17):
            steps, most, visits = follow(length, slots)
            assert steps == forward_steps(length, slots)
            assert most <= slots
            assert visits == list(range(length))[::-1]


@settings(max_examples=60)
@given(st.integers(1, 4000), st.integers(1, 300))
def test_long_schedules_keep_their_count(length: int, slots: int) -> None:
    length = min(length, 400) if slots == 1 else length
    steps, most, visits = follow(length, slots)
    assert (steps, visits) == (forward_steps(length, slots), list(range(length))[::-1])
    assert most <= slots
    if 1 < length <= 1200 and slots > 1:
        m = distance(length, slots)
        best = m + forward_steps(length - m, slots - 1) + forward_steps(m, slots)
        assert best == forward_steps(length, slots)


def test_the_table_of_the_theory() -> None:
    assert {n: {c: forward_steps(n, c) for c in row} for n, row in TABLE.items()} == TABLE


def test_800_steps_of_the_founding_runs() -> None:
    """Their convention counts 800 steps as t(l, c) does 800 states."""
    assert {c: (repetitions(800, c), forward_steps(800, c)) for c in FOUNDING} == FOUNDING
    assert forward_steps(800, 799) == forward_steps(800, 800) == 799


def test_counts_are_those_of_checkpoint_schedules() -> None:
    """`Multistage` of Stumm and Walther, by its own convention: l steps, c slots, the start's among them."""
    library = pytest.importorskip("checkpoint_schedules")
    for length in (2, 3, 5, 10, 33, 50, 100, 200):
        for slots in (1, 2, 3, 4, 6, 10):
            if slots >= length:
                continue  # the library keeps no start of a last step
            schedule = library.Revolve(length, slots)
            # its last step of all comes with the data of the adjoint step, which here is the visit
            steps = sum(
                a.n1 - a.n0 for a in schedule if type(a).__name__ == "Forward" and not a.write_adj_deps
            )
            assert steps == forward_steps(length, slots), (length, slots)


def test_a_schedule_of_100_000_steps_begins_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before the first move does not grow with the steps: a search for r by halves, then one distance."""
    length, counts = 100_000, []
    monkeypatch.setattr(two_level, "comb", lambda n, k: counts.append((n, k)) or comb(n, k))
    for slots in (2, 20, 1000):
        distance.cache_clear()
        counts.clear()
        assert next(reversal(length, slots)).kind == "advance"
        # r is at most l: doubling and halving ask for log2(l) coefficients each, the distance for two
        assert 0 < len(counts) <= 2 * length.bit_length() + 2


def test_no_slots_or_no_states_is_an_error() -> None:
    for length, slots in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="both are at least 1"):
            forward_steps(length, slots)
