"""Do workers that die, freeze and come back, and a scheduler and a client that are killed, change a byte of an image?

    python tests/faults/prove_workers.py [--minutes 30] [--shots 200] [--workers 8] [--every 5] [--seed 1] [--json FILE]

Small shots are migrated by one process. Then, again and again until the time is over, the same survey is begun under
mpiexec, stopped, and continued by a Dask scheduler with workers that are processes of this machine, one shot a task.
Every few seconds a worker is killed (SIGKILL) or frozen (SIGSTOP), half of those frozen are woken after they count as
lost, and another worker is started in its place. The scheduler and the client are killed once in every run. One worker
has a clock that is ten minutes off, and one says that it is of another version: that one must get no unit. The last
shots are computed by one process again.

Prints one JSON object: runs, kills by kind, units lost, and the files that differ, which must be none. The exit code is
1 where bytes differ, a worker of another version computed, or kills cost more than the units in progress.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "run"), str(HERE.parent)]

from small_run import MIGRATE, MODEL  # noqa: E402

from subsalt.io.event_log import read_events  # noqa: E402
from subsalt.run.ledger_file import peek  # noqa: E402

#: seconds after which a silent worker counts as lost
TTL = 10
#: the client of a run: one shot a task
CLIENT = """
import sys
from pathlib import Path
from subsalt.job.base import read_job
from subsalt.run.engines.dask import dask_at
from subsalt.run.engines.farm import FarmUnits
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_on_farm
from subsalt.errors import SubsaltError
job, run, address = sys.argv[1:]
try:
    with dask_at(address, Path(run), "", lambda text: print(text, flush=True)) as farm:
        state = RunState.of(RunRequest(Path(run)))
        migrate_on_farm(read_job(Path(job)), state, FarmUnits(farm, state, threads=1, join=0))
except SubsaltError as error:
    print(f"{error.code} {error}", flush=True)
    sys.exit(error.exit_code)
