"""First breaks: picks and lines on modelled shots, and the mistakes they tell apart; nothing on surveys in order."""

import dataclasses
import re

import numpy as np
import pytest
from break_surveys import (
    DT,
    F0,
    LAYOUTS,
    altered,
    context,
    corrected,
    findings,
    later,
    layers,
    modelled,
    wavelet,
    with_time,
)

from subsalt.acquisition.first_breaks import BreakLine, first_breaks, fit_line
from subsalt.check import load_rules, run_rules
from subsalt.check.break_fits import _bend, bounds, onset
from subsalt.check.first_breaks import breaks
from subsalt.earth.model import EarthModel

PERIOD = 1.0 / F0


def data_of(change):
    """Return a change of the traces of the first shot."""
    return lambda i, s: {"data": change(s.data)} if i == 1 else {}


def begun_late(name, samples, t0):
    """Return a context whose records begin some samples after the shot, and say another time, s."""
    survey = altered(modelled(name)[0], lambda i, s: {"data": np.roll(s.data, -samples, axis=1)})
    return context(name, survey=dataclasses.replace(survey, time=dataclasses.replace(survey.time, t0=t0)))


def flipped_traces(i, s):
    sign = np.ones((len(s.data), 1), np.float32)
    sign[[7, 30]] = -1
    return {"data": s.data * sign}


def fading(seed, shape):
    """Return noise that decays from the first sample on."""
    decay = np.exp(-DT * np.arange(shape[1]) / 0.15)
    return (np.random.default_rng(seed).standard_normal(shape) * decay).astype(np.float32)


