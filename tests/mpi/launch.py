"""Starts programs under mpiexec, for the tests of ranks.

    from launch import needs_mpi, run        # for a whole module: from launch import MPI; pytestmark = MPI

    @needs_mpi
    def test_sums():
        done = run(3, '''
            from subsalt.parallel.comm import world
            w = world()
            print(w.sum(w.rank))
        ''')
        assert done.rc == 0, done
        assert done.out == ["3\\n"] * 3          # by rank

    done = run(4, ["subsalt", "migrate", job, "--run", folder])     # the real command

A program is the text of a Python script (indented as it stands in the test), a command is a list. What every rank
prints is told apart: `out[rank]`, `err[rank]`; what mpiexec itself says is `mpiexec`. Ranks are forked from a process
that has imported subsalt (`rank_server`); an interpreter of its own, with ``own_start=True``, costs each half a second
of CPU more. Put several checks into one launch all the same. Nothing outlives `run`: after `timeout` seconds mpiexec
and all below it are killed, and `rc` is None. `Launched` is a run that goes on, to be struck: `ranks()` gives the
process ids, `processes()` all that must be gone behind it.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

BIN = Path(sys.executable).parent
#: where a rank that is forked writes its process id, into ``pid.RANK``
PIDS = "SUBSALT_TESTS_PIDS"
#: seconds after which a launch hangs: PATIENCE of `patience`, which ranks that import this module do not find
TIMEOUT = 600.0


def mpiexec() -> str | None:
    """Return the mpiexec beside this Python, or the first on PATH."""
    return shutil.which("mpiexec", path=str(BIN)) or shutil.which("mpiexec")


def _why_not() -> str | None:
    if find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    if mpiexec() is None:
        return "no mpiexec beside this Python or on PATH"
    return None


#: the marks of a test of MPI, for `pytestmark = MPI`; it is skipped where MPI is absent
MPI = [pytest.mark.mpi, pytest.mark.skipif(_why_not() is not None, reason=str(_why_not()))]


def needs_mpi(test):
    """Mark one test as one of MPI."""
    for mark in MPI:
        test = mark(test)
    return test


@dataclass
class Done:
    """What a launch left behind."""

    rc: int | None
    out: list[str]
    err: list[str]
    mpiexec: str
    seconds: float

    def __str__(self) -> str:
        """Return everything said, for the message of a failed assertion."""
        said = "".join(
            f"--- rank {r} {name} ---\n{text}"
            for r, (o, e) in enumerate(zip(self.out, self.err, strict=True))
            for name, text in (("out", o), ("err", e))
            if text
        )
        return f"rc {self.rc} after {self.seconds:.1f} s\n{said}--- mpiexec ---\n{self.mpiexec}"

    __repr__ = __str__


class Launched:
    """A running mpiexec: to be struck, and waited for."""

    def __init__(
        self,
        n: int,
        what: str | Sequence[object],
        *,
        cwd: Path | str | None = None,
        env: Mapping[str, str] | None = None,
        threads: int = 1,
        per_rank_env: Mapping[str, str] | None = None,
        own_start: bool = True,
    ) -> None:
        if isinstance(what, str):
            command = [sys.executable, "-c", textwrap.dedent(what)]
        else:
            command = [str(w) for w in what]
            if command[0] == "subsalt":
                command[:1] = [sys.executable, "-m", "subsalt"]
        path = mpiexec()
        assert path is not None
        self.folder = tempfile.TemporaryDirectory(prefix="subsalt-ranks-")
        environment = _environment(threads) | dict(env or {}) | {PIDS: self.folder.name}
        started = command
        if not own_start and command[0] == sys.executable and command[1] in ("-c", "-m"):
            command = _client(environment | dict(per_rank_env or {}), command)
        self.forked = command is not started
        more = [x for name, value in (per_rank_env or {}).items() for x in ("-genv", name, value)]
        self.n = n
        self.begin = time.monotonic()
        # every rank writes into files of its own: mpiexec mixes what arrives at the same time
        shell = 'exec "$@" > "$0/out.$PMI_RANK" 2> "$0/err.$PMI_RANK"'
        self.process = subprocess.Popen(
            [path, *more, "-n", str(n), "/bin/sh", "-c", shell, self.folder.name, *command],
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait(self, timeout: float = TIMEOUT) -> Done:
        """Wait for the end and return what was said; after `timeout` seconds everything is killed."""
        rc: int | None = None
        try:
            said, _ = self.process.communicate(timeout=timeout)
            rc = self.process.returncode
        except subprocess.TimeoutExpired:
            kill_tree(self.process.pid)
            said, _ = self.process.communicate()
        while self.forked and any(map(alive, self.ranks().values())):
            time.sleep(0.002)  # the server ends what is left of them
        seconds = time.monotonic() - self.begin
        out, err = ([self.said(f"{kind}.{r}") for r in range(self.n)] for kind in ("out", "err"))
        self.folder.cleanup()
        return Done(rc, out, err, said.decode(errors="replace"), seconds)

    def said(self, name: str) -> str:
        """Return what a rank has written so far, such as ``said("err.0")``."""
        file = Path(self.folder.name, name)
        return file.read_text(errors="replace") if file.exists() else ""

    def ranks(self) -> dict[int, int]:
        """Return the process ids of the ranks by rank; of those that start on their own, of the ones that are alive."""
        if self.forked:
            files = Path(self.folder.name).glob("pid.*[0-9]")
            return {int(f.suffix[1:]): int(f.read_text()) for f in files}
        pids = {}
        for pid in descendants(self.process.pid):
            try:
                environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            rank = next((v[9:] for v in environment if v.startswith(b"PMI_RANK=")), None)
            if rank is not None:
                # a rank may start programs of its own: the oldest one is the rank
                pids.setdefault(int(rank), pid)
        return pids

    def processes(self) -> list[int]:
        """Return the process ids of all that runs below mpiexec, and of the ranks."""
        return list(dict.fromkeys([*descendants(self.process.pid), *self.ranks().values()]))


def run(
    n: int,
    what: str | Sequence[object],
    *,
    timeout: float = TIMEOUT,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    threads: int = 1,
    per_rank_env: Mapping[str, str] | None = None,
    own_start: bool = False,
) -> Done:
    """Run a program or a command on `n` ranks.

    Parameters
    ----------
    n : int
        Ranks.
    what : str or list
        Python code, or a command; ``["subsalt", ...]`` is the command of this environment.
    timeout : float
        Seconds after which all is killed.
    cwd : path, optional
        Working folder.
    env : mapping, optional
        Further variables, of mpiexec and ranks.
    threads : int
        OMP_NUM_THREADS.
    per_rank_env : mapping, optional
        Variables of the ranks alone, not of mpiexec: LD_PRELOAD.
    own_start : bool
        Start an interpreter for each rank, for tests of imports or memory; where variables act on the start it is so.
    """
    more = {"per_rank_env": per_rank_env, "own_start": own_start}
    return Launched(n, what, cwd=cwd, env=env, threads=threads, **more).wait(timeout)


def forked(
    words: Sequence[object], env: Mapping[str, str] | None = None, **more: Any
) -> subprocess.Popen[str]:
    """Start the command in a process that is forked after the imports: what starts again but for its interpreter.

    Parameters
    ----------
    words : sequence
        Of the command, without ``subsalt``.
    env : mapping, optional
        Further variables; where one acts on the start of an interpreter or a library, it is started again indeed.
    **more
        Of `subprocess.Popen`.
    """
    environment = _environment(1) | dict(env or {})
    command = _client(environment, [sys.executable, "-m", "subsalt", *map(str, words)])
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **(pipe | more))


def _client(environment: Mapping[str, str], command: list[str]) -> list[str]:
    """Return the command of a rank that the server forks; the command itself where variables act on its start."""
    server = _rank_server()
    if _at_start(environment) != server.variables:
        return command
    client = str(Path(__file__).with_name("rank_client.py"))
    return [sys.executable, "-S", "-E", client, server.name, *command[1:]]


@dataclass
class RankServer:
    """A process that forks ranks; it ends with this one, whose end of a pipe it holds."""

    name: str
    variables: dict[str, str]
    process: subprocess.Popen[bytes]


@cache
def _rank_server() -> RankServer:
    name = f"subsalt-ranks-{os.getpid()}-{time.monotonic_ns()}"
    program = Path(__file__).with_name("rank_server.py")
    environment = _environment(1)
    process = subprocess.Popen(
        [sys.executable, str(program), name],
        env=environment | {"OPENBLAS_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return RankServer(name, _at_start(environment), process)


def seconds_of_ranks() -> float:
    """Return the CPU seconds of the ranks that were forked so far, and of the process that forks them."""
    if not _rank_server.cache_info().currsize:
        return 0.0
    fields = Path(f"/proc/{_rank_server().process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the interpreter and libraries read once, at their start."""
    early = r"(LD_|PYTHON(?!PATH$)|OMP_|GOMP_|OPENBLAS_|MALLOC|GLIBC|LC_|LANG|[A-Z]*SAN_)"
    return {name: value for name, value in environment.items() if re.match(early, name)}


def descendants(pid: int) -> list[int]:
    """Return all processes below one, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    pids, new = [], [pid]
    while new:
        new = sorted(c for p in new for c in children.get(p, []))
        pids += new
    return pids


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in ("Z", "X")
    except OSError:
        return False


def kill_tree(pid: int) -> None:
    """Kill a process and all below it."""
    for p in [pid, *descendants(pid)]:
        try:
            os.kill(p, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _environment(threads: int) -> dict[str, str]:
    """Return the variables of the tests, without those of a launcher around them."""
    variables = {k: v for k, v in os.environ.items() if not re.match(r"(PMI|PMIX|OMPI|HYDI?|MPI|SLURM)_", k)}
    return variables | {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive", "SUBSALT_TUNE": "off"}
