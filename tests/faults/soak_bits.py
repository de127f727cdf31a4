"""Migrate the demo's shots on 1 to 5 ranks of a machine under load, and compare the hash of every shot with its first.

Run by ``make soak-bits``: SOAK="--minutes 120". Every round draws the ranks, how many of them share a shot, their
threads and the seed of their batches (SUBSALT_BATCH). Meanwhile programs that compute and programs that move memory
are at work, and single ranks are stopped and let go on (SIGSTOP, SIGCONT). It ends after so many minutes or shots,
with 1 when a shot had two hashes, and leaves no process behind, however it ends. ``--coarse`` takes the survey on a
grid of twice the spacing, at half the frequency: a tenth of the time.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "mpi")]

from launch import Launched, kill_tree  # noqa: E402
from survey_jobs import with_ranks  # noqa: E402

from subsalt import demo  # noqa: E402
from subsalt.demo import GRID, true_model  # noqa: E402
from subsalt.earth.grid import Grid  # noqa: E402
from subsalt.earth.model import EarthModel  # noqa: E402
from subsalt.methods.rtm.job import Job  # noqa: E402
from subsalt.methods.rtm.model_job import model_job  # noqa: E402
from subsalt.run.ledger_file import peek  # noqa: E402

#: what makes load: both end by themselves when their parent is gone
LOADS = {
    "busy": """
        import os
        parent = os.getppid()
        while os.getppid() == parent:
            sum(i * i for i in range(200_000))
        """,
    "memory": """
        import os
        import numpy as np
        parent, a = os.getppid(), np.ones(8_000_000)
        while os.getppid() == parent:
            a[...] = a[::-1] + 1.0
        """,
}

#: kills a run, ranks that are stopped included, when this program was killed and can do so no more
GUARD = """
import os, sys, time
sys.path.insert(0, {here!r})
from launch import kill_tree
while os.getppid() == {parent}:
    time.sleep(0.5)
kill_tree({run})
"""

#: seconds after which a round is given up
LONGEST = 3600.0


def survey(folder: Path, *, coarse: bool) -> Path:
    """Model the demo's shots in a folder, unless they are there; return the job that migrates them."""
    done = folder / "modelled"
    if not done.exists():
        truth, f0 = true_model(), demo.F0
        if coarse:
            thin = {
                k: np.ascontiguousarray(getattr(truth, k)[::2, ::2, ::2]) for k in ("vp", "epsilon", "delta")
            }
            grid, f0 = Grid(thin["vp"].shape, tuple(2 * h for h in GRID.spacing)), f0 / 2
            truth = EarthModel(grid, **thin)
        (folder / "model").mkdir(parents=True, exist_ok=True)
        demo.GRID = truth.grid
        demo.write_models(truth, folder / "model")
        (folder / "model.toml").write_text(demo.model_job_text(f0=f0))
        quiet = "[output]\npictures = false\n"
        (folder / "job.toml").write_text(demo.MIGRATE_JOB.format(f0=f0) + quiet)
        print(f"modelling 16 shots on {truth.grid.shape} points", flush=True)
        model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
        done.touch()
    return folder / "job.toml"


@contextmanager
def loaded(dice: random.Random, most: int) -> Iterator[list[str]]:
    """Keep up to so many programs busy inside the ``with`` block."""
    names = dice.choices(list(LOADS), k=dice.randint(0, most))
    programs: list[subprocess.Popen] = []
    try:
        for name in names:
            text = "\n".join(line[8:] for line in LOADS[name].splitlines())
            programs.append(subprocess.Popen([sys.executable, "-c", text]))
        yield names
    finally:
        for program in programs:
            program.kill()
        for program in programs:
            program.wait()


@contextmanager
def ended(run_of: Launched) -> Iterator[None]:
    """Leave nothing of a run behind at the end of the ``with`` block, nor when this program is killed in it."""
    text = GUARD.format(here=str(HERE.parent / "mpi"), parent=os.getpid(), run=run_of.process.pid)
    guard = subprocess.Popen([sys.executable, "-c", text])
    try:
        yield
    finally:
        kill_tree(run_of.process.pid)
        guard.kill()
        guard.wait()


