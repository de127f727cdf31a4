"""Space-lag gathers of a shot: what they are sums of, zero is the image, and no scheme changes a bit."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from scheme_cases import GATHERS, RECORD, bits, migrated, scheme_of, scratch_in, setup_of, shot_of

from subsalt.checkpoint.schedule.scheme import Scheme
from subsalt.checkpoint.schedule.tasks import counts_of, tasks_of
from subsalt.earth.grid import Box, Grid
from subsalt.errors import ConfigError
from subsalt.kernels import cpu, reference
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm import executor
from subsalt.methods.rtm.arrays import RankArrays
from subsalt.methods.rtm.changes import smaller_setups
from subsalt.methods.rtm.conditions import LagSums
from subsalt.methods.rtm.engine import propagator_of, receiver_samples, window_weights
from subsalt.methods.rtm.gather_choice import lag_axis, lags_of, with_gathers
from subsalt.methods.rtm.memory import shot_memory
from subsalt.methods.rtm.partial_image import lags_layout, lags_path, write_partial
from subsalt.methods.rtm.reuse import StoredFields, sums_of_wavefields
from subsalt.parallel.comm import single
from subsalt.propagation.options import GatherOptions, ImagingOptions
from thorough import ALL

SCHEMES = {
    "revolve": ("revolve", {"block": 3, "memory_slots": 2}),
    "disk slots": ("revolve", {"block": 2, "disk_slots": 3}),
    "snapshots on disk": ("store", {"snapshots_on": "disk", "chunk": 4}),
    "kept": ("store", {"keep": "both", "chunk": 3}),
    "restart": ("revolve", {"block": 2, "memory_slots": 2, "disk_slots": 2, "restart_every": 15}),
}


# -- products of rows


@pytest.mark.parametrize("nz", [1, 15, 16, 67, 300])
def test_products_of_rows_are_those_of_whole_fields(nz: int) -> None:
    """A row with itself has the bits of `product`, whatever the instruction set, threads and samples at once."""
    rng = np.random.default_rng(1)
    u, w = rng.standard_normal((2, 3, 7, nz)).astype(np.float32)
    u[0, 0] *= 1e-38  # subnormal products are flushed alike
    start = rng.standard_normal((7, nz)).astype(np.float32)
    own = np.stack([np.arange(7)] * 3, axis=1)
    for isa in cpu.available():
        for threads in (1, 3):
            with cpu.forced(isa=isa, threads=threads):
                wanted, got = start.copy(), start.copy()
                for a, b in zip(u, w, strict=True):
                    cpu.product(wanted, a, b, 0.7)
                cpu.row_products(got, list(u), list(w), own, 0.7)
                assert got.tobytes() == wanted.tobytes(), (isa, threads)


def test_rows_meet_as_they_are_paired() -> None:
    rng = np.random.default_rng(2)
    u, w = rng.standard_normal((2, 2, 9, 33)).astype(np.float32)
    rows = np.array([[4, 8, 0], [0, 1, 1], [3, 2, 7]])
    got, wanted = np.zeros((5, 33), np.float32), np.zeros((5, 33), np.float32)
    cpu.row_products(got, list(u), list(w), rows, 0.5)
    reference.row_products(wanted, list(u), list(w), rows, 0.5)
    # two products and two sums, each rounded once or less
    assert np.abs(got - wanted).max() <= 4 * np.finfo(np.float32).eps * np.abs(u).max() * np.abs(w).max()
    assert not got[[1, 2]].any()
    assert np.allclose(wanted[4], 0.5 * (u[0, 8] * w[0, 0] + u[1, 8] * w[1, 0]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("bad", [[[5, 0, 0]], [[0, 9, 0]], [[0, 0, -1]]])
def test_rows_outside_are_refused(bad: list[list[int]]) -> None:
    field = np.zeros((9, 4), np.float32)
    with pytest.raises(ValueError, match="outside"):
        cpu.row_products(np.zeros((5, 4), np.float32), [field], [field], np.array(bad), 1.0)


# -- which half offsets and columns


def test_steps_of_whole_cells_are_summed_and_others_interpolated() -> None:
    whole = lag_axis(0, GatherOptions(max=65.0, step=20.0), 10.0)
    assert whole.cells == (-6, -4, -2, 0, 2, 4, 6)
    assert whole.lags == (-60.0, -40.0, -20.0, 0.0, 20.0, 40.0, 60.0)
    assert whole.weights is None
    between = lag_axis(0, GatherOptions(max=60.0, step=7.5), 10.0)
    assert between.lags == tuple(7.5 * k for k in range(-8, 9))
    # a wave of four points a period comes out right between them, and zero keeps its bits
    h = 10.0 * np.array(between.cells)
    wave = np.cos(2 * np.pi * h / 40.0 + 0.3).astype(np.float32)[:, None]
    out = between.interpolated(wave)[:, 0]
    assert np.abs(out - np.cos(2 * np.pi * np.array(between.lags) / 40.0 + 0.3)).max() < 5e-3
    assert out[8] == wave[between.cells.index(0), 0]


def test_columns_bring_those_that_image_and_filter_look_at() -> None:
    waves, fine = Grid((31, 20), (20.0, 20.0)), Grid((61, 39), (10.0, 10.0))
    options = GatherOptions(max=100.0, every=20)
    assert lags_of(options, waves, waves, 0).summed[0] == (0, 20)
    assert lags_of(options, waves, waves, 2).summed[0] == (0, 1, 2, 18, 19, 20, 21, 22)
    carried = lags_of(GatherOptions(max=100.0, every=40), waves, fine, 0)
    assert carried.columns[0] == (0, 40)
    # the windowed sinc takes six points on either side, mirrored at the edge
    assert carried.summed[0] == (*range(7), *range(14, 27))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (GatherOptions(along="y"), "2-D"),
        (GatherOptions(max=5.0), "no half offset beside zero"),
    ],
)
def test_what_no_gather_can_have_is_refused(options: GatherOptions, said: str) -> None:
    grid = Grid((31, 20), (20.0, 20.0))
    with pytest.raises(ConfigError, match=said) as caught:
        lags_of(options, grid, grid, 0)
    assert caught.value.code == "E756"


def test_half_offsets_beyond_a_window_are_refused_with_what_would_fit() -> None:
    grid = Grid((31, 20), (20.0, 20.0))
    lags = lags_of(GatherOptions(max=200.0), grid, grid, 0)
    lags.refuse_wide(Box((0, 0, 0), (21, 1, 20)), grid, 3)
    with pytest.raises(ConfigError, match=r"max = 200 m along x.*shot 3 is 380 m wide") as caught:
        lags.refuse_wide(Box((0, 0, 0), (20, 1, 20)), grid, 3)
    assert "max = 180" in caught.value.fix


def test_ranks_share_the_columns_whatever_their_number() -> None:
    """More ranks than columns: some have none, and weigh nothing."""
    setup = setup_of("gathers, tti 3-D")
    whole = setup.lags.inside(setup.window(shot_of("gathers, tti 3-D")))
    for ranks in (1, 3, 40):
        shares = [whole.share(rank, ranks) for rank in range(ranks)]
        assert np.concatenate([s.places[0] for s in shares]).tolist() == whole.places[0].tolist()
        assert sum(len(s.rows) for s in shares) == len(whole.rows)
        for s in shares:
            sums = np.ones(s.shape, np.float32)
            s.weigh(sums, [np.full((26, 1, 1), 0.5, np.float32)])
            assert (sums == 0.5).all()


def test_gathers_that_others_hold_are_taken_from_these() -> None:
    grid, box = Grid((31, 12, 20), (20.0,) * 3), Box((2, 1, 0), (29, 11, 20))
    stored, some = (
        lags_of(GatherOptions(max=most, step=step, every=every, along=along), grid, grid, 0)
        for most, step, every, along in ((100.0, 20.0, 3, "xy"), (80.0, 40.0, 6, "y"))
    )
    assert some.within(stored)
    assert not stored.within(some)
    sums = np.arange(np.prod(stored.inside(box).shape), dtype=np.float32).reshape(stored.inside(box).shape)
    got = some.taken_from(stored, sums, box)
    assert got.shape == some.inside(box).shape
    each = sums.reshape(
        9, 3, 22, 20
    )  # columns 3 ... 27, 3 ... 9; five half offsets either side of zero, twice
    # columns 6 ... 24 and 6; of the half offsets along y, the second half, every other one to 80 m
    wanted = each[1::2, 1:2, 11:][:, :, [1, 3, 5, 7, 9]]
    # zero is the same along both axes, and stands first among those along x
    wanted[:, :, 2] = each[1::2, 1:2, 5]
    assert np.array_equal(got, wanted.reshape(got.shape))


# -- sums of a shot


@pytest.mark.parametrize("case", GATHERS)
def test_zero_is_the_image_and_no_scheme_changes_a_bit(case: str, tmp_path: Path) -> None:
    plain, setup = migrated(case), setup_of(case)
    assert setup.lags is not None
    box = setup.lags.inside(setup.window(shot_of(case)))
    xs, ys = box.places
    each = plain.lags.reshape(len(xs), len(ys), -1, plain.lags.shape[-1])
    image = plain.sums["correlation"][np.ix_(xs, ys)]
    assert image.any()
    for k in np.flatnonzero(~setup.lags.shifts.any(axis=1)):
        assert np.ascontiguousarray(each[:, :, k]).tobytes() == np.ascontiguousarray(image).tobytes()
    without = with_gathers(replace(setup, imaging=replace(setup.imaging, gathers=None)))
    assert without.lags is None
    wanted = bits(plain)
    # in 3-D and by the reference every other one, each of which the other of the two has
    every_other = slice(list(GATHERS).index(case) % 2, None, 2)
    names = list(SCHEMES) if ALL or "2-D" in case else list(SCHEMES)[every_other]
    for number, name in enumerate(names):
        strategy, more = SCHEMES[name]
        scheme, scratch = scheme_of(case, strategy, **more), scratch_in(tmp_path / str(number))
        with cpu.forced(threads=1 + number % 3):
            image_of = migrated(case, scheme, scratch)
        scratch.close()
        assert bits(image_of) == wanted, name
        assert image_of.counts == counts_of(scheme), name


def test_the_image_has_the_bits_that_it_has_without_gathers() -> None:
    """Sweeps that stop for gathers, and energy of the source beside them, change nothing."""
    assert {"correlation": bits(migrated("gathers, tti 3-D"))["correlation"]} == {
        "correlation": bits(_without("gathers, tti 3-D"))["correlation"]
    }
    assert bits(_without("gathers, iso 2-D")).items() <= bits(migrated("gathers, iso 2-D")).items()


def _without(case: str):
    from subsalt.methods.rtm.engine import migrate_shot

    setup, shot = setup_of(case), shot_of(case)
    setup = with_gathers(replace(setup, imaging=replace(setup.imaging, gathers=None)))
    return migrate_shot(setup, shot, _traces(case))


def _traces(case: str):
    shot = shot_of(case)
    return np.random.default_rng(2).uniform(-1, 1, (len(shot.rcv), RECORD.nt)).astype(np.float32)


def _wavefields(case: str):
    """Return source and receiver wavefield at the samples, by sample."""
    setup, shot = setup_of(case), shot_of(case)
    prop = propagator_of(setup, shot)
    steps, k = setup.axis.nt - 1, setup.image_step
    numbers = range(1, steps // k + 1)
    fields = []
    for injected, times in (
        (prop.source(shot.src[None], setup.signature[None]), {i: i * k for i in numbers}),
        (
            prop.source(shot.rcv, receiver_samples(setup, shot, _traces(case))),
            {i: steps - i * k for i in numbers},
        ),
    ):
        rooms = {i: np.zeros(prop.interior.shape, prop.dtype) for i in numbers}
        snapshots = Snapshots(prop.interior, {times[i]: room for i, room in rooms.items() if times[i] > 0})
        prop.advance(prop.new_state(), steps, sources=[injected], snapshots=snapshots)
        fields.append(rooms)
    return fields


class _Field:
    def __init__(self, rooms):
        self.rooms = rooms

    def expect(self, samples):
        self.order = list(samples)

    def read(self, sample):
        assert sample == self.order.pop(0)
        return self.rooms[sample]


@pytest.mark.parametrize("case", ["gathers, vti 2-D", "gathers, tti 3-D"])
def test_sums_are_those_of_the_formula_and_kept_wavefields_give_them_again(case: str) -> None:
    setup, shot = setup_of(case), shot_of(case)
    assert setup.lags is not None
    window = setup.window(shot)
    source, receivers = _wavefields(case)
    made = migrated(case)
    names = (*made.sums, setup.lags.name)
    stored = StoredFields(sorted(source), _Field(source), _Field(receivers))
    again = sums_of_wavefields(setup, window, names, stored)
    assert again[setup.lags.name].tobytes() == made.lags.tobytes()
    assert again["correlation"].tobytes() == made.sums["correlation"].tobytes()
    # by the formula, in double precision
    box = setup.lags.inside(window)
    xs, ys = box.places
    weight = np.ones(window.shape)
    for w in window_weights(setup, window):
        weight = weight * w
    u, w = (np.stack([some[i] for i in sorted(some)]).astype(np.float64) for some in (source, receivers))
    scale = setup.image_step * setup.axis.dt
    each = made.lags.reshape(len(xs), len(ys), -1, window.shape[2])
    largest, pairs = 0.0, 0
    for i, x in enumerate(xs):
        for j, y in enumerate(ys):
            for k, (sx, sy) in enumerate(setup.lags.shifts):
                at = [(x - sx, y - sy), (x + sx, y + sy)]
                inside = all(0 <= a < window.shape[0] and 0 <= b < window.shape[1] for a, b in at)
                wanted = np.zeros(window.shape[2])
                if inside:
                    wanted = scale * (u[:, at[0][0], at[0][1]] * w[:, at[1][0], at[1][1]]).sum(axis=0)
                    wanted = wanted * weight[x, y]
                    pairs += 1
                largest = max(largest, np.abs(each[i, j, k] - wanted).max())
    assert pairs > 20
    # a sum of so many products in single precision
    bound = 2 * len(u) * np.finfo(np.float32).eps * scale * (np.abs(u).max() * np.abs(w).max()) * len(u)
    assert largest <= bound
    assert largest < 1e-5 * np.abs(made.lags).max()


def test_a_shot_struck_in_the_middle_goes_on_with_the_same_gathers(tmp_path, monkeypatch) -> None:
    case = "gathers, vti 2-D"
    scheme = scheme_of(case, "store", restart_every=12)
    wanted, count = bits(migrated(case)), len(list(tasks_of(scheme)))

    class Struck(Exception):
        pass

    def some(scheme: Scheme):
        yield from islice(tasks_of(scheme), count - 3)
        raise Struck

    with monkeypatch.context() as patch:
        patch.setattr(executor, "tasks_of", some)
        scratch = scratch_in(tmp_path)
        with pytest.raises(Struck):
            migrated(case, scheme, scratch)
        scratch.close()
    scratch = scratch_in(tmp_path)
    image = migrated(case, scheme, scratch)
    scratch.close()
    assert image.resumed > 0
    assert bits(image) == wanted


@pytest.mark.parametrize("keep", ["none", "both"])
def test_packed_snapshots_give_the_image_and_its_gathers_alike(keep: str, tmp_path: Path) -> None:
    """The source is unpacked exactly; receivers are read from their wavefield, also where it is packed to be kept."""
    case = "gathers, iso 2-D"
    setup, scratch = setup_of(case), scratch_in(tmp_path)
    image = migrated(case, scheme_of(case, "store", keep=keep), scratch, halved=True)
    scratch.close()
    box = setup.lags.inside(setup.window(shot_of(case)))
    xs, ys = box.places
    zero = image.lags.reshape(len(xs), len(ys), -1, image.lags.shape[-1])[:, :, len(setup.lags.shifts) // 2]
    assert zero.any()
    assert np.ascontiguousarray(zero).tobytes() == image.sums["correlation"][np.ix_(xs, ys)].tobytes()


def test_the_way_back_in_time_gives_gathers_to_rounding(tmp_path: Path) -> None:
    case = "gathers, iso 2-D"
    plain = migrated(case)
    for chunk in (1, 3, 8):
        back = migrated(case, scheme_of(case, "boundary", chunk=chunk))
        # as the image of that strategy: its wavefields are right to rounding, over some hundred steps
        assert np.abs(back.lags - plain.lags).max() <= 1e-4 * np.abs(plain.lags).max()


@pytest.mark.parametrize("case", ["gathers, vti 2-D", "gathers, tti 3-D"])
def test_the_plan_counts_what_gathers_take(case: str, tmp_path: Path) -> None:
    setup, shot = setup_of(case), shot_of(case)
    assert setup.lags is not None
    box = setup.lags.inside(setup.window(shot))
    sums = LagSums(setup.lags, cpu, box.box)
    assert sums.sums.nbytes == box.bytes
    rooms = sum(sums.room(k).nbytes for k in range(box.at_once))
    assert rooms + 2 * box.rows.nbytes <= box.held <= rooms + 2 * 24 * sums.sums.shape[0] * sums.sums.shape[1]
    arrays = RankArrays.of(setup, shot)
    assert shot_memory(setup, arrays, image=False)["gathers"] == box.bytes + box.held
    without = with_gathers(replace(setup, imaging=replace(setup.imaging, gathers=None)))
    assert "gathers" not in shot_memory(without, arrays, image=False)
    made = migrated(case)
    write_partial(tmp_path, made, setup.window(shot), single(), box)
    assert lags_path(tmp_path, shot.id).stat().st_size == lags_layout(box).size
    fewer = [c.text for c in smaller_setups(setup, lambda s: 1, 2, packs=False)]
    every = setup.imaging.gathers.every
    assert f"set [imaging.gathers] every = {2 * every} (from {every})" in fewer


def test_a_device_without_kernels_for_gathers_is_named() -> None:
    setup = setup_of("gathers, iso 2-D")

    class Other:
        NAME, row_products = "other", None

    with pytest.raises(ConfigError, match="device other has no kernels for gathers") as caught:
        LagSums(setup.lags, Other(), setup.model.grid.box)
    assert caught.value.code == "E757"


def test_options_refuse_what_has_no_meaning() -> None:
    with pytest.raises(ConfigError, match="max = 0"):
        GatherOptions(max=0.0)
    with pytest.raises(ConfigError, match="every"):
        GatherOptions(every=0)
    assert ImagingOptions().gathers is None
