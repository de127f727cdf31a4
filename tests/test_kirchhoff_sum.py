"""The compiled sum over traces against NumPy, and its bits over instruction sets, threads, and cuts into calls."""

from dataclasses import replace

import numpy as np
import pytest

from kirchhoff_blocks import make_block, on_topography
from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels import cpu, kirchhoff
from subsalt.kernels.kirchhoff_arguments import Below

ISAS = [isa for isa in cpu.available() if isa != "generic"]
FMA = [isa for isa in cpu.available() if isa != "v2"]
EPS = np.finfo(np.float32).eps

KINDS = {
    "default": {},
    "nearest band": {"band_choice": "nearest"},
    "triangle": {"antialias": "triangle"},
    "no antialias": {"antialias": "none"},
    "linear, line": {"interpolation": "linear", "amplitude": "2.5d"},
    "bare": {"interpolation": "linear", "amplitude": "none", "stretch_mute": None, "antialias": "none"},
    "all limits": {"aperture": 700.0, "dip": 30.0, "stretch_mute": 0.2},
}


def tolerance(block):
    """Return per image sample what float32 may be off: the error of one contribution of size 1, times their sizes.

    A position of up to ns samples carries 4 roundings, and a trace without anything above half of Nyquist changes by at
    most pi / 2 of its largest value per sample. The coordinate among B bands carries 8 roundings of up to B, and bands
    differ by at most 2. The steepest taper rises by pi / 2 over 0.04 of 1 / J, which carries 6 roundings. Weights and
    polynomials have 40 operations. Sizes are those without mutes, since the error of a taper does not fade with it.
    """
    p, o = block.ready(), block.options
    flat = np.zeros_like(p.samples)
    flat[:, :, 0] = np.abs(p.samples[:, :, 0]).max()
    bare = replace(o, antialias="none", aperture=None, dip=None, stretch_mute=None)
    size = replace(block, prepared=replace(p, samples=flat), options=bare).reference()[0].astype(np.float64)
    per_sample = np.pi / 2 * (4 * p.ns + 6 / 0.04) + 8 * 2 * o.bands + 40
    return per_sample * EPS * np.abs(size) + 1e-30


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("eta", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_compiled_sum_is_that_of_numpy(kind, eta, isa):
    block = make_block(1, eta=eta, **KINDS[kind])
    want, got = block.reference(), block.sum(isa=isa)
    assert want[3] > 1000
    assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()
    for mine, other in zip(got[1:], want[1:], strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("eta", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_the_instruction_set(kind, eta):
    block = make_block(2, eta=eta, locations=12, **KINDS[kind])
    want = block.sum(isa=FMA[-1])
    assert want[3] > 1000
    for isa in FMA[:-1]:
        assert_same(block.sum(isa=isa), want)


def assert_same(got, want):
    """Image bit for bit, hits, fold and contributions alike."""
    assert got[0].tobytes() == want[0].tobytes()
    for mine, other in zip(got[1:], want[1:], strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("isa", ISAS)
def test_threads_tiles_and_cuts_change_no_bit(isa):
    block = make_block(3, locations=40, traces=11, aperture=900.0)
    want = block.sum(isa=isa)
    assert_same(block.sum(isa=isa, threads=3, tile=8), want)
    assert_same(block.sum(isa=isa, threads=2, tile=64), want)
    out, done = block.empty(), 0
    for traces in (slice(0, 1), slice(1, 8), slice(8, 8), slice(8, None)):
        for locations in (slice(0, 3), slice(3, 29), slice(29, None)):
            done += block.sum(out, locations, traces, isa=isa)[3]
    assert_same((*out, done), want)


def test_hits_count_the_samples_from_the_first_to_the_last_that_a_trace_reaches():
    block = make_block(4, traces=1, aperture=900.0)
    block.geometry.slot[0] = 1
    image, hits, fold, done = block.sum()
    per_sample = np.cumsum(hits, axis=1)
    assert (per_sample[:, -1] == 0).all()
    assert done == per_sample.sum()
    np.testing.assert_array_equal(fold.sum(axis=1), per_sample.max(axis=1))
    np.testing.assert_array_equal(image[:, 1] != 0, per_sample[:, :-1] != 0)
    assert (image[:, [0, 2]] == 0).all()


@pytest.mark.parametrize("isa", ISAS)
def test_tails_of_image_traces_are_left_alone(isa):
    for nt in (1, 5, 16, 17, 31, 33):
        block = make_block(5, nt=nt, amplitude="none", stretch_mute=None)
        got, want = block.sum(isa=isa), block.reference()
        assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()
        np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("every", [2, 5])
def test_a_coarse_image_reads_what_lies_further_apart(every, isa):
    """Eight samples of 16 ms lie within two vectors of 8 ms, those of 40 ms do not; the values are those of NumPy."""
    block, n = make_block(6, amplitude="none"), 200 // every
    block = replace(
        block, time=TimeAxis(n, 0.008 * every), v=np.ascontiguousarray(block.v[:, ::every][:, :n])
    )
    got, want = block.sum(isa=isa), block.reference()
    assert want[3] > 500
    assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()
    np.testing.assert_array_equal(got[1], want[1])


@pytest.mark.parametrize("eta", [False, True])
def test_velocities_that_fall_and_jump(eta):
    """Where (v t0 / 2) does not grow, the first sample that lives is still found, and those between may be muted."""
    block = make_block(7, eta=eta, dip=40.0)
    jumps = np.where(np.arange(block.v.shape[1]) // 23 % 2, 0.45, 1.0).astype(np.float32)
    block = replace(block, v=block.v * jumps)
    got, want = block.sum(), block.reference()
    assert want[3] > 1000
    assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()
    np.testing.assert_array_equal(got[1], want[1])


def test_a_trace_that_ends_early_ends_there():
    block = make_block(8, ns=120, stretch_mute=None, antialias="none")
    got, want = block.sum(), block.reference()
    np.testing.assert_array_equal(got[1], want[1])
    ends = (got[1] < 0).nonzero()[1]
    assert ends.max() <= 120
    assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()


def test_a_delayed_record_begins_there():
    block = make_block(9, first=0.4, stretch_mute=None)
    got, want = block.sum(), block.reference()
    np.testing.assert_array_equal(got[1], want[1])
    assert want[3] > 1000
    assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()


def test_an_image_that_begins_later_is_part_of_the_whole():
    block = make_block(10)
    part = replace(block, time=TimeAxis(100, 0.008, 0.4), v=np.ascontiguousarray(block.v[:, 50:150]))
    got, whole = part.sum(), block.sum()
    # (0.4 + 0.008 k) / 0.008 may round otherwise than 0.008 (50 + k) / 0.008
    assert (np.abs(got[0] - whole[0][:, :, 50:150]) <= 0.1 * tolerance(block)[:, :, 50:150]).all()


@pytest.mark.parametrize("antialias", ["bands", "triangle", "none"])
@pytest.mark.parametrize("amplitude", ["3d", "2.5d", "none"])
def test_nothing_is_ever_not_a_number(amplitude, antialias):
    """Source and receiver at the location, t0 = 0, velocities from 1 nm/s to beyond light, legs of 10 000 km."""
    block = make_block(11, amplitude=amplitude, antialias=antialias, stretch_mute=None, dip=30.0, locations=6)
    for trace, at in enumerate((0, 1)):
        block.geometry.src[trace] = block.geometry.rcv[trace] = block.points[at]
    block.geometry.src[2] = 1e7
    with np.errstate(over="ignore"):
        scale = np.array([1e-12, 1e-6, 1.0, 1e3, 1e9, 1e30], np.float32)[:, None]
        for stretch in (None, 0.3, 1e-3):
            some = replace(block, v=block.v * scale, options=replace(block.options, stretch_mute=stretch))
            for isa in ISAS:
                assert np.isfinite(some.sum(isa=isa)[0]).all()


def test_the_weight_at_no_time_is_nothing():
    block = make_block(12, traces=2, stretch_mute=None)
    block.geometry.slot[:] = 0
    block.geometry.src[:] = block.geometry.rcv[:] = block.points[0]
    image = block.sum()[0]
    assert image[0, 0, 0] == 0
    assert image[0, 0, 1] != 0


def test_traces_without_a_place_and_empty_blocks_add_nothing():
    block = make_block(13)
    block.geometry.slot[:] = -1
    image, hits, fold, done = block.sum()
    assert done == 0
    assert not image.any()
    assert not hits.any()
    assert not fold.any()
    assert make_block(13).sum(traces=slice(0, 0))[3] == 0
    assert make_block(13).sum(locations=slice(0, 0))[3] == 0


def test_a_trace_beyond_the_aperture_adds_nothing():
    block = make_block(14, aperture=500.0)
    block.geometry.src[:, 0] += 5000
    assert block.sum()[3] == 0


def test_fold_has_classes_of_its_own():
    block = make_block(15)
    fold = block.sum()[2]
    alone = [block.sum(traces=slice(i, i + 1))[1] for i in range(len(block.traces))]
    want = np.zeros_like(fold)
    for hits, group in zip(alone, block.geometry.group, strict=True):
        want[:, group] += (hits != 0).any(axis=1)
    np.testing.assert_array_equal(fold, want)


def test_a_forced_instruction_set_is_used(monkeypatch):
    block, used = make_block(16), []
    native = kirchhoff._native.kirchhoff.sum

    def seen(*args):
        used.append(args[-1])
        return native(*args)

    monkeypatch.setattr(kirchhoff._native.kirchhoff, "sum", seen)
    block.sum()
    with cpu.forced(ISAS[0]):
        block.sum()
        block.sum(isa=ISAS[-1])
    assert used == ["", ISAS[0], ISAS[-1]]


@pytest.mark.parametrize("eta", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_sum_below_topography_is_that_of_numpy(kind, eta):
    block = on_topography(make_block(17, eta=eta, **KINDS[kind]))
    want = block.reference()
    assert want[3] > 1000
    for isa in ISAS:
        got = block.sum(isa=isa)
        assert (np.abs(got[0].astype(np.float64) - want[0]) <= tolerance(block)).all()
        for mine, other in zip(got[1:], want[1:], strict=True):
            np.testing.assert_array_equal(mine, other)


def test_bits_below_topography_do_not_depend_on_threads_tiles_and_cuts():
    block = on_topography(make_block(18, locations=40, traces=11, aperture=900.0))
    want = block.sum(isa=FMA[-1])
    for isa in FMA[:-1]:
        assert_same(block.sum(isa=isa), want)
    assert_same(block.sum(isa=FMA[-1], threads=3, tile=8), want)
    out, done = block.empty(), 0
    for traces in (slice(0, 1), slice(1, 8), slice(8, None)):
        for locations in (slice(0, 3), slice(3, 29), slice(29, None)):
            done += block.sum(out, locations, traces, isa=FMA[-1])[3]
    assert_same((*out, done), want)


def test_one_height_for_all_is_one_plane():
    """Heights that are all alike cancel; h^2 of float32 numbers instead of double ones is one more rounding."""
    block = make_block(19, eta=True, dip=40.0)
    n, level = len(block.traces), np.full(len(block.points), 0.7)
    geometry = replace(block.geometry, height=np.full((n, 2), 0.7), late=np.zeros(n))
    flat, raised = block.sum(), replace(block, geometry=geometry, below=Below(level, level)).sum()
    assert (np.abs(raised[0] - flat[0]) <= 0.1 * tolerance(block)).all()
    np.testing.assert_array_equal(raised[1], flat[1])


def test_nothing_comes_from_above_source_or_receiver():
    """A source 0.2 s below time zero: image samples before t0 = 0.4 s lie above it."""
    block = on_topography(make_block(20, stretch_mute=None))
    block.geometry.height[:, 0] = block.below.zero.min() - 0.2
    image = block.sum()[0]
    assert not image[:, :, : int(0.4 / block.time.dt)].any()
    assert image.any()
