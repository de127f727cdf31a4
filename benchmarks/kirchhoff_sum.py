"""How many contributions per second does the sum of Kirchhoff migration make, by interpolation, antialias and ISA?

What a contribution is, the case, and how every answer is compared with NumPy before it is timed: see
subsalt_lab.kernels. All cases of a number of threads run in turn, forwards and backwards. Rates of a machine change
by the minute; ratios within one table do not.

    python benchmarks/kirchhoff_sum.py --threads 1,2 --rounds 7
"""

from __future__ import annotations

import argparse
import json
from functools import partial

from facts import machine

from subsalt.kernels import cpu
from subsalt_lab.kernels import KINDS, SumBench, rows_of_sums
from subsalt_lab.rounds import round_robin


def main() -> None:
    """Parse, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", default=str(cpu.in_use()[0]), help="such as 1,2")
    parser.add_argument("--isa", default=",".join(i for i in cpu.available() if i != "generic"))
    parser.add_argument("--kinds", default="", help="only kinds whose name contains this")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--traces", type=int, default=64)
    parser.add_argument("--crosslines", type=int, default=100)
    parser.add_argument("--tile", type=int, default=0, help="locations per tile; 0: chosen")
    parser.add_argument("--eta", action="store_true", help="with the anisotropic moveout")
    args = parser.parse_args()
    isas, kinds = args.isa.split(","), [kind for kind in KINDS if args.kinds in kind]
    bench = SumBench((21, args.crosslines), args.traces, args.eta, args.tile)
    rows, most = [], 1
    for threads in map(int, args.threads.split(",")):
        most = max(most, threads)
        table = rows_of_sums(
            bench, isas, threads, partial(round_robin, rounds=args.rounds, seconds=0.0), kinds
        )
        print(f"\n{threads} thread{'s' * (threads > 1)}: 1e9 contributions/s" + ", eta" * args.eta)
        print(f"{'':32s}" + "".join(f"{isa:>10s}" for isa in isas) + f"{'spread':>10s}")
        for kind in kinds:
            mine = [row for row in table if row["case"] == kind]
            rates = "".join(f"{row['contributions_per_s'] / 1e9:10.2f}" for row in mine)
            print(f"{kind:32s}{rates}{100 * max(row['spread'] for row in mine):9.1f}%")
        rows += table
    print(json.dumps(machine(most) | {"eta": args.eta, "rows": rows}))


if __name__ == "__main__":
    main()
