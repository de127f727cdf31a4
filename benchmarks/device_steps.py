"""How many point-steps per second does a GPU do, by medium, grid, layer and depth axis, as a share of a copy?

`subsalt lab kernels --device cuda` measures with care what a plan needs. This asks more questions in less time, for a
machine that one has for minutes: a stretched depth axis beside the uniform one, grids of several sizes, all in one
process per medium; wavefields are loaded once, and a few rounds suffice where spread is a percent. Before any figure
the fields of every kind of step are compared, bit for bit, with those of the processor on a small grid.

    python benchmarks/device_steps.py --medium tti -n 512 --boundaries none pml --axes uniform stretched

``--bare 8`` takes 8 steps and measures nothing, for a profiler. Prints a line per row and, last, one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from facts import machine, spread

from subsalt.kernels import cuda_library
from subsalt.kernels.problem import Problem
from subsalt.methods.rtm.speed import bytes_of, cost
from subsalt_lab.device_kernels import BAR, STEPS_COMPARED, DeviceBench
from subsalt_lab.kernel_models import LAYERS, KernelModel

AXES = ("uniform", "stretched")
BOUNDARIES = ("none", "pml")
#: smallest ratio of the scale of a stretched axis; a wave may take steps as long as on the uniform one
COARSEST = 0.4
#: steps before any that is timed
WARM = 4


def depth_scale(n: int, order: int) -> np.ndarray:
    """Return a = dzeta/dz of n nodes: falls smoothly from 1, and is constant where layers and stencils need it."""
    end = LAYERS["pml"] + order + 1
    part = np.clip((np.arange(n) - end) / max(1, n - 1 - 2 * end), 0.0, 1.0)
    return 1.0 - (1.0 - COARSEST) * part * part * (3.0 - 2.0 * part)


class Bench(DeviceBench):
    """The wavefields of one model on the GPU, and steps on them by layer and axis, such as ``"pml stretched"``."""

    def _problem(self, boundary: str) -> Problem:
        layer, axis = boundary.split()
        problem = super()._problem(layer)
        if axis == "uniform":
            return problem
        return replace(problem, depth_scale=depth_scale(self.model.n, self.model.order), cache={})


def differing(options: argparse.Namespace, order: int, storage: str, kinds: list[str]) -> list[str]:
    """Return the kinds of step whose fields are not those of the processor on a small grid."""
    model, out = KernelModel(options.small, options.medium, order), []
    for kind in kinds:
        fields = []
        for device in ("cpu", "cuda"):
            bench = Bench(model, storage, (kind,), device)
            bench.load()
            bench.advance(kind, STEPS_COMPARED)
            fields.append([model.layout.view(np.asarray(a)).view(np.uint32) for a in bench.state.curr])
        if not all(np.array_equal(a, b) for a, b in zip(*fields, strict=True)):
            out.append(kind)
    return out


def seconds_per_step(bench: Bench, kind: str, options: argparse.Namespace) -> list[float]:
    """Return what a step takes, by round."""
    bench.advance(kind, WARM)
    begin = time.perf_counter()
    bench.advance(kind, WARM)
    steps = max(WARM, round(options.seconds * WARM / (time.perf_counter() - begin)))
    out = []
    for _ in range(options.rounds):
        begin = time.perf_counter()
        bench.advance(kind, steps)
        out.append((time.perf_counter() - begin) / steps)
    return out


def rows_of(options: argparse.Namespace, n: int, order: int, storage: str) -> list[dict[str, Any]]:
    """Measure all kinds of step of one grid, order and storage."""
    kinds = [f"{boundary} {axis}" for axis in options.axes for boundary in options.boundaries]
    wrong = differing(options, order, storage, kinds)
    if wrong:
        what = f"{options.medium}, order {order}, models {storage}"
        print(f"{what}: GPU and CPU do not agree ({', '.join(wrong)}); nothing is measured", flush=True)
        return [{"what": what, "differ": wrong}]
    bench = Bench(KernelModel(n, options.medium, order), storage, kinds)
    bench.load()
    copy = 2 * options.copied / median(cuda_library.copies(options.copied, 3))
    out = []
    for kind in kinds:
        seconds = seconds_per_step(bench, kind, options)
        rate, (boundary, axis) = n**3 / median(seconds), kind.split()
        row = {"medium": options.medium, "n": n, "order": order, "model_storage": storage, "boundary": boundary,
               "axis": axis, "points_per_s": rate, "spread": spread(seconds), "copy_gb_s": copy / 1e9,
               "of_copy": rate * bytes_of(options.medium, storage) / copy,
               "bar_of_copy": BAR[options.medium] if (boundary, storage) == ("none", "f32") else None}  # fmt: skip
        print(
            f"{options.medium:<10} order {order}  {n:>4}^3  {storage}  {kind:<16}{rate / 1e9:8.2f} G point-steps/s"
            f"{100 * row['of_copy']:7.1f} % of copy  +-{100 * row['spread']:.1f} %",
            flush=True,
        )
        out.append(row)
    return out


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--medium", choices=sorted(BAR), default="isotropic")
    parser.add_argument("-n", type=int, nargs="+", default=[512], help="points per axis, layer included")
    parser.add_argument("--orders", type=int, nargs="+", default=[8])
    parser.add_argument("--storages", choices=["f32", "u16"], nargs="+", default=["f32"])
    parser.add_argument("--boundaries", choices=BOUNDARIES, nargs="+", default=list(BOUNDARIES))
    parser.add_argument("--axes", choices=AXES, nargs="+", default=list(AXES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="of a round")
    parser.add_argument("--small", type=int, default=48, help="points per axis of the grid that is compared")
    parser.add_argument("--copied", type=int, default=1 << 30, help="bytes of the copy")
    parser.add_argument("--bare", type=int, metavar="STEPS", help="only take so many steps")
    options = parser.parse_args()
    gpu = cuda_library.chosen()
    if options.bare:
        kind = f"{options.boundaries[0]} {options.axes[0]}"
        bench = Bench(
            KernelModel(options.n[0], options.medium, options.orders[0]), options.storages[0], [kind]
        )
        bench.load()
        bench.advance(kind, options.bare)
        return
    rows = []
    for n in options.n:
        for order in options.orders:
            for storage in options.storages:
                if storage == "f32" or cost(options.medium).packed is not None:
                    rows += rows_of(options, n, order, storage)
    facts = machine(1) | {"gpu": gpu.name, "emulated": cuda_library.availability().emulated}
    print(json.dumps(facts | {"rows": rows}))
    raise SystemExit(any("differ" in r for r in rows))


if __name__ == "__main__":
    main()
