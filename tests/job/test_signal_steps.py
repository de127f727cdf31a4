"""Steps of `[[signal]]` on traces: closed forms, transposes in double precision, and what they refuse."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from subsalt.acquisition.survey import Survey, TimeAxis
from subsalt.errors import ConfigError, FindingsError
from subsalt.job.signal import STEPS, AnyStep
from subsalt.job.signal.flow import Flow
from subsalt.job.signal.step import Headers
from subsalt.job.signal.traces import treated
from subsalt.job.text import explain_key
from subsalt.methods.rtm.job import Job

READ = TypeAdapter(list[AnyStep])
TIME = TimeAxis(201, 0.004)
EPS = np.finfo(np.float64).eps


def flow(*steps, time=TIME, base=Path()):
    """Return the flow of steps given as tables of a job."""
    return Flow(READ.validate_python(list(steps)), time, lambda name, key: base / name)


def headers(n, **values):
    """Return headers of `n` traces, 25 m apart."""
    return Headers(np.ones(n, np.int64), 25.0 * np.arange(n), values)


def ricker(t, f0=25.0):
    a = (np.pi * f0 * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that steps name."""
    made = tmp_path_factory.mktemp("signal")
    (made / "polygons.csv").write_text("polygon,offset,time\n1,100,0.1\n1,400,0.3\n1,400,0.5\n1,100,0.2\n")
    t = 0.002 * np.arange(120)
    np.savetxt(made / "signature.txt", np.stack([t, np.exp(-30 * t) * np.sin(2 * np.pi * 30 * t)], axis=1))
    (made / "statics.csv").write_text(
        "shot,channel,time\n" + "".join(f"1,{c},{1e-3 * c}\n" for c in range(19))
    )
    return made


EVERY = [
    {"step": "bandpass", "corners": [3, 6, 60, 80], "taper": "50 ms"},
    {"step": "bandpass", "low": 5, "high": 40, "phase": "minimum"},
    {"step": "mute", "velocity": 1500, "delay": 0.5, "side": "below"},
    {"step": "mute", "kind": "hyperbolic", "velocity": 1500, "t0": 0.1},
    {"step": "mute", "kind": "table", "offsets": [0, 300], "times": [0.1, 0.4]},
    {"step": "mute", "kind": "polygons", "file": "polygons.csv", "taper": 0.02},
    {"step": "gain", "kind": "power", "power": 1.5},
    {"step": "gain", "kind": "exponential", "rate": 2},
    {"step": "gain", "kind": "divergence", "velocity": {"t": [0, 1], "v": [1500, "2 km/s"]}},
    {"step": "to2d", "velocity": 1500},
    {"step": "edit", "where": "channel in 3-5 and offset > 80", "do": "reverse"},
    {"step": "edit", "where": "rms > 3*median"},
    {"step": "shift", "time": "3 ms"},
    {"step": "shift", "headers": ["source_static", "receiver_static"]},
    {"step": "shift", "table": "statics.csv"},
    {"step": "shift", "datum": 50, "velocity": 1800},
    {"step": "resample", "dt": 0.006},
    {"step": "designature", "signature": "signature.txt", "corners": [3, 6, 60, 80]},
    {"step": "swell", "below": 30},
    {"step": "edit", "where": "rms > 3*median", "band": [0, 30]},
]


def known(n, rng):
    """Return headers with everything that a step may ask for."""
    return headers(
        n,
        ffid=np.ones(n),
        channel=np.arange(n),
        source_static=rng.uniform(-0.02, 0.02, n),
        receiver_static=rng.uniform(-0.02, 0.02, n),
        source_z=np.full(n, -20.0),
        receiver_z=-rng.uniform(0, 80, n),
    )


