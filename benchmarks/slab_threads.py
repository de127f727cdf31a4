"""How much faster do two threads step a slab in 2-D than one, when they share the steps of a pass?

The slab of one rank is stepped in passes as in a group of ranks; nothing is exchanged, so that neither messages nor
other ranks have a part in it. Both numbers of threads take turns.

    python benchmarks/slab_threads.py [--rounds 7] [--steps 60]

Prints a line per medium and size; last, one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import subsalt
from subsalt.host import machine_facts
from subsalt.kernels import cpu
from subsalt.kernels.passes import DEEPEST, Cuts, depth_for
from subsalt.kernels.slab import SlabPasses
from subsalt.kernels.stepper import Alone, Sharing
from subsalt.kernels.work import Work

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from kernel_problems import make_problem

SIZES = ((500, 1000), (1500, 1500))
#: planes that each neighbour holds of a slab at order 8
SENT = 4


def measure(medium: str, nx: int, nz: int, args: argparse.Namespace) -> dict[str, object]:
    """Return milliseconds per step by number of threads, and ratios round by round."""
    problem = make_problem((nx, 1, nz), medium, "pml", 8, ndim=2, widths=(0, 0, 0, 0, 12, 12))
    state = cpu.new_state(problem)
    rng = np.random.default_rng(0)
    for a in state.curr + state.prev:
        inside = problem.layout.view(a)
        inside[...] = 1e-3 * rng.standard_normal(inside.shape)
    cuts = Cuts(nx, SENT, nx - SENT, SENT, SENT, problem.radius)
    passes, spent = {}, {1: [], 2: []}
    for threads in spent:
        with cpu.forced(threads=threads):
            sharing = Sharing(cuts, depth_for(cuts, DEEPEST, threads), Alone())
            passes[threads] = SlabPasses(problem, Work(), sharing)
    for _ in range(args.rounds):
        for threads, slab in passes.items():
            with cpu.forced(threads=threads):
                begin, last = time.perf_counter(), state.it + args.steps
                while state.it < last:
                    slab.steps(state, last - state.it)
                spent[threads].append((time.perf_counter() - begin) / args.steps)
    ratios = [one / two for one, two in zip(spent[1], spent[2], strict=True)]
    return {
        "medium": medium,
        "points": [nx, nz],
        "ms": {t: 1e3 * statistics.median(s) for t, s in spent.items()},
        "ratio": statistics.median(ratios),
        "ratios": [min(ratios), max(ratios)],
    }


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    rows = []
    for medium in ("isotropic", "vti"):
        for nx, nz in SIZES:
            row = measure(medium, nx, nz, args)
            rows.append(row)
            low, high = row["ratios"]  # type: ignore[misc]
            print(f"{medium}, {nx} x {nz}: {row['ratio']:.2f} times ({low:.2f} to {high:.2f})", flush=True)
    print(json.dumps({"version": subsalt.__version__, "machine": machine_facts(), "rows": rows}))


if __name__ == "__main__":
    main()
