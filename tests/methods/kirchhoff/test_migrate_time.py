"""`subsalt.migrate_time`: amplitudes of stack and gathers, traces that cannot matter, wrong arrays."""

import numpy as np
import pytest

import subsalt
from kirchhoff_data import areal_positions, line_positions, reflector_traces
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import DataError
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.engine import farthest, migrate_block, select, start
from subsalt.methods.kirchhoff.floating import FloatingDatum, SmoothSurface
from subsalt.methods.kirchhoff.migrate_arrays import table_of
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.velocity.time_velocity import ConstantVelocity
from subsalt.methods.kirchhoff.weights import trace_weights
from subsalt.timing import Phases

#: offsets of a line: at 800 m depth and 2000 m/s stretched by 0 to 35 %, the last in the taper and beyond the mute
OFFSETS = [0, 200, 400, 600, 800, 1000, 1200, 1300, 1450]
TIME = TimeAxis(300, 0.004)


def line_grid(n=1):
    return ImageGrid((1, 1, 1), (1, n, 1), (1000.0, 0.0), (0.0, 1.0), (12.5, 0.0), TIME)


@pytest.fixture(scope="module")
def line():
    src, rcv = line_positions(161, 12.5, OFFSETS)
    return reflector_traces(src, rcv, 300, 0.004, v=2000.0, depth=800.0), src, rcv


@pytest.mark.parametrize("gathers", ["image", "full-offset"])
def test_the_stack_keeps_the_amplitude_through_the_mute(line, gathers):
    """R = 0.2 to the 0.1 % of physics.md 8, although one class is muted and two fade: each counts with its weight.

    A count of live classes would give 0.2 (7 + w1 + w2) / 9.
    """
    made = subsalt.migrate_time(
        *line,
        dt=0.004,
        vrms=2000.0,
        grid=line_grid(),
        gathers=gathers,
        options=KirchhoffOptions(amplitude="2.5d", antialias="none"),
        threads=1,
    )
    assert made.image.shape == (1, 1, 300)
    assert made.image.argmax() == 200
    assert made.image.max() == pytest.approx(0.2, rel=2e-3)
    if made.gathers is not None:
        peak = made.gathers[0, 0, :, 200]
        assert peak[:6] == pytest.approx(np.full(6, 0.2), rel=2e-3)
        # t/t0 - 1 at 1200, 1300 and 1450 m: 25, 29 and 35 %; the taper goes from 24 to 30 %
        stretch = np.sqrt(1 + (np.array([1200, 1300]) / 1600) ** 2) - 1
        taper = 0.5 + 0.5 * np.cos(np.pi * (stretch - 0.24) / 0.06)
        assert peak[6:8] == pytest.approx(0.2 * taper, rel=2e-2, abs=2e-3)
        assert abs(peak[8]) < 1e-3
    assert sum(v for k, v in made.phases.items() if k != "wall") == pytest.approx(made.phases["wall"])


@pytest.mark.parametrize("noise", [1e-9, 0.02])
def test_midpoints_on_edges_of_bins_leave_the_amplitude_as_it_is(line, noise):
    """Bins whose edges lie on the midpoints, but for rounding or centimetres: R to the same 0.1 %, not -5 to +10 %."""
    traces, src, rcv = line
    rng = np.random.default_rng(3)
    moved = rng.uniform(-noise, noise, src.shape)
    made = subsalt.migrate_time(
        traces,
        src + moved,
        rcv + moved,
        dt=0.004,
        vrms=2000.0,
        grid=ImageGrid((1, 1, 1), (1, 1, 1), (1006.25, 0.0), (0.0, 1.0), (12.5, 0.0), TIME),
        gathers="full-offset",
        options=KirchhoffOptions(amplitude="2.5d", antialias="none"),
        threads=1,
    )
    assert made.gathers[0, 0, :6, 200] == pytest.approx(np.full(6, 0.2), rel=2e-3)


