"""A source wavefield backwards in time: it comes back, in every medium, and images as the stored one does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from reversal_cases import Case, case_of

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.shell import Chunks, MemoryShelf, reversal_disk
from subsalt.kernels import cpu
from subsalt.kernels.work import Shells, Snapshots
from subsalt.methods.rtm.engine import migrate_shot, receiver_samples
from subsalt.methods.rtm.reversal import Backwards, image_by_reversal
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.sweeps import Shooting, ShotTask
from subsalt.propagation.domain import shell_of, shell_reach
from subsalt.propagation.propagator import Propagator
from subsalt.timing import Phases
from thorough import pairs, sample

EPS = float(np.finfo(np.float32).eps)

MEDIA = ["isotropic", "vti", "tti"]


def both_ways(case: Case, loop: str | None = None) -> tuple[dict[int, np.ndarray], dict[int, np.ndarray]]:
    """Return the imaged field at all time indices on the way forward, and as it came back."""
    prop, steps = case.prop, case.steps
    source = prop.source(case.shot.src[None], case.setup.signature[None])
    shell, box = shell_of(prop.domain, prop.medium), prop.interior
    strips = np.full((steps + 1, prop.problem.n_fields, shell.cells), np.nan, prop.dtype)
    there = {n: np.zeros(box.shape, prop.dtype) for n in range(1, steps + 1)}
    state = prop.new_state()
    prop.advance(
        state,
        steps,
        sources=[source],
        snapshots=Snapshots(box, there),
        shells=Shells(shell, strips, 0),
        loop=loop,  # type: ignore[arg-type]
    )
    turned = Backwards(steps)
    back = turned.state(state)
    again = {n: np.zeros(box.shape, prop.dtype) for n in range(1, steps - 1)}
    prop.without_layer().advance(
        back,
        steps - 2,
        sources=[turned.source(source)],
        snapshots=Snapshots(box, {steps - n: u for n, u in again.items()}),
        shells=Shells(shell, strips, steps, -1, put_back=True),
        inner=shell.inside,
        loop=loop,  # type: ignore[arg-type]
    )
    return there, again


def worst(there: dict[int, np.ndarray], again: dict[int, np.ndarray]) -> float:
    """Return the largest rms error of a time index, relative to the strongest field of all.

    Weak fields at the start of a wavelet have the rounding of the strong ones that went through on the way back.
    """
    top = max(float(np.linalg.norm(u.astype(np.float64))) for u in there.values())
    return max(float(np.linalg.norm(u.astype(np.float64) - there[n])) for n, u in again.items()) / top


@pytest.mark.parametrize(("medium", "ndim", "free_surface"), pairs(MEDIA, [2, 3], [False, True]))
def test_the_field_comes_back_at_every_time_index(medium: str, ndim: int, free_surface: bool) -> None:
    """Physics page 7 (b): a relative error below 1e-4 in single precision."""
    nt = 260 if ndim == 2 else sample(190, 260)
    there, again = both_ways(case_of(medium, ndim, nt=nt, free_surface=free_surface))
    assert len(again) > 150
    assert worst(there, again) < 1e-4


@pytest.mark.parametrize(
    "options", [{"boundary": "damping", "layer": 20}, {"boundary": "none"}, {"order": 4}]
)
@pytest.mark.parametrize("medium", ["isotropic", "tti"])
def test_any_layer_and_order(medium: str, options: dict[str, object]) -> None:
    case = case_of(medium, 2, **options)
    assert shell_of(case.prop.domain, medium).cells > 0 or options == {"boundary": "none"}
    assert worst(*both_ways(case)) < 1e-4


def test_packed_models() -> None:
    assert worst(*both_ways(case_of("vti", 2, model_storage="u16"))) < 1e-4


def test_in_double_precision_it_comes_back_to_double_rounding() -> None:
    """What is left in single precision is rounding: with 29 bits more the error is 2^29 times smaller."""
    case = case_of("vti", 2, nt=120, device="reference", dtype="float64")
    assert worst(*both_ways(case)) < 1e-4 * 2.0**-29


@pytest.mark.parametrize("medium", MEDIA)
def test_a_narrower_shell_would_not_do(medium: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reach is M, in tilted media 2 M: one cell less, or M of the small weights of a product, are missed."""
    less = 4 if medium == "tti" else 1
    monkeypatch.setattr("subsalt.propagation.domain.shell_reach", lambda *a: shell_reach(*a) - less)
    assert worst(*both_ways(case_of(medium, 2))) > 1e-3


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("medium", MEDIA)
def test_segments_have_the_bits_of_the_loop(medium: str, ndim: int) -> None:
    """Several steps in one pass keep and put back what single steps do, for any number of threads."""
    case = case_of(medium, ndim, nt=sample(44, 60), free_surface=True)
    by_loop = both_ways(case, "python")
    for threads in (1, 3):
        with cpu.forced(threads=threads):
            by_segment = both_ways(case)
        for wanted, pair in zip(by_loop, by_segment, strict=True):
            assert all(pair[n].tobytes() == u.tobytes() for n, u in wanted.items())


