"""Do the two profiles of a run agree, and what do they cost?

Migrates one made-up survey on two ranks in turns: as it is, under the interposer, counting its own calls, and both at
once. In the runs with both, the seconds in MPI of the interposer are set against those of the run itself, alone and
with the waiting between looks at MPI; counts must be the same. Time with a profile over time without is a median over
rounds.

    python benchmarks/profile_agreement.py [--ranks 2] [--rounds 7] [--case vti-3d-store]

Ends with 1 when MPI time and waiting together disagree by more than 5 %, or the interposer costs more than 2 %.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from facts import machine
from plan_against_measured import BIN, write_case

from subsalt.report.table import Column, render
from subsalt_lab.pmpi.records import MpiProfile
from subsalt_lab.pmpi.run import profile

AGREE, COST = 0.05, 0.02
WAYS = ("as it is", "interposer", "built in", "both")
COLUMNS = (
    Column("way", "profile"),
    Column("seconds", "command s", ".2f"),
    Column("ratio", "over as it is", ".4f"),
    Column("low", "least", ".4f"),
    Column("high", "most", ".4f"),
)
AGREEMENT = (
    Column("what", "mean over ranks"),
    Column("outer", "interposer s", ".4f"),
    Column("own", "built in s", ".4f"),
    Column("ratio", "ratio", ".3f"),
    Column("low", "least", ".3f"),
    Column("high", "most", ".3f"),
)


def once(way: str, words: list[str], folder: Path) -> tuple[float, list[MpiProfile]]:
    """Migrate in one of the ways; return the seconds of the command, and the profiles that came of it."""
    out = folder / "own.json"
    own = {"SUBSALT_MPI_PROFILE": str(out)} if way in ("built in", "both") else {}
    calls = []
    with open(os.devnull, "w") as nowhere:
        begin = time.perf_counter()
        if way in ("interposer", "both"):
            calls.append(profile(words, extra=own, stdout=nowhere).profile)
        else:
            subprocess.run(words, check=True, stdout=nowhere, stderr=nowhere, env=os.environ | own)
        seconds = time.perf_counter() - begin
    if own:
        calls.append(MpiProfile.from_dict(json.loads(out.read_text("utf-8"))))
    shutil.rmtree(folder / "run")
    return seconds, calls


def in_mpi(profile: MpiProfile) -> float:
    """Return the mean seconds in MPI, without what the run's own profile calls for itself."""
    return profile.mpi_time - sum(r.seconds for r in profile.calls if r.phase == "profile") / profile.ranks


def same_counts(outer: MpiProfile, own: MpiProfile) -> bool:
    """Return whether the run counted what the interposer did, but for what only the latter sees."""
    by_outer = {(r.call, r.comm, r.phase): (r.calls, r.bytes) for r in outer.calls if r.phase != "profile"}
    return all(by_outer.get((r.call, r.comm, r.phase)) == (r.calls, r.bytes) for r in own.calls)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--case", default="vti-3d-store")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(max(1, (os.cpu_count() or 1) // options.ranks))
    taken: dict[str, list[float]] = {w: [] for w in WAYS}
    pairs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = write_case(folder, options.case, options.ranks)
        words = [str(BIN / "mpiexec"), "-n", str(options.ranks), str(BIN / "subsalt"), "migrate", str(job)]
        words += ["--run", str(folder / "run")]
        once("both", words, folder)  # compiles the interposer, and warms the caches
        for number in range(options.rounds):
            for way in WAYS if number % 2 else WAYS[::-1]:
                seconds, profiles = once(way, words, folder)
                taken[way].append(seconds)
                if way == "both":
                    pairs.append(profiles)
    rows = []
    for way, seconds in taken.items():
        ratios = [s / plain for s, plain in zip(seconds, taken[WAYS[0]], strict=True)]
        rows.append({"way": way, "seconds": median(seconds), "ratio": median(ratios)})
        rows[-1] |= {"low": min(ratios), "high": max(ratios)}
    agreement = []
    for what, value in (
        ("in MPI", in_mpi),
        ("in MPI and waiting", lambda p: in_mpi(p) + sum(p.waiting) / p.ranks),
        ("wall", lambda p: p.mean_wall),
    ):
        both = [(value(outer), value(own)) for outer, own in pairs]
        ratios = [b / a for a, b in both]
        agreement.append(
            {"what": what, "outer": median(a for a, _ in both), "own": median(b for _, b in both)}
        )
        agreement[-1] |= {"ratio": median(ratios), "low": min(ratios), "high": max(ratios)}
    print(json.dumps(machine(options.ranks)))
    print(render(rows, COLUMNS, "markdown"))
    print(render(agreement, AGREEMENT, "markdown"))
    equal = all(same_counts(*p) for p in pairs)
    print(f"calls and bytes {'are the same' if equal else 'DIFFER'} by function, communicator and phase")
    agrees = abs(agreement[1]["ratio"] - 1) <= AGREE
    return int(not (equal and agrees and rows[1]["ratio"] - 1 <= COST))


if __name__ == "__main__":
    sys.exit(main())
