"""What does one setting of a job change: its time, that of its steps, its points, its snapshots, its memory?

    python benchmarks/job_settings.py JOB.toml propagation.depth_axis uniform auto
    python benchmarks/job_settings.py JOB.toml parallel.shots_at_once 1 auto
    python benchmarks/job_settings.py JOB.toml SUBSALT_FRONT off on

Migrates the job with `subsalt migrate`, once with each value in turn, forwards and backwards. A setting with a dot is a
key of the job, one in capitals a variable of the environment. Everything else is as the job says. The runs lie in a
folder of their own, which is removed. Prints a row per value, medians over the rounds: seconds of the whole command and
of the time steps of both wavefields, points times steps, bytes of snapshots, largest resident size, and whether the
images have the same bytes. Then the ratios of each row to the first, and one JSON object.

Jobs of `docs/performance.md`: `examples/marmousi2_migrate.toml` (run `examples/marmousi2.py` first: it makes the shots
and the wavelet), the job of ``python benchmarks/founding_job.py FOLDER --make --grid auto``, that of ``subsalt example
marine``, and of ``subsalt example tti3d``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import tomlkit
from facts import machine, spread

SUBSALT = [sys.executable, "-m", "subsalt"]


def with_key(job: Path, setting: str, value: str) -> Path:
    """Write the job with another value of a key beside itself, so that its paths hold; return the file."""
    document = tomlkit.parse(job.read_text("utf-8"))
    table, key = setting.split(".")
    document.setdefault(table, tomlkit.table())[key] = int(value) if value.isdigit() else value
    made = job.with_name(f".{job.stem}-{value}.toml")
    made.write_text(tomlkit.dumps(document), "utf-8")
    return made


def migrated(job: Path, environment: dict[str, str], folder: Path) -> tuple[dict[str, float], str]:
    """Migrate once and return what it took, and the SHA-256 of the image."""
    begin = time.perf_counter()
    command = [*SUBSALT, "migrate", str(job), "--run", str(folder)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | environment
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}")
    facts = json.loads((folder / "run.json").read_text("utf-8"))
    phases = facts["over_ranks"]["phases"]
    return {
        "seconds": seconds,
        "steps_seconds": sum(phases.get(name, {"max": 0.0})["max"] for name in ("source", "receivers")),
        "point_steps": facts["point_steps"],
        "grid_point_steps": facts["grid_point_steps"],
        "snapshot_bytes": facts["checkpoint"]["sums"]["bytes_written"],
        "peak_memory_bytes": facts["peak_memory_bytes"],
    }, facts["image"]["sha256"]


def main() -> None:
    """Migrate in turn, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("job", type=Path)
    parser.add_argument("setting", help="TABLE.KEY of the job, or a VARIABLE of the environment")
    parser.add_argument("values", nargs="+", help="the first is what the others are compared with")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", help="what the job is called in tables")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    facts = machine(len(os.sched_getaffinity(0)))
    job, setting = options.job.resolve(), options.setting
    is_key = "." in setting
    jobs = {v: with_key(job, setting, v) if is_key else job for v in options.values}
    rounds: dict[str, list[dict[str, float]]] = {value: [] for value in jobs}
    images: dict[str, str] = {}
    try:
        for i in range(options.rounds):
            for value in jobs if i % 2 == 0 else reversed(jobs):
                with tempfile.TemporaryDirectory(dir=job.parent) as folder:
                    environment = {} if is_key else {setting: value}
                    row, images[value] = migrated(jobs[value], environment, Path(folder, "run"))
                rounds[value].append(row)
                print(value, json.dumps(row), flush=True)
    finally:
        for made in jobs.values() if is_key else ():
            made.unlink()
    first, *others = options.values
    result: dict[str, Any] = {
        "question": "one setting of a job",
        "case": options.case or job.stem,
        "setting": setting,
        "command": f"python benchmarks/job_settings.py {job.name} {setting} {' '.join(options.values)}",
        "machine": facts,
        "rounds": options.rounds,
        "same_image": len(set(images.values())) == 1,
        "values": {},
        "ratios": {},
    }
    for value, each in rounds.items():
        row = {k: round(median(r[k] for r in each), 3) for k in each[0]}
        result["values"][value] = row | {"spread": round(spread([r["seconds"] for r in each]), 3)}
        print(
            f"{value:10}{row['seconds']:8.2f} s, steps {row['steps_seconds']:.2f} s, "
            f"{row['point_steps'] / 1e9:.2f} 10^9 point-steps, snapshots {row['snapshot_bytes'] / 1e9:.3f} GB, "
            f"memory {row['peak_memory_bytes'] / 1e9:.2f} GB"
        )
    for value in others:
        result["ratios"][value] = {
            k: round(median(b[k] / a[k] for a, b in zip(rounds[first], rounds[value], strict=True)), 3)
            for k in rounds[first][0]
            if all(row[k] for row in rounds[first])
        }
        print(f"{value} over {first}:", result["ratios"][value])
    print("the same image" if result["same_image"] else "images differ")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
