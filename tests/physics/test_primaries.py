"""Primary reflections of planes and diffractors: against mirror sources, each other, and Kirchhoff's integral."""

from __future__ import annotations

import numpy as np
import pytest
from physics_tools import misfit, ricker

from subsalt import analytic
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import from_samples
from subsalt.acquisition.wavelet import ricker as ricker_wavelet
from subsalt.analytic import Diffractor, Plane, primaries
from subsalt.errors import ConfigError

F0, V = 20.0, 2000.0
TIME = TimeAxis(500, 0.004)
ZERO_PHASE = ricker_wavelet(F0, 0.002, delay=0.0)

# the Ricker samples begin and end at 1.5 / f0 where it is 8e-9 of its peak; the spline between samples 16 times as
# dense as 2 ms errs by (2 pi f dt / 16)^4 / 384 = 2e-9 at 50 Hz
SPLINE = 1e-7


def positions(n: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-600, 600, (n, 2)), rng.uniform(-600, 600, (n, 2))


def test_a_flat_plane_returns_the_delayed_wavelet():
    src, rcv = positions(7)
    traces = primaries(src, rcv, [Plane(800.0, 0.2)], V, ZERO_PHASE, TIME)
    r = np.sqrt(((src - rcv) ** 2).sum(axis=1) + 1600.0**2)
    exact = 0.2 * ricker(TIME.values() - r[:, None] / V, F0) / (4 * np.pi * r[:, None])
    np.testing.assert_allclose(traces, exact, rtol=0, atol=SPLINE * exact.max())


def test_a_dipping_plane_is_its_mirror_source():
    # layered.mirror_source: dip along x, source and receivers at depths of their own
    dip, src = np.radians(25.0), np.array([50.0, 20.0, 12.0])
    rcv = np.array([[300.0, -80.0, 8.0], [-400.0, 10.0, 0.0]])
    plane = Plane(900.0, -0.3, dip, azimuth=np.pi / 2, origin=(100.0, 0.0))
    # in its convention, too, depth grows with x for a positive dip
    mirror = analytic.mirror_source(src, [100.0, 0.0, 900.0], dip)
    r = np.sqrt(((rcv - mirror) ** 2).sum(axis=1))
    when, amplitude = plane.arrivals(np.broadcast_to(src, (2, 3)), rcv, V)
    np.testing.assert_allclose(when, r / V, rtol=1e-13)
    np.testing.assert_allclose(amplitude, -0.3 / (4 * np.pi * r), rtol=1e-13)


def test_azimuth_turns_the_plane_clockwise_from_north():
    north = Plane(500.0, 1.0, np.radians(30.0), azimuth=0.0)
    east = Plane(500.0, 1.0, np.radians(30.0), azimuth=np.pi / 2)
    np.testing.assert_allclose(north.depth_at([[0.0, 100.0], [100.0, 0.0]]), [500 + 100 / np.sqrt(3), 500.0])
    np.testing.assert_allclose(east.depth_at([[0.0, 100.0], [100.0, 0.0]]), [500.0, 500 + 100 / np.sqrt(3)])
    # a point of the plane is at distance 0 from it
    for plane in (north, east):
        point = np.array([130.0, -70.0, float(plane.depth_at([[130.0, -70.0]])[0])])
        assert abs((point - [0.0, 0.0, 500.0]) @ plane.normal) < 1e-10


def test_points_of_a_plane_add_up_to_its_reflection():
    # Kirchhoff: u = 2 R int cos/v (f' + f v / rr)(t - (rs + rr) / v) / ((4 pi)^2 rs rr) dS. Diffractors leave out the
    # second term, -i / (k rr) of the first; over the spectrum f^2 exp(-f^2 / f0^2) of a Ricker wavelet the mean square
    # of 1 / f is 4/3 / f0^2. The edge is tapered over half the width. Points with x and -x, y and -y, have the same
    # rs rr and rs + rr for a source and a receiver that lie opposite each other: one quarter has the strength of all.
    depth, reflectivity, step, half = 600.0, 0.2, 20.0, 1600.0
    x = np.arange(0.0, half + step, step)
    px, py = (p.ravel() for p in np.meshgrid(x, x, indexing="ij"))
    reach = np.clip((np.hypot(px, py) / half - 0.5) / 0.5, 0, 1)
    # cos / v on both sides; on an axis the sides are one
    cosines = sum(depth / np.sqrt((side * px - 100.0) ** 2 + py**2 + depth**2) for side in (1, -1))
    alike = np.where(px > 0, 1.0, 0.5) * np.where(py > 0, 2.0, 1.0)
    strength = 2 * reflectivity * alike * cosines / V * step**2 * 0.5 * (1 + np.cos(np.pi * reach))
    src, rcv = np.array([[-100.0, 0.0]]), np.array([[100.0, 0.0]])
    time = TimeAxis(110, 0.004, 0.45)
    lit = strength > 0
    points = [Diffractor((a, b, depth), c) for a, b, c in zip(px[lit], py[lit], strength[lit], strict=True)]
    summed = primaries(src, rcv, points, V, ZERO_PHASE, time)
    exact = primaries(src, rcv, [Plane(depth, reflectivity)], V, ZERO_PHASE, time)
    near_field = np.sqrt(4 / 3) / (2 * np.pi * F0 / V * np.hypot(depth, 100.0))
    assert misfit(summed, exact) == pytest.approx(near_field, rel=0.05)


def test_the_time_axis_and_the_sampling_of_the_wavelet_do_not_matter():
    src, rcv = positions(5)
    reflectors = [Plane(700.0, 0.1, 0.2, 0.7), Diffractor((30.0, 40.0, 650.0), 500.0)]
    whole = primaries(src, rcv, reflectors, V, ZERO_PHASE, TIME)
    part = primaries(src, rcv, reflectors, V, ricker_wavelet(F0, 0.004, delay=0.0), TimeAxis(60, 0.004, 0.7))
    # 4 ms: 50 Hz is 0.4 of Nyquist, and a Ricker of 20 Hz has 1e-6 of its peak beyond Nyquist
    np.testing.assert_allclose(part, whole[:, 175:235], rtol=0, atol=3e-6 * np.abs(whole).max())


def test_a_causal_wavelet_starts_at_the_arrival():
    wavelet = from_samples([0.0, 1.0, 0.5, -0.5, -1.0, 0.0], 0.004)
    trace = primaries([[0.0, 0.0]], [[0.0, 0.0]], [Plane(800.0, 1.0)], V, wavelet, TIME)[0]
    np.testing.assert_allclose(trace[201] * 4 * np.pi * 1600.0, 1.0, atol=1e-6)
    assert not trace[:200].any()
    assert not trace[206:].any()


@pytest.mark.parametrize(
    ("src", "reflector", "words"),
    [
        ([[0.0, 0.0, 900.0]], Plane(800.0, 0.2), "not above the reflector"),
        ([[0.0, -2000.0]], Plane(800.0, 0.2, np.radians(45.0)), "dip 45 degrees"),
        ([[0.0, 0.0, 10.0]], Diffractor((0.0, 0.0, 10.0), 1.0), "stands on the diffractor"),
        ([[0.0, 0.0, 0.0, 0.0]], Plane(800.0, 0.2), r"src has shape \(1, 4\)"),
        ([[0.0, 0.0]] * 3, Plane(800.0, 0.2), "src has 3 positions, rcv 2"),
    ],
)
def test_impossible_geometry_is_refused(src, reflector, words):
    with pytest.raises(ConfigError, match=words):
        primaries(src, [[0.0, 0.0], [1.0, 0.0]], [reflector], V, ZERO_PHASE, TIME)
