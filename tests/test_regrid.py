"""Volumes carried to another grid: averages, bits, and what a wave sees of an interface between two points."""

from __future__ import annotations

import numpy as np
import pytest

from counted_planes import CountedPlanes
from subsalt import ricker
from subsalt.earth import regrid
from subsalt.earth.even_depths import EvenDepths
from subsalt.earth.grid import Grid
from subsalt.earth.planes import InMemoryPlanes
from subsalt.earth.regrid import (
    FULL_SWING,
    OF_IMAGE,
    OF_MODEL,
    SWING,
    Regridder,
    passed,
    velocity,
    weights_between,
)
from subsalt.numerics.depth_axis import Demand, depth_axis
from subsalt.numerics.stencil import Stencil
from subsalt.propagation.grid_choice import points_needed, waveform_error, with_spacing

RNG = np.random.default_rng(8)
FINE = Grid((61, 33, 47), (10.0, 12.0, 5.0), (100.0, -40.0, 0.0))
GRIDS = [with_spacing(FINE, 17.3), with_spacing(FINE, 4.1)]


@pytest.mark.parametrize("target", GRIDS)
@pytest.mark.parametrize("edge", ["nearest", "mirror"])
def test_weights_keep_constants(target, edge):
    for axis in range(3):
        weights = weights_between(FINE, target, axis, edge)
        assert weights.shape == (target.shape[axis], FINE.shape[axis])
        np.testing.assert_allclose(weights.applied(np.ones(weights.shape[1]), 0), 1.0, atol=1e-14)


@pytest.mark.parametrize("target", GRIDS)
def test_bits_do_not_depend_on_the_planes_asked_for(target):
    by = Regridder(FINE, target)
    values = RNG.standard_normal(FINE.shape)
    whole = by.carried(values, 0, 0, target.shape[0])
    for lo, hi in ((0, 1), (3, 11), (target.shape[0] - 2, target.shape[0])):
        first, end = by.planes(lo, hi)
        assert by.carried(values[first:end], first, lo, hi).tobytes() == whole[lo:hi].tobytes()


@pytest.mark.parametrize("target", GRIDS)
def test_planes_read_in_turn_or_anywhere_have_the_bits_of_all(target):
    values = (2000 + 500 * RNG.random(FINE.shape)).astype(np.float32)
    by, n = Regridder(FINE, target, cells=True), target.shape[0]

    def carried():
        volume = CountedPlanes(values)
        return volume, velocity(volume, by, (2000.0, 2500.0))

    whole = carried()[1].read(0, n)
    volume, in_turn = carried()
    assert b"".join(in_turn.read(i, min(i + 3, n)).tobytes() for i in range(0, n, 3)) == whole.tobytes()
    # neighbours share the planes of their margins
    assert volume.reads.max() == 1
    anywhere = carried()[1]
    for lo, hi in ((4, 7), (5, 9), (2, 4), (6, 6), (n - 1, n), (0, 2)):
        assert anywhere.read(lo, hi).tobytes() == whole[lo:hi].tobytes()


def test_a_band_that_both_grids_hold_goes_there_and_back():
    # up to 0.6 of the coarser Nyquist wavenumber; the window ends the sinc after 6 points. Away from the edges
    line = Grid((400, 8), (10.0, 10.0))
    coarse = with_spacing(line, 16.0)
    k = 0.6 * np.pi / 16.0
    wave = np.cos(k * line.axis(0))[:, None] * np.ones(8)
    there = Regridder(line, coarse, "mirror").carried(wave, 0, 0, coarse.shape[0])
    back = Regridder(coarse, line, "mirror").carried(there, 0, 0, line.shape[0])
    inside = slice(200, 201)
    assert np.abs(back[inside] - wave[inside]).max() < 2e-3
    # what the coarse grid does not hold does not come back as something else
    high = np.cos(1.7 * np.pi / 16.0 * line.axis(0))[:, None] * np.ones(8)
    assert np.abs(Regridder(line, coarse).carried(high, 0, 40, 200)).max() < 2e-3


