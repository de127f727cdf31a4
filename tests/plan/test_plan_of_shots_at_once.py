"""Shots side by side in one process: memory and disk of all in hand count, and the survey ends first."""

import math
from dataclasses import replace

import pytest
from plan_cases import survey

import subsalt as ss
from subsalt.checkpoint.options import CheckpointOptions
from subsalt.errors import MemoryPlanError
from subsalt.methods.rtm import grouping
from subsalt.methods.rtm.grouping import decide, group_size
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.node_inputs import NodeInputs
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.plan import World
from subsalt.plan.rates import assumed
from subsalt.propagation.options import ImagingOptions, PropagationOptions

PLENTY = 1e12


def line(shots=12, nx=301, **options) -> Needs:
    """Return the needs of a 2-D line whose shots are small."""
    model = ss.EarthModel(ss.Grid((nx, 101), (10.0,) * 2), 2000.0)
    src = [[100.0 + 10 * i, 20.0] for i in range(shots)]
    rcv = [[20.0 * i, 20.0] for i in range(100)]
    of_line = ss.Survey.from_arrays(src, rcv, nt=750, dt=0.004)
    options = PropagationOptions(**options)
    made = MigrationSetup.build(model, ss.ricker(20.0, 0.001), of_line.time, options, ImagingOptions())
    return Needs(made, of_line.shots, 1)


def alone(threads: int, memory: float = PLENTY) -> World:
    return World(1, int(memory), threads, 1, True)


def choosing(requirements: Needs, disk: int = 0, **options) -> Needs:
    return requirements.choosing(NodeInputs(CheckpointOptions(**options), assumed(2), disk=disk))


def test_every_shot_in_hand_takes_its_memory():
    """Model, survey and program are there once, all else as often as there are shots."""
    requirements = choosing(line(), strategy="store")
    held = sum(requirements.held().values())
    one = requirements.for_group(1, int(PLENTY)).total - held
    for count in (2, 3, 5):
        several = requirements.side_by_side(count).for_group(1, int(PLENTY))
        assert several.total == held + count * one
        assert (
            several.arrays["snapshots"] == count * requirements.for_group(1, int(PLENTY)).arrays["snapshots"]
        )


def test_a_budget_and_what_a_job_allows_are_divided_among_the_shots():
    requirements = choosing(line(), disk=1000, memory=3 * 10**8, strategy="store")
    three = requirements.side_by_side(3)
    bare = sum(requirements._in_hand(requirements.worst_shots[0], (0, 1), {}).values())
    held = sum(requirements.held().values())
    assert requirements.budget(1, 10**9) == 10**9 - bare
    assert three.budget(1, 10**9) == (10**9 - held - 3 * (bare - held)) // 3
    inputs = three.choice(three.worst_shots[0], 1, three.budget(1, 10**9)).inputs
    assert (inputs.memory, inputs.disk) == (10**8, 333)


def test_as_many_shots_as_threads_where_that_ends_the_survey_first():
    assert decide(line(12), alone(2)).at_once == 2
    assert decide(line(12), alone(4)).at_once == 4
    # three shots on two threads: the third would be computed by one thread, beside one that rests
    assert decide(line(3), alone(2)).at_once == 1
    for wrong in (decide(line(12), alone(1)), decide(line(1), alone(8))):
        assert wrong.at_once == 1
    many = decide(line(200), alone(96))
    assert 1 < many.at_once <= grouping.MOST_AT_ONCE
    assert many.at_once * many.threads <= 96


def test_the_number_for_the_least_predicted_time_is_taken():
    for shots, threads in ((12, 8), (5, 4), (7, 3), (100, 16)):
        taken = decide(line(shots), alone(threads)).at_once

        def seconds(count, shots=shots, threads=threads):
            return math.ceil(shots / count) / grouping.pace(threads // count)

        tried = range(1, min(shots, threads) + 1)
        assert seconds(taken) == min(map(seconds, tried))


def test_large_shots_and_tiny_ones_are_computed_one_after_the_other(monkeypatch):
    requirements = line()
    for count in (1, 2, 3):
        monkeypatch.setattr(grouping, "SMALL", count * requirements.step_bytes)
        assert decide(line(), alone(3)).at_once == count
        monkeypatch.setattr(grouping, "SMALL", count * requirements.step_bytes - 1)
        assert decide(line(), alone(3)).at_once == max(1, count - 1)
    monkeypatch.undo()
    monkeypatch.setattr(grouping, "TINY", requirements.least_point_steps + 1)
    assert decide(line(), alone(2)).at_once == 1


def test_no_shot_gives_its_snapshots_up_for_another_beside_it():
    requirements = choosing(line(), strategy="auto")
    two = requirements.side_by_side(2).for_group(1, int(PLENTY)).total
    assert decide(requirements, alone(2, two)).at_once == 2
    less = decide(requirements, alone(2, two - 1))
    assert (less.at_once, less.choice.best.name) == (1, "store, memory")


def test_a_number_that_is_asked_for_is_taken_or_refused_with_one_that_fits():
    requirements = choosing(line(5), strategy="store", place="memory")
    assert group_size(requirements, alone(2), at_once=3).at_once == 3
    assert group_size(requirements, alone(2), at_once=1).at_once == 1
    assert group_size(requirements, alone(2), at_once=50).at_once == 5  # no more than there are shots
    three = requirements.side_by_side(3).for_group(1, int(PLENTY)).total
    with pytest.raises(MemoryPlanError) as caught:
        group_size(requirements, alone(2, three), at_once=4)
    assert caught.value.fix == "set [parallel] shots_at_once = 3"
    assert group_size(requirements, alone(2, three), at_once=3).fits


def test_ranks_and_reference_kernels_compute_one_shot_at_a_time():
    assert decide(replace(line(), ranks=2), World(2, int(PLENTY), 2, 2, True)).at_once == 1
    assert decide(replace(line(), ranks=2), World(2, int(PLENTY), 2, 2, True), at_once=4).at_once == 1
    assert decide(line(device="reference"), alone(4)).at_once == 1


def test_the_plan_of_a_survey_in_3d_is_as_it_was_where_shots_are_large():
    large = Needs(
        MigrationSetup.build(
            ss.EarthModel(ss.Grid((401, 301, 201), (10.0,) * 3), 2000.0),
            ss.ricker(20.0, 0.001),
            survey().time,
            PropagationOptions(),
            ImagingOptions(),
        ),
        survey().shots,
        1,
    )
    assert decide(large, alone(16)).at_once == 1
