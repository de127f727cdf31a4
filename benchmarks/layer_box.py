"""A box with a layer whose velocity is 4 % too high: a depth scan in 3-D finds it by one command, and the update.

    python benchmarks/layer_box.py [FOLDER]

The layers of `subsalt example layer` below a line of shots along x, with receivers in a patch around it: offsets to
2 km along x and 700 m across, where traces fade towards both sides; 10 % white noise. Waves of 11 Hz on points 20 m
apart. Makes the box in FOLDER (build/box), scans the velocity of the layer, and migrates with the updated and with the
true velocity. The last line is a JSON with the planted and the found error. What is in the folder already is kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.api import forward
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.examples.layer import ERROR, NOISE, TOPS, VELOCITIES, depth_of_base
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume

H, F0, NT, DT = 20.0, 11.0, 801, 0.002
GRID = Grid((161, 71, 69), (H, H, H))
#: shots along x, and receivers along x and y about the middle, m
SHOTS = np.arange(550.0, 2651.0, 150.0)
OFFSET, ACROSS, GROUP = 2000.0, 700.0, 40.0
#: distance across from which on traces fade towards both sides of the patch, m: its ends would bend events
FADE = 200.0
#: columns from one gather to the next: eight lines of places, one of them below the shots
EVERY = 5

JOB = """\
title = "a layer that is 4 % too fast, in 3-D"

[data]
files = "box.sgy"
first_breaks = "ignore"

[model]
vp = "{vp}"

[source]
f0 = 11

[propagation]
grid = "model"
layer = 8

[imaging]
condition = "cross-correlation"
filter = "laplacian"
{gathers}
[output]
pictures = false
"""
GATHERS = f'gathers = {{ kind = "angle", max = 300, every = {EVERY}, angle = "38 deg" }}\n'


def velocity(error: float = 1.0, count: int = 4) -> np.ndarray:
    """Return the velocity of the first layers, the last of which goes on; that of the second times `error`."""
    values = (np.array(VELOCITIES) * [1.0, error, 1.0, 1.0])[:count]
    column = values[np.searchsorted(np.array(TOPS[: count - 1]), GRID.axis(2), side="right")]
    return np.broadcast_to(column.astype(np.float32), GRID.shape).copy()


def survey() -> Survey:
    """Return the traces, without direct waves, with white noise."""
    middle = 0.5 * GRID.last[1]
    xs, ys = np.arange(0.0, GRID.last[0] + 1, GROUP), np.arange(middle - ACROSS, middle + ACROSS + 1, GROUP)
    shots = []
    for number, at in enumerate(SHOTS, start=1):
        near = xs[np.abs(xs - at) <= OFFSET]
        x, y = (a.ravel() for a in np.meshgrid(near, ys, indexing="ij"))
        rcv = np.stack([x, y, np.full(len(x), H)], axis=1)
        shots.append(Shot(number, np.array([at, middle, H]), rcv))
    empty = Survey(shots, TimeAxis(NT, DT), 3)
    layers, alone = (
        forward(EarthModel(GRID, vp=v), empty, ricker(F0, DT), grid="model", layer=8).survey.shots
        for v in (velocity(), velocity(count=1))
    )
    clean = [
        (np.asarray(a.data, np.float64) - b.data) * _fading(np.abs(a.rcv[:, 1] - middle))[:, None]
        for a, b in zip(layers, alone, strict=True)
    ]
    rms = np.sqrt(np.mean([np.mean(c**2) for c in clean]))
    rng = np.random.default_rng(42)
    noisy = [
        replace(s, data=(c + NOISE * rms * rng.standard_normal(c.shape)).astype(np.float32))
        for s, c in zip(shots, clean, strict=True)
    ]
    return replace(empty, shots=noisy)


def _fading(across: np.ndarray) -> np.ndarray:
    """Return the weight of traces by their distance from the line of the shots: a quarter of a cosine, squared."""
    part = np.clip((across - FADE) / (ACROSS - FADE), 0.0, 1.0)
    return np.cos(0.5 * np.pi * part) ** 2


def make(folder: Path) -> None:
    """Write survey, models, mask and job."""
    folder.mkdir(parents=True, exist_ok=True)
    write_survey(folder / "box.sgy", survey())
    volume.write(folder / "vp.rsf", GRID, velocity(ERROR))
    volume.write(folder / "vp_true.rsf", GRID, velocity())
    z = GRID.axis(2)
    inside = np.broadcast_to((z >= TOPS[0]) & (z < TOPS[1]), GRID.shape)
    volume.write(folder / "layer.rsf", GRID, inside.astype(np.float32))
    (folder / "box.toml").write_text(JOB.format(vp="vp.rsf", gathers=GATHERS))


def call(*words: str | Path) -> str:
    """Run a subsalt command, and return what it prints; its exit code ends this one where it fails."""
    command = [str(Path(sys.executable).with_name("subsalt")), *map(str, words)]
    print("$", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


def base_in(run: Path) -> float:
    """Return the depth, m, of the image of the base of the layer in the middle."""
    image = volume.read(run / "image.sgy").values
    return depth_of_base(image[GRID.shape[0] // 2, GRID.shape[1] // 2], H)


def main() -> None:
    """Make the box, scan, update, migrate again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/box"))
    folder, begun = parser.parse_args().folder, time.monotonic()
    if not (folder / "box.toml").is_file():
        make(folder)
    job, mask = folder / "box.toml", folder / "layer.rsf"
    words = ("vscan", job, "0.94:1:0.02", "--mask", mask, "--update", "--at", "1600,700", "--json")
    said = json.loads(call(*words).splitlines()[-1])
    # the depth of the base needs the image alone
    for name, vp in (("updated", "box_layer.vscan/vp_updated.rsf"), ("true", "vp_true.rsf")):
        (folder / f"{name}.toml").write_text(JOB.format(vp=vp, gathers=""))
        call("migrate", folder / f"{name}.toml")
    places = list(zip(said["x_m"], said["y_m"], said["best_scale"], strict=True))
    middle = 0.5 * GRID.last[0], 0.5 * GRID.last[1]
    # where the widest angles come from both sides, on the line of the shots
    inner = [s[0] for x, y, s in places if abs(x - middle[0]) <= 300 and y == middle[1] and s[0] is not None]
    scale = float(np.median(inner))
    depths = {n: base_in(folder / f"{n}.run") for n in ("updated", "true")}
    depths["given"] = base_in(folder / "box_layer.vscan" / "scale_1.run")
    result = {
        "planted_error": ERROR - 1,
        "found_error": 1 / scale - 1,
        "off_by": 1 / scale / ERROR - 1,
        "places": [[x, y, s[0]] for x, y, s in places],
        "depth_of_base_m": depths,
        "depth_off_by": depths["updated"] / depths["true"] - 1,
        "seconds": round(time.monotonic() - begun),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