def image(case: Case, how: str, *, chunk: int = 0, scratch: Scratch | None = None) -> tuple[dict, object]:
    """Return the sums of a shot whose source field is stored, or comes back."""
    prop, setup, steps = case.prop, case.setup, case.steps
    source = prop.source(case.shot.src[None], setup.signature[None])
    receivers = prop.source(case.shot.rcv, receiver_samples(setup, case.shot, case.traces))
    condition, scale, k = case.condition(), setup.image_step * setup.axis.dt, setup.image_step
    if how == "store":
        fields = {n: np.zeros(prop.interior.shape, prop.dtype) for n in setup.imaged_samples}
        state = prop.new_state()
        prop.advance(state, steps, sources=[source], snapshots=condition.snapshots(fields, scale))
        partners = {steps - n: u for n, u in fields.items()}
        state = prop.new_state()
        prop.advance(state, steps, sources=[receivers], correlation=condition.correlation(partners, scale))
        return condition.sums, None
    seen: list[int] = []
    scheme = Scheme("boundary", steps, k, chunk=chunk, snapshots_on="disk" if scratch else "memory")
    shooting = Shooting(prop, source, receivers, condition, scale)
    done = image_by_reversal(shooting, ShotTask(scheme, 1, scratch, reached=seen.append))
    assert max(seen) == 2 * steps
    planned = counts_of(Scheme("boundary", steps, k))
    assert (done.source_steps, done.receiver_steps) == (planned.source_steps, planned.receiver_steps)
    return condition.sums, done.storage


@pytest.mark.parametrize("image_step", [1, 2, 5])
@pytest.mark.parametrize("medium", MEDIA)
def test_the_image_is_that_of_store_to_rounding(medium: str, image_step: int) -> None:
    """Each step back rounds once more. White noise of eps per step sums, mode by mode of a leapfrog, like the root of
    the steps, and at worst (a mode that hardly oscillates) linearly: N eps is the bound taken here, twice over since p
    and q of VTI and TTI lend each other their errors. The illumination comes from the way forward: the same bits.
    """
    case = case_of(medium, 2, image_step=image_step)
    stored, _ = image(case, "store")
    back, _ = image(case, "boundary")
    assert back["illumination"].tobytes() == stored["illumination"].tobytes()
    wanted, images = (s["correlation"].astype(np.float64) for s in (stored, back))
    error = np.linalg.norm(images - wanted) / np.linalg.norm(wanted)
    assert 0 < error < 2 * case.steps * EPS