def test_every_step_and_all_of_them_have_their_transpose(folder):
    """<F x, y> = <x, F^T y> to rounding, alone and in a row; AGC, which has none, says why."""
    rng, n = np.random.default_rng(5), 19
    its = known(n, rng)
    assert {s["step"] for s in EVERY} == set(STEPS)
    for steps in [*([s] for s in EVERY), EVERY]:
        made = flow(*steps, base=folder)
        x = rng.standard_normal((n, TIME.nt))
        x[4] *= 10.0
        one = Headers(its.shot, its.offset, its.values, made.marks(lambda rows, x=x: x[rows], its))
        made.require(one)
        fx = made.apply(x, one)
        y = fx + rng.standard_normal(fx.shape) * np.linalg.norm(fx) / np.sqrt(fx.size)
        back = made.adjoint(y, one)
        assert fx.shape == (n, made.out.nt)
        left, right = float((fx * y).sum()), float((x * back).sum())
        # every step sums some hundred products per sample
        assert abs(left - right) < 1000 * EPS * np.linalg.norm(fx) * np.linalg.norm(y), made.steps[0].label()
    agc = flow({"step": "gain", "kind": "agc", "window": 0.2})
    with pytest.raises(Exception, match="not linear"):
        agc.adjoint(x[:, : TIME.nt], its)


def test_every_step_reads_back_from_the_resolved_job():
    """A run directory goes on from what it says of the job, and other shots are a copy of it."""
    job = Job.from_dict(
        {
            "data": {"files": "x.sgy"},
            "signal": EVERY,
            "model": {"vp": 2000},
            "grid": {"spacing": 10, "shape": [11, 11]},
            "source": {"f0": 10},
        }
    )
    assert Job.from_dict(tomllib.loads(job.resolved_toml())) == job
    assert job.with_shots("1-3").signal == job.signal
    assert all(explain_key(f"signal.{name}") for name in STEPS)


def test_blocks_change_no_bit(folder):
    rng, n = np.random.default_rng(6), 70
    its, x = known(n, rng), np.random.default_rng(7).standard_normal((n, TIME.nt)).astype(np.float32)
    its.values["channel"][:] %= 19
    made = flow(*EVERY[:9], *EVERY[10:], {"step": "gain", "kind": "agc", "window": 0.1}, base=folder)
    one = Headers(its.shot, its.offset, its.values, made.marks(lambda rows: x[rows], its))
    whole = made.apply(x, one)
    assert whole.dtype == np.float32
    parts = [made.apply(x[a:b], one.take(slice(a, b))) for a, b in ((0, 1), (1, 40), (40, 70))]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("to", [0.003, 0.004, 0.0067, 0.01])
def test_a_coarser_axis_keeps_and_removes_what_the_page_says(to):
    """Up to 0.815 of the new Nyquist frequency all passes, from it on 100 dB are gone, at any interval."""
    dt, nt = 0.002, 1501
    made, t = flow({"step": "resample", "dt": to}, time=TimeAxis(nt, dt)), dt * np.arange(nt)
    for part in (0.3, 0.7, 0.815, 1.0, 1.3):
        f = part * 0.5 / to
        got = made.apply(np.cos(2 * np.pi * f * t + 0.3)[None], headers(1))[0]
        at = to * np.arange(len(got))
        inside = np.abs(at - 1.5) < 0.5  # ends of the record aside
        wanted = np.cos(2 * np.pi * f * at + 0.3) if part < 1 else 0.0 * at
        # Kaiser's window of 100 dB, above it a little at the edges of its fall
        assert np.abs(got - wanted)[inside].max() < 2e-5


def test_a_signature_becomes_zero_phase(folder):
    """Without noise the wavelet has the amplitudes of the signature; with corners it is the band asked for."""
    t = 0.002 * np.arange(120)
    source = lambda s: np.where(s >= 0, np.exp(-30 * s) * np.sin(2 * np.pi * 30 * s), 0.0)  # noqa: E731
    time = TimeAxis(400, 0.002)
    data = source(time.values() - 0.4)[None]
    got = flow(
        {"step": "designature", "signature": "signature.txt", "stabilise": 1e-6}, time=time, base=folder
    )
    out = got.apply(data, headers(1))[0]
    assert out.argmax() == 200
    # the record cuts nothing: both halves are the same
    np.testing.assert_allclose(out[200:300], out[200:100:-1], atol=2e-3 * out.max())
    f = np.fft.rfftfreq(4000, 0.002)
    spectrum = np.abs(np.fft.rfft(source(t), 4000))
    use = (f > 2) & (f < 150)
    np.testing.assert_allclose(np.abs(np.fft.rfft(out, 4000))[use], spectrum[use], atol=5e-3 * spectrum.max())
    corners = [4, 8, 60, 80]
    flat = flow(
        {"step": "designature", "signature": "signature.txt", "corners": corners}, time=time, base=folder
    )
    reference = flow({"step": "bandpass", "corners": corners}, time=time)
    pulse = np.zeros((1, 400))
    pulse[0, 200] = spectrum.max()
    # 0.1 % of noise takes that part of the power away, more where the signature has less
    want = reference.apply(pulse, headers(1))
    np.testing.assert_allclose(flat.apply(data, headers(1)), want, atol=0.05 * want.max())
    assert flat.facts()[0]["at_hz"] < 125


