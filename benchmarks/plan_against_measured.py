"""Does a run do what `subsalt plan` says: the same steps, states and bytes, its memory, its disk, its time?

Plans jobs of all kinds, runs them with the real command and default options (pictures, report, the front: nothing is
left off), and compares: every counter of the shots (equal); the largest resident size of a rank (VmHWM of /proc, shared
pages included; within 10 %); the most that the run directory took on disk while the run lasted (within 5 %); and
seconds from start to end, as planned: a machine that is busy, or whose speed drifts, shows there. Phases that take more
than a twentieth of the run are printed with what was planned; so is the part of the wall that no phase explains (within
2 %).

    python benchmarks/plan_against_measured.py [--cases iso-2d-store kirchhoff-3d] [--ranks 1 2] [--publish]

A case is a medium, a size and, in the third place, what of the source wavefield is kept: ``store`` (memory), ``disk``,
``revolve``, ``both`` or ``boundary``; ``auto`` says nothing of it, and ``gathers`` neither: nine shots with 41 half
offsets. ``kirchhoff-2d`` and ``kirchhoff-3d`` are time
migrations; cases of a marine line (`marine_line`) have steps on traces and a wavelet from a file. Prints a table and,
last, one JSON object; ends with 1 when counters, memory or disk are off.
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
from typing import Any

import marine_line
import numpy as np
from facts import machine

import subsalt as ss
from subsalt import __version__
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job
from subsalt.plan import plan_job
from subsalt.report.comparison import MATTERS
from subsalt.report.comparison import compare as against
from subsalt_lab.time_migrations import MadeTraces

BIN = Path(sys.executable).parent
PUBLISHED = Path(__file__).parents[1] / "docs" / "performance" / "plan-against-measured.json"

#: points, receivers along x and y, samples of a record of 4 ms
SIZES = {
    "2d": ((1400, 700), (200, 1), 351),
    "3d": ((200, 110, 100), (60, 4), 101),
    # for nine shots
    "box": ((160, 100, 90), (40, 4), 81),
    # little beside what any start takes, and seconds of time steps beside it
    "small": ((400, 200), (100, 1), 251),
    "long": ((1800, 900), (200, 1), 1001),
}
VOLUMES = {"iso": ("vp",), "vti": ("vp", "epsilon", "delta"), "tti": ("vp", "epsilon", "delta", "theta")}
VALUES = {"vp": 2000.0, "epsilon": 0.1, "delta": 0.05, "theta": 20.0}
STRATEGIES = {
    "auto": "",
    "gathers": "",
    "store": 'place = "memory"',
    "disk": 'strategy = "store"\nplace = "disk"',
    "revolve": 'strategy = "revolve"\nplace = "memory"',
    "both": 'strategy = "revolve"\nplace = "both"',
    "boundary": 'strategy = "boundary"\nplace = "memory"',
}
#: time migrations: inlines, crosslines, samples, offsets
TIME = {"kirchhoff-2d": (1, 800, 750, 16), "kirchhoff-3d": (24, 80, 400, 6)}
CASES = [
    *(f"{medium}-{size}-{place}" for size in SIZES for medium in VOLUMES for place in STRATEGIES),
    *TIME,
    *marine_line.JOBS,
]
#: run when nobody asks: every medium, size, strategy and method
SOME = [
    "iso-2d-auto",
    "vti-2d-revolve",
    "tti-2d-disk",
    "vti-2d-both",
    "iso-small-boundary",
    "iso-3d-boundary",
    "vti-3d-auto",
    "tti-3d-disk",
    *TIME,
    *marine_line.JOBS,
]

#: how far memory, disk, and the sum of the phases of a run may be off
MEMORY_BAR, DISK_BAR, WALL_BAR = 0.10, 0.05, 0.02
#: processes that run before, on the mean of a minute, from which on seconds mean nothing
NOISY = 0.5
#: shots of a case with gathers
NINE = 9
#: seconds between two looks at a run
LOOK = 0.01


def write_case(folder: Path, name: str, shots: int = 2) -> Path:
    """Write models, shots of noise and the job of a case; return the job file."""
    if name in marine_line.JOBS:
        return marine_line.write(folder, name)
    if name in TIME:
        ni, nj, nt, offsets = TIME[name]
        MadeTraces(ni, nj, nt, offsets).write(folder)
        job = folder / "measure.toml"
        # the job of the lab draws no pictures
        job.write_text(job.read_text().replace("[output]\npictures = false\n", ""))
        return job
    medium, size, parts = name.split("-")
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
    write_survey(folder / "shots.sgy", survey)
    files = "\n".join(f'{v} = "{v}.rsf"' for v in VOLUMES[medium])
    line = "" if len(shape) == 3 else f"line = {json.dumps('2d')}"
    how = f"[checkpoint]\n{STRATEGIES[parts]}\n" if STRATEGIES[parts] else ""
    job = folder / "job.toml"
    own = '[propagation]\ngrid = "model"\n'
    if parts == "gathers":
        how = "[imaging.gathers]\nmax = 200\n"  # twenty cells of 10 m on either side
    job.write_text(f'[data]\nfiles = ["shots.sgy"]\n{line}\n[model]\n{files}\n[source]\nf0 = 12\n{own}{how}')
    return job


def watched(command: list[str], run: Path) -> tuple[int, int, float]:
    """Run a command that writes into `run`.

    Returns
    -------
    memory : int
        Largest resident size that any Python below it reached, bytes.
    disk : int
        Bytes that the directory took at most.
    seconds : float
        Of the command.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, text=True)
        memory = disk = 0
        while process.poll() is None:
            memory = max([memory, *map(high_water, descendants(process.pid))])
            disk = max(disk, taken_by(run))
            time.sleep(LOOK)
        seconds = time.perf_counter() - begin
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{said.read()}")
    return memory, max(disk, taken_by(run)), seconds