def test_chunks_and_places_of_the_shells_change_no_bit(tmp_path: Path) -> None:
    case = case_of("vti", 2, nt=120, image_step=3)
    wanted, counts = image(case, "boundary", chunk=4)
    samples = case.steps // 3
    chunks = Chunks(3, samples, 4)
    assert chunks.rows == 3 * (samples - 1) - 1
    assert chunks.count > 2
    cells = shell_of(case.prop.domain, "vti").cells
    assert counts.bytes_written == counts.bytes_read == chunks.rows * 2 * cells * 4
    for chunk in (1, 7, samples, 10 * samples):
        images, _ = image(case, "boundary", chunk=chunk)
        assert all(images[name].tobytes() == a.tobytes() for name, a in wanted.items()), chunk
    scratch = Scratch("run", [tmp_path / "a", tmp_path / "b"])
    images, counts = image(case, "boundary", chunk=4, scratch=scratch)
    scratch.close()
    assert all(images[name].tobytes() == a.tobytes() for name, a in wanted.items())
    assert counts.puts == counts.gets == chunks.count
    assert counts.bytes_written == counts.bytes_read == chunks.count * chunks.length * 2 * cells * 4
    assert reversal_disk(chunks, 2 * cells * 4) >= counts.disk_written > counts.bytes_written


@pytest.mark.parametrize(("samples", "image_step"), [(1, 1), (2, 1), (3, 1), (1, 4), (2, 3)])
def test_the_shortest_records(samples: int, image_step: int) -> None:
    case = case_of("isotropic", 2, nt=60, image_step=image_step)
    # past the last sample, so that the receiver wavefield, at rest at first, has left its traces
    axis = replace(case.setup.axis, nt=samples * image_step + (3 if image_step > 1 else 1))
    case.setup = replace(case.setup, axis=axis, signature=np.ones(axis.nt))
    assert case.setup.imaged_samples == [image_step * (i + 1) for i in range(samples)]
    prop, steps = case.prop, case.steps
    source = prop.source(case.shot.src[None], case.setup.signature[None])
    receivers = prop.source(case.shot.rcv, np.ones((len(case.shot.rcv), steps + 1)))
    out = []
    for by_reversal in (False, True):
        condition = case.condition()
        if by_reversal:
            shooting = Shooting(prop, source, receivers, condition, 1.0)
            image_by_reversal(shooting, ShotTask(Scheme("boundary", steps, image_step), 1))
        else:
            fields = {n: np.zeros(prop.interior.shape, prop.dtype) for n in case.setup.imaged_samples}
            prop.advance(
                prop.new_state(), steps, sources=[source], snapshots=condition.snapshots(fields, 1.0)
            )
            partners = {steps - n: u for n, u in fields.items()}
            prop.advance(
                prop.new_state(),
                steps,
                sources=[receivers],
                correlation=condition.correlation(partners, 1.0),
            )
        out.append(condition.sums["correlation"])
    assert np.any(out[0]) or steps == 1  # one step: u[1] meets a receiver wavefield at rest
    np.testing.assert_allclose(out[1], out[0], rtol=0, atol=1e-5 * float(np.abs(out[0]).max()))


def test_cells_are_counted_as_the_physics_page_says() -> None:
    """4 F N 2 M (nx ny + ny nz + nx nz) counts edges twice: an upper bound, approached by large grids."""
    case = case_of("isotropic", 3)
    shell = shell_of(case.prop.domain, "isotropic")
    nx, ny, nz = shell.box.shape
    assert shell.cells == int(shell.mask().sum())
    assert shell.cells <= 2 * 4 * (nx * ny + ny * nz + nx * nz)
    whole = math.prod(shell.box.shape) - math.prod(n - 8 for n in shell.box.shape)
    assert shell.cells == whole


def test_all_that_a_shot_does_is_in_a_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    case, clock, outside = case_of("isotropic", 2), Phases(), []

    def watched(owner: type, name: str) -> None:
        plain = getattr(owner, name)

        def call(*given, **named):  # type: ignore[no-untyped-def]
            if not clock.current:
                outside.append(name)
            return plain(*given, **named)

        monkeypatch.setattr(owner, name, call)

    for owner, names in (
        (SnapshotPool, ("take", "give_back")),
        (Propagator, ("__init__", "new_state", "source", "without_layer", "advance", "free")),
        (MemoryShelf, ("__init__", "writing", "reading", "close")),
    ):
        for name in names:
            watched(owner, name)
    steps, k = case.steps, case.setup.image_step
    for scheme in (Scheme("boundary", steps, k), Scheme("store", steps, k)):
        migrate_shot(case.setup, case.shot, case.traces, phases=clock, scheme=scheme)
        assert not outside, scheme.strategy
