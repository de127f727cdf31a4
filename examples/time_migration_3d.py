"""Make a small 3-D survey over a flat reflector, a dipping one and a point, and migrate it in time.

    python examples/time_migration_3d.py [FOLDER]

leaves in FOLDER (build/time3d) the shots, a job, its run with pictures and report, and prints where the image has the
two reflectors and the point, and with which amplitude, beside what is exact.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

import subsalt
from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.analytic import Diffractor, Plane, primaries
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes.time_image import open_image_traces

SPEED = 2000.0
F0 = 30.0
TIME = TimeAxis(300, 0.004)
FLAT = Plane(depth=900.0, reflectivity=0.1)
# goes down to the east by 15 degrees
DIPPING = Plane(depth=500.0, reflectivity=0.1, dip=np.deg2rad(15), azimuth=np.pi / 2, origin=(500.0, 500.0))
POINT = Diffractor((500.0, 500.0, 300.0), strength=0.2)
#: inline and crossline numbers of the image, 25 m apart
FIRST, LAST, BIN = 1, 41, 25.0

JOB = """\
# 3-D prestack time migration of the made survey: every choice that is not here has its default.
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
    """Return shots along 16 sail lines, each heard on 4 cables of 14 receivers: every class fills every bin once."""
    shots, positions = [], []
    for y in 37.5 + 100.0 * np.arange(-3, 13):
        for x in np.arange(-600.0, 1301.0, 50.0):
            rcv = np.array(
                [(x + 50.0 * k, y + c, 0.0) for c in (-75.0, -25.0, 25.0, 75.0) for k in range(1, 15)]
            )
            positions.append(((x, y, 0.0), rcv))
    wavelet = subsalt.ricker(F0, 0.001, delay=0.0)
    for n, (src, rcv) in enumerate(positions, 1):
        traces = primaries(src, rcv, [FLAT, DIPPING, POINT], SPEED, wavelet, TIME)
        shots.append(Shot(n, np.array(src), rcv, traces.astype(np.float32)))
    return Survey(shots, TIME)


def picked(traces, inline: int, crossline: int, near: float) -> tuple[float, float]:
    """Return time and value of the largest sample within 40 ms, through a parabola."""
    a = traces.gather(inline, crossline)[1][0]
    k0 = round(near / TIME.dt)
    k = k0 - 10 + int(np.argmax(a[k0 - 10 : k0 + 11]))
    left, top, right = (float(v) for v in a[k - 1 : k + 2])
    shift = 0.5 * (left - right) / (left - 2 * top + right)
    return TIME.dt * (k + shift), top - 0.25 * (left - right) * shift


def main(folder: Path) -> None:
    """Make the survey, migrate it with the command, and compare with what is exact."""
    folder.mkdir(parents=True, exist_ok=True)
    write_survey(folder / "shots.sgy", survey(), per_shot=False)
    (folder / "time3d.toml").write_text(JOB, encoding="utf-8")
    for words in (["check"], ["migrate"]):
        subprocess.run([sys.executable, "-m", "subsalt", *words, "time3d.toml"], cwd=folder, check=True)
    image = open_image_traces(folder / "time3d.run" / "image.sgy")
    print(f"{'':<34} {'time':>8} {'exact':>8}   {'value':>7} {'exact':>7}")
    for inline, crossline in ((21, 21), (13, 29)):
        x, y = BIN * (crossline - 1), BIN * (inline - 1)
        # at constant velocity the image lies at the two-way time to the reflector straight below
        depth = float(DIPPING.depth_at([(x, y)])[0])
        for name, t0, r in (("flat", 2 * FLAT.depth / SPEED, 0.1), ("dipping", 2 * depth / SPEED, 0.1)):
            t, a = picked(image, inline, crossline, t0)
            print(
                f"{name:<8} at inline {inline}, crossline {crossline}  {t:8.4f} {t0:8.4f}   {a:7.4f} {r:7.4f}"
            )
    t, _ = picked(image, 21, 21, 2 * POINT.position[2] / SPEED)
    print(f"{'point':<8} at inline 21, crossline 21  {t:8.4f} {2 * POINT.position[2] / SPEED:8.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/time3d"))
