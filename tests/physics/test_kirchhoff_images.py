"""Time migration with the options of a production run, arrays in and image out: amplitudes of gathers and stack."""

from __future__ import annotations

import numpy as np
import pytest
from kirchhoff_tools import common_offset, peak

from subsalt import migrate_time, ricker
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.survey import TimeAxis
from subsalt.analytic import Plane, primaries
from subsalt.methods.kirchhoff.classes import Classes
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from thorough import each

V, F0 = 2000.0, 20.0
OFFSETS = np.array([100.0, 400.0, 700.0, 1000.0])
REFLECTORS = [Plane(400.0, 0.1), Plane(700.0, -0.2), Plane(1000.0, 0.2)]
TRACE_TIME = TimeAxis(400, 0.004)


@pytest.fixture(scope="module")
def survey():
    """Return sources, receivers and traces: four offsets in every bin of 20 m, 1600 m wide."""
    x = np.arange(-40, 41) * 20.0
    midpoints = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    lines = [common_offset(midpoints, h, 400.0, 0.5) for h in OFFSETS]
    src, rcv = (np.concatenate([getattr(l, end) for l in lines]) for end in ("src", "rcv"))
    return src, rcv, primaries(src, rcv, REFLECTORS, V, ricker(F0, 0.002, delay=0.0), TRACE_TIME)


@pytest.mark.parametrize(
    ("antialias", "order"),
    each(["bands", "triangle"], ["shuffled, a third of the traces twice", "regular"]),
)
def test_gathers_and_stack_have_the_reflection_coefficients(survey, antialias, order):
    src, rcv, traces = survey
    if order != "regular":
        shuffled = np.random.default_rng(3).permutation(len(src))
        again = np.concatenate([shuffled, shuffled[: len(src) // 3]])
        src, rcv, traces = src[again], rcv[again], traces[again]
    # one output bin of the survey's grid: inline numbers along y, crossline numbers along x
    grid = ImageGrid((0, 0, 1), (0, 0, 1), (0.0, 0.0), (0.0, 20.0), (20.0, 0.0), TimeAxis(300, 0.004))
    options = KirchhoffOptions(antialias=antialias)
    migrated = migrate_time(
        traces,
        src,
        rcv,
        dt=TRACE_TIME.dt,
        vrms=V,
        grid=grid,
        gathers=Classes.offset(100, 1000, 300),
        options=options,
    )
    for plane in REFLECTORS:
        t0, r = 2 * plane.depth / V, plane.reflectivity
        stretch = np.hypot(1, OFFSETS / (V * t0)) - 1
        for trace, s in zip(migrated.gathers[0, 0], stretch, strict=True):
            if s < 0.2:
                # bare weights are right to 0.1 %; the filter spreads over half a sample where it does next to
                # nothing, and a fade of the mute that begins at 24 % takes what stands a Fresnel radius away
                time, value = peak(trace, grid.time, t0)
                assert value == pytest.approx(r, rel=3e-3), (t0, s)
                assert time == pytest.approx(t0, abs=3e-4), (t0, s)
            elif s > 0.3:
                assert np.abs(trace[abs(grid.time.values() - t0) < 0.02]).max() < 0.05 * abs(r), (t0, s)
        # the mean over what the mute leaves: one class ends within a Fresnel radius, and is 8 % too strong
        time, value = peak(migrated.image[0, 0], grid.time, t0)
        assert value == pytest.approx(r, rel=0.02), t0
        assert time == pytest.approx(t0, abs=3e-4), t0


def test_every_second_line_is_what_it_is_among_all_lines(survey):
    # aliasing is a matter of the midpoints, and the area of a trace of its bin: not of the lines that are put out
    src, rcv, traces = survey
    use = np.flatnonzero((np.abs((src + rcv) / 2) <= 400).all(axis=1))
    images = []
    for step in (1, 2):
        # slopes are limited on these lines: a location 200 m from the middle of a cut survey sees its edges steeply
        grid = ImageGrid(
            (0, 4, step), (-10, 10, step), (-200.0, 0.0), (0.0, 20.0), (20.0, 0.0), TimeAxis(120, 0.008)
        )
        migrated = migrate_time(
            traces[use], src[use], rcv[use], dt=TRACE_TIME.dt, vrms=V, grid=grid, options=KirchhoffOptions()
        )
        images.append(migrated.image)
    np.testing.assert_array_equal(images[0][::2, ::2], images[1])
