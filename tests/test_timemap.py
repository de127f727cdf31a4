"""Trace maps: accuracy, exact transpose, time dispersion; all figures relative to the largest sample."""

from __future__ import annotations

import numpy as np
import pytest

from subsalt.acquisition.timemap import TraceMap
from subsalt.acquisition.wavelet import ricker
from subsalt.errors import ConfigError

RNG = np.random.default_rng(11)

#: a sum of n products of numbers near one, rounded each time: n eps at worst, its root in practice
EPS = 2.0**-52


def packet(t, frequency, centre, width):
    """A Gaussian packet; its spectrum has the standard deviation 1 / (2 pi width)."""
    return np.exp(-(((t - centre) / width) ** 2) / 2) * np.cos(2 * np.pi * frequency * (t - centre) + 0.7)


def test_same_axis_is_a_copy():
    m = TraceMap(50, 0.004, 0.1, 50, 0.004, 0.1)
    x = RNG.standard_normal((3, 50)).astype(np.float32)
    y = m.apply(x)
    assert m.is_copy
    assert y is not x
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(m.apply_transpose(x), x)


@pytest.mark.parametrize(
    ("nt_out", "first"), [(50, 0), (57, 0), (43, 0), (60, 3), (20, 3), (50, -7), (9, -60), (9, 60)]
)
def test_axes_whose_samples_coincide_are_copied(nt_out, first):
    m = TraceMap(50, 0.004, 0.1, nt_out, 0.004, 0.1 - 0.004 * first)
    x = RNG.standard_normal((3, 50))
    y = m.apply(x)
    assert m.is_copy
    expected = np.zeros((3, nt_out))
    for n in range(50):
        if 0 <= n + first < nt_out:
            expected[:, n + first] = x[:, n]
    np.testing.assert_array_equal(y, expected)
    z = RNG.standard_normal((3, nt_out))
    np.testing.assert_allclose(np.vdot(z, y), np.vdot(m.apply_transpose(z), x), atol=200 * EPS)


@pytest.mark.parametrize(
    ("nt", "dt", "t0", "options"),
    [
        (50, 0.004, 0.1001, {}),
        (50, 0.005, 0.1, {}),
        (50, 0.004, 0.1, {"derivative": 1}),
        (50, 0.004, 0.1, {"dispersion": ("forward", 0.004)}),
        (50, 0.004, 0.1, {"fmax": 60.0}),
    ],
)
def test_what_is_no_copy(nt, dt, t0, options):
    assert not TraceMap(50, 0.004, 0.1, nt, dt, t0, **options).is_copy


@pytest.mark.parametrize("nt_in", [36, 37])
@pytest.mark.parametrize("nt_out", [50, 51])
@pytest.mark.parametrize("options", [{}, {"dispersion": ("forward", 0.003)}, {"derivative": 1}])
def test_against_the_dense_formula(nt_in, nt_out, options):
    dt_in, t_in, dt_out, t_out = 0.004, 0.1, 0.003, 0.05
    m = TraceMap(nt_in, dt_in, t_in, nt_out, dt_out, t_out, **options)
    span = max(t_in + nt_in * dt_in, t_out + nt_out * dt_out) - min(t_in, t_out)
    dw = 2 * np.pi / (2 * span)
    w = dw * np.arange(2000)
    true, top = w, np.pi / dt_in
    if (
        "dispersion" in options
    ):  # stepping with dt carries true frequencies up to 2/dt, below Nyquist of the input here
        true, top = 2 / 0.003 * np.sin(w * 0.003 / 2), 2 / 0.003
    use = (true < top) & (w < np.pi / 0.003)
    w, true = w[use], true[use]
    gain = 0.5 + 0.5 * np.cos(np.pi * np.clip((true / top - 0.85) / 0.15, 0, 1))
    gain[0] = 0.5
    x = RNG.standard_normal((6, nt_in))
    spectrum = dt_in * x @ np.exp(-1j * np.outer(t_in + dt_in * np.arange(nt_in), true))
    spectrum = spectrum * gain * (1j * true if "derivative" in options else 1)
    want = dw / np.pi * (spectrum @ np.exp(1j * np.outer(w, t_out + dt_out * np.arange(nt_out)))).real
    np.testing.assert_allclose(m.apply(x), want, atol=1e-13 * np.abs(want).max())


