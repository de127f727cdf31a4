"""What does the model say of a survey on 24 to 10,000 nodes like this machine?

Makes a job of 600 shots in a VTI model of 400 x 300 x 200 points and runs `subsalt plan --nodes` on it. Before that a
small survey of the same medium is migrated here on one and on two ranks: what the model is off there stands below.

    python benchmarks/plan_on_nodes.py [--nodes 24,100,1000,10000] [--network 100Gbit/s] [--files 20GB/s]

Prints what the command prints. Nothing of it but the error on measured points is a measurement.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import plan_against_measured as cases

SHOTS = 600


def command(*words: object) -> None:
    """Run a command of subsalt; its output is ours."""
    subprocess.run([str(cases.BIN / "subsalt"), *map(str, words)], check=True)


def main() -> None:
    """Make the jobs, migrate the small one, and plan the large one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", default="24,100,1000,10000")
    parser.add_argument("--network", default="100Gbit/s")
    parser.add_argument("--files", default="20GB/s")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["SUBSALT_FRONT"] = "off"
    cases.SIZES["survey"] = ((400, 300, 200), (60, 4), 501)
    with tempfile.TemporaryDirectory() as place:
        large, small = Path(place) / "large", Path(place) / "small"
        large.mkdir()
        small.mkdir()
        seen = []
        for ranks in (1, 2):
            job = cases.write_case(small, "vti-3d-store")
            command("plan", job, "--ranks", ranks, "--threads", 1)
            run = small / f"run{ranks}"
            start = [str(cases.BIN / "mpiexec"), "-n", str(ranks)] if ranks > 1 else []
            words = [*start, str(cases.BIN / "subsalt"), "migrate", str(job), "--run", str(run)]
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
            seen += ["--measured", run]
        job = cases.write_case(large, "vti-survey-auto", shots=SHOTS)
        print(flush=True)
        command(
            "plan",
            job,
            "--nodes",
            options.nodes,
            "--network",
            options.network,
            "--files",
            options.files,
            *seen,
        )


if __name__ == "__main__":
    sys.exit(main())
