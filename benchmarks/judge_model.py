"""At what rate is a model read from its files and judged: validity, slowest and fastest waves, largest eigenvalue?

A VTI model of three volumes, in RSF and in SEG-Y, is written into FOLDER. A job that leaves it there (`stream_model`)
is opened as `subsalt check` opens it: its volumes are summarised, then read and judged, then carried to the grid of the
waves, of which a window is taken. Beside it stand the extremes by NumPy's formulas, in blocks that stay in a cache, as
before version 0.9. Every round does everything once; medians of seconds and of seconds of all threads are printed, and
last a JSON object.

    python benchmarks/judge_model.py FOLDER --shape 101 636 681 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from facts import machine
from founding_job import SPACING, job_text, made_model, time_step, write_shot

import subsalt as ss
from subsalt import __version__
from subsalt.earth.grid import Box
from subsalt.io.volumes import volume
from subsalt.methods.rtm.earth_model import load_parameters
from subsalt.methods.rtm.job import Job
from subsalt.numerics import side_by_side

#: points of a block of NumPy's work in float64
BLOCK = 1 << 16
#: seconds, and seconds of all threads
Times = tuple[float, float]


def make(folder: Path, shape: tuple[int, ...], suffix: str, threads: int) -> Path:
    """Write what is missing of volumes, shot and job; return the job."""
    grid, dt = ss.Grid(shape, (SPACING,) * 3), time_step(8)
    for name, values in made_model(shape).items():
        if not (folder / f"{name}.{suffix}").exists():
            volume.write(folder / f"{name}.{suffix}", grid, values)
    if not (folder / "shot.sgy").exists():
        write_shot(folder / "shot.sgy", shape, 100, dt)
    options = argparse.Namespace(
        strategy="auto",
        memory="auto",
        grid="auto",
        order=8,
        storage="f32",
        threads=threads,
        device="cpu",
        restart_every=0,
    )
    job = folder / f"{suffix}.toml"
    job.write_text(job_text(options, dt).replace(".rsf", f".{suffix}"))
    return job


def timed(work: Callable[[], Any]) -> tuple[Any, Times]:
    """Return what `work` returns, and how long it took."""
    begin, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, (time.perf_counter() - begin, time.process_time() - cpu)


def by_formulas(vp: np.ndarray, epsilon: np.ndarray, delta: np.ndarray) -> tuple[float, float, float]:
    """Return slowest, fastest and largest eigenvalue of columns by NumPy's formulas."""
    rows = max(1, BLOCK // vp.shape[1])

    def some(first: int) -> tuple[float, float, float]:
        v, e, d = (a[first : first + rows].astype(np.float64) for a in (vp, epsilon, delta))
        t = (1 + 2 * e) * 2.0 + 1.0
        root = np.sqrt(np.maximum(t * t - 16.0 * (e - d), 0.0))
        slow = v * np.sqrt(1 + 2 * np.minimum(np.minimum(e, d), 0))
        return (
            float(slow.min()),
            float((v * np.sqrt(1 + 2 * np.maximum(e, 0))).max()),
            float((v * v * (t + root)).max()),
        )

    low, high, largest = zip(*side_by_side.each(some, range(0, len(vp), rows)), strict=True)
    return min(low), max(high), max(largest)


def opened(job_file: Path) -> dict[str, Times]:
    """Return how long each phase of opening a job's model takes."""
    job = Job.from_toml(job_file)
    out: dict[str, Times] = {}
    given, out["headers"] = timed(lambda: job.remember("parameters", lambda: load_parameters(job)))
    _, out["summarised"] = timed(lambda: [p.summary for p in given.values()])
    _, out["read and judged"] = timed(job.open_model)
    waves, out["carried"] = timed(job.open_propagation_model)
    _, out["window of it"] = timed(lambda: waves.window(Box((0, 0, 0), waves.grid.shape3)))
    return out


def in_numpy(shape: tuple[int, ...]) -> dict[str, Times]:
    """Return how long the extremes of a model in memory take by NumPy's formulas, and by compiled code."""
    volumes = {name: np.ascontiguousarray(a) for name, a in made_model(shape).items()}
    model = ss.EarthModel(ss.Grid(shape, (SPACING,) * 3), **volumes)
    columns = [volumes[n].reshape(-1, shape[-1]) for n in ("vp", "epsilon", "delta")]
    return {"extremes, NumPy": timed(lambda: by_formulas(*columns))[1], "extremes": timed(model.extremes)[1]}


def main() -> None:
    """Parse, make, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", type=int, nargs=3, default=(101, 636, 681))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    shape = tuple(options.shape)
    options.folder.mkdir(parents=True, exist_ok=True)
    side_by_side.set_threads(options.threads)
    jobs = {suffix: make(options.folder, shape, suffix, options.threads) for suffix in ("rsf", "sgy")}
    rounds: dict[str, list[Times]] = {}
    for _ in range(options.rounds):
        for suffix, job in jobs.items():
            for phase, times in opened(job).items():
                rounds.setdefault(f"{suffix}, {phase}", []).append(times)
        for phase, times in in_numpy(shape).items():
            rounds.setdefault(phase, []).append(times)
    gigabytes = 3 * 4 * np.prod(shape) / 1e9
    result: dict[str, Any] = {
        "question": "judging a model",
        "command": "python benchmarks/judge_model.py FOLDER --shape " + " ".join(map(str, shape)),
        "version": __version__,
        "machine": machine(options.threads),
        "gigabytes": gigabytes,
        "phases": {},
    }
    for phase, several in rounds.items():
        seconds, of_threads = (median(t[k] for t in several) for k in (0, 1))
        result["phases"][phase] = {"seconds": seconds, "thread_seconds": of_threads}
        print(f"{phase:<24}{seconds:8.2f} s{of_threads:8.2f} thread-s{gigabytes / seconds:8.2f} GB/s")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
