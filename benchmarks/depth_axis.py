"""What does a depth axis that follows the rock save: points of a migration, and its time steps.

    python benchmarks/depth_axis.py MODEL.npz [MODEL.npz ...] [--f0 5] [--json FILE]

A model file has `vp` (nx, nz) or (nx, ny, nz), m/s, and `spacing_m`. Sections count as volumes that do not change along
y: their time step is that of three dimensions. Nothing is propagated.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import subsalt
from subsalt.api import WaveGrid
from subsalt.earth.grid import Grid


@dataclass(frozen=True)
class Worth:
    """What one model gains.

    Parameters
    ----------
    points : tuple of int
        Along z, on the uniform axis and on the one that follows the rock.
    steps : float
        Time step of the second over that of the first.
    spacing : tuple of float
        Finest and widest along z, m.
    """

    points: tuple[int, int]
    steps: float
    spacing: tuple[float, float]

    @property
    def saved(self) -> float:
        """Point-steps of the uniform axis over those of the other."""
        return self.points[0] / self.points[1] * self.steps


def volume(path: Path) -> subsalt.EarthModel:
    """Return a model in three dimensions."""
    with np.load(path) as data:
        vp, spacing = data["vp"], data["spacing_m"].tolist()
    if vp.ndim == 2:
        vp, spacing = vp[:, None, :], [spacing[0], spacing[0], spacing[1]]
    return subsalt.EarthModel(Grid(vp.shape, tuple(spacing)), np.ascontiguousarray(vp))


def worth(earth: subsalt.EarthModel, f0: float) -> Worth:
    """Return what a migration of a Ricker wavelet of `f0`, Hz, gains."""
    wavelet, options = subsalt.ricker(f0, 0.001), subsalt.PropagationOptions()
    even, follows = (
        WaveGrid("auto", 0.01, axis).carry(earth, options, wavelet, imaging=True)
        for axis in ("uniform", "auto")
    )
    depths = follows.grid.depth_axis
    finest = follows.grid.spacing[-1]
    return Worth(
        (even.grid.shape[-1], follows.grid.shape[-1]),
        follows.stable_dt(options.weights) / even.stable_dt(options.weights),
        (finest, finest if depths is None else depths.coarsest),
    )


def main() -> None:
    """Print a row per model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--f0", type=float, default=5.0, help="peak frequency, Hz")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = {}
    print(f"{'model':28} {'points along z':>16} {'spacing, m':>16} {'time step':>10} {'saved':>6}")
    for path in given.models:
        one = worth(volume(path), given.f0)
        spacing = f"{one.spacing[0]:.3g} to {one.spacing[1]:.3g}"
        points = f"{one.points[0]} -> {one.points[1]}"
        print(f"{path.stem:28} {points:>16} {spacing:>16} {one.steps:>10.3f} {one.saved:>6.2f}")
        rows[path.stem] = vars(one) | {"saved": one.saved}
    if given.json:
        given.json.write_text(json.dumps({"f0": given.f0, "models": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
