"""How long does the founding small case take as a whole job on this machine, and with how much memory?

The case: one shot in a VTI model, 125 x 1151 x 1231 points of the computational grid with its absorbing layer, 800 time
steps of either wavefield. The documents of 2009 give, on 8 cores: 4.54 s to read the model, 484.9 s in the kernel,
892.4 s in all, and 7.5 GB. Here three model volumes and a SEG-Y file are made, and `subsalt migrate` does the rest:

    python benchmarks/founding_job.py FOLDER [--background]     # makes what is missing, plans, runs, prints the table
    python benchmarks/founding_job.py FOLDER                    # again: goes on where it was killed
    python benchmarks/founding_job.py FOLDER --report           # only prints what there is

In a record of 800 samples the waves reach about a third of the grid, and a run leaves out the rest; ``--whole-grid``
computes all of it, as the program of 2009 did (SUBSALT_FRONT=off). ``--device cuda`` computes on a GPU, where the plan
chooses the strategy; ``--large`` is the case of 2010, 1243 x 1151 x 1231 (378 s on 24 nodes).

The run has restart points: kill it whenever you like, and start the same command again. ``--shape 60 80 80 --samples
100`` tries it in seconds. Prints the phases beside those of the documents and, last, one JSON object; ends with 1 when
the memory is above the bar.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SUBSALT = [sys.executable, "-m", "subsalt"]
sys.path[:0] = [str(HERE)]

import numpy as np  # noqa: E402
from facts import machine  # noqa: E402

import subsalt as ss  # noqa: E402
from subsalt import __version__  # noqa: E402
from subsalt.io.segy.writing import write_survey  # noqa: E402
from subsalt.io.volumes import volume  # noqa: E402
from subsalt.numerics.stencil import Stencil  # noqa: E402

SHAPE, SAMPLES = (125, 1151, 1231), 800
LAYER, SPACING = 12, 12.5
#: m/s at top and bottom; Thomsen's parameters
VP, EPSILON, DELTA = (2000.0, 4000.0), 0.15, 0.08
#: Hz: 16 points per wavelength at 2.5 times that in the slowest rock, as suits order 4 too
F0 = 8.0
#: grid points between receivers along x and y
RECEIVERS = (2, 8)
#: seconds and bytes of the documents, on one node of 8 cores; of the large case on 24 nodes
DOCUMENT = {"read": 4.54, "kernel": 484.89, "total": 892.4, "memory_bytes": 7.5e9}
LARGE, DOCUMENT_LARGE = (1243, 1151, 1231), {"total": 378.0}
#: seconds of the whole job that one H200 is to stay below
GPU_BAR = {SHAPE: 10.0, LARGE: 180.0}
#: largest resident size by how the model is stored
BAR = {"u16": 7.5e9, "f32": 10e9}

#: rows of the table, and the phases of a run that belong to them
GROUPS = {
    "read": ("check", "model input", "survey", "provenance", "setup", "trace input", "traces"),
    "kernel": ("source", "receivers"),
    "checkpoints": ("snapshots", "states", "restart points", "scratch"),
    "write": ("partial image", "image sum", "output", "report"),
}


def made_model(shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return the volumes: velocity grows with depth, by broadcasting; nothing of their size is in memory."""
    vp = np.linspace(*VP, shape[2], dtype=np.float32)
    constant = {"epsilon": EPSILON, "delta": DELTA}
    return {"vp": np.broadcast_to(vp, shape)} | {
        name: np.broadcast_to(np.float32(value), shape) for name, value in constant.items()
    }


def time_step(order: int) -> float:
    """Return the largest time step in whole microseconds, as SEG-Y has them, that is stable for both orders."""
    model = ss.EarthModel(
        ss.Grid((2, 2, 2), (SPACING,) * 3), np.full((2, 2, 2), VP[1], np.float32), EPSILON, DELTA
    )
    return math.floor(1e6 * model.choose_dt(Stencil(order, "taylor"), None, 1e-3)) / 1e6


