"""How many points does a GPU leave out because no wave has reached them, and what does it gain?

One wavefield from a source at the surface and one from receivers all over it (a line in each direction) are advanced
with the front and without, on a grid with a PML. Both must give the same bytes before anything is reported. Points are
counted by the device and compared with what the planner predicts. On the emulated device the counts are exact and the
seconds mean nothing.

    python benchmarks/device_front.py --shape 60,200,210 --steps 150      # make emulated; on a GPU make cuda
"""

from __future__ import annotations

import argparse
import json
import math
import time

import numpy as np
from facts import machine
from numpy.typing import NDArray

import subsalt as ss
from subsalt.errors import SubsaltError
from subsalt.kernels import cpu, cuda_library
from subsalt.kernels.cuda import segment
from subsalt.numerics.stencil import radius_of
from subsalt.plan.model import reached_box
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

SPACING, VP, F0 = 10.0, 2500.0, 15.0


def places(shape: tuple[int, int, int]) -> dict[str, NDArray[np.float64]]:
    """Return where waves begin: a source in the middle, receivers from side to side."""
    x, y, _ = (SPACING * (n - 1) for n in shape)
    source = np.array([[x / 2, y / 2, 2 * SPACING]])
    across = np.linspace(0, 1, 40)[:, None]
    lines = [np.hstack([x * across, y / 2 + 0 * across]), np.hstack([x / 2 + 0 * across, y * across])]
    receivers = np.vstack([np.hstack([a, np.full((len(a), 1), SPACING)]) for a in lines])
    return {"source": source, "receivers": receivers}


def signature(dt: float, steps: int) -> NDArray[np.float32]:
    """Return a Ricker wavelet."""
    a = (np.pi * F0 * (np.arange(steps) * dt - 1.2 / F0)) ** 2
    return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)


def advanced(
    prop: Propagator, where: NDArray[np.float64], steps: int, *, front: bool
) -> tuple[bytes, int, float]:
    """Return the bytes of a wavefield after all steps, the points advanced, and seconds."""
    wavelet = np.tile(signature(prop.dt, steps), (len(where), 1))
    source, state, before = prop.source(where, wavelet), prop.new_state(), prop.points_advanced
    start = time.perf_counter()
    with cpu.forced(front=front):
        prop.advance(state, steps, sources=[source])
    seconds = time.perf_counter() - start
    return np.asarray(state.curr[0]).tobytes(), prop.points_advanced - before, seconds


def predicted(prop: Propagator, where: NDArray[np.float64], steps: int) -> float:
    """Return the part of the points that the planner expects to be advanced."""
    shape3, grid = prop.comp_grid.shape3, prop.model_grid
    first = np.array([low - p for low, p in zip(prop.window.lo, prop.domain.pad[::2], strict=True)])
    cells, weights = VP * prop.dt / SPACING, prop.options.weights
    looks = segment.look_after(math.prod(shape3))
    beyond = (radius_of(weights.order) - cells) * looks / 2
    return reached_box(shape3, grid.to_index(where) - first, cells, steps, weights, beyond) if looks else 1.0


def rows_of(shape: tuple[int, int, int], steps: int, order: int) -> list[dict[str, object]]:
    """Return a row per wavefield, and print it."""
    model = ss.EarthModel(ss.Grid(shape, (SPACING,) * 3), VP, 0.1, 0.05)
    options = PropagationOptions(order=order, device="cuda")
    dt = model.choose_dt(options.weights, None, options.dt_reserve)
    rows: list[dict[str, object]] = []
    print(f"{'wavefield':<12}{'all':>12}{'advanced':>12}{'part':>8}{'planned':>9}{'s all':>9}{'s front':>9}")
    with Propagator(model, options, dt, points=np.vstack([*places(shape).values()])) as prop:
        for name, where in places(shape).items():
            whole, every, long = advanced(prop, where, steps, front=False)
            cut, some, short = advanced(prop, where, steps, front=True)
            if whole != cut:
                raise SystemExit(f"{name}: other bytes with the front")
            plan = predicted(prop, where, steps)
            row = {"wavefield": name, "all": every, "advanced": some, "part": some / every, "planned": plan}
            rows.append(row | {"seconds_all": long, "seconds_front": short})
            print(
                f"{name:<12}{every:>12.4g}{some:>12.4g}{some / every:>8.3f}{plan:>9.3f}{long:>9.2f}{short:>9.2f}",
                flush=True,
            )
    return rows


def points(text: str) -> tuple[int, int, int]:
    """Return three numbers of points."""
    nx, ny, nz = (int(n) for n in text.split(","))
    if min(nx, ny, nz) < 20:
        raise ValueError(text)
    return nx, ny, nz


def main() -> None:
    """Parse, count, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--shape",
        type=points,
        default="60,200,210",
        metavar="NX,NY,NZ",
        help="points of the model along x, y, z, 20 at least",
    )
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--order", type=int, default=8)
    parser.add_argument(
        "--look", type=int, help="steps between two looks, if not chosen by the size of the grid"
    )
    args = parser.parse_args()
    if args.look:
        segment.LOOKS = args.look, args.look
    try:
        gpu = cuda_library.chosen()
        rows = rows_of(args.shape, args.steps, args.order)
    except SubsaltError as error:
        raise SystemExit(f"{error.message}; {error.fix}") from None
    facts = {"gpu": gpu.name, "emulated": cuda_library.availability().emulated, "look": args.look}
    print(json.dumps(machine(1) | facts | {"shape": args.shape, "steps": args.steps, "rows": rows}))


if __name__ == "__main__":
    main()
