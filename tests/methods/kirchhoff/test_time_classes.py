"""Classes of traces, the area a trace stands for, and how an image is cut into blocks."""

from types import SimpleNamespace

import numpy as np
import pytest

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, MemoryPlanError
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.cutting import Block, block_bytes, cut, recut
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.weights import EDGE, bins_of, fractional_bins, on_edges, trace_weights

RNG = np.random.default_rng(7)


def grid(ni=8, nj=10, d=(20.0, 10.0)):
    """A grid of ni x nj bins, inlines along y."""
    return ImageGrid((1, ni, 1), (1, nj, 1), (1000.0, 500.0), (0.0, d[0]), (d[1], 0.0), TimeAxis(50, 0.004))


def table(midpoint, offset, azimuth=0.0):
    """What trace_weights looks at."""
    m = np.asarray(midpoint, float)
    n = len(m)
    return SimpleNamespace(
        midpoint=m, offset=np.broadcast_to(np.asarray(offset, float), n), azimuth=np.full(n, azimuth)
    )


# -- classes


def test_offset_classes_have_their_centres_and_limits():
    c = Classes.offset(100, 500, 200)
    assert list(c.centres) == [100, 300, 500]
    got = c.slots(np.array([-1, 0, 199.9, 200, 599.9, 600, 601]), np.zeros(7))
    assert list(got) == [-1, 0, 0, 1, 2, 2, -1]


def test_full_offset_gathers_find_nominal_offsets():
    nominal = 262.0 + 25 * np.arange(48)
    offsets = np.repeat(nominal, 30) + RNG.uniform(-0.4, 0.4, 48 * 30)
    c = Classes.full(offsets)
    assert c.count == 48
    assert np.abs(c.centres - nominal).max() < 0.5
    assert np.array_equal(c.slots(offsets, offsets * 0), np.repeat(np.arange(48), 30))


def test_offsets_that_fill_the_axis_are_refused_with_classes_to_use():
    with pytest.raises(ConfigError, match="have no nominal values") as error:
        Classes.full(RNG.uniform(0, 4000, 5000))
    assert error.value.code == "E890"
    assert "step = 100" in error.value.fix
    # one image of them is no matter
    c = Classes.image(RNG.uniform(0, 4000, 5000))
    assert c.count == 1
    assert 20 <= c.groups <= 48


@pytest.mark.parametrize("bad", [(0, 100, 0), (200, 100, 10), (-10, 100, 10), (0, np.inf, 10)])
def test_ranges_that_make_no_classes(bad):
    with pytest.raises(ConfigError) as error:
        Classes.offset(*bad)
    assert error.value.code == "E768"


def test_sectors_divide_half_a_circle_and_know_no_direction():
    c = Classes.offset(50, 150, 100, sectors=4, first_azimuth=-22.5)
    azimuth = np.array([0, 22.4, 22.6, 90, 135, 157.6, 180, 270, 359])
    assert list(c.slots(np.full(9, 10.0), azimuth)) == [0, 0, 1, 2, 3, 0, 0, 2, 0]
    assert list(c.slots(np.array([120.0]), np.array([90.0]))) == [6]
    assert list(c.sector_centres[:4]) == [0, 45, 90, 135]
    assert list(c.centres) == [50] * 4 + [150] * 4


# -- areas


def test_traces_of_a_bin_share_its_area():
    g = grid()
    m = g.positions()
    twice = np.concatenate([m, m[:7]])
    w = trace_weights(table(twice, 100), Classes.offset(100, 100, 50), g, KirchhoffOptions())
    assert np.all(w[7 : len(m)] == 200)
    assert np.all(w[:7] == 100)
    assert np.all(w[len(m) :] == 100)
    even = trace_weights(table(twice, 100), Classes.offset(100, 100, 50), g, KirchhoffOptions(), "uniform")
    # the same total area
    assert np.allclose(even, 200 * len(m) / len(twice), rtol=1e-6)