def test_gains_undo_themselves_and_agc_makes_amplitudes_alike():
    rng, x = np.random.default_rng(1), np.random.default_rng(2).standard_normal((3, TIME.nt))
    for keys in ({"kind": "power", "power": 2}, {"kind": "exponential", "rate": -3}):
        made = flow({"step": "gain", **keys})
        back = made.operators[0].inverse(made.apply(x, headers(3)))
        np.testing.assert_allclose(back[:, 1:], x[:, 1:], rtol=4 * EPS)
    t = TIME.values()
    spread = flow({"step": "gain", "kind": "divergence", "velocity": {"t": [0, 1], "v": [1000, 3000]}})
    np.testing.assert_allclose(
        spread.apply(np.ones((1, TIME.nt)), headers(1))[0], t * (1000 + 2000 * t) ** 2 / 1000
    )
    decaying = rng.standard_normal((2, TIME.nt)) * np.exp(-5 * t)
    decaying[1] = 0
    level = flow({"step": "gain", "kind": "agc", "window": 0.2}).apply(decaying, headers(2))
    rms = [np.sqrt((level[0, i : i + 50] ** 2).mean()) for i in (0, 75, 150)]
    np.testing.assert_allclose(rms, 1, atol=0.15)
    assert not level[1].any()


def test_mutes_zero_what_their_edges_say(folder):
    its, ones, t = headers(20), np.ones((20, TIME.nt)), TIME.values()[None]
    x = its.offset[:, None]
    sharp = {"step": "mute", "taper": 0}
    cases = {
        "hyperbolic": ({"velocity": 1000, "t0": 0.2, "delay": 0.05}, t >= 0.05 + np.hypot(0.2, x / 1000)),
        "linear": ({"velocity": 1000, "side": "below"}, t <= x / 1000),
        "table": (
            {"offsets": [100, 300], "times": [0.1, 0.5]},
            t >= np.clip(0.1 + (x - 100) * 0.002, 0.1, 0.5),
        ),
        "polygons": (
            {"file": "polygons.csv"},
            ~((x >= 100) & (x < 400) & (t >= 0.1 + (x - 100) / 1500) & (t <= 0.2 + (x - 100) / 1000)),
        ),
    }
    for kind, (keys, name) in cases.items():
        got = flow(sharp | {"kind": kind} | keys, base=folder).apply(ones, its) > 0
        # an edge that meets a sample may fall to either side of it
        assert (got != name).sum() <= 20, kind
    inner = flow({"step": "mute", "kind": "polygons", "file": "polygons.csv", "taper": 0.05}, base=folder)
    weights = inner.apply(ones, its)
    assert weights.min() == 0
    assert ((weights > 0) & (weights < 1)).any()


def test_edits_find_their_traces():
    """The median is over the traces of the shot that are not zero; conditions join, ranges and signs are read."""
    rng, n = np.random.default_rng(9), 30
    x = rng.standard_normal((n, TIME.nt))
    x[:20] = 0.0
    x[25] *= 50.0
    its = headers(n, ffid=np.repeat([11.0, 12.0, 17.0], 10))

    def hit(where, do="reverse"):
        made = flow({"step": "edit", "where": where, "do": do})
        one = Headers(its.shot, its.offset, its.values, made.marks(lambda rows: x[rows], its))
        out = made.apply(np.ones_like(x), one)
        return np.flatnonzero(out[:, 0] != 1).tolist()

    assert hit("rms > 20*median") == [25]
    assert hit("peak <= 0 and FFID in 12,17", "kill") == list(range(10, 20))
    assert hit("offset>=700") == [28, 29]
    assert hit("ffid != 11 and ffid < 17") == list(range(10, 20))


