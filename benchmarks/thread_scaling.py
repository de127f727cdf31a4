"""How do time steps scale over the cores of one node, ours and Devito's?

Of each case of bench-peers (`peers/cases.py`) ours with equal damping and Devito at its usual best, one process each.
For every number of threads both choose their blocks again; then rounds alternate. Wavefields are compared first,
as in bench-peers: a point source, and the filled grid. ``--alone`` measures ours alone.

    python benchmarks/thread_scaling.py --cases iso-256 vti-256 --threads 1 2 4 8 16 [--json FILE]

Devito is taken from this Python where it has it, else from its own environment, which is installed. Prints a line per
number of threads and, last, one JSON object.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

import verify  # noqa: E402
from cases import Case, parse  # noqa: E402
from facts import machine, spread  # noqa: E402
from sides import Side, Worker, sides_of  # noqa: E402

OURS, THEIRS = "damping", {"tti": "our scheme"}
THEIRS |= dict.fromkeys(("isotropic", "vti"), "1-D profiles, 2 levels, huge pages")


def chosen(case: Case, *, alone: bool) -> dict[str, Side]:
    """Return the sides that are measured."""
    sides = sides_of(case)
    names = [OURS] if alone else [OURS, THEIRS[case.medium]]
    return {("subsalt" if name == OURS else "Devito"): sides[name] for name in names}


def measure(case: Case, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row per number of threads."""
    sides = chosen(case, alone=options.alone)
    workers = {name: Worker(side, case, max(options.threads)) for name, side in sides.items()}
    rows: list[dict[str, Any]] = []
    try:
        agreement = verify.wavefields(case, sides, workers, options.check_steps, options.steps)
        first: dict[str, float] = {}
        for threads in options.threads:
            for worker in workers.values():
                worker.ask("threads", count=threads)
                worker.ask("fill")
                worker.ask("round", steps=2)
            seconds: dict[str, list[float]] = {name: [] for name in workers}
            for i in range(options.rounds):
                for name in workers if i % 2 == 0 else reversed(workers):
                    workers[name].ask("fill")
                    seconds[name].append(workers[name].ask("round", steps=options.steps) / options.steps)
            for name, taken in seconds.items():
                first.setdefault(name, median(taken) * options.threads[0])
                speed_up = first[name] / median(taken)
                rate = math.prod(case.shape) / median(taken)
                rows.append(
                    {"case": case.name, "side": name, "threads": threads, "points_per_s": rate,
                     "spread": spread(taken), "speed_up": speed_up, "efficiency": speed_up / threads,
                     "relative_l2": max(agreement.values(), default=None)}
                )  # fmt: skip
                print(
                    f"{case.name:<10}{name:<9}{threads:>4} threads{rate / 1e9:9.3f} G point-steps/s"
                    f"{speed_up:8.2f} times one thread  +-{100 * rows[-1]['spread']:.1f} %",
                    flush=True,
                )
    finally:
        for worker in workers.values():
            worker.close()
    return rows


def main() -> None:
    """Parse, measure, print."""
    cores = len(os.sched_getaffinity(0))
    usual = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= cores]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", default=["iso-256", "vti-256"])
    parser.add_argument("--threads", type=int, nargs="+", default=usual)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of a round")
    parser.add_argument("--check-steps", type=int, default=60, help="steps of the point source")
    parser.add_argument("--alone", action="store_true", help="without Devito")
    parser.add_argument("--here", action="store_true", help="Devito only where this Python has it")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.here and importlib.util.find_spec("devito") is None:
        options.alone = True
    rows = [row for name in options.cases for row in measure(parse(name), options)]
    result = {"question": "thread scaling", "machine": machine(max(options.threads)), "rows": rows}
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