@pytest.mark.parametrize(
    ("mask", "bins"),
    [
        (lambda i, j: j % 2 == 0, 2),
        (lambda i, j: (i + j) % 2 == 0, 2),
        (lambda i, j: i % 2 == 0, 2),
        (lambda i, j: (i % 2 == 0) & (j % 3 == 0), 6),
    ],
)
def test_a_class_that_leaves_out_bins_stands_for_them(mask, bins):
    g = grid(12, 30)
    i, j = np.divmod(np.arange(g.size), g.shape[1])
    keep = mask(i, j)
    w = trace_weights(table(g.positions()[keep], 100), Classes.offset(100, 100, 50), g, KirchhoffOptions())
    assert np.all(w == 200 * bins)


def test_a_marine_line_has_every_offset_in_every_second_cdp():
    # shots and receivers every 25 m: midpoints of one offset every 25 m, bins of 12.5 m
    g = ImageGrid((1, 1, 1), (1, 200, 1), (0.0, 0.0), (0.0, 1.0), (12.5, 0.0), TimeAxis(50, 0.004))
    shot, rcv = np.meshgrid(25.0 * np.arange(60), 100.0 + 25 * np.arange(20), indexing="ij")
    m = np.stack([(shot + 0.5 * rcv).ravel(), np.zeros(shot.size)], axis=1)
    c = Classes.full(rcv.ravel())
    w = trace_weights(table(m, rcv.ravel(), 90.0), c, g, KirchhoffOptions(amplitude="2.5d"))
    assert np.all(w == 25)
    # a hole in the line adds nothing to its neighbours
    some = (m[:, 0] < 600) | (m[:, 0] > 1000)
    w = trace_weights(table(m[some], rcv.ravel()[some], 90.0), c, g, KirchhoffOptions(amplitude="2.5d"))
    assert np.all(w == 25)


@pytest.mark.parametrize("noise", [1e-9, 0.005, 0.03])
@pytest.mark.parametrize("half", [(0.0, 5.0), (10.0, 0.0), (10.0, 5.0)])
def test_midpoints_on_edges_of_bins_weigh_what_they_do_in_the_middle(half, noise):
    """Rounding of coordinates would put them into either bin: some would share an area, others take a gap's."""
    g = grid(12, 30)
    m = g.positions() + np.array(half[::-1])
    moved = m + RNG.uniform(-noise, noise, m.shape)
    w = trace_weights(table(moved, 100), Classes.offset(100, 100, 50), g, KirchhoffOptions())
    assert np.all(w == 200)


def test_evenly_spread_midpoints_are_not_moved():
    """Those that lie below an edge by chance stay where they are."""
    g = grid(12, 30)
    m = g.positions()[0] + RNG.uniform(0, 1, (20000, 2)) * np.array([290.0, 220.0])
    row, col = bins_of(m, g)
    at = fractional_bins(m, g)
    below = [on_edges(a, EDGE / h)[0] for a, h in zip(at, (20.0, 10.0), strict=True)]
    assert min(below) > 0
    for classes, a in zip((row, col), at, strict=True):
        plain = np.floor(a + 0.5).astype(int)
        assert np.array_equal(classes, plain - plain.min())


def test_traces_outside_all_classes_weigh_nothing():
    g = grid()
    w = trace_weights(table(g.positions(), 400), Classes.offset(100, 100, 50), g, KirchhoffOptions())
    assert not w.any()


# -- blocks


def covers(blocks, shape, classes):
    """Return how often every image trace is in a block."""
    count = np.zeros((*shape, classes), int)
    for b in blocks:
        count[b.box.i0 : b.box.i1, b.box.j0 : b.box.j1, b.c0 : b.c1] += 1
    return count


@pytest.mark.parametrize("ranks", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["image", "offset"])
@pytest.mark.parametrize("share", [None, 1.0, 0.4, 0.11, 0.013])
def test_blocks_cover_the_image_once_and_fit(ranks, kind, share):
    shape, nt = (5, 17), 40
    classes = Classes(tuple(np.arange(13.0)), kind)
    whole = block_bytes(85, classes.count, 12, nt)
    memory = None if share is None else int(share * whole)
    work = RNG.uniform(0.1, 1, shape)
    blocks = cut(shape, classes, nt, memory, ranks, location_work=work, class_work=RNG.uniform(0.1, 1, 12))
    assert np.all(covers(blocks, shape, classes.count) == 1)
    assert len(blocks) >= ranks
    assert [b.id for b in blocks] == list(range(1, len(blocks) + 1))
    groups = 12 if kind == "image" else None
    if memory is not None:
        assert all(block_bytes(b.locations, b.classes, groups or b.classes, nt) <= memory for b in blocks)
    if ranks == 1 and memory in (None, whole):
        assert len(blocks) == 1


