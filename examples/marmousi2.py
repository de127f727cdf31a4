"""Marmousi-II from raw shots to an image: model, estimate the wavelet, condition, migrate, measure.

    python examples/marmousi2.py [--vp vp_marmousi-ii.segy] [--out docs/marmousi2.png] [--json]

Without `--vp` the model is `models/marmousi2_5m.npz` of the shared data. Runs the commands one would type (`subsalt
model`, `wavelet`, `migrate`); the results go to build/marmousi2, and what is there already is kept, so that a stopped
run goes on. The shots contain direct waves, ghosts and multiples of the sea surface; the migration knows neither
their wavelet nor the unsmoothed model. In the end the depths of known reflectors are measured in the image, as
`reflector_depths.py` says, beside what smoothing alone does to them: the rock above a jump becomes faster.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from marmousi_tti import picture
from numpy.typing import NDArray
from reflector_depths import Depths, Reflector, ideal_image, measure

from subsalt import Job
from subsalt.io.volumes import volume

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT / "examples" / "data"))
SHARED = DATA / "models" / "marmousi2_5m.npz"
OUT = ROOT / "build" / "marmousi2"
MODEL, MIGRATE = HERE / "marmousi2_model.toml", HERE / "marmousi2_migrate.toml"

#: jumps to faster rock that can be followed from trace to trace; at x = 11 km, between faults, none can
REFLECTORS = (
    Reflector("4100 m/s at x = 4 km", 4000.0, 2152.0),
    Reflector("3700 m/s at x = 7 km, rising", 7000.0, 1927.0),
    Reflector("3550 m/s at x = 13 km", 13000.0, 1662.0),
    Reflector("4000 m/s at x = 13 km", 13000.0, 2297.0),
    Reflector("3550 m/s at x = 14.5 km, crest", 14500.0, 1437.0),
)


def write_model(path: Path) -> None:
    """Write vp of Marmousi-II, as it is distributed or as shared, on the grid of the example."""
    vp = (
        f'{{ file = "{path}", key = "vp" }}'
        if path.suffix == ".npz"
        # the distributed file has no coordinates
        else f'{{ file = "{path}", unit = "km/s", spacing = [1.25, 1.25], origin = [0, 0] }}'
    )
    text = MODEL.read_text().replace('"../build/marmousi2/vp.rsf"', vp)
    job = OUT / "vp.toml"
    job.write_text(text + "\n[grid]\nspacing = 12.5\nshape = [1361, 281]\n")
    model = Job.from_toml(job).load_model()
    job.unlink()
    volume.write(OUT / "vp.rsf", model.grid, model.vp)


def moved(true: NDArray, smooth: NDArray, h: float, d: Depths) -> float:
    """Return how much deeper the smoothed velocities place a reflector, m: the same vertical time in both."""
    out = []
    for x, z in zip(d.x, d.true, strict=True):
        depth = h * np.arange(true.shape[1])
        times = [
            np.concatenate([[0.0], np.cumsum(0.5 * h * (1 / v[1:] + 1 / v[:-1]))])
            for v in (a[round(x / h)].astype(np.float64) for a in (true, smooth))
        ]
        out.append(np.interp(np.interp(z, depth, times[0]), times[1], depth) - z)
    return float(np.median(out))


def run(*words: str) -> float:
    """Run a command of subsalt; the first that fails ends the script. Return its wall time, s."""
    print("$ subsalt", *words, flush=True)
    begin = time.perf_counter()
    code = subprocess.run([sys.executable, "-m", "subsalt", *words]).returncode
    if code:
        sys.exit(code)
    return time.perf_counter() - begin


def main() -> None:
    """Model, estimate, migrate, measure, and print the table."""
    parser = argparse.ArgumentParser(description="Marmousi-II from raw shots to an image.")
    parser.add_argument("--vp", type=Path, default=SHARED, help="vp_marmousi-ii.segy as it is distributed")
    parser.add_argument("--out", type=Path, default=OUT / "image.png", help="picture to write")
    parser.add_argument("--json", action="store_true", help="one JSON object last")
    options = parser.parse_args()
    if not options.vp.is_file():
        raise SystemExit(
            f"skipped: {options.vp} is not there; name the file of Marmousi-II in --vp; python examples/data.py"
            " says where it comes from"
        )
    OUT.mkdir(parents=True, exist_ok=True)
    if not (OUT / "vp.rsf").is_file():
        write_model(options.vp.resolve())
    seconds = {
        "modelling": run("model", str(MODEL), "-o", str(OUT / "shots")),
        "wavelet": run("wavelet", str(MIGRATE), "-o", str(OUT / "wavelet.txt")),
        "migration": run("migrate", str(MIGRATE), "--run", str(OUT / "run")),
    }
    image, true = volume.read(OUT / "run" / "image.rsf"), volume.read(OUT / "vp.rsf")
    f0, h = float(Job.from_toml(MODEL).source.f0), true.grid.spacing[-1]
    vp, smooth = true.values, Job.from_toml(MIGRATE).load_model().vp
    found = measure(image.values, ideal_image(vp, np.zeros_like(vp), h, f0), h, vp, h, REFLECTORS, f0)
    expected = [moved(vp, smooth, h, d) for d in found]
    print(f"{'depth (m)':<32}{'true':>6}{'ideal':>8}{'smoothed':>10}{'error':>12}")
    for reflector, d, deeper in zip(REFLECTORS, found, expected, strict=True):
        error = f"{d.error:+.0f} ± {d.spread:.0f}"
        print(f"{reflector.name:<32}{np.median(d.true):6.0f}{d.overlap:+8.0f}{deeper:+10.0f}{error:>12}")
    picture({"Marmousi-II": image.values}, true.grid, {"Marmousi-II": found}, options.out)
    print("picture  ", options.out)
    if options.json:
        errors = [
            {"name": r.name, "error_m": d.error, "spread_m": d.spread, "smoothed_m": deeper}
            for r, d, deeper in zip(REFLECTORS, found, expected, strict=True)
        ]
        print(json.dumps({"seconds": {k: round(v, 1) for k, v in seconds.items()}, "reflectors": errors}))


if __name__ == "__main__":
    from subsalt.errors import SubsaltError

    try:
        main()
    except SubsaltError as e:
        raise SystemExit(f"{e.message}\n  fix: {e.fix}") from None
