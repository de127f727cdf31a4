"""The segment of the device against the loop over the kernels of the CPU: the same bytes, wherever arrays are.

Streams of the emulated device run late and in any order that events allow (`orders`): a copy that does not wait, or is
not waited for, shows as other bytes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_states import fused, to_device

from kernel_problems import make_problem, random_state, to_cpu
from segment_work import SHAPES, by_segment, everything, points_everywhere, work_for
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda
from subsalt.kernels.cuda import segment as segment_module
from subsalt.kernels.cuda.arrays import DeviceArray
from subsalt.kernels.problem import Problem, State, pack
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import FINITE_EVERY, Correlation, Recorder, Shells, Snapshots, Source, Work
from subsalt.propagation.march import by_step
from thorough import each, pairs, some

PLACES = ["device", "locked", "pageable"]

SMALL = {2: (23, 1, 45), 3: (12, 17, 35)}


@pytest.fixture
def order(
    request: pytest.FixtureRequest, gpu_device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Let the emulated device work late and in a random order, of the seed that is the parameter."""
    if not gpu_device.availability().emulated:
        if request.param != 1:
            pytest.skip("a GPU has an order of its own")
        return
    # a plug-in of another name is another device, which reads its order when it starts
    plugin = shutil.copy(gpu_device.availability().plugin, tmp_path / f"order_{request.param}.so")
    monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(plugin))
    monkeypatch.setenv("SUBSALT_EMULATED_ORDER", str(request.param))
    gpu_device.forget()


ORDERS = [1, 2, 3]


def placed(array: np.ndarray | None, where: str) -> Any:
    """Return an array with the same numbers in memory of another kind."""
    if array is None or where == "pageable":
        return None if array is None else array.copy()
    if where == "locked":
        out = cuda.reserve_host(array.size).reshape(array.shape)
    else:
        out = DeviceArray(array.shape)
    out[...] = array
    return out


def work_on(work: Work, where: str) -> Work:
    """Return the same work with arrays of its own."""
    recorders = [Recorder(r.points, np.asfortranarray(r.data.copy(order="F"))) for r in work.recorders]
    s, c, k = work.snapshots, work.correlation, work.shells
    snapshots = s and Snapshots(
        s.box, {i: placed(a, where) for i, a in s.fields.items()}, placed(s.energy, where), s.scale
    )
    correlation = c and Correlation(
        c.box, {i: placed(a, where) for i, a in c.fields.items()}, placed(c.image, where), c.scale
    )
    shells = k and Shells(k.shell, placed(k.data, where), k.first, k.direction, k.put_back)
    return Work(work.sources, recorders, snapshots, correlation, shells=shells, inner=work.inner)


def results(state: State, work: Work) -> list[bytes]:
    """Return the bytes of the wavefield and of all that came out."""
    arrays = [*everything(state, work), *([work.shells.data] if work.shells else [])]
    # those of the host first: to fetch others would give copies that nobody has waited for the time to arrive
    on_host = {i: a.tobytes() for i, a in enumerate(arrays) if isinstance(a, np.ndarray)}
    return [on_host[i] if i in on_host else np.asarray(a).tobytes() for i, a in enumerate(arrays)]


def same_as_the_cpu(
    problem: Problem, steps: int, work: Work, where: str, *, cuts: tuple[int, ...] = ()
) -> bool:
    """Return whether the segment of the device, in one call or several, gives the bytes of the CPU's loop."""
    with cpu.forced(fused()):
        host, wanted = to_cpu(problem, random_state(problem)), work_on(work, "pageable")
        assert by_step(cpu, problem, host, steps, wanted)
    host_start = to_cpu(problem, random_state(problem))
    state, got = to_device(problem, host_start), work_on(work, where)
    for a, b in pairwise((0, *cuts, steps)):
        assert by_segment(cuda, problem, state, b - a, got)
    assert state.it == host.it
    return results(state, got) == results(host, wanted)


def shells_for(problem: Problem, *, put_back: bool, direction: int, rows: int = 9) -> Shells:
    shape = problem.layout.shape3
    flat = shape[1] == 1
    box = Box((1, 0, 2), (shape[0] - 2, shape[1], shape[2] - 1))
    shell = Shell.of(box, (3, 2, 0 if flat else 2, 0 if flat else 3, 2, 4))
    rng = np.random.default_rng(3)
    data = rng.uniform(-1, 1, (rows, problem.n_fields, shell.cells)).astype(np.float32)
    return Shells(shell, data, 3 if direction == 1 else 3 + rows - 1, direction, put_back)  # type: ignore[arg-type]


