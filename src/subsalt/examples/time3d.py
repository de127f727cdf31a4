"""A 3-D survey for time migration: traces of a flat reflector, a dipping one and a point, exact to the last sample.

Velocity is constant, so that the image lies at the two-way time to the reflector straight below, and every amplitude
is known.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.analytic import Diffractor, Plane, primaries
from subsalt.examples.example import Example
from subsalt.io.publish import publish_text
from subsalt.io.segy.writing import write_survey

SPEED = 2000.0
F0 = 30.0
TIME = TimeAxis(300, 0.004)
FLAT = Plane(depth=900.0, reflectivity=0.1)
# goes down to the east by 15 degrees
DIPPING = Plane(depth=500.0, reflectivity=0.1, dip=np.deg2rad(15), azimuth=np.pi / 2, origin=(500.0, 500.0))
POINT = Diffractor((500.0, 500.0, 300.0), strength=0.2)
#: between neighbouring traces of the image, m
BIN = 25.0
#: shots along a sail line, and sail lines, of the survey that fills every class of offsets in every bin once
ALONG, LINES = 39, 16

JOB = """\
# 3-D prestack time migration: every choice that is not here has its default.
method = "kirchhoff"
title = "two reflectors and a point"

[data]
files = "shots.sgy"

[velocity]
v = 2000 # m/s; a file of pairs, a SEG-Y or RSF volume otherwise

[kirchhoff]
inline = { first = 1, last = 41 }
crossline = { first = 1, last = 41 }
corners = [[1, 1, 0, 0], [1, 41, 1000, 0], [41, 1, 0, 1000]] # inline, crossline, x, y
gathers = "offset"
offset = { first = 100, last = 700, step = 100 }
dip = 60
"""


def survey() -> Survey:
    """Return shots along 16 sail lines, each heard on 4 cables of 14 receivers."""
    shots, positions = [], []
    for y in 37.5 + 100.0 * np.arange(-3, LINES - 3):
        for x in -600.0 + 50.0 * np.arange(ALONG):
            rcv = np.array(
                [(x + 50.0 * k, y + c, 0.0) for c in (-75.0, -25.0, 25.0, 75.0) for k in range(1, 15)]
            )
            positions.append(((x, y, 0.0), rcv))
    wavelet = ricker(F0, 0.001, delay=0.0)
    for n, (src, rcv) in enumerate(positions, 1):
        traces = primaries(src, rcv, [FLAT, DIPPING, POINT], SPEED, wavelet, TIME)
        shots.append(Shot(n, np.array(src), rcv, traces.astype(np.float32)))
    return Survey(shots, TIME)


def make(folder: Path, shots: int) -> None:
    """Write shots and job into a folder that is there."""
    write_survey(folder / "shots.sgy", survey(), per_shot=False)
    publish_text(folder / "time3d.toml", JOB)


EXAMPLE = Example(
    summary="a 3-D survey over a flat reflector, a dipping one and a point, for time migration",
    make=make,
    shots=ALONG * LINES,
    most=ALONG * LINES,
    files={
        "shots.sgy": "34,944 traces on 4 cables, offsets 56 to 704 m, 1.2 s at 4 ms",
        "time3d.toml": "the job: velocity, output grid, gathers by offset",
    },
    truth="2000 m/s; the flat reflector at 0.9 s with a coefficient of 0.1, the dipping one (15 degrees) at 0.5 s "
    "in the middle, the point at 0.3 s below inline 21, crossline 21",
    commands=("subsalt check time3d.toml", "subsalt migrate time3d.toml", "subsalt view time3d.run"),
)
