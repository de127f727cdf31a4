"""Threads of a segment wait for each other as far as they read: with one that rests before every plane, bits stay.

Who waits for one plane less than it needs then reads what the slow thread has not written, or writes over what it still
reads. On idle cores all threads go at one pace, and such a mistake shows once in many thousand runs.
"""

from __future__ import annotations

import pytest

from kernel_problems import depth_axis as depth_axis
from kernel_problems import make_problem, random_start
from segment_work import by_segment, same, work_for
from subsalt.kernels import cpu
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.work import Work
from subsalt.propagation.march import by_step

STEPS = 9


def run(problem: Problem, work: Work, *, native: bool) -> tuple[State, Work]:
    state = random_start(problem)
    assert (by_segment if native else by_step)(cpu, problem, state, STEPS, work)
    return state, work


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("boundary", ["none", "pml"])
@pytest.mark.parametrize("order", [2, 4, 6])
@pytest.mark.parametrize("ndim", [2, 3])
def test_a_slow_thread_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, ndim: int, order: int, boundary: str, busy: bool
) -> None:
    """With recorders, whose supports reach further than a short stencil, and without; marches and tiles.

    At order 4 two planes are done at once, so that a wait short by one plane comes to the same there.
    """
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)
    shape = (61, 1, 33) if ndim == 2 else (25, 40, 19)
    problem = make_problem(shape, "isotropic", boundary, order, ndim=ndim)

    def work() -> Work:
        return work_for(problem) if busy else Work()

    want = run(problem, work(), native=False)
    for depth, threads in ((1, 2), (2, 2), (2, 3)):
        monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _, d=depth: (0, d, 1))
        problem.cache.clear()
        for slow in range(threads):
            with cpu.forced(threads=threads, slow=slow):
                assert same(run(problem, work(), native=True), want), (depth, threads, slow)