WRONG = [
    ({"step": "bandpass", "corners": [3, 6, 60, 180]}, "E791", "Nyquist frequency of 125 Hz"),
    ({"step": "bandpass", "low": 5, "high": 126}, "E791", "126 Hz"),
    ({"step": "gain", "kind": "agc", "window": 500}, "E792", "500 ms"),
    ({"step": "gain", "kind": "exponential", "rate": 90}, "E792", "below 50"),
    ({"step": "resample", "dt": 4}, "E794", "4 ms"),
    ({"step": "designature", "signature": "long.txt"}, "E793", "0.8 s"),
    ({"step": "shift", "table": "statics.csv"}, "E795", "shot 2 channel 5"),
    ({"step": "shift", "time": -3}, "E797", "-3 s"),
    ({"step": "shift", "headers": ["total_static"]}, "E797", "bytes 99"),
    ({"step": "edit", "where": "ffid in 99"}, "E796", "true of no trace"),
    ({"step": "edit", "where": "ffid > 0"}, "E796", "nothing would be left"),
]


def test_traces_without_headers_know_positions_alone():
    survey = Survey.from_arrays([[0.0, 10.0]], [[50.0 * i, 20.0] for i in range(4)], nt=TIME.nt, dt=TIME.dt)
    survey.reader = lambda shot, rows=None: np.ones((4 if rows is None else len(rows), TIME.nt), np.float32)
    ready = treated(
        survey,
        flow({"step": "edit", "where": "offset > 120"}, {"step": "shift", "datum": 0, "velocity": 2e3}),
    )
    np.testing.assert_array_equal(ready.traces(ready.shots[0])[:, 40], [1, 1, 1, 0])
    assert ready.reader.flow.facts()[1]["to_s"] == (10.0 + 20.0) / 2000
    with pytest.raises(ConfigError, match="no trace headers") as caught:
        treated(survey, flow({"step": "edit", "where": "ffid > 3"}))
    assert caught.value.code == "E799"


def test_wrong_steps_are_refused_all_at_once(folder):
    np.savetxt(folder / "long.txt", np.stack([0.002 * np.arange(900), np.ones(900)], axis=1))
    one = headers(2, ffid=np.array([1.0, 2.0]), channel=np.array([4.0, 5.0]), total_static=np.zeros(2))
    refusals = []
    for keys, code, _words in WRONG:
        with pytest.raises(FindingsError) as caught:
            flow(keys, base=folder).require(one)
        assert [f.code for f in caught.value.findings] == [code]
        refusals.append(f"{caught.value.findings[0].message} {caught.value.findings[0].fix}")
    for text, (_, _, words) in zip(refusals, WRONG, strict=True):
        assert words in text, text
    with pytest.raises(FindingsError) as caught:
        flow(*(keys for keys, _, _ in WRONG[:5]), base=folder)
    assert [f.evidence["step"] for f in caught.value.findings] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"step": "bandpass"}, "no corners"),
        ({"step": "bandpass", "corners": [6, 3, 60, 80]}, "grow"),
        ({"step": "mute", "kind": "polygons", "velocity": 3}, "no file"),
        ({"step": "mute", "velocity": 1500, "t0": 1}, "no use for t0"),
        ({"step": "gain", "kind": "power", "rate": 1}, "power has rate"),
        ({"step": "gain", "kind": "divergence", "velocity": {"t": [1, 0], "v": [1, 2]}}, "do not grow"),
        ({"step": "to2d", "velocity": 0}, "above 0"),
        ({"step": "shift"}, "nothing to shift by"),
        ({"step": "shift", "datum": 100}, "no velocity"),
        ({"step": "shift", "headers": ["total_static", "source_static"]}, "holds those of source"),
        ({"step": "edit", "where": "rm > 3"}, "'rm' is neither"),
        ({"step": "edit", "where": "offset > 3*median"}, "cannot be understood"),
    ],
)
def test_keys_that_do_not_go_together(keys, words):
    with pytest.raises(ValueError, match=words):
        READ.validate_python([keys])
