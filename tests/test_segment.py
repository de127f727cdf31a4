"""The compiled segment against the loop in Python: the same bits whatever the medium, layer, cut, threads or length."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kernel_problems import depth_axis as depth_axis
from kernel_problems import make_problem, random_start
from patience import PATIENCE, cpu_seconds, wait_for
from segment_work import SHAPES, by_segment, points_everywhere, same, work_for
from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import cpu
from subsalt.kernels.problem import Problem, State, pack
from subsalt.kernels.work import FINITE_EVERY, Correlation, Recorder, Snapshots, Source, Work
from subsalt.propagation.march import by_step
from thorough import ALL, pairs

DEPTHS = [1, 2, 3, 4, 5, 6]


def run(
    problem: Problem, steps: int, *, native: bool, cuts: tuple[int, ...] = (), work: Work | None = None
) -> tuple[State, Work]:
    """Return state and results after some steps, in one call or cut into several."""
    state, work = random_start(problem), work or work_for(problem)
    assert cpu.is_finite(problem, state.curr)
    for a, b in pairwise((0, *cuts, steps)):
        assert (by_segment if native else by_step)(cpu, problem, state, b - a, work)
    return state, work


@pytest.fixture(autouse=True)
def no_forced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)


@pytest.mark.parametrize("boundary", ["none", "pml", "damping"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
@pytest.mark.parametrize("free_surface", [False, True])
def test_segment_equals_the_loop(medium: str, boundary: str, ndim: int, free_surface: bool) -> None:
    problem = make_problem(SHAPES[ndim], medium, boundary, 8, ndim=ndim, free_surface=free_surface)
    for steps in (1, 8, 13):
        assert same(run(problem, steps, native=True), run(problem, steps, native=False)), steps


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_packed_models(medium: str, ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], medium, "pml", 8, ndim=ndim)
    pack(problem)
    with cpu.forced(threads=3):
        assert same(run(problem, 13, native=True), run(problem, 13, native=False))


@pytest.mark.parametrize("order", [2, 4, 8, 12])
@pytest.mark.parametrize("ndim", [2, 3])
def test_every_order(order: int, ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], "vti", "pml", order, ndim=ndim)
    assert same(run(problem, 9, native=True), run(problem, 9, native=False))


@pytest.mark.parametrize(("threads", "rows", "depth"), pairs([1, 2, 3, 5], [0, 1, 3, 7, 20, 52], DEPTHS))
def test_threads_and_tiles(monkeypatch: pytest.MonkeyPatch, threads: int, rows: int, depth: int) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (rows, depth, 1 + rows % 2))
    problem = make_problem(SHAPES[3], "isotropic", "pml", 8)
    want = run(problem, 11, native=False)
    with cpu.forced(threads=threads):
        assert same(run(problem, 11, native=True), want)


@pytest.mark.parametrize("boundary", ["pml", "damping"])
def test_tiles_of_a_tilted_medium(monkeypatch: pytest.MonkeyPatch, boundary: str) -> None:
    problem = make_problem(SHAPES[3], "tti", boundary, 8)
    want = run(problem, 5, native=False)
    for threads, rows in ((1, 0), (1, 5), (2, 7), (3, 1)):
        monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _, r=rows: (r, 1, 1))
        problem.cache.clear()
        with cpu.forced(threads=threads):
            assert same(run(problem, 5, native=True), want), (threads, rows)


@pytest.mark.parametrize(
    ("medium", "boundary", "order", "free_surface"),
    pairs(["vti", "isotropic"], ["pml", "damping", "none"], [8, 4, 2], [True, False]),
)
def test_deep_passes(
    monkeypatch: pytest.MonkeyPatch, medium: str, boundary: str, order: int, free_surface: bool
) -> None:
    """Steps fewer than a pass is deep, whole passes, and a remainder; with what goes in and out, and without.

    Of each number of steps, and of each way to cut, half are tried with it in ``make test``, and half without.
    """
    cuts = ((1, 0, 4), (2, 5, 3), (3, 9, 4), (2, 17, 5), (4, 2, 6), (1, 13, 6))
    problem = make_problem(SHAPES[3], medium, boundary, order, free_surface=free_surface)
    for i, steps in enumerate((1, 3, 6, 11)):
        want, bare = run(problem, steps, native=False), run(problem, steps, native=False, work=Work())
        for j, (threads, rows, depth) in enumerate(cuts):
            monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _, c=(rows, depth, 1 + depth % 2): c)
            problem.cache.clear()
            with cpu.forced(threads=threads):
                if ALL or (i + j) % 2 == 0:
                    assert same(run(problem, steps, native=True), want), (steps, threads, rows, depth)
                if ALL or (i + j) % 2 == 1:
                    got = run(problem, steps, native=True, work=Work())
                    assert same(got, bare), (steps, threads, rows, depth)


@pytest.mark.parametrize("ny", [9, 11, 16, 19, 23, 27, 31])
@pytest.mark.parametrize("depth", [2, 4, 6])
def test_passes_are_less_deep_where_the_layers_of_y_leave_no_room(
    monkeypatch: pytest.MonkeyPatch, ny: int, depth: int
) -> None:
    """At order 8 the first tile holds 3 + 4 depth rows and the last 5 + 4; further tiles lie between, or are empty."""
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (3, depth, 1))
    problem = make_problem((19, ny, 21), "vti", "pml", 8, widths=(3, 2, 3, 5, 4, 4))
    want = run(problem, 13, native=False)
    for threads in (1, 2, 3):
        with cpu.forced(threads=threads):
            assert same(run(problem, 13, native=True), want), threads


@pytest.mark.parametrize("width", [1, 5, 11])
@pytest.mark.parametrize("order", [2, 8])
def test_supports_of_other_widths_are_recorded_before_they_are_overwritten(
    monkeypatch: pytest.MonkeyPatch, width: int, order: int
) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (4, 4, 2))
    problem = make_problem(SHAPES[3], "isotropic", "pml", order)
    rng = np.random.default_rng(8)
    room = np.array(SHAPES[3]) - width
    points = Points(
        rng.integers(0, room + 1, (90, 3)).astype(np.int32),
        rng.uniform(-1, 1, (90, 3, width)).astype(np.float32),
    )

    def recorded(native: bool) -> np.ndarray:
        state = random_start(problem)
        recorder = Recorder(points, np.zeros((90, 15), np.float32, order="F"))
        assert (by_segment if native else by_step)(cpu, problem, state, 14, Work(recorders=[recorder]))
        return recorder.data

    with cpu.forced(threads=3):
        assert np.array_equal(recorded(True), recorded(False))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("order", [4, 8, 16])
def test_threads_in_the_march(monkeypatch: pytest.MonkeyPatch, threads: int, depth: int, order: int) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (0, depth, 1 + depth % 2))
    problem = make_problem(SHAPES[2], "vti", "pml", order, ndim=2, free_surface=True)
    want = run(problem, 23, native=False)
    with cpu.forced(threads=threads):
        assert same(run(problem, 23, native=True), want)


@pytest.mark.parametrize("ndim", [2, 3])
def test_a_segment_in_parts_gives_the_same_bits(ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], "vti", "pml", 4, ndim=ndim)
    want = run(problem, 19, native=False)
    for cuts in ((1,), (2, 3), (7, 8, 12), tuple(range(1, 19))):
        assert same(run(problem, 19, native=True, cuts=cuts), want), cuts


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_instruction_sets_of_one_class_give_the_same_bits(medium: str, ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], medium, "pml", 8, ndim=ndim)
    results = []
    for isa in cpu.available():
        with cpu.forced(isa):
            result = run(problem, 10, native=True)
            assert same(result, run(problem, 10, native=False)), isa
        if isa != "v2":
            results.append(result)
    assert all(same(r, results[0]) for r in results)


@pytest.mark.parametrize("shape", [(9, 1, 17), (30, 9, 16), (8, 12, 40), (40, 17, 9), (12, 64, 8)])
def test_grids_smaller_than_layers_threads_or_supports_along_an_axis(shape: tuple[int, int, int]) -> None:
    widths = tuple(min(5, n // 2) for n in shape for _ in range(2))
    ndim = 2 if shape[1] == 1 else 3
    problem = make_problem(shape, "isotropic", "pml", 8, ndim=ndim, widths=widths)  # type: ignore[arg-type]
    want = run(problem, 12, native=False)
    with cpu.forced(threads=4):
        assert same(run(problem, 12, native=True), want)


def test_hooks_see_the_state_of_their_time_and_may_change_it() -> None:
    problem = make_problem(SHAPES[3], "isotropic", "pml", 8)
    seen: list[list[tuple[int, bytes]]] = []

    def advance(native: bool, at: set[int] | None) -> State:
        calls: list[tuple[int, bytes]] = []

        def hook(state: State) -> None:
            calls.append((state.it, state.curr[0].tobytes()))
            problem.layout.view(state.curr[0])[12, 30, 15] += 1.0

        state, work = random_start(problem), work_for(problem)
        work.hook, work.at = hook, at
        assert (by_segment if native else by_step)(cpu, problem, state, 14, work)
        seen.append(calls)
        return state

    for at in ({1, 4, 5, 11}, {14}, {3, 40}, None):
        a, b = advance(True, at), advance(False, at)
        assert seen[-1] == seen[-2]
        assert [it for it, _ in seen[-1]] == sorted(t for t in at or range(1, 15) if t <= 14)
        assert a.curr[0].tobytes() == b.curr[0].tobytes()


def test_a_field_that_is_not_finite_is_reported_at_the_next_check() -> None:
    problem = make_problem(SHAPES[3], "isotropic", "none", 8)
    for native in (True, False):
        state = random_start(problem)
        problem.layout.view(state.curr[0])[5, 6, 7] = np.nan
        work = Work()
        assert not (by_segment if native else by_step)(cpu, problem, state, 90, work)
        assert state.it == FINITE_EVERY


def test_progress_is_told_and_what_it_raises_leaves_a_whole_step() -> None:
    problem = make_problem(SHAPES[3], "isotropic", "pml", 8)
    want = run(problem, FINITE_EVERY, native=False)
    progress: list[int] = []

    def stop(it: int) -> None:
        progress.append(it)
        if it == FINITE_EVERY:
            raise KeyboardInterrupt

    state, work = random_start(problem), work_for(problem)
    work.progress = stop
    with pytest.raises(KeyboardInterrupt):
        by_segment(cpu, problem, state, 3 * FINITE_EVERY, work)
    assert progress == sorted(progress)
    assert same((state, work), want)


INTERRUPTED = """
import sys, threading, time
sys.path.insert(0, {tests!r})
from kernel_problems import make_problem
from subsalt.kernels import cpu
from subsalt.kernels.problem import pack

