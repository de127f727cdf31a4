"""Several processes for one session of tests: `pytest --forks 4`.

The tests are collected once, and the workers are forks of the process that did it. With pytest-xdist every worker is an
interpreter of its own, which imports and collects everything again: half a minute of CPU each. A worker takes the files
one after the other, whichever is next, and all tests of a file run in one worker: what its fixtures make is made once.

Which tests share a worker depends on the load of the machine, so nothing may depend on it: `--order SEED` takes the
files in a random order, for whoever wants to see that.

A worker that dies, in a test that ends its process, say, is told as the failure of that test; another one does the rest
of its file.
"""

from __future__ import annotations

import atexit
import mmap
import os
import random
import struct
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait

import pytest

#: how the number of a file stands in the queue
NUMBER = struct.Struct("i")


class ForkedWorkers:
    """A plugin that lets forks of this process run the tests.

    Parameters
    ----------
    count : int
        Number of workers.
    order : int, optional
        Seed of a random order of the files.
    """

    def __init__(self, count: int, order: int | None = None) -> None:
        self.count, self.order = count, order

    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Run the tests; None, which leaves it to pytest, where nothing is to be run."""
        if session.testsfailed or session.config.option.collectonly or not session.items:
            return None
        tasks = len(os.listdir("/proc/self/task"))
        if tasks > 1:
            raise pytest.UsageError(
                f"--forks: this process has {tasks} threads, and a fork of it could hang: set OMP_NUM_THREADS=1"
            )
        files = spread(files_of(session.items))
        if self.order is not None:
            random.Random(self.order).shuffle(files)
        Crew(session, files, min(self.count, len(files))).run()
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        return True


def files_of(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return tests by their files, in the order in which they were collected."""
    files: dict[object, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return list(files.values())


def spread(files: list[list[pytest.Item]]) -> list[list[pytest.Item]]:
    """Return files so that those of each folder come evenly from the first to the last.

    Tests of ranks share two cores among many processes that look for messages, and wait: while one worker is at those,
    the others compute.
    """
    folders: dict[object, list[list[pytest.Item]]] = {}
    for file in files:
        folders.setdefault(file[0].path.parent, []).append(file)
    place = {id(file): (i + 0.5) / len(same) for same in folders.values() for i, file in enumerate(same)}
    return sorted(files, key=lambda file: place[id(file)])


@dataclass
class Worker:
    """A fork: its process, what it says, the test that it is in, and the tests of its file that come after it."""

    pid: int
    says: Connection
    name: str
    at: pytest.Item | None
    left: list[pytest.Item]


class Crew:
    """All workers of a session, seen from the process that forked them.

    Parameters
    ----------
    session : pytest.Session
        With the tests that were collected.
    files : list of list of pytest.Item
        The tests by their files, in the order in which workers take them.
    count : int
        Number of workers.
    """

    def __init__(self, session: pytest.Session, files: list[list[pytest.Item]], count: int) -> None:
        self.session, self.config = session, session.config
        self.files = files
        #: a byte that all see: not 0 when no further test shall begin
        self.ends = mmap.mmap(-1, 1)
        self.base = session.config._tmp_path_factory.getbasetemp()
        self.made = 0
        # numbers of the files, in a pipe that is read by whoever wants the next one
        self.queue, write = os.pipe()
        with os.fdopen(write, "wb") as out:
            out.write(b"".join(map(NUMBER.pack, range(len(self.files)))))
        self.workers = [self.fork([]) for _ in range(count)]

    def run(self) -> None:
        """Report what the workers say until all have ended."""
        try:
            while self.workers:
                for says in wait([w.says for w in self.workers]):
                    self.hear(next(w for w in self.workers if w.says is says))
        finally:
            self.ends[0] = 1
            for worker in self.workers:
                worker.says.close()
                os.waitpid(worker.pid, 0)
            os.close(self.queue)

    def fork(self, first: list[pytest.Item]) -> Worker:
        """Fork a worker, which does some tests first."""
        name, self.made = f"fork{self.made}", self.made + 1
        says, tells = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            says.close()
            end_with(Shift(self, name, tells).work, first)
        tells.close()
        return Worker(pid, says, name, None, first)

    def hear(self, worker: Worker) -> None:
        """Do with the next message of a worker what pytest does with it."""
        try:
            kind, what = worker.says.recv()
        except (EOFError, ConnectionResetError):
            self.gone(worker)
            return
        hook = self.config.hook
        if kind == "file":
            worker.left = list(self.files[what])
        elif kind == "begin":
            worker.at = worker.left.pop(0)
            hook.pytest_runtest_logstart(nodeid=worker.at.nodeid, location=worker.at.location)
        elif kind == "end":
            assert worker.at is not None
            hook.pytest_runtest_logfinish(nodeid=worker.at.nodeid, location=worker.at.location)
            worker.at = None
        elif kind == "report":
            report = hook.pytest_report_from_serializable(config=self.config, data=what)
            hook.pytest_runtest_logreport(report=report)
        elif kind == "warning":
            hook.pytest_warning_recorded.call_historic(kwargs=what)
        else:
            assert kind == "failure", kind
            self.session.shouldfail = f"a worker failed outside of the tests:\n{what}"
        self.look_whether_it_ends()

    def look_whether_it_ends(self) -> None:
        """Let no further test begin where enough have failed."""
        if self.session.shouldfail or self.session.shouldstop:
            self.ends[0] = 1

    def gone(self, worker: Worker) -> None:
        """Take leave of a worker that has ended: if within a test, that has failed, and another does the rest."""
        self.workers.remove(worker)
        worker.says.close()
        code = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if worker.at is not None:
            why = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
            self.config.hook.pytest_runtest_logreport(
                report=pytest.TestReport(
                    worker.at.nodeid, worker.at.location, {}, "failed", f"the worker {why}", "call"
                )
            )
            self.look_whether_it_ends()
            if not self.ends[0]:
                self.workers.append(self.fork(worker.left))


class Shift:
    """A worker from within: a plugin that tells its parent what the tests say.

    Parameters
    ----------
    crew : Crew
        As it was when this process was forked.
    name : str
        Of the worker, and of its folder of temporary files.
    tells : Connection
        To the parent.
    """

    def __init__(self, crew: Crew, name: str, tells: Connection) -> None:
        self.crew, self.name, self.tells = crew, name, tells
        self.begun = False

    def work(self, first: list[pytest.Item]) -> None:
        """Run tests until none is left."""
        config = self.crew.config
        # what is captured goes into files of its own, and so do temporary files
        capture = config.pluginmanager.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()
        capture.suspend_global_capture()
        folder = self.crew.base / self.name
        folder.mkdir(0o700)
        config._tmp_path_factory._basetemp = folder
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(self)
        self.begun = True
        tests = self.tests(first)
        item = next(tests, None)
        try:
            while item is not None and not self.crew.ends[0]:
                self.tells.send(("begin", None))
                # the next one first: what it does not share with this one is torn down
                following = next(tests, None)
                config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self.tells.send(("end", None))
                item = following
        finally:
            self.crew.session._setupstate.teardown_exact(None)

    def tests(self, first: list[pytest.Item]) -> Iterator[pytest.Item]:
        """Yield the tests that this worker shall do: those given, then file by file of the queue."""
        yield from first
        while number := os.read(self.crew.queue, NUMBER.size):
            (file,) = NUMBER.unpack(number)
            self.tells.send(("file", file))
            yield from self.crew.files[file]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell how a part of a test ended."""
        config = self.crew.config
        self.tells.send(("report", config.hook.pytest_report_to_serializable(config=config, report=report)))

    def pytest_warning_recorded(self, warning_message, when, nodeid, location) -> None:
        """Tell of a warning, but for the object that it is about; those of the collection are known."""
        if not self.begun:
            return
        warning_message.source = None
        what = {
            "warning_message": warning_message,
            "when": when,
            "nodeid": nodeid,
            "location": location,
        }
        with suppress(Exception):
            self.tells.send(("warning", what))


def end_with(work, first: list[pytest.Item]) -> None:
    """Do the work of a worker and end its process; what its parent shall do at its end is left to that."""
    code = 1
    try:
        for made in list(weakref.finalize._registry):
            made.atexit = False
        work(first)
        code = 0
    except (KeyboardInterrupt, pytest.exit.Exception):
        code = 2
    except BaseException:
        import traceback

        with suppress(OSError):
            work.__self__.tells.send(("failure", traceback.format_exc()))
    finally:
        with suppress(BaseException):
            atexit._run_exitfuncs()
        os._exit(code)
