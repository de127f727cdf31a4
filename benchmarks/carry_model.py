"""How much faster do compiled weights carry a model to another grid than sparse products of SciPy, with the same bits?

SciPy applies the weights of an axis to a transposed copy, in double precision on one thread, and epsilon and delta each
by themselves: what 0.8 did. Both sides carry a VTI model, plane by plane in the same steps, in turn, forwards and
backwards; bits are compared before a time is reported. Last a JSON object with machine, medians and their ratio.

    python benchmarks/carry_model.py --shape 240 200 200 --spacing 14 --rounds 5
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import Any

import numpy as np
from facts import machine
from scipy.sparse import csr_array

import subsalt as ss
from subsalt.earth.planes import InMemoryPlanes
from subsalt.earth.regrid import SWING, Regridder, thomsen, velocity
from subsalt.numerics import side_by_side
from subsalt.propagation.grid_choice import with_spacing

SOURCE_SPACING, STEP = 12.5, 20
Volumes = dict[str, np.ndarray]


def compiled(volumes: Volumes, by: Regridder) -> list[np.ndarray]:
    """Return vp, epsilon and delta on the target grid as a run carries them."""
    planes = {name: InMemoryPlanes(a) for name, a in volumes.items()}
    made = [velocity(planes["vp"], by, (1500.0, 4500.0))]
    made += thomsen(planes["epsilon"], planes["delta"], by, over=False).values()
    n = by.target.shape[0]
    parts = [[p.read(lo, min(n, lo + STEP)) for p in made] for lo in range(0, n, STEP)]
    return [np.concatenate(p) for p in zip(*parts, strict=True)]


def by_scipy(volumes: Volumes, by: Regridder) -> list[np.ndarray]:
    """Return the same from sparse products on transposed copies."""
    weights = [csr_array((w.weights, w.columns, w.starts), w.shape) for w in by.weights]
    slow, fast = 1500.0 * (1 - SWING), 4500.0 * (1 + SWING)
    s2 = 1.0 + 2.0 * volumes["delta"].astype(np.float64)
    beyond = s2 * (volumes["epsilon"].astype(np.float64) - volumes["delta"])
    vp = _carried(1.0 / np.square(volumes["vp"], dtype=np.float64), weights)
    vp = (1.0 / np.sqrt(np.clip(vp, 1.0 / (fast * fast), 1.0 / (slow * slow)))).astype(np.float32)
    delta = 0.5 * (_carried(s2, weights) - 1.0)
    mean = _carried(s2, weights)
    epsilon = 0.5 * (mean - 1.0) + np.maximum(_carried(beyond, weights) / mean, 0.0)
    return [vp, np.maximum(epsilon.astype(np.float32), delta.astype(np.float32)), delta.astype(np.float32)]


def _carried(values: np.ndarray, weights: list[Any]) -> np.ndarray:
    """Return values with all axes of the target, some planes of the source at a time."""
    across = [
        _applied(weights[1], _applied(weights[2], values[lo : lo + STEP], 2), 1)
        for lo in range(0, len(values), STEP)
    ]
    return _applied(weights[0], np.concatenate(across), 0)


def _applied(weights: Any, values: np.ndarray, axis: int) -> np.ndarray:
    moved = np.moveaxis(values, axis, 0)
    flat = np.ascontiguousarray(moved).reshape(len(moved), -1)
    return np.moveaxis((weights @ flat).reshape(-1, *moved.shape[1:]), 0, axis)


def main() -> None:
    """Parse, compare, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", type=int, nargs=3, default=(240, 200, 200), help="points of the model")
    parser.add_argument("--spacing", type=float, default=14.0, help="of the target, m; of the model 12.5")
    parser.add_argument("--threads", type=int, default=side_by_side.default_threads())
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    side_by_side.set_threads(options.threads)
    rng, shape = np.random.default_rng(1), tuple(options.shape)
    source = ss.Grid(shape, (SOURCE_SPACING,) * 3)
    by = Regridder(source, with_spacing(source, options.spacing), cells=True)
    ranges = {"vp": (1500.0, 4500.0), "epsilon": (0.1, 0.2), "delta": (0.0, 0.1)}
    volumes = {name: rng.uniform(*span, shape).astype(np.float32) for name, span in ranges.items()}
    sides = {"compiled": compiled, "scipy": by_scipy}
    answers = [[a.tobytes() for a in side(volumes, by)] for side in sides.values()]
    if answers[0] != answers[1]:
        raise SystemExit("the bits differ")
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(options.rounds):
        for name in list(sides)[:: 1 if turn % 2 else -1]:
            begin = time.perf_counter()
            sides[name](volumes, by)
            seconds[name].append(time.perf_counter() - begin)
    ratios = [b / a for a, b in zip(*seconds.values(), strict=True)]
    points = by.target.size
    for name, values in seconds.items():
        print(f"{name:<9}{median(values):8.2f} s   {points / median(values) / 1e6:8.2f} M points/s")
    print(f"ratio    {median(ratios):8.2f}   ({min(ratios):.2f} to {max(ratios):.2f}) to {by.target.shape}")
    facts = {"question": "carrying a model", "machine": machine(options.threads), **vars(options)}
    print(json.dumps(facts | {"seconds": seconds, "ratio": median(ratios)}))


if __name__ == "__main__":
    main()