def smoothed(model, cells=9):
    kernel = np.ones(cells) / cells
    padded = np.pad(model.vp[0].astype(float), cells // 2, mode="edge")
    return EarthModel(model.grid, np.broadcast_to(np.convolve(padded, kernel, "valid"), model.grid.shape))


def scaled(name, factor):
    return context(name, model=EarthModel(modelled(name)[1].grid, modelled(name)[1].vp * np.float32(factor)))


def noisy(name, level):
    rng = np.random.default_rng(3)

    def add(i, s):
        return {
            "data": s.data
            + np.float32(level * np.abs(s.data).max(axis=1).mean())
            * rng.standard_normal(s.data.shape, dtype=np.float32)
        }

    return context(name, add)


def muted(name, velocity=1400.0, delay=0.3, ramp=1):
    def cut(i, s):
        t = modelled(name)[0].time.values()
        start = delay + s.offset[:, None] / velocity
        return {"data": (s.data * np.clip((t - start) / (ramp * DT), 0, 1)).astype(np.float32)}

    return context(name, cut)


# --- the line -------------------------------------------------------------------------------------------------------


def test_lines_through_modelled_shots_have_velocity_and_onset():
    for b in first_breaks(modelled("streamer")[0]):
        assert b.good
        # the direct wave of the water; a sample over the spread is 0.5 %
        assert b.line.velocity == pytest.approx(1500.0, rel=0.01)
        # in 2-D the wave is the half integral of the wavelet: an eighth of a period, and half a sample
        assert b.line.intercept == pytest.approx(onset(wavelet()), abs=PERIOD / 8 + DT / 2)
        assert b.line.scatter < DT


def test_both_sides_of_a_split_spread():
    for b in first_breaks(modelled("land, split spread")[0]):
        left, right = b.sides
        assert b.offset.min() < 0 < b.offset.max()
        assert left.velocity == pytest.approx(right.velocity, rel=0.05)
        assert left.intercept == pytest.approx(right.intercept, abs=PERIOD / 8)


def test_a_line_is_robust():
    x = np.arange(100.0, 2000.0, 50.0)
    t = 0.1 + x / 2000.0
    t[::3] += np.linspace(-0.5, 3.0, len(t[::3]))
    line = fit_line(x, t)
    assert line.velocity == pytest.approx(2000.0, rel=0.05)
    assert fit_line(x[:4], t[:4]) is None


def test_the_sample_of_a_survey_is_bounded():
    survey = modelled("streamer")[0]
    many = dataclasses.replace(
        survey, shots=[dataclasses.replace(survey.shots[0], id=i + 1) for i in range(1000)]
    )
    picks = first_breaks(many, shots=20, traces=16)
    assert len(picks) == 20
    assert [picks[0].shot.id, picks[-1].shot.id] == [1, 1000]
    assert all(len(b.rows) == 16 and b.rows[-1] == 47 for b in picks)


@pytest.mark.parametrize(
    "name", ["streamer", "land, split spread", "bottom nodes", "refractions", "VTI", "3-D patch"]
)
def test_arrivals_of_modelled_shots_lie_between_the_bounds(name):
    survey, model, _ = modelled(name)
    pulse = onset(wavelet(8.0 if model.grid.ndim == 3 else F0))
    for b in first_breaks(survey):
        use = np.flatnonzero(b.picked)[::5]
        early, late = bounds(model, b.shot.src, b.shot.rcv[b.rows[use]])
        t = b.time[use] - pulse
        # an eighth of a period for the phase of a 2-D wave, and the cell that the bound's layers are cut to
        room = PERIOD / 8 + 0.03 * late
        assert (early <= late).all()
        assert (t >= early - room).all()
        assert (t <= late + room + PERIOD / 4).all()


def test_the_lower_bound_is_exact_in_layers():
    # head wave under a layer: t = x / v2 + 2 h sqrt(1 / v1^2 - 1 / v2^2)
    grid = modelled("streamer")[1].grid
    v = np.where(grid.axis(-1) < 200.0, 1500.0, 3000.0)
    model = EarthModel(grid, np.broadcast_to(v, grid.shape))
    early, late = bounds(model, np.array([100.0, 0.0, 0.0]), np.array([[1900.0, 0.0, 0.0]]))
    v2 = 3000.0
    expected = 1800.0 / v2 + 2 * 195.0 * np.sqrt(1 / 1500.0**2 - 1 / v2**2)
    # half a cell of 10 m on both ways
    assert early[0] == pytest.approx(expected, rel=0.02)
    assert late[0] == pytest.approx(1.2)


# --- nothing to find -------------------------------------------------------------------------------------------------

CLEAN = {name: (lambda name=name: context(name)) for name in LAYOUTS} | {
    "zero-phase wavelet, its delay taken off": lambda: context(
        "streamer",
        wavelet=wavelet(delay=0.0),
        survey=dataclasses.replace(
            modelled("streamer")[0], time=dataclasses.replace(modelled("streamer")[0].time, t0=-1.5 / F0)
        ),
    ),
    "direct wave muted": lambda: muted("streamer"),
    "direct wave muted with a ramp": lambda: muted("land, split spread", ramp=25),
    "noise of a twentieth": lambda: noisy("streamer", 0.05),
    "noise of a fifth": lambda: noisy("land, split spread", 0.2),
    "noise over deep water": lambda: noisy("deep water", 0.1),
    "noise alone": lambda: context(
        "streamer",
        lambda i, s: {"data": np.random.default_rng(i).standard_normal(s.data.shape).astype(np.float32)},
    ),
    "zeros": lambda: context("streamer", lambda i, s: {"data": np.zeros_like(s.data)}),
    "one value": lambda: context("streamer", lambda i, s: {"data": np.ones_like(s.data)}),
    "smoothed model": lambda: context("streamer", model=smoothed(layers())),
    "velocities off by 8 %": lambda: scaled("land, split spread", 1.08),
    "another amplitude in every shot": lambda: context(
        "streamer", lambda i, s: {"data": s.data * np.float32(10.0**i)}
    ),
    "integers": lambda: context(
        "streamer", lambda i, s: {"data": np.round(s.data / np.abs(s.data).max() * 32767).astype(np.float32)}
    ),
    "short records": lambda: context(
        "streamer",
        lambda i, s: {"data": s.data[:, :60]},
        survey=dataclasses.replace(
            altered(modelled("streamer")[0], lambda i, s: {"data": s.data[:, :60]}),
            time=dataclasses.replace(modelled("streamer")[0].time, nt=60),
        ),
    ),
}


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_found_in_a_survey_in_order(name):
    assert findings(CLEAN[name]()) == []


@pytest.mark.parametrize("name", ["noise alone", "zeros", "one value", "direct wave muted", "short records"])
def test_what_could_not_be_looked_at_is_no_ok(name):
    rules = [r for r in load_rules() if r.subject == "first_breaks"]
    said = run_rules(CLEAN[name](), rules)
    assert [f.level for f in said if f.message.startswith("first breaks")] in (["unchecked"], [])
    assert not [f for f in said if f.level == "ok"]


# --- mistakes --------------------------------------------------------------------------------------------------------

MISTAKES = {
    "channels shifted in a ring": (
        "E348",
        lambda: context("streamer", lambda i, s: {"rcv": np.roll(s.rcv, -4, axis=0)}),
        "byte 13",
    ),
    "interval doubled, marine": ("E345", lambda: with_time("streamer", dt=2 * DT), "dt = 0.004"),
    "interval halved, marine": ("E345", lambda: with_time("streamer", dt=DT / 2), "dt = 0.004"),
    "interval doubled, ghosts": (
        "E345",
        lambda: with_time("streamer under a free surface", dt=2 * DT),
        "dt = 0.004",
    ),
    "interval doubled, land": ("E345", lambda: with_time("land, split spread", dt=2 * DT), "dt = 0.004"),
    "interval halved, 3-D": ("E345", lambda: with_time("3-D patch", dt=DT / 2), "dt = 0.004"),
    "delay of 200 ms that is none": ("E346", lambda: with_time("streamer", t0=0.2), "delay = 0;"),
    "delay of 48 ms in tenths": (
        "E346",
        lambda: begun_late("streamer", 12, 0.48),
        "delay = 0.048 (byte 109 holds tenths of ms)",
    ),
    "delay of 200 ms missing": ("E346", lambda: with_time("land, split spread", t0=-0.2), "delay = 0;"),
    "traces 200 ms late": (
        "E346",
        lambda: context("land, split spread", lambda i, s: {"data": later(s.data, 50)}),
        "delay = -0.2",
    ),
    "one shot 200 ms late": (
        "E346",
        lambda: context("streamer", data_of(lambda d: later(d, 50))),
        '"1, 3-5"',
    ),
    "wavelet at another time": (
        "W346",
        lambda: context("land, split spread", wavelet=wavelet(delay=0.03)),
        "t0 = ",
    ),
    "cable reversed": ("E347", lambda: context("streamer", lambda i, s: {"rcv": s.rcv[::-1]}), '"reversed"'),
    "cable reversed, ghosts": (
        "E347",
        lambda: context("streamer under a free surface", lambda i, s: {"data": s.data[::-1]}),
        '"reversed"',
    ),
    "cable reversed, deep water": (
        "E347",
        lambda: context("deep water", lambda i, s: {"data": s.data[::-1]}),
        '"reversed"',
    ),
    "channels reversed, land": (
        "E347",
        lambda: context("land, split spread", lambda i, s: {"rcv": s.rcv[::-1]}),
        '"reversed"',
    ),
    "one shot reversed": ("E347", lambda: context("streamer", data_of(lambda d: d[::-1])), '"1, 3-5"'),
    "channels shifted by two": (
        "E348",
        lambda: context("land, split spread", lambda i, s: {"rcv": s.rcv + np.array([50.0, 0, 0])}),
        "-5",
    ),
    "channels shifted by one": (
        "W348",
        lambda: context("land, split spread", lambda i, s: {"rcv": s.rcv - [25.0, 0, 0]}),
        "+2",
    ),
    "vs for vp": ("E349", lambda: scaled("streamer", 1 / 1.8), "P velocities"),
    "vs for vp, land": ("E349", lambda: scaled("land, split spread", 1 / 1.9), "P velocities"),
    "vp in ft/s": ("E349", lambda: scaled("land, split spread", 3.28), "ft/s"),
    "no water layer": ("W349", lambda: context("streamer", model=layers(water=0.0)), "water layer"),
    "no water layer over rock": (
        "E349",
        lambda: context("streamer", model=layers(water=0.0, top=2200.0)),
        "water layer",
    ),
    "polarity of all": ("W351", lambda: context("streamer", lambda i, s: {"data": -s.data}), "polarity = -1"),
    "polarity of all, land": (
        "W351",
        lambda: context("land, split spread", lambda i, s: {"data": -s.data}),
        "polarity = -1",
    ),
    "polarity of all, 3-D": (
        "W351",
        lambda: context("3-D patch", lambda i, s: {"data": -s.data}),
        "polarity = -1",
    ),
    "polarity of a shot": ("E352", lambda: context("streamer", data_of(np.negative)), '"1, 3-5"'),
    "polarity of a shot, ghosts": (
        "E352",
        lambda: context("streamer under a free surface", data_of(np.negative)),
        '"1, 3-5"',
    ),
    "polarity of a shot, noise": (
        "E352",
        lambda: context(
            "streamer",
            lambda i, s: {"data": (-1 if i == 3 else 1) * noisy("streamer", 0.05).survey.shots[i].data},
        ),
        '"1-3, 5"',
    ),
    "polarity of two traces": ("W353", lambda: context("streamer", flipped_traces), "dead"),
    "corrected for moveout, muted": (
        "W354",
        lambda: context("streamer", lambda i, s: {"data": corrected(s, modelled("streamer")[0].time)}),
        "before the correction",
    ),
    "corrected for moveout": (
        "W354",
        lambda: context(
            "streamer", lambda i, s: {"data": corrected(s, modelled("streamer")[0].time, 1700.0, 1e6)}
        ),
        "before the correction",
    ),
    "corrected for moveout, split spread": (
        "W354",
        lambda: context(
            "land, split spread",
            lambda i, s: {"data": corrected(s, modelled("land, split spread")[0].time, 1500.0, 1e6)},
        ),
        "before the correction",
    ),
    "traces that begin within their arrivals": (
        "W393",
        lambda: context("streamer", lambda i, s: {"data": fading(i, s.data.shape)}),
        "before the correction",
    ),
    "receivers 600 m deep": (
        "W358",
        lambda: context("streamer", lambda i, s: {"rcv": s.rcv * [1, 1, 60]}, model=layers(water=700.0)),
        "depths of sources and receivers",
    ),
    "stacked": (
        "W355",
        lambda: context("streamer", lambda i, s: {"rcv": np.repeat(s.src[None], 48, axis=0)}),
        "kirchhoff",
    ),
    "sources 600 m deep": (
        "E350",
        lambda: context("streamer", lambda i, s: {"src": s.src * [1, 1, 60]}, model=layers(water=700.0)),
        "source_depth = 6",
    ),
    "a shot 600 m deep": (
        "E350",
        lambda: context(
            "streamer", lambda i, s: {"src": s.src * [1, 1, 1 if i else 60]}, model=layers(water=700.0)
        ),
        '"2-5"',
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_named(name):
    code, make, cure = MISTAKES[name]
    reported = findings(make())
    assert [f.code for f in reported] == [code], reported
    assert reported[0].level == ("error" if code[0] == "E" else "warning")
    assert cure in reported[0].fix
    assert re.search(r"\d", reported[0].message)
    assert "\n" not in reported[0].message + reported[0].fix


def test_flat_events_are_told_by_their_semblance():
    # gathers of flat events at all offsets, where the model gives them a moveout
    t = modelled("streamer")[0].time.values()
    rng = np.random.default_rng(0)
    events = np.zeros(len(t))
    events[20::23] = rng.choice([-1.0, 1.0], len(events[20::23])) * (1 + rng.random(len(events[20::23])))
    w = wavelet(20.0).samples[::2]
    flat = np.convolve(events, w, "same").astype(np.float32)
    reported = findings(
        context("streamer", lambda i, s: {"data": np.repeat(flat[None], len(s.data), axis=0)})
    )
    assert [f.code for f in reported] == ["E354"]


def test_the_wavelet_far_above_the_data():
    def codes(f0):
        return [f.code for f in findings(context("streamer", wavelet=wavelet(f0)), ("spectrum",))]

    assert "W357" in codes(45.0)
    assert "W357" not in codes(F0)
    assert "W357" not in codes(1.8 * F0)


def test_shots_are_picked_once_for_all_rules():
    made = context("streamer")
    assert breaks(made) is breaks(made)


def test_times_that_do_not_grow_have_no_bend_of_their_own():
    """Coordinates a ten-thousandth of their size: the arrivals of the model stand at one time."""
    seen, level = BreakLine(0.1, 1 / 1500.0, 0.001, 12), BreakLine(0.2, 0.0, 0.002, 12)
    assert _bend(seen, level, level) == 0.002
