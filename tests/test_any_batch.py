"""Where a call, a batch or a pass of steps ends changes no bit: drawn at random, against the loop over single steps.

Every case draws a medium, its grid, layer and scheme, and what goes in and comes out; the wavefield starts at rest and
fills the grid, since what it has not reached is left out (native/isa/front.hpp) until it has come everywhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import test_slab_passes
from kernel_problems import depth_axis as depth_axis
from kernel_problems import make_problem
from segment_work import by_segment, points_everywhere
from subsalt import _native
from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError
from subsalt.kernels import cpu, tuning
from subsalt.kernels.problem import Problem, State, pack
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Correlation, Recorder, Shells, Snapshots, Source, Work
from subsalt.propagation.march import by_step
from thorough import sample

Rng = np.random.Generator

SHAPES = {2: (47, 1, 84), 3: (18, 21, 66)}
STEPS = {2: 66, 3: 40}

#: of drawn batches, cuts and threads: so many ways of every case are compared with one loop over single steps
WAYS = 5


def one(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def problem_of(rng: Rng, medium: str, ndim: int, stretched: bool | None = None) -> Problem:
    boundary, order = one(rng, ["none", "pml", "pml", "damping"]), one(rng, [2, 4, 8, 8, 12])
    n = SHAPES[ndim]
    shape = (
        n[0] + int(rng.integers(3)),
        n[1] + int(rng.integers(3)) * (ndim == 3),
        n[2] + int(rng.integers(9)),
    )
    free = bool(rng.integers(2))
    kw = {"ndim": ndim, "free_surface": free, "seed": int(rng.integers(99)), "stretched": stretched}
    problem = make_problem(shape, medium, boundary, order, **kw)
    if medium != "tti" and rng.uniform() < 0.4:
        pack(problem)
    return problem


def point(rng: Rng, problem: Problem) -> Points:
    """Return one point somewhere, its support inside the grid."""
    room = np.maximum(np.array(problem.layout.shape3) - 8, 0)
    base, weights = rng.integers(0, room + 1)[None].astype(np.int32), rng.uniform(-1, 1, (1, 3, 8))
    if problem.layout.ndim == 2:
        base[:, 1], weights[:, 1] = 0, 0
        weights[:, 1, 0] = 1
    return Points(base, weights.astype(np.float32))


def sources_of(rng: Rng, problem: Problem, steps: int) -> list[Source]:
    """Return sources: a shot, and sometimes one that begins later, or receivers; some weak enough to be flushed."""
    out = []
    for points in [point(rng, problem), point(rng, problem), points_everywhere(problem, 9, 3)][
        : 1 + rng.integers(3)
    ]:
        nt = int(rng.integers(2, steps + 3))
        samples = one(rng, [1.0, 1.0, 1e-33]) * rng.uniform(-1, 1, (len(points.base), nt))
        samples[:, : int(rng.integers(nt)) if out else 0] = 0
        out.append(Source(points, np.asfortranarray(samples.astype(np.float32))))
    return out


def shells_of(rng: Rng, problem: Problem, steps: int) -> Shells | None:
    """Return shells that are kept, or put back in the middle of the steps; often none."""
    shape, flat, kind = problem.layout.shape3, problem.layout.ndim == 2, rng.integers(4)
    if kind < 2:
        return None
    shell = Shell.of(
        Box((3, 0, 2), (shape[0] - 4, shape[1], shape[2] - 3)), (2, 2, 2 * (not flat), 2 * (not flat), 3, 2)
    )
    data = rng.uniform(-1, 1, (steps // 3, problem.n_fields, shell.cells)).astype(np.float32)
    return Shells(shell, data, steps // 3, 1, put_back=bool(kind == 3))


def work_of(rng: Rng, problem: Problem, steps: int) -> Callable[[], Work]:
    """Return a function that gives the same work again, with arrays of its own for what comes out."""
    shape, sources, shells = (
        problem.layout.shape3,
        sources_of(rng, problem, steps),
        shells_of(rng, problem, steps),
    )
    box = Box((1, 0, 2), (shape[0] - 1, shape[1], shape[2]))
    partner = rng.uniform(-1, 1, box.shape).astype(np.float32)
    inner = None
    if problem.boundary != "pml" and shells is not None and rng.integers(2):
        inner = shells.shell.inside

    def work() -> Work:
        recorder = Recorder(points_everywhere(problem, 12, 4), np.zeros((12, steps), np.float32, order="F"))
        fields = {it: np.zeros(box.shape, np.float32) for it in range(1, steps + 1, 7)}
        image = Correlation(box, dict.fromkeys(range(0, steps, 3), partner), np.zeros_like(partner), 0.7)
        own = None if shells is None else replace(shells, data=shells.data.copy())
        snapshots = Snapshots(box, fields, np.zeros(box.shape, np.float32), 0.3)
        return Work(sources, [recorder], snapshots, image, shells=own, inner=inner)

    return work


def digest(state: State, work: Work) -> str:
    """Return the hash of a wavefield and of all that came out."""
    assert work.snapshots is not None
    assert work.correlation is not None
    shells = [] if work.shells is None else [work.shells.data]
    out = hashlib.sha256(str(state.it).encode())
    arrays = [*state.arrays(), *(r.data for r in work.recorders), *work.snapshots.fields.values()]
    for a in (*arrays, work.snapshots.energy, work.correlation.image, *shells):
        out.update(np.asarray(a).tobytes())
    return out.hexdigest()


def calls(rng: Rng, steps: int) -> list[int]:
    """Return where calls end: one call, or several."""
    return sorted({*(int(i) for i in rng.integers(1, steps, rng.integers(3))), steps})


@pytest.fixture(autouse=True)
def no_forced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)
    monkeypatch.delenv("SUBSALT_BATCH", raising=False)


@pytest.mark.parametrize("case", range(sample(6, 12)))
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_batches_change_no_bit(monkeypatch: pytest.MonkeyPatch, medium: str, ndim: int, case: int) -> None:
    if medium == "tti" and case >= 3:
        return  # step by step anyway
    rng = np.random.default_rng([case, ndim, len(medium)])
    problem, steps = problem_of(rng, medium, ndim), STEPS[ndim] // (1 + (medium == "tti"))
    work = work_of(rng, problem, steps)
    state, wanted = cpu.new_state(problem), work()
    assert by_step(cpu, problem, state, steps, wanted)
    want = digest(state, wanted)
    for _ in range(WAYS):
        seed, rows, depth = int(rng.integers(1000)), one(rng, [0, 3, 9]), int(rng.integers(1, 7))
        fetch = 1 + seed % 2
        monkeypatch.setenv("SUBSALT_BATCH", str(seed))
        monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _, c=(rows, depth, fetch): c)
        problem.cache.clear()
        state, got = cpu.new_state(problem), work()
        with cpu.forced(threads=int(rng.integers(1, 3)), front=True):
            for a, b in pairwise((0, *calls(rng, steps))):
                assert by_segment(cpu, problem, state, b - a, got)
        assert digest(state, got) == want, (problem, seed, rows, depth)


@pytest.mark.parametrize("depth_axis", ["uniform"], indirect=True)  # a GPU has no other one
@pytest.mark.parametrize("case", range(6))
def test_slices_of_a_device_change_no_bit(
    monkeypatch: pytest.MonkeyPatch, gpu_device: Any, case: int
) -> None:
    from subsalt.kernels import cuda

    isa = next((i for i in ("v4", "v3") if i in cpu.available()), None)
    if isa is None:
        pytest.skip("this processor has no fused multiply-add")
    rng, steps = np.random.default_rng([case, 7]), 17
    problem = problem_of(rng, ["isotropic", "vti", "tti"][case % 3], 2 + case % 2, stretched=False)
    work = work_of(rng, problem, steps)
    state, wanted = cpu.new_state(problem), work()
    with cpu.forced(isa):
        assert by_step(cpu, problem, state, steps, wanted)
    monkeypatch.setenv("SUBSALT_BATCH", str(case))
    there, got = cuda.new_state(problem), work()
    for a, b in pairwise((0, *calls(rng, steps))):
        assert by_segment(cuda, problem, there, b - a, got)
    assert digest(there, got) == digest(state, wanted)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
@pytest.mark.parametrize("ndim", [2, 3])
def test_passes_on_slabs_change_no_bit(
    monkeypatch: pytest.MonkeyPatch, ndim: int, medium: str, ranks: int
) -> None:
    """Ranks draw passes of other lengths than their neighbours."""
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (13, 4, 1))
    monkeypatch.setattr("subsalt.kernels.slab.PIECE", 1)
    rng = np.random.default_rng([ranks, ndim, len(medium)])
    shape = (151, 1 if ndim == 2 else 23, 35)
    for seed in rng.integers(1000, size=sample(2, 3)):
        monkeypatch.setenv("SUBSALT_BATCH", str(seed))
        problem = make_problem(
            shape, medium, one(rng, ["none", "pml", "damping"]), one(rng, [4, 8]), ndim=ndim, seed=int(seed)
        )
        with cpu.forced(threads=int(rng.integers(1, 3))):
            test_slab_passes.check(problem, ranks, depth=int(rng.integers(2, 7)), steps=17)


def test_batches_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every length comes, for every seed at other places, and a seed draws the same again."""
    problem = make_problem(SHAPES[2], "vti", "pml", 8, ndim=2)

    def ends(seed: str) -> list[int]:
        monkeypatch.setenv("SUBSALT_BATCH", seed)
        seen = [0]
        assert by_segment(cpu, problem, cpu.new_state(problem), 400, Work(progress=seen.append))
        return seen

    first = ends("1")
    assert first == ends("1") != ends("2")
    lengths = [b - a for a, b in pairwise(first)]
    assert set(lengths) == set(range(1, 10))
    assert 3 < np.mean(lengths) < 6  # uniform: 5, less where the look for infinite numbers cuts one short
    assert {_native.drawn_steps(5, it, 4) for it in range(99)} == {1, 2, 3, 4}


@pytest.mark.parametrize("text", ["x", "-1", "1.5", str(2**63)])
def test_what_is_no_seed_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("SUBSALT_BATCH", text)
    with pytest.raises(ConfigError, match="is not a seed") as error:
        cpu.describe()
    assert error.value.code == "E545"
    monkeypatch.setenv("SUBSALT_BATCH", " 12 ")
    assert tuning.batch_seed() == 12
