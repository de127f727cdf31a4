"""What a wavefield has not reached is not advanced: the same bits, and it is really left out."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from kernel_problems import depth_axis as depth_axis
from kernel_problems import make_problem
from segment_work import by_segment
from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu
from subsalt.kernels.problem import Problem, State
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Correlation, Recorder, Shells, Snapshots, Source, Work
from subsalt.propagation.march import by_step, march
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from thorough import some

SHAPES = {2: (75, 1, 118), 3: (23, 28, 90)}
STEPS = 21


@pytest.fixture(autouse=True)
def no_forced_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)


def source_at(problem: Problem, corner: tuple[int, int, int], strength: float, nt: int = 9) -> Source:
    """Return a few points around a corner; weak ones make fields that are flushed to zero and to minus zero."""
    rng = np.random.default_rng(1)
    base = np.array([corner, np.minimum(np.array(corner) + 2, np.array(problem.layout.shape3) - 8)], np.int32)
    weights = rng.uniform(-1, 1, (2, 3, 8)).astype(np.float32)
    if problem.layout.ndim == 2:
        base[:, 1], weights[:, 1] = 0, 0
        weights[:, 1, 0] = 1
    samples = np.asfortranarray((strength * rng.uniform(-1, 1, (2, nt))).astype(np.float32))
    return Source(Points(base, weights), samples)


def run(problem: Problem, sources: list[Source], *, native: bool, cuts: tuple[int, ...] = (STEPS,)) -> list:
    """Return all arrays after some steps from rest, with a recorder, samples and an image."""
    state, shape = cpu.new_state(problem), problem.layout.shape3
    deep = source_at(
        problem, (shape[0] // 2, shape[1] // 2 if shape[1] > 8 else 0, shape[2] - 12), 1.0
    ).points
    recorder = Recorder(deep, np.full((2, STEPS + 1), 7.0, np.float32, order="F"))
    box = Box((1, 0, 2), (shape[0] - 1, shape[1], shape[2]))
    fields = {it: np.full(box.shape, np.nan, np.float32) for it in range(1, STEPS + 1, 2)}
    energy, image = np.zeros(box.shape, np.float32), np.zeros(box.shape, np.float32)
    partners = {it: np.ones(box.shape, np.float32) for it in range(2, STEPS + 1, 3)}
    work = Work(
        sources, [recorder], Snapshots(box, fields, energy, 0.5), Correlation(box, partners, image, 0.7)
    )
    for n in cuts:
        assert (by_segment if native else by_step)(cpu, problem, state, n, work)
    return [*state.arrays(), recorder.data, *fields.values(), energy, image]


def same(a: list, b: list) -> bool:
    return all(x.tobytes() == y.tobytes() for x, y in zip(a, b, strict=True))


CORNERS = {
    "in the layer": (0, 0, 0),
    "inside": (30, 20, 30),
    "deep": (12, 9, 70),
}


def inside(place: tuple[int, int, int], ndim: int) -> tuple[int, int, int]:
    """Return a corner from which a support lies inside the grid."""
    x, y, z = (min(c, n - 8 if n > 8 else 0) for c, n in zip(place, SHAPES[ndim], strict=True))
    return x, y, z


@pytest.mark.parametrize("free_surface", [False, True])
@pytest.mark.parametrize("boundary", ["none", "pml", "damping"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_from_rest(
    monkeypatch: pytest.MonkeyPatch, medium: str, ndim: int, boundary: str, free_surface: bool
) -> None:
    problem = make_problem(SHAPES[ndim], medium, boundary, 8, ndim=ndim, free_surface=free_surface)
    for place, strength in some([(p, s) for p in CORNERS.values() for s in (1.0, 1e-33)], 3):
        corner = inside(place, ndim)
        sources = [source_at(problem, corner, strength)]
        want = run(problem, sources, native=False)
        for threads, *cut in ((1, 0, 1, 1), (3, 7, 4, 2), (2, 0, 6, 2)):
            monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _, c=tuple(cut): c)
            problem.cache.clear()
            with cpu.forced(threads=threads, front=True):
                assert same(run(problem, sources, native=True), want), (
                    corner,
                    strength,
                    threads,
                    cut,
                )


@pytest.mark.parametrize("order", [2, 4, 12, 16])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["vti", "tti"])
def test_every_order_and_instruction_set(medium: str, ndim: int, order: int) -> None:
    problem = make_problem(SHAPES[ndim], medium, "pml", order, ndim=ndim)
    sources = [source_at(problem, inside(CORNERS["inside"], ndim), 1.0)]
    for isa in cpu.available():
        with cpu.forced(isa, threads=2, front=True):
            assert same(run(problem, sources, native=True), run(problem, sources, native=False)), isa


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_layers_along_z_whose_windows_are_two_vectors(medium: str) -> None:
    problem = make_problem(SHAPES[2], medium, "pml", 12, ndim=2, widths=(5, 4, 0, 0, 12, 12))
    sources = [source_at(problem, (30, 0, 5), 1.0)]
    with cpu.forced(threads=2, front=True):
        assert same(run(problem, sources, native=True), run(problem, sources, native=False))


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_parts_of_a_segment_find_the_front_again(medium: str, ndim: int) -> None:
    problem = make_problem(SHAPES[ndim], medium, "pml", 8, ndim=ndim)
    sources = [source_at(problem, (10, 9 if ndim == 3 else 0, 5), 1.0)]
    want = run(problem, sources, native=False)
    for cuts in ((1,) * STEPS, (3, 7, 11), (20, 1)):
        assert same(run(problem, sources, native=True, cuts=cuts), want), cuts


@pytest.mark.parametrize(
    ("medium", "what"),
    [
        *(("isotropic", what) for what in ("curr", "prev", "psi_0", "zeta_0", "psi_2", "zeta_2")),
        *(
            ("tti", what)
            for what in ("curr", "prev", "psi_0", "zeta_0", "zeta2_0", "psi_2", "zeta_2", "zeta2_2")
        ),
    ],
)
@pytest.mark.parametrize("depth", [3, 115])
def test_whatever_a_state_holds_is_advanced(medium: str, what: str, depth: int) -> None:
    """One number in one array of a state, shallow or in the back window of the layer; also minus zero."""
    problem = make_problem(SHAPES[2], medium, "pml", 8, ndim=2)
    for value in (1e-3, -0.0):
        results = []
        for step in (by_step, by_segment):
            state = cpu.new_state(problem)
            a = getattr(state, what)[0] if what in ("curr", "prev") else state.memory[what]
            row = a[8, 0] if what in ("curr", "prev") else a[2, 0]
            row[16 + depth if what in ("curr", "prev") else min(depth, len(row) - 9)] = value
            assert step(cpu, problem, state, 12, Work())
            results.append(state.arrays())
        assert same(*results), value


@pytest.mark.parametrize("put_back", [False, True])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["vti", "tti"])
def test_shells_put_back_are_advanced(medium: str, ndim: int, put_back: bool) -> None:
    """What is put back comes from nowhere: nothing had to reach these cells."""
    problem = make_problem(SHAPES[ndim], medium, "damping", 8, ndim=ndim)
    n, y = problem.layout.shape3, 2 * (ndim == 3)
    shell = Shell.of(Box((2, 0, 3), (n[0] - 2, n[1], n[2] - 9)), (2, 2, y, y, 3, 4))
    source = source_at(problem, (10, 9 if ndim == 3 else 0, 5), 1.0)
    results = []
    for step in (by_step, by_segment):
        rows = np.random.default_rng(4).uniform(-1, 1, (5, 2, shell.cells)).astype(np.float32)
        state = cpu.new_state(problem)
        assert step(cpu, problem, state, 9, Work([source], shells=Shells(shell, rows, 2, 1, put_back)))
        results.append([*state.arrays(), rows])
    assert same(*results)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_what_is_not_reached_is_left_out(medium: str, ndim: int) -> None:
    """A medium that is not a number far away spoils a field that is advanced there, and no other."""
    problem = make_problem(SHAPES[ndim], medium, "pml", 8, ndim=ndim)
    problem.layout.view(problem.params["m"])[..., 64:] = np.nan
    source = source_at(problem, (10, 9 if ndim == 3 else 0, 5), 1.0)

    def finite(front: bool) -> bool:
        problem.cache.clear()
        state: State = cpu.new_state(problem)
        with cpu.forced(front=front):
            return by_segment(cpu, problem, state, 4, Work([source]))

    assert finite(True)
    assert not finite(False)


@pytest.mark.parametrize("depth_axis", ["uniform"], indirect=True)
def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """``SUBSALT_FRONT=off`` advances everything, for comparisons."""
    import subprocess
    import sys

    program = """
