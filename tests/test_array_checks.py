"""What functions on arrays say of units, points per wavelength and traces that are not finite."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import subsalt as ss
from subsalt.acquisition.image_grid import ImageGrid
from subsalt.errors import ConfigError, DataError, GeometryError

H = 10.0


def model(vp, ndim=2, **more):
    shape = (41,) * ndim
    return ss.EarthModel(ss.Grid(shape, (H,) * ndim), np.full(shape, vp, np.float32), **more)


def survey(nt=60):
    return ss.Survey(
        [ss.Shot(1, np.array([203.0, 196.0]), np.array([[300.0, 196.0]]))], ss.TimeAxis(nt, 0.002), ndim=2
    )


def said(call):
    """Return the warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught]


CALLS = {
    "forward": lambda m, w: ss.forward(m, survey(), w),
    "migrate": lambda m, w: ss.migrate(m, ss.forward(model(2000.0), survey(), w).survey, w),
    "born": lambda m, w: ss.born(m, np.zeros(m.grid.shape), survey(), w),
    "born_adjoint": lambda m, w: ss.born_adjoint(m, np.zeros((1, 1, 60)), survey(), w),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_says_that_a_grid_cannot_carry_the_wavelet(name):
    slow = ss.ricker(15, 0.002)
    assert not [t for t in said(lambda: CALLS[name](model(2000.0), slow)) if "points per" in t]
    (text, *_) = (t for t in said(lambda: CALLS[name](model(2.0), slow)) if "points per" in t)
    assert "km/s, give m/s, 1000 times" in text
    assert "cannot carry" in text
    # 2000 m/s / 62.5 Hz / 10 m: 3.2 points where order 8 needs 3.5
    (text, *_) = (
        t for t in said(lambda: CALLS[name](model(2000.0), ss.ricker(25, 0.002))) if "points per" in t
    )
    assert "dispersed" in text
    assert "3.2 points" in text


def test_the_spacing_that_is_offered_is_enough():
    wavelet = ss.ricker(40, 0.002)
    (text,) = (t for t in said(lambda: ss.forward(model(2000.0), survey(), wavelet)) if "points per" in t)
    h = float(text.rpartition("spacing <= ")[2].partition(" m")[0])
    fine = ss.EarthModel(ss.Grid((121, 121), (h, h)), np.full((121, 121), 2000.0, np.float32))
    assert not [t for t in said(lambda: ss.forward(fine, survey(), wavelet)) if "points per" in t]


def test_models_in_units_of_their_own_are_left_alone():
    grid = ss.Grid((41, 41), (0.01, 0.01))
    scaled = ss.EarthModel(grid, np.full((41, 41), 2.0, np.float32))
    shot = ss.Shot(1, np.array([0.2, 0.2]), np.array([[0.3, 0.2]]))
    line = ss.Survey([shot], ss.TimeAxis(60, 0.002), ndim=2)
    assert said(lambda: ss.forward(scaled, line, ss.ricker(15, 0.002))) == []


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_traces_that_are_not_finite_are_named(bad):
    wavelet = ss.ricker(15, 0.002)
    data = ss.forward(model(2000.0), survey(), wavelet).survey
    data.shots[0].data[0, 5] = bad
    with pytest.raises(DataError) as caught:
        ss.migrate(model(2000.0), data, wavelet)
    assert "trace 0" in caught.value.message
    assert "sample 5" in caught.value.message
    data.shots[0].data[:] = np.nan_to_num(data.shots[0].data, nan=0, posinf=0, neginf=0)
    ss.migrate(model(2000.0), data, wavelet)


def test_migrate_time_says_km_per_s_and_names_the_trace():
    grid = ImageGrid((1, 1, 1), (1, 5, 1), (0.0, 0.0), (0.0, 25.0), (25.0, 0.0), ss.TimeAxis(50, 0.004))
    traces, place = np.zeros((3, 50), np.float32), np.array([[0.0, 0.0], [25.0, 0.0], [50.0, 0.0]])

    def call(v, t=traces):
        return ss.migrate_time(t, place, np.add(place, [10.0, 0.0]), dt=0.004, vrms=v, grid=grid)

    assert any("km/s" in t for t in said(lambda: call(2.0)))
    assert said(lambda: call(2000.0)) == []
    wrong = traces.copy()
    wrong[1, 7] = np.nan
    with pytest.raises(DataError, match="trace 1, nan at sample 7"):
        call(2000.0, wrong)


NONE = ss.Survey([], ss.TimeAxis(60, 0.002), ndim=2)
#: every function on arrays, of the arguments that they share
FUNCTIONS = {
    "forward": ss.forward,
    "migrate": ss.migrate,
    "born": lambda m, s, w: ss.born(m, np.zeros((41, 41)), s, w),
    "born_adjoint": lambda m, s, w: ss.born_adjoint(m, np.zeros((1, 1, 60)), s, w),
    "rtm_operator": ss.rtm_operator,
    "born_operator": ss.born_operator,
    "lsrtm": ss.lsrtm,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_refuses_an_argument_of_another_type(name):
    right = [model(2000.0), survey(), ss.ricker(15, 0.002)]
    wrong = [
        (
            np.full((41, 41), 2000.0),
            "model is a ndarray, not a subsalt.EarthModel",
            "subsalt.EarthModel(grid, vp)",
        ),
        (["shots.sgy"], "survey is a list, not a subsalt.Survey", "subsalt.Survey.from_arrays("),
        (15.0, "wavelet is a float, not a subsalt.Wavelet", "subsalt.ricker(F0, DT)"),
    ]
    for place, (value, said, cure) in enumerate(wrong):
        given = [*right[:place], value, *right[place + 1 :]]
        with pytest.raises(ConfigError) as refused:
            FUNCTIONS[name](*given)
        assert (refused.value.code, said in refused.value.message) == ("E777", True), refused.value
        assert cure in refused.value.fix
    with pytest.raises(GeometryError, match="the survey has no shots"):
        FUNCTIONS[name](right[0], NONE, right[2])


@pytest.mark.parametrize("call", [ss.migrate, ss.lsrtm, ss.born_operator])
def test_a_word_is_no_choice_of_checkpoints(call):
    with pytest.raises(ConfigError, match="checkpoint is a str, not a subsalt") as refused:
        call(model(2000.0), survey(), ss.ricker(15, 0.002), checkpoint="revolve")
    assert refused.value.code == "E777"
