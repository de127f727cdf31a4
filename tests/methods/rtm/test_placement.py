"""What `forward` and `migrate` refuse before they compute: surveys that do not lie on the model."""

from __future__ import annotations

import numpy as np
import pytest

import subsalt as ss
from subsalt.errors import ConfigError, GeometryError

FLAT = ss.EarthModel(ss.Grid((41, 31), (10.0, 10.0)), 2000.0)
VOLUME = ss.EarthModel(ss.Grid((21, 21, 21), (10.0, 10.0, 10.0)), 2000.0)
WAVELET = ss.ricker(20.0, 0.001)


def line(
    src: list[float], rcv: list[list[float]], nt: int = 60, dt: float = 0.002, *, data: bool = True
) -> ss.Survey:
    traces = np.zeros((1, len(rcv), nt)) if data else None
    return ss.Survey.from_arrays([src], rcv, nt=nt, dt=dt, data=traces)


@pytest.mark.parametrize("run", [ss.forward, ss.migrate])
@pytest.mark.parametrize(
    ("src", "rcv", "code"),
    [
        ([500.0, 10.0], [[100.0, 10.0]], "E331"),
        ([200.0, 10.0], [[100.0, 10.0], [10_000.0, 10.0]], "E332"),
        ([200.0, -30.0], [[100.0, 10.0]], "E333"),
        ([200.0, 10.0], [[100.0, -30.0]], "E334"),
        ([200.0, 10.0], [[100.0, 3000.0]], "E335"),
    ],
)
def test_positions_outside_the_model_are_refused(run, src, rcv, code) -> None:
    """They used to widen the grid silently: a receiver at 10 km made it 25 times as large."""
    with pytest.raises(GeometryError, match="outside the model") as caught:
        run(FLAT, line(src, rcv), WAVELET)
    assert caught.value.code == code


def test_positions_on_the_edge_and_in_the_corner_are_inside() -> None:
    result = ss.forward(FLAT, line([400.0, 300.0], [[0.0, 0.0], [399.7, 299.2], [400.001, 300.0]]), WAVELET)
    assert np.isfinite(result.data).all()


def test_a_line_is_not_computed_on_a_volume_nor_the_reverse() -> None:
    with pytest.raises(GeometryError, match="3-D, the survey is 2-D"):
        ss.forward(VOLUME, line([100.0, 10.0], [[50.0, 10.0]]), WAVELET)
    areal = ss.Survey.from_arrays([[100.0, 90.0, 10.0]], [[50.0, 0.0, 10.0]], nt=60, dt=0.002)
    with pytest.raises(GeometryError, match="y = 90 m, the model is 2-D"):
        ss.forward(FLAT, areal, WAVELET)


@pytest.mark.parametrize("run", [ss.forward, ss.migrate, ss.rtm_operator])
def test_a_survey_without_shots_is_refused(run) -> None:
    with pytest.raises(GeometryError, match="no shots"):
        run(FLAT, ss.Survey([], ss.TimeAxis(60, 0.002), 2), WAVELET)


def test_shots_on_the_free_surface_are_refused() -> None:
    with pytest.raises(GeometryError, match="source lies on the free surface"):
        ss.forward(FLAT, line([100.0, 0.0], [[50.0, 10.0]]), WAVELET, free_surface=True)
    with pytest.raises(GeometryError, match="receivers all lie on the free surface"):
        ss.migrate(FLAT, line([100.0, 10.0], [[50.0, 0.0], [60.0, 0.0]]), WAVELET, free_surface=True)
    ss.forward(FLAT, line([100.0, 10.0], [[50.0, 0.0], [60.0, 5.0]]), WAVELET, free_surface=True)


@pytest.mark.parametrize("dt", [0.0, -0.002, np.nan])
def test_a_time_axis_without_interval_is_refused(dt: float) -> None:
    with pytest.raises(ConfigError, match="time axis of 60 samples"):
        ss.forward(FLAT, line([100.0, 10.0], [[50.0, 10.0]], dt=dt, data=False), WAVELET)


def test_an_image_step_longer_than_the_record_is_refused() -> None:
    with pytest.raises(ConfigError, match="none of the"):
        ss.migrate(FLAT, line([100.0, 10.0], [[50.0, 10.0]]), WAVELET, image_step=10_000)


def test_traces_of_unequal_shots_are_not_stacked() -> None:
    shots = [
        ss.Shot(1, np.array([100.0, 10.0]), np.array([[50.0, 10.0], [60.0, 10.0]])),
        ss.Shot(2, np.array([120.0, 10.0]), np.array([[50.0, 10.0]])),
    ]
    result = ss.forward(FLAT, ss.Survey(shots, ss.TimeAxis(40, 0.002), 2), WAVELET)
    assert [s.data.shape for s in result.survey.shots] == [(2, 40), (1, 40)]
    with pytest.raises(GeometryError, match="between 1 and 2 receivers"):
        _ = result.data


def test_options_without_a_meaning_are_not_ignored() -> None:
    survey = line([100.0, 10.0], [[50.0, 10.0]])
    with pytest.raises(TypeError, match=r"forward\(\) has no argument 'condition'"):
        ss.forward(FLAT, survey, WAVELET, condition="cross-correlation")
    with pytest.raises(TypeError, match=r"born\(\) has no argument 'aperture'"):
        ss.born(FLAT, np.zeros((41, 31)), survey, WAVELET, aperture=100.0)
    ss.forward(FLAT, survey, WAVELET, aperture=50.0, order=4)