@pytest.mark.parametrize("boundary", ["none", "pml", "damping"])
@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_the_bytes_of_the_cpu(gpu_device: Any, medium: str, boundary: str, ndim: int) -> None:
    problem = make_problem(
        SHAPES[2] if ndim == 2 else (15, 24, 35), medium, boundary, 8, ndim=ndim, free_surface=ndim == 3
    )
    assert same_as_the_cpu(problem, 13, work_for(problem), "locked")


@pytest.mark.parametrize("medium", ["isotropic", "vti", "tti"])
def test_the_bytes_of_the_cpu_on_a_stretched_depth_axis(gpu_device: Any, medium: str) -> None:
    problem = make_problem(SHAPES[2], medium, "pml", 8, ndim=2, stretched=True)
    assert same_as_the_cpu(problem, 13, work_for(problem), "locked", cuts=(4,))
    problem = make_problem((15, 24, 35), medium, "damping", 4, free_surface=True, stretched=True)
    if medium != "tti":
        pack(problem)
    assert same_as_the_cpu(problem, 9, work_for(problem), "device")


@pytest.mark.parametrize(("order", "where"), each(ORDERS, PLACES), indirect=["order"])
def test_copies_wait_and_are_waited_for(order: None, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Rows travel a few at a time, so that every buffer is filled again and again."""
    problem = make_problem(SMALL[3], "isotropic", "none", 4)
    work = work_for(problem, range(1, 30, 2))
    monkeypatch.setattr(segment_module, "SERIES_BYTES", 4 * 40 * 3)
    assert same_as_the_cpu(problem, 29, work, where)
    assert same_as_the_cpu(problem, 29, work, where, cuts=(1, 2, 13))


@pytest.mark.parametrize(
    ("order", "where", "direction", "put_back"),
    pairs(some(ORDERS, 2), PLACES, [1, -1], [False, True]),
    indirect=["order"],
)
def test_shells_are_kept_and_put_back(
    order: None, monkeypatch: pytest.MonkeyPatch, where: str, direction: int, put_back: bool
) -> None:
    problem = make_problem(SMALL[3], "isotropic", "none", 4, free_surface=True)
    work = work_for(problem, range(2, 15, 4))
    work.shells = shells_for(problem, put_back=put_back, direction=direction)
    row = work.shells.data[0].nbytes
    for rows in (1, 2, 20):
        monkeypatch.setattr(segment_module, "SERIES_BYTES", rows * row)
        assert same_as_the_cpu(problem, 15, work, where), rows


def test_parts_of_the_grid_alone(gpu_device: Any) -> None:
    problem = make_problem(SMALL[3], "isotropic", "none", 4)
    work = work_for(problem)
    work.inner = Box((2, 3, 1), (10, 15, 30))
    assert same_as_the_cpu(problem, 12, work, "device")


def test_nothing_to_inject_or_record(gpu_device: Any) -> None:
    """No points, no samples, an empty box, a shell without cells: as ranks have them."""
    problem = make_problem(SMALL[3], "isotropic", "none", 4)
    some, none = points_everywhere(problem, 3, 1), points_everywhere(problem, 3, 1)[:0]
    series = {n: np.zeros((n, 9), np.float32, order="F") for n in (0, 3)}
    empty = Box((2, 0, 0), (2, 5, 5))
    work = Work(
        [Source(none, series[0]), Source(some, series[3][:, :0])],
        [Recorder(none, series[0]), Recorder(some, series[3][:, :0])],
        Snapshots(empty, {3: np.zeros(empty.shape, np.float32)}, np.zeros(empty.shape, np.float32)),
        shells=Shells(Shell(empty, (0,) * 6), np.zeros((4, 1, 0), np.float32), 2),  # type: ignore[arg-type]
    )
    assert same_as_the_cpu(problem, 7, work, "pageable")


def test_packed_models(gpu_device: Any) -> None:
    problem = make_problem(SMALL[3], "isotropic", "damping", 8)
    pack(problem)
    assert same_as_the_cpu(problem, 9, work_for(problem), "device")


def test_arrays_of_several_kinds_in_one_segment(gpu_device: Any) -> None:
    problem = make_problem(SMALL[2], "isotropic", "none", 8, ndim=2)
    work, kinds = work_for(problem), iter(PLACES * 20)
    want = work_on(work, "pageable")
    with cpu.forced(fused()):
        host = to_cpu(problem, random_state(problem))
        assert by_step(cpu, problem, host, 17, want)
    got = work_on(work, "device")
    assert got.snapshots is not None
    assert got.correlation is not None
    got.snapshots.fields = {i: placed(np.asarray(a), next(kinds)) for i, a in got.snapshots.fields.items()}
    got.correlation.fields = {
        i: placed(np.asarray(a), next(kinds)) for i, a in got.correlation.fields.items()
    }
    state = to_device(problem, to_cpu(problem, random_state(problem)))
    assert by_segment(cuda, problem, state, 17, got)
    assert results(state, got) == results(host, want)


def test_hooks_see_what_has_arrived_and_may_change_it(order_one: Any) -> None:
    """Snapshots are complete at a hook, and partners that it writes are not read before it has."""
    problem = make_problem(SMALL[3], "isotropic", "none", 4)
    times = range(1, 20)

    def imaged(
        kernels: Any, advance: Callable[..., bool], make: Callable[[tuple[int, ...]], Any]
    ) -> list[bytes]:
        box = Box((0, 0, 0), SMALL[3])
        rng = np.random.default_rng(2)
        copies = {it: make(box.shape) for it in times}
        partners = {it: make(box.shape) for it in times}
        for u in partners.values():
            u[...] = np.float32(7)
        image = make(box.shape)
        image[...] = 0
        seen: list[bytes] = []

        def hook(state: State) -> None:
            seen.append(copies[state.it].tobytes())
            for it in (state.it + 1, state.it + 2, state.it + 3):
                if it in partners:
                    partners[it][...] = rng.uniform(-1, 1, box.shape).astype(np.float32)

        start = to_cpu(problem, random_state(problem))
        state = start if kernels is cpu else to_device(problem, start)
        work = Work(
            snapshots=Snapshots(box, copies),
            correlation=Correlation(box, partners, image, 0.5),
            hook=hook,
            at={3, 4, 9},
        )
        assert advance(kernels, problem, state, 19, work)
        return [*seen, image.tobytes(), *(u.tobytes() for u in copies.values())]

    with cpu.forced(fused()):
        want = imaged(cpu, by_step, lambda shape: np.zeros(shape, np.float32))

    def locked(shape: tuple[int, ...]) -> np.ndarray:
        out = cuda.reserve_host(int(np.prod(shape))).reshape(shape)
        out[...] = 0
        return out

    assert imaged(cuda, by_segment, locked) == want


@pytest.fixture
def order_one(gpu_device: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Work late and in one random order."""
    if gpu_device.availability().emulated:
        plugin = shutil.copy(gpu_device.availability().plugin, tmp_path / "order.so")
        monkeypatch.setenv("SUBSALT_CUDA_PLUGIN", str(plugin))
        monkeypatch.setenv("SUBSALT_EMULATED_ORDER", "11")
        gpu_device.forget()


@pytest.mark.parametrize("start", [0, 23])
def test_a_field_that_is_not_finite_is_reported_where_the_loop_reports_it(
    gpu_device: Any, start: int
) -> None:
    problem = make_problem(SMALL[3], "isotropic", "none", 4)
    fields = []
    for advance in (by_step, by_segment):
        host = to_cpu(problem, random_state(problem))
        problem.layout.view(host.curr[0])[5, 6, 7] = np.nan
        state = to_device(problem, host)
        state.it = start
        assert not advance(cuda, problem, state, 90, Work())
        assert state.it == FINITE_EVERY
        fields.append([np.asarray(a).tobytes() for a in state.arrays()])
    assert fields[0] == fields[1]


def test_the_last_step_is_looked_at(gpu_device: Any) -> None:
    problem = make_problem(SMALL[2], "isotropic", "none", 4, ndim=2)
    host = to_cpu(problem, random_state(problem))
    problem.layout.view(host.curr[0])[5, 0, 7] = np.inf
    state = to_device(problem, host)
    segment = cuda.Segment(problem)
    assert segment.advance(state, 3, FINITE_EVERY, False)
    assert not segment.advance(state, 3, FINITE_EVERY, True)
    assert state.it == 6


def test_what_progress_raises_leaves_a_whole_step_and_all_results(order_one: Any) -> None:
    problem = make_problem(SMALL[2], "isotropic", "none", 8, ndim=2)
    work, progress = work_for(problem), []

    def stop(it: int) -> None:
        progress.append(it)
        if it >= 5:
            raise KeyboardInterrupt

    state, got = to_device(problem, to_cpu(problem, random_state(problem))), work_on(work, "locked")
    got.progress = stop
    with pytest.raises(KeyboardInterrupt):
        by_segment(cuda, problem, state, 10**6, got)
    assert progress == sorted(progress)
    assert state.it == progress[-1]
    with cpu.forced(fused()):
        host, want = to_cpu(problem, random_state(problem)), work_on(work, "pageable")
        assert by_step(cpu, problem, host, state.it, want)
    assert results(state, got) == results(host, want)


def test_what_the_host_changes_between_two_uses_of_a_segment_is_read_anew(gpu_device: Any) -> None:
    problem = make_problem(SMALL[2], "isotropic", "none", 8, ndim=2)
    work = work_on(work_for(problem), "locked")
    assert work.correlation is not None
    segment = cuda.Segment(problem, work)
    with cpu.forced(fused()):
        for _ in range(2):
            state = to_device(problem, to_cpu(problem, random_state(problem)))
            host, want = to_cpu(problem, random_state(problem)), work_on(work, "pageable")
            assert segment.advance(state, 11, FINITE_EVERY, True)
            assert by_step(cpu, problem, host, 11, want)
            assert results(state, work) == results(host, want)
            for partner in work.correlation.fields.values():
                partner += np.float32(1)
            for source in work.sources:
                source.samples[...] += np.float32(1)


def test_two_parts_make_a_step(order_one: Any) -> None:
    """As ranks do it: the shells of a slab first, then its core and all that comes after the step."""
    problem = make_problem(SMALL[3], "isotropic", "pml", 4)
    work = work_for(problem)
    with cpu.forced(fused()):
        host, want = to_cpu(problem, random_state(problem)), work_on(work, "pageable")
        assert by_step(cpu, problem, host, 9, want)
    state, got = to_device(problem, to_cpu(problem, random_state(problem))), work_on(work, "pageable")
    front = cuda.Segment(problem)
    rest = cuda.Segment(problem, got)
    nx, ny, nz = SMALL[3]
    low, core, high = (Box((a, 0, 0), (b, ny, nz)) for a, b in ((0, 2), (2, nx - 3), (nx - 3, nx)))
    for it in range(9):
        front.part(state, it, Box((0, 0, 0), SMALL[3]), [low, high], last=False, until=9)
        rest.part(state, it, None, [core, Box((0, 0, 0), (0, 0, 0))], last=True, until=9)
        state.rotate()
    rest.finish()
    front.finish()
    assert results(state, got) == results(host, want)


def test_what_is_done_is_counted(gpu_device: Any) -> None:
    problem = make_problem(SMALL[2], "isotropic", "none", 8, ndim=2)
    work, steps = work_on(work_for(problem), "locked"), 14
    assert work.snapshots is not None
    assert work.correlation is not None
    work.snapshots.energy, work.correlation.image = (
        placed(a, "device") for a in (work.snapshots.energy, work.correlation.image)
    )
    state = to_device(problem, to_cpu(problem, random_state(problem)))
    before = cuda.counters()
    assert by_segment(cuda, problem, state, steps, work)
    done = {name: n - before[name] for name, n in cuda.counters().items()}
    copies = sum(it <= steps for it in work.snapshots.fields)
    partners = sum(1 <= it <= steps for it in work.correlation.fields)
    fed = sum(len(s.points.base) * min(steps, s.samples.shape[1]) for s in work.sources)
    recorded = sum(len(r.points.base) * min(steps, r.data.shape[1] - 1) for r in work.recorders)
    assert done["steps"] == steps
    assert done["snapshots"] == copies
    assert done["to_host"] == 4 * (copies * work.snapshots.box.size + recorded + 1)
    assert done["to_device"] >= 4 * (partners * work.correlation.box.size + fed)
    assert done["launches"] > 3 * steps


@pytest.mark.parametrize("wrong", ["strided", "float64", "read-only"])
def test_what_is_written_must_be_the_array_itself(gpu_device: Any, wrong: str) -> None:
    problem, box = make_problem(SMALL[3], "isotropic", "none", 8), Box((0, 0, 0), SMALL[3])
    good = np.ones(SMALL[3], np.float32)
    bad = np.zeros((*SMALL[3], 2), np.float32)[..., 0] if wrong == "strided" else good.copy()
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
        with pytest.raises(ValueError, match=f"{name} must be float32, contiguous"):
            cuda.Segment(problem, Work(**work))  # type: ignore[arg-type]


def test_wrong_arguments_are_refused(gpu_device: Any) -> None:
    problem, other = (make_problem(SMALL[n], "isotropic", "none", 8, ndim=n) for n in (3, 2))
    samples = np.zeros((3, 5), np.float32, order="F")
    with pytest.raises(ValueError, match="one column per point"):
        cuda.Segment(problem, Work([Source(points_everywhere(problem, 4, 1), samples)]))
    short = {1: np.zeros((4, 4, 5), np.float32)}
    with pytest.raises(ValueError, match="that of the box"):
        cuda.Segment(problem, Work(snapshots=Snapshots(Box((0, 0, 0), (4, 4, 4)), short)))
    long = {1: np.zeros((999, 1, 1), np.float32)}
    with pytest.raises(ValueError, match="leaves the grid"):
        cuda.Segment(problem, Work(snapshots=Snapshots(Box((0, 0, 0), (999, 1, 1)), long)))
    with pytest.raises(ValueError, match="as a whole"):
        cuda.Segment(make_problem(SMALL[3], "isotropic", "pml", 8), Work(inner=Box((0, 0, 0), (1, 1, 1))))
    state = cuda.new_state(other)
    with pytest.raises(ValueError, match="a field of shape"):
        cuda.Segment(problem).advance(state, 1, 50, True)
    assert state.it == 0
