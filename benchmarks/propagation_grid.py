"""How much faster is a migration on the grid that its band needs, and how close is its image to that of a fine grid?

    python benchmarks/propagation_grid.py FOLDER [--rounds 3] [--json FILE]

A 3-D model of two dipping interfaces and a flat one, on a grid of 12 m, on which Taylor weights of order 8 have 5
points per shortest wavelength; two shots over an areal spread, modelled with order 16 on 8 m; migrated in a smooth
velocity. Sides take turns: Taylor weights on the grid of the model, fitted weights there, and fitted weights on the
grid that `[propagation] grid = "auto"` chooses. Timed is the whole `subsalt migrate`, from a new process to its
report. Errors are relative L2 of the image below 225 m, 12 points from the sides, against that of a migration with
order 16 on 8 m, and the mean of the depths of the peaks of three reflectors against the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

sys.path.insert(0, str(Path(__file__).parent))

from facts import machine, spread

from subsalt import Grid
from subsalt.io.volumes import volume
from subsalt.kernels import cores

F0, SPACING, MUTE = 12.0, 12.0, 150.0
GRID = Grid((151, 131, 115), (SPACING,) * 3)
#: depth at the middle, and slope along x and y, of the interfaces; velocity below each
INTERFACES = {"upper": (350.0, 0.10, 0.05), "lower": (700.0, -0.15, 0.0), "flat": (1080.0, 0.0, 0.0)}
VELOCITIES = (1800.0, 2000.0, 2250.0, 2500.0)
SIDES = {
    "Taylor, model's grid": 'stencil = "taylor"\ngrid = "model"',
    "fitted, model's grid": 'stencil = "fitted"\ngrid = "model"',
    "fitted, auto": 'stencil = "fitted"\ngrid = "auto"',
}
FINE = 'stencil = "taylor"\norder = 16\ngrid = 8'

MODEL = """\
[model]
vp = "true.rsf"
[source]
f0 = {f0:g}
[propagation]
{how}
[acquisition]
shots = {{first = [780, 780, 24], last = [1020, 780, 24], n = 2}}
receivers = {{first = [100, 80, 24], last = [1700, 1480, 24], n = [33, 29]}}
record_length = 1.5
dt = 0.004
"""
MIGRATE = """\
[data]
files = ["shots/*.sgy"]
[model]
vp = "smooth.rsf"
[source]
f0 = {f0:g}
[propagation]
{how}
[imaging]
top_mute = {mute:g}
[output]
formats = ["rsf"]
pictures = false
"""


def interface(name: str) -> np.ndarray:
    """Return the depth of an interface, m, (nx, ny)."""
    depth, along, across = INTERFACES[name]
    x, y = GRID.axis(0)[:, None] - 900.0, GRID.axis(1)[None] - 780.0
    return depth + along * x + across * y


def write_model(folder: Path) -> None:
    """Write the model and its smooth version."""
    z = GRID.axis(2)
    vp = np.full(GRID.shape, VELOCITIES[0])
    for name, below in zip(INTERFACES, VELOCITIES[1:], strict=True):
        # of a cell that an interface cuts, the mean of 1 / v^2: sampling moves it by up to half a cell
        part = np.clip((z - interface(name)[..., None]) / SPACING + 0.5, 0.0, 1.0)
        vp = 1.0 / np.sqrt((1 - part) / vp**2 + part / below**2)
    volume.write(folder / "true.rsf", GRID, vp.astype(np.float32), name="vp")
    smooth = 1.0 / gaussian_filter(1.0 / vp, 5.0)
    volume.write(folder / "smooth.rsf", GRID, smooth.astype(np.float32), name="vp")


def subsalt(folder: Path, *words: str) -> float:
    """Run the command; return its seconds."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "subsalt", *words],
        cwd=folder,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
    )
    return time.perf_counter() - begin


def migrated(folder: Path, name: str, how: str) -> tuple[float, np.ndarray, dict[str, Any]]:
    """Migrate anew; return seconds, image and run.json."""
    job, run = folder / f"{name}.toml", folder / f"{name}.run"
    job.write_text(MIGRATE.format(f0=F0, how=how, mute=MUTE))
    shutil.rmtree(run, ignore_errors=True)
    seconds = subsalt(folder, "migrate", job.name)
    return seconds, volume.read(run / "image.rsf").values, json.loads((run / "run.json").read_text())


def depth_error(image: np.ndarray, name: str) -> float:
    """Return the mean of peak depth minus true depth, m, under the middle of the spread."""
    truth, h, errors = interface(name), GRID.spacing[2], []
    for ix in range(65, 86, 4):
        for iy in range(57, 74, 4):
            near = round(float(truth[ix, iy]) / h)
            k = near - 4 + int(np.argmax(image[ix, iy, near - 4 : near + 5]))
            a, b, c = (float(v) for v in image[ix, iy, k - 1 : k + 2])
            errors.append(h * (k + 0.5 * (a - c) / (a - 2 * b + c)) - truth[ix, iy])
    return float(np.mean(errors))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_model(folder)
    if not (folder / "shots").exists():
        (folder / "model.toml").write_text(MODEL.format(f0=F0, how=FINE))
        subsalt(folder, "model", "model.toml", "-o", "shots")
    if not (folder / "fine.run" / "image.rsf").exists():
        print(f"fine grid (order 16, 8 m): {migrated(folder, 'fine', FINE)[0]:.1f} s")
    fine = volume.read(folder / "fine.run" / "image.rsf").values
    inside = (slice(12, -12), slice(12, -12), slice(round(MUTE * 1.5 / SPACING), -12))
    done: dict[str, list[float]] = {name: [] for name in SIDES}
    rows: dict[str, dict[str, Any]] = {}
    for i in range(given.rounds):
        for name in list(SIDES) if i % 2 == 0 else list(reversed(SIDES)):
            seconds, image, facts = migrated(folder, "side", SIDES[name])
            done[name].append(seconds)
            by_name = {
                "grid": facts["grid"]["shape"],
                "spacing": facts["grid"]["spacing"][0],
                "dt": facts["dt"],
                "point_steps": facts["grid_point_steps"],
                "peak_gb": facts["peak_memory_bytes"] / 1e9,
                "image_error": float(np.linalg.norm((image - fine)[inside]) / np.linalg.norm(fine[inside])),
                "depth_errors": {n: depth_error(image, n) for n in INTERFACES},
            }
            rows.setdefault(name, by_name)
    first = done[next(iter(SIDES))]
    print("depth errors of the fine grid: " + _depths({n: depth_error(fine, n) for n in INTERFACES}))
    print("side                    spacing        s  ratio     GB  image error %  depth errors, m")
    for name, row in rows.items():
        row |= {
            "seconds": median(done[name]),
            "spread": spread(done[name]),
            "ratio": median(a / b for a, b in zip(first, done[name], strict=True)),
        }
        print(
            f"{name:22s}{row['spacing']:9.3g}{row['seconds']:9.2f}{row['ratio']:7.2f}{row['peak_gb']:7.2f}"
            f"{100 * row['image_error']:15.2f}  {_depths(row['depth_errors'])}"
        )
    out = {"machine": machine(cores()), "rounds": given.rounds, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(out, indent=1) + "\n")
    print(json.dumps(out))


def _depths(errors: dict[str, float]) -> str:
    return ", ".join(f"{name} {e:+.2f}" for name, e in errors.items())


if __name__ == "__main__":
    main()
