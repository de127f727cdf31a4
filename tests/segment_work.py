"""Work for the tests of segments: what goes in and comes out everywhere, and what of it is compared."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.work import Correlation, Recorder, Snapshots, Source, Work
from subsalt.propagation.march import march

NT = 40
SHAPES = {2: (61, 1, 45), 3: (27, 52, 35)}


def points_everywhere(problem: Problem, n: int, seed: int) -> Points:
    """Return points whose supports overlap, lie in the layer, in corners and across the edges of tiles."""
    rng = np.random.default_rng(seed)
    shape, width = np.array(problem.layout.shape3), 8
    room = np.maximum(shape - width, 0)
    base = rng.integers(0, room + 1, (n, 3)).astype(np.int32)
    base[0], base[1], base[2] = 0, room, base[-1]
    weights = rng.uniform(-1, 1, (n, 3, width)).astype(np.float32)
    if problem.layout.ndim == 2:
        base[:, 1], weights[:, 1] = 0, 0
        weights[:, 1, 0] = 1
    weights[-1, 0, 3] = 0
    return Points(base, weights)


def work_for(problem: Problem, snapshot_times: range = range(1, NT, 3)) -> Work:
    """Return two sources (one ends early), two recorders (one ends early), snapshots and a correlation."""
    shape = problem.layout.shape3
    samples, energy, partners = _numbers(shape)
    sources = [
        Source(points_everywhere(problem, n, s), given)
        for (n, s), given in zip(((40, 1), (5, 2)), samples, strict=True)
    ]
    recorders = [
        Recorder(points_everywhere(problem, n, s), np.zeros((n, nt), np.float32, order="F"))
        for n, s, nt in ((30, 3, NT), (6, 4, 9))
    ]
    box = _snapped(shape)
    snapshots = Snapshots(box, {it: np.zeros(box.shape, np.float32) for it in snapshot_times})
    snapshots.energy, snapshots.scale = energy.copy(), 0.3
    other = _imaged(shape)
    image = np.zeros(other.shape, np.float32)
    return Work(sources, recorders, snapshots, Correlation(other, partners, image, 0.7))


def _snapped(shape: tuple[int, int, int]) -> Box:
    return Box((2, 0, 3), (shape[0] - 1, shape[1] - (shape[1] > 1), shape[2]))


def _imaged(shape: tuple[int, int, int]) -> Box:
    return Box((0, 0, 1), (shape[0] - 3, shape[1], shape[2] - 2))


@lru_cache(maxsize=1)
def _numbers(shape: tuple[int, int, int]) -> tuple[list[np.ndarray], np.ndarray, dict[int, np.ndarray]]:
    """Return what nothing changes, drawn once for a grid: samples of sources, an energy, and partners."""
    rng = np.random.default_rng(5)
    samples = [
        np.asfortranarray(rng.uniform(-1, 1, given).astype(np.float32)) for given in ((40, NT), (5, 7))
    ]
    energy = rng.uniform(0, 1, _snapped(shape).shape).astype(np.float32)
    partners = {it: rng.uniform(-1, 1, _imaged(shape).shape).astype(np.float32) for it in range(0, NT, 2)}
    return samples, energy, partners


def by_segment(kernels: Any, problem: Problem, state: State, n: int, work: Work) -> bool:
    """Advance by the segment of a device, from hook to hook; returns and bits as `by_step`."""
    return march(kernels.Segment(problem, work), state, n, work)


def everything(state: State, work: Work) -> list[np.ndarray]:
    arrays = [*state.arrays(), *(r.data for r in work.recorders)]
    if work.snapshots is not None:
        assert work.snapshots.energy is not None
        arrays += [*work.snapshots.fields.values(), work.snapshots.energy]
    if work.correlation is not None:
        arrays.append(work.correlation.image)
    return arrays


def same(a: tuple[State, Work], b: tuple[State, Work]) -> bool:
    return a[0].it == b[0].it and all(
        x.tobytes() == y.tobytes() for x, y in zip(everything(*a), everything(*b), strict=True)
    )
