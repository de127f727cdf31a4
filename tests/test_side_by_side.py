"""Parts of arrays worked on by threads: in order, with errors, and the same bytes for any number of threads."""

import numpy as np
import pytest

from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.kernels.problem import Layout
from subsalt.numerics import side_by_side


@pytest.fixture(params=[1, 3])
def threads(request, monkeypatch):
    monkeypatch.setattr(side_by_side, "PART", 200)
    before = side_by_side._Settings.threads
    side_by_side.set_threads(request.param)
    yield request.param
    side_by_side.set_threads(before)


def test_results_come_in_order_and_errors_come_out(threads):
    assert side_by_side.each(lambda n: n * n, range(20)) == [n * n for n in range(20)]
    assert side_by_side.each(str, []) == []
    with pytest.raises(ZeroDivisionError):
        side_by_side.each(lambda n: 1 // (7 - n), range(20))


def test_parts_are_made_a_little_ahead_and_in_order(threads):
    made, open_now, most = [], set(), 0

    def parts():
        nonlocal most
        for n in range(20):
            made.append(n)
            open_now.add(n)
            most = max(most, len(open_now))
            yield n

    def work(n):
        open_now.discard(n)
        return n * n

    assert side_by_side.each_as_it_comes(work, parts()) == [n * n for n in range(20)]
    assert made == list(range(20))
    assert most <= threads + 2
    with pytest.raises(ZeroDivisionError):
        side_by_side.each_as_it_comes(lambda n: 1 // (7 - n), range(20))
    with pytest.raises(KeyError):
        side_by_side.each_as_it_comes(str, ({}[n] for n in range(3)))


@pytest.mark.parametrize(("n", "size"), [(1, 1), (7, 7), (40, 40 * 30), (5, 10**9), (0, 0)])
def test_cuts_cover_everything_once(threads, n, size):
    indices = [i for cut in side_by_side.cuts(n, size) for i in range(cut.start, cut.stop)]
    assert indices == list(range(n))


BOXES = [
    Box((0, 0, 0), (12, 9, 14)),
    Box((-4, -3, -5), (17, 11, 20)),
    Box((3, 2, 4), (7, 5, 9)),
    Box((-6, 1, 2), (-2, 4, 20)),
    Box((2, 9, 1), (5, 13, 4)),
    Box((2, 1, -9), (5, 3, -4)),
]


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_a_window_continues_the_nearest_value(threads, box):
    shape = (12, 9, 14)
    vp = np.random.default_rng(1).uniform(1500, 2500, shape).astype(np.float32)
    x, y, z = (np.clip(np.arange(l, h), 0, n - 1) for l, h, n in zip(box.lo, box.hi, shape, strict=True))
    window = EarthModel(Grid(shape, (10.0,) * 3), vp).window(box)
    assert np.array_equal(window.vp, vp[np.ix_(x, y, z)])
    flat = EarthModel(Grid((12, 14), (10.0,) * 2), vp[:, 0])
    across = Box((box.lo[0], 0, box.lo[2]), (box.hi[0], 1, box.hi[2]))
    assert np.array_equal(flat.window(across).vp, vp[:, 0][np.ix_(x, z)])


def test_limits_and_padded_arrays_do_not_depend_on_threads(threads):
    shape = (23, 11, 17)
    rng = np.random.default_rng(2)
    vp, e, d = (rng.uniform(a, b, shape) for a, b in ((1500, 2500), (-0.1, 0.3), (-0.1, 0.3)))
    model, changed = EarthModel(Grid(shape, (10.0,) * 3), vp, e, d).anisotropy_gate()
    assert changed == int((d.astype(np.float32) > e.astype(np.float32)).sum())
    v, e, d = model.vp, model.epsilon, model.delta
    high, low = np.maximum(e, 0).astype(float), np.minimum(np.minimum(e, d), 0).astype(float)
    assert model.fastest == float((v * np.sqrt(1 + 2 * high)).max())
    assert model.slowest == float((v * np.sqrt(1 + 2 * low)).min())
    layout = Layout(shape, 4, 3)
    assert np.array_equal(layout.pad_planes(lambda ix: v[ix]), layout.pad(v))


@pytest.mark.parametrize(
    ("bad", "code"), [(np.nan, "E410"), (np.inf, "E410"), (-np.inf, "E410"), (-1.0, "E411")]
)
def test_one_bad_value_is_found(threads, bad, code):
    from subsalt.errors import ModelError

    vp = np.full((23, 11, 17), 2000.0, np.float32)
    vp[20, 3, 5] = bad
    with pytest.raises(ModelError, match=r"\(20, 3, 5\)") as said:
        EarthModel(Grid(vp.shape, (10.0,) * 3), vp)
    assert said.value.code == code
