"""Slabs advanced in passes, ghost planes copied between them: the bits of the whole grid advanced step by step."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_problems import depth_axis as depth_axis
from kernel_problems import drawn_state, make_problem, random_start, to_cpu
from patience import PATIENCE
from subsalt import _native
from subsalt.acquisition.injection import Points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu
from subsalt.kernels.passes import Cuts, depth_for, pass_of
from subsalt.kernels.problem import Layout, Problem, State, pack
from subsalt.kernels.slab import SlabPasses
from subsalt.kernels.stepper import Alone, Sharing
from subsalt.kernels.work import Correlation, Recorder, Snapshots, Source, Work
from subsalt.parallel.decomp import Slab, cut
from subsalt.propagation.march import by_step
from subsalt.propagation.slab_recorder import flushed
from test_segment import work_for
from thorough import pairs

STEPS = 13
WIDTHS = (5, 4, 3, 5, 4, 6)


def slabs_of(problem: Problem, ranks: int) -> list[Slab]:
    layer = problem.widths[:2] if problem.boundary == "pml" else (0, 0)
    nx = problem.layout.shape3[0]
    return cut(nx, ranks, medium=problem.medium, radius=problem.radius, layer=layer)  # type: ignore[arg-type]


def cuts_of(problem: Problem, slabs: list[Slab], slab: Slab) -> Cuts:
    lo, hi = slab.owned_local
    below = slabs[slab.rank - 1].ghost_hi if slab.rank > 0 else 0
    above = slabs[slab.rank + 1].ghost_lo if slab.rank < slab.ranks - 1 else 0
    layer = problem.widths[:2] if problem.boundary == "pml" else (0, 0)
    return Cuts(slab.planes, lo, hi, below, above, problem.radius, slab.layer_widths(*layer))


def part_of(problem: Problem, slab: Slab) -> Problem:
    """Return the problem on the planes that a slab holds."""
    shape3 = (slab.planes, *problem.layout.shape3[1:])
    layout = Layout(shape3, problem.radius, problem.layout.ndim)
    held = slice(slab.first, slab.last)
    kind = np.uint16 if problem.scales else np.float32
    params = {k: layout.pad(problem.layout.view(a)[held], kind) for k, a in problem.params.items()}
    profiles = {}
    for name in ("sigma", "decay"):
        whole = getattr(problem, name)
        profiles[name] = whole and (whole[0][held], *whole[1:])
    widths = (*slab.layer_widths(*problem.widths[:2]), *problem.widths[2:])
    return replace(problem, layout=layout, params=params, widths=widths, cache={}, **profiles)


def state_on(problem: Problem, part: Problem, slab: Slab) -> State:
    """Return the random state on a slab; numbers that no step may read are not finite."""
    whole, m = drawn_state(problem), problem.radius
    planes = slice(slab.first, slab.last + 2 * m)

    def sliced(a: NDArray) -> NDArray:
        return a[planes].copy()

    reference = State(
        [sliced(a) for a in whole.prev],
        [sliced(a) for a in whole.curr],
        {k: sliced(a) for k, a in whole.memory.items()},
        whole.it,
    )
    (_, ny, nz), y_halo = problem.layout.shape3, m if problem.layout.ndim == 3 else 0
    lo, hi = slab.owned_local
    state = to_cpu(part, reference)
    for level in (state.prev, state.curr):
        for number, a in enumerate(level):
            ghosts = level is state.curr and number == 0
            # padding takes part in the arithmetic of whole vectors, with m = 0
            inside = a[:, y_halo : y_halo + ny, 16 : 16 + nz]
            if slab.rank > 0:
                inside[: m if ghosts else m + lo] = np.nan
            if slab.rank < slab.ranks - 1:
                inside[m + slab.planes if ghosts else m + hi :] = np.nan
    return state


class Copies:
    """Ghost planes by copies between threads; whether a message has come is drawn."""

    def __init__(self, slabs: list[Slab], slab: Slab, radius: int, boxes: dict, come: float) -> None:
        self.slab, self.radius, self.boxes, self.come = slab, radius, boxes, come
        self.below = slabs[slab.rank - 1].ghost_hi if slab.rank > 0 else 0
        self.above = slabs[slab.rank + 1].ghost_lo if slab.rank < slab.ranks - 1 else 0
        self.rng = np.random.default_rng(slab.rank)
        self.level: NDArray | None = None

    def start(self, level: Sequence[NDArray]) -> None:
        assert self.level is None
        self.level, m, rank = level[0], self.radius, self.slab.rank
        lo, hi = self.slab.owned_local
        if self.below:
            self.boxes[rank, rank - 1].put(self.level[m + lo : m + lo + self.below].copy())
        if self.above:
            self.boxes[rank, rank + 1].put(self.level[m + hi - self.above : m + hi].copy())

    def poke(self) -> bool:
        if self.level is not None and self.rng.uniform() < self.come:
            self.finish()
        return self.level is None

    def finish(self) -> None:
        if self.level is None:
            return
        m, rank, slab = self.radius, self.slab.rank, self.slab
        if slab.ghost_lo:
            self.level[m : m + slab.ghost_lo] = self.boxes[rank - 1, rank].get(timeout=PATIENCE)
        if slab.ghost_hi:
            end = m + slab.planes
            self.level[end - slab.ghost_hi : end] = self.boxes[rank + 1, rank].get(timeout=PATIENCE)
        self.level = None


def narrowed(points: Points, slab: Slab, origin: int) -> tuple[Points, NDArray]:
    return points.on_planes(slab.lo, slab.hi, origin)


def share_of(work: Work, slab: Slab, origin: int) -> Work:
    """Return what a slab does of the work; `origin` its first plane, or 0 for the same on the whole grid."""
    sources, recorders = [], []
    for s in work.sources:
        points, rows = narrowed(s.points, slab, origin)
        sources.append(Source(points, np.asfortranarray(s.samples[rows])))
    for r in work.recorders:
        points, rows = narrowed(r.points, slab, origin)
        recorders.append(Recorder(points, np.zeros((len(rows), r.data.shape[1]), np.float32, order="F")))

    def planes(box: Box) -> tuple[slice, Box]:
        lo = min(max(box.lo[0], slab.lo), slab.hi)
        hi = max(lo, min(box.hi[0], slab.hi))
        at = slice(lo - box.lo[0], hi - box.lo[0])
        return at, Box((lo - origin, *box.lo[1:]), (hi - origin, *box.hi[1:]))

    assert work.snapshots is not None
    assert work.snapshots.energy is not None
    assert work.correlation is not None
    at, box = planes(work.snapshots.box)
    snapshots = Snapshots(box, {it: np.zeros(box.shape, np.float32) for it in work.snapshots.fields})
    snapshots.energy, snapshots.scale = work.snapshots.energy[at].copy(), work.snapshots.scale
    c = work.correlation
    at, box = planes(c.box)
    partners = {it: u[at].copy() for it, u in c.fields.items()}
    return Work(sources, recorders, snapshots, Correlation(box, partners, c.image[at].copy(), c.scale))


def results(work: Work) -> list[NDArray]:
    assert work.snapshots is not None
    assert work.snapshots.energy is not None
    assert work.correlation is not None
    return [
        *(r.data for r in work.recorders),
        *work.snapshots.fields.values(),
        work.snapshots.energy,
        work.correlation.image,
    ]


def advance(
    problem: Problem, slabs: list[Slab], steps: int, depth: int | None, come: float, work: Work | None
) -> list[tuple[State, Work | None]]:
    """Return the state and the results of every slab, advanced in a thread each."""
    boxes: dict = {(s.rank, o): queue.Queue() for s in slabs for o in (s.rank - 1, s.rank + 1)}
    out: list = [None] * len(slabs)
    failed: list[BaseException] = []

    def run(slab: Slab) -> None:
        try:
            part = part_of(problem, slab)
            state = state_on(problem, part, slab)
            mine = None if work is None else share_of(work, slab, slab.first)
            given = mine or Work()
            cuts = cuts_of(problem, slabs, slab)
            exchange = Copies(slabs, slab, problem.radius, boxes, come)
            passes = SlabPasses(part, given, Sharing(cuts, depth or depth_for(cuts, 6), exchange))
            left = steps
            while left:
                before = state.it
                passes.steps(state, left)
                left -= state.it - before
            exchange.finish()
            out[slab.rank] = state, mine
        except BaseException as err:
            failed.append(err)

    threads = [threading.Thread(target=run, args=(slab,)) for slab in slabs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(PATIENCE)
    assert not failed, failed
    return out


def check(
    problem: Problem,
    ranks: int,
    *,
    depth: int | None = 4,
    come: float = 0.5,
    steps: int = STEPS,
    busy: bool = True,
) -> None:
    """Compare slabs with the whole grid advanced step by step: fields, memory of the layer, what came out."""
    slabs, m = slabs_of(problem, ranks), problem.radius
    work = work_for(problem) if busy else None
    want = random_start(problem)
    got = advance(problem, slabs, steps, depth, come, work)
    shares = [] if work is None else [share_of(work, s, 0) for s in slabs]
    sources = [] if work is None else work.sources
    everything = Work(sources, [r for w in shares for r in w.recorders])
    if work is not None:
        everything.snapshots, everything.correlation = work.snapshots, work.correlation
    assert by_step(cpu, problem, want, steps, everything)
    for slab, (state, mine) in zip(slabs, got, strict=True):
        assert state.it == want.it
        lo, hi = slab.owned_local
        for a, b in zip([*state.prev, *state.curr], [*want.prev, *want.curr], strict=True):
            mine_, its = a[m + lo : m + hi], b[m + slab.lo : m + slab.hi]
            assert mine_.tobytes() == its.tobytes(), (slab, "field")
        for name, a in state.memory.items():
            x, y = memory_planes(problem, slab, name, a, want.memory[name])
            assert x.tobytes() == y.tobytes(), (slab, name)
        if mine is None:
            continue
        for r, s in zip(mine.recorders, shares[slab.rank].recorders, strict=True):
            assert r.data.tobytes() == s.data.tobytes(), (slab, "recorded")
        whole = Work(snapshots=everything.snapshots, correlation=everything.correlation)
        for a, b in zip(results(mine)[len(mine.recorders) :], results(share_done(whole, slab)), strict=True):
            assert a.tobytes() == b.tobytes(), (slab, "imaged")


def share_done(work: Work, slab: Slab) -> Work:
    """Return the planes of a slab of what was imaged on the whole grid."""
    share = share_of(work, slab, 0)
    assert work.snapshots is not None
    assert share.snapshots is not None
    for it, whole in work.snapshots.fields.items():
        lo = share.snapshots.box.lo[0] - work.snapshots.box.lo[0]
        share.snapshots.fields[it][...] = whole[lo : lo + share.snapshots.box.shape[0]]
    return share


def memory_planes(problem: Problem, slab: Slab, name: str, a: NDArray, b: NDArray) -> tuple[NDArray, NDArray]:
    """Return what a slab owns of a memory field, of its own array and of the whole one."""
    if not name.endswith("_0"):
        lo, hi = slab.owned_local
        return a[lo:hi], b[slab.lo : slab.hi]
    nx, (front, back) = problem.layout.shape3[0], problem.widths[:2]
    planes = [*range(front), *range(nx - back, nx)]
    mine = [p for p in planes if slab.first <= p < slab.last]
    assert len(mine) == len(a)
    owned = [p for p in mine if slab.lo <= p < slab.hi]
    return a[[mine.index(p) for p in owned]], b[[planes.index(p) for p in owned]]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several tiles, and pauses in a sweep, also on small grids."""
    monkeypatch.delenv("SUBSALT_TILE_ROWS", raising=False)
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (13, 4, 2))
    monkeypatch.setattr("subsalt.kernels.slab.PIECE", 1)
    monkeypatch.setattr("subsalt.kernels.slab.LOOKS", 1)
    monkeypatch.setattr("subsalt.kernels.slab.SHARED", 0)