problem = make_problem((48, 48, 48), "isotropic", "pml", 8)
state, segment = cpu.new_state(problem), cpu.Segment(problem)
segment.advance(state, 2, 50, False)
print("started", flush=True)
try:
    segment.advance(state, 10**9, 10**9, False)
except KeyboardInterrupt:
    level = id(state.curr[0]), id(state.prev[0])
    segment.advance(state, 1, 50, True)
    turned = level == (id(state.prev[0]), id(state.curr[0]))
    print(state.it > 3, turned)
"""


@pytest.mark.parametrize("depth_axis", ["uniform"], indirect=True)  # the program makes a problem of its own
def test_ctrl_c_ends_one_long_segment() -> None:
    """It has 1e9 steps, which would take weeks."""
    code = INTERRUPTED.format(tests=str(Path(__file__).parent))
    environment = {**os.environ, "SUBSALT_TUNE": "off", "OMP_NUM_THREADS": "2"}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        begun = cpu_seconds(process.pid)
        # into the segment: a fifth of a second of computing is hundreds of steps
        wait_for(lambda: cpu_seconds(process.pid) > begun + 0.2, "the segment")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert out.split() == ["True", "True"]
    assert process.returncode == 0


@pytest.mark.parametrize("wrong", ["strided", "float64", "read-only"])
def test_what_is_written_must_be_the_array_itself(wrong: str) -> None:
    """A converted copy would be written, and the result be lost."""
    problem, box = make_problem(SHAPES[3], "vti", "none", 8), Box((0, 0, 0), SHAPES[3])
    good = np.ones(SHAPES[3], np.float32)
    bad = np.zeros((*SHAPES[3], 2), np.float32)[..., 0] if wrong == "strided" else good.copy()
    bad = bad.astype(np.float64) if wrong == "float64" else bad
    bad.flags.writeable = wrong != "read-only"
    data = np.zeros(
        (3, 9), np.float64 if wrong == "float64" else np.float32, order="F" if wrong != "strided" else "C"
    )
    data.flags.writeable = wrong != "read-only"
    for name, work in (
        ("the snapshot", {"snapshots": Snapshots(box, {1: bad})}),
        ("the energy", {"snapshots": Snapshots(box, {1: good}, bad)}),
        ("the image", {"correlation": Correlation(box, {1: good}, bad, 1.0)}),
        ("recorded data", {"recorders": [Recorder(points_everywhere(problem, 3, 1), data)]}),
    ):
        state = cpu.new_state(problem)
        with pytest.raises(ValueError, match=f"{name} must be float32, contiguous"):
            cpu.Segment(problem, Work(**work)).advance(state, 2, 50, True)  # type: ignore[arg-type]
        assert state.it == 0


def test_wrong_arguments_are_refused() -> None:
    problem, other = (
        make_problem(SHAPES[3], "isotropic", "none", 8),
        make_problem((30, 31, 32), "vti", "none", 8),
    )
    state = cpu.new_state(problem)
    samples = np.zeros((3, 5), np.float32, order="F")
    segment = cpu.Segment(problem)
    segment.sources = cpu.Segment(other, Work([Source(points_everywhere(other, 3, 1), samples)])).sources
    with pytest.raises(ValueError, match="another grid"):
        segment.advance(state, 1, 50, True)
    with pytest.raises(ValueError, match="one column per point"):
        cpu.Segment(problem, Work([Source(points_everywhere(problem, 4, 1), samples)])).advance(
            state, 1, 50, True
        )
    wrong = Snapshots(Box((0, 0, 0), (4, 4, 4)), {1: np.zeros((4, 4, 5), np.float32)})
    outside = Snapshots(Box((0, 0, 0), (999, 1, 1)), {1: np.zeros((999, 1, 1), np.float32)})
    with pytest.raises(ValueError, match="shape of the box"):
        cpu.Segment(problem, Work(snapshots=wrong)).advance(state, 1, 50, True)
    with pytest.raises(ValueError, match="leaves the grid"):
        cpu.Segment(problem, Work(snapshots=outside)).advance(state, 1, 50, True)
    with pytest.raises(ValueError, match="wrong number of fields"):
        cpu.Segment(problem).advance(cpu.new_state(other), 1, 50, True)
    with pytest.raises(ConfigError, match="run-time radius"), cpu.forced(generic_radius=True):
        cpu.Segment(problem).advance(state, 1, 50, True)
    assert state.it == 0
