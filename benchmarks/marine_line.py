"""A 2-D marine line as many jobs have it: 60 shots, 7200 traces, a model of 1134 x 234 points, a wavelet from a file.

``steps`` has the three steps on traces that field lines need most, ``all-steps`` every step there is, ``time`` the same
steps before a time migration, ``model`` shots of the line that are modelled.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.earth.grid import Grid
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume

SHAPE, SPACING = (1134, 234), 10.0
SHOTS, CHANNELS, NEAR, GROUP, DEPTH = 60, 120, 150.0, 25.0, 10.0
TIME, F0 = TimeAxis(1001, 0.004), 12.0
#: depths, m, and velocities there, m/s
LAYERS = ((0.0, 1500.0), (400.0, 2000.0), (1200.0, 2600.0))
#: amplitude, two-way time (s) and velocity (m/s) of the direct wave and two reflections
EVENTS = ((1.0, 0.0, 1500.0), (0.3, 0.53, 1500.0), (0.2, 1.33, 1750.0))

#: every step of `[[signal]]`, in an order that makes sense
STEPS = {
    "edit": 'where = "rms > 20*median"',
    "designature": 'signature = "wavelet.txt"',
    "bandpass": "corners = [2, 4, 25, 35]",
    "mute": "velocity = 1500, delay = 0.15",
    "gain": 'kind = "power", power = 0.5',
    "to2d": "velocity = {t = [0, 0.5, 4], v = [1500, 1500, 2200]}",
    "shift": 'time = "4 ms"',
    "resample": 'dt = "5 ms"',
}
FEW = ("edit", "bandpass", "mute")
RTM = """
[data]
files = ["line.sgy"]
line = "2d"

[model]
vp = "vp.rsf"

[source]
wavelet = "file"
file = "wavelet.txt"
"""
KIRCHHOFF = """method = "kirchhoff"

[data]
files = ["line.sgy"]

[velocity]
v = {t = [0.0, 1.0, 4.0], value = [1500, 1750, 2200]}

[kirchhoff]
inline = {first = 1, last = 1}
crossline = {first = 1, last = 800}
corners = [[1, 1, 0, 0], [1, 2, 12.5, 0], [2, 1, 0, 12.5]]
aperture = 1500
"""
#: jobs by the names of their cases, and the steps on traces in front
JOBS = {
    "marine-steps": (RTM, FEW),
    "marine-all-steps": (RTM, tuple(STEPS)),
    "marine-time": (KIRCHHOFF, tuple(STEPS)),
}


def ricker(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the wavelet at times from its peak, s."""
    a = (np.pi * F0 * t) ** 2
    return np.asarray((1 - 2 * a) * np.exp(-a))


def shot(number: int) -> Shot:
    """Return a shot with its traces: events with hyperbolic moveout over weak noise."""
    offset = NEAR + GROUP * np.arange(CHANNELS)
    last = SPACING * (SHAPE[0] - 1)
    x = np.linspace(offset[-1] + 100.0, last - 100.0, SHOTS)[number]
    rcv = np.stack([x - offset, np.zeros(CHANNELS), np.full(CHANNELS, DEPTH)], axis=1)
    data = 1e-4 * np.random.default_rng(number).standard_normal((CHANNELS, TIME.nt))
    for amplitude, t0, v in EVENTS:
        t = np.hypot(t0, offset / v)
        data += (amplitude / np.maximum(t, 0.1))[:, None] * ricker(TIME.values() - t[:, None] - 1.5 / F0)
    return Shot(number + 1, np.array([x, 0.0, DEPTH]), rcv, data.astype(np.float32))


def write(folder: Path, name: str) -> Path:
    """Write model, wavelet, shots and job of a case of `JOBS`; return the job file."""
    text, steps = JOBS[name]
    z = SPACING * np.arange(SHAPE[1])
    vp = np.broadcast_to(np.interp(z, *zip(*LAYERS, strict=True)), SHAPE).astype(np.float32)
    volume.write(folder / "vp.rsf", Grid(SHAPE, (SPACING, SPACING)), vp)
    t = np.arange(0.0, 3.0 / F0, TIME.dt)
    rows = zip(t, ricker(t - 1.5 / F0), strict=True)
    (folder / "wavelet.txt").write_text("".join(f"{a:.6f} {b:.9e}\n" for a, b in rows))
    write_survey(folder / "line.sgy", Survey([shot(i) for i in range(SHOTS)], TIME, 2))
    listed = ", ".join(f'{{step = "{step}", {STEPS[step]}}}' for step in steps)
    job = folder / "job.toml"
    job.write_text(f"signal = [{listed}]\n" + text)
    return job