#: what makes two cases different
CASE = (
    "shape",
    "samples",
    "order",
    "storage",
    "strategy",
    "memory",
    "restart_every",
    "threads",
    "device",
    "whole_grid",
    "grid",
)


def case_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the case that is asked for."""
    return {name: getattr(options, name) for name in CASE} | {"shape": list(options.shape)}


def make(folder: Path, options: argparse.Namespace) -> Path:
    """Write what is missing of volumes, shot and job file; return the job file."""
    folder.mkdir(parents=True, exist_ok=True)
    case = folder / "case.json"
    if not case.exists():
        case.write_text(json.dumps(case_of(options)))
    elif json.loads(case.read_text()) != case_of(options):
        raise SystemExit(
            f"{folder} holds another case ({case.read_text()}); remove it, or give another folder"
        )
    shape = tuple(n - 2 * LAYER for n in options.shape)
    grid = ss.Grid(shape, (SPACING,) * 3)
    for name, values in made_model(shape).items():
        if not (folder / f"{name}.rsf").exists():
            print(f"writing {name}", flush=True)
            volume.write(folder / f"{name}.rsf", grid, values)
    dt = time_step(max(options.order, 8))
    if not (folder / "shot.sgy").exists():
        print("writing the shot", flush=True)
        write_shot(folder / "shot.sgy", shape, options.samples, dt)
    job = folder / "job.toml"
    if not job.exists():
        job.write_text(job_text(options, dt))
    return job


def write_shot(path: Path, shape: tuple[int, ...], samples: int, dt: float) -> None:
    """Write one shot: a pulse on every trace, later with offset."""
    x = np.arange(0, shape[0], RECEIVERS[0]) * SPACING
    y = np.arange(0, shape[1], RECEIVERS[1]) * SPACING
    receivers = np.array([(a, b, SPACING) for a in x for b in y])
    source = [shape[0] // 2 * SPACING, shape[1] // 2 * SPACING, 2 * SPACING]
    survey = ss.Survey.from_arrays([source], [receivers], nt=samples, dt=dt)

    def traces(shot: ss.Shot) -> np.ndarray:
        t = np.arange(samples, dtype=np.float32) * np.float32(dt)
        # within the record on every trace, however far
        arrival = ((0.3 + 0.5 * shot.offset / shot.offset.max()) * t[-1]).astype(np.float32)
        a = (np.float32(np.pi * F0) * (t[None] - arrival[:, None])) ** 2
        return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)

    write_survey(path, survey, traces)


def job_text(options: argparse.Namespace, dt: float) -> str:
    """Return the job."""
    disk = 'place = "disk"\n' if options.strategy != "auto" else ""
    memory = f'memory = "{options.memory}"\n' if options.memory != "auto" else ""
    # of 2009: the grid of the model, which Taylor's weights need, and one time step for both orders
    grid = f'stencil = "taylor"\ngrid = "model"\ndt = {dt!r}' if options.grid == "model" else 'grid = "auto"'
    return f"""\
