"""Copies of a kernel, each a process with arrays of its own: ``python -m subsalt_lab.copies_worker SETTINGS``.

This process starts the copies, tells each when to run, and prints one JSON object with the times of every call. Copies
are forked before anything of the kernels is loaded, wait at a pipe, and end when it closes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any

#: what starts the line with the answer
ANSWER = "subsalt-copies "
#: seconds from the word to the start, in which every copy wakes and fills its fields
NOTICE = 0.05
#: seconds before the start from which on a copy looks at the clock all the time
AWAKE = 0.002


@dataclass(frozen=True)
class CopyWork:
    """The calls that a copy runs.

    Parameters
    ----------
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    order : int
        Order of the stencil in space.
    isa : str
        Instruction set.
    n : int
        Points per axis, absorbing layer included.
    threads : sequence of int
        Threads of each process.
    cpus : sequence of sequence of int
        Hardware threads of each process; an empty one is placed by the system.
    cases : mapping of str to sequence of int
        Which processes run together, by name.
    rounds : int
        Samples of each case.
    seconds : float
        Length of a sample.
    """

    medium: str
    order: int
    isa: str
    n: int
    threads: Sequence[int]
    cpus: Sequence[Sequence[int]]
    cases: Mapping[str, Sequence[int]]
    rounds: int
    seconds: float

    def text(self) -> str:
        """Return what the command line carries."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Copy:
    """A process that runs the kernel, as the one that started it sees it."""

    pid: int
    tell: IO[str]
    hear: IO[str]

    def ask(self, words: Mapping[str, Any]) -> None:
        """Send a line."""
        self.tell.write(json.dumps(words) + "\n")
        self.tell.flush()

    def answer(self) -> dict[str, Any]:
        """Return what comes back.

        Raises
        ------
        RuntimeError
            When the copy failed or is gone.
        """
        line = self.hear.readline()
        if not line:
            raise RuntimeError("a copy ended by itself; memory may have run out")
        values: dict[str, Any] = json.loads(line)
        if "error" in values:
            raise RuntimeError(values["error"])
        return values


@contextlib.contextmanager
def started(work: CopyWork) -> Iterator[list[Copy]]:
    """Start one process per entry of `threads`; all have ended in the end."""
    copies: list[Copy] = []
    try:
        for number in range(len(work.threads)):
            copies.append(_fork(work, number, copies))
        yield copies
    finally:
        for copy in copies:
            with contextlib.suppress(OSError):
                copy.tell.close()
        for copy in copies:
            os.waitpid(copy.pid, 0)


def _fork(work: CopyWork, number: int, others: Sequence[Copy]) -> Copy:
    to_copy, from_copy = os.pipe(), os.pipe()
    pid = os.fork()
    if pid:
        os.close(to_copy[0])
        os.close(from_copy[1])
        return Copy(pid, os.fdopen(to_copy[1], "w"), os.fdopen(from_copy[0]))
    # here the copy continues; pipes of others held open would keep them waiting
    status = 1
    try:
        for other in others:
            other.tell.close()
            other.hear.close()
        os.close(to_copy[1])
        os.close(from_copy[0])
        serve(work, number, os.fdopen(to_copy[0]), os.fdopen(from_copy[1], "w"))
        status = 0
    finally:
        os._exit(status)


def serve(work: CopyWork, number: int, orders: IO[str], answers: IO[str]) -> None:
    """Be a copy: run on every command, until no more commands come."""

    def reply(words: Mapping[str, Any]) -> None:
        answers.write(json.dumps(words) + "\n")
        answers.flush()

    try:
        if work.cpus[number]:
            os.sched_setaffinity(0, work.cpus[number])
        # the cut into tiles is found by trial, at the same time as by those alone that run together
        orders.readline()
        kernel = Kernel(work, number)
        reply(kernel.facts())
        for line in orders:
            order = json.loads(line)
            reply(kernel.run(order["begin"], order["until"]))
    except BaseException as error:
        reply({"error": f"copy {number + 1}: {type(error).__name__}: {error}"})
        raise


