"""What a wavefield has not reached is not advanced on a device either: the bytes of the CPU, and it is left out.

Looks at how far a wavefield has come fall anywhere, and so do the ends of slices: both are drawn.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_states import assert_same, fused, to_device

from kernel_problems import make_problem
from segment_work import by_segment
from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda
from subsalt.kernels.cuda import segment as segment_module
from subsalt.kernels.problem import Problem, State, pack
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Correlation, Recorder, Shells, Snapshots, Source, Work
from subsalt.propagation.march import by_step
from thorough import ALL

SHAPES = {2: (67, 1, 75), 3: (24, 29, 51)}
STEPS = 9


@pytest.fixture(autouse=True)
def small_grids_too(gpu_device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_module, "SMALLEST", 0)
    monkeypatch.setenv("SUBSALT_TUNE", "off")


def look_after(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    """Look again after so many steps; slices of drawn lengths."""
    monkeypatch.setattr(segment_module, "LOOKS", (1, steps))
    monkeypatch.setattr(segment_module, "LOOK_POINTS", 10**12)
    monkeypatch.setenv("SUBSALT_BATCH", str(steps))


def sources_at(problem: Problem, rng: np.random.Generator, strength: float, nt: int = 5) -> list[Source]:
    """Return one or two sources of a few points that lie together; weak ones are flushed to zeros of either sign."""
    shape, out = np.array(problem.layout.shape3), []
    for n in rng.integers(1, 4, rng.integers(1, 3)):
        corner = rng.integers(0, np.maximum(shape - 9, 1))
        base = np.minimum(corner + rng.integers(0, 2, (n, 3)), np.maximum(shape - 8, 0)).astype(np.int32)
        weights = rng.uniform(-1, 1, (n, 3, 8)).astype(np.float32)
        if problem.layout.ndim == 2:
            base[:, 1], weights[:, 1], weights[:, 1, 0] = 0, 0, 1
        samples = (strength * rng.uniform(-1, 1, (n, nt))).astype(np.float32)
        out.append(Source(Points(base, weights), np.asfortranarray(samples)))
    return out


def work_of(problem: Problem, sources: list[Source]) -> Work:
    """Return work with a recorder, snapshots and an image on nearly all of the grid."""
    shape = problem.layout.shape3
    box = Box((1, 0, 2), (shape[0] - 1, shape[1], shape[2]))
    fields = {it: np.full(box.shape, np.nan, np.float32) for it in range(1, 2 * STEPS, 3)}
    partners = {it: np.ones(box.shape, np.float32) for it in range(2, 2 * STEPS, 4)}
    energy, image = np.zeros(box.shape, np.float32), np.zeros(box.shape, np.float32)
    points = sources[0].points
    recorder = Recorder(points, np.full((len(points.base), 2 * STEPS), 7.0, np.float32, order="F"))
    return Work(
        sources, [recorder], Snapshots(box, fields, energy, 0.5), Correlation(box, partners, image, 0.7)
    )


def results(state: State, work: Work) -> list[np.ndarray]:
    assert work.snapshots is not None
    assert work.correlation is not None
    out = [work.recorders[0].data, *work.snapshots.fields.values(), work.correlation.image]
    return [np.asarray(a) for a in (*state.arrays(), *out, work.snapshots.energy)]


def assert_bytes_of_the_cpu(
    problem: Problem, start: State, sources: list[Source], cuts: Sequence[int] = (STEPS,)
) -> None:
    state, got, want = to_device(problem, start), work_of(problem, sources), work_of(problem, sources)
    for n in cuts:
        assert by_segment(cuda, problem, state, n, got)
    with cpu.forced(fused()):
        assert by_step(cpu, problem, start, sum(cuts), want)
    assert_same(results(start, want), results(state, got))


@pytest.mark.parametrize("boundary", ["none", "pml", "damping"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_from_rest(monkeypatch: pytest.MonkeyPatch, medium: str, ndim: int, boundary: str) -> None:
    """Sources anywhere, of any order and strength, also above a free surface."""
    rng = np.random.default_rng(["isotropic", "vti", "tti"].index(medium) + 10 * ndim + len(boundary))
    cases = [(2, 1.0, False), (4, 1e-33, True), (8, 1.0, True)]
    # two of the three for each boundary, others for the next
    first = ["none", "pml", "damping"].index(boundary)
    for order, strength, free in cases if ALL else (cases * 2)[first : first + 2]:
        shape = SHAPES[2] if ndim == 2 else (18, 21, 45)
        problem = make_problem(shape, medium, boundary, order, ndim=ndim, free_surface=free)
        if medium != "tti" and free:
            pack(problem)
        look_after(monkeypatch, int(rng.integers(1, 6)))
        assert_bytes_of_the_cpu(problem, cpu.new_state(problem), sources_at(problem, rng, strength))


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_from_rest_on_a_stretched_depth_axis(monkeypatch: pytest.MonkeyPatch, medium: str) -> None:
    rng = np.random.default_rng(4)
    for ndim, boundary, strength in ((2, "pml", 1.0), (3, "none", 1e-33)):
        problem = make_problem(SHAPES[ndim], medium, boundary, 4, ndim=ndim, stretched=True)
        look_after(monkeypatch, 2)
        assert_bytes_of_the_cpu(problem, cpu.new_state(problem), sources_at(problem, rng, strength))


@pytest.fixture
def late(gpu_device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the emulated device work late: what is not waited for is not there."""
    if gpu_device.availability().emulated:
        # a plug-in of another name is another device
        plugin = shutil.copy(gpu_device.availability().plugin, tmp_path / "late.so")
        monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(plugin))
        monkeypatch.setenv("SUBSALT_EMULATED_ORDER", "3")
        gpu_device.forget()


