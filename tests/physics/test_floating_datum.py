"""Time migration below topography against exact data: sources and receivers on a hill and on a slope.

Where the floating datum runs through sources and receivers and the replacement velocity is that of the medium, legs are
exact: a plane of any dip and a point diffractor come at the depth that they have below the datum of their location.
Where it is smoother, what is moved vertically travels at an angle.
"""

from dataclasses import replace

import numpy as np
import pytest
from kirchhoff_tools import BARE, on_x, peak

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.analytic import Diffractor, Plane, primaries
from subsalt.kernels.kirchhoff import Medium, sum_traces
from subsalt.kernels.kirchhoff_arguments import TraceGeometry
from subsalt.methods.kirchhoff.floating import FloatingDatum, SmoothSurface
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import prepare

V, F0, STEP = 2000.0, 20.0, 10.0
RECORD, IMAGE = TimeAxis(450, 0.004), TimeAxis(125, 0.004, 0.8)
#: s: below a plane surface the same events come at most 0.06 ms late, by terms of 1 / (omega t0)^2 and interpolation
TIME = 1e-4


def hill(x):
    """Return elevations along x: a hill of 80 m on a slope of 2 per cent."""
    return 0.02 * x + 80.0 * np.exp(-((x / 350.0) ** 2))


def on_land(offset, reach=1300.0):
    """Return sources and receivers (n, 3) of one offset: x, y, elevation."""
    ends = []
    for side in (-0.5, 0.5):
        at = on_x(0.0, reach, STEP) + np.array([side * offset, 0.0])
        ends.append(np.column_stack([at, hill(at[:, 0])]))
    return ends


def recorded(src, rcv, reflector):
    """Return exact traces; z is positive down."""
    down = np.array([1.0, 1.0, -1.0])
    return primaries(src * down, rcv * down, [reflector], V, ricker(F0, 0.002, delay=0.0), RECORD)


def imaged(src, rcv, traces, datum, points):
    """Return image traces at map positions."""
    options = KirchhoffOptions(amplitude="2.5d", **BARE)
    prepared = prepare(traces.astype(np.float32), RECORD, options, 1)
    n, shape = len(src), (len(points), IMAGE.nt)
    medium = Medium(np.full(shape, V, np.float32), None, datum.below(points))
    geometry = TraceGeometry(
        np.ascontiguousarray(src[:, :2]),
        np.ascontiguousarray(rcv[:, :2]),
        np.full(n, STEP, np.float32),
        np.zeros(n, np.int32),
        None,
        datum.height,
        datum.late,
    )
    image = np.zeros((len(points), 1, IMAGE.nt), np.float32)
    hits, fold = np.zeros((len(points), IMAGE.nt + 1), np.int32), np.zeros((len(points), 1), np.int32)
    axes = np.array([[0.0, 1.0], [1.0, 0.0]])
    sum_traces(image, hits, fold, points, axes, medium, IMAGE, prepared, geometry, options, (20.0, 20.0))
    return image[:, 0]


def through(src, rcv, radius, flat=None):
    """Return the floating datum of a radius; through sources and receivers, without a lattice, where it is 0."""
    known = np.concatenate([src, rcv])
    surface = SmoothSurface.through(known[:, :2], known[:, 2], radius or 300.0)
    datum = FloatingDatum.of(surface, V, flat, src, rcv)
    if radius:
        return datum
    exact = np.stack([src[:, 2], rcv[:, 2]], axis=1) / V

    class Exact(SmoothSurface):
        def at(self, points):
            return hill(points[:, 0])

    here = Exact(surface.first, surface.step, surface.values, surface.known)
    return replace(datum, surface=here, height=exact, late=np.zeros(len(src)))


POINTS = np.array([[-300.0, 0.0], [0.0, 0.0], [300.0, 0.0]])


@pytest.mark.parametrize(
    ("dip", "offset", "flat"),
    [(0.0, 0.0, None), (0.0, 800.0, None), (15.0, 400.0, None), (-15.0, 400.0, 120.0)],
)
def test_a_plane_lies_where_it_is_below_the_datum(dip, offset, flat):
    plane = Plane(1000.0, 0.2, np.radians(dip), np.pi / 2)
    src, rcv = on_land(offset)
    image = imaged(src, rcv, recorded(src, rcv, plane), through(src, rcv, 0.0, flat), POINTS)
    for point, trace in zip(POINTS, image, strict=True):
        zero = hill(point[0]) if flat is None else flat
        want = 2 * (plane.depth_at(point) + zero) / V
        time, value = peak(trace, IMAGE, float(want))
        assert abs(time - want) < TIME
        # weights are those of one level: relief of 80 m is 0.08 of the depth
        assert value == pytest.approx(0.2, rel=0.08)


def test_a_point_is_imaged_at_its_place():
    """It has the place, and the pulse, that it has below a level surface as high as that above it."""
    point = Diffractor((100.0, 0.0, 950.0), 1.0)
    x = np.arange(40.0, 161.0, 20.0)
    points = np.column_stack([x, np.zeros_like(x)])
    for offset in (0.0, 800.0):
        src, rcv = on_land(offset)
        traces = recorded(src, rcv, point)
        image = imaged(src, rcv, traces, through(src, rcv, 0.0), points)
        assert x[np.abs(image).max(axis=1).argmax()] == 100.0
        level = [np.column_stack([p[:, :2], np.full(len(p), hill(100.0))]) for p in (src, rcv)]
        plane = imaged(*level, recorded(*level, point), through(*level, 300.0), points)
        want = 2 * (950.0 + hill(100.0)) / V
        here, there = (peak(of[3], IMAGE, want)[0] for of in (image, plane))
        assert abs(here - there) < TIME
        # statics to that level, straight down by up to 100 m, do not focus it
        above = sum(p[:, 2] - hill(100.0) for p in (src, rcv))
        moved = replace(through(*level, 300.0), late=above / V)
        assert np.abs(imaged(src, rcv, traces, moved, points)).max() < 0.7 * np.abs(image).max()


def test_a_smoother_datum_is_off_by_the_angle_of_what_it_moves():
    """Statics of E - F delay a leg at the angle a by (E - F) (1 - cos a) / v, and the image by that over dt/dt0."""
    offset = 800.0
    src, rcv = on_land(offset)
    datum = through(src, rcv, 500.0)
    image = imaged(src, rcv, recorded(src, rcv, Plane(1000.0, 0.2)), datum, POINTS)
    for point, trace in zip(POINTS, image, strict=True):
        want = 2 * (1000.0 + float(datum.surface.at(point[None])[0])) / V
        ends = point + np.array([[-0.5, 0.0], [0.5, 0.0]]) * offset
        cosine = np.cos(np.arctan2(0.5 * offset, 1000.0 + hill(ends[:, 0])))
        late = -((hill(ends[:, 0]) - datum.surface.at(ends)) * (1 - cosine)).sum() / V / cosine.mean()
        assert abs(late) > 3 * TIME
        assert abs(peak(trace, IMAGE, want)[0] - want - late) < TIME