def descendants(pid: int) -> list[int]:
    """Return a process and all below it."""
    words = [pid]
    for known in words:
        try:
            for thread in Path(f"/proc/{known}/task").iterdir():
                words += [int(c) for c in (thread / "children").read_text().split()]
        except OSError:
            continue  # it has just ended
    return words


def high_water(pid: int) -> int:
    """Return the largest resident size of a process so far, bytes; 0 when it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def taken_by(folder: Path) -> int:
    """Return the bytes that the files below a folder take on its disk."""
    total = 0
    for path in folder.rglob("*"):
        try:
            status = path.lstat()
        except OSError:
            continue  # it has just gone
        total += 512 * status.st_blocks
    return total


def compare(name: str, ranks: int) -> dict[str, Any]:
    """Return plan and run of one case side by side."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        shots = NINE if name.endswith("-gathers") else max(2, ranks)
        job, run = write_case(folder, name, shots), folder / "run"
        plan = plan_job(Job.from_toml(job), ranks, run_dir=run, measure=True)
        start = [str(BIN / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
        memory, disk, seconds = watched(
            [*start, str(BIN / "subsalt"), "migrate", str(job), "--run", str(run)], run
        )
        stored = json.loads((run / "run.json").read_text())
    planned = plan.disk.total
    counters = counters_of(plan, stored)
    spent, phases = plan.duration, {n: p["mean"] for n, p in stored["over_ranks"]["phases"].items()}
    compared = against(spent.phases, phases)
    return {
        "case": name,
        "ranks": ranks,
        **counters,
        "arrays": plan.basis.layout.arrays if name in TIME else plan.basis.decision.need.arrays,
        "disk_parts": plan.disk.parts,
        "planned_memory": plan.bytes_per_rank,
        "measured_memory": memory,
        "memory_error": plan.bytes_per_rank / memory - 1,
        "planned_disk": planned,
        "measured_disk": disk,
        "disk_error": planned / disk - 1,
        "planned_seconds": spent.wall,
        "measured_seconds": seconds,
        "time_error": None if spent.wall is None else spent.wall / seconds - 1,
        "unexplained": phases["unexplained"] / phases["wall"],
        "phases": [r.to_dict() for r in compared.rows if r.share >= MATTERS],
    }


def counters_of(plan: Any, record: dict[str, Any]) -> dict[str, Any]:
    """Return what a plan counts and whether the run counted the same; of a time migration, its blocks."""
    if not hasattr(plan.basis, "decision"):
        blocks = len(plan.basis.layout.blocks)
        return {
            "strategy": "",
            "counters": {"blocks": blocks},
            "counters_equal": blocks == len(record["blocks"]),
        }
    sums, wanted = record["checkpoint"]["sums"], plan.basis.survey.to_dict()
    wanted.pop("scratch_bytes")
    equal = all(sums[k] == n for k, n in wanted.items()) and not record["checkpoint"]["differing"]
    return {"strategy": plan.basis.decision.choice.best.name, "counters": wanted, "counters_equal": equal}


HEAD = (
    f"{'case':<20}{'ranks':>6}{'counters':>10}{'plan MB':>9}{'run MB':>8}{'error':>8}"
    f"{'disk MB':>9}{'run MB':>8}{'error':>8}{'plan s':>8}{'run s':>7}{'error':>7}{'unexplained':>12}"
)


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    time_error = "" if row["time_error"] is None else f"{row['time_error']:+.0%}"
    return (
        f"{row['case']:<20}{row['ranks']:>6}"
        f"{'equal' if row['counters_equal'] else 'DIFFER':>10}{row['planned_memory'] / 1e6:>9.0f}"
        f"{row['measured_memory'] / 1e6:>8.0f}{row['memory_error']:>+8.1%}{row['planned_disk'] / 1e6:>9.1f}"
        f"{row['measured_disk'] / 1e6:>8.1f}{row['disk_error']:>+8.1%}{row['planned_seconds'] or 0:>8.1f}"
        f"{row['measured_seconds']:>7.1f}{time_error:>7}{row['unexplained']:>12.1%}"
    )


def phase_line(phase: dict[str, Any]) -> str:
    """Return a phase below its row."""
    said, spent = phase["predicted"], phase["measured"] or 0.0
    reports = "          " if said is None else f"{said:>8.2f} s"
    return f"    {phase['phase']:<20}{reports}{spent:>8.2f} s  {phase['share']:>5.1%}"


def main() -> None:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=SOME, metavar="CASE")
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--publish", action="store_true", help="write docs/performance/plan-against-measured.json"
    )
    options = parser.parse_args()
    facts = machine(len(os.sched_getaffinity(0)))
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['ram_gib']} GiB  subsalt {__version__}  {facts['date']}"
    )
    print(HEAD)
    rows = []
    for name in options.cases:
        for ranks in options.ranks:
            rows.append(compare(name, ranks))
            print(line(rows[-1]), flush=True)
            for phase in rows[-1]["phases"]:
                print(phase_line(phase), flush=True)
    result = {"question": "plan against measured", "version": __version__, "machine": facts, "rows": rows}
    # seconds of a machine on which others compute are no measure of a plan; memory and disk are
    result |= largest(rows) | {"noisy": float(str(facts["load_before"])) > NOISY}
    print(
        f"counters {'equal' if result['counters_equal'] else 'DIFFER'}; largest error of memory "
        f"{result['memory_error']:.1%}, of disk {result['disk_error']:.1%}, of time {result['time_error']:.0%}; "
        f"wall that no phase explains {result['unexplained']:.1%} at most"
    )
    for path in [p for p in (options.out, PUBLISHED if options.publish else None) if p is not None]:
        path.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    off = (
        result["memory_error"] > MEMORY_BAR,
        result["disk_error"] > DISK_BAR,
        result["unexplained"] > WALL_BAR,
        not result["counters_equal"],
    )
    sys.exit(any(off))


def largest(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the largest error of each kind over the rows."""
    worst = {
        k: max(abs(r[k] or 0.0) for r in rows)
        for k in ("memory_error", "disk_error", "time_error", "unexplained")
    }
    return worst | {"counters_equal": all(r["counters_equal"] for r in rows)}


if __name__ == "__main__":
    main()
