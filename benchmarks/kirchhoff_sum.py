"""How many contributions per second does the sum of Kirchhoff migration make, by interpolation, antialias and ISA?

A contribution is one sample of one trace added to one sample of the image, counted after aperture and mute: from the
first sample that a trace reaches at a location to the last. Traces of 625 samples at 8 ms with offsets up to 3 km, bins
of 15 m: the founding case. All cases of a number of threads run in turn, forwards and backwards, and every answer is
compared with the sum in NumPy before it is timed. Rates of a machine change by the minute; ratios within one table do
not.

    python benchmarks/kirchhoff_sum.py --threads 1,2 --rounds 7
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product

import numpy as np
from facts import machine

from subsalt.imaging.kirchhoff.prepare import Prepared, prepare
from subsalt.kernels import cpu, kirchhoff, kirchhoff_reference
from subsalt.kernels.kirchhoff_arguments import Medium, TraceGeometry
from subsalt.lab.rounds import round_robin
from subsalt.lab.stats import summary
from subsalt.options_kirchhoff import KirchhoffOptions
from subsalt.survey import TimeAxis

TIME = TimeAxis(625, 0.008)
AXES = np.eye(2)
SPACING = (15.0, 15.0)
#: interpolation, antialias, choice of band
KINDS = {
    f"{interpolation}, {name}": dict(interpolation=interpolation, **antialias)
    for interpolation, (name, antialias) in product(
        ("linear", "sinc"),
        {
            "none": {"antialias": "none"},
            "10 bands, interpolated": {"antialias": "bands", "band_choice": "interpolate"},
            "10 bands, nearest": {"antialias": "bands", "band_choice": "nearest"},
            "triangle": {"antialias": "triangle"},
        }.items(),
    )
}


class Case:
    """A block of traces over a block of locations, prepared in every way.

    Parameters
    ----------
    inlines, crosslines : int
        Locations.
    traces : int
        Traces of the block, in order of offset within each midpoint.
    eta : bool
        With the anisotropic moveout.
    """

    def __init__(self, inlines: int, crosslines: int, traces: int, eta: bool = False) -> None:
        rng = np.random.default_rng(1)
        x, y = np.meshgrid(SPACING[0] * np.arange(inlines), SPACING[1] * np.arange(crosslines), indexing="ij")
        self.points = np.stack([x.ravel(), y.ravel()], axis=1)
        n = len(self.points)
        v = 1700 + 350 * TIME.values()[None, :] + 0.05 * self.points[:, 1:]
        self.medium = Medium(v.astype(np.float32), np.full(v.shape, 0.08, np.float32) if eta else None)
        middle = rng.uniform(self.points.min(axis=0) - 300, self.points.max(axis=0) + 300, (traces, 2))
        half = np.stack([rng.uniform(-100, 100, traces), np.sort(rng.uniform(0, 1500, traces))], axis=1)
        slot = np.zeros(traces, np.int32)
        weight = np.ones(traces, np.float32)
        self.geometry = TraceGeometry(middle - half, middle + half, weight, slot)
        self.data = rng.standard_normal((traces, TIME.nt)).astype(np.float32)
        self.image = np.zeros((n, 1, TIME.nt), np.float32)
        self.hits, self.fold = np.zeros((n, TIME.nt + 1), np.int32), np.zeros((n, 1), np.int32)

    def run(
        self, options: KirchhoffOptions, prepared: Prepared, threads: int, isa: str, tile: int = 0
    ) -> int:
        """Add all traces once; return the contributions."""
        where = self.image, self.hits, self.fold, self.points, AXES, self.medium, TIME
        return kirchhoff.sum_traces(
            *where, prepared, self.geometry, options, SPACING, threads=threads, isa=isa, tile=tile
        )


def check(isa: str, eta: bool) -> None:
    """Compare every kind with NumPy on a small case; raise when one differs."""
    for name, kind in KINDS.items():
        options, small = KirchhoffOptions(**kind), Case(3, 4, 12, eta)
        prepared = prepare(small.data, TIME, options, 1)
        done = small.run(options, prepared, 1, isa)
        compiled, small.image = small.image, np.zeros_like(small.image)
        hits, small.hits = small.hits, np.zeros_like(small.hits)
        where = small.image, small.hits, small.fold, small.points, AXES, small.medium, TIME
        wanted = kirchhoff_reference.sum_traces(*where, prepared, small.geometry, options, SPACING)
        # positions up to 600 samples in float32, white noise whose slope is up to pi per sample
        error = np.abs(compiled - small.image).max() / np.abs(small.image).max()
        if error > 1e-3 or done != wanted or not np.array_equal(hits, small.hits):
            raise SystemExit(
                f"{isa}, {name}: the answer is wrong by {error:.1e}, {done} of {wanted} contributions"
            )


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
    isas = args.isa.split(",")
    for isa in isas:
        check(isa, args.eta)
    case = Case(21, args.crosslines, args.traces, args.eta)
    kinds = {name: KirchhoffOptions(**kind) for name, kind in KINDS.items() if args.kinds in name}
    ready = {name: prepare(case.data, TIME, options, 1) for name, options in kinds.items()}
    rows = []
    for threads in map(int, args.threads.split(",")):
        done: dict[str, int] = {}

        def runs(isa: str, name: str, threads: int = threads, done: dict[str, int] = done) -> None:
            done[name] = case.run(kinds[name], ready[name], threads, isa, args.tile)

        work = {f"{isa}/{name}": (lambda i=isa, n=name: runs(i, n)) for name in kinds for isa in isas}
        taken = round_robin(work, args.rounds, seconds=0.0, clock=time.perf_counter)
        print(
            f"\n{threads} thread{'s' * (threads > 1)}: contributions/s in units of 1e9" + ", eta" * args.eta
        )
        print(f"{'':32s}" + "".join(f"{isa:>10s}" for isa in isas) + f"{'spread':>10s}")
        for name in kinds:
            middles = {isa: summary(taken[f"{isa}/{name}"]) for isa in isas}
            rates = {isa: done[name] / m.median / 1e9 for isa, m in middles.items()}
            spread = max(m.spread for m in middles.values())
            print(f"{name:32s}" + "".join(f"{r:10.2f}" for r in rates.values()) + f"{100 * spread:9.1f}%")
            rows.append({"kind": name, "threads": threads, "gcontrib_per_s": rates, "spread": spread})
    print(
        json.dumps(
            machine(threads) | {"eta": args.eta, "contributions": done[next(iter(kinds))], "rows": rows}
        )
    )


if __name__ == "__main__":
    main()