def stretched_line():
    """Return a grid of two columns whose depths are 10 m apart at the top and 30 m from 3200 m on."""
    depth = np.arange(0.0, 5001.0, 10.0)
    velocity = np.clip(1500.0 + 1.5 * (depth - 500.0), 1500.0, 4500.0)
    axis = depth_axis(depth, velocity, Demand(0.0, 5000.0, 10.0, 150.0, 4))
    return Grid((2, axis.count), (10.0, 10.0), depth_axis=axis)


def test_nothing_folds_where_a_depth_axis_is_coarse():
    line, target = Grid((2, 1001), (10.0, 5.0)), stretched_line()
    depths, spacing = target.axis(-1), target.spacing_along(-1, target.axis(-1))
    deep = (depths > 3600) & (depths < 4600)
    assert spacing[deep].min() > 29.0
    # between the Nyquist wavenumbers of both ends: held by the top, by nothing below
    wave = np.tile(np.cos(1.7 * np.pi / 30.0 * line.axis(-1)), (2, 1))
    carried = Regridder(line, target).carried(wave, 0, 0, 2)[0]
    assert np.abs(carried[deep]).max() < 2e-3
    top = (depths > 150) & (depths < 400)
    np.testing.assert_allclose(carried[top], np.cos(1.7 * np.pi / 30.0 * depths[top]), atol=0.02)


def test_a_stepped_field_is_shown_as_its_pressure():
    grid = stretched_line()
    even = EvenDepths(grid)
    pressure = np.tile(np.cos(2 * np.pi * grid.axis(-1) / 400.0), (2, 1))
    shown = even.field(pressure * np.sqrt(grid.depth_scale))
    z = even.even.axis(-1)
    inside = (z > 400) & (z < 4500)
    np.testing.assert_allclose(
        shown[:, inside], np.tile(np.cos(2 * np.pi * z[inside] / 400.0), (2, 1)), atol=0.01
    )
    # rounded to float32 either way
    np.testing.assert_allclose(shown, even.image(pressure), rtol=0, atol=1e-6)
    assert even.field(pressure, 3).shape == shown[:, ::3].shape


def test_a_mirror_is_one():
    line = Grid((9, 2), (10.0, 10.0))
    values = RNG.standard_normal(9)
    at = with_spacing(line, 7.0)
    mirrored = Regridder(line, at, "mirror").carried(np.repeat(values[:, None], 2, 1), 0, 0, at.shape[0])[
        :, 0
    ]
    # the same values written out on both sides, so far that no window ends
    long = np.pad(values, 16, mode="reflect")
    wide = Grid((len(long), 2), (10.0, 10.0), (-160.0, 0.0))
    expected = Regridder(wide, at).carried(np.repeat(long[:, None], 2, 1), 0, 0, at.shape[0])[:, 0]
    np.testing.assert_allclose(mirrored, expected, atol=1e-12)


def test_no_contrast_swings_far_and_none_turns_the_medium_around():
    line = Grid((200, 4), (10.0, 10.0))
    coarse = with_spacing(line, 18.0)
    by = Regridder(line, coarse)
    vp = np.where(np.arange(200)[:, None] < 90, 1500.0, 4500.0) * np.ones((1, 4))
    v = regrid.velocity(InMemoryPlanes(vp.astype(np.float32)), by, (1500.0, 4500.0)).read(0, coarse.shape[0])
    assert 1500.0 * (1 - SWING) <= v.min() < 1500.0
    assert 4500.0 < v.max() <= 4500.0 * (1 + SWING) * (1 + 1e-6)
    # where reflections are modelled it may swing as far as the mean does
    wide = regrid.velocity(InMemoryPlanes(vp.astype(np.float32)), by, (1500.0, 4500.0), FULL_SWING).read(
        0, coarse.shape[0]
    )
    assert 4500.0 * (1 + SWING) < wide.max() < 4500.0 * (1 + FULL_SWING)
    # elliptical beside isotropic: both averages swing, and delta stays below epsilon
    e = InMemoryPlanes(np.where(np.arange(200)[:, None] < 90, 0.0, 0.2) * np.ones((1, 4), np.float32))
    made = {n: p.read(0, coarse.shape[0]) for n, p in regrid.thomsen(e, e, by, over=False).items()}
    assert (made["delta"] <= made["epsilon"]).all()
    assert made["epsilon"][-30:] == pytest.approx(0.2, abs=1e-6)
    assert made["delta"][-30:] == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize(("above", "below"), [(2000.0, 2300.0), (2500.0, 2000.0)])
