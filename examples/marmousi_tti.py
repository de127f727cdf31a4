"""What the tilt is worth: one TTI data set, migrated with the tilted axis and with an upright one, depth by depth.

    python examples/marmousi_tti.py [--out docs/marmousi_tti.png] [--json]

Runs the commands one would type (`subsalt model`, then `subsalt migrate` twice; the results go to
build/marmousi_tti, and what is there already is kept), then measures both images at three reflectors of the
model. Without the model's file it says so and stops.

A reflector is a jump of vp that is followed along the line for `REACH` metres to both sides. On each trace the
image, filtered by minus the Laplacian of a Gaussian of `SIGMA` metres, has its largest peak within half a
wavelength (v above the jump over f0) of the true depth; peak depth minus true depth is the error of that trace.
The table gives the median over the traces and half of the range that holds two thirds of them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from subsalt import view
from subsalt.grid import Grid
from subsalt.io import volume

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DATA = Path(os.environ.get("SUBSALT_SHARED_DATA", ROOT.parent / "shared" / "data"))
MODEL = DATA / "models" / "marmousi_tti_12p5m.npz"
OUT = ROOT / "build" / "marmousi_tti"
F0 = 15.0  # Hz, as in the job files
SIGMA = 16.0  # m
REACH = 100.0  # m


@dataclass(frozen=True)
class Reflector:
    """A place at which vp jumps upwards: its name, and one point near it, m."""

    name: str
    x: float
    z: float


#: chosen on the model, before there was an image: strong jumps to faster rock, away from others by half a wavelength
REFLECTORS = (
    Reflector("fast layer on the left, flat", 800.0, 1306.0),
    Reflector("unconformity below the thrusts", 2200.0, 1494.0),
    Reflector("anticline below the thrusts", 3200.0, 1819.0),
)


@dataclass(frozen=True)
class Depths:
    """True and imaged depth of a reflector along the line, m."""

    x: NDArray[np.float64]
    true: NDArray[np.float64]
    imaged: NDArray[np.float64]

    @property
    def error(self) -> float:
        """Median of imaged minus true depth, m."""
        return float(np.median(self.imaged - self.true))

    @property
    def spread(self) -> float:
        """Half of the range that holds two thirds of the errors, m."""
        low, high = np.percentile(self.imaged - self.true, (100 / 6, 500 / 6))
        return float(high - low) / 2


def run() -> dict[str, Path]:
    """Model the shots, migrate them in both media, and return the run directories; stops at the first failure."""
    subsalt = str(Path(sys.executable).with_name("subsalt"))
    runs = {"TTI": OUT / "tti.run", "VTI": OUT / "vti.run"}
    jobs = {"TTI": "marmousi_tti_migrate.toml", "VTI": "marmousi_tti_migrate_vti.toml"}
    commands = [[subsalt, "model", str(HERE / "marmousi_tti_model.toml"), "-o", str(OUT / "shots")]]
    commands += [
        [subsalt, "migrate", str(HERE / jobs[n]), "--run", str(folder)] for n, folder in runs.items()
    ]
    OUT.mkdir(parents=True, exist_ok=True)
    for command in commands:
        print("$", " ".join(command), flush=True)
        code = subprocess.run(command).returncode
        if code:
            sys.exit(code)
    return runs


def follow(vp: NDArray, spacing: float, reflector: Reflector) -> tuple[NDArray, NDArray, float]:
    """Return x and depth of a reflector, m, along the traces within `REACH`, and the velocity above it, m/s."""
    jump = np.diff(np.log(vp.astype(np.float64)), axis=1)
    centre, n = round(reflector.x / spacing), int(REACH / spacing)
    # depth index of the interval in which vp jumps, from trace to trace at most two cells away
    at = {centre: round(reflector.z / spacing - 0.5)}
    for step in (1, -1):
        for i in range(centre, centre + step * n, step):
            low = at[i] - 2
            at[i + step] = low + int(np.argmax(jump[i + step, low : low + 5]))
    traces = sorted(at)
    depth = spacing * (np.array([at[i] for i in traces]) + 0.5)
    above = float(np.mean([vp[i, at[i]] for i in traces]))
    return spacing * np.array(traces, dtype=np.float64), depth, above


def peak_depth(trace: NDArray[np.float64], spacing: float, depth: float, reach: float) -> float:
    """Return the depth, m, of the largest value within `reach` of `depth`, by a parabola through three samples."""
    low, high = (
        max(1, round((depth - reach) / spacing)),
        min(len(trace) - 2, round((depth + reach) / spacing)),
    )
    k = low + int(np.argmax(trace[low : high + 1]))
    a, b, c = trace[k - 1 : k + 2]
    bend = a - 2 * b + c
    return float(spacing * (k + (0.5 * (a - c) / bend if bend < 0 else 0.0)))


def measure(image: NDArray, grid: Grid, vp: NDArray, spacing: float) -> list[Depths]:
    """Return the depths of all reflectors in an image; `vp` is the true model, on its own grid of `spacing` m."""
    h = grid.spacing[-1]
    sharp = -ndimage.gaussian_laplace(image.astype(np.float64), SIGMA / h)
    out = []
    for reflector in REFLECTORS:
        x, depth, above = follow(vp, spacing, reflector)
        traces = [sharp[round((xi - grid.origin[0]) / h)] for xi in x]
        half = 0.5 * above / F0
        found = [peak_depth(t, h, z, half) for t, z in zip(traces, depth, strict=True)]
        out.append(Depths(x, depth, np.array(found)))
    return out


def picture(images: dict[str, NDArray], grid: Grid, found: dict[str, list[Depths]], path: Path) -> None:
    """Draw the images one above the other at one scale, with the true depths of the reflectors."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    sharp = {
        n: -ndimage.gaussian_laplace(a.astype(np.float64), SIGMA / grid.spacing[-1])
        for n, a in images.items()
    }
    first = next(iter(sharp.values()))
    clip = view.style.clip_limit(first[:, round(250 / grid.spacing[-1]) :], 98.5)
    x1, z1 = (1e-3 * grid.spacing[i] * (grid.shape[i] - 1) for i in (0, 1))
    fig, axes = plt.subplots(len(images), 1, figsize=(10, 5.0 * len(images)), sharex=True, squeeze=False)
    for ax, (name, a) in zip(axes[:, 0], sharp.items(), strict=True):
        ax.imshow(a.T, cmap="gray_r", vmin=-clip, vmax=clip, extent=(0, x1, z1, 0), aspect="equal")
        for number, d in enumerate(found[name], 1):
            ax.plot(1e-3 * d.x, 1e-3 * d.true, color="#d81e1e", lw=1.6)
            side = (1e-3 * (d.x[-1] + 40), 1e-3 * d.true[-1])
            ax.annotate(
                f"{number}: {d.error:+.0f} m",
                side,
                color="#d81e1e",
                fontsize=10,
                va="center",
                fontweight="bold",
            )
        ax.set_ylabel("depth (km)")
        ax.set_title(name, loc="left", fontsize=11)
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
        raise SystemExit(f"skipped: {MODEL} is not there; name the folder of the data in SUBSALT_SHARED_DATA")
    runs = run()
    with np.load(MODEL) as f:
        vp, spacing = f["vp"], float(f["spacing_m"][0])
    names = {
        "TTI": "migrated with the tilted axis",
        "VTI": "migrated with an upright axis (VTI), all else the same",
    }
    read = {names[n]: volume.read(folder / "image.rsf") for n, folder in runs.items()}
    grid = next(iter(read.values())).grid
    found = {n: measure(v.values, grid, vp, spacing) for n, v in read.items()}
    print(f"{'error of depth (m)':<34}{'true':>6}{'TTI':>14}{'VTI':>14}")
    for i, reflector in enumerate(REFLECTORS):
        cells = [f"{d[i].error:+.1f} ± {d[i].spread:.1f}" for d in found.values()]
        true = float(np.median(next(iter(found.values()))[i].true))
        print(f"{i + 1}  {reflector.name:<31}{true:6.0f}" + "".join(f"{c:>14}" for c in cells))
    picture({n: v.values for n, v in read.items()}, grid, found, options.out)
    print("picture  ", options.out)
    if options.json:
        table = {n: [{"error_m": d.error, "spread_m": d.spread} for d in ds] for n, ds in found.items()}
        print(
            json.dumps(
                {
                    "reflectors": [r.name for r in REFLECTORS],
                    "errors": dict(zip(runs, table.values(), strict=True)),
                }
            )
        )


if __name__ == "__main__":
    from subsalt.errors import SubsaltError

    try:
        main()
    except SubsaltError as e:
        raise SystemExit(f"{e.message}\n  fix: {e.fix}") from None
