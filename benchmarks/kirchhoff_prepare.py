"""How long does the preparation of a trace for Kirchhoff migration take, by instruction set, and what of it?

Traces of 625 samples at 8 ms, the founding case; microseconds per trace. Memory of the block before is used again, as a
migration does; `new memory` allocates. The parts are differences of rows: filters with polynomials of order 1 against
order 4, ten bands against one. All rows run in turn, forwards and backwards, and every answer is compared with NumPy
before it is timed.

    python benchmarks/kirchhoff_prepare.py --threads 1 --rounds 9
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from facts import machine

from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels import cpu
from subsalt.machine.stats import summary
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import (
    Prepared,
    band_count,
    design,
    polynomials,
    prepare,
    prepared_bytes,
    taps,
)
from subsalt_lab.rounds import round_robin

TIME = TimeAxis(625, 0.008)
KINDS = {
    "3d, 10 bands, sinc": KirchhoffOptions(),
    "3d, 10 bands, linear": KirchhoffOptions(interpolation="linear"),
    "3d, 1 band, sinc": KirchhoffOptions(antialias="none"),
    "3d, triangle, sinc": KirchhoffOptions(antialias="triangle"),
    "2.5d, 10 bands, sinc": KirchhoffOptions(amplitude="2.5d"),
    "none, 1 band, sinc": KirchhoffOptions(amplitude="none", antialias="none"),
}


def check(isa: str) -> None:
    """Compare every kind with NumPy; raise when one differs."""
    data = np.random.default_rng(2).standard_normal((20, TIME.nt)).astype(np.float32)
    for name, options in KINDS.items():
        bank = design(TIME.nt, TIME.dt, options.amplitude, band_count(options))
        wanted = polynomials(data, bank, taps(options.interpolation))
        with cpu.forced(isa=isa):
            samples = prepare(data, TIME, options).samples
        # rounding of some 40 operations one after the other
        error = np.abs(samples - wanted).max() / np.abs(wanted).max()
        if error > 3e-6:
            raise SystemExit(f"{isa}, {name}: the answer is wrong by {error:.1e}")


def work(
    isa: str, options: KirchhoffOptions, data: np.ndarray, threads: int, again: bool
) -> Callable[[], None]:
    """Return what prepares the block once."""
    old: list[Prepared | None] = [None]

    def run() -> None:
        with cpu.forced(isa=isa):
            old[0] = prepare(data, TIME, options, threads, out=old[0] if again else None)

    return run


def main() -> None:
    """Parse, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=cpu.in_use()[0])
    parser.add_argument("--isa", default=",".join(i for i in cpu.available() if i != "generic"))
    parser.add_argument("--traces", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    isas = args.isa.split(",")
    for isa in isas:
        check(isa)
    data = np.random.default_rng(1).standard_normal((args.traces, TIME.nt)).astype(np.float32)
    rows = {name: (options, True) for name, options in KINDS.items()}
    rows["3d, 10 bands, sinc, new memory"] = (KirchhoffOptions(), False)
    jobs = {
        f"{isa}/{name}": work(isa, options, data, args.threads, again)
        for name, (options, again) in rows.items()
        for isa in isas
    }
    taken = round_robin(jobs, args.rounds, seconds=0.0, clock=time.perf_counter)
    print(f"{args.threads} thread{'s' * (args.threads > 1)}, {args.traces} traces: microseconds per trace")
    print(f"{'':32s}" + "".join(f"{isa:>10s}" for isa in isas) + f"{'spread':>10s}{'KiB out':>10s}")
    out = []
    for name, (options, _) in rows.items():
        middles = {isa: summary(taken[f"{isa}/{name}"]) for isa in isas}
        times = {isa: 1e6 * m.median / args.traces for isa, m in middles.items()}
        spread = max(m.spread for m in middles.values())
        size = prepared_bytes(TIME.nt, options) / 1024
        print(
            f"{name:32s}"
            + "".join(f"{t:10.1f}" for t in times.values())
            + f"{100 * spread:9.1f}%{size:10.1f}"
        )
        out.append(
            {"kind": name, "us_per_trace": times, "spread": spread, "bytes": prepared_bytes(TIME.nt, options)}
        )
    print(json.dumps(machine(args.threads) | {"traces": args.traces, "samples": TIME.nt, "rows": out}))


if __name__ == "__main__":
    main()
