"""Is the memory that `subsalt plan` predicts the memory that ranks take?

Migrates one survey per case with the real command, on 1, 2 and 4 ranks that share every shot, and compares the largest
resident size of a rank (VmHWM of /proc, shared pages included) with the plan. Peaks are several times the size of the
program itself, so that the arrays decide.

    python benchmarks/plan_against_measured.py [--cases iso-3d tti-2d] [--ranks 1 2 4] [--groups 0] [--out FILE]

``--groups 1`` lets every rank do shots alone. Prints a table and, last, one JSON object; ends with 1 when a prediction
is off by more than 10 %.
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

import numpy as np
from facts import machine

import subsalt as ss
from subsalt import __version__
from subsalt.io import segy, volume
from subsalt.job.job import Job

BIN = Path(sys.executable).parent

#: points, receivers along x and y, samples of a record of 4 ms
SIZES = {"2d": ((1400, 700), (200, 1), 351), "3d": ((200, 110, 100), (60, 4), 101)}
VOLUMES = {"iso": ("vp",), "vti": ("vp", "epsilon", "delta"), "tti": ("vp", "epsilon", "delta", "theta")}
VALUES = {"vp": 2000.0, "epsilon": 0.1, "delta": 0.05, "theta": 20.0}
CASES = [f"{medium}-{size}" for size in SIZES for medium in VOLUMES]

#: how far a prediction may be off
BAR = 0.10


def write_case(folder: Path, name: str, ranks_per_shot: int, shots: int = 2) -> Path:
    """Write models, shots of noise and the job of a case; return the job file."""
    medium, size = name.split("-")
    shape, (along, across), samples = SIZES[size]
    grid = ss.Grid(shape, (10.0,) * len(shape))
    side = [10.0 * (n - 1) for n in shape]
    for volume_name in VOLUMES[medium]:
        values = np.full(shape, VALUES[volume_name], np.float32)
        values += np.linspace(0.0, 0.2, shape[-1], dtype=np.float32) * VALUES[volume_name]
        volume.write(folder / f"{volume_name}.rsf", grid, values)
    lines = np.linspace(0.3 * side[1], 0.7 * side[1], across) if len(shape) == 3 else [None]
    y = [] if len(shape) == 2 else [0.5 * side[1]]
    src = [[x, *y, 20.0] for x in np.linspace(0.4 * side[0], 0.6 * side[0], shots)]
    rcv = [
        [x, *([] if line is None else [line]), 20.0]
        for line in lines
        for x in np.linspace(5.0, side[0] - 5.0, along)
    ]
    noise = np.random.default_rng(1).standard_normal((shots, len(rcv), samples)).astype(np.float32)
    survey = ss.Survey.from_arrays(src, rcv, nt=samples, dt=0.004, data=noise)
    segy.write_survey(folder / "shots.sgy", survey)
    files = "\n".join(f'{v} = "{v}.rsf"' for v in VOLUMES[medium])
    job = folder / "job.toml"
    job.write_text(
        f'[data]\nfiles = ["shots.sgy"]\n{"line = " + json.dumps("2d") if size == "2d" else ""}\n[model]\n{files}\n'
        f"[source]\nf0 = 12\n[output]\npictures = false\n"
        f"[parallel]\nthreads = 1\nranks_per_shot = {ranks_per_shot}\n"
    )
    return job


def peak_of_ranks(command: list[str]) -> int:
    """Run a command; return the largest resident size that any Python below it reached, bytes."""
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    highest = 0
    while run.poll() is None:
        for pid in descendants(run.pid):
            highest = max(highest, high_water(pid))
        time.sleep(0.02)
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout.read() if run.stdout else ''}")
    return highest


def descendants(pid: int) -> list[int]:
    """Return a process and all below it."""
    found = [pid]
    for known in found:
        try:
            for thread in Path(f"/proc/{known}/task").iterdir():
                found += [int(c) for c in (thread / "children").read_text().split()]
        except OSError:
            continue  # it has just ended
    return found


def high_water(pid: int) -> int:
    """Return the largest resident size of a process so far, bytes; 0 when it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def compare(name: str, ranks: int, group: int) -> dict[str, object]:
    """Return plan and peak of one case."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        job = write_case(folder, name, group, shots=max(2, ranks // group))
        plan = Job.from_toml(job).plan(ranks, threads=1)
        start = [str(BIN / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
        command = [*start, str(BIN / "subsalt"), "migrate", str(job), "--run", str(folder / "run")]
        measured = peak_of_ranks(command)
    need = plan.decision.need
    return {
        "case": name,
        "ranks": ranks,
        "ranks_per_shot": plan.decision.group_size,
        "planned_bytes": need.total,
        "measured_bytes": measured,
        "ratio": need.total / measured,
        "arrays": need.arrays,
        "stage": need.stage,
    }


def main() -> None:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--groups", type=int, default=0, help="ranks per shot; 0: all ranks share every shot")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    facts = machine(1)
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['ram_gib']} GiB  subsalt {__version__}  {facts['date']}"
    )
    print(
        f"{'case':<8}{'ranks':>6}{'per shot':>9}{'planned MB':>12}{'measured MB':>12}{'planned/measured':>18}"
    )
    rows = []
    for name in asked.cases:
        for ranks in asked.ranks:
            row = compare(name, ranks, min(ranks, asked.groups or ranks))
            rows.append(row)
            print(
                f"{name:<8}{ranks:>6}{row['ranks_per_shot']:>9}{row['planned_bytes'] / 1e6:>12.0f}"  # type: ignore[operator]
                f"{row['measured_bytes'] / 1e6:>12.0f}{row['ratio']:>18.3f}",  # type: ignore[operator]
                flush=True,
            )
    worst = max(abs(float(row["ratio"]) - 1) for row in rows)  # type: ignore[arg-type]
    print(f"largest difference: {worst:.1%}")
    result = {"question": "plan against measured", "version": __version__, "machine": facts, "rows": rows}
    if asked.out:
        asked.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    sys.exit(worst > BAR)


if __name__ == "__main__":
    main()
