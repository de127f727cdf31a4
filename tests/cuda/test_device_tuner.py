"""The tuning of the field step, found in the first steps of a run on the device: any has the same bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_states import to_device

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.kernels import cuda, tuning
from subsalt.kernels.cuda import segment as tuner
from subsalt.kernels.work import FINITE_EVERY

SHAPE = (13, 29, 40)


class Memory:
    """Where tunings outlive the process, here in it."""

    def __init__(self) -> None:
        self.cuts: dict[str, tuning.Cut] = {}

    def read(self) -> dict[str, tuning.Cut]:
        return dict(self.cuts)

    def write(self, name: str, value: tuning.Cut) -> None:
        self.cuts[name] = value


@pytest.fixture
def memory(gpu_device: Any, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Let small grids be tuned by few steps, and remember in this process alone."""
    made = Memory()
    monkeypatch.setenv("SUBSALT_TUNE", "on")
    monkeypatch.setattr(tuner, "SMALLEST", 1)
    monkeypatch.setattr(tuner, "TRIAL", 3)
    monkeypatch.setattr(tuning, "_memory", made)
    return made


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_every_tuning_has_the_same_bytes(gpu_device: Any, medium: str) -> None:
    problem = make_problem(SHAPE, medium, "pml", 8)
    host = to_cpu(problem, random_state(problem))
    answers = set()
    tunings = tuner.tunings(problem)
    for cut in tunings:
        tuner.tuner_of(problem).best = cut
        state = to_device(problem, host)
        assert cuda.Segment(problem).advance(state, 5, FINITE_EVERY, True)
        answers.add(b"".join(np.asarray(a).tobytes() for a in state.arrays()))
    assert len(answers) == 1
    assert len(set(tunings)) == len(tunings) > 1


def test_the_fastest_is_settled_and_remembered(memory: Memory) -> None:
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    state = to_device(problem, to_cpu(problem, random_state(problem)))
    assert not tuner.tuner_of(problem).settled
    best = cuda.settle(problem, state)
    trials = tuner.tuner_of(problem).seconds
    assert set(trials) == set(tuner.tunings(problem))
    finalists = tuning.FINALISTS if len(trials) > tuning.FINALISTS else 0
    assert sorted(len(times) for times in trials.values())[-finalists - 1] == tuning.ROUNDS
    assert best == min(trials, key=lambda cut: min(trials[cut]))
    assert state.it == 8 * tuning.ROUNDS * (len(trials) + finalists)
    assert list(memory.cuts.values()) == [best]
    (key,) = memory.cuts
    assert cuda.describe()["name"] in key
    # the next problem of this kind takes it
    again = make_problem(SHAPE, "isotropic", "none", 4)
    assert tuner.tuner_of(again).settled
    assert tuner.tuner_of(again).best == best


def test_a_run_is_not_disturbed_by_trials(memory: Memory) -> None:
    problem, plain = (make_problem(SHAPE, "isotropic", "pml", 8) for _ in range(2))
    host = to_cpu(problem, random_state(problem))
    states = [to_device(problem, host) for _ in range(2)]
    steps = 8 * tuning.ROUNDS * (len(tuner.tunings(problem)) + tuning.FINALISTS) + 3
    assert cuda.Segment(problem).advance(states[0], steps, FINITE_EVERY, True)
    assert tuner.tuner_of(problem).settled
    tuner.tuner_of(plain).settled = True
    assert cuda.Segment(plain).advance(states[1], steps, FINITE_EVERY, True)
    assert [np.asarray(a).tobytes() for a in states[0].arrays()] == [
        np.asarray(a).tobytes() for a in states[1].arrays()
    ]


def test_tuning_can_be_switched_off(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUBSALT_TUNE", "off")
    problem = make_problem(SHAPE, "isotropic", "none", 4)
    assert tuner.tuner_of(problem).settled
    assert tuner.tuner_of(problem).best == tuner.tunings(problem)[0]
