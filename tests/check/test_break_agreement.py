"""Sentences on first breaks that fit hold the same numbers on both sides; causes are ranked, and never a wrong cure."""

import dataclasses
import re
import warnings

import numpy as np
import pytest
from break_surveys import DT, F0, LAYOUTS, SUBJECTS, altered, context, findings, later, modelled, two_branches

from subsalt.acquisition.first_breaks import near_line
from subsalt.check import SampledShot, load_rules, run_rules
from subsalt.check.moveout import _Windows, corrected_findings, flatness, rms_velocity
from subsalt.earth.model import EarthModel
from thorough import each

PERIOD = 1.0 / F0


def said(case, subject="first_breaks"):
    return run_rules(case, [r for r in load_rules() if r.subject == subject])


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_called_in_order_agrees(name):
    """Velocities within a tenth, intercepts within a quarter of a period, of the arrival that is named."""
    (reported,) = said(context(name))
    assert reported.level == "ok"
    seen, *model = re.findall(r"([\d.]+) m/s, intercept (-?\d+) ms", reported.message)
    assert len(model) == 1
    assert float(seen[0]) == pytest.approx(float(model[0][0]), rel=0.12)
    assert float(seen[1]) == pytest.approx(float(model[0][1]), abs=1e3 * PERIOD / 4)


def test_refractions_are_called_that():
    (reported,) = said(context("refractions"))
    assert "refracted" in reported.message


def test_refractions_that_are_late_do_not_fit():
    """Between a direct wave that is slow and a head wave that is fast, 200 ms late picks lay within bounds."""
    made = context("refractions", lambda i, s: {"data": later(s.data, 50)})
    (reported,) = [f for f in said(made) if f.level != "ok"]
    assert reported.code in ("W346", "E346")
    assert not [
        f
        for f in said(context("refractions", lambda i, s: {"data": later(s.data, 20)}))
        if f.level == "ok" and "so has" in f.message
    ]


@pytest.mark.parametrize(
    ("speed", "name"),
    each([1800.0, 2000.0, 2500.0, 3500.0], ["streamer", "streamer under a free surface", "deep water"]),
)
def test_a_model_without_water_is_no_time_zero(name, speed):
    grid = modelled(name)[1].grid
    reported = findings(context(name, model=EarthModel(grid, np.full(grid.shape, speed, np.float32))))
    assert [f.code for f in reported] in (["E349"], ["W349"])
    assert not [f for f in reported if "delay" in f.fix]


@pytest.mark.parametrize(
    ("fast", "crossing", "speed"),
    [
        (*row, speed)
        for row, speed in each([(2600.0, 600.0), (3500.0, 800.0)], [1900.0, 2200.0, 2600.0, 3000.0])
    ],
)
def test_direct_and_head_waves_over_a_uniform_model(fast, crossing, speed):
    """One line through both seemed to ask for another time zero, or for half the interval; water explains it."""
    survey, model, _ = modelled("streamer")
    made = altered(survey, two_branches(survey, 0.15, 1500.0, fast, crossing))
    reported = findings(
        context(survey=made, model=EarthModel(model.grid, np.full(model.grid.shape, speed, np.float32)))
    )
    assert [f.code for f in reported] in (["E349"], ["W349"])
    assert "water layer" in reported[0].fix
    # the model that they were made of: 2 h = x sqrt((v2 - v1) / (v2 + v1)) for a crossing at x
    h = 0.5 * crossing * np.sqrt((fast - 1500.0) / (fast + 1500.0))
    vp = np.where(model.grid.axis(-1) < h, 1500.0, fast)
    right = EarthModel(model.grid, np.broadcast_to(vp, model.grid.shape).astype(np.float32))
    assert findings(context(survey=made, model=right)) == []


def test_head_waves_before_a_uniform_model_are_no_moveout_correction():
    grid = modelled("refractions")[1].grid
    reported = findings(
        context("refractions", model=EarthModel(grid, np.full(grid.shape, 1500.0, np.float32)))
    )
    assert not [f for f in reported if f.code in ("W354", "E354")]


