"""Surface-offset gathers of a flat reflector: offsets, depths and amplitudes are those of the closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import subsalt
from subsalt import EarthModel, GatherOptions, Grid, Survey, ricker
from subsalt.acquisition.survey import Shot
from subsalt.analytic import isotropic_waveform
from subsalt.errors import ConfigError
from subsalt.methods.rtm.gather_choice import lags_of
from subsalt.methods.rtm.offset_classes import OffsetClasses, lighting_offset, offset_axis, offsets_of
from subsalt.propagation.options import ImagingOptions

V, H, DEPTH, R = 2000.0, 10.0, 600.0, 0.2
WAVELET = ricker(22.0, 0.001)
#: wide enough, and records long enough, that Fresnel zones of the offsets that are looked at end inside
GRID = Grid((301, 71), (H, H))
#: where gathers are looked at, and how far apart shots lie: offsets there are whole multiples of twice that
PLACE, APART = 150, 100.0
#: the distance of two offsets at a place: every class gets as many shots
STEP = 2 * APART


def mirrored(apart: np.ndarray, survey: Survey, wavelet: subsalt.Wavelet) -> np.ndarray:
    """Return the traces of receivers that lie `apart` from a mirror source, m."""
    nt = len(wavelet.samples) + int(survey.time.duration / wavelet.dt)
    traces = R * isotropic_waveform(apart, V, wavelet.samples, wavelet.dt, nt)
    t = wavelet.t0 + wavelet.dt * np.arange(nt)
    return CubicSpline(t, traces, axis=1)(survey.time.t0 + survey.time.dt * np.arange(survey.time.nt)).astype(
        np.float32
    )


@pytest.fixture(scope="module")
def made() -> subsalt.MigrationResult:
    receivers = np.arange(0.0, GRID.last[0] + 1, H)
    places = np.stack([receivers, 0 * receivers, 0 * receivers], axis=1)
    sources = [(PLACE * H + APART * k, 0.0, 0.0) for k in range(-5, 6)]
    survey = Survey.from_arrays(sources, places, nt=320, dt=0.004)
    # exact traces of a reflector whose coefficient is R at every angle, those of the mirror source; of many receivers,
    # as offsets are multiples of H
    offsets = H * np.arange(GRID.shape[0])
    traces = mirrored(np.stack([offsets, np.full(len(offsets), 2 * DEPTH)], axis=1), survey, WAVELET)
    for shot in survey.shots:
        shot.data = traces[np.rint(np.abs(shot.rcv[:, 0] - shot.src[0]) / H).astype(int)]
    gathers = GatherOptions(kind="offset", max=1200.0, step=STEP, every=PLACE)
    # the floor of the division is a part of the mean illumination, which sources rule: it would dim far offsets
    return subsalt.migrate(
        EarthModel(GRID, V), survey, WAVELET, illumination="shot", normalise=1e-4, gathers=gathers
    )


def peaks(gather: np.ndarray) -> list[tuple[float, float]]:
    """Return depth (m) and height of the event in every trace."""
    z = np.arange(DEPTH / H - 8, DEPTH / H + 9)
    fine = np.linspace(z[0], z[-1], 1601)
    out = []
    for trace in gather:
        values = CubicSpline(z, trace[z.astype(int)])(fine)
        out.append((H * float(fine[np.argmax(values)]), float(values.max())))
    return out


def test_events_lie_at_their_depth_with_one_amplitude_in_every_class(made) -> None:
    """Offsets to 1000 m: four classes hold offsets on both sides of their own. An image has R / cos of the angle."""
    (gathers,) = made.gathers
    assert gathers.traces == tuple(STEP * (n + 0.5) for n in range(6))
    events = peaks(gathers.values[gathers.columns[0].index(PLACE), 0])
    whole = gathers.traces[:4]
    heights = []
    for offset, (depth, height) in zip(whole, events, strict=False):
        assert abs(depth - DEPTH) <= H, offset
        heights.append(height * DEPTH / np.hypot(DEPTH, 0.5 * offset))
    # linear parts of the offsets 0, +-200, +-400 ...: two shots for every class
    assert np.abs(np.array(heights) / (2 * R) - 1).max() <= 0.05


def test_the_classes_add_up_to_the_image(made) -> None:
    """Each class is rounded once when it is finished, the image once: half a unit each of the largest value."""
    (gathers,) = made.gathers
    total = gathers.values[:, 0].sum(axis=1, dtype=np.float64)
    image = made.image[list(gathers.columns[0])]
    rounded = 0.5 * np.finfo(np.float32).eps * (len(gathers.traces) + 1)
    # of_shot takes the products of classes in single precision: once more for each shot
    once_more = 0.5 * np.finfo(np.float32).eps * 11
    assert image.any()
    assert np.abs(total - image).max() <= (rounded + once_more) * np.abs(gathers.values).max()


# -- in 3-D

#: a box of 600 x 600 m, its reflector, and where gathers are looked at; the offset of every shot there
BOX = Grid((49, 49, 29), (12.5, 12.5, 12.5))
BASE, MIDDLE, OFFSET, WAVES = 250.0, 24, 150.0, ricker(18.0, 0.001)


@pytest.fixture(scope="module")
def by_azimuth() -> dict[int, tuple[np.ndarray, tuple[float, ...]]]:
    """Return the gather at the middle of the box of one shot each, whose offset there has three azimuths, degrees."""
    side = 25.0 * np.arange(25)
    places = np.stack([*(a.ravel() for a in np.meshgrid(side, side, indexing="ij")), np.zeros(625)], axis=1)
    out = {}
    for azimuth in (0, 45, 90):
        way = 0.5 * OFFSET * np.array([np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth))])
        source = (*(BOX.spacing[0] * MIDDLE + way), 0.0)
        survey = Survey.from_arrays([source], places, nt=110, dt=0.004)
        (shot,) = survey.shots
        shot.data = mirrored(shot.rcv - shot.src + [0.0, 0.0, 2 * BASE], survey, WAVES)
        gathers = GatherOptions(kind="offset", max=400.0, step=100.0, every=MIDDLE)
        (planes,) = subsalt.migrate(EarthModel(BOX, V), survey, WAVES, gathers=gathers).gathers
        out[azimuth] = planes.values[1, 1], planes.traces
    return out


def test_in_3d_an_offset_is_a_length_whatever_its_azimuth(by_azimuth) -> None:
    """The event lies at its depth with one amplitude, in the classes of an offset that counts as farther than it is.

    Across the offset h a Fresnel zone of the receivers reaches y, y^2 = wavelength * path / 2: there offsets are
    ``sqrt(h^2 + y^2)``, at most y^2 / 2h longer.
    """
    path = np.hypot(2 * BASE, OFFSET)
    longer = V / 18.0 * path / 2 / (2 * OFFSET)
    z = np.arange(BASE / 12.5 - 4, BASE / 12.5 + 5).astype(int)
    fine = np.linspace(z[0], z[-1], 801)
    heights = []
    for azimuth, (gather, traces) in by_azimuth.items():
        event = CubicSpline(z, gather.sum(axis=0)[z])(fine)
        assert abs(12.5 * fine[np.argmax(event)] - BASE) <= 12.5, azimuth
        parts = gather[:, z[4]]
        assert OFFSET <= parts @ np.array(traces) / parts.sum() <= OFFSET + longer, azimuth
        assert np.argmax(parts) == traces.index(OFFSET), azimuth
        heights.append(float(event.max()))
    assert max(heights) / min(heights) <= 1.05, heights
    # both axes are alike, but for the order of sums
    (along_x, _), (along_y, _) = by_azimuth[0], by_azimuth[90]
    assert np.abs(along_x - along_y).max() <= 1e-4 * np.abs(along_x).max()


# -- the quotient


def test_the_offset_that_lights_a_point_is_found_through_zero_crossings_and_smooth_noise() -> None:
    z = np.arange(200.0)
    event = np.exp(-(((z - 100.0) / 12.0) ** 2)) * np.cos(0.5 * (z - 100.0))
    # a slope has no second difference, in rounding aside
    noise = 40.0 * z / z[-1]
    lit = lighting_offset(event + noise, 350.0 * event + 90.0 * noise, 4)
    assert np.allclose(lit[80:121], 350.0, rtol=1e-6)
    assert not lighting_offset(np.zeros(20), np.zeros(20), 4).any()


def test_two_classes_share_a_point_in_linear_parts_and_ends_take_what_lies_beyond() -> None:
    axis = offset_axis(GatherOptions(kind="offset", max=400.0, step=100.0), [], 2)
    grid = Grid((5, 40), (H, H))
    lags = lags_of(GatherOptions(max=20.0), grid, grid, 0)
    classes = OffsetClasses((axis,), lags.columns, lags.summed, half_window=2)
    image = np.random.default_rng(1).standard_normal((3, 40))
    for offset, wanted in {
        170.0: [0, 0.8, 0.2, 0],
        -170.0: [0, 0.8, 0.2, 0],
        10.0: [1, 0, 0, 0],
        900.0: [0, 0, 0, 1],
    }.items():
        parts = classes.divided(image, offset * image)
        assert np.allclose(parts[..., 3:-3], np.array(wanted)[:, None] * image[:, None, 3:-3])
        assert np.allclose(parts.sum(axis=1), image, rtol=1e-15)


def test_classes_follow_the_survey_where_nothing_is_said() -> None:
    shot = Shot(1, np.array([0.0, 0.0, 0.0]), np.array([[-1830.0, 0.0, 0.0], [300.0, 400.0, 5.0]]))
    assert np.array_equal(offsets_of(shot, 2), [-1830.0, 300.0])
    assert np.array_equal(offsets_of(shot, 3), [1830.0, 500.0])
    axis = offset_axis(GatherOptions(kind="offset"), [shot], 3)
    # a twentieth of 1830 m is 91.5 m
    assert axis.lags == tuple(100.0 * (n + 0.5) for n in range(19))
    with pytest.raises(ConfigError, match="no second class") as caught:
        offset_axis(GatherOptions(kind="offset", step=2000.0), [shot], 3)
    assert caught.value.code == "E756"
    at_source = replace(shot, rcv=np.zeros((1, 3)))
    with pytest.raises(ConfigError, match="no second class") as caught:
        offset_axis(GatherOptions(kind="offset"), [at_source], 2)
    assert "every receiver is at its source" in caught.value.fix


def test_options_are_those_of_a_job() -> None:
    assert ImagingOptions(gathers=GatherOptions(kind="offset")).gathers is not None
