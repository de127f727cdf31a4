"""What do points and imaging cost on a GPU, and which share of its copy bandwidth do imaging kernels reach?

Every answer is compared with the processor's bytes, on a small grid, before it is timed. Imaging kernels count the
bytes of their heads (native/cuda/imaging.cu, shell.cu) and are held against a copy in the memory of the GPU in the
same run. Of points, a segment with them is timed against one without, so that what crosses the host link is in it.

    python benchmarks/device_imaging.py --n 512 --points 1,10000,100000,1000000
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from statistics import median

import numpy as np
from facts import machine, spread

from subsalt.acquisition.injection import Points, sinc_points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda
from subsalt.kernels.cuda_library import call
from subsalt.kernels.problem import Layout, Problem
from subsalt.kernels.shell import Shell
from subsalt.kernels.work import Recorder, Source, Work

ORDER, RADIUS = 8, 4
#: time steps of a segment
STEPS = 40
SMALL = 40


def problem_of(medium: str, n: int) -> Problem:
    """Return a constant medium on n^3 points, without a layer."""
    layout = Layout((n, n, n), RADIUS, 3)
    values = {"m": 0.05} | ({} if medium == "isotropic" else {"e": 1.2, "s": 1.05})
    params = {k: layout.pad(np.full((n, n, n), v, np.float32), np.float32) for k, v in values.items()}
    return Problem(layout, medium, ORDER, 1e-3, (10.0, 10.0, 10.0), params)


def points_of(n: int, count: int, on_nodes: bool) -> Points:
    """Return points at one depth, in lines, on nodes or between them."""
    lines = int(np.ceil(np.sqrt(count)))
    i = np.arange(count)
    at = np.stack([i // lines, i % lines], axis=1) * ((n - 20) / lines) + 10.0
    depth = np.full((count, 1), 8.0)
    where = np.concatenate([at, depth], axis=1)
    return sinc_points((n, n, n), np.rint(where) if on_nodes else where + 0.3, 3)


def imaging_of(kernels: object, problem: Problem, off: int) -> dict[str, tuple[int, Callable[[], None]]]:
    """Return what imaging does, by name: bytes, and the call. `off`: the box begins that far from whole vectors."""
    n = problem.layout.shape3[0]
    box, fields = Box((0, 0, off), (n, n, n - off)), problem.n_fields
    shell = Shell.of(Box((0, 0, 0), (n, n, n)), (RADIUS,) * 6)
    state = kernels.new_state(problem)
    array = np.zeros if kernels is cpu else cuda.DeviceArray
    u, image = array(box.shape, np.float32), array(box.shape, np.float32)
    strip = array((fields, shell.cells), np.float32)
    rng = np.random.default_rng(1)
    if n <= SMALL:  # compared, not timed
        u[...] = rng.uniform(-1, 1, box.shape).astype(np.float32)
        for f in state.curr:
            cuda.copy(f, problem.layout.pad(rng.uniform(-1, 1, (n, n, n)).astype(np.float32), np.float32))
    size, curr = box.size, state.curr
    return {
        "snapshot": (4 * (fields + 1) * size, lambda: kernels.snapshot(problem, curr, u, box)),
        "correlate": (4 * (fields + 3) * size, lambda: kernels.correlate(problem, image, u, curr, box, 0.5)),
        "square": (12 * size, lambda: kernels.square(problem, image, u, 0.5)),
        "keep shell": (8 * fields * shell.cells, lambda: kernels.keep_shell(problem, curr, shell, strip)),
        "put back": (8 * fields * shell.cells, lambda: kernels.put_back_shell(problem, curr, shell, strip)),
        "look": (0, lambda: [np.asarray(a) for a in (u, image, strip, *curr)]),
    }


def check(medium: str) -> None:
    """Compare what the GPU and the processor make of a small grid, byte by byte."""
    problem = problem_of(medium, SMALL)
    for off in (0, 3):
        answers = []
        for kernels in (cpu, cuda):
            work = imaging_of(kernels, problem, off)
            answers.append([work[name][1]() for name in work][-1])
        if any(a.tobytes() != b.tobytes() for a, b in zip(*answers, strict=True)):
            raise SystemExit(f"{medium}: the GPU's bytes are not the processor's; no time is reported")


def timed(work: Callable[[], None], rounds: int) -> list[float]:
    """Return seconds per call: as many calls as take 20 ms, waited for once."""
    calls, took = 1, 0.0
    while took < 0.02 and calls < 1 << 12:
        calls *= 2
        took = _seconds(work, calls)
    return [_seconds(work, calls) / calls for _ in range(rounds)]


def _seconds(work: Callable[[], None], calls: int) -> float:
    call("subsalt_cuda_synchronize")
    start = time.perf_counter()
    for _ in range(calls):
        work()
    call("subsalt_cuda_synchronize")
    return time.perf_counter() - start


def step_seconds(problem: Problem, points: Points | None, kind: str, rounds: int) -> list[float]:
    """Return seconds per time step with points of a kind, or with none."""
    n = 0 if points is None else len(points)
    sources, recorders = [], []
    if points is not None and kind == "inject":
        sources = [Source(points, np.full((n, STEPS), 1e-3, np.float32, order="F"))]
    if points is not None and kind == "record":
        recorders = [Recorder(points, np.zeros((n, STEPS), np.float32, order="F"))]
    segment, state = cuda.Segment(problem, Work(sources, recorders)), cuda.new_state(problem)
    out = []
    for _ in range(rounds + 1):
        state.it = 0
        start = time.perf_counter()
        segment.advance(state, STEPS, 1 << 30, False)
        out.append((time.perf_counter() - start) / STEPS)
    return out[1:]


def main() -> None:
    """Parse, check, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, default=512, help="points per axis")
    parser.add_argument("--points", default="1,10000,100000,1000000")
    parser.add_argument("--media", default="isotropic,vti")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    failures: list[dict[str, object]] = []
    for medium in args.media.split(","):
        check(medium)
        problem = problem_of(medium, args.n)
        a, b = (cuda.DeviceArray((args.n, args.n, args.n)) for _ in range(2))
        copied = median(timed(lambda a=a, b=b: cuda.copy(b, a), args.rounds))
        bandwidth = 2 * a.nbytes / copied
        print(f"\n{medium}, {args.n}^3; copy {bandwidth / 1e9:.0f} GB/s")
        print(f"{'imaging':28s}{'us per call':>14s}{'% of copy':>12s}{'+- %':>8s}")
        for off in (0, 3):
            for name, (nbytes, work) in imaging_of(cuda, problem, off).items():
                if name == "look" or (off and "shell" in name) or (off and name == "put back"):
                    continue
                each = timed(work, args.rounds)
                share = nbytes / median(each) / bandwidth
                label = name + (", off 16 bytes" if off else "")
                print(f"{label:28s}{1e6 * median(each):14.1f}{100 * share:12.1f}{100 * spread(each):8.1f}")
                failures.append({"medium": medium, "case": label, "seconds": each, "of_copy": share})
        bare = step_seconds(problem, None, "", args.rounds)
        print(f"{'points':28s}{'us per step more':>18s}   (a step: {1e6 * median(bare):.1f} us)")
        for count in map(int, args.points.split(",")):
            for on_nodes in (True, False):
                points = points_of(args.n, count, on_nodes)
                for kind in ("inject", "record"):
                    more = median(step_seconds(problem, points, kind, args.rounds)) - median(bare)
                    label = f"{kind} {count} {'on' if on_nodes else 'between'} nodes"
                    print(f"{label:28s}{1e6 * more:18.1f}")
                    failures.append({"medium": medium, "case": label, "seconds_more": more})
    print(json.dumps(machine(cpu.in_use()[0]) | {"gpu": cuda.describe(), "n": args.n, "rows": failures}))


if __name__ == "__main__":
    main()
