"""Dask as the engine of a run: a scheduler at an address, or workers of this machine.

Only texts and numbers cross it. The scheduler of Dask unpickles what anybody sends who reaches it: an address of
another machine must be one of TLS.
"""

from __future__ import annotations

import ipaddress
import json
import queue
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt import kernels
from subsalt.errors import ConfigError, DeviceError, ParallelError, install
from subsalt.io import own
from subsalt.io.publish import make_folder, publish_text
from subsalt.run.engines import worker as at_worker
from subsalt.run.engines.farm import Ended, Task, WorkerFacts
from subsalt.run.facts import code_facts
from subsalt.run.ledger import ATTEMPTS

#: seconds without a word from a worker after which it counts as lost, and for which an answer of a scheduler is waited
TTL, PATIENCE = 60.0, 30.0
#: seconds in which an answer of less than a kilobyte comes from a worker that is there
FETCH = 10.0
#: seconds between two looks at the list of workers
LOOK = 0.5


def distributed() -> Any:
    """Return the package `distributed`.

    Raises
    ------
    DeviceError
        When it is not installed (E877).
    """
    try:
        import distributed as package
    except ImportError as error:
        raise DeviceError(
            f"--engine dask needs the package distributed: {error}",
            f"{install('dask')}; on the workers as well",
            code="E877",
        ) from None
    return package


def refuse_open_address(address: str) -> None:
    """Refuse an address that others can reach without a certificate.

    Raises
    ------
    ConfigError
        E878.
    """
    scheme, _, place = address.rpartition("://")
    host = place.rsplit(":", 1)[0].strip("[]")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if scheme == "tls" or (loopback and scheme in ("", "tcp")):
        return
    error = ConfigError(
        f"--scheduler {address}: every program that reaches a Dask scheduler without TLS can run code on its workers",
        f"start it with --protocol tls and certificates, and give tls://{place or 'HOST:PORT'}; "
        "tcp:// is for addresses of this machine, such as tcp://127.0.0.1:8786",
        code="E878",
    )
    error.exit_code = 2
    raise error


