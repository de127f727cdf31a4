"""What the examples of other simulators share: their programs, and the three commands of the lab on a launch line.

Not an example by itself: `opm_flow.py` and `openfoam.py` use it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LAB = [sys.executable, "-m", "subsalt", "lab"]


def arguments(about: str, folder: str) -> argparse.ArgumentParser:
    """Return the options that both examples have."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(folder), help="where case and results go")
    parser.add_argument("--ranks", type=int, default=2, help="ranks of profile and barriers")
    parser.add_argument(
        "--rounds", type=int, default=0, help="rounds of runs without the candidate barriers; 0: none"
    )
    parser.add_argument(
        "--repeats", type=int, default=3, help="runs of each layout of the scaling table; 0: none"
    )
    parser.add_argument("--quick", action="store_true", help="a case of seconds, each command once")
    return parser


def launcher() -> str | None:
    """Return the launcher of the Open MPI that Debian's simulators use."""
    return shutil.which("mpiexec.openmpi")


def missing(programs: dict[str, str]) -> bool:
    """Say which programs are missing, and how to get them; return whether one is.

    Parameters
    ----------
    programs : dict of str to str
        Package by program.
    """
    lacking = {p: package for p, package in programs.items() if shutil.which(p) is None}
    if lacking:
        names, packages = ", ".join(lacking), " ".join(dict.fromkeys(lacking.values()))
        print(f"skipped: {names} not on PATH; on Debian: apt install {packages}")
    return bool(lacking)


def environment() -> dict[str, str]:
    """Return the variables for Open MPI: it starts nothing for the superuser of a container otherwise."""
    found = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        found |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return found


def launch(ranks: int | str) -> list[str]:
    """Return the words that start so many ranks; ``"{ranks}"`` for `lab scaling`."""
    more = isinstance(ranks, int) and ranks > (os.cpu_count() or 1)
    return ["mpiexec.openmpi", *(["--oversubscribe"] if more else []), "--bind-to", "none", "-n", str(ranks)]


def run(words: Sequence[str], folder: Path, quiet: bool = True) -> None:
    """Run a command in a folder; its output goes to a file beside the case unless it is wanted."""
    with open(folder / "log", "ab") as log:
        out = log if quiet else None
        code = subprocess.run(list(words), cwd=folder, env=environment(), stdout=out, stderr=out).returncode
    if code:
        sys.exit(f"{' '.join(words)} ended with exit code {code}; see {folder / 'log'}")


def lab(words: Sequence[str], folder: Path) -> None:
    """Print a command of the lab, and run it in a folder."""
    print(f"\n$ subsalt lab {' '.join(words)}\n", flush=True)
    code = subprocess.run([*LAB, *words], cwd=folder, env=environment()).returncode
    if code:
        sys.exit(code)


def measure(
    folder: Path,
    program: Sequence[str],
    scaled: Sequence[str],
    asked: argparse.Namespace,
    outputs: Sequence[str],
) -> None:
    """Profile a program, audit its barriers, and scale it.

    Parameters
    ----------
    folder : Path
        Of the case.
    program : sequence of str
        The program and its arguments on ``--ranks`` ranks.
    scaled : sequence of str
        Options of `lab scaling`, ``--``, and the launch line with ``{ranks}``; empty for none.
    asked : Namespace
        Options of the example.
    outputs : sequence of str
        Files that must be the same without a barrier.
    """
    line = [*launch(asked.ranks), *program]
    lab(
        ["profile", "--against-founding", "--page", "profile.html", "--out", "profile.json", "--", *line],
        folder,
    )
    lab(["barriers", "--out", "barriers.json", "--", *line], folder)
    sites = json.loads((folder / "barriers.json").read_text())["rows"]
    if asked.rounds and any(site["class"] == "candidate" for site in sites):
        attempt = ["--try", "all-candidates", "--rounds", str(asked.rounds), "--outputs", *outputs]
        lab(["barriers", "--from", "barriers.json", *attempt, "--", *line], folder)
    if asked.repeats:
        lab(["scaling", "--ranks", f"1,{asked.ranks}", "--repeats", str(asked.repeats), *scaled], folder)