def test_a_hole_in_the_coverage_of_a_class_leaves_the_others_their_amplitude(line):
    """Every second midpoint of some classes: their traces stand for two bins, and the mean stays R."""
    traces, src, rcv = line
    index = np.arange(len(src))
    keep = ((index // len(OFFSETS)) % 2 == 0) | (index % len(OFFSETS) % 2 == 0)
    made = subsalt.migrate_time(
        traces[keep],
        src[keep],
        rcv[keep],
        dt=0.004,
        vrms=2000.0,
        grid=line_grid(),
        gathers="full-offset",
        options=KirchhoffOptions(amplitude="2.5d", antialias="none"),
        threads=1,
    )
    assert made.gathers[0, 0, :6, 200] == pytest.approx(np.full(6, 0.2), rel=2e-3)
    assert made.image.max() == pytest.approx(0.2, rel=2e-3)


def test_the_image_of_a_location_does_not_depend_on_the_increments_of_the_output():
    """Areas and antialiasing are those of the numbered bins: every second line has the image that it has among all."""
    src, rcv = areal_positions(np.arange(0, 500, 25.0), np.arange(0, 400, 25.0), [100, 300])
    traces = reflector_traces(src, rcv, 125, 0.008, depth=400.0, dip=20.0, f0=25.0)
    images = []
    for step in (1, 2):
        grid = ImageGrid(
            (5, 9, step), (6, 12, step), (125.0, 100.0), (0.0, 25.0), (25.0, 0.0), TimeAxis(100, 0.008)
        )
        options = KirchhoffOptions(aperture=200.0, bands=3)
        made = subsalt.migrate_time(
            traces, src, rcv, dt=0.008, vrms=2000.0, grid=grid, options=options, threads=1
        )
        images.append(made.image)
    assert np.array_equal(images[0][::2, ::2], images[1])
    assert np.abs(images[1]).max() > 0.02


def test_the_order_of_traces_changes_rounding_alone(line):
    traces, src, rcv = line
    order = np.random.default_rng(5).permutation(len(src))
    a, b = (
        subsalt.migrate_time(
            traces[o],
            src[o],
            rcv[o],
            dt=0.004,
            vrms=2000.0,
            grid=line_grid(3),
            options=KirchhoffOptions(amplitude="2.5d"),
            threads=1,
        ).image
        for o in (np.arange(len(src)), order)
    )
    # n additions in another order: at most n eps of the sum of magnitudes, here below 30 R
    assert np.abs(a - b).max() <= len(src) * 2.0**-24 * 30 * 0.2
    assert np.abs(a - b).max() < 1e-5


@pytest.mark.parametrize(
    ("eta", "dip", "flat"),
    [
        (None, None, 0),
        (0.15, None, 0),
        (None, 35.0, 0),
        (0.1, 50.0, 0),
        (None, None, 100.0),
        (None, 35.0, -300.0),
    ],
)
def test_traces_beyond_any_reach_add_nothing(eta, dip, flat):
    """Without an aperture only traces that come before the end of the record are read: the sums are those of all.

    With `flat`: on topography, and a flat datum above or below it.
    """
    rng = np.random.default_rng(2)
    src, rcv = areal_positions(np.arange(-2000, 2000, 250.0), np.arange(-2000, 2000, 250.0), [0, 500])
    traces = rng.standard_normal((len(src), 80)).astype(np.float32)
    grid = ImageGrid((1, 2, 1), (1, 3, 1), (0.0, 0.0), (0.0, 100.0), (100.0, 0.0), TimeAxis(60, 0.01))
    table = table_of(traces, src, rcv, TimeAxis(80, 0.01))
    classes, options = Classes.full(table.offset), KirchhoffOptions(dip=dip, stretch_mute=None, bands=2)
    weights = trace_weights(table, classes, grid, options)
    datum = None
    if flat:
        heights = rng.uniform(-40.0, 40.0, (2, len(src), 1))
        ends = [np.hstack([at, height]) for at, height in zip((src, rcv), heights, strict=True)]
        surface = SmoothSurface.through(src, 0.1 * src[:, 0], 500.0)
        datum = FloatingDatum.of(surface, 2000.0, flat, *ends)
    setup = KirchhoffSetup(grid, ConstantVelocity(2000.0, eta), table, options, classes, weights, datum)
    block = Block(1, grid.whole, 0, 2)
    near, made = select(setup, block), []
    assert len(near) < 0.6 * len(src)
    for index in (near, np.arange(len(src))):
        sums = start(setup, block)
        migrate_block(setup, sums, [(index, traces[index])], 1, Phases())
        made.append(sums)
    assert np.array_equal(made[0].image, made[1].image)
    assert np.array_equal(made[0].fold, made[1].fold)
    assert made[0].contributions == made[1].contributions > 0
    if flat:
        return
    # and not far from what is needed: 2 |x_m| / v = 0.79 s, or the dip at 0.59 s
    reach = min(790 * np.sqrt(1 + 2 * (eta or 0)), 1e9 if dip is None else 590 * np.tan(np.radians(dip)))
    assert reach <= farthest(setup, grid.positions()) <= reach + 2


@pytest.mark.parametrize(
    "change",
    [
        lambda t, s, r: (t[:-1], s, r),
        lambda t, s, r: (t, s[:, :1], r),
        lambda t, s, r: (t[0], s, r),
        lambda t, s, r: (np.where(np.arange(300) == 7, np.nan, t), s, r),
        lambda t, s, r: (t, s, np.where(r > 500, np.inf, r)),
    ],
)
def test_arrays_that_do_not_belong_together(line, change):
    with pytest.raises(DataError) as error:
        subsalt.migrate_time(
            *change(*line),
            dt=0.004,
            vrms=2000.0,
            grid=line_grid(),
            options=KirchhoffOptions(amplitude="2.5d"),
        )
    assert error.value.code == "E892"


def test_a_velocity_function_and_given_classes(line):
    made = subsalt.migrate_time(
        *line,
        dt=0.004,
        vrms=([0.0, 2.0], [2000.0, 2000.0]),
        grid=line_grid(2),
        gathers=Classes.offset(200, 1400, 400),
        options=KirchhoffOptions(amplitude="2.5d"),
        weighting="uniform",
        threads=1,
    )
    assert made.gathers.shape == (1, 2, 4, 300)
    assert made.fold.shape == (1, 2, 4)
    assert made.hits.max() <= made.fold.sum(axis=-1).max()