def test_classes_are_cut_before_locations():
    classes = Classes(tuple(np.arange(13.0)), "offset")
    one_class = block_bytes(85, 1, 1, 40)
    blocks = cut((5, 17), classes, 40, 2 * one_class)
    assert {b.box for b in blocks} == {LocationBox(0, 5, 0, 17)}
    blocks = cut((5, 17), classes, 40, one_class - 1)
    assert len({b.box for b in blocks}) == 2


def test_work_is_balanced():
    work = np.linspace(1, 9, 40 * 30).reshape(40, 30)
    blocks = cut((40, 30), Classes((0.0, 10.0), "image"), 10, None, 4, location_work=work)
    got = [work[b.box.i0 : b.box.i1, b.box.j0 : b.box.j1].sum() for b in blocks]
    # two cuts, each right to half a row of 40 or 30
    assert max(got) / min(got) < (1 + 1 / 20) * (1 + 1 / 15)
    by_class = cut(
        (4, 3), Classes(tuple(np.arange(101.0)), "offset"), 10, None, 2, class_work=np.arange(1.0, 101)
    )
    got = [np.arange(1.0, 101)[b.c0 : b.c1].sum() for b in by_class]
    assert max(got) - min(got) <= 2 * 100


def test_few_classes_are_dealt_so_that_two_ranks_end_together():
    """Four classes of falling work, two ranks: one class each time, the largest first, and nobody waits long."""
    work = np.array([0.55, 0.75, 0.62, 0.68])
    blocks = cut((21, 200), Classes(tuple(np.arange(5.0)), "offset"), 625, None, 2, class_work=work)
    done = [0.0, 0.0]
    for b in blocks:
        done[int(done[1] < done[0])] += work[b.c0 : b.c1].sum()
    assert max(done) / (sum(done) / 2) < 1.01
    # alone there is nothing to balance
    assert len(cut((21, 200), Classes(tuple(np.arange(5.0)), "offset"), 625)) == 1


def test_what_fits_nowhere_is_refused():
    with pytest.raises(MemoryPlanError) as error:
        cut((5, 17), Classes((0.0, 10.0), "image"), 1000, 5000)
    assert error.value.code == "E891"


def test_what_is_left_is_cut_anew_for_more_ranks():
    classes = Classes(tuple(np.arange(13.0)), "offset")
    blocks = cut((5, 17), classes, 40, block_bytes(85, 4, 4, 40))
    assert len(blocks) == 3
    again = recut(blocks, {blocks[0].id}, {blocks[1].id}, 5)
    assert again[0] == blocks[0]
    assert np.all(covers(again, (5, 17), 12) == 1)
    assert len(again) == 1 + 6
    assert not {b.id for b in again[1:]} & {b.id for b in blocks}
    # sums of several classes have common hits: begun blocks keep their classes
    assert {(b.c0, b.c1) for b in again if blocks[1].contains(b)} == {(blocks[1].c0, blocks[1].c1)}
    assert len({(b.c0, b.c1) for b in again if blocks[2].contains(b)}) == 3
    # with as many left as ranks nothing changes
    assert recut(blocks, {1}, {2}, 2) == blocks
    # and less memory makes more of them
    small = recut(blocks, {1}, {2}, 1, lambda b: b.locations * b.classes <= 50)
    assert np.all(covers(small, (5, 17), 12) == 1)
    assert small[0] == blocks[0]
    assert all(b.locations * b.classes <= 50 for b in small[1:])


def test_blocks_travel_as_numbers():
    b = Block(3, LocationBox(1, 4, 0, 7), 2, 9)
    assert Block.from_list(b.to_list()) == b
