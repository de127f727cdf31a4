"""What do gathers cost: the time of 2-D shots with 41 half offsets over that without?

    python benchmarks/gathers_cost.py [--threads N] [--rounds N]

Three shots of 601 x 301 points whose waves fill the window for half of their 2.4 s, every snapshot in memory; without
gathers, with gathers at every eighth column and at all, in turn. The seconds are of the whole migration, with its
image, medians over the rounds; those of the processor hold on a machine that does other work as well. Columns: variant,
seconds, ratio to the plain migration, the same ratio of processor time. The last line is a JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np

import subsalt

H, SHAPE, RECORD = 10.0, (601, 301), (1601, 0.0015)
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
    sources = [[part * H * SHAPE[0], 20.0] for part in (0.3, 0.5, 0.7)]
    nt, dt = RECORD
    data = np.random.default_rng(1).standard_normal((3, len(x), nt)).astype(np.float32)
    survey = subsalt.Survey.from_arrays(sources, rcv, nt=nt, dt=dt, data=data)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in VARIANTS}
    for _ in range(options.rounds):
        for name, (every, _) in VARIANTS.items():
            more = {} if every is None else {"gathers": subsalt.GatherOptions(max=20 * H, every=every)}
            begin = time.perf_counter(), time.process_time()
            subsalt.migrate(
                model,
                survey,
                subsalt.ricker(15.0, dt),
                condition="cross-correlation",
                threads=options.threads,
                checkpoint=subsalt.CheckpointOptions(strategy="store"),
                **more,
            )
            spent[name].append((time.perf_counter() - begin[0], time.process_time() - begin[1]))
    plain = [statistics.median(one[k] for one in spent["plain"]) for k in (0, 1)]
    rows = {}
    for name, (_, limit) in VARIANTS.items():
        seconds, cpu = (statistics.median(one[k] for one in spent[name]) for k in (0, 1))
        ratios = {"ratio": seconds / plain[0], "processor_ratio": cpu / plain[1]}
        rows[name] = {"seconds": seconds, **ratios, "limit": limit, "all": spent[name]}
        print(f"{name:20} {seconds:8.2f} {ratios['ratio']:8.2f} {ratios['processor_ratio']:8.2f}", flush=True)
    print(json.dumps({"threads": options.threads, "variants": rows}))


if __name__ == "__main__":
    main()