def hyperbolas(survey, v=1900.0, times=np.arange(0.1, 1.2, 0.07)):
    """Return the change that makes traces of events along hyperbolas, without a direct wave."""
    t = survey.time.values()
    sign = [(-1.0) ** (k * k // 3) for k in range(len(times))]

    def change(i, s):
        out = np.zeros((len(s.rcv), len(t)))
        for t0, amplitude in zip(times, sign, strict=True):
            a = (np.pi * 16.0 * (t[None] - np.hypot(t0, s.offset[:, None] / v))) ** 2
            out += amplitude * (1 - 2 * a) * np.exp(-a)
        return {"data": out.astype(np.float32)}

    return change


def test_a_halved_interval_is_no_moveout_correction():
    """Of halved times events bend a quarter as much, and are flat to a rule that asks for no other interval."""
    survey = altered(modelled("streamer")[0], hyperbolas(modelled("streamer")[0]))
    halved = dataclasses.replace(survey, time=dataclasses.replace(survey.time, dt=DT / 2))
    made = context(survey=halved)
    made.samples = [SampledShot(s, s.data) for s in halved.shots[::2]]
    velocity = rms_velocity(made)
    seen = [flatness(s.data, s.offset, DT / 2, 0.0, velocity) for s in halved.shots[::2]]
    assert [f.code for f in corrected_findings(seen, "shots")] == ["W354"]
    reported = findings(made)
    assert [f.code for f in reported] in (["E345"], ["W345"])
    assert "[data.fix] dt = 0.004" in reported[0].fix


def test_direct_and_head_waves_have_lines_of_their_own():
    x = np.arange(100.0, 2600.0, 50.0)
    t = np.minimum(x / 1500.0, 0.35 + x / 3200.0) + 0.085
    line = near_line(x, t, 0.1)
    assert line.velocity == pytest.approx(1500.0, rel=0.05)
    assert line.intercept == pytest.approx(0.085, abs=0.01)
    assert near_line(x[:4], t[:4], 0.1) is None


# --- records of any kind --------------------------------------------------------------------------------------------

RECORDS = {
    **{
        f"{nt} samples": (nt, 48, lambda rng, n, nt: rng.standard_normal((n, nt)))
        for nt in (1, 2, 3, 7, 30, 65)
    },
    "one trace": (300, 1, lambda rng, n, nt: rng.standard_normal((n, nt))),
    "two traces": (300, 2, lambda rng, n, nt: rng.standard_normal((n, nt))),
    "dead": (300, 48, lambda rng, n, nt: np.zeros((n, nt))),
    "constant": (300, 48, lambda rng, n, nt: np.full((n, nt), 3.0)),
    "a ramp": (300, 48, lambda rng, n, nt: np.broadcast_to(np.arange(nt, dtype=float), (n, nt))),
    "no numbers": (300, 48, lambda rng, n, nt: np.full((n, nt), np.nan)),
    "infinite": (300, 48, lambda rng, n, nt: np.full((n, nt), np.inf)),
    "huge": (300, 48, lambda rng, n, nt: 1e38 * rng.standard_normal((n, nt)).clip(-3, 3)),
    "tiny": (300, 48, lambda rng, n, nt: 1e-42 * rng.standard_normal((n, nt))),
    "spikes": (300, 48, lambda rng, n, nt: np.eye(n, nt)),
}


@pytest.mark.parametrize("name", RECORDS)
def test_no_record_breaks_the_rules(name):
    nt, traces, data = RECORDS[name]
    survey = modelled("streamer")[0]
    rng = np.random.default_rng(0)
    shots = [
        dataclasses.replace(s, rcv=s.rcv[:traces], data=data(rng, traces, nt).astype(np.float32))
        for s in survey.shots
    ]
    made = dataclasses.replace(survey, shots=shots, time=dataclasses.replace(survey.time, nt=nt))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reported = run_rules(context(survey=made), [r for r in load_rules() if r.subject in SUBJECTS])
    assert not [f for f in reported if re.search(r"\b(nan|inf)\b", f.message + f.fix)]
    assert not [f for f in reported if f.level == "ok"]


def test_receivers_at_their_sources_break_no_rule():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reported = findings(
            context("streamer", lambda i, s: {"rcv": np.repeat(s.src[None], len(s.rcv), axis=0)})
        )
    assert [f.code for f in reported] == ["W355"]


def test_windows_reach_beyond_the_record_as_zeros():
    x = np.arange(1.0, 11.0).reshape(2, 5)
    windows = _Windows(x, 1)
    middles = np.array([[0.4, 2.0], [-9.0, 4.0], [-1.0, 40.0]])
    assert windows.about(middles).tolist() == [
        [[0, 1, 2], [7, 8, 9]],
        [[0, 0, 0], [9, 10, 0]],
        [[0, 0, 1], [0, 0, 0]],
    ]
