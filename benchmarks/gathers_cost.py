"""What do gathers cost: the time of a 2-D shot with 41 half offsets over that without?

    python benchmarks/gathers_cost.py [--threads N] [--rounds N]

One shot of 1201 x 401 points, 800 time steps of 8th order, every snapshot in memory; without gathers, with gathers at
every eighth column and at all, in turn. The seconds are of the whole migration of the shot, medians over the rounds.
Columns: variant, seconds, ratio to the plain migration. The last line is a JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np

import subsalt

H, SHAPE, RECORD = 10.0, (1201, 401), (801, 0.0015)
#: columns from one gather to the next, and what the time may be over that of a plain migration
VARIANTS = {"plain": (None, 1.0), "every eighth column": (8, 1.3), "all columns": (1, 2.5)}


def main() -> None:
    """Migrate in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="threads of the kernels")
    parser.add_argument("--rounds", type=int, default=5, help="migrations of each variant")
    options = parser.parse_args()
    grid = subsalt.Grid(SHAPE, (H, H))
    model = subsalt.EarthModel(grid, vp=np.full(SHAPE, 2000.0, np.float32))
    x = np.arange(20.0, H * SHAPE[0] - 20, 25.0)
    rcv = np.stack([x, np.full(len(x), 20.0)], axis=1)
    nt, dt = RECORD
    data = np.random.default_rng(1).standard_normal((1, len(x), nt)).astype(np.float32)
    survey = subsalt.Survey.from_arrays([[0.5 * H * SHAPE[0], 20.0]], rcv, nt=nt, dt=dt, data=data)
    spent: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name, (every, _) in VARIANTS.items():
            more = {} if every is None else {"gathers": subsalt.GatherOptions(max=20 * H, every=every)}
            begin = time.perf_counter()
            subsalt.migrate(
                model,
                survey,
                subsalt.ricker(15.0, dt),
                condition="cross-correlation",
                threads=options.threads,
                checkpoint=subsalt.CheckpointOptions(strategy="store"),
                **more,
            )
            spent[name].append(time.perf_counter() - begin)
    plain = statistics.median(spent["plain"])
    rows = {}
    for name, (_, limit) in VARIANTS.items():
        seconds = statistics.median(spent[name])
        rows[name] = {"seconds": seconds, "ratio": seconds / plain, "limit": limit, "all": spent[name]}
        print(f"{name:20} {seconds:8.2f} {seconds / plain:8.2f}")
    print(json.dumps({"threads": options.threads, "variants": rows}))


if __name__ == "__main__":
    main()
