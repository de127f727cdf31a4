"""How fast is a time step, and what do the layer, the points and the imaging add to it?

Rates on shared machines are not stable, so every kernel is timed round robin with a plain loop that the
compiler vectorises (`cpu.plain_step`), and the table gives medians of the ratios of each round. All grids
count every point, the layer included. Answers are verified before anything is timed.

    python benchmarks/kernel_rates.py [-n 256] [--rounds 7] [--threads 2] [--isa v4] [--medium isotropic vti]

Prints a table and, last, one JSON object.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import subsalt
from subsalt.fields import Layout
from subsalt.grid import Box
from subsalt.kernels import cpu
from subsalt.kernels.problem import Problem

ORDER, DT, SPACING = 8, 1e-3, (10.0, 10.0, 10.0)
LAYERS = {"none": 0, "pml": 12, "damping": 40}
#: steps per timing of a kernel on 256^3 points, more on smaller grids
STEPS = 3


@dataclass(frozen=True)
class Points:
    """Supports on the grid, as `subsalt.injection.Points`."""

    base: np.ndarray
    weights: np.ndarray


def profile(n: int, width: int) -> np.ndarray:
    """Return a quadratic damping profile, 1/s."""
    s = np.zeros(n)
    ramp = 300.0 * ((1 + np.arange(width)) / max(width, 1)) ** 2
    s[:width], s[n - width :] = ramp[::-1], ramp
    return s


def problem_of(layout: Layout, medium: str, boundary: str, params: dict[str, np.ndarray]) -> Problem:
    """Return a problem with a layer on all six sides."""
    width = LAYERS[boundary]
    sigma = tuple(profile(n, width) for n in layout.shape3)
    decay = tuple(np.exp(-s * DT) for s in sigma)
    return Problem(layout, medium, ORDER, DT, SPACING, params, boundary, (width,) * 6, sigma, decay)


class Bench:
    """The fields and problems of one medium; every method is one unit of work to be timed."""

    def __init__(self, n: int, medium: str, receivers: int) -> None:
        self.layout = layout = Layout((n, n, n), ORDER // 2, 3)
        rng = np.random.default_rng(0)
        values = {"m": rng.uniform(2.0, 16.0, layout.shape3)}
        if medium == "vti":
            values |= {"e": rng.uniform(1.0, 1.5, layout.shape3), "s": rng.uniform(0.9, 1.0, layout.shape3)}
        params = {}
        for name, v in values.items():
            params[name] = cpu.allocate(layout)
            layout.view(params[name])[...] = v
        self.problems = {b: problem_of(layout, medium, b, params) for b in LAYERS}
        self.box = Box((0, 0, 0), layout.shape3)
        self.start = rng.standard_normal(layout.shape3, dtype=np.float32)
        self.state = cpu.new_state(self.problems["pml"])
        self.memory = self.state.memory
        self.image, self.snap = (np.zeros(layout.shape3, np.float32) for _ in range(2))
        base = rng.integers(20, n - 28, (receivers, 3)).astype(np.int32)
        base[:, 2] = 20
        self.points = Points(base, rng.uniform(-1, 1, (receivers, 3, 8)).astype(np.float32))
        self.values = np.full(receivers, 1e-9, np.float32)

    def load(self) -> None:
        """Fill both time levels with noise and clear the memory of the layer."""
        self.state.memory = self.memory
        self.state.clear()
        for a in (*self.state.prev, *self.state.curr):
            self.layout.view(a)[...] = self.start

    def step(self, boundary: str, two_sweeps: bool = False) -> None:
        """Do a time step."""
        problem, state = self.problems[boundary], self.state
        state.memory = self.memory if boundary == "pml" else {}
        if two_sweeps:
            cpu.memory_step(problem, state, self.box)
            cpu.field_step(problem, state, self.box)
        else:
            cpu.time_step(problem, state)
        state.rotate()

    def plain(self) -> None:
        """Do a time step of the core by the plain loop."""
        cpu.plain_step(self.problems["none"], self.state)
        self.state.rotate()

    def verify(self) -> None:
        """Compare the tuned step with the plain loop, and one pass with two sweeps, bit for bit."""
        results = {}
        runs: dict[str, Callable[[], None]] = {
            "plain": self.plain,
            "core": lambda: self.step("none"),
            "one pass": lambda: self.step("pml"),
            "two sweeps": lambda: self.step("pml", two_sweeps=True),
        }
        for name, run in runs.items():
            self.load()
            for _ in range(2):
                run()
            results[name] = [a.tobytes() for a in self.state.curr]
        if results["plain"] != results["core"] or results["one pass"] != results["two sweeps"]:
            raise SystemExit("the kernels disagree; no time is reported")

    def cases(self) -> dict[str, Callable[[], None]]:
        """Return what is timed, by name; the plain loop first, the core step second."""
        none = self.problems["none"]

        def fields() -> list[np.ndarray]:
            return self.state.curr

        return {
            "plain loop": self.plain,
            "core": lambda: self.step("none"),
            "PML, 12 cells": lambda: self.step("pml"),
            "damping, 40 cells": lambda: self.step("damping"),
            "snapshot": lambda: cpu.snapshot(none, fields(), self.snap, self.box),
            "correlate": lambda: cpu.correlate(none, self.image, self.snap, fields(), self.box, 1.0),
            "is_finite": lambda: cpu.is_finite(none, fields()) or None,
            f"record {len(self.values)}": lambda: cpu.record(none, fields(), self.points) is None,
            f"inject {len(self.values)}": lambda: cpu.inject(none, fields(), self.points, self.values),
        }


def measure(bench: Bench, rounds: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return per case: median seconds, the median ratios of time to the plain loop and to the core step."""
    cases = bench.cases()
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    bench.load()
    for r in range(rounds + 1):
        for name, run in cases.items():
            start = time.perf_counter()
            for _ in range(repeats):
                run()
            if r:  # the first round warms up
                seconds[name].append((time.perf_counter() - start) / repeats)
    plain, core = seconds["plain loop"], seconds["core"]
    return {
        name: {
            "seconds": statistics.median(s),
            "speedup_over_plain": statistics.median(p / t for p, t in zip(plain, s, strict=True)),
            "core_steps": statistics.median(t / c for t, c in zip(s, core, strict=True)),
        }
        for name, s in seconds.items()
    }


