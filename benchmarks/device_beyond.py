"""Are wavefields right behind number 2^31 of an array on a GPU?

A grid of more points than a 32-bit index counts is at rest and empty but for its last planes, where a model and a wave
are. There it must do what a small grid of these planes alone does on the processor: the same bytes in both time
levels, in what is recorded, and in the snapshot, illumination and image of dense arrays just as long.

    python benchmarks/device_beyond.py --media isotropic,vti,tti

Needs 31, 70 and 95 GB of memory of the GPU; a medium that does not fit is skipped and reported.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

import numpy as np
from facts import machine
from numpy.typing import NDArray

from subsalt.acquisition.injection import sinc_points
from subsalt.earth.grid import Box
from subsalt.kernels import cpu, cuda, cuda_library
from subsalt.kernels.problem import Layout, Problem
from subsalt.kernels.work import Recorder, Source, Work
from subsalt.propagation.march import stepper_of

ORDER, RADIUS, STEPS = 8, 4, 12
#: planes with a model, and empty ones before them that both grids have
LIVE, EMPTY, LAYER = 40, 8, 12
#: part of the free memory that arrays may take
SHARE = 0.95

Answers = dict[str, NDArray]


def problem_of(medium: str, shape: tuple[int, int, int]) -> Problem:
    """Return a model in the last planes of a grid, with a layer on all sides but x low."""
    layout = Layout(shape, RADIUS, 3)
    rng = np.random.default_rng(7)
    there = (LIVE, *shape[1:])
    names = {"isotropic": "m", "vti": "mes", "tti": "mes"}[medium]
    bounds = {"m": (0.02, 0.1), "e": (1.0, 1.5), "s": (0.9, 1.0)}
    values = {k: rng.uniform(*bounds[k], there).astype(np.float32) for k in names}
    if medium == "tti":
        theta = np.zeros(there, np.float32)
        inside = (slice(0, LIVE - LAYER - RADIUS),) + (slice(LAYER + RADIUS, -LAYER - RADIUS),) * 2
        theta[inside] = 0.5
        values |= {"nx": np.sin(theta), "ny": np.zeros_like(theta), "nz": np.cos(theta)}
    params = {}
    for name, v in values.items():
        # zeros that nobody touches take no memory of the host
        params[name] = np.zeros(layout.padded_shape, np.float32)
        layout.view(params[name])[-LIVE:] = v
    ramp = 300.0 * (np.arange(1, LAYER + 1) / LAYER) ** 2
    sigma = [np.zeros(n) for n in shape]
    for axis, s in enumerate(sigma):
        s[-LAYER:] = ramp
        if axis > 0:
            s[:LAYER] = ramp[::-1]
    widths = (0, *(LAYER,) * 5)
    decay = tuple(np.exp(-s * 1e-3) for s in sigma)
    return Problem(
        layout, medium, ORDER, 1e-3, (10.0, 10.0, 10.0), params, "pml", widths, tuple(sigma), decay
    )


def answers(kernels: object, problem: Problem) -> Answers:
    """Return what some steps make of the last planes: fields, record, snapshot, illumination, image."""
    shape = problem.layout.shape3
    box, first = Box((0, 0, 0), shape), shape[0] - LIVE
    middle = np.array([first + LIVE // 2, shape[1] // 2, shape[2] // 2]) + 0.3
    source = sinc_points(shape, middle[None], 3)
    receivers = sinc_points(shape, middle + np.array([[0, 0, 0], [6.0, -8, 5], [-7, 9, -6]]), 3)
    samples = np.hanning(STEPS)[None].astype(np.float32)
    record = np.zeros((3, STEPS + 1), np.float32, order="F")
    work = Work([Source(source, np.asfortranarray(samples))], [Recorder(receivers, record)])
    state = kernels.new_state(problem)
    rng = np.random.default_rng(8)
    start = np.zeros((LIVE, *problem.layout.padded_shape[1:]), np.float32)
    inner = (slice(0, LIVE), slice(RADIUS, RADIUS + shape[1]), slice(16, 16 + shape[2]))
    start[inner] = rng.uniform(-1, 1, (LIVE, *shape[1:])).astype(np.float32)
    last = slice(RADIUS + first, RADIUS + shape[0])
    for a in (*state.prev, *state.curr):
        kernels.copy(a[last], start)
    stepper_of(kernels, problem, work).advance(state, STEPS, 1 << 30, False)
    snapshot, energy = (kernels.zeros(shape, np.float32) for _ in range(2))
    kernels.snapshot(problem, state.curr, snapshot, box)
    kernels.square(problem, energy, snapshot, 0.5)
    kernels.correlate(problem, energy, snapshot, state.curr, box, 2.0)
    by_name = {f"level {i}": a[last] for i, a in enumerate((*state.prev, *state.curr))}
    by_name |= {"snapshot": snapshot[first:], "image": energy[first:]}
    return {"record": record} | {name: np.array(np.asarray(a)) for name, a in by_name.items()}


def beyond(medium: str, points: int, across: int) -> dict[str, object]:
    """Return the row of a medium."""
    whole = (-(-points // across**2), across, across)
    small = (LIVE + EMPTY, across, across)
    arrays = {"isotropic": 3, "vti": 7, "tti": 10}[medium] + 2
    padded = np.prod([int(n) for n in Layout(whole, RADIUS, 3).padded_shape])
    row: dict[str, object] = {
        "what": f"{medium}, {' x '.join(map(str, whole))}",
        "points": int(np.prod(whole)),
    }
    need, free = 4 * arrays * int(padded), cuda_library.free_memory()[0]
    if need > SHARE * free:
        return row | {"skipped": f"{need / 1e9:.0f} GB of memory, {free / 1e9:.0f} GB are free"}
    wanted = answers(cpu, problem_of(medium, small))
    got = answers(cuda, problem_of(medium, whole))
    return row | {"differ": [name for name in wanted if got[name].tobytes() != wanted[name].tobytes()]}


def rows_of(media: list[str], points: int, across: int) -> Iterator[dict[str, object]]:
    """Yield a row per medium, and print it."""
    for medium in media:
        row = beyond(medium, points, across)
        said = row.get("skipped") or (
            f"differ: {', '.join(row['differ'])}" if row["differ"] else "same bytes"
        )
        print(f"{row['what']:<40}{said}", flush=True)
        yield row


def main() -> None:
    """Parse, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--media", default="isotropic,vti,tti")
    parser.add_argument("--points", type=int, default=2_250_000_000)
    parser.add_argument("--across", type=int, default=1200, help="points along y and z")
    args = parser.parse_args()
    gpu = cuda_library.chosen()
    rows = list(rows_of(args.media.split(","), args.points, args.across))
    print(json.dumps(machine(1) | {"gpu": gpu.name, "rows": rows}))
    raise SystemExit(any(row.get("differ") for row in rows))


if __name__ == "__main__":
    main()