@dataclass
class DaskFarm:
    """Workers of a Dask cluster; see `farm.Farm`.

    Parameters
    ----------
    client : distributed.Client
        Connected to the scheduler.
    run : Path
        The run directory.
    launcher : str
        Words before the program of a unit.
    say : callable
        Callback for progress text: workers that are refused.
    """

    client: Any
    run: Path
    launcher: str = ""
    say: Any = print
    #: device whose numerics class workers must have; empty until the run knows it
    device: str = ""

    def __post_init__(self) -> None:
        self._news: queue.Queue[tuple[Any, Any]] = queue.Queue()
        self._futures: dict[int, Any] = {}
        self._asked: dict[str, Any] = {}
        self._good: dict[str, WorkerFacts] = {}
        self._there: list[str] = []
        self._looked = float("-inf")
        self.refused: dict[str, str] = {}
        self._token = secrets.token_hex(16)
        # beside the attempts, which the end of the run removes: a client that is killed leaves its mark
        self._mark = self.run / ATTEMPTS / f"shared-{self._token[:8]}.mark"
        self._show()

    def _show(self) -> None:
        """Write the mark by which workers show that they see the run directory."""
        # on shared scratch a run is its owner's
        make_folder(self.run, 0o700)
        make_folder(self._mark.parent)
        publish_text(self._mark, self._token)

    def close(self) -> None:
        """Remove the mark, and its folder where no attempt is in it."""
        with suppress(OSError):
            own.unlink(self._mark)
        with suppress(OSError):
            self._mark.parent.rmdir()

    def wait_for_first(self, seconds: float) -> None:
        """Return when a worker may compute, when none is there yet, or after so many seconds.

        Raises
        ------
        ParallelError
            When workers are there and all of them are refused (E879).
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if self.workers() or not self._there:
                return
            if set(self._there) <= set(self.refused):
                raise ParallelError(
                    f"no worker can compute: {next(iter(self.refused.values()))}",
                    "the message names the cure; then start the same command again",
                    code="E879",
                )
            self.ended(LOOK)

    def with_device(self, device: str) -> None:
        """Compare the numerics class of a device from now on, also of workers that were accepted before."""
        # with --recompute the folder that it was in is elsewhere now
        self._show()
        if device != self.device:
            self.device = device
            self._asked.clear()
            self._good.clear()

    def workers(self) -> Sequence[WorkerFacts]:
        """Return the workers that are there and answered as this machine does; ask those that are new."""
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            try:
                self._there = list(self.client.nthreads())
            except Exception as error:  # of many kinds, by the state of the connection
                lost = ParallelError(
                    f"the scheduler does not answer any more: {type(error).__name__}: {error}",
                    "what is finished is kept; start the scheduler, then the same command again",
                    code="E879",
                )
                lost.exit_code = 75
                raise lost from error
            for name in set(self._good) - set(self._there):
                del self._good[name]
            for name in set(self._asked) - set(self._there):
                self._asked.pop(name)
            for name in self._there:
                if name not in self._asked:
                    arguments = (str(self._mark), self._token, self.device)
                    self._asked[name] = self._submit(name, name, at_worker.facts, *arguments)
        return [self._good[name] for name in self._there if name in self._good]

    def start(self, worker: str, task: Task) -> None:
        """Start a task on a worker."""
        units = ",".join(map(str, task.units))
        arguments = (str(self.run), units, task.attempt, task.round, task.threads, self.launcher)
        self._futures[task.number] = self._submit(task.number, worker, at_worker.compute, *arguments)

    def ended(self, wait: float) -> Sequence[Ended]:
        """Return tasks that have ended."""
        out: list[Ended] = []
        with suppress(queue.Empty):
            while True:
                what, future = self._news.get(timeout=0 if out else wait)
                if isinstance(what, str):
                    self._judge(what, future)
                elif self._futures.pop(what, None) is future:
                    out.append(_end_of(what, future))
                wait = 0
        return out

    def give_up(self, tasks: Sequence[int]) -> None:
        """Forget tasks."""
        futures = [f for f in (self._futures.pop(number, None) for number in tasks) if f is not None]
        if futures:
            with suppress(Exception):  # a scheduler that is gone has forgotten them already
                self.client.cancel(futures)

    def _submit(self, what: int | str, worker: str, function: Any, *arguments: Any) -> Any:
        key = f"subsalt-{self._token[:8]}-{what}-{secrets.token_hex(4)}"
        future = self.client.submit(
            function, *arguments, key=key, workers=[worker], allow_other_workers=False, pure=False
        )
        future.add_done_callback(lambda done: self._news.put((what, done)))
        return future

    def _judge(self, name: str, future: Any) -> None:
        """Accept or refuse a worker by its facts."""
        latest = self._asked.get(name)
        if latest is None or latest is not future or future.status == "cancelled":
            return
        facts: dict[str, Any] = {}
        if future.status != "finished":
            why = f"it does not have this version of subsalt ({_said(future)})"
        elif (answer := _answer(future)) is None:
            del self._asked[name]  # asked again, if it is there
            return
        else:
            facts = json.loads(answer)
            why = self._difference(facts)
        if not why:
            self._good[name] = WorkerFacts(name, str(facts["host"]), int(facts["cores"]))
        elif name not in self.refused:
            self.refused[name] = f"worker {name}: {why}"
            self.say(f"refused {self.refused[name]}")

    def _difference(self, facts: dict[str, Any]) -> str:
        """Return why a worker may not compute; empty when it may."""
        code, host = code_facts(), facts["host"]
        if facts["version"] != code["version"]:
            return f"{host} has subsalt {facts['version']}, this machine {code['version']}: install the same version"
        if facts["code"] != code["python_sha256"]:
            return f"{host} has another build of subsalt {code['version']}: install the same files"
        if not facts["shared"]:
            return f"{host} does not see {self.run}: choose --run on a file system that all machines mount"
        here = kernels.get(self.device).describe()["class"] if self.device else ""
        if facts["class"] != here:
            return f"{host} computes in the numerics class {facts['class']!r}, this machine in {here!r}"
        return ""


def _end_of(number: int, future: Any) -> Ended:
    """Return the end of a task from its future."""
    if future.status != "finished":
        return Ended(number, None, _said(future))
    text = _answer(future)
    if text is None:
        return Ended(number, None, "its answer is gone with its worker")
    answer = json.loads(text)
    return Ended(number, int(answer["code"]), str(answer["errors"]))


def _answer(future: Any) -> str | None:
    """Return the answer of a future that is finished; None when its worker is gone before it could be fetched.

    Dask would compute the task again, on that same worker, and wait for it without end.
    """
    try:
        return str(future.result(timeout=FETCH))
    except Exception:  # of many kinds, by the state of the connection
        return None


def _said(future: Any) -> str:
    """Return the error of a future in words."""
    try:
        return repr(future.exception(timeout=1))[:300]
    except Exception as error:
        return type(error).__name__


@contextmanager
def dask_at(address: str, run: Path, launcher: str, say: Any) -> Iterator[DaskFarm]:
    """Connect to a scheduler.

    Raises
    ------
    ConfigError
        When the address is open to others (E878).
    ParallelError
        When no scheduler answers there, or all workers are refused (E879).
    """
    refuse_open_address(address)
    package = distributed()
    with ExitStack() as stack:
        try:
            client = package.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError, TimeoutError) as error:
            raise ParallelError(
                f"no Dask scheduler answers at {address}: {type(error).__name__}: {str(error)[:300]}",
                "start it with `dask scheduler`; for tls:// the certificates stand in the configuration of Dask "
                "(distributed.comm.tls), here as on the other machines",
                code="E879",
            ) from None
        stack.callback(_quietly, client.close)
        yield _farm_of(stack, client, run, launcher, say)


@contextmanager
def dask_here(workers: int, run: Path, launcher: str, say: Any) -> Iterator[DaskFarm]:
    """Start workers on this machine, and end them at the end."""
    package = distributed()
    import dask

    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.worker-ttl": f"{TTL:g} s"}))
        cluster = package.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
            silence_logs=50,
        )
        stack.callback(_quietly, cluster.close)
        client = package.Client(cluster, set_as_default=False)
        stack.callback(_quietly, client.close)
        yield _farm_of(stack, client, run, launcher, say)


def _farm_of(stack: ExitStack, client: Any, run: Path, launcher: str, say: Any) -> DaskFarm:
    farm = DaskFarm(client, run, launcher, say)
    stack.callback(farm.close)
    farm.wait_for_first(PATIENCE)
    return farm


def _quietly(close: Any) -> None:
    """Close what may have gone already."""
    with suppress(Exception):
        close(timeout=5)
