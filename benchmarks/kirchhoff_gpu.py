"""How many contributions per second does the sum of Kirchhoff migration make on a GPU, alone and with its traces?

What a contribution is, and the case: see subsalt_lab.kernels. Every kind is first compared with the CPU, byte for
byte, on a small block. Then the same traces are added again and again to a block of locations that stays on the GPU:

    sum       the traces are prepared once, and copied to the GPU every time, while those before are summed
    prepared  prepared anew by the CPU every time, as a migration does

The head of native/cuda/kirchhoff_sum.cu predicts 150e9 to 200e9 contributions/s of an H200 for the default, sinc with
10 bands, interpolated. What the emulated device takes says nothing.

    python benchmarks/kirchhoff_gpu.py --locations 128x128 --traces 256 --rounds 7
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median

import numpy as np
from facts import machine, spread

from subsalt import kernels
from subsalt.kernels import cuda_library
from subsalt.kernels.cuda import kirchhoff as device
from subsalt.kernels.kirchhoff import Where
from subsalt.methods.kirchhoff.prepare import prepare, prepared_shape
from subsalt_lab.kernels import AXES, KINDS, SPACING, TIME, SumBench

#: kinds that are measured unless asked otherwise
USUAL = ("sinc, 10 bands, interpolated", "sinc, 10 bands, nearest", "sinc, no antialias", "sinc, triangle")
#: times that the traces are added in a sample
TIMES = 8


def adder_of(bench: SumBench, kind: str) -> device.BlockSum:
    """Return the block of locations of a bench on the GPU."""
    where = Where(
        bench.image, bench.hits, bench.fold, bench.points, AXES, bench.medium, TIME, KINDS[kind], SPACING
    )
    return device.BlockSum(where, TIME.dt)


def same_bytes(kind: str, eta: bool, threads: int) -> bool:
    """Return whether GPU and CPU give the same image, hits and fold of a small block, and count alike."""
    here, there = (SumBench((5, 9), 40, eta) for _ in range(2))
    wanted = here.sum(kind, threads, "")
    with adder_of(there, kind) as adder:
        adder.add(there.prepared(kind), there.geometry)
        done = adder.fetch()
    same = all(
        a.tobytes() == b.tobytes()
        for a, b in zip(
            (here.image, here.hits, here.fold), (there.image, there.hits, there.fold), strict=True
        )
    )
    return same and done == wanted > 0


def measured(bench: SumBench, kind: str, rounds: int, threads: int, anew: bool) -> tuple[float, list[float]]:
    """Return contributions of a sample, and the seconds of each; `anew`: the CPU prepares the traces every time."""
    options = KINDS[kind]
    shape = prepared_shape(len(bench.data), TIME.nt, options)
    taken, runs = [], {}
    with adder_of(bench, kind) as adder:

        def once() -> None:
            room = adder.room(shape)
            at = room.ctypes.data
            if anew or at not in runs:
                # the two memories that take turns keep what was prepared there
                runs[at] = prepare(bench.data, TIME, options, threads, out=room)
            adder.add(runs[at], bench.geometry)

        once()
        per_sample = TIMES * adder.fetch()
        for _ in range(rounds):
            begin = time.perf_counter()
            for _ in range(TIMES):
                once()
            cuda_library.call("subsalt_cuda_synchronize")
            taken.append(time.perf_counter() - begin)
    return per_sample, taken


def main() -> None:
    """Parse, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--locations", default="128x128", help="inlines x crosslines")
    parser.add_argument("--traces", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--kinds", default="", help="kinds whose name contains this; the usual ones when empty"
    )
    parser.add_argument("--threads", type=int, default=kernels.cores(), help="that prepare")
    parser.add_argument("--eta", action="store_true", help="with the anisotropic moveout")
    args = parser.parse_args()
    gpu, choice = cuda_library.chosen(), cuda_library.availability()
    inlines, crosslines = (int(n) for n in args.locations.split("x"))
    kinds = [k for k in KINDS if args.kinds in k] if args.kinds else list(USUAL)
    for kind in kinds:
        if not same_bytes(kind, args.eta, args.threads):
            raise SystemExit(f"{kind}: GPU and CPU do not agree; nothing is measured")
    bench = SumBench((inlines, crosslines), args.traces, args.eta)
    facts = machine(args.threads) | {"gpu": gpu.name, "driver": choice.driver, "emulated": choice.emulated}
    print(f"{gpu.name}, CUDA {choice.runtime}, driver {choice.driver}; {facts['date']}")
    print(
        f"{len(bench.points)} locations x {TIME.nt} samples, {args.traces} traces a block"
        + ", eta" * args.eta
    )
    print(f"{'1e9 contributions/s':32s}{'sum':>10s}{'spread':>10s}{'prepared':>10s}{'spread':>10s}")
    rows = []
    for kind in kinds:
        row: dict[str, object] = {"case": kind}
        text = f"{kind:32s}"
        for name, anew in (("sum", False), ("prepared", True)):
            done, seconds = measured(bench, kind, args.rounds, args.threads, anew)
            rate = done / median(seconds)
            row |= {f"{name}_per_s": rate, f"{name}_seconds": seconds, "contributions": done}
            text += f"{rate / 1e9:10.2f}{100 * spread(seconds):9.1f}%"
        rows.append(row)
        print(text)
    if not np.isfinite(bench.image).all():
        raise SystemExit("the image is not finite")
    print(json.dumps(facts | {"rows": rows}))


if __name__ == "__main__":
    main()
