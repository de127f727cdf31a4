"""Angle gathers in 3-D: the dip of a plane is measured, and taken out; angles add up to the image on any part of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scheme_cases import migrated, setup_of

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.methods.rtm.angle_range import widest_opening, with_range
from subsalt.methods.rtm.dips import (
    DIP_REACH,
    STEEPEST,
    TOLD_APART,
    dipping_angle_gathers,
    slopes,
    stretch_of,
)
from subsalt.methods.rtm.filters import angle_gathers
from subsalt.methods.rtm.flatness import event_depth
from subsalt.methods.rtm.gather_choice import lags_of, with_gathers
from subsalt.methods.rtm.image_sum import ImageSum, LagSum
from subsalt.propagation.options import GatherOptions

H, DZ, SHAPE, DEPTH, WAVELENGTH = 20.0, 5.0, (17, 25, 160), 400.0, 70.0
GRID = Grid(SHAPE, (H, H, DZ))
LAGS = 10.0 * np.arange(-20, 21)
ANGLES = np.radians(np.arange(-50.0, 50.5, 2.0))
#: dip, and azimuth to which it goes down, degrees
PLANES = [(0.0, 0.0), (20.0, 0.0), (20.0, 45.0), (20.0, 90.0)]


def ricker(z: np.ndarray) -> np.ndarray:
    """Return a Ricker wavelet over depth, m."""
    a = (np.pi * z / WAVELENGTH) ** 2
    return (1 - 2 * a) * np.exp(-a)


def normal(dip: float, azimuth: float) -> np.ndarray:
    """Return the unit normal, downwards, of a plane."""
    a, b = np.radians(dip), np.radians(azimuth)
    return np.array([-np.sin(a) * np.cos(b), -np.sin(a) * np.sin(b), np.cos(a)])


def below(n: np.ndarray, columns: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the distance along the normal, m, of every sample of columns from the plane of that normal, which lies at
    DEPTH in the middle of the volume.
    """
    x, y = (H * (c - s // 2) for c, s in zip(columns, SHAPE, strict=False))
    z = DZ * np.arange(SHAPE[2]) - DEPTH
    return n[0] * x[:, None, None] + n[1] * y[None, :, None] + n[2] * z


def image_of(n: np.ndarray) -> np.ndarray:
    """Return the image of the plane."""
    return ricker(below(n, (np.arange(SHAPE[0]), np.arange(SHAPE[1]))))


def gather_of(n: np.ndarray, axis: int, gamma: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the gather in the middle, (half offsets, nz): two waves whose plane contains e1, by half opening angle.

    By wavenumbers: k_m = k n for position, k tan(gamma) e1 for half offset, e1 the axis laid onto the plane.
    """
    e = np.eye(3)[axis] - n[axis] * n
    e1 = e / np.linalg.norm(e)
    at = below(n, (np.array([SHAPE[0] // 2]), np.array([SHAPE[1] // 2])))[0, 0]
    out = np.zeros((len(LAGS), SHAPE[2]))
    for g, w in zip(gamma, weight, strict=True):
        out += w * ricker(at[None] + np.tan(g) * e1[axis] * LAGS[:, None])
    return out


@pytest.mark.parametrize(("dip", "azimuth"), PLANES)
def test_slopes_are_those_of_the_plane(dip: float, azimuth: float) -> None:
    """z falls by tan(dip) times the cosine or sine of its azimuth. The derivative of order 8 is right to
    ``(k h)^8 / 630`` of itself at wavenumber k: with 14 samples along z and, at 20 degrees, 10 along x or y of the
    shortest wave with amplitude (half of WAVELENGTH: 2 pi / 7 and / 4.8 per point), to 1.4 %.
    """
    n = normal(dip, azimuth)
    image, middle = image_of(n), (SHAPE[0] // 2, SHAPE[1] // 2, round(DEPTH / DZ))
    for axis in (0, 1):
        wanted = -n[axis] / n[2]
        assert slopes(image, GRID, axis)[middle] == pytest.approx(wanted, abs=0.014 * abs(wanted) + 1e-12)
        other = -n[1 - axis] / n[2]
        assert stretch_of(image, GRID, axis)[middle] == pytest.approx(np.sqrt(1 + other**2), rel=0.003)


def test_slopes_of_a_part_have_the_bits_of_the_whole() -> None:
    image = image_of(normal(15.0, 30.0)) + 0.1 * np.random.default_rng(1).standard_normal(SHAPE)
    for axis in (0, 1):
        whole = slopes(image, GRID, axis)
        for lo, hi in ((0, 1), (0, 6), (5, 11), (9, 17), (16, 17)):
            first, end = max(0, lo - DIP_REACH), min(SHAPE[0], hi + DIP_REACH)
            part = slopes(image[first:end], GRID, axis)[lo - first : hi - first]
            assert part.tobytes() == whole[lo:hi].tobytes()
        assert np.abs(whole).max() <= STEEPEST
    assert not slopes(np.zeros(SHAPE), GRID, 0).any()


@pytest.mark.parametrize(("dip", "azimuth"), PLANES)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_event_comes_out_at_its_angle_whatever_the_dip(dip: float, azimuth: float, axis: int) -> None:
    """The peak is at the angle itself, of angles 2 degrees apart: rounded dips move it by 0.3. Left in, 20 degrees of
    dip across would move 40 degrees by 1.8: to the next angle.
    """
    n = normal(dip, azimuth)
    stretch = stretch_of(image_of(n), GRID, axis)[SHAPE[0] // 2, SHAPE[1] // 2]
    for degrees in (-30.0, 0.0, 40.0):
        g = np.radians([degrees])
        given = gather_of(n, axis, g, np.ones(1))
        out = dipping_angle_gathers(given[None], LAGS, DZ, ANGLES, stretch[None])[0]
        a, z = np.unravel_index(np.abs(out).argmax(), out.shape)
        assert np.degrees(ANGLES[a]) == pytest.approx(degrees, abs=1e-6)
        assert abs(DZ * z - DEPTH) <= DZ


@pytest.mark.parametrize(("dip", "azimuth"), PLANES)
def test_angles_add_up_to_the_image(dip: float, azimuth: float) -> None:
    n = normal(dip, azimuth)
    gamma = np.radians(np.arange(-36.0, 36.01, 0.5))
    given = gather_of(n, 0, gamma, np.cos(2.5 * gamma) ** 2)
    stretch = stretch_of(image_of(n), GRID, 0)[SHAPE[0] // 2, SHAPE[1] // 2]
    fine = np.radians(np.arange(-60.0, 60.5, 1.0))
    out = dipping_angle_gathers(given[None], LAGS, DZ, fine, stretch[None])[0]
    total = (out / np.cos(fine)[:, None] ** 2).sum(axis=0) * (fine[1] - fine[0])
    image = given[len(LAGS) // 2]
    assert np.abs(total - image).max() <= 0.02 * np.abs(image).max()


def across(rho: float, alpha: float, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return depth at h = 0 and dip of the events of a plane that goes down along y by alpha, shot along x, by angle.

    Rays in constant velocity: beta is the true half opening angle, ``sin gamma = rho sin beta``. The slowness of every
    trace along x and y is kept, so the dip becomes ``sin(alpha_m) = rho sin(alpha) cos(beta) / cos(gamma)``. A line
    that lies Y from where the plane comes to the surface is ``D = Y sin(alpha)`` away from it; rays of the length
    ``L = rho D / cos(beta)`` end at ``Y - L cos(gamma) sin(alpha_m) = Y (1 - rho^2 sin^2(alpha))``, and h apart on
    either side. From there to h = 0 the event goes on along its slope, ``tan(gamma) / cos(alpha_m)``.
    """
    beta = np.arcsin(np.sin(gamma) / rho)
    dip = np.arcsin(rho * np.sin(alpha) * np.cos(beta) / np.cos(gamma))
    line = DEPTH / np.tan(alpha) / (1 - rho**2 * np.sin(alpha) ** 2)
    distance = line * np.sin(alpha)
    length = rho * distance / np.cos(beta)
    h = distance * np.tan(beta) - length * np.sin(gamma)
    return length * np.cos(gamma) * np.cos(dip) - h * np.tan(gamma) / np.cos(dip), dip


@pytest.mark.parametrize("rho", [0.95, 1.0, 1.05])
def test_a_wrong_velocity_bends_a_plane_that_dips_across_as_rays_say(rho: float) -> None:
    """Depths within a sample to 30 degrees, at 20 degrees of dip; without dip rays give the formula of a section."""
    gamma = np.radians(np.arange(-40.0, 40.01, 1.0))
    assert np.allclose(across(rho, 1e-4, gamma)[0], event_depth(rho * DEPTH, rho, gamma), rtol=1e-6)
    wanted, dip = across(rho, np.radians(20.0), gamma)
    z, given = DZ * np.arange(SHAPE[2]), np.zeros((len(LAGS), SHAPE[2]))
    for g, depth, a in zip(gamma, wanted, dip, strict=True):
        given += np.cos(2 * g) ** 2 * ricker(np.cos(a) * (z - depth) + np.tan(g) * LAGS[:, None])
    image = image_of(normal(float(np.degrees(dip[len(gamma) // 2])), 90.0))
    stretch = stretch_of(image, GRID, 0)[SHAPE[0] // 2, SHAPE[1] // 2]
    out = dipping_angle_gathers(given[None], LAGS, DZ, ANGLES, stretch[None])[0]
    for degrees in (-30, -20, 0, 10, 30):
        row = int(np.argmin(np.abs(np.degrees(ANGLES) - degrees)))
        at = int(np.argmin(np.abs(np.degrees(gamma) - degrees)))
        assert abs(DZ * np.abs(out[row]).argmax() - wanted[at]) <= DZ
    moved = wanted[len(gamma) // 2 + 30] - wanted[len(gamma) // 2]
    assert np.sign(round(moved, 6)) == np.sign(rho - 1)


def test_a_flat_reflector_has_the_gathers_of_a_section() -> None:
    given = gather_of(normal(0.0, 0.0), 0, np.radians([20.0]), np.ones(1))[None]
    flat = dipping_angle_gathers(given, LAGS, DZ, ANGLES, np.ones((1, SHAPE[2])))
    assert flat.tobytes() == angle_gathers(given, LAGS, DZ, ANGLES).tobytes()
    # a stretch that is not told apart from 1 is 1
    near = np.full((1, SHAPE[2]), TOLD_APART**0.4)
    assert dipping_angle_gathers(given, LAGS, DZ, ANGLES, near).tobytes() == flat.tobytes()


# -- of a migration


def test_parts_of_the_planes_have_the_bits_of_all() -> None:
    """As ranks share them: every part sees as many planes beside its own as dips look at."""
    case = "gathers, tti 3-D"
    setup, image = setup_of(case), migrated(case)
    options = replace(setup.imaging.gathers, kind="angle", angle=30.0, angle_step=10.0)
    setup = with_gathers(replace(setup, imaging=replace(setup.imaging, gathers=options, filter="laplacian")))

    def made(lo: int, hi: int):
        total = ImageSum(setup, (lo, hi))
        gathers = LagSum(setup, total)
        total.add(image)
        gathers.sums[...] = wide[gathers.part[0] : gathers.part[1]]
        return gathers.finish(0.0)

    rows = (
        len(setup.lags.summed[0]),
        len(setup.lags.summed[1]) * len(setup.lags.shifts),
        setup.image_grid.shape[2],
    )
    wide = np.random.default_rng(4).standard_normal(rows)
    nx = setup.image_grid.shape[0]
    whole = made(0, nx)
    assert [one.axis.name for one in whole] == ["x", "y"]
    assert all(np.allclose(one.traces, np.arange(-30, 31, 10)) for one in whole)
    # every third column has gathers: planes 1 to 3 have none
    parts = [made(lo, hi) for lo, hi in ((0, 1), (1, 3), (3, 9), (9, 10), (10, nx))]
    for k, one in enumerate(whole):
        assert one.values.any()
        assert np.concatenate([p[k].values for p in parts]).tobytes() == one.values.tobytes()


def test_angles_across_need_nine_lines() -> None:
    narrow = Grid((31, 8, 20), (20.0, 20.0, 20.0))
    lags_of(GatherOptions(max=100.0, kind="angle", along="y"), narrow, narrow, 0)
    with pytest.raises(
        ConfigError, match=r"along x.*dip of the reflector along y.*9 lines.*it has 8"
    ) as caught:
        lags_of(GatherOptions(max=100.0, kind="angle"), narrow, narrow, 0)
    assert caught.value.code == "E756"


# -- angles that a survey can have


def test_the_widest_angle_is_that_of_the_point_below_the_middle() -> None:
    """In constant velocity by geometry; in two layers, by rays, never more than the bound says."""
    assert widest_opening(1000.0, 500.0, (2000.0, 2000.0)) == pytest.approx(45.0)
    assert widest_opening(0.0, 500.0, (2000.0, 2000.0)) == 0.0
    assert widest_opening(1e6, 1.0, (1500.0, 4500.0)) == 89.0
    p = np.linspace(0.0, 0.999 / 3000.0, 400)
    aside = sum(d * p * v / np.sqrt(1 - (p * v) ** 2) for d, v in ((300.0, 2000.0), (400.0, 3000.0)))
    for x, gamma in zip(2 * aside, np.degrees(np.arcsin(3000.0 * p)), strict=True):
        assert gamma <= widest_opening(float(x), 700.0, (2000.0, 3000.0)) + 1e-9


def test_angles_that_no_offset_has_are_refused_with_those_that_fit() -> None:
    case = "gathers, tti 3-D"
    setup = setup_of(case)

    class Line:
        src, rcv = np.zeros(3), np.array([[24.0, 32.0, 0.0], [10.0, 0.0, 0.0]])

    # the image begins a wavelength of 25 Hz down
    depth = float(setup.model.vp_min) / 25.0
    widest = widest_opening(40.0, depth, (float(setup.model.vp_min), float(setup.model.fastest)))
    fits = 5.0 * np.floor(widest / 5.0)
    assert 5.0 <= fits < 50.0
    auto = with_range(GatherOptions(kind="angle", angle_step=5.0), setup, [Line])
    assert auto.angle == fits
    assert with_range(GatherOptions(kind="angle", angle=4.0, angle_step=2.0), setup, [Line]).angle == 4.0
    with pytest.raises(ConfigError, match=r"angle = 88\.9 degrees: offsets go to 40 m") as caught:
        with_range(GatherOptions(kind="angle", angle=88.9, angle_step=5.0), setup, [Line])
    assert caught.value.code == "E756"
    assert caught.value.fix == f"use angle = {fits:g} or less"

    class Shot:
        src, rcv = np.zeros(3), np.zeros((1, 3))

    with pytest.raises(ConfigError, match="no wave opens by more than 0"):
        with_range(GatherOptions(kind="angle"), setup, [Shot])
    # gathers by half offset have no angle, and of no shot nothing is known
    assert with_range(GatherOptions(), setup, [Shot]) == GatherOptions()
    assert with_range(GatherOptions(kind="angle"), setup, []).angle is None
