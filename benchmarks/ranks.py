"""What do ranks cost: one shot on 2 ranks of 1 thread, and on 4 ranks on the same cores, against 1 rank of 2 threads?

Every layout is a set of processes that stay; all advance the same wavefield in turns, some steps per round. While one
layout works the others sleep. The wavefields must agree bit for bit first. On a virtual machine the memory a process
happens to get can make it a quarter slower for as long as it lives, most of all those started later: so all is
launched several times, each layout first in turn, and ratios are medians over the rounds of all launches.

    python benchmarks/ranks.py [-n 256] [--launches 6] [--rounds 5] [--steps 24] [--layouts 1x2,2x1,4x1] [--medium vti]

``--layouts 2x1,2x1:1x2,4x1,4x1:2x2`` sets blocks beside slabs: ranks x threads, and behind a colon the parts along x
and y.

Prints a row per layout: seconds per step, the ratio to the first layout with the range of launches, what share of the
time was spent waiting for ghost planes (in `finish`, the rank that waited longest), bytes sent per step, and processor
time of every rank; last, one JSON object.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import subsalt
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.host import machine_facts
from subsalt.kernels import cpu
from subsalt.parallel.comm import Comm, world
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

#: cells of the PML
LAYER = 12
#: samples a recorder has room for; past its end a recorder keeps nothing
SAMPLES = 100_000


def make(n: int, medium: str, group: Comm | None, cut: tuple[int, int] | None = None) -> Propagator:
    """Return a propagator of a model that changes with depth and, anisotropic, along x."""
    grid = Grid((n, n, n), (10.0, 10.0, 10.0))
    depth, along = np.arange(n) / n, np.arange(n)[:, None, None] / n
    vp = np.broadcast_to((1800 + 1500 * depth).astype(np.float32), (n, n, n))
    more = {}
    if medium != "isotropic":
        delta = np.broadcast_to((0.05 * along).astype(np.float32), (n, n, n))
        more = {"delta": delta, "epsilon": delta + np.float32(0.1)}
    if medium == "tti":
        more["theta"] = np.broadcast_to((0.6 * depth).astype(np.float32), (n, n, n))
    model = EarthModel(grid, vp, **more)
    options = PropagationOptions(layer=LAYER, decomp=cut or "slabs")
    return Propagator(model, options, model.choose_dt(options.weights), group=group)


def fingerprint(prop: Propagator, state: Any) -> int:
    """Return the sum of digests of all rows owned, which does not depend on who owns them."""
    view, total = prop.layout.view(state.curr[0])[prop.owned.slices], 0
    x, y = prop.domain.slab.lo, prop.domain.across.lo
    for i, plane in enumerate(view):
        for j, row in enumerate(plane):
            digest = hashlib.sha256(f"{x + i} {y + j} ".encode() + row.tobytes()).digest()
            total += int.from_bytes(digest[:8], "big")
    return total


def work(args: argparse.Namespace) -> None:
    """Be one rank of a layout: do what the lines of its pipe ask for, until it closes."""
    n, depth = args.n, args.depth
    group = world()
    cpu.set_threads(args.threads)
    cpu.set_front(False)  # slabs advance what the wave has not reached
    if depth:
        from subsalt.propagation.domain import Domain

        Domain.common_depth = lambda domain, threads=1: depth
    cut = tuple(int(v) for v in args.cut.split("x")) if args.cut else None
    prop = make(n, args.medium, group if group.size > 1 else None, cut)  # type: ignore[arg-type]
    state = prop.new_state()
    at = np.array([[n / 2, n / 2, n / 3]]) * 10.0
    along = np.linspace(20, n - 20, 300)
    receivers = np.stack([along, 0 * along + n / 2, 0 * along + 8], axis=1) * 10.0
    rng = np.random.default_rng(1)
    source = prop.source(at, rng.uniform(-1, 1, (1, 400)))
    recorder = prop.recorder(receivers, SAMPLES)
    with Path(args.be, str(group.rank)).open() as target:
        for line in target:
            order = json.loads(line)
            if order.get("settle") and prop.slab is None:
                cpu.settle(prop.problem, prop.new_state())
            if order.get("check"):
                total = sum(group.allgather(fingerprint(prop, state))) % 2**64
                answer: dict[str, Any] = {"fields": total}
            else:
                group.allgather(0)  # begin together
                before, busy, begin = replace(prop.traffic), time.process_time(), time.perf_counter()
                prop.advance(state, order["steps"], sources=[source], recorders=[recorder])
                took, busy = time.perf_counter() - begin, time.process_time() - busy
                now = prop.traffic
                answer = {
                    "seconds": group.max(took) / order["steps"],
                    "waited": group.max((now.waited - before.waited) / took),
                    "bytes": group.sum(now.bytes - before.bytes) / order["steps"],
                    "busy": [b / order["steps"] for b in group.allgather(busy)],
                }
            if group.is_root:
                print(json.dumps(answer), flush=True)
    prop.free()


class Layout:
    """The processes of one layout, `ranks` x `threads`."""

    def __init__(self, name: str, args: argparse.Namespace, folder: Path) -> None:
        self.name = name
        size, _, cut = name.partition(":")
        ranks, threads = (int(v) for v in size.split("x"))
        self.fifos = folder / name
        self.fifos.mkdir()
        for rank in range(ranks):
            os.mkfifo(self.fifos / str(rank))
        me = [sys.executable, __file__, "--be", str(self.fifos), "-n", str(args.n), "--medium", args.medium]
        me += ["--threads", str(threads)] + (["--depth", str(args.depth)] if args.depth else [])
        me += ["--cut", cut] if cut else []
        start = [str(Path(sys.executable).parent / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
        env = os.environ | {"OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen([*start, *me], env=env, stdout=subprocess.PIPE, text=True)
        self.pipes = [(self.fifos / str(rank)).open("w") for rank in range(ranks)]

    def ask(self, **order: Any) -> dict[str, Any]:
        """Return what the layout answers to an order."""
        for pipe in self.pipes:
            pipe.write(json.dumps(order) + "\n")
            pipe.flush()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"layout {self.name} ended")
        return json.loads(line)

    def close(self) -> None:
        """Let the processes end."""
        for pipe in self.pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        self.process.wait(60)


@dataclass
class Samples:
    """What the rounds of a layout gave, launch by launch."""

    seconds: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    busy: list[list[float]] = field(default_factory=list)
    bytes: float = 0.0

    def take(self, got: dict[str, Any]) -> None:
        """Note an answer."""
        self.seconds.append(got["seconds"])
        self.waited.append(got["waited"])
        self.busy.append(got["busy"])
        self.bytes = got["bytes"]


def run(args: argparse.Namespace, layouts: list[Layout], samples: dict[str, Samples]) -> None:
    """Let the processes of one launch take their rounds."""
    try:
        for layout in layouts:
            layout.ask(settle=True, steps=12)
        fields = [layout.ask(check=True)["fields"] for layout in layouts]
        if any(f != fields[0] for f in fields):
            raise SystemExit("the wavefields differ")
        for _ in range(args.rounds):
            for layout in layouts:
                samples[layout.name].take(layout.ask(steps=args.steps))
    finally:
        for layout in layouts:
            layout.close()


def measure(args: argparse.Namespace) -> None:
    """Run the rounds and print the table."""
    names = args.layouts.split(",")
    samples = {name: Samples() for name in names}
    for launch in range(args.launches):
        start = names[launch % len(names) :] + names[: launch % len(names)]
        with tempfile.TemporaryDirectory() as folder:
            run(args, [Layout(name, args, Path(folder)) for name in start], samples)
    first, rows = samples[names[0]], []
    for name, taken in samples.items():
        ratios = [a / b for a, b in zip(taken.seconds, first.seconds, strict=True)]
        per = args.rounds
        launches = [statistics.median(ratios[i : i + per]) for i in range(0, len(ratios), per)]
        rows.append(
            {
                "layout": name,
                "ms": 1e3 * statistics.median(taken.seconds),
                "ratio": statistics.median(ratios),
                "ratios": [min(launches), max(launches)],
                "waited": statistics.median(taken.waited),
                "bytes": taken.bytes,
                "busy": [1e3 * statistics.median(rank) for rank in zip(*taken.busy, strict=True)],
            }
        )
    facts = machine_facts()
    print(
        f"{args.medium}, {args.n}^3 and a PML of {LAYER}, {args.launches} launches of {args.rounds} rounds of"
        f" {args.steps} steps; {facts}"
    )
    heads = (
        "ranks x threads",
        "ms per step",
        "ratio",
        "from, to",
        "waiting",
        "MB sent per step",
        "ms of processor by rank",
    )
    print(f"| {' | '.join(heads)} |")
    print("|---" * len(heads) + "|")
    for r in rows:
        low, high = r["ratios"]
        print(
            f"| {r['layout']} | {r['ms']:.1f} | {r['ratio']:.3f} | {low:.3f}, {high:.3f} | {r['waited']:.1%} |"
            f" {r['bytes'] / 1e6:.2f} | {', '.join(f'{b:.1f}' for b in r['busy'])} |"
        )
    print(json.dumps({"version": subsalt.__version__, "machine": facts, "n": args.n, "rows": rows}))


def main() -> None:
    """Parse the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-n", type=int, default=256)
    parser.add_argument("--medium", default="vti", choices=["isotropic", "vti", "tti"])
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--layouts", default="1x2,2x1,4x1")
    parser.add_argument("--depth", type=int, help="force the steps of a pass on slabs")
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--cut", help=argparse.SUPPRESS)
    parser.add_argument("--be", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.be:
        work(args)
    else:
        measure(args)


if __name__ == "__main__":
    main()