class Kernel:
    """The time steps of one copy, as migrations do them: several in one compiled call, absorbing layer included.

    Parameters
    ----------
    work : CopyWork
        The calls to run.
    number : int
        Number of this copy.
    """

    def __init__(self, work: CopyWork, number: int) -> None:
        import numpy as np

        from subsalt import kernels
        from subsalt.io.tile_cache import remember_tiles
        from subsalt.kernels import cpu
        from subsalt.propagation.options import PropagationOptions
        from subsalt.propagation.propagator import Propagator
        from subsalt_lab.kernel_bench import STEPS_PER_CALL
        from subsalt_lab.scaling_worker import MadeModel
        from subsalt_lab.scaling_worker import RankWork as Made

        threads = work.threads[number]
        kernels.prepare("cpu", threads)
        remember_tiles()
        self.forced, self.isa, self.threads = cpu.forced, work.isa, threads
        model: Any = MadeModel(Made((work.n,) * 3, work.medium, 0, 0, threads))
        options = PropagationOptions(medium=work.medium, order=work.order)  # type: ignore[arg-type]
        self.steps = STEPS_PER_CALL[work.medium]
        with self._pinned():
            self.prop = Propagator(model, options, model.choose_dt(options.weights, None, 0.0))
            self.state = self.prop.new_state()
            self.noise = np.random.default_rng(0).random(self.prop.layout.shape3, dtype=np.float32)
            self.noise -= np.float32(0.5)
            self.fill()
            for _ in range(3):  # in which the cut into tiles is found
                self.call()
            self.fill()
            self.call()
        digest = hashlib.sha256()
        for field in self.state.curr:
            digest.update(np.ascontiguousarray(self.prop.layout.view(field)).tobytes())
        self.field = digest.hexdigest()[:16]

    def _pinned(self) -> Any:
        # what the wave has not reached is computed, too: noise is everywhere
        return self.forced(self.isa, threads=self.threads, front=False)

    def fill(self) -> None:
        """Begin again with noise, which the layer takes away over time."""
        self.state.clear()
        for field in (*self.state.prev, *self.state.curr):
            self.prop.layout.view(field)[...] = self.noise

    def call(self) -> None:
        """Do the time steps of one call."""
        self.prop.advance(self.state, self.steps)

    def facts(self) -> dict[str, Any]:
        """Return what is compared between copies, and what a call does."""
        return {"field": self.field, "point_steps": self.steps * self.noise.size}

    def run(self, begin: float, until: float) -> dict[str, Any]:
        """Run calls from `begin` on until one ends after `until`; return when the first began and each ended."""
        with self._pinned():
            self.fill()
            time.sleep(max(0.0, begin - time.monotonic() - AWAKE))
            while time.monotonic() < begin:
                pass
            first = time.monotonic()
            ends: list[float] = []
            while not ends or ends[-1] < until:
                self.call()
                ends.append(time.monotonic())
        return {"first": first, "ends": ends}


def main(text: str) -> None:
    """Start the copies, run every case in every round, print what happened."""
    work = CopyWork(**json.loads(text))
    with started(work) as copies:
        facts = []
        for threads in dict.fromkeys(work.threads):
            alike = [c for c, t in zip(copies, work.threads, strict=True) if t == threads]
            for copy in alike:
                copy.ask({})
            facts += [copy.answer() for copy in alike]
        answers: dict[str, list[Any]] = {name: [] for name in work.cases}
        for number in range(work.rounds):
            for name in list(work.cases) if number % 2 == 0 else reversed(list(work.cases)):
                running = [copies[i] for i in work.cases[name]]
                begin = time.monotonic() + NOTICE * (1 + len(running))
                for copy in running:
                    copy.ask({"begin": begin, "until": begin + work.seconds})
                answers[name].append([copy.answer() for copy in running])
    print(ANSWER + json.dumps({"facts": facts, "cases": answers}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
