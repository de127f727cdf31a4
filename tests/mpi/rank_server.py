"""Forks ranks from a process that has imported subsalt already: most of a rank's time is its imports otherwise.

``python rank_server.py NAME`` waits at a socket of that name for `rank_client.py`, which stands for the rank below
mpiexec. A fork takes over the arguments, variables, folder and open files of the client, runs the program, and ends as
an interpreter does. MPI is not imported here, nor may OpenMP have threads. When the client goes, its rank is killed;
when standard input ends, so does this.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import marshal
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import types
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

#: packages of subsalt that ranks do not import
LEFT_OUT = ("analytic", "cli", "demo", "examples", "lab", "libraries", "view")


@dataclass
class Request:
    """What a client asks for."""

    words: list[str]
    environment: dict[str, str]
    folder: str
    numbers: list[int]
    received: list[int]

    @classmethod
    def read(cls, client: socket.socket) -> Request:
        """Return what a client sends first."""
        head, received, _, _ = socket.recv_fds(client, 4, 8)
        size, text = int.from_bytes(head, "big"), b""
        while len(text) < size:
            text += client.recv(size - len(text))
        return cls(*marshal.loads(text), received=received)

    def take_over(self) -> None:
        """Give this process the variables, folder and open files of the client."""
        high = [os.dup2(fd, 500 + i) for i, fd in enumerate(self.received)]
        for fd in self.received:
            os.close(fd)
        for fd, number in zip(high, self.numbers, strict=True):
            os.dup2(fd, number)
            os.close(fd)
        # those of the server know of its own files whether one can seek in them
        sys.stdin = os.fdopen(0, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        if folder := self.environment.get("SUBSALT_TESTS_PIDS"):
            name = f"{folder}/pid.{self.environment['PMI_RANK']}"
            with open(f"{name}-", "w") as file:
                file.write(str(os.getpid()))
            os.rename(f"{name}-", name)

    def run(self) -> int:
        """Run the program as `python -c` or `python -m` would, and return its exit code."""
        try:
            self._run()
        except SystemExit as leave:
            if leave.code is None or isinstance(leave.code, int):
                return leave.code or 0
            print(leave.code, file=sys.stderr)
            return 1
        return 0

    def _run(self) -> None:
        sys.path[:1] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        kind, what, *arguments = self.words
        sys.argv = [kind, *arguments]
        if kind == "-m":
            runpy.run_module(what, run_name="__main__", alter_sys=True)
            return
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)


def preload() -> None:
    """Import what ranks import."""
    import_module("subsalt.cli.app")
    import_module("subsalt.cli.app_root")
    for package in pkgutil.iter_modules(import_module("subsalt").__path__):
        if package.ispkg and package.name not in LEFT_OUT:
            inside = import_module(f"subsalt.{package.name}")
            for module in pkgutil.walk_packages(inside.__path__, inside.__name__ + "."):
                import_module(module.name)
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.rtm.job import Job

    # two cores serve many ranks and other tests: a rank that waits sleeps soon, and costs nothing
    waiting = import_module("subsalt.parallel.waiting")
    waiting.PATIENCE, waiting.BURST = 0.0, 10
    for job in (Job, KirchhoffJob):  # else each rank would build the validator
        job.model_rebuild()
    # what the first rank of a run would make at its end: the hash of the code, texts of errors, templates of its page
    import_module("subsalt.run.facts").code_facts()
    import_module("subsalt.error_texts").entries()
    templates = import_module("subsalt.report.render")._environment()
    for name in templates.list_templates():
        templates.get_template(name)
    assert "mpi4py.MPI" not in sys.modules
    tasks = os.listdir("/proc/self/task")
    assert len(tasks) == 1, tasks  # a fork of a process with threads could hang
    gc.freeze()


def end(code: int) -> None:
    """End this process as an interpreter does that finishes, but for taking its modules apart.

    That would write to all pages that it shares with the server: two thirds of what a rank costs that does nothing.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    program = sys.modules["__main__"].__dict__
    if program is not globals():
        program.clear()  # closes files that it left open
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.Finalize()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    ctypes.PyDLL(None).exit(code & 0xFF)  # not os._exit: MPICH takes leave of its launcher in a handler of C


class Server:
    """Waits for clients, and watches over the ranks that it forked."""

    def __init__(self, name: str) -> None:
        self.ranks: dict[int, socket.socket] = {}
        self.selector = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind("\0" + name)
        self.listener.listen(64)
        self.wakes = socket.socketpair()
        for end in self.wakes:
            end.setblocking(False)
        signal.set_wakeup_fd(self.wakes[1].fileno())
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self.selector.register(self.listener, selectors.EVENT_READ, self.accept)
        self.selector.register(self.wakes[0], selectors.EVENT_READ, self.reap)
        self.selector.register(0, selectors.EVENT_READ, self.end)

    def serve(self) -> Request:
        """Return, in each child, what it was asked for."""
        while True:
            for key, _ in self.selector.select():
                if (request := key.data()) is not None:
                    return request

    def accept(self) -> Request | None:
        """Fork a rank."""
        client, _ = self.listener.accept()
        request = Request.read(client)
        child = os.fork()
        if child == 0:
            self.forget(client)
            return request
        for fd in request.received:
            os.close(fd)
        self.ranks[child] = client
        self.selector.register(client, selectors.EVENT_READ, lambda: self.hear(child))
        return None

    def forget(self, client: socket.socket) -> None:
        """Close, in a child, what belongs to the server."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        self.selector.close()
        for end in (client, self.listener, *self.wakes, *self.ranks.values()):
            end.close()

    def hear(self, rank: int) -> None:
        """Give a rank the signals that its client got; it is killed when the client is gone."""
        if rank not in self.ranks:  # reaped a moment ago
            return
        try:
            said = self.ranks[rank].recv(64)
        except ConnectionResetError:
            said = b""
        if not said:
            self.selector.unregister(self.ranks[rank])
        for number in said or [signal.SIGKILL]:
            os.kill(rank, number)

    def reap(self) -> None:
        """Tell clients how their ranks ended."""
        self.wakes[0].recv(4096)
        while self.ranks:
            rank, status = os.waitpid(-1, os.WNOHANG)
            if rank == 0:
                return
            client = self.ranks.pop(rank)
            if client in self.selector.get_map():
                self.selector.unregister(client)
            with suppress(OSError):  # the client was killed
                client.sendall(str(os.waitstatus_to_exitcode(status)).encode())
            client.close()

    def end(self) -> None:
        """End when the tests have ended."""
        for rank in self.ranks:
            os.kill(rank, signal.SIGKILL)
        os._exit(0)


if __name__ == "__main__":
    preload()
    server = Server(sys.argv[1])
    print("ready", flush=True)
    request = server.serve()
    request.take_over()
    end(request.run())