"""
#: workers: as they are, with a wrong clock, of another version
WORKER = """
import sys, time
{change}
from distributed.cli.dask_worker import main
sys.argv = ["dask-worker", *sys.argv[1:]]
main()
"""
CHANGES = {
    "plain": "",
    "clock": "real = time.time\ntime.time = lambda: real() + 600",
    "version": "import subsalt\nsubsalt.__version__ = '0.1'",
}
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "SUBSALT_MEASURE": "off",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL} s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s",
}


@dataclass
class Cluster:
    """A scheduler and its workers, processes of this machine that can be struck.

    Parameters
    ----------
    folder : Path
        Folder of their logs and scratch.
    count : int
        Workers.
    """

    folder: Path
    count: int
    port: int = 0
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    #: frozen workers, and when each is woken
    frozen: list[tuple[float, subprocess.Popen[bytes]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start scheduler and workers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port)]
        self.scheduler = self._python(*words, "--no-dashboard")
        kinds = ["clock", "version", *["plain"] * (self.count - 1)]
        self.workers = [self.worker(kind) for kind in kinds]

    def worker(self, kind: str = "plain") -> subprocess.Popen[bytes]:
        """Start a worker."""
        program = WORKER.format(change=CHANGES[kind])
        return self._python("-c", program, self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _python(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, *words],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=ENVIRONMENT,
                start_new_session=True,
            )

    def strike(self, dice: random.Random) -> str:
        """Kill or freeze a plain worker, and start another; return what was done."""
        victim = dice.choice(self.workers[2:])
        self.workers.remove(victim)
        self.workers.append(self.worker())
        if dice.random() < 0.6:
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            return "killed"
        # with the program that it waits for: that goes on
        victim.send_signal(signal.SIGSTOP)
        woken = time.monotonic() + TTL * dice.uniform(1.5, 4)
        self.frozen.append((woken if dice.random() < 0.5 else float("inf"), victim))
        return "frozen"

    def wake(self) -> int:
        """Wake those whose time has come; return how many."""
        due = [pair for pair in self.frozen if pair[0] <= time.monotonic()]
        for pair in due:
            self.frozen.remove(pair)
            pair[1].send_signal(signal.SIGCONT)
            self.workers.append(pair[1])
        return len(due)

    def end(self) -> None:
        """Kill all that is left."""
        processes = [
            *self.workers,
            *(w for _, w in self.frozen),
            *([self.scheduler] if self.scheduler else []),
        ]
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
        self.workers, self.frozen, self.scheduler = [], [], None


def subsalt(*words: object) -> list[str]:
    """Return a command."""
    return [sys.executable, "-m", "subsalt", *map(str, words)]


def contents(run: Path) -> dict[str, str]:
    """Return the hashes of image and partial images."""
    files = [run / "image.sgy", *sorted((run / "images").iterdir())]
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def done(run: Path) -> int:
    """Return the number of finished shots."""
    return sum(row["state"] == "done" for row in peek(run))


def part(words: list[str], run: Path, until: int, log: Path) -> None:
    """Let a command compute until so many shots are done, then stop it."""
    with log.open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env=ENVIRONMENT, start_new_session=True)
    while process.poll() is None and done(run) < until:
        time.sleep(0.1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def struck(job: Path, run: Path, options: argparse.Namespace, dice: random.Random) -> dict[str, object]:
    """Carry one run through all that may happen; return what did."""
    counts: Counter[str] = Counter()
    log = run.with_suffix(".log")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    begin = [str(mpiexec), "-n", "2"] if mpiexec.exists() else []
    part([*begin, *subsalt("migrate", job, "--run", run)], run, options.shots // 20, log)
    counts["begun under mpiexec"] = done(run)
    cluster = Cluster(run.parent, options.workers)
    cluster.start()
    ends = {"scheduler": options.shots // 3, "client": options.shots * 2 // 3}
    client, last, codes = None, time.monotonic(), []
    try:
        while True:
            if client is None:
                with log.open("ab") as out:
                    words = [sys.executable, "-c", CLIENT, str(job), str(run), cluster.address]
                    client = subprocess.Popen(words, stdout=out, stderr=out, env=ENVIRONMENT)
            code = client.poll()
            if code is not None:
                codes.append(code)
                client = None
                if code == 0:
                    break
                if code not in (75, -9):
                    raise SystemExit(f"the client ended with {code}: see {log}")
                cluster.end()
                cluster.start()
                continue
            time.sleep(0.2)
            counts["woken"] += cluster.wake()
            if time.monotonic() - last >= options.every and done(run):
                last = time.monotonic()
                counts[cluster.strike(dice)] += 1
            for what, at in list(ends.items()):
                if done(run) >= at:
                    del ends[what]
                    counts[f"{what} killed"] += 1
                    (cluster.scheduler if what == "scheduler" else client).send_signal(signal.SIGKILL)  # type: ignore[union-attr]
    finally:
        cluster.end()
        if client is not None:
            client.kill()
            client.wait()
    log_text = log.read_text(errors="replace")
    lost = sum(e["event"] == "lost" for e in read_events(run).known)
    return {**counts, "client codes": codes, "units lost": lost, "refused": log_text.count("has subsalt 0.1")}


def main() -> int:
    """Strike runs until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--shots", type=int, default=200)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--every", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    dice, begin = random.Random(options.seed), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="subsalt-workers-") as place:
        folder = Path(place)
        (folder / "model.toml").write_text(MODEL.replace("n = 3", f"n = {options.shots}"))
        job = folder / "job.toml"
        job.write_text(MIGRATE)
        for words in (
            subsalt("model", folder / "model.toml", "--out", folder / "shots"),
            subsalt("migrate", job, "--run", folder / "whole.run", "--quiet"),
        ):
            subprocess.run(words, check=True, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        whole, runs, wrong = contents(folder / "whole.run"), [], []
        while not runs or time.monotonic() - begin < 60 * options.minutes:
            run = folder / f"struck_{len(runs)}.run"
            facts = struck(job, run, options, dice)
            now = contents(run)
            differ = [name for name in whole if now.get(name) != whole[name]]
            strikes = sum(int(facts.get(k, 0)) for k in ("killed", "frozen"))  # type: ignore[call-overload]
            # a worker has one task and one that waits; the scheduler and the client take all of them
            most = 2 * strikes + 2 * options.workers * 2
            if differ or int(facts["units lost"]) > most or not facts["refused"]:  # type: ignore[call-overload]
                wrong.append(run.name)
            runs.append(facts | {"differing files": differ, "most units lost": most})
            print(f"{run.name}: {json.dumps(runs[-1])}", file=sys.stderr, flush=True)
            shutil.rmtree(run)
        result = {
            "seconds": round(time.monotonic() - begin, 1),
            "shots": options.shots,
            "workers": options.workers,
            "runs": runs,
            "differing files": sum(len(r["differing files"]) for r in runs),  # type: ignore[arg-type, misc]
            "wrong": wrong,
        }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