@pytest.mark.parametrize(
    ("nt_in", "dt_in", "nt_out", "dt_out", "options"),
    [
        (200, 0.004, 301, 0.0025, {}),
        (201, 0.004, 300, 0.0025, {"dispersion": ("forward", 0.0025)}),
        (300, 0.0025, 90, 0.008, {"dispersion": ("inverse", 0.0025)}),
        (200, 0.004, 301, 0.0025, {"dispersion": ("forward", 0.0025), "derivative": 1}),
        (200, 0.004, 301, 0.0025, {"derivative": 1, "fmax": 60.0}),
        (1, 0.004, 5, 0.004, {}),
    ],
)
def test_transpose(nt_in, dt_in, nt_out, dt_out, options):
    m = TraceMap(nt_in, dt_in, 0.02, nt_out, dt_out, -0.01, **options)
    x, y = RNG.standard_normal((9, nt_in)), RNG.standard_normal((9, nt_out))
    forward, adjoint = m.apply(x), m.apply_transpose(y)
    assert adjoint.shape == x.shape
    scale = np.linalg.norm(forward) * np.linalg.norm(y)
    assert abs((forward * y).sum() - (x * adjoint).sum()) < 1e-13 * scale


@pytest.mark.parametrize("dt_out", [0.001, 0.0013, 0.003, 0.004])
@pytest.mark.parametrize("fraction", [0.02, 0.3, 0.6, 0.75])
def test_interpolation_below_080_of_nyquist(dt_out, fraction):
    dt, nt = 0.004, 500
    # 0.06 s wide: at 0.75 of Nyquist, 6 Hz below the 0.8 limit, that is 2.3 standard deviations of the
    # spectrum
    frequency, centre, width = fraction * 125.0, 1.0, 0.06
    x = packet(dt * np.arange(nt), frequency, centre, width)
    nt_out = int(1.6 / dt_out)
    m = TraceMap(nt, dt, 0.0, nt_out, dt_out, 0.2)
    t = 0.2 + dt_out * np.arange(nt_out)
    assert np.abs(m.apply(x) - packet(t, frequency, centre, width)).max() < 1e-3


def test_interpolation_inside_an_endless_sinusoid():
    dt, nt = 0.004, 500
    m = TraceMap(nt, dt, 0.0, 1900, 0.001, 0.05)
    t = 0.05 + 0.001 * np.arange(1900)
    inner = (t > 40 * dt) & (t < (nt - 40) * dt)
    for fraction in (0.1, 0.5, 0.8):
        f = fraction * 125.0
        got = m.apply(np.cos(2 * np.pi * f * dt * np.arange(nt) + 0.4))
        assert np.abs(got - np.cos(2 * np.pi * f * t + 0.4))[inner].max() < 1e-3


def test_decimation():
    dt, nt = 0.001, 2000
    m = TraceMap(nt, dt, 0.0, 500, 0.004, 0.0)
    slow = packet(dt * np.arange(nt), 60.0, 1.0, 0.05)
    lost = packet(dt * np.arange(nt), 190.0, 1.0, 0.05)
    # samples at multiples of dt: what is kept is picked, what would alias is gone
    np.testing.assert_allclose(m.apply(slow), slow[::4], atol=1e-6)
    assert np.abs(m.apply(lost)).max() < 1e-6


def test_derivative():
    dt, nt = 0.002, 1000
    t = dt * np.arange(nt)
    f0, delay = 20.0, 1.0
    a = (np.pi * f0 * (t - delay)) ** 2
    want = -2 * (np.pi * f0) ** 2 * (t - delay) * (3 - 2 * a) * np.exp(-a)
    m = TraceMap(nt, dt, 0.0, nt, dt, 0.0, derivative=1)
    got = m.apply(ricker(f0, dt, nt, delay).samples)
    # the spectrum of this Ricker at the taper, 212 Hz, is below 1e-40
    assert np.abs(got - want).max() < 1e-11 * np.abs(want).max()


def test_fmax_keeps_what_is_below():
    dt, nt = 0.004, 500
    t = dt * np.arange(nt)
    m = TraceMap(nt, dt, 0.0, nt, dt, 0.0, fmax=40.0)
    assert not m.is_copy
    low, high = packet(t, 25.0, 1.0, 0.08), packet(t, 70.0, 1.0, 0.08)
    assert np.abs(m.apply(low) - low).max() < 1e-6
    assert np.abs(m.apply(high)).max() < 1e-6
    # above what the axes carry it changes nothing
    wide, default = TraceMap(nt, dt, 0, 400, 0.003, 0, fmax=900.0), TraceMap(nt, dt, 0, 400, 0.003, 0)
    np.testing.assert_array_equal(wide.apply(low), default.apply(low))


@pytest.mark.parametrize("dt", [0.001, 0.002, 0.0035])
def test_dispersion_round_trip(dt):
    # stepping with dt carries frequencies up to 2/dt only; at 3.5 ms the taper starts at 77 Hz = 3.9 f0,
    # where a Ricker wavelet has 1e-5 of its peak amplitude
    nt = int(2.4 / dt)
    x = ricker(20.0, dt, nt, 1.2).samples
    there = TraceMap(nt, dt, 0.0, nt, dt, 0.0, dispersion=("forward", dt))
    back = TraceMap(nt, dt, 0.0, nt, dt, 0.0, dispersion=("inverse", dt))
    assert np.abs(back.apply(there.apply(x)) - x).max() < 1e-5
    if dt == 0.0035:  # the transform does something
        assert np.abs(there.apply(x) - x).max() > 0.1