def test_an_interface_acts_where_it_is(above, below):
    """Its reflection comes in time and as strong as it is, at any of ten depths between two points of the grid.

    In one dimension, with the weights of order 8 at the points that they need. Compared with what came as far without
    an interface, so that the error of the grid is not in it: 1 % of the shortest period, 1 % of the amplitude.
    """
    weights, f0, ratio = Stencil(8, "fitted"), 10.0, 20
    c = weights.second()
    h = min(above, below) / (weights.points() * 2.5 * f0)
    n, interface, source, receiver = 400, 200, 120, 140
    depths = interface * h + np.arange(10) / 10 * h
    fine = Grid((n * ratio, 10), (h / ratio, 1.0))
    coarse = Grid((n, 10), (h, 1.0))
    vp = np.where(fine.axis(0)[:, None] < depths - 1e-6 * h, above, below).astype(np.float32)
    by = Regridder(fine, coarse)
    v = (
        regrid.velocity(InMemoryPlanes(vp), by, (min(above, below), max(above, below)))
        .read(0, n)
        .astype(np.float64)
    )
    v = np.concatenate([v, np.full((n, 1), above)], axis=1)  # without an interface: the direct wave
    dt = 0.5 * 2.0 / np.sqrt(weights.nyquist()) * h / v.max()
    way = (2 * interface - source - receiver) * h
    t = np.arange(int((way / above + 2.4 / f0) / dt)) * dt
    now, before = np.zeros_like(v), np.zeros_like(v)
    record, passing = np.empty((len(t), v.shape[1])), np.empty(len(t))
    a = (np.pi * f0 * (t - 1.2 / f0)) ** 2
    signature = (1 - 2 * a) * np.exp(-a)
    for i, s in enumerate(signature):
        lap = c[0] * now
        for k in range(1, len(c)):
            lap[k:-k] += c[k] * (now[2 * k :] + now[: -2 * k])
        lap /= h * h
        lap[source] += s / h
        before = 2 * now - before + (v * dt) ** 2 * lap
        now, before = before, now
        record[i], passing[i] = now[receiver], now[2 * interface - receiver, -1]
    reflected = (record[:, :10] - record[:, 10:]).T
    strength = (below - above) / (below + above)
    f = np.fft.rfftfreq(4 * len(t), dt)
    for trace, depth in zip(reflected, depths, strict=True):
        # the interface of samples is in the middle between the last above and the first below
        middle = depth - 0.5 * h / ratio
        later = np.exp(-2j * np.pi * f * 2 * (middle - interface * h) / above)
        exact = strength * np.fft.rfft(passing, 4 * len(t)) * later
        spectrum = np.fft.rfft(trace, 4 * len(t))
        assert abs(np.linalg.norm(spectrum) / np.linalg.norm(exact) - 1) < 0.01
        # the delay that turns the one into the other: the slope of the phase, weighted by the energy
        cross = spectrum * np.conj(exact)
        slope = (np.angle(cross) * f * np.abs(cross)).sum() / (f**2 * np.abs(cross)).sum()
        assert abs(slope) / (2 * np.pi) < 0.01 / (2.5 * f0)


