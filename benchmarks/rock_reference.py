"""Traces of the shot in rock (`peers/rock_case.py`) that the others are judged by.

    python benchmarks/rock_reference.py rock2d-iso rock2d-vti rock2d-tti [rock-iso ...] [--judge]

Taylor weights of order 16. In 2-D on a grid three times finer than order 12 needs, in a box so large that no echo of
its walls comes back. In 3-D on a coarser grid, from a model given twice as finely, with a thick layer; ``--as-3d``
judges that by the traces in 2-D. Traces are kept as float32 in
`benchmarks/rock/NAME.npy`, (receivers, samples). ``--judge`` also models each with the layer, on a grid still finer by
half and in 2-D on the same, and prints by how much the traces differ: relative L2, of all and of each. ``--ours ORDER
...`` prints the same of `subsalt.forward` with ``grid = "auto"``, on a uniform depth axis and on one that follows the
velocity.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from rock_case import MEDIA, SHORTEST, Setting, name_of
from subsalt_rock import SubsaltShot

KEPT = Path(__file__).resolve().parent / "rock"
#: points per shortest wavelength: three times the 2.79 of order 12, on whose grid all positions are nodes
POINTS = 8.5
#: the same in 3-D, where those of 8.5 would take a day
POINTS_3D = 5.5
#: wavelengths beyond sides, top and bottom from which nothing is back within the record: 2 s at 4950 and 1500 m/s;
#: multiples of `rock_case.STEP`, or source and receivers would not be nodes
OPEN = (84.0, 24.0, 84.0)
#: cells of the layer in 2-D and in 3-D: 4.2 and 4.4 wavelengths
LAYER, LAYER_3D = 36, 22
CASES = {name_of(medium, ndim): (medium, ndim) for ndim in (2, 3) for medium in MEDIA}


def relative(records: np.ndarray, truth: np.ndarray) -> tuple[float, list[float]]:
    """Return the relative L2 difference over all records, and that of each."""
    off, whole = (np.einsum("ij,ij->i", a, a) for a in (np.float64(records) - truth, np.float64(truth)))
    return float(np.sqrt(off.sum() / whole.sum())), [float(f"{e:.3g}") for e in np.sqrt(off / whole)]


def setting_of(name: str, points: float = POINTS, layer: bool = False) -> Setting:
    """Return how a reference in 2-D is computed, or one with a layer instead of a large box."""
    medium, ndim = CASES[name]
    options: dict[str, object] = {"stencil": "taylor", "boundary": "none"}
    if layer:
        options = {"stencil": "taylor", "layer": round(LAYER * points / POINTS)}
    return Setting(medium, 16, SHORTEST / points, "", ndim, (0.0, 0.0, 0.0) if layer else OPEN, options)


def setting_3d(name: str, points: float = POINTS_3D) -> Setting:
    """Return how a reference in 3-D is computed; of a case in 2-D, the same there.

    The model is given twice as finely and carried to the grid: sampled by it alone, the slope that begins at the top
    would be wrong by more than the waves.
    """
    medium, ndim = CASES[name]
    options = {"stencil": "taylor", "layer": round(LAYER_3D * points / POINTS_3D), "grid": SHORTEST / points}
    return Setting(medium, 16, SHORTEST / points / 2, "", ndim, options=options)


def model(setting: Setting) -> np.ndarray:
    """Return the traces of a setting."""
    with tempfile.TemporaryDirectory() as folder:
        shot = SubsaltShot(replace(setting, folder=folder).name, "")
        out = str(Path(folder) / "traces.npy")
        seconds = shot.round(out)
        print(json.dumps({"shape": setting.shape, "seconds": round(seconds, 1)} | shot.facts()), flush=True)
        return np.load(out).astype(np.float32)


def is_kept(name: str) -> bool:
    """Return whether the traces of a case are there."""
    return (KEPT / f"{name}.npy").exists()


def kept(name: str) -> np.ndarray:
    """Return the traces that are kept, (receivers, samples)."""
    return np.asarray(np.load(KEPT / f"{name}.npy"))


def judge(name: str, order: int) -> None:
    """Print the errors of our grids of an order, with a model of 4.5 points per shortest wavelength."""
    medium, ndim = CASES[name]
    for axis in ("uniform", "auto"):
        options: dict[str, object] = {"grid": "auto", "depth_axis": axis}
        setting = Setting(medium, order, SHORTEST / 4.5, "", ndim, options=options)
        error, each = relative(model(setting), kept(name))
        print(
            f"{name}, order {order}, depth axis {axis}: {error:.2%}, worst {max(each):.2%}", each, flush=True
        )


def main() -> None:
    """Model what the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", choices=list(CASES))
    parser.add_argument("--judge", action="store_true", help="compare with a finer grid and another edge")
    parser.add_argument(
        "--as-3d", action="store_true", help="judge the grid of the references in 3-D, in 2-D"
    )
    parser.add_argument("--ours", type=int, nargs="+", default=[], metavar="ORDER", help="judge our grids")
    given = parser.parse_args()
    KEPT.mkdir(exist_ok=True)
    for name in given.names:
        begin = time.perf_counter()
        flat = CASES[name][1] == 2
        if not is_kept(name):
            np.save(KEPT / f"{name}.npy", model(setting_of(name) if flat else setting_3d(name)))
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
        for order in given.ours:
            judge(name, order)
        if given.as_3d and flat:
            print("as in 3-D:", relative(model(setting_3d(name)), kept(name)), flush=True)
        if given.judge and flat:
            finer = setting_of(name, 1.5 * POINTS, True)
            print("a grid finer by half:", relative(model(finer), kept(name)))
            print("with a layer:", relative(model(setting_of(name, layer=True)), kept(name)))
        elif given.judge:
            print("a grid finer by half:", relative(model(setting_3d(name, 1.5 * POINTS_3D)), kept(name)))


if __name__ == "__main__":
    main()
