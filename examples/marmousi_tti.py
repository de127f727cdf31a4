"""What the tilt is worth: one TTI data set, migrated with the tilted axis and with an upright one, depth by depth.

    python examples/marmousi_tti.py [--out docs/marmousi_tti.png] [--json]

Runs the commands one would type (`subsalt model`, then `subsalt migrate` twice; the results go to
build/marmousi_tti, and what is there already is kept), measures three reflectors in both images as
`reflector_depths.py` says, and draws the images. Without the model's file it says so and stops.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from reflector_depths import Depths, Reflector, ideal_image, measure, sharpened

from subsalt import Job
from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from subsalt.view.style import clip_limit

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT / "examples" / "data"))
MODEL = DATA / "models" / "marmousi_tti_12p5m.npz"
OUT = ROOT / "build" / "marmousi_tti"
JOBS = {"TTI": "marmousi_tti_migrate.toml", "VTI": "marmousi_tti_migrate_vti.toml"}
TITLES = {"TTI": "tilted axis (TTI)", "VTI": "upright axis (VTI), all else the same"}
RED = "#d81e1e"

#: jumps to faster rock at which the peak of the ideal image can be followed from trace to trace
REFLECTORS = (
    Reflector("thrusted fast layer, dips 40 degrees", 2000.0, 844.0),
    Reflector("unconformity below the thrusts", 2200.0, 1494.0),
    Reflector("anticline below the thrusts", 3200.0, 1981.0),
)


def run() -> dict[str, Path]:
    """Model the shots, migrate them in both media, and return the images; stops at the first failure."""
    subsalt = str(Path(sys.executable).with_name("subsalt"))
    runs = {name: OUT / f"{name.lower()}.run" for name in JOBS}
    commands = [[subsalt, "model", str(HERE / "marmousi_tti_model.toml"), "-o", str(OUT / "shots")]]
    commands += [
        [subsalt, "migrate", str(HERE / JOBS[n]), "--run", str(folder)] for n, folder in runs.items()
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    for command in commands:
        print("$", " ".join(command), flush=True)
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)
    return {name: folder / "image.rsf" for name, folder in runs.items()}


def table(found: dict[str, list[Depths]]) -> str:
    """Return the errors of depth as a table; the spread over the traces behind each."""
    lines = [f"{'depth (m)':<41}{'true':>6}{'ideal':>8}" + "".join(f"{n + ' error':>14}" for n in found)]
    for i, reflector in enumerate(REFLECTORS):
        any_ = next(iter(found.values()))[i]
        cells = [f"{d[i].error:+.0f} ± {d[i].spread:.0f}" for d in found.values()]
        row = f"{i + 1}  {reflector.name:<38}{np.median(any_.true):6.0f}{any_.overlap:+8.0f}"
        lines.append(row + "".join(f"{c:>14}" for c in cells))
    return "\n".join(lines)


def picture(images: dict[str, NDArray], grid: Grid, found: dict[str, list[Depths]], path: Path) -> None:
    """Draw the images one above the other at one scale, with the depths of the reflectors in the ideal image."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    h = grid.spacing[-1]
    sharp = {n: sharpened(a, h) for n, a in images.items()}
    # deep reflectors set the scale, not the strong shallow ones
    clip = clip_limit(next(iter(sharp.values()))[:, round(800 / h) :], 99.0)
    extent = (0, 1e-3 * h * (grid.shape[0] - 1), 1e-3 * h * (grid.shape[1] - 1), 0)
    height = 1.1 + 9.24 * grid.shape[1] / grid.shape[0]
    fig, axes = plt.subplots(len(images), 1, figsize=(10, height * len(images)), sharex=True, squeeze=False)
    for ax, (name, a) in zip(axes[:, 0], sharp.items(), strict=True):
        ax.imshow(
            a.T, cmap="gray_r", vmin=-clip, vmax=clip, extent=extent, aspect="equal", interpolation="bilinear"
        )
        for number, d in enumerate(found[name], 1):
            ax.plot(1e-3 * d.x, 1e-3 * d.ideal, color=RED, lw=1.5)
            ax.annotate(
                f"{number}: {d.error:+.0f} m",
                (1e-3 * d.x[0], 1e-3 * d.ideal[0]),
                xytext=(-6, 8),
                textcoords="offset points",
                ha="right",
                color=RED,
                fontsize=10,
                fontweight="bold",
                bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5},
            )
        ax.set_ylabel("depth (km)")
        ax.set_title(TITLES.get(name, name), loc="left", fontsize=11)
    axes[-1, 0].set_xlabel("x (km)")
    fig.tight_layout()
    fig.savefig(path, dpi=80, metadata={"Software": None})
    plt.close(fig)


def main() -> None:
    """Run, measure, print the table, and draw."""
    parser = argparse.ArgumentParser(
        description="Migrate TTI data with the tilted axis and with an upright one."
    )
    parser.add_argument("--out", type=Path, default=OUT / "comparison.png", help="picture to write")
    parser.add_argument("--json", action="store_true", help="one JSON object last")
    options = parser.parse_args()
    if not MODEL.is_file():
        raise SystemExit(f"skipped: {MODEL} is not there; python examples/data.py says where it comes from")
    images = {name: volume.read(path) for name, path in run().items()}
    # the job of the modelling knows model, grid and wavelet
    job = Job.from_toml(HERE / "marmousi_tti_model.toml")
    true, f0 = job.load_model(), float(job.source.f0)
    h = true.grid.spacing[-1]
    assert true.theta is not None
    ideal = ideal_image(true.vp, true.theta, h, f0)
    with np.load(MODEL) as f:
        vp, spacing = f["vp"], float(f["spacing_m"][0])
    found = {n: measure(v.values, ideal, h, vp, spacing, REFLECTORS, f0) for n, v in images.items()}
    print(table(found))
    picture({n: v.values for n, v in images.items()}, true.grid, found, options.out)
    print("picture  ", options.out)
    if options.json:
        errors = {n: [{"error_m": d.error, "spread_m": d.spread} for d in ds] for n, ds in found.items()}
        print(json.dumps({"reflectors": [r.name for r in REFLECTORS], "errors": errors}))


if __name__ == "__main__":
    from subsalt.errors import SubsaltError

    try:
        main()
    except SubsaltError as e:
        raise SystemExit(f"{e.message}\n  fix: {e.fix}") from None
