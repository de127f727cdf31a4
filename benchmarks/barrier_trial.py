"""Does leaving barriers out save what the audit says at most, and where does the rest of their time go?

Three planted programs on two ranks: even steps, steps in which one rank in turn comes late, and the same with messages
in place of an Allreduce. Each is tried with and without its barrier by `subsalt lab barriers --try`; the time is that
of its loop, which it prints.

    python benchmarks/barrier_trial.py [--ranks 2] [--steps 4000] [--rounds 10]

Both ways run under the interposer, so a trial also saves what that takes for the barriers themselves: the loop without
it, timed beside, says how much that can be. Prints a table and, last, one JSON object; ends with 1 when a saving is
above its bound and this by more than chance, or outputs differ.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

from facts import machine  # noqa: E402

from subsalt import __version__  # noqa: E402
from subsalt.report.table import Column, render  # noqa: E402
from subsalt_lab.pmpi.mpi_in_use import MpiInUse  # noqa: E402

COLUMNS = (
    Column("program", "program"),
    Column("loop", "loop s", ".3f"),
    Column("barrier", "in barriers s", ".3f"),
    Column("percent", "% of loop", ".1f"),
    Column("late", "late %", ".0f", 100.0),
    Column("bound", "saves at most s", ".4f"),
    Column("recorded", "interposer s", ".4f"),
    Column("saving", "saving s", "+.4f"),
    Column("low", "95 % from", "+.4f"),
    Column("high", "to", "+.4f"),
    Column("next", "next call", ""),
    Column("moved", "it grows by s", "+.3f"),
    Column("verdict", "verdict"),
)


def elapsed(launch: list[str]) -> float:
    """Return the seconds of the loop of a run without the interposer."""
    said = subprocess.run(launch, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"elapsed ([0-9.]+)", said)[1])


def tried(mpi: MpiInUse, program: Path, how: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the row of one program."""
    launch = mpi.start(arguments.ranks, [str(program), how, str(arguments.steps)])
    options = ["--try", "1", "--rounds", str(arguments.rounds), "--time-from", "elapsed ([0-9.]+)"]
    options += ["--ignore", "elapsed .*", "--json"]
    words = [sys.executable, "-m", "subsalt", "lab", "barriers", *options, "--", *launch]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    result = json.loads(said.splitlines()[-1])
    (site,), trial = result["rows"], result["trial"]
    calls = {r["call"]: r for r in trial["rows"]}
    loop = median(trial["seconds_a"])
    plain = median(elapsed(launch) for _ in range(arguments.rounds))
    barrier = calls["MPI_Barrier"]["before"] / arguments.ranks
    return {
        "program": how,
        "loop": loop,
        "barrier": barrier,
        "percent": 100 * barrier / loop,
        "late": site["late_share"],
        "bound": trial["bound"],
        "recorded": max(0.0, loop - plain),
        "saving": trial["paired"]["median_saving"],
        "low": trial["paired"]["low"],
        "high": trial["paired"]["high"],
        "next": site["next"],
        "moved": calls[site["next"]]["moved"] / arguments.ranks,
        "verdict": trial["verdict"],
        "identical": trial["identical"],
        "noisy": trial["load"]["noisy"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    mpi = MpiInUse.find()
    if mpi.compiler is None:
        sys.exit(f"no mpicc of {mpi.name}")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "barrier_trial")
        words = [str(mpi.compiler), "-O2", str(HERE / "barrier_trial.c"), "-o", str(program)]
        subprocess.run(words, check=True)
        rows = [tried(mpi, program, how, options) for how in ("even", "uneven", "messages")]
    print(render(rows, COLUMNS))
    bounded = all(r["low"] <= r["bound"] + r["recorded"] and r["identical"] for r in rows)
    settings = {"mpi": mpi.name, "ranks": options.ranks, "steps": options.steps, "rounds": options.rounds}
    print(
        json.dumps({"version": __version__, "machine": machine(1), **settings, "rows": rows, "kept": bounded})
    )
    return 0 if bounded else 1


if __name__ == "__main__":
    sys.exit(main())
