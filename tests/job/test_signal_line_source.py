"""How near `to2d` comes to the exact wave of a line source: what docs/reference/signal.md says, at every setting."""

import re
from pathlib import Path

import numpy as np
import pytest
from test_signal_steps import flow, headers

from subsalt.acquisition.survey import TimeAxis
from subsalt.analytic import isotropic_waveform
from subsalt.job.signal.velocity import RmsVelocitySection

#: the same velocity in every form in which a job may give it
FORMS = {
    "number": lambda v: v,
    "text": lambda v: f"{v / 1000} km/s",
    "function": lambda v: {"t": [0.0, 1.0, 3.0], "v": [v, v, v]},
}


def wavelet(f0, dt):
    """Return a zero-phase Ricker wavelet and the time of its peak."""
    peak = 1.6 / f0
    a = (np.pi * f0 * (dt * np.arange(round(2 * peak / dt) + 1) - peak)) ** 2
    return (1 - 2 * a) * np.exp(-a), peak


def ours_and_exact(k0r, f0, v, velocity):
    """Return the traces of ours and of a line source at the distance k0r v / (2 pi f0), and their axis."""
    dt, tail = 0.04 / f0 / 2.5, 20 / f0
    r = k0r * v / (2 * np.pi * f0)
    w, peak = wavelet(f0, dt)
    nt = round((r / v + peak + tail) / dt)
    point = isotropic_waveform([[r, 0.0, 0.0]], v, w, dt, nt)
    line = isotropic_waveform([[r, 0.0]], v, w, dt, nt)
    # times count from the peak, as on a record of a zero-phase wavelet
    axis = TimeAxis(nt, dt, -peak)
    return flow({"step": "to2d", "velocity": velocity}, time=axis).apply(point, headers(1))[0], line[0], axis


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("k0r", "f0", "v"), [(10, 15.0, 1500.0), (20, 40.0, 2500.0), (50, 8.0, 4000.0), (100, 15.0, 2000.0)]
)
def test_the_error_is_the_one_of_the_page(k0r, f0, v, form):
    """Phase and amplitude to the second order in 1 / K, the trace to the first.

    With x = f / f0 a Ricker wavelet has i W' / W = i (2 / x - 2 x) / w0 and W'' / W = (2 / x^2 - 10 + 4 x^2) / w0^2,
    the root of 1 + s / T is 1 + s / (2 T) - s^2 / (8 T^2) with s = i d/dw, and the exact wave is 1 + i / (8 x K) - 9 /
    (128 x^2 K^2) of its leading term. The trace's error is the mean square of 7 / (8 x) - x, 25 / 32, with the weight
    x^3 exp(-2 x^2) of a line source's power.
    """
    got, exact, axis = ours_and_exact(k0r, f0, v, FORMS[form](v))
    misfit = np.linalg.norm(got - exact) / np.linalg.norm(exact)
    # the trace has another order: it is off by 1 / K of itself
    assert misfit == pytest.approx(np.sqrt(25 / 32) / k0r, rel=1 / k0r)
    # the tail of a line source goes on for ever: both are cut alike
    fade = np.clip(
        (axis.nt - np.arange(axis.nt)) / (0.5 * axis.nt - 0.5 * k0r / (2 * np.pi * f0) / axis.dt), 0, 1
    )
    n = 8 * axis.nt
    f = np.fft.rfftfreq(n, axis.dt)
    use = (f >= f0 / 2) & (f <= 2 * f0)
    ratio = (np.fft.rfft(got * fade, n) / np.fft.rfft(exact * fade, n))[use]
    x = f[use] / f0
    a, c = 1 / x - x, 1 / (8 * x)
    second = (2 / x**2 - 10 + 4 * x**2) / 8 + 9 / (128 * x**2) - c * c + a * c + (a - c) ** 2 / 2
    # the next orders, and 1e-4 of fading and of the half integral below 0.2 of Nyquist
    assert np.angle(ratio) == pytest.approx((a - c) / k0r, abs=4 / k0r**3 + 2e-4)
    assert np.abs(ratio) == pytest.approx(1 + second / k0r**2, abs=4 / k0r**3 + 2e-4)
    assert np.abs(second).max() < 2


