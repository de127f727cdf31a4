"""The compiled segment against the loop in Python: the same bits whatever the medium, layer, cut, threads or length."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernel_problems import make_problem, random_state, to_cpu
from subsalt.grid import Box
from subsalt.injection import Points
from subsalt.kernels import cpu
from subsalt.kernels.problem import Problem, State
from subsalt.segment import Recorder, Snapshots, Source, Work, by_segment, by_step

NT = 40
SHAPES = {2: (61, 1, 45), 3: (27, 52, 35)}


def points_everywhere(problem: Problem, n: int, seed: int) -> Points:
    """Return points whose supports overlap, lie in the layer, in corners and across the edges of tiles."""
    rng = np.random.default_rng(seed)
    shape, width = np.array(problem.layout.shape3), 8
    room = np.maximum(shape - width, 0)
    base = rng.integers(0, room + 1, (n, 3)).astype(np.int32)
    base[0], base[1], base[2] = 0, room, base[3]
    weights = rng.uniform(-1, 1, (n, 3, width)).astype(np.float32)
    if problem.layout.ndim == 2:
        base[:, 1], weights[:, 1] = 0, 0
        weights[:, 1, 0] = 1
    weights[-1, 0, 3] = 0
    return Points(base, weights)


def work_for(problem: Problem, snapshot_times: range = range(1, NT, 3)) -> Work:
    """Return two sources (one ends early), two recorders (one ends early) and snapshots."""
    rng = np.random.default_rng(5)
    shape = problem.layout.shape3

    def series(n: int, nt: int) -> np.ndarray:
        return np.asfortranarray(rng.uniform(-1, 1, (n, nt)).astype(np.float32))

    sources = [
        Source(points_everywhere(problem, n, s), series(n, nt)) for n, s, nt in ((40, 1, NT), (5, 2, 7))
    ]
    recorders = [
        Recorder(points_everywhere(problem, n, s), np.zeros((n, nt), np.float32, order="F"))
        for n, s, nt in ((30, 3, NT), (6, 4, 9))
    ]
    box = Box((2, 0, 3), (shape[0] - 1, shape[1] - (shape[1] > 1), shape[2]))
    snapshots = Snapshots(box, {it: np.zeros(box.shape, np.float32) for it in snapshot_times})
    return Work(sources, recorders, snapshots)


def everything(state: State, work: Work) -> list[np.ndarray]:
    assert work.snapshots is not None
    return [*state.arrays(), *(r.data for r in work.recorders), *work.snapshots.fields.values()]


def same(a: tuple[State, Work], b: tuple[State, Work]) -> bool:
    return a[0].it == b[0].it and all(
        x.tobytes() == y.tobytes() for x, y in zip(everything(*a), everything(*b), strict=True)
    )


def run(problem: Problem, steps: int, *, native: bool, cuts: tuple[int, ...] = ()) -> tuple[State, Work]:
    """Return state and results after some steps, in one call or cut into several."""
    state, work = to_cpu(problem, random_state(problem)), work_for(problem)
    assert cpu.is_finite(problem, state.curr)
    for a, b in pairwise((0, *cuts, steps)):
        assert (by_segment if native else by_step)(cpu, problem, state, b - a, work)
    return state, work


@pytest.fixture(autouse=True)
def no_forced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)


@pytest.mark.parametrize("boundary", ["none", "pml", "damping"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
@pytest.mark.parametrize("free_surface", [False, True])
def test_segment_equals_the_loop(medium: str, boundary: str, ndim: int, free_surface: bool) -> None:
    problem = make_problem(SHAPES[ndim], medium, boundary, 8, ndim=ndim, free_surface=free_surface)
    for steps in (1, 8, 13):
        assert same(run(problem, steps, native=True), run(problem, steps, native=False)), steps


@pytest.mark.parametrize("order", [2, 4, 8, 12])
@pytest.mark.parametrize("ndim", [2, 3])
def test_every_order(order: int, ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], "vti", "pml", order, ndim=ndim)
    assert same(run(problem, 9, native=True), run(problem, 9, native=False))


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [0, 1, 3, 7, 20, 52])
@pytest.mark.parametrize("depth", [1, 2])
def test_threads_and_tiles(monkeypatch: pytest.MonkeyPatch, threads: int, rows: int, depth: int) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (rows, depth))
    problem = make_problem(SHAPES[3], "isotropic", "pml", 8)
    want = run(problem, 11, native=False)
    with cpu.forced(threads=threads):
        assert same(run(problem, 11, native=True), want)


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("order", [4, 8, 16])
def test_threads_in_the_march(monkeypatch: pytest.MonkeyPatch, threads: int, depth: int, order: int) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (0, depth))
    problem = make_problem(SHAPES[2], "vti", "pml", order, ndim=2, free_surface=True)
    want = run(problem, 23, native=False)
    with cpu.forced(threads=threads):
        assert same(run(problem, 23, native=True), want)
