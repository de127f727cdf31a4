"""How long does the founding case take, and does its memory fit the plan?

The case: reverse time migration of 800 samples in a VTI model of 125 x 1151 x 1231 points, its layer included. The
documents of 2009 give 484.9 s for the kernel on 8 cores and 7.5 GB. Here one wavefield is advanced a few steps on a
field that fills the grid, and kernel seconds are those of 800 steps of both wavefields at that rate.

    python benchmarks/founding.py [--steps 20] [--order 8] [--boundary pml] [--storage f32] [--publish]

What is left out runs over all its values: order 8 and 4, PML and none, and every model storage there is. Every
variant is a process of its own, so that its peak of resident memory is its own. Prints a table and, last, one JSON
object.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "peers")]

import numpy as np  # noqa: E402
from facts import machine, spread  # noqa: E402

SHAPE, SAMPLES = (125, 1151, 1231), 800
#: kernel seconds and memory of the documents, 8 cores
DOCUMENT_SECONDS, DOCUMENT_GB = 484.9, 7.5
#: steps between two readings of the clock, whole passes of any depth
BLOCK = 12


def storages() -> list[str]:
    """Return how models can be stored in this version."""
    from subsalt.propagation.options import PropagationOptions

    known = {f.name for f in fields(PropagationOptions)}
    return ["f32", "u16"] if "model_storage" in known else ["f32"]


def variant(
    shape: tuple[int, int, int], steps: int, order: int, boundary: str, storage: str
) -> dict[str, Any]:
    """Measure one variant in this process."""
    import earth
    from cases import PML_CELLS, Case

    import subsalt
    from subsalt import kernels
    from subsalt.earth.grid import Box
    from subsalt.io.tile_cache import remember_tiles
    from subsalt.kernels import cpu
    from subsalt.methods.rtm.arrays import RankArrays
    from subsalt.methods.rtm.memory import propagation_memory
    from subsalt.propagation.options import PropagationOptions
    from subsalt.propagation.propagator import Propagator

    width = PML_CELLS if boundary == "pml" else 0
    interior = tuple(n - 2 * width for n in shape)
    case = Case("founding", "steps", "vti", interior, width)
    chosen: dict[str, Any] = {"model_storage": storage} if len(storages()) > 1 else {}
    options = PropagationOptions(
        order=order,
        stencil="taylor",
        boundary=boundary,  # type: ignore[arg-type]
        source_taper=None,
        **chosen,
    )
    kernels.prepare(options.device, options.threads)
    remember_tiles()
    grid = subsalt.Grid(interior, (case.spacing,) * 3)
    epsilon, delta = earth.thomsen(case, 0)
    model = subsalt.EarthModel(grid, earth.velocity(case, 0), epsilon=epsilon, delta=delta)
    del epsilon, delta
    middle = np.array([[0.5 * case.spacing * n for n in interior]])
    shot = subsalt.Shot(1, middle[0], middle)
    plan = propagation_memory(RankArrays(model, options, Box((0, 0, 0), interior), shot))  # type: ignore[arg-type]
    before = _resident()
    # 0.9 of the bound of order 8 is stable for order 4 too, so that both do the same physics
    prop = Propagator(model, options, earth.time_step(case))
    state = prop.new_state()
    start = earth.start_field(case, width)
    for a in (*state.prev, *state.curr):
        prop.layout.view(a)[...] = start
    del start
    cpu.settle(prop.problem, state)  # in calls of BLOCK steps trials of deep passes would not fit
    prop.advance(state, BLOCK)
    seconds = []
    for _ in range(max(1, math.ceil(steps / BLOCK))):
        begin = time.perf_counter()
        prop.advance(state, BLOCK)
        seconds.append((time.perf_counter() - begin) / BLOCK)
    held = _resident() - before
    step = median(seconds)
    return {
        "order": order,
        "boundary": boundary,
        "storage": storage,
        "points": prop.point_count,
        "step_seconds": round(step, 5),
        "spread": round(spread(seconds), 4),
        "gpts": round(prop.point_count / step / 1e9, 4),
        "kernel_seconds": round(2 * SAMPLES * step, 1),
        "finite": bool(np.isfinite(prop.layout.view(state.curr[0])[::16]).all()),
        "memory": {
            "planned": sum(plan.values()) - plan["working space"],
            "measured": held,
            "model": sum(a.nbytes for a in (model.vp, model.epsilon, model.delta) if a is not None),
            "peak_of_process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "plan": plan,
        },
        "facts": kernels.get(options.device).describe(),
    }


def _resident() -> int:
    """Return the resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run the variants one after the other, each in a process of its own."""
    rows = []
    for order in [options.order] if options.order else [8, 4]:
        for boundary in [options.boundary] if options.boundary else ["pml", "none"]:
            for storage in [options.storage] if options.storage else storages():
                arguments = [*map(str, options.shape), str(options.steps), str(order), boundary, storage]
                command = [sys.executable, __file__, "--variant", *arguments]
                env = os.environ | {"OMP_NUM_THREADS": str(options.threads)}
                run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=env)
                rows.append(json.loads(run.stdout.splitlines()[-1]))
                print(line(rows[-1]), flush=True)
    return rows


HEAD = (
    f"{'order':>6}{'layer':>7}{'model':>7}{'s/step':>9}{'+-':>7}{'Gpts/s':>8}{'800 samples':>13}"
    f"{'planned':>10}{'measured':>10}"
)


def line(row: dict[str, Any]) -> str:
    """Return a row of the table; memory in GB, of wavefields, layer and model arrays."""
    memory = row["memory"]
    return (
        f"{row['order']:>6}{row['boundary']:>7}{row['storage']:>7}{row['step_seconds']:>9.4f}"
        f"{row['spread']:>7.1%}{row['gpts']:>8.3f}{row['kernel_seconds']:>11.1f} s"
        f"{memory['planned'] / 1e9:>10.2f}{memory['measured'] / 1e9:>10.2f}"
    )


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=20, help="time steps that are timed")
    parser.add_argument("--order", type=int, choices=[4, 8])
    parser.add_argument("--boundary", choices=["pml", "none"])
    parser.add_argument("--storage", choices=["f32", "u16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--shape", type=int, nargs=3, default=SHAPE, help="points, the layer included")
    parser.add_argument("--publish", action="store_true", help="write docs/performance/founding.json")
    parser.add_argument("--variant", nargs=7, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.variant:
        nx, ny, nz, steps, order, boundary, storage = options.variant
        shape = (int(nx), int(ny), int(nz))
        print(json.dumps(variant(shape, int(steps), int(order), boundary, storage)))
        return
    facts = machine(options.threads)
    print(", ".join(f"{k} {v}" for k, v in facts.items()))
    print(f"{' x '.join(map(str, options.shape))} points, VTI; memory in GB\n{HEAD}", flush=True)
    rows = measure(options)
    result = {
        "question": "founding",
        "case": "founding",
        "command": f"make bench-founding STEPS={options.steps}",
        "machine": facts,
        "shape": list(options.shape),
        "document": {"kernel_seconds": DOCUMENT_SECONDS, "gb": DOCUMENT_GB},
        "rows": rows,
    }
    if options.publish:
        folder = HERE.parent / "docs" / "performance"
        folder.mkdir(exist_ok=True)
        (folder / "founding.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