@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_a_state_from_the_middle(late: None, monkeypatch: pytest.MonkeyPatch, medium: str) -> None:
    """How far it has come is found, by every call again; a source that is silent by now does not count."""
    rng = np.random.default_rng(8)
    problem = make_problem(SHAPES[3], medium, "pml", 2, free_surface=True)
    sources = sources_at(problem, rng, 1.0)
    start = cpu.new_state(problem)
    with cpu.forced(fused()):
        assert by_step(cpu, problem, start, 7, Work(sources))
    look_after(monkeypatch, 2)
    assert_bytes_of_the_cpu(problem, start, sources, (1, 4, 3))


@pytest.mark.parametrize("value", [1e-3, -0.0])
def test_whatever_a_state_holds_is_advanced(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """One number in one array of a state, also minus zero."""
    rng = np.random.default_rng(3)
    look_after(monkeypatch, 2)
    problem = make_problem(SHAPES[2], "tti", "pml", 4, ndim=2)
    for name in ("curr", "prev", *cpu.new_memory(problem)):
        state = cpu.new_state(problem)
        if name in ("curr", "prev"):
            problem.layout.view(getattr(state, name)[-1])[30, 0, 40] = value
        else:
            a = state.memory[name]
            # a cell of the layer: what lies beside it is never read
            z = int(rng.choice([1, a.shape[2] - 2]) if name.endswith("2") else rng.integers(0, 70))
            a[..., z][tuple(rng.integers(0, a.shape[:2]))] = value
        assert_bytes_of_the_cpu(problem, state, sources_at(problem, rng, 0.0, nt=0), (5,))


def test_what_is_put_back_or_advanced_in_part_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shells put numbers where nothing had to reach; a box that is advanced alone has no front."""
    rng = np.random.default_rng(2)
    problem = make_problem(SHAPES[3], "vti", "damping", 4)
    look_after(monkeypatch, 1)
    n = problem.layout.shape3
    shell = Shell.of(Box((2, 3, 3), (n[0] - 2, n[1] - 3, n[2] - 9)), (2, 2, 2, 2, 3, 4))
    rows = rng.uniform(-1, 1, (4, 2, shell.cells)).astype(np.float32)
    sources = sources_at(problem, rng, 1.0)
    inner = Box((3, 2, 1), (20, 25, 40))
    for more in ({"shells": Shells(shell, rows, 2, 1, True)}, {"inner": inner}):
        host = cpu.new_state(problem)
        state = to_device(problem, host)
        assert by_segment(cuda, problem, state, 6, Work(sources, **more))  # type: ignore[arg-type]
        with cpu.forced(fused()):
            assert by_step(cpu, problem, host, 6, Work(sources, **more))  # type: ignore[arg-type]
        assert_same(host.arrays(), state.arrays())


@pytest.mark.parametrize("ndim", [2, 3])
def test_what_is_not_reached_is_left_out(monkeypatch: pytest.MonkeyPatch, ndim: int) -> None:
    """A medium that is not a number far away spoils a field that is advanced there, and no other."""
    problem = make_problem(SHAPES[ndim], "isotropic", "pml", 4, ndim=ndim)
    problem.layout.view(problem.params["m"])[..., 44:] = np.nan
    rng = np.random.default_rng(1)
    source = sources_at(problem, rng, 1.0)[0]
    source.points.base[:, 2] = 3
    look_after(monkeypatch, 1)

    def run(front: bool) -> tuple[bool, int]:
        segment = cuda.Segment(problem, Work([source]))
        with cpu.forced(front=front):
            return segment.advance(cuda.new_state(problem), 5, 50, True), segment.points

    finite, points = run(True)
    whole = 5 * int(np.prod(SHAPES[ndim]))
    assert finite
    assert 0 < points < 0.6 * whole
    assert run(False) == (False, whole)


def test_a_wavefield_that_fills_the_grid_is_looked_for_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(SHAPES[2], "isotropic", "none", 8, ndim=2)
    state = to_device(problem, cpu.new_state(problem))
    rng = np.random.default_rng(6)
    look_after(monkeypatch, 3)
    segment = cuda.Segment(problem, Work(sources_at(problem, rng, 1.0)))
    assert segment.advance(state, 3, 50, True)
    assert not state.whole
    assert segment.advance(state, 60, 50, True)
    assert state.whole
    launches, points = cuda.counters()["launches"], segment.points
    assert segment.advance(state, 4, 50, False)
    assert segment.points - points == 4 * int(np.prod(SHAPES[2]))
    assert cuda.counters()["launches"] == launches + 4


def test_a_wavefield_at_rest_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(SHAPES[3], "isotropic", "pml", 8)
    look_after(monkeypatch, 5)
    segment = cuda.Segment(problem, Work())
    assert segment.advance(cuda.new_state(problem), 20, 50, False)
    assert segment.points == 0