def test_another_wavelet_is_off_by_its_length_over_twice_the_traveltime():
    """A flat band with narrow sides rings long: an Ormsby wavelet of 10, 14, 50 and 70 Hz, 100 m to 2 km away."""
    dt, v, corners, peak = 0.001, 2000.0, (10.0, 14.0, 50.0, 70.0), 0.4
    t = dt * np.arange(801) - peak
    squares = [f * f * np.sinc(f * t) ** 2 * np.pi for f in corners]
    w = (squares[3] - squares[2]) / (corners[3] - corners[2]) - (squares[1] - squares[0]) / (
        corners[1] - corners[0]
    )
    f = np.fft.rfftfreq(8192, dt)[1:]
    power = np.abs(np.fft.rfft(w, 8192)[1:]) ** 2
    # rms length in the line source's wave, whose power is that over f; by Parseval of s w and w
    moved = np.abs(np.fft.rfft(t * w, 8192)[1:]) ** 2
    length = np.sqrt((moved / f).sum() / (power / f).sum())
    for r in (300.0, 1000.0, 2000.0):
        nt = round((r / v + 1.4) / dt)
        point = isotropic_waveform([[r, 0.0, 0.0]], v, w, dt, nt)
        line = isotropic_waveform([[r, 0.0]], v, w, dt, nt)
        got = flow({"step": "to2d", "velocity": v}, time=TimeAxis(nt, dt, -peak)).apply(point, headers(1))
        misfit = np.linalg.norm(got - line) / np.linalg.norm(line)
        # what the exact wave has beside it, 1 / (8 w T), at its lowest frequency
        assert abs(misfit - length * v / (2 * r)) < v / (8 * 2 * np.pi * corners[0] * r)


def ray(velocity, p, depth_time):
    """Return offset and traveltime of the reflection of slowness `p`, /m, from the depth of a vertical time."""
    edge = np.linspace(0.0, 4.0, 4001)
    interval = np.sqrt(np.diff(velocity.at(edge) ** 2 * edge) / np.diff(edge))[edge[1:] <= depth_time + 1e-9]
    cosine = np.sqrt(1 - (p * interval) ** 2)
    half = np.diff(edge)[: len(interval)] / 2
    return 2 * (half * interval**2 * p / cosine).sum(), 2 * (half / cosine).sum()


@pytest.mark.parametrize(
    ("p", "offset", "excess"), [(1e-6, 6.0, 0.0), (2e-4, 1400.0, 0.014), (3.5e-4, 3000.0, 0.056)]
)
def test_a_function_of_time_holds_at_vertical_incidence(p, offset, excess):
    """In layers the spreading across the plane is x / p, by the symmetry around the vertical."""
    velocity = RmsVelocitySection(t=[0, 0.5, 4], v=[1480, 1500, 2200])
    x, time = ray(velocity, p, 2.0)
    assert x == pytest.approx(offset, rel=0.1)
    nt, dt = 1400, 0.002
    step = flow({"step": "to2d", "velocity": {"t": velocity.t, "v": velocity.v}}, time=TimeAxis(nt, dt))
    (root,) = [operator.root for operator in step.operators]
    taken = root[round(time / dt)] / np.sqrt(2 * np.pi)
    assert taken / np.sqrt(x / p) - 1 == pytest.approx(excess, abs=1e-3)


def test_the_table_of_the_page_is_the_law():
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "signal.md").read_text(
        encoding="utf-8"
    )
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) % \| (.*) degrees \| ([\d.]+) % \|$", page, re.M)
    assert [int(k) for k, *_ in rows] == [10, 20, 50, 100, 400]
    for k, trace, phases, amplitude in rows:
        assert float(trace) / 100 == pytest.approx(np.sqrt(25 / 32) / int(k), rel=0.15)
        law = [np.degrees(7 / (8 * x) - x) / int(k) for x in (0.5, 1.0, 2.0)]
        # rounded to a tenth of a degree, or to a degree
        assert [float(t) for t in phases.split(", ")] == pytest.approx(law, abs=0.2 if int(k) == 10 else 0.06)
        assert float(amplitude) / 100 == pytest.approx(2 / int(k) ** 2, rel=0.25)