def main() -> None:
    """Parse, verify, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=256, help="points per axis")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument(
        "--isa", default="", help=f"one of {', '.join(cpu.available())}; the best when left out"
    )
    parser.add_argument("--medium", nargs="+", default=["isotropic", "vti"], choices=["isotropic", "vti"])
    parser.add_argument("--receivers", type=int, default=2000)
    args = parser.parse_args()
    if args.n < 96:
        parser.error(f"-n {args.n}: two damping layers of 40 cells and a core need at least 96 points")
    repeats = max(STEPS, round(STEPS * (256 / args.n) ** 3))
    report: dict[str, object] = {"n": args.n, "order": ORDER, "version": subsalt.__version__}
    with cpu.forced(args.isa, threads=args.threads):
        report |= cpu.describe() | {"machine": platform.machine(), "python": platform.python_version()}
        print(", ".join(f"{k} {v}" for k, v in report.items()))
        for medium in args.medium:
            bench = Bench(args.n, medium, args.receivers)
            bench.verify()
            report[medium] = table = measure(bench, args.rounds, repeats)
            print(f"\n{medium:24s}{'Mpoints/s':>12s}{'x plain loop':>14s}{'core steps':>12s}")
            for name, row in table.items():
                rate = args.n**3 / row["seconds"] / 1e6
                print(f"{name:24s}{rate:12.0f}{row['speedup_over_plain']:14.2f}{row['core_steps']:12.3f}")
    print(json.dumps(report))


if __name__ == "__main__":
    main()
