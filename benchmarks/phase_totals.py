"""Do the named phases of a run sum to its wall time?

Migrates made-up surveys by both methods, on one rank and more, and prints what share of the wall time no phase
explains, on the rank where it is largest. Seconds before the clock of a run starts (Python, imports, MPI) and after it
stops (the report) are told as well: they are in the time of the command, not in that of the run.

    python benchmarks/phase_totals.py [--ranks 1,2] [--cases vti-3d-store,iso-2d-disk,kirchhoff] [--directory DIR]

Ends with 1 when more than 2 % of a run are unexplained.
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

from facts import machine
from plan_against_measured import BIN, write_case

from subsalt.report.table import Column, render
from subsalt_lab.time_migrations import MadeTraces

BAR = 0.02
COLUMNS = (
    Column("case", "case"),
    Column("ranks", "ranks"),
    Column("command", "command s", ".2f"),
    Column("wall", "wall s", ".2f"),
    Column("unexplained", "unexplained s", ".3f"),
    Column("share", "%", ".2f"),
    Column("largest", "largest phases"),
)


def job_of(case: str, folder: Path, ranks: int) -> Path:
    """Write the files of a case; return its job."""
    folder.mkdir()
    if case == "kirchhoff":
        MadeTraces(20, 100, 500).write(folder)
        return folder / "measure.toml"
    return write_case(folder, case, ranks)


def migrated(job: Path, ranks: int) -> dict[str, object]:
    """Migrate, and return a row of the table."""
    words = [str(BIN / "subsalt"), "migrate", str(job), "--run", str(job.parent / "run")]
    if ranks > 1:
        words = [str(BIN / "mpiexec"), "-n", str(ranks), *words]
    begin = time.perf_counter()
    env = os.environ | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // ranks))}
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=env)
    command = time.perf_counter() - begin
    spent = json.loads((job.parent / "run" / "run.json").read_text("utf-8"))["over_ranks"]["phases"]
    wall, rest = spent.pop("wall"), spent.pop("unexplained")
    most = sorted(spent, key=lambda name: -spent[name]["max"])[:3]
    return {
        "ranks": ranks,
        "command": command,
        "wall": wall["max"],
        "unexplained": rest["max"],
        "share": 100 * rest["max"] / wall["max"],
        "largest": ", ".join(f"{name} {spent[name]['max']:.2f}" for name in most),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", default="1,2")
    parser.add_argument("--cases", default="vti-3d-store,iso-2d-disk,vti-3d-revolve,kirchhoff")
    parser.add_argument("--directory", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        for case in options.cases.split(","):
            for ranks in map(int, options.ranks.split(",")):
                rows.append(
                    {"case": case} | migrated(job_of(case, Path(folder, f"{case}-{ranks}"), ranks), ranks)
                )
    print(json.dumps(machine(os.cpu_count() or 1)))
    print(render(rows, COLUMNS, "markdown"))
    return int(any(row["share"] > 100 * BAR for row in rows))


if __name__ == "__main__":
    sys.exit(main())
