"""Schemes of a shot: closed counts against the tasks one by one, what the tasks cover, and refusals; no physics."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from walk import walk

from subsalt.checkpoint.schedule.scheme import Scheme, schedule_of
from subsalt.checkpoint.schedule.tasks import Counts, Tally, counts_of, tasks_of
from subsalt.checkpoint.schedule.two_level import forward_steps
from subsalt.errors import ConfigError


def added_up(scheme: Scheme) -> Counts:
    tally = Tally(scheme)
    for task in tasks_of(scheme):
        tally.add(task)
    return tally.counts()


def follow(scheme: Scheme) -> None:
    """Check that tasks make every sample available when it is imaged, and image each once, last first."""
    here = reached = 0
    snapshots: set[int] = set()
    imaged: list[int] = []
    held: dict[tuple[str, int], int] = {}
    for task in tasks_of(scheme):
        start = scheme.span(task.block)[0]
        if task.kind == "forward":
            assert task.first == here < task.last
            assert task.new == (task.last > reached)
            assert not task.new or task.first == reached  # the first sweep goes over every sample once
            here, reached = task.last, max(reached, task.last)
            if task.wanted:
                snapshots |= set(range(task.first + 1, task.last + 1))
        elif task.kind == "take":
            assert here == task.last
            snapshots.add(here)
        elif task.kind == "receive":
            samples = list(range(task.last, max(task.first, 1) - 1, -1))
            assert set(samples) <= snapshots
            imaged += samples
            if scheme.strategy == "revolve" and imaged and task.first % scheme.block == 0:
                snapshots.clear()
        elif task.kind == "store":
            assert here == start
            held[task.level, task.slot] = start
        elif task.kind == "load":
            here = held[task.level, task.slot]
        elif task.kind == "rest":
            here = 0
    assert imaged == list(range(scheme.samples, 0, -1))


@st.composite
def schemes(draw: st.DrawFn) -> Scheme:
    k = draw(st.integers(1, 6))
    steps = draw(st.integers(k, 200))
    more = {
        "chunk": draw(st.integers(0, 12)),
        "restart_every": draw(st.sampled_from([0, 0, 1, 17, 60])),
        "keep": draw(st.sampled_from(["none", "none", "source", "both"])),
    }
    if draw(st.booleans()):
        on = draw(st.sampled_from(["memory", "disk"]))
        return Scheme("store", steps, k, snapshots_on=on, **more)
    block = draw(st.integers(1, steps // k + 1))
    slots = {"memory_slots": draw(st.integers(0, 9)), "disk_slots": draw(st.integers(0, 9))}
    costs = draw(st.sampled_from([(0, 0), (250, 100)]))
    return Scheme("revolve", steps, k, block, **slots, disk_costs=costs, **more)


@settings(max_examples=300)
@given(schemes())
def test_counts_are_the_sum_of_the_tasks_and_every_sample_is_imaged_once(scheme: Scheme) -> None:
    assert counts_of(scheme) == added_up(scheme)
    follow(scheme)
    walk(schedule_of(scheme))


def test_revolve_counts_are_the_formula() -> None:
    """Blocks cost t(L, c + 1) advances, c slots and x_0 free; a block's own samples come on top."""
    scheme = Scheme("revolve", 803, 4, 7, memory_slots=5)
    blocks = scheme.blocks
    assert blocks == 29
    assert scheme.samples == 200
    counts = counts_of(scheme)
    assert counts.source_steps == forward_steps(blocks, 6) * 7 * 4 + (201 - blocks) * 4
    assert counts.receiver_steps == 803
    assert counts.states_stored_disk == counts.snapshots_written == counts.restart_points == 0


def test_one_block_and_blocks_of_one_are_the_limits() -> None:
    store = counts_of(Scheme("store", 100, 3))
    assert store == counts_of(Scheme("revolve", 100, 3, 34)) == Counts(99, 100)
    assert counts_of(Scheme("revolve", 100, 3, 1, memory_slots=33)).source_steps == 99
    assert counts_of(Scheme("revolve", 100, 3, 1)).source_steps == 3 * 33 * 34 // 2


def test_restart_points_come_at_least_as_often_as_asked_in_sweeps() -> None:
    for scheme in (
        Scheme("store", 500, 5, restart_every=50),
        Scheme("store", 500, 5, restart_every=50, snapshots_on="disk", chunk=4),
        Scheme("revolve", 500, 5, 5, memory_slots=20, restart_every=50),
    ):
        counts = counts_of(scheme)
        steps = counts.source_steps + counts.receiver_steps
        # a piece or a block may pass the mark before the next point can be set
        assert steps // (50 + 2 * 25 * 5) <= counts.restart_points <= steps // 50
    assert counts_of(Scheme("store", 500, 5, restart_every=5000)).restart_points == 0


def test_bytes_follow_from_counts() -> None:
    scheme = Scheme("store", 100, 5, snapshots_on="disk", chunk=3, keep="both")
    assert counts_of(scheme).bytes(1000, 10) == ((20 + 20) * 10, 20 * 10)
    scheme = Scheme("revolve", 100, 5, 1, disk_slots=3)
    counts = counts_of(scheme)
    written, read = counts.bytes(1000, 10)
    assert written == 1000 * counts.states_stored_disk > 0
    assert read == 1000 * counts.states_loaded_disk > written


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"image_step": 101}, "image_step = 101 of 100 steps"),
        ({"image_step": 0}, "image_step = 0"),
        ({"block": 22}, "block = 22; a block has 1 to 21 samples"),
        ({"strategy": "store", "block": 5}, "block = 5 with store"),
        ({"strategy": "store", "block": 21, "memory_slots": 5}, "5 slots for states with store"),
        ({"memory_slots": -1}, "negative number"),
        ({"snapshots_on": "disk"}, "snapshots on disk with revolve"),
        ({"strategy": "boundary", "restart_every": 5}, "boundary with restart points"),
        ({"strategy": "recursive"}, "strategy = 'recursive'"),
    ],
)
def test_schemes_that_make_no_sense_are_refused(changes: dict, said: str) -> None:
    with pytest.raises(ConfigError, match="no schedule") as caught:
        replace(Scheme("revolve", 100, 5, 0), **changes)
    assert said in str(caught.value)
    assert caught.value.code == "E870"
    assert caught.value.fix