def test_round_trip_through_two_samplings():
    record, step = (600, 0.004, 0.0), (1600, 0.0017, 0.0)
    x = ricker(20.0, 0.004, 600, 1.0).samples
    there = TraceMap(*record, *step, dispersion=("forward", step[1]))
    back = TraceMap(*step, *record, dispersion=("inverse", step[1]))
    assert np.abs(back.apply(there.apply(x)) - x).max() < 1e-5


def test_dispersion_of_a_leapfrog_string():
    """A vibrating ring, exact in space (a sum of oscillators) and stepped in time, against d'Alembert's
    solution."""
    dt, nt, f0, delay, ring, x = 0.004, 700, 10.0, 0.3, 6.0, 1.1
    modes = np.arange(int(ring * 1.98 / (2 * np.pi * dt)) + 1)
    w = 2 * np.pi * modes / ring
    assert (w * dt < 2).all()  # stable
    # Modes far above the band follow the source statically. A sharp end of the sum would leave ripples of
    # that all along the ring; the taper starts at 43 Hz, where the displacement, proportional to f
    # exp(-(f/f0)^2), has 1e-7 left.
    taper = 0.5 + 0.5 * np.cos(np.pi * np.clip((w * dt / 2 - 0.55) / 0.44, 0, 1))
    shape = taper * np.cos(w * x) / ring * np.where(modes == 0, 1, 2)
    f = TraceMap(nt, dt, 0.0, nt, dt, 0.0, dispersion=("forward", dt)).apply(
        ricker(f0, dt, nt, delay).samples
    )
    prev, curr, record = np.zeros(len(w)), np.zeros(len(w)), np.zeros(nt)
    for n in range(nt - 1):
        prev, curr = curr, 2 * curr - prev + dt**2 * (f[n] - w**2 * curr)
        record[n + 1] = shape @ curr
    got = TraceMap(nt, dt, 0.0, nt, dt, 0.0, dispersion=("inverse", dt)).apply(record)
    # the pulse that runs the other way round arrives 4.9 s after the shot, behind the end of the record at
    # 2.8 s
    tau = dt * np.arange(nt) - x - delay
    want = 0.5 * tau * np.exp(-((np.pi * f0 * tau) ** 2))
    peak = np.abs(want).max()
    assert np.abs(record - want).max() > 0.2 * peak  # what time stepping alone does
    assert np.abs(got - want).max() < 1e-6 * peak


def test_float32_is_double_inside():
    m = TraceMap(120, 0.004, 0.0, 200, 0.0025, 0.0)
    x = RNG.standard_normal((5, 120)).astype(np.float32)
    y = m.apply(x)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, m.apply(x.astype(np.float64)).astype(np.float32))
    assert m.apply(np.arange(120)).dtype == np.float64


def test_traces_do_not_touch_each_other():
    m = TraceMap(101, 0.004, 0.0, 150, 0.003, 0.0, dispersion=("forward", 0.003))
    x = RNG.standard_normal((1030, 101))
    every = m.apply(x)
    for i in (0, 3, 511, 512, 1029):
        np.testing.assert_array_equal(m.apply(x[i]), every[i])
    x[7] = np.nan
    spoilt = m.apply(x)
    np.testing.assert_array_equal(np.delete(spoilt, 7, axis=0), np.delete(every, 7, axis=0))
    assert np.isnan(spoilt[7]).all()


def test_no_traces_and_strides():
    m = TraceMap(64, 0.004, 0.0, 80, 0.003, 0.0)
    assert m.apply(np.zeros((0, 64), np.float32)).shape == (0, 80)
    x = RNG.standard_normal((64, 6))
    np.testing.assert_array_equal(m.apply(x.T), m.apply(np.ascontiguousarray(x.T)))


@pytest.mark.parametrize(
    "call",
    [
        lambda: TraceMap(0, 0.004, 0.0, 10, 0.004, 0.0),
        lambda: TraceMap(10, -0.004, 0.0, 10, 0.004, 0.0),
        lambda: TraceMap(10, 0.004, float("nan"), 10, 0.004, 0.0),
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.004, 0.0, dispersion=("sideways", 0.004)),  # type: ignore[arg-type]
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.004, 0.0, dispersion=("forward", 0.0)),
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.004, 0.0, derivative=2),
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.004, 0.0, fmax=-1.0),
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.003, 0.0).apply(np.zeros((3, 11))),
        lambda: TraceMap(10, 0.004, 0.0, 10, 0.003, 0.0).apply(np.zeros((3, 3, 10))),
    ],
)
def test_wrong_arguments(call):
    with pytest.raises(ConfigError):
        call()
