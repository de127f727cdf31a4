"""Processes of the proof of workers: a scheduler, workers that can be struck, a client, and ranks of mpiexec."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from subsalt.run.ledger_file import peek

#: seconds after which a silent worker counts as lost: longer than a busy machine lets one wait
TTL = 60
#: file that a worker of another version makes when it gets a unit
WRONG = "computed-by-another-version"
#: the client of a run: one shot a task
CLIENT = """
import dataclasses, sys
from pathlib import Path
from subsalt.job.base import read_job
from subsalt.run.engines.dask import dask_at
from subsalt.run.engines.farm import FarmUnits
from subsalt.run.method_run import RunRequest, RunState
from subsalt.run.migrate import migrate_on_farm
from subsalt.errors import SubsaltError
job, run, address, running_sum = sys.argv[1:]
if running_sum:
    from subsalt.methods.rtm import running_sum as sums
    sums.BATCH = int(running_sum)
try:
    with dask_at(address, Path(run), "", lambda text: print(text, flush=True)) as farm:
        state = RunState.of(RunRequest(Path(run), running_sum=bool(running_sum)))
        migrate_on_farm(read_job(Path(job)), state, FarmUnits(farm, state, threads=1, join=0))
except SubsaltError as error:
    print(f"{error.code} {error}", flush=True)
    sys.exit(error.exit_code)
"""
#: shots between two files of a running sum
BATCH = 16
#: a worker, with what makes it different
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
    "version": "import subsalt\nsubsalt.__version__ = '0.1'\n"
    "from subsalt.run.engines import worker\n"
    f"worker.compute = lambda *arguments: open({WRONG!r}, 'w').close()",
    "timed": "import os\nfrom subsalt.run.engines import worker\nreal = worker.compute\n"
    "def timed(*arguments):\n"
    "    begin = time.monotonic()\n"
    "    try:\n"
    "        return real(*arguments)\n"
    "    finally:\n"
    "        with open('programs.txt', 'a') as log:\n"
    "            log.write(f'{os.getpid()} {begin} {time.monotonic()}\\n')\n"
    "timed.__module__, timed.__name__, timed.__qualname__ = real.__module__, 'compute', 'compute'\n"
    "worker.compute = timed",
}
ENVIRONMENT = os.environ | {
    "OMP_NUM_THREADS": "1",
    "SUBSALT_MEASURE": "off",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": f"{TTL} s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
}


class Process:
    """A Python program in a session of its own; its words go to the end of a log."""

    def __init__(self, log: Path, *words: object) -> None:
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                [sys.executable, *map(str, words)],
                stdout=out,
                stderr=out,
                cwd=log.parent,
                env=ENVIRONMENT,
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """Its exit code, None while it runs."""
        return self._process.poll()

    def signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """Kill it, and wait for its end."""
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Ask it to end, and return its exit code."""
        self.signal(signal.SIGTERM)
        return self._process.wait()