title = "founding small case"
[data]
files = ["shot.sgy"]
first_breaks = "ignore" # pulses that lie within the record on every trace, however far
[model]
vp = "vp.rsf"
epsilon = "epsilon.rsf"
delta = "delta.rsf"
[source]
f0 = {F0:g}
[propagation]
order = {options.order}
{grid}
model_storage = "{options.storage}"
[imaging]
condition = "cross-correlation"
[output]
formats = ["rsf"]
pictures = false
[parallel]
threads = {options.threads}
device = "{options.device}"
stream_model = true
[checkpoint]
strategy = "{options.strategy}"
{disk}{memory}restart_every = {options.restart_every or '"off"'}
"""


def run(job: Path, folder: Path, *, background: bool, whole_grid: bool = False) -> int:
    """Plan, then start the migration or go on with it; return its exit code, 0 when it goes on in the background."""
    env = os.environ | ({"SUBSALT_FRONT": "off"} if whole_grid else {})
    command = [*SUBSALT, "migrate", str(job), "--run", str(folder / "run")]
    plan = subprocess.run([*SUBSALT, "plan", str(job), "--run", str(folder / "run")])
    if plan.returncode:
        return plan.returncode
    if not background:
        begin = time.perf_counter()
        code = subprocess.run(command, env=env).returncode
        # from the first import to the last file: phases begin once the job has been checked
        (folder / "process.json").write_text(json.dumps({"seconds": time.perf_counter() - begin}))
        return code
    with (folder / "log.txt").open("ab") as log:
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=env
        )
    print(f"process {started.pid} goes on in the background; see subsalt watch {folder / 'run'}", flush=True)
    return 0


def grouped(phases: dict[str, float]) -> dict[str, float]:
    """Return the seconds of the rows of the table; what belongs to none of them is ``other``."""
    known = {p: g for g, names in GROUPS.items() for p in names}
    out = dict.fromkeys([*GROUPS, "other"], 0.0)
    for phase, seconds in phases.items():
        if phase != "wall":
            out[known.get(phase, "other")] += seconds
    return out | {"total": phases["wall"]}


def table(facts: dict[str, Any], case: dict[str, Any], process: float | None) -> tuple[str, dict[str, Any]]:
    """Return the table of a finished run, and what it says; `process`: seconds of all of it, in one go."""
    seconds = grouped(facts["phases"])
    peak = facts["peak_memory_bytes"]
    large = tuple(case["shape"]) == LARGE
    document = DOCUMENT_LARGE if large else DOCUMENT
    lines = [f"{'':<12}{'here s':>10}{('2010 s' if large else '2009 s'):>10}{'ratio':>8}"]
    for name, here in seconds.items():
        then = document.get(name)
        lines.append(
            f"{name:<12}{here:>10.1f}"
            + (f"{then:>10.1f}{then / here if here else math.inf:>8.2f}" if then else "")
        )
    if process is not None:
        lines.append(f"{'process':<12}{process:>10.1f}   with start and check")
    on_gpu = case.get("device", "cpu") == "cuda"
    bar = math.inf if on_gpu or large else BAR[case["storage"]]
    if on_gpu:
        lines.append(
            f"{process or seconds['total']:.1f} s in all, bar {GPU_BAR.get(tuple(case['shape']), math.inf):g} s on "
            f"one H200; peak memory of the host {peak / 1e9:.2f} GB"
        )
    else:
        lines.append(f"peak memory {peak / 1e9:.2f} GB, bar {bar / 1e9:g} GB; 2009: 7.5 GB")
    rate = facts["point_steps"] / max(seconds["kernel"], 1e-9)
    lines.append(f"{rate / 1e9:.3f} 10^9 point-steps/s of the last start")
    checkpoint = facts["checkpoint"]
    sums = checkpoint["sums"]
    lines.append(
        f"{checkpoint['strategy']} ({checkpoint['why']}): {sums['puts']} puts, {sums['bytes_written'] / 1e9:.2f} GB, "
        f"{sums['put_seconds']:.1f} s busy; {sums['gets']} gets, {sums['bytes_read'] / 1e9:.2f} GB, "
        f"{sums['get_seconds']:.1f} s busy; waited {sums['stall_seconds']:.1f} s"
    )
    lines.append(
        f"{sums['source_steps']} + {sums['receiver_steps']} steps, {sums['restart_points']} restart points; "
        + ("gone on from one" if sums["resumed"] else "done in one go")
        + f"; plan and counters {'differ' if checkpoint['differing'] else 'agree'}"
    )
    return "\n".join(lines), {
        "seconds": seconds,
        "phases": facts["phases"],
        "process_seconds": process,
        "peak_memory_bytes": peak,
        "bar_bytes": None if math.isinf(bar) else bar,
        "document": document,
        "point_steps": facts["point_steps"],
        "grid_point_steps": facts["grid_point_steps"],
        "checkpoint": {k: checkpoint[k] for k in ("strategy", "why", "sums", "differing")},
        "sha256": facts["image"]["sha256"],
    }


def main() -> None:
    """Parse, make, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="for everything; needs about 50 GB with snapshots on disk")
    parser.add_argument("--shape", type=int, nargs=3, default=SHAPE, help="points, the layer included")
    parser.add_argument("--large", action="store_true", help="the case of 2010")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--order", type=int, choices=[4, 8], default=8)
    parser.add_argument("--storage", choices=["u16", "f32"], default="f32")
    parser.add_argument("--strategy", choices=["store", "revolve", "auto"], help="store; on a GPU auto")
    parser.add_argument("--memory", help="for snapshots and states; 1.3GB, on a GPU auto")
    parser.add_argument("--restart-every", type=int, help="steps between restart points; 200, on a GPU none")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--whole-grid", action="store_true", help="also what no wave has reached")
    parser.add_argument("--grid", choices=["model", "auto"], default="model")
    parser.add_argument("--make", action="store_true", help="only write volumes, shot and job")
    parser.add_argument("--background", action="store_true", help="start the migration and return")
    parser.add_argument("--report", action="store_true", help="start nothing")
    parser.add_argument("--publish", action="store_true", help="write docs/performance/founding-job-*.json")
    options = parser.parse_args()
    usual = ("auto", "auto", 0) if options.device == "cuda" else ("store", "1.3GB", 200)
    for name, value in zip(("strategy", "memory", "restart_every"), usual, strict=True):
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.large:
        options.shape = LARGE
    if not options.report:
        job = make(options.folder, options)
        if options.make:
            return
        code = run(job, options.folder, background=options.background, whole_grid=options.whole_grid)
        if code or options.background:
            raise SystemExit(code)
    path = options.folder / "run" / "run.json"
    facts = json.loads(path.read_text()) if path.exists() else {"state": "not begun"}
    if facts["state"] != "finished":
        raise SystemExit(f"{options.folder}: {facts['state']}; start the same command again")
    case = json.loads((options.folder / "case.json").read_text())
    timed = options.folder / "process.json"
    process = json.loads(timed.read_text())["seconds"] if timed.exists() else None
    if sum(facts["checkpoint"]["sums"].get(k, 0) for k in ("resumed", "recomputed")):
        process = None  # the last of several starts
    text, said = table(facts, case, process)
    print(text)
    result: dict[str, Any] = {
        "question": "founding job",
        "command": f"python benchmarks/founding_job.py FOLDER --order {case['order']} --storage {case['storage']}"
        + (f" --device {case['device']}" if case.get("device", "cpu") != "cpu" else "")
        + (" --whole-grid" if case.get("whole_grid") else "")
        + (" --grid auto" if case.get("grid") == "auto" else "")
        + (" --large" if tuple(case["shape"]) == LARGE else ""),
        "version": __version__,
        "machine": machine(case["threads"]),
        **case,
        **said,
    }
    if options.publish:
        where = f"-{case['device']}" if case.get("device", "cpu") != "cpu" else ""
        where += "-whole-grid" if case.get("whole_grid") else ""
        where += "-grid-auto" if case.get("grid") == "auto" else ""
        where += "-large" if tuple(case["shape"]) == LARGE else ""
        name = f"founding-job-{case['order']}-{case['storage']}{where}.json"
        (HERE.parent / "docs" / "performance" / name).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    bars = GPU_BAR if case.get("device") == "cuda" else {}
    late = (process or said["seconds"]["total"]) > bars.get(tuple(case["shape"]), math.inf)
    raise SystemExit(late or said["peak_memory_bytes"] > (said["bar_bytes"] or math.inf))


if __name__ == "__main__":
    main()