SHAPE = {2: (97, 1, 41), 3: (97, 52, 35)}


@pytest.mark.parametrize("boundary", ["none", "damping", "pml"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti"])
@pytest.mark.parametrize("free_surface", [False, True])
def test_two_slabs_are_the_whole(medium: str, boundary: str, ndim: int, free_surface: bool) -> None:
    check(make_problem(SHAPE[ndim], medium, boundary, 8, ndim=ndim, free_surface=free_surface), 2)


@pytest.mark.parametrize(("depth", "come", "ranks"), pairs([1, 2, 3, 4, 5, 6], [0.0, 0.3, 1.0], [2, 3]))
def test_depths_and_how_far_tiles_go_ahead(depth: int, come: float, ranks: int) -> None:
    check(make_problem((141, 40, 21), "vti", "pml", 8), ranks, depth=depth, come=come)


@pytest.mark.parametrize("order", [2, 4, 8, 12])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("threads", [1, 3])
def test_every_order(order: int, ndim: int, threads: int) -> None:
    problem = make_problem((113, 1 if ndim == 2 else 40, 33), "vti", "pml", order, ndim=ndim)
    with cpu.forced(threads=threads):
        check(problem, 2, depth=3)


@pytest.mark.parametrize(("threads", "depth", "come"), pairs([2, 3, 5], [1, 2, 4, 6], [0.0, 0.3, 1.0]))
@pytest.mark.parametrize("boundary", ["none", "pml"])
def test_threads_share_the_steps_of_a_line(boundary: str, threads: int, depth: int, come: float) -> None:
    """In 2-D a plane is one row: threads follow each other, and each of them rests in turn."""
    problem = make_problem((151, 1, 27), "vti" if depth % 4 else "isotropic", boundary, 8, ndim=2)
    with cpu.forced(threads=threads, slow=depth % threads):
        check(problem, 2, depth=depth, come=come)


@pytest.mark.parametrize("medium", ["isotropic", "vti"])
def test_packed_models(medium: str) -> None:
    problem = make_problem((90, 40, 33), medium, "pml", 8)
    pack(problem)
    check(problem, 2, depth=3)


@pytest.mark.parametrize(
    ("order", "ranks", "widths", "ahead"),
    pairs(
        [4, 8],
        [2, 3, 4, 5],
        [(23, 31), (60, 3), (0, 40), (9, 9)],
        [(1, 0.5), (2, 0.2), (4, 0.0)],
    ),
)
def test_cuts_in_and_near_the_layer(
    order: int, ranks: int, widths: tuple[int, int], ahead: tuple[int, float]
) -> None:
    """Wide layers, so that cuts fall inside them, on their edges and within reach of them."""
    problem = make_problem((101, 34, 19), "vti", "pml", order, widths=(*widths, 3, 5, 4, 6))
    depth, come = ahead
    check(problem, ranks, depth=depth, come=come, steps=9)


def test_a_slope_too_small_near_the_layer_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem((101, 34, 19), "vti", "pml", 8, widths=(40, 40, 3, 5, 4, 6))
    check(problem, 2)
    pass_of.cache_clear()
    monkeypatch.setattr(Cuts, "near_layer", lambda *_: False)
    with pytest.raises(AssertionError, match=r"field|psi"):
        check(problem, 2)
    pass_of.cache_clear()


@pytest.mark.parametrize(("nx", "ranks", "depth"), pairs(range(33, 60, 3), [3, 4], [1, 3]))
def test_slabs_as_thin_as_the_halo(nx: int, ranks: int, depth: int) -> None:
    problem = make_problem((nx, 21, 17), "isotropic", "pml", 8, widths=(4, 6, 3, 3, 4, 4))
    check(problem, ranks, depth=depth, steps=5)


@pytest.mark.parametrize(("rows", "threads", "come"), pairs([1, 7, 40], [1, 2, 3, 5], [0.0, 0.5]))
def test_tiles_and_threads(monkeypatch: pytest.MonkeyPatch, rows: int, threads: int, come: float) -> None:
    monkeypatch.setattr("subsalt.kernels.tuning.cut", lambda _: (rows, 4, 1))
    problem = make_problem((120, 40, 21), "isotropic", "pml", 8)
    with cpu.forced(threads=threads):
        check(problem, 2, depth=4, come=come)


def test_samples_below_the_smallest_normal_number_are_flushed_in_passes_too() -> None:
    problem = make_problem((40, 9, 33), "isotropic", "none", 4)
    weights = np.zeros((1, 3, 8), np.float32)
    weights[0, 0, :2] = weights[0, 1, 0] = weights[0, 2, 0] = 1
    points = Points(np.array([[10, 4, 16]], np.int32), weights)
    values = np.array([1.5e-38, -1.4e-38], np.float32)
    state = cpu.new_state(problem)
    problem.layout.view(state.curr[0])[10:12, 4, 16] = values
    shares, data = np.zeros((1, 1, 8), np.float32), np.full((2, 1), 7, np.float32)
    shares[0, 0, :2] = values
    _native.add_shares(cpu._points(problem, points), shares, data, 0, 1, "")
    assert data.ravel().tolist() == [7, 0]
    assert data[1].tobytes() == cpu.record(problem, state.curr, points).tobytes()
    assert flushed(np.array([1e-39, -1e-39, 1.5e-38], np.float32)).tobytes() == b"".join(
        np.float32(v).tobytes() for v in (0.0, -0.0, 1.5e-38)
    )


def test_nothing_goes_in_or_out() -> None:
    check(make_problem((97, 40, 21), "vti", "pml", 8), 2, busy=False)


def cuts(planes: int, *, layer: tuple[int, int] = (0, 0), sent: tuple[int, int] = (4, 4), m: int = 4) -> Cuts:
    """Return a slab between two neighbours that sends what it holds."""
    return Cuts(planes, sent[0], planes - sent[1], *sent, m, layer)


@pytest.mark.parametrize("steps", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("layer", [(0, 0), (30, 0), (0, 70), (200, 0)])
def test_every_plane_once_per_step(steps: int, layer: tuple[int, int]) -> None:
    for c in (cuts(200, layer=layer), cuts(200, layer=layer, sent=(8, 8)), cuts(200, sent=(0, 8))):
        made = pass_of(c, steps)
        assert made is not None
        for k in range(steps):
            shells = [
                piece[k - stage]
                for stage, pieces in enumerate(made.stages[: k + 1])
                for piece in pieces
                if k - stage < len(piece)
            ]
            for parts in ((*shells, made.core[k]), (*shells, made.ahead[k], *made.wedge[k : k + 1])):
                field, psi = np.zeros(c.planes, int), np.zeros(c.planes, int)
                for p in parts:
                    field[p[0] : max(p[0], p[1])] += 1
                    psi[p[2] : max(p[2], p[3])] += 1
                assert (np.nonzero(field)[0] == np.arange(c.lo, c.hi)).all()
                assert field.max() == 1
                # Psi exists in the layer; M planes of it beyond a cut are advanced here too
                where = np.arange(c.planes)
                exists = (where < c.layer[0]) | (where >= c.planes - c.layer[1])
                read = (where >= c.lo - 4 * (c.sent_lo > 0)) & (where < c.hi + 4)
                assert (psi[exists & read] == 1).all(), (k, parts)


def test_passes_are_less_deep_on_thin_slabs() -> None:
    assert pass_of(cuts(40), 6) is None
    assert pass_of(cuts(16), 1) is not None
    depths = [depth_for(cuts(planes), 6) for planes in (12, 24, 48, 96, 200, 1000)]
    assert depths == sorted(depths)
    assert depths[0] == 1
    assert depths[-1] == 6


def test_impossible_passes_are_refused() -> None:
    problem = make_problem((40, 40, 21), "vti", "pml", 8)
    state = random_start(problem)
    whole_grid = cuts_of(problem, slabs_of(problem, 1), slabs_of(problem, 1)[0])
    native = SlabPasses(problem, Work(), Sharing(whole_grid, 2, Alone())).native
    levels = state.prev, state.curr, list(state.memory.values())
    for it, steps in ((-1, 1), (0, 0), (0, 3)):
        with pytest.raises(ValueError, match="the pass is not possible"):
            native.begin(*levels, it, steps)
    native.begin(*levels, 0, 2)
    whole = (0, 40, 0, 40)
    with pytest.raises(ValueError, match="no such steps"):
        native.run(1, [whole, whole], (0, 1), (0, 40), 1)
    with pytest.raises(ValueError, match="no such tiles"):
        native.run(0, [whole], (0, native.tiles + 1), (0, 40), 1)
    for threads in (0, cpu.in_use()[0] + 1):
        with pytest.raises(ValueError, match="no such threads"):
            native.run(0, [whole], (0, 1), (0, 40), threads)
    for planes in ((-1, 40, 0, 40), (0, 41, 0, 40), (0, 40, 0, 41)):
        with pytest.raises(ValueError, match="planes leave the grid"):
            native.run(0, [planes], (0, 1), (0, 40), 1)
    with pytest.raises(ValueError, match="the cut is not possible"):
        SlabPasses(problem, Work(), Sharing(cuts(40), 7, Alone()))
    with pytest.raises(ValueError, match="TTI has no passes"):
        SlabPasses(make_problem((40, 40, 21), "tti", "pml", 8), Work(), Sharing(cuts(40), 2, Alone()))