@dataclass
class Soak:
    """What was compared so far.

    Parameters
    ----------
    job : Path
        What is migrated.
    folder : Path
        For run directories; one with other bytes stays there.
    dice : random.Random
        Draws everything.
    """

    job: Path
    folder: Path
    dice: random.Random
    load: int = 3
    hashes: dict[int, str] = field(default_factory=dict)
    compared: int = 0
    by_ranks: Counter[int] = field(default_factory=Counter)
    stops: int = 0
    wrong: list[str] = field(default_factory=list)

    def round(self, number: int) -> None:
        """Migrate all shots once, in one way, and compare them."""
        ranks = 1 if number == 0 else self.dice.randint(1, 5)
        together, threads = self.dice.randint(1, ranks), self.dice.randint(1, 2)
        seed, run = self.dice.randrange(2**32), self.folder / f"round-{number}"
        env = {"SUBSALT_BATCH": str(seed)} if number and self.dice.random() < 0.8 else {}
        command = ["subsalt", "migrate", with_ranks(self.job, together), "--run", run]
        with loaded(self.dice, self.load if number else 0) as loads:
            run_of = Launched(ranks, command, env=env, threads=threads)
            with ended(run_of):
                stopped = self.strike(run_of) if number else 0
                done = run_of.wait(LONGEST)
        how = f"{ranks} ranks, {together} per shot, {threads} threads, {env or 'no seed'}, {loads}, {stopped} stops"
        if done.rc != 0:
            self.wrong.append(f"round {number}: {how}\n{done}")
        bad = self.compare(run, ranks)
        self.stops += stopped
        said = f"{'BAD: ' + str(bad) if bad else 'the same bytes'}   {done.seconds:.0f} s"
        print(f"round {number}: {how}: rc {done.rc}, {self.compared} shots compared, {said}", flush=True)
        if bad:
            self.wrong.append(f"round {number}: {how}: {bad} in {run}")
        elif done.rc == 0:
            shutil.rmtree(run)

    def compare(self, run: Path, ranks: int) -> list[int]:
        """Return the shots of a run that have another hash than before."""
        bad = []
        for row in peek(run):
            if row["sha256"] is None:
                continue
            bad += [row["id"]] if self.hashes.setdefault(row["id"], row["sha256"]) != row["sha256"] else []
            self.compared, self.by_ranks[ranks] = self.compared + 1, self.by_ranks[ranks] + 1
        return bad

    def strike(self, run_of: Launched) -> int:
        """Stop single ranks for a while until the run ends or its time is over; return how often."""
        end, count = time.monotonic() + LONGEST, 0
        while run_of.process.poll() is None and time.monotonic() < end:
            time.sleep(self.dice.uniform(0.05, 1.5))
            ranks = list(run_of.ranks().values())
            if not ranks:
                continue
            pid = self.dice.choice(ranks)
            with suppress(ProcessLookupError):
                try:
                    os.kill(pid, signal.SIGSTOP)
                    count += 1
                    time.sleep(self.dice.choice([0.01, 0.1, 0.5, 2.0]))
                finally:
                    os.kill(pid, signal.SIGCONT)
        return count


def main() -> int:
    """Run rounds until the time or the shots are over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="begin no round after so many")
    parser.add_argument("--shots", type=int, default=500, help="end once so many were compared")
    parser.add_argument("--coarse", action="store_true", help="on a grid of twice the spacing")
    parser.add_argument("--load", type=int, default=3, help="programs that disturb at the same time, at most")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all that is drawn")
    parser.add_argument(
        "--out", type=Path, help="folder of the survey, to be used again; else a temporary one"
    )
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    begin, number = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="soak-bits-") as temporary:
        folder = args.out or Path(temporary)
        soak = Soak(survey(folder, coarse=args.coarse), folder, random.Random(args.seed), args.load)
        print(f"seed {args.seed}", flush=True)
        while soak.compared < args.shots and time.monotonic() - begin < 60 * args.minutes:
            soak.round(number)
            number += 1
        by_ranks = ", ".join(f"{n} on {r}" for r, n in sorted(soak.by_ranks.items()))
        print(
            f"\n{soak.compared} shots compared in {number} rounds: {by_ranks} ranks; {soak.stops} stops of a rank;"
        )
        print(f"{len(soak.hashes)} shots, {len(soak.wrong)} rounds with other bytes or a failure")
        print("\n".join(soak.wrong))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
