"""Does a run do what `subsalt plan` says: the same steps, states and bytes, its memory, its time?

Plans a survey, migrates it with the real command, and compares: every counter of its shots (equal), the largest
resident size of a rank (VmHWM of /proc, shared pages included; within 10 %), and the seconds from start to end. A
machine whose speed drifts is no fault of a plan: seconds are also compared after the planned kernels are taken at the
rate at which the run's own time steps went (within 15 %); the raw miss is printed, too. So is every phase that takes
more than a twentieth of the run, with the model's seconds at that rate (`subsalt report` shows the same table): within
15 % as well, with 50 ms for what a clock and a disk add to a phase of a short run.

    python benchmarks/plan_against_measured.py [--cases iso-2d-store vti-3d-revolve] [--ranks 1 2 4] [--publish]

A case is a medium, a size and, in the third place, what of the source wavefield is kept: ``store`` (memory),
``disk``, ``revolve``, ``both`` or ``boundary``. ``--groups 1`` lets every rank do shots alone. Prints a table and,
last, one JSON object; ends with 1 when a prediction is off.
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
from subsalt.kernels import cpu
from subsalt.lab.model.compare import MATTERS, UNEXPLAINED, Row
from subsalt.lab.model.compare import compare as against
from subsalt.plan import plan_job

BIN = Path(sys.executable).parent
PUBLISHED = Path(__file__).parents[1] / "docs" / "performance" / "plan-against-measured.json"

#: points, receivers along x and y, samples of a record of 4 ms
SIZES = {
    "2d": ((1400, 700), (200, 1), 351),
    "3d": ((200, 110, 100), (60, 4), 101),
    # seconds of time steps beside what any start takes
    "long": ((1800, 900), (200, 1), 1001),
}
VOLUMES = {"iso": ("vp",), "vti": ("vp", "epsilon", "delta"), "tti": ("vp", "epsilon", "delta", "theta")}
VALUES = {"vp": 2000.0, "epsilon": 0.1, "delta": 0.05, "theta": 20.0}
STRATEGIES = {
    "store": 'place = "memory"',
    "disk": 'strategy = "store"\nplace = "disk"',
    "revolve": 'strategy = "revolve"\nplace = "memory"\nslots = 3\nblock = 12',
    "both": 'strategy = "revolve"\nplace = "both"\nslots = 1\ndisk_slots = 4\nblock = 8',
    "boundary": 'strategy = "boundary"\nplace = "memory"',
}
CASES = [f"{medium}-{size}-{kept}" for size in SIZES for medium in VOLUMES for kept in STRATEGIES]
#: run when nobody asks: every medium, size and strategy
SOME = [
    "iso-2d-store",
    "iso-2d-disk",
    "iso-2d-revolve",
    "vti-2d-both",
    "tti-2d-store",
    "iso-3d-boundary",
    "vti-3d-store",
    "vti-3d-revolve",
    "tti-3d-disk",
]

#: how far memory, and rescaled time, may be off
MEMORY_BAR, TIME_BAR = 0.10, 0.15
#: seconds that a phase may be off whatever it takes
PHASE_SECONDS = 0.05


def write_case(folder: Path, name: str, ranks_per_shot: int, shots: int = 2) -> Path:
    """Write models, shots of noise and the job of a case; return the job file."""
    medium, size, kept = name.split("-")
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
        f"[source]\nf0 = 12\n[output]\npictures = false\n[checkpoint]\n{STRATEGIES[kept]}\n"
        f"[parallel]\nthreads = 1\nranks_per_shot = {ranks_per_shot}\n"
    )
    return job


def watched(command: list[str]) -> tuple[int, float]:
    """Run a command; return the largest resident size that any Python below it reached, bytes, and its seconds."""
    begin = time.perf_counter()
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    highest = 0
    while run.poll() is None:
        for pid in descendants(run.pid):
            highest = max(highest, high_water(pid))
        time.sleep(0.02)
    seconds = time.perf_counter() - begin
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout.read() if run.stdout else ''}")
    return highest, seconds


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
    """Return plan and run of one case side by side."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        job = write_case(folder, name, group, shots=max(2, ranks // group))
        plan = plan_job(Job.from_toml(job), ranks, threads=1, measure=True)
        start = [str(BIN / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
        command = [*start, str(BIN / "subsalt"), "migrate", str(job), "--run", str(folder / "run")]
        peak, seconds = watched(command)
        told = json.loads((folder / "run" / "run.json").read_text())
    need, planned, choice = plan.decision.need, plan.survey, plan.decision.choice
    assert planned is not None
    assert choice is not None
    sums, wanted = told["checkpoint"]["sums"], planned.to_dict()
    wanted.pop("scratch_bytes")
    spent, phases = plan.duration, told["over_ranks"]["phases"]
    kernels = spent.phases.get("source", 0.0) + spent.phases.get("receivers", 0.0)
    # the run's own rate of time steps, from its source wavefield: that of the receivers is then a prediction
    ratio = phases["source"]["mean"] / spent.phases["source"] if "source" in spent.phases else float("nan")
    wall = spent.wall or float("nan")
    compared = against(spent.phases, {n: p["mean"] for n, p in phases.items()})
    return {
        "case": name,
        "strategy": choice.best.name,
        "ranks": ranks,
        "ranks_per_shot": plan.decision.group_size,
        "counters_equal": all(sums[k] == n for k, n in wanted.items())
        and not told["checkpoint"]["differing"],
        "counters": wanted,
        "planned_bytes": need.total,
        "measured_bytes": peak,
        "memory_ratio": need.total / peak,
        "arrays": need.arrays,
        "stage": need.stage,
        "planned_seconds": wall,
        "measured_seconds": seconds,
        "time_ratio": wall / seconds,
        "kernel_rate_ratio": ratio,
        "rescaled_time_ratio": (wall + (ratio - 1) * kernels) / seconds,
        "planned_phases": spent.phases,
        "measured_phases": {n: p["mean"] for n, p in phases.items()},
        "phases": [r.to_dict() for r in compared.rows if r.share >= MATTERS],
        "off": [r.phase for r in compared.rows if r.share >= MATTERS and is_off(r)],
    }


def is_off(row: Row) -> bool:
    """Return whether the model misses a phase by more than the bar."""
    if row.phase == UNEXPLAINED:
        return False
    return row.miss > max(TIME_BAR * (row.measured or 0.0), PHASE_SECONDS)


HEAD = (
    f"{'case':<17}{'ranks':>6}{'per shot':>9}{'counters':>10}{'plan MB':>9}{'run MB':>8}{'ratio':>7}"
    f"{'plan s':>8}{'run s':>7}{'raw':>7}{'rescaled':>9}"
)


def line(row: dict) -> str:
    """Return a row of the table."""
    return (
        f"{row['case']:<17}{row['ranks']:>6}{row['ranks_per_shot']:>9}"
        f"{'equal' if row['counters_equal'] else 'DIFFER':>10}{row['planned_bytes'] / 1e6:>9.0f}"
        f"{row['measured_bytes'] / 1e6:>8.0f}{row['memory_ratio']:>7.3f}{row['planned_seconds']:>8.1f}"
        f"{row['measured_seconds']:>7.1f}{row['time_ratio']:>7.2f}{row['rescaled_time_ratio']:>9.2f}"
    )


def phase_line(phase: dict, off: list) -> str:
    """Return a phase below its row."""
    said, spent = phase["rescaled"], phase["measured"] or 0.0
    told = "          " if said is None else f"{said:>8.2f} s"
    ratio = "" if phase["ratio"] is None else f"{phase['ratio']:>7.2f}"
    mark = "  OFF" if phase["phase"] in off else ""
    return f"    {phase['phase']:<20}{told}{spent:>8.2f} s{ratio}  {phase['share']:>5.1%}{mark}"


def main() -> None:
    """Run the cases and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=SOME, metavar="CASE")
    parser.add_argument("--ranks", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--groups", type=int, default=0, help="ranks per shot; 0: all ranks share every shot")
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--publish", action="store_true", help="write docs/performance/plan-against-measured.json"
    )
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    # steps of whole grids: what the wave has not reached is left out otherwise, and a plan knows only about how much
    os.environ["SUBSALT_FRONT"] = "off"
    cpu.set_front(False)
    facts = machine(1)
    print(
        f"{facts['cpu']}, {facts['cores']} cores, {facts['ram_gib']} GiB  subsalt {__version__}  {facts['date']}"
    )
    print(HEAD)
    rows = []
    for name in asked.cases:
        for ranks in asked.ranks:
            rows.append(compare(name, ranks, min(ranks, asked.groups or ranks)))
            print(line(rows[-1]), flush=True)
            for phase in rows[-1]["phases"]:
                print(phase_line(phase, rows[-1]["off"]), flush=True)
    memory = max(abs(float(row["memory_ratio"]) - 1) for row in rows)  # type: ignore[arg-type]
    seconds = max(abs(float(row["rescaled_time_ratio"]) - 1) for row in rows)  # type: ignore[arg-type]
    equal = all(row["counters_equal"] for row in rows)
    off = [f"{row['case']} on {row['ranks']}: {phase}" for row in rows for phase in row["off"]]  # type: ignore[attr-defined]
    print(
        f"counters {'equal' if equal else 'DIFFER'}; largest difference of memory {memory:.1%}, of rescaled time "
        f"{seconds:.1%}; phases off: {', '.join(off) or 'none'}"
    )
    result = {"question": "plan against measured", "version": __version__, "machine": facts, "rows": rows}
    for path in [asked.out] if asked.out else []:
        path.write_text(json.dumps(result, indent=1) + "\n")
    if asked.publish:
        PUBLISHED.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))
    sys.exit(not equal or memory > MEMORY_BAR or seconds > TIME_BAR or bool(off))


if __name__ == "__main__":
    main()
