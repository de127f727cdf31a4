"""Traces of the shot in rock (`peers/rock_case.py`) that the others are judged by.

    python benchmarks/rock_reference.py rock2d-iso rock2d-vti rock2d-tti [rock-iso ...] [--judge]

Taylor weights of order 16 on a grid three times finer than order 12 needs. In 2-D the box is so large that no echo of
its walls comes back; in 3-D it has our layer, of three times as many cells. Traces are kept as float32 in
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
#: wavelengths beyond sides, top and bottom from which nothing is back within the record: 2 s at 4950 and 1500 m/s;
#: multiples of `rock_case.STEP`, or source and receivers would not be nodes
OPEN = (84.0, 24.0, 84.0)
#: a layer of three times 12 cells, as thick as that of a grid with a third of the points
LAYER = 36
CASES = {name_of(medium, ndim): (medium, ndim) for ndim in (2, 3) for medium in MEDIA}


def relative(records: np.ndarray, truth: np.ndarray) -> tuple[float, list[float]]:
    """Return the relative L2 difference over all records, and that of each."""
    off, whole = (np.einsum("ij,ij->i", a, a) for a in (np.float64(records) - truth, np.float64(truth)))
    return float(np.sqrt(off.sum() / whole.sum())), [float(f"{e:.3g}") for e in np.sqrt(off / whole)]


def setting_of(name: str, points: float = POINTS, layer: bool | None = None) -> Setting:
    """Return how a reference is computed; None: with a layer in 3-D."""
    medium, ndim = CASES[name]
    options: dict[str, object] = {"stencil": "taylor", "layer": round(LAYER * points / POINTS)}
    if ndim == 2 and not layer:
        options = {"stencil": "taylor", "boundary": "none"}
    beyond = (0.0, 0.0, 0.0) if "layer" in options else OPEN
    return Setting(medium, 16, SHORTEST / points, "", ndim, beyond, options)


def model(setting: Setting) -> np.ndarray:
    """Return the traces of a setting."""
    with tempfile.TemporaryDirectory() as folder:
        shot = SubsaltShot(replace(setting, folder=folder).name, "")
        out = str(Path(folder) / "traces.npy")
        seconds = shot.round(out)
        print(json.dumps({"shape": setting.shape, "seconds": round(seconds, 1)} | shot.facts()), flush=True)
        return np.load(out).astype(np.float32)


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
    parser.add_argument("--ours", type=int, nargs="+", default=[], metavar="ORDER", help="judge our grids")
    given = parser.parse_args()
    KEPT.mkdir(exist_ok=True)
    for name in given.names:
        begin = time.perf_counter()
        if not (KEPT / f"{name}.npy").exists():
            np.save(KEPT / f"{name}.npy", model(setting_of(name)))
        print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
        for order in given.ours:
            judge(name, order)
        if not given.judge:
            continue
        print("a grid finer by half:", relative(model(setting_of(name, 1.5 * POINTS, True)), kept(name)))
        if CASES[name][1] == 2:
            print("with a layer:", relative(model(setting_of(name, layer=True)), kept(name)))


if __name__ == "__main__":
    main()
