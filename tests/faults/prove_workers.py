"""Do workers that die, freeze and come back, and a scheduler and a client that are killed, change a byte of an image?

    python tests/faults/prove_workers.py [--minutes 30] [--shots 200] [--workers 8] [--every 5] [--seed 1] [--json FILE]
    python tests/faults/prove_workers.py --iterations 4 --shots 30
    python tests/faults/prove_workers.py --cost [--shots 4] [--workers 1] [--seconds 60] [--json FILE]

Small shots are migrated by one process. Then, again and again until the time is over, the same survey is begun under
mpiexec, stopped, and continued by a Dask scheduler with workers that are processes of this machine, one shot a task.
Every few seconds, but not before another shot is done, a worker is killed (SIGKILL) or frozen (SIGSTOP), half of those
frozen are woken after they count as lost, and another worker is started in its place. The scheduler and the client are
killed once in every run. One worker has a clock that is ten minutes off, and one says that it is of another version:
that one must get no unit. The last shots are computed under mpiexec again. Every other run keeps a running sum in place
of partial images. With `--iterations` the survey is migrated by least squares: a unit is a shot of a round, and states
and images of iterations are compared too.

Prints one JSON object: runs, strikes by kind, units lost, and the files that differ, which must be none. The exit code
is 1 where bytes differ, a worker of another version computed, or strikes cost more than the tasks of their workers.

With `--cost` nothing is struck: units that take at least `--seconds` each are computed, and it is said for which part
of the time a worker had no program of a unit, and which part such a program does not compute its shot.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "run"), str(HERE.parent)]

from small_run import LEAST_SQUARES, MIGRATE, MODEL  # noqa: E402
from worker_cost import measure_cost  # noqa: E402
from worker_processes import ENVIRONMENT, WRONG, Client, Cluster, contents, done, migrate, said_by  # noqa: E402

from subsalt.io.event_log import read_events  # noqa: E402

#: parts of a run that mpiexec computes at the beginning and leaves for mpiexec at the end
FIRST, LAST = 0.05, 0.05
#: the most tasks that a strike may cost: the one in progress, and one that waits
TASKS = 2


@dataclass
class Struck:
    """One run that is carried through all that may happen.

    Parameters
    ----------
    job, run : Path
        The job file, and the run directory.
    options : argparse.Namespace
        Options of the proof.
    dice : random.Random
        Chooses whom to strike.
    until : float
        Time, on the monotonic clock, at which strikes end and mpiexec computes what is left.
    running_sum : bool
        Whether partial images are added while others are computed.
    """

    job: Path
    run: Path
    options: argparse.Namespace
    dice: random.Random
    until: float
    running_sum: bool
    counts: Counter[str] = field(default_factory=Counter)
    codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.log = self.run.with_suffix(".log")
        units = units_of(self.options)
        self.ends = {"scheduler": units // 3, "client": units * 2 // 3}
        self.cluster = Cluster(self.run.parent, self.options.workers)
        self.client = Client(self.job, self.run, self.log, self.running_sum)

    def carry(self) -> dict[str, Any]:
        """Begin, strike, and end the run; return what happened."""
        begin, shots = time.monotonic(), units_of(self.options)
        migrate(self.job, self.run, self.log, until=int(FIRST * shots))
        self.counts["begun under mpiexec"] = done(self.run)
        try:
            self._strike_until(shots - int(LAST * shots))
        finally:
            self.cluster.end()
            self.client.kill()
        self.counts["left for mpiexec"] = shots - done(self.run)
        migrate(self.job, self.run, self.log)
        lost = sum(event["event"] == "lost" for event in read_events(self.run).known)
        text = self.log.read_text(errors="replace")
        return {
            **self.counts,
            "client codes": self.codes,
            "units lost": lost,
            "refused": text.count("has subsalt 0.1"),
            "running sum": self.running_sum,
            "seconds": round(time.monotonic() - begin, 1),
        }

    def _strike_until(self, shots: int) -> None:
        """Strike workers, scheduler and client until so many shots are done, or the time is over; stop the client."""
        self.cluster.start()
        last, then = time.monotonic(), done(self.run)
        while (now := done(self.run)) < shots and time.monotonic() < self.until:
            if not self.client.runs:
                self._start_client()
            time.sleep(0.2)
            self.counts["woken"] += self.cluster.wake()
            self.counts["workers that ended by themselves"] += self.cluster.fill()
            # on a busy machine a shot takes longer than the time between two strikes: then a strike for each shot
            if time.monotonic() - last >= self.options.every and now > then and self.client.runs:
                last, then = time.monotonic(), now
                self.counts[self.cluster.strike(self.dice)] += 1
            for what, at in list(self.ends.items()):
                if now >= at and self.client.runs:
                    del self.ends[what]
                    self.counts[f"{what} killed"] += 1
                    (self.cluster.scheduler if what == "scheduler" else self.client).kill()
        self.codes += [self.client.stop()] if self.client.runs else []

    def _start_client(self) -> None:
        """Start the client again; a scheduler that was killed is started with its workers."""
        code = self.client.code
        if code is not None:
            self.codes.append(code)
            if code not in (0, 75, -signal.SIGKILL):
                raise SystemExit(f"the client ended with {code}: {said_by(self.log)}")
        if not self.cluster.scheduler.runs:
            self.cluster.end()
            self.cluster.start()
        self.client.start(self.cluster.address)


def units_of(options: argparse.Namespace) -> int:
    """Return the units of a run: its shots, of an iteration those of all rounds."""
    return int(options.shots * (1 + options.iterations))


def make_survey(
    folder: Path,
    shots: int,
    changed: Callable[[str], str] = lambda text: text,
    more: str = "",
    migrate_by: str = MIGRATE,
) -> Path:
    """Model the shots of a survey whose jobs are changed; return the job that migrates it, with further lines."""
    (folder / "model.toml").write_text(changed(MODEL.replace("n = 3", f"n = {shots}")))
    job = folder / "job.toml"
    job.write_text(changed(migrate_by) + more)
    words = [sys.executable, "-m", "subsalt", "model", folder / "model.toml", "--out", folder / "shots"]
    subprocess.run([*words, "--quiet"], check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    return job


def prove(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Strike runs until the time is over; return what happened."""
    dice, begin = random.Random(options.seed), time.monotonic()
    by = LEAST_SQUARES.replace("= 2\n", f"= {options.iterations}\n") if options.iterations else MIGRATE
    job = make_survey(folder, options.shots, migrate_by=by)
    migrate(job, folder / "whole.run", folder / "whole.log", ranks=1)
    whole, runs, wrong = contents(folder / "whole.run"), [], []
    until = begin + 60 * options.minutes
    while not runs or time.monotonic() < until:
        run = folder / f"struck_{len(runs)}.run"
        # the first without: all files of the run are compared
        facts = Struck(
            job, run, options, dice, until, running_sum=len(runs) % 2 == 1 and not options.iterations
        ).carry()
        now = contents(run)
        compared = [name for name in whole if name in now or not facts["running sum"]]
        differ = [name for name in compared if now.get(name) != whole[name]]
        strikes = sum(
            int(facts.get(kind, 0)) for kind in ("killed", "frozen", "workers that ended by themselves")
        )
        facts |= {
            "files compared": len(compared),
            "differing files": differ,
            "most units lost": TASKS * strikes,
        }
        computed_by_wrong = (folder / WRONG).exists()
        if (
            differ
            or facts["units lost"] > facts["most units lost"]
            or not facts["refused"]
            or computed_by_wrong
        ):
            wrong.append(run.name)
            sys.stderr.write(f"{run.name}: {said_by(run.with_suffix('.log'))}\n")
        runs.append(facts)
        print(f"{run.name}: {json.dumps(facts)}", file=sys.stderr, flush=True)
    return {
        "seconds": round(time.monotonic() - begin, 1),
        "shots": options.shots,
        "workers": options.workers,
        "seconds between strikes": options.every,
        "strikes": {
            kind: sum(int(facts.get(kind, 0)) for facts in runs)
            for kind in ("killed", "frozen", "woken", "scheduler killed", "client killed")
        },
        "units lost": sum(facts["units lost"] for facts in runs),
        "differing files": sum(len(facts["differing files"]) for facts in runs),
        "a worker of another version computed": (folder / WRONG).exists(),
        "wrong": wrong,
        "runs": runs,
    }


def main() -> int:
    """Strike runs until the time is over, or measure what the engine costs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--shots", type=int, help="200; with --cost 4")
    parser.add_argument("--workers", type=int, help="8; with --cost 1")
    parser.add_argument("--iterations", type=int, default=0, help="migrate by least squares")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between strikes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--cost", action="store_true", help="measure what the engine costs; nothing is struck"
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="of a unit, with --cost")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    options.shots = options.shots or (4 if options.cost else 200)
    options.workers = options.workers or (1 if options.cost else 8)
    with tempfile.TemporaryDirectory(prefix="subsalt-workers-") as place:
        folder = Path(place)
        result = measure_cost(folder, options, make_survey) if options.cost else prove(folder, options)
    result |= {"processor": processor(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 1 if result["wrong"] else 0


def processor() -> str:
    """Return the processor and the cores that this program may use."""
    from subsalt.host import machine_facts

    facts = machine_facts()
    return f"{facts.get('cpu', 'unknown')}, {len(os.sched_getaffinity(0))} cores"


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
