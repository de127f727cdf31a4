"""How much less time does a migration take on a depth axis that follows the rock?

    python benchmarks/depth_axis_time.py marmousi2 MODEL.npz [--rounds 5] [--json FILE]
    python benchmarks/depth_axis_time.py founding

One shot by `subsalt.migrate`, on a uniform axis and on one that follows the velocity, in turn. The first is the shot in
the middle of the line of `examples/marmousi2.py`, with its smoothed model; MODEL.npz is `models/marmousi2_5m.npz` of
the shared data. The second is the rock of `founding_job.py` (VTI, 2000 to 4000 m/s) in a smaller volume. Traces are
noise, which migrates in the time of others. One thread, and processor time, also of the phases: other programs that run
change it little. Prints a row per axis, medians of the parts, and last one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

# both before anything of subsalt or OpenMP is imported: its phases are to count processor time
os.environ["OMP_NUM_THREADS"] = "1"
time.perf_counter = time.process_time

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "examples")]

import marmousi2  # noqa: E402
import numpy as np  # noqa: E402
from facts import machine, spread  # noqa: E402
from founding_job import DELTA, EPSILON, F0, VP  # noqa: E402

import subsalt  # noqa: E402

AXES = ("uniform", "auto")
#: bar of the time on the axis that follows the rock, as a part of that on the uniform one
BAR = 0.55
#: points of the model of the founding rock, and their spacing, m
SHAPE, SPACING = (41, 101, 229), (25.0, 25.0, 12.5)

Job = tuple[subsalt.EarthModel, subsalt.Survey, dict[str, Any]]


def noise(source: tuple[float, ...], receivers: np.ndarray, samples: int, dt: float) -> subsalt.Survey:
    """Return a shot whose traces are noise."""
    data = np.random.default_rng(1).standard_normal((1, len(receivers), samples)).astype(np.float32)
    return subsalt.Survey.from_arrays([source], receivers, nt=samples, dt=dt, data=data)


def of_marmousi2(path: Path, every: int) -> Job:
    """Return the smoothed model, the middle shot with every so manieth receiver, and options."""
    with tempfile.TemporaryDirectory() as folder:
        marmousi2.OUT = Path(folder)
        marmousi2.write_model(path.resolve())
        job = Path(folder) / "job.toml"
        text = marmousi2.MIGRATE.read_text()
        job.write_text(text.replace("../build/marmousi2/vp.rsf", str(Path(folder) / "vp.rsf")))
        model = subsalt.Job.from_toml(job).load_model()
    x = np.arange(0.0, 17000.1, 25.0 * every)
    survey = noise((8500.0, 6.0), np.stack([x, np.full_like(x, 10.0)], axis=1), 2500, 0.004)
    return model, survey, {"free_surface": True}


def of_founding(every: int) -> Job:
    """Return model and shot; options there are none."""
    vp = np.broadcast_to(np.linspace(*VP, SHAPE[2], dtype=np.float32), SHAPE).copy()
    thomsen = (np.full(SHAPE, value, np.float32) for value in (EPSILON, DELTA))
    model = subsalt.EarthModel(subsalt.Grid(SHAPE, SPACING), vp, *thomsen)
    receivers = [(x, y, 12.5) for x in np.arange(0, 1000.1, 50) for y in np.arange(0, 2500.1, 200)]
    return model, noise((500.0, 1250.0, 25.0), np.array(receivers)[::every], 500, 0.002), {}


def migrated(job: Job, axis: str) -> dict[str, Any]:
    """Migrate once; return seconds of processor time and counts."""
    model, survey, options = job
    begin = time.process_time()
    made = subsalt.migrate(
        model, survey, subsalt.ricker(F0, 0.001), grid="auto", depth_axis=axis, threads=1, **options
    )
    seconds = time.process_time() - begin
    steps = {k: made.phases[k] for k in ("source", "receivers")}
    return {"seconds": seconds, **steps, "point_steps": made.point_steps, "dt": made.dt}


def main() -> None:
    """Migrate in turn, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("case", choices=["marmousi2", "founding"])
    parser.add_argument("model", type=Path, nargs="?", help="of Marmousi-II")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--every", type=int, default=1, help="of so many receivers one is there")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.case == "marmousi2" and options.model is None:
        parser.error("marmousi2 needs the file of its model")
    job = of_founding(options.every) if options.model is None else of_marmousi2(options.model, options.every)
    facts = machine(1)
    rounds: dict[str, list[dict[str, Any]]] = {axis: [] for axis in AXES}
    for i in range(options.rounds):
        for axis in AXES if i % 2 == 0 else reversed(AXES):
            rounds[axis].append(migrated(job, axis))
    result: dict[str, Any] = {
        "question": "processor time on a depth axis that follows the rock",
        "case": options.case,
        "receivers": len(job[1].traces(job[1].shots[0])),
        "machine": facts,
        "rounds": options.rounds,
        "bar": BAR,
    }
    for axis, each in rounds.items():
        row = {k: round(median(r[k] for r in each), 7) for k in each[0]}
        result[axis] = row | {"spread": round(spread([r["seconds"] for r in each]), 3)}
        print(
            f"{axis:8}{row['seconds']:8.2f} s, source {row['source']:.2f}, receivers {row['receivers']:.2f}, "
            f"{row['point_steps'] / 1e9:.3f} 10^9 point-steps, dt {1e3 * row['dt']:.3f} ms"
        )
    result["part"] = {
        k: round(median(b[k] / a[k] for a, b in zip(*rounds.values(), strict=True)), 3)
        for k in ("seconds", "source", "receivers", "point_steps")
    }
    print("parts", result["part"], f"bar {BAR}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