import importlib, os
from subsalt.kernels import cpu
print(cpu._Settings.front)
os.environ["SUBSALT_FRONT"] = ""
print(importlib.reload(cpu)._Settings.front)
"""
    monkeypatch.setenv("SUBSALT_FRONT", "off")
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_points_that_were_advanced_are_counted(medium: str, dim: int, threads: int) -> None:
    problem = make_problem(SHAPES[dim], medium, "pml", 4, ndim=dim)
    whole = STEPS * int(np.prod(problem.layout.shape3))
    source = source_at(problem, (30 if dim == 2 else 12, 0 if dim == 2 else 20, 40), 1.0)
    reached: list[int] = []

    def look(state: State) -> None:
        reached.append(max(int(np.count_nonzero(a)) for a in state.curr))

    assert by_step(cpu, problem, cpu.new_state(problem), STEPS, Work([source], hook=look))

    def counted(front: bool) -> int:
        work = Work([source])
        with cpu.forced(front=front, threads=threads):
            segment = cpu.Segment(problem, work)
            assert march(segment, cpu.new_state(problem), STEPS, work)
        return segment.points

    assert counted(front=False) == whole
    points = counted(front=True)
    # no point that a wave has reached is left out, and many others are
    assert sum(reached) <= points < whole
    assert points == counted(front=True)


def test_a_propagator_counts_both_wavefields_and_what_has_no_layer() -> None:
    model = ss.EarthModel(ss.Grid((71, 58), (10.0, 10.0)), 2000.0)
    with Propagator(model, PropagationOptions(layer=6), 1e-3, points=np.array([[350.0, 0.0, 50.0]])) as prop:
        source = prop.source(np.array([[350.0, 0.0, 50.0]]), np.sin(np.arange(20.0))[None])
        prop.advance(prop.new_state(), 10, sources=[source])
        first = prop.points_advanced
        assert 0 < first < 10 * prop.point_count
        prop.advance(prop.new_state(), 10, sources=[source], loop="python")
        assert prop.points_advanced == first + 10 * prop.point_count
        # a propagator without the layer counts with it
        with cpu.forced(front=False):
            prop.without_layer().advance(prop.new_state(), 3, sources=[source], inner=prop.interior)
        assert prop.points_advanced == first + 10 * prop.point_count + 3 * prop.interior.size
