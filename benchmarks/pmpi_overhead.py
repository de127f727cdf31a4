"""What does the interposer cost per call? In one process, blocks of calls with it and around it (PMPI_...) take turns.

    python benchmarks/pmpi_overhead.py [--sites]

The answer is verified: the profile of the run has as many calls as the program makes through it.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from statistics import median

from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.pmpi.run import profile

HERE = Path(__file__).parent
CALLS, ROUNDS = 200_000, 41
#: nanoseconds a call that the interposer may cost
BAR = 100.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sites", action="store_true", help="with call sites told apart")
    given = parser.parse_args()
    mpi = MpiInUse.find()
    if mpi.compiler is None:
        raise SystemExit(f"{mpi.name} has no mpicc here")
    with tempfile.TemporaryDirectory() as folder:
        program, out = Path(folder, "overhead"), Path(folder, "out")
        text = HERE / "pmpi_overhead.c"
        subprocess.run([str(mpi.compiler), "-O2", str(text), "-o", str(program)], check=True)
        with out.open("w") as file:
            profiled = profile(mpi.start(1, [str(program)]), sites=given.sites, stdout=file).profile
        rounds = [[float(word) for word in line.split()] for line in out.read_text().splitlines()]
    counted = {r.call: r.calls for r in profiled.by_call()}
    assert counted["MPI_Comm_rank"] == counted["MPI_Send"] == CALLS * ROUNDS, counted
    print(f"{mpi.name}, {CALLS:,} calls a block, median of {ROUNDS} blocks{', sites' if given.sites else ''}")
    print(f"{'call':<28}{'alone ns':>10}{'with ns':>10}{'more ns':>10}")
    for name, at in (("MPI_Comm_rank", 1), ("MPI_Send to nobody, 1 byte", 3)):
        alone, with_it = median(r[at] for r in rounds), median(r[at + 1] for r in rounds)
        more = median(r[at + 1] - r[at] for r in rounds)
        print(
            f"{name:<28}{alone:>10.1f}{with_it:>10.1f}{more:>10.1f}{'  above the bar' if more > BAR else ''}"
        )


if __name__ == "__main__":
    main()