@dataclass
class Cluster:
    """A scheduler and its workers, processes of this machine that can be struck.

    Parameters
    ----------
    folder : Path
        Folder of their logs and scratch.
    count : int
        Workers.
    kind : str
        Key of `CHANGES` for the workers beside the two that have a wrong clock and another version; all workers are of
        this kind when it is not ``"plain"``.
    """

    folder: Path
    count: int
    kind: str = "plain"
    port: int = 0
    workers: list[Process] = field(default_factory=list)
    #: workers that are never struck
    odd: list[Process] = field(default_factory=list)
    #: frozen workers, and when each is woken
    frozen: list[tuple[float, Process]] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Address of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start scheduler and workers."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = ["-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", self.port]
        self.scheduler = Process(self.folder / "cluster.log", *words, "--no-dashboard")
        if self.kind == "plain":
            self.odd = [self._worker("clock"), self._worker("version")]
        self.workers = [self._worker(self.kind) for _ in range(self.count - max(0, len(self.odd) - 1))]

    def _worker(self, kind: str) -> Process:
        words = [self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
        return Process(self.folder / "cluster.log", "-c", WORKER.format(change=CHANGES[kind]), *words)

    def strike(self, dice: random.Random) -> str:
        """Kill or freeze a plain worker, and start another; return what was done."""
        victim = dice.choice(self.workers)
        self.workers.remove(victim)
        self.workers.append(self._worker(self.kind))
        if dice.random() < 0.6:
            victim.kill()
            return "killed"
        # the program that it waits for goes on
        victim.signal(signal.SIGSTOP)
        woken = time.monotonic() + TTL * dice.uniform(1.5, 4)
        self.frozen.append((woken if dice.random() < 0.5 else float("inf"), victim))
        return "frozen"

    def wake(self) -> int:
        """Wake those whose time has come; return how many."""
        due = [pair for pair in self.frozen if pair[0] <= time.monotonic()]
        for pair in due:
            self.frozen.remove(pair)
            pair[1].signal(signal.SIGCONT)
            self.odd.append(pair[1])
        return len(due)

    def fill(self) -> int:
        """Start others in place of workers that have ended by themselves; return how many."""
        ended = [worker for worker in self.workers if not worker.runs]
        # those that were woken end when the scheduler does not know them any more
        self.odd = [worker for worker in self.odd if worker.runs]
        if not self.scheduler.runs:
            return 0
        for worker in ended:
            self.workers.remove(worker)
            self.workers.append(self._worker(self.kind))
        return len(ended)

    def end(self) -> None:
        """Kill all that is left."""
        for process in (*self.workers, *self.odd, *(worker for _, worker in self.frozen), self.scheduler):
            process.kill()
        self.workers, self.odd, self.frozen = [], [], []


class Client:
    """The client of a run, which may be started again.

    Parameters
    ----------
    job, run, log : Path
        The job file, the run directory, and where its words go.
    running_sum : bool
        Whether it adds partial images while others are computed.
    """

    def __init__(self, job: Path, run: Path, log: Path, running_sum: bool = False) -> None:
        self.job, self.run, self.log = job, run, log
        self._batch = str(BATCH) if running_sum else ""
        self._process: Process | None = None

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.runs

    @property
    def code(self) -> int | None:
        """Exit code of the last start; None without one, and while it runs."""
        return None if self._process is None else self._process.code

    def start(self, address: str) -> None:
        """Start it."""
        self._process = Process(self.log, "-c", CLIENT, self.job, self.run, address, self._batch)

    def kill(self) -> None:
        """Kill it, if it is there."""
        if self._process is not None:
            self._process.kill()

    def stop(self) -> int:
        """Ask it to stop; return its exit code."""
        assert self._process is not None
        return self._process.end()


def done(run: Path) -> int:
    """Return the number of finished shots."""
    return sum(row["state"] == "done" for row in peek(run))


def contents(run: Path) -> dict[str, str]:
    """Return the hashes of image and partial images, and of states and images of iterations."""
    results = [
        path for name in ("images/shot_*", "rounds/*", "iterations/*") for path in sorted(run.glob(name))
    ]
    files = [run / "image.sgy", *results]
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def migrate(job: Path, run: Path, log: Path, ranks: int = 2, until: int | None = None) -> None:
    """Migrate by one process, or under mpiexec where there is one; stop when so many shots are done.

    Raises
    ------
    SystemExit
        When the program fails.
    """
    mpiexec = Path(sys.executable).with_name("mpiexec")
    words = [sys.executable, "-m", "subsalt", "migrate", str(job), "--run", str(run), "--quiet"]
    if ranks > 1 and mpiexec.exists():
        words = [str(mpiexec), "-n", str(ranks), *words]
    with log.open("ab") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, env=ENVIRONMENT, start_new_session=True)
    while process.poll() is None:
        time.sleep(0.05)
        if until is not None and done(run) >= until:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            process.wait()
            return
    if process.returncode != 0:
        raise SystemExit(f"migrate ended with {process.returncode}: {said_by(log)}")


def said_by(log: Path) -> str:
    """Return the last words of a log."""
    return log.read_text(errors="replace")[-2000:] if log.exists() else "nothing"