def test_the_error_that_the_table_of_the_weights_promises():
    wavelet = ricker(15.0, 0.0005)

    def direct(weights, accuracy):
        return points_needed(weights, False, accuracy, wavelet, imaging=True).direct

    for order in (4, 8, 12):
        weights = Stencil(order, "fitted")
        # the table is for the worst of several media and directions, this for an isotropic one
        assert waveform_error(weights, weights.points())[0] < 0.01
        assert direct(weights, 0.01) == pytest.approx(weights.points())
        assert direct(weights, 0.03) < weights.points()
        assert waveform_error(Stencil(order), weights.points())[0] > 0.01


def test_the_window_passes_half_of_the_nyquist_wavenumber():
    kappa = np.linspace(0, 2 * np.pi, 65)
    passed_part = passed(kappa)
    assert passed_part[0] == pytest.approx(1.0)
    assert passed(np.array([np.pi]))[0] == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_allclose(passed_part + passed(2 * np.pi - kappa), 1.0, atol=5e-3)
    # and is what the weights do to a wave that is sampled finely
    line, coarse = Grid((4001, 2), (1.0, 1.0)), Grid((201, 2), (20.0, 1.0))
    for mean, cells in ((OF_MODEL, True), (OF_IMAGE, False)):
        by = Regridder(line, coarse, cells=cells)
        for k in (1.0, 2.5, 3.5):
            wave = np.cos(k * (line.axis(0) - 2000.0) / 20.0)[:, None] * np.ones(2)
            # a cell of 1/20 weakens a wave by (k / 20)^2 / 24
            expected = passed(np.array([k]), mean)[0]
            assert by.carried(wave, 0, 100, 101)[0, 0] == pytest.approx(
                expected, abs=2 * (k / 20) ** 2 / 24 + 1e-4
            )


def test_a_sample_of_a_model_is_a_cell():
    """A step between two samples has the wavenumbers of a step, and not those of samples: 1.04 times those at k = 1."""
    line, coarse = Grid((2001, 2), (1.0, 1.0)), Grid((1001, 2), (1.3, 1.0))
    step = (line.axis(0) > 650.5)[:, None] * np.ones(2)
    by = Regridder(line, coarse, cells=True)
    cell = by.carried(step, 0, 0, 1001)[:, 0]
    at = coarse.axis(0) - 650.5
    # the sum of the step times a wave, over the nodes, that of the step itself beyond a taper far away
    far = np.exp(-((at / 200.0) ** 2))
    for k in (0.3, 0.6, 1.0):
        fine = np.linspace(0.0, 1300.0, 130001)
        exact = np.trapezoid(np.exp(-((fine / 200.0) ** 2)) * np.exp(1j * k * fine), fine)
        got = 1.3 * (cell * far * np.exp(1j * k * at)).sum()
        assert abs(got / exact - 1) < 5e-3


@pytest.mark.parametrize("spacing", [0.4, 1.7, 3.0])
def test_a_slope_at_the_edge_has_its_value_there_and_its_integral(spacing):
    """What continues the edge continues the model's value; the nodes together hold as much as the model."""
    line = Grid((301, 2), (1.0, 1.0))
    grid = with_spacing(line, spacing)
    ramp = np.clip(np.abs(line.axis(0) - 150.0) - 50.0, 0.0, None)
    got = Regridder(line, grid, cells=True).carried(ramp[:, None] * np.ones(2), 0, 0, grid.shape[0])[:, 0]
    at = grid.axis(0)
    assert got[0] == ramp[0]
    assert (got[at >= 300.0] == ramp[-1]).all()
    # both slopes hold 100 x 100 / 2, and the nodes beyond the last sample its value; values of the slope at the nodes
    # alone would hold h^2 / 12 more or less at either edge
    held = spacing * (got.sum() - 0.5 * (got[0] + got[-1])) - 100.0 * (at[-1] - 300.0)
    assert held == pytest.approx(10_000.0, abs=0.01 * spacing**2)
