"""Migrate the same shots in depth and in time, and compare where three reflectors stand.

    python examples/kirchhoff_against_rtm.py [FOLDER] [--out docs/kirchhoff-against-rtm.png]

makes one SEG-Y file in FOLDER (build/against-rtm): nine shots over a carpet of receivers, exact reflections in a medium
of 2000 m/s. ``subsalt migrate`` runs on it twice, with ``method = "rtm"`` and ``method = "kirchhoff"``. In a medium of
constant velocity a time image becomes a depth image by z = v t0 / 2: the peaks of both are printed, and the sections
drawn.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import subsalt
from subsalt.analytic import Plane, primaries
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import image_traces, volume
from subsalt.view import palettes, style

V, F0, H = 2000.0, 15.0, 12.5
#: points of the depth image along x, y, z
SHAPE = (81, 41, 65)
MIDDLE = (500.0, 250.0)
#: flat, dipping by 8 degrees along x, flat
REFLECTORS = [
    Plane(280.0, 0.2, origin=MIDDLE),
    Plane(470.0, -0.15, np.radians(8.0), np.pi / 2, MIDDLE),
    Plane(680.0, 0.2, origin=MIDDLE),
]
#: one wavelet for data and migration; the shots begin with it, so that reflections are late by its delay
WAVELET = subsalt.ricker(F0, 0.001)

RTM = f"""\
title = "three reflectors, reverse time migration"
[data]
files = ["shots.sgy"]
[model]
vp = "vp.rsf"
[source]
f0 = {F0:g}
[output]
formats = ["rsf"]
"""

KIRCHHOFF = f"""\
title = "three reflectors, Kirchhoff time migration"
method = "kirchhoff"
[data]
files = ["shots.sgy"]
fix = {{ delay = "{-1e3 * WAVELET.peak_time:g} ms" }} # the peak of the wavelet becomes time zero
[velocity]
v = {V:g}
[kirchhoff]
inline = {{ first = 21, last = 21 }} # the line y = 250 m
crossline = {{ first = 1, last = {SHAPE[0]} }}
corners = [[1, 1, 0, 0], [1, {SHAPE[0]}, {(SHAPE[0] - 1) * H:g}, 0], [{SHAPE[1]}, 1, 0, {(SHAPE[1] - 1) * H:g}]]
time = {{ first = 0, last = 0.88, step = 0.004 }}
stretch_mute = "off"
"""


def make(folder: Path) -> None:
    """Write shots, model and both jobs."""
    folder.mkdir(parents=True, exist_ok=True)
    x, y = (np.arange(0.0, (n - 1) * H + 1, 2 * H) for n in SHAPE[:2])
    carpet = np.array([(a, b, 0.0) for a in x for b in y])
    shots = [(a, b, 0.0) for a in (300.0, 500.0, 700.0) for b in (150.0, 250.0, 350.0)]
    survey = subsalt.Survey.from_arrays(shots, carpet, nt=250, dt=0.004)

    def traces(shot: subsalt.Shot) -> NDArray[np.float64]:
        return primaries(shot.src, shot.rcv, REFLECTORS, V, WAVELET, survey.time)

    write_survey(folder / "shots.sgy", survey, traces)
    grid = subsalt.Grid(SHAPE, (H, H, H))
    volume.write(folder / "vp.rsf", grid, np.full(SHAPE, V, np.float32))
    (folder / "depth.toml").write_text(RTM)
    (folder / "time.toml").write_text(KIRCHHOFF)


def sections(folder: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return both images of the line y = 250 m, (x, depth) and (x, time)."""
    depth = volume.read(folder / "depth.run" / "image.rsf").values[:, SHAPE[1] // 2]
    traces = image_traces.open_image_traces(folder / "time.run" / "image.sgy")
    time = [traces.gather(21, crossline)[1][0] for crossline in range(1, SHAPE[0] + 1)]
    return depth.astype(np.float64), np.asarray(time, np.float64)


def peak(trace: NDArray[np.float64], step: float, near: float, sign: float) -> float:
    """Return where a trace is largest within 60 m of a depth, between samples by its spectrum."""
    fine = 32
    dense = sign * np.fft.irfft(np.fft.rfft(trace), fine * len(trace))
    z = step / fine * np.arange(len(dense))
    return float(z[np.argmax(np.where(np.abs(z - near) <= 60.0, dense, -np.inf))])


def compare(depth: NDArray[np.float64], time: NDArray[np.float64]) -> list[dict[str, float]]:
    """Return the peaks of every reflector along the middle half of the line."""
    rows = []
    for k in range(20, 61, 5):
        for reflector in REFLECTORS:
            z = float(reflector.depth_at([H * k, MIDDLE[1]]))
            sign = np.sign(reflector.reflectivity)
            rtm, kirchhoff = peak(depth[k], H, z, sign), peak(time[k], V * 0.004 / 2, z, sign)
            rows.append({"x": H * k, "depth": z, "rtm": rtm, "kirchhoff": kirchhoff})
    return rows


def draw(depth: NDArray[np.float64], time: NDArray[np.float64], path: Path) -> None:
    """Draw both sections, and a trace of each."""
    x, bottom = H * (SHAPE[0] - 1), H * (SHAPE[2] - 1)
    with style.page(
        path, (10.0, 4.2), title="Three reflectors at constant velocity, migrated twice"
    ) as figure:
        axes = figure.subplots(1, 3, sharey=True, width_ratios=(1, 1, 0.5))
        images = ((depth, bottom, "reverse time migration"), (time, V * 0.88 / 2, "Kirchhoff, z = v t0 / 2"))
        for a, (image, end, title) in zip(axes, images, strict=False):
            a.imshow(
                image.T,
                extent=(0, x, end, 0),
                vmin=-0.25,
                vmax=0.25,
                cmap=palettes.palette("grey"),
                aspect="auto",
            )
            for reflector in REFLECTORS:
                line = reflector.depth_at([(0.0, MIDDLE[1]), (x, MIDDLE[1])])
                a.plot((0, x), line, color=palettes.MARK, lw=0.6, ls=(0, (4, 6)))
            a.set(title=title, xlabel="x (m)", xticks=range(0, 1000, 200), ylim=(bottom, 0), xlim=(0, x))
        middle = SHAPE[0] // 2
        axes[2].plot(depth[middle], H * np.arange(depth.shape[1]), label="RTM", color=palettes.RECEIVER)
        axes[2].plot(
            time[middle], V * 0.002 * np.arange(time.shape[1]), label="Kirchhoff", color=palettes.MARK
        )
        axes[2].set(title="x = 500 m", xlabel="reflectivity")
        axes[2].legend(loc="upper left")
        figure.subplots_adjust(left=0.07, right=0.99, bottom=0.12, top=0.92, wspace=0.12)
        axes[0].set_ylabel("depth (m)")


def main() -> None:
    """Make, migrate, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/against-rtm"))
    parser.add_argument("--out", type=Path, help="where the picture goes; FOLDER/sections.png")
    parser.add_argument("--json", action="store_true", help="print the peaks as one JSON object, last")
    asked = parser.parse_args()
    make(asked.folder)
    for job in ("depth.toml", "time.toml"):
        subprocess.run([sys.executable, "-m", "subsalt", "migrate", job], cwd=asked.folder, check=True)
    depth, time = sections(asked.folder)
    rows = compare(depth, time)
    draw(depth, time, asked.out or asked.folder / "sections.png")
    print(f"{'x m':>7}{'depth m':>10}{'RTM m':>9}{'Kirchhoff m':>13}{'apart m':>9}")
    for r in rows:
        apart = r["kirchhoff"] - r["rtm"]
        print(f"{r['x']:>7.1f}{r['depth']:>10.1f}{r['rtm']:>9.1f}{r['kirchhoff']:>13.1f}{apart:>9.1f}")
    if asked.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
