"""Extremes of a model by compiled code: the bits of NumPy's formulas, for any cut, and values that are not finite."""

from __future__ import annotations

import numpy as np
import pytest

from counted_planes import CountedPlanes
from subsalt import _native
from subsalt.earth.extremes import finite_range, wave_extremes
from subsalt.earth.planes import CachedPlanes
from subsalt.numerics import side_by_side

RNG = np.random.default_rng(12)


def columns(nz):
    """Return vp, epsilon and delta of 37 columns; delta is above epsilon in some of them."""
    shape = (37, nz)
    epsilon = (0.4 * RNG.random(shape) - 0.1).astype(np.float32)
    delta = (epsilon + 0.2 * RNG.random(shape) - 0.18).astype(np.float32)
    return (1500 + 3000 * RNG.random(shape)).astype(np.float32), epsilon, delta


def by_formulas(vp, epsilon, delta, along, down, tilted):
    """Return slowest by depth, fastest and largest eigenvalue by the formulas of the physics page."""
    v, e, d = (a.astype(np.float64) for a in (vp, epsilon, delta))
    slowest = (v * np.sqrt(1 + 2 * np.minimum(np.minimum(e, d), 0))).min(axis=0)
    fastest = (v * np.sqrt(1 + 2 * np.maximum(e, 0))).max()
    if tilted:
        return slowest, fastest, (v * v * np.maximum(1 + 2 * e, 1.0) * (along + down)).max()
    t = (1 + 2 * e) * along + down
    root = np.sqrt(np.maximum(t * t - 8 * (e - d) * along * down, 0.0))
    return slowest, fastest, (v * v * (t + root) / 2).max()


@pytest.mark.parametrize("nz", [1, 3, 4, 30, 101])
@pytest.mark.parametrize("part", [1, 200, 1 << 20])
def test_bits_are_those_of_the_formulas_for_any_cut(nz, part, monkeypatch):
    monkeypatch.setattr(side_by_side, "PART", part)
    vp, epsilon, delta = columns(nz)
    along, down = 3e-3, 1e-3 + 1e-3 * RNG.random(nz)
    over = np.flatnonzero(delta > epsilon)
    for tilted in (False, True):
        waves = wave_extremes(vp, (epsilon, delta), (along, down), tilted=tilted)
        slowest, fastest, eigenvalue = by_formulas(vp, epsilon, delta, along, down, tilted)
        assert waves.slowest_by_depth.tobytes() == slowest.tobytes()
        assert (waves.fastest, waves.eigenvalue) == (fastest, eigenvalue)
        assert (waves.over, waves.first_over) == (len(over), over[0] if len(over) else -1)
        plain = wave_extremes(vp, None, (along, down), tilted=tilted)
        zero = np.zeros_like(vp)
        assert plain.slowest_by_depth.tobytes() == vp.min(axis=0).astype(np.float64).tobytes()
        assert plain.fastest == float(vp.max())
        assert plain.eigenvalue == by_formulas(vp, zero, zero, along, down, True)[2]
        assert (plain.over, plain.first_over) == (0, -1)


@pytest.mark.parametrize("part", [7001, 1 << 20])
@pytest.mark.parametrize("at", [[], [0], [16383], [16384, 39999], [5, 39990]])
def test_what_is_not_finite_is_counted_and_left_out(at, part, monkeypatch):
    monkeypatch.setattr(side_by_side, "PART", part)
    values = RNG.standard_normal(40_000).astype(np.float32)
    values[at] = np.resize(np.array([np.nan, np.inf, -np.inf], np.float32), len(at))
    good = values[np.isfinite(values)]
    assert finite_range(values) == (good.min(), good.max(), len(at), at[0] if at else -1)


def test_where_nothing_is_finite_there_is_no_range():
    assert finite_range(np.full((2, 3), np.nan, np.float32)) == (np.inf, -np.inf, 6, 0)
    assert finite_range(np.empty((0, 3), np.float32)) == (np.inf, -np.inf, 0, -1)


def test_arrays_that_do_not_fit_are_refused():
    vp, epsilon, delta = columns(6)
    down, out = np.ones(6), np.empty((3, 6))
    for wrong in (
        (vp, epsilon[:, :5].copy(), delta, down, out),
        (vp, epsilon, None, down, out),
        (vp, epsilon, delta, down[:5], out),
        (vp, epsilon, delta, down, np.empty((3, 7))),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            _native.wave_extremes(*wrong[:3], False, 1.0, *wrong[3:])


def test_kept_planes_are_made_once_and_not_written_to():
    values = RNG.standard_normal((9, 4, 5)).astype(np.float32)
    source = CountedPlanes(values)
    planes = CachedPlanes(source)
    assert planes.cached_bytes == values.nbytes
    for lo, hi in ((2, 4), (3, 9), (0, 9), (5, 5)):
        assert planes.read(lo, hi).tobytes() == values[lo:hi].tobytes()
    assert source.reads.tolist() == [1] * 9
    with pytest.raises(ValueError, match="read-only"):
        planes.read(0, 1)[...] = 0
