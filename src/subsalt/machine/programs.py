"""Start programs for a measurement, and end them with all their processes; never through a shell.

The one module of the package that starts programs. Every program runs in a session of its own, so that a stop or a
time-out ends all of its processes: TERM first, then KILL for those that remain.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from subsalt.errors import SubsaltError

#: seconds between TERM and KILL
GRACE = 5.0
#: lines of a failed program's output that an error repeats
LAST_LINES = 6


@dataclass(frozen=True)
class Ran:
    """One program that came to its end.

    Parameters
    ----------
    stdout, stderr : str
        Text that it printed.
    seconds : float
        Seconds from start to end.
    """

    stdout: str
    stderr: str
    seconds: float


def run(
    words: Sequence[str],
    *,
    what: str,
    extra: Mapping[str, str] | None = None,
    timeout: float | None = None,
    folder: Path | None = None,
) -> Ran:
    """Run a program to its end.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    what : str
        Name of the program in errors.
    extra : mapping of str to str, optional
        Environment variables beside those of this process.
    timeout : float, optional
        Seconds after which it is ended.
    folder : path, optional
        Working folder; that of this process when left out.

    Raises
    ------
    SubsaltError
        When it cannot be started, does not end with 0, or takes too long (E781).
    """
    begin = time.perf_counter()
    pipe = subprocess.PIPE
    child = _started(words, what, extra, stdout=pipe, stderr=pipe, folder=folder)
    code, stdout, stderr = _to_its_end(child, what, timeout)
    if code:
        raise failed(f"{what} ended with exit code {code}", stderr.strip() or stdout.strip())
    return Ran(stdout, stderr, time.perf_counter() - begin)


def _started(
    words: Sequence[str],
    what: str,
    extra: Mapping[str, str] | None,
    *,
    stdout: IO[str] | int | None = None,
    stderr: int | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[str]:
    """Start a program in a session of its own, without input."""
    try:
        return subprocess.Popen(
            list(words),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **(extra or {})},
            cwd=folder,
            start_new_session=True,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise failed(f"{what}: {words[0]} cannot be started: {error.strerror}", "", 69) from None


def _to_its_end(child: subprocess.Popen[str], what: str, timeout: float | None) -> tuple[int, str, str]:
    """Wait for a program; return its code and what went into pipes. Nothing of it outlives an error."""
    try:
        said = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(child)
        raise failed(f"{what} did not end within {timeout:g} s", "") from None
    except BaseException:
        _end(child)
        raise
    return child.returncode, said[0] or "", said[1] or ""


@dataclass(frozen=True)
class Queued:
    """Programs that went through a queue.

    Parameters
    ----------
    seconds : float
        Seconds from the start of the first to the end of the last.
    each : tuple of float
        Seconds of each program.
    busy : tuple of float
        Seconds in which each slot had one.
    """

    seconds: float
    each: tuple[float, ...]
    busy: tuple[float, ...]


def queue(
    words: Callable[[int, int], Sequence[str]],
    jobs: int,
    slots: int,
    *,
    what: str,
    extra: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Queued:
    """Run programs as a queue: a slot that is free takes the next one.

    Parameters
    ----------
    words : callable
        Gives the program and arguments of a job in a slot, both counted from 0.
    jobs, slots : int
        Number of programs, and how many run at a time.
    what : str
        Name of a program in errors.
    extra : mapping of str to str, optional
        Environment variables beside those of this process.
    timeout : float, optional
        Seconds after which a program is ended.

    Raises
    ------
    SubsaltError
        When one cannot be started, does not end with 0, or takes too long (E781); the others are ended.
    """
    begin = time.perf_counter()
    running: dict[int, _Job] = {}
    each, busy = [0.0] * jobs, [0.0] * slots
    free, waiting = list(range(slots)), iter(range(jobs))
    try:
        while True:
            for job in itertools.islice(waiting, len(free)):
                one = _Job.start(words(job, slot := free.pop(0)), job, slot, what, extra)
                running[one.watched] = one
            if not running:
                return Queued(time.perf_counter() - begin, tuple(each), tuple(busy))
            ready = select.select(list(running), [], [], _left(running.values(), timeout))[0]
            if not ready:
                raise failed(f"a job of {what} did not end within {timeout:g} s", "")
            for fd in ready:
                one = running.pop(fd)
                each[one.number] = one.ended(what)
                busy[one.slot] += each[one.number]
                free.append(one.slot)
    except BaseException:
        for one in running.values():
            _end(one.child)
            one.close()
        raise


def _left(running: Iterable[_Job], timeout: float | None) -> float | None:
    """Return the seconds until the first of some jobs has taken too long."""
    if timeout is None:
        return None
    return max(0.0, min(job.begin for job in running) + timeout - time.perf_counter())


@dataclass
class _Job:
    """A program of a queue that was started."""

    child: subprocess.Popen[str]
    number: int
    slot: int
    begin: float
    said: IO[str]
    #: readable when the program has ended
    watched: int

    @classmethod
    def start(
        cls, words: Sequence[str], number: int, slot: int, what: str, extra: Mapping[str, str] | None
    ) -> _Job:
        # a file, not a pipe: nobody reads while it runs
        said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed in `close`
        begin = time.perf_counter()
        try:
            child = _started(words, what, extra, stdout=said, stderr=subprocess.STDOUT)
        except BaseException:
            said.close()
            raise
        return cls(child, number, slot, begin, said, os.pidfd_open(child.pid))

    def ended(self, what: str) -> float:
        """Return the seconds of a program that has ended well."""
        seconds, code = time.perf_counter() - self.begin, self.child.wait()
        self.said.seek(0)
        text = self.said.read() if code else ""
        self.close()
        if code:
            raise failed(f"job {self.number + 1} of {what} ended with exit code {code}", text.strip())
        return seconds

    def close(self) -> None:
        os.close(self.watched)
        self.said.close()


@dataclass(frozen=True)
class Ended:
    """How a program came to its end that passed its output through.

    Parameters
    ----------
    code : int
        Its exit code; of one that a signal ended 128 and the number of the signal, as shells give it.
    seconds : float
        Seconds from start to end.
    """

    code: int
    seconds: float

    @property
    def how(self) -> str:
        """In words, such as ``"ended with exit code 3"``."""
        if self.code > 128 and self.code - 128 in set(signal.Signals):
            return f"was ended by {signal.Signals(self.code - 128).name}"
        return f"ended with exit code {self.code}"


def watch(
    words: Sequence[str],
    *,
    what: str,
    extra: Mapping[str, str] | None = None,
    stdout: IO[str] | None = None,
    timeout: float | None = None,
) -> Ended:
    """Run a program to its end, whatever that is; what it prints passes through as it comes.

    Parameters
    ----------
    words : sequence of str
        The program and its arguments.
    what : str
        Name of the program in errors.
    extra : mapping of str to str, optional
        Environment variables beside those of this process.
    stdout : file, optional
        Where its standard output goes; that of this process when left out.
    timeout : float, optional
        Seconds after which it is ended.

    Raises
    ------
    SubsaltError
        When it cannot be started, or takes too long (E781).
    """
    # what we have said so far comes before what it says
    sys.stdout.flush()
    sys.stderr.flush()
    begin = time.perf_counter()
    code, _, _ = _to_its_end(_started(words, what, extra, stdout=stdout), what, timeout)
    return Ended(128 - code if code < 0 else code, time.perf_counter() - begin)


def finish(
    words: Sequence[str], *, what: str, extra: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Run a program to its end, whatever that is; return its exit code as shells give it, and what it printed.

    Raises
    ------
    SubsaltError
        When it cannot be started (E781).
    """
    pipe = subprocess.PIPE
    code, stdout, stderr = _to_its_end(_started(words, what, extra, stdout=pipe, stderr=pipe), what, None)
    return 128 - code if code < 0 else code, stdout, stderr


def answer(words: Sequence[str], timeout: float = 30.0) -> str:
    """Return the answer of a program to a question about itself, empty when it fails or is missing.

    Parameters
    ----------
    words : sequence of str
        Such as ``["mpiexec", "--version"]``.
    timeout : float
        Seconds that it may take.
    """
    try:
        ran = run(words, what=words[0], timeout=timeout)
    except SubsaltError:
        return ""
    return ran.stdout + ran.stderr


def failed(what: str, said: str, code: int = 70) -> SubsaltError:
    """Return the error of a measured command that did not do what it should."""
    last = " | ".join(said.splitlines()[-LAST_LINES:])
    error = SubsaltError(
        f"{what}{': ' + last if last else ''}", "run that command by itself to see all it says", code="E781"
    )
    error.exit_code = code
    return error


def _end(child: subprocess.Popen[str]) -> None:
    """End a program and all of its session."""
    for number, wait in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.communicate(timeout=wait)
            # the launcher has ended; what of its ranks has not is ended at once
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            return
