"""One rank of ``subsalt lab collectives``: lists what the MPI has, tries it, or times it.

``python -m subsalt_lab.collectives.worker START`` with START one JSON object (`plan.SweepStart`); rank 0 prints one
line (`plan.StartAnswer`). Needs NumPy and mpi4py only, so that any Python with an MPI can be measured.
"""

from __future__ import annotations

import gc
import math
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from subsalt.io.publish import show_text
from subsalt_lab.collectives.calls import Call
from subsalt_lab.collectives.choice import Algorithm
from subsalt_lab.collectives.mpit import Tool, loaded_library
from subsalt_lab.collectives.plan import WHY, Cell, StartAnswer, SweepStart

#: calls before the first timed one of an algorithm: connections are made, pages touched
WARM = 3
#: times as slow as the library's own choice: it can't win, and its curve needs no more than `FEW` rounds
HOPELESS = 4.0
FEW = 3
#: short blocks of which the fastest says how long a call takes
TRIES = 3
#: calls of a block at most
MOST = 4000
#: empty blocks for the floor of the clock
EMPTY = 64


class Switch:
    """Make an algorithm the one in use, and return the communicator that uses it.

    Parameters
    ----------
    tool : Tool or None
        Sets control variables; None: nothing is switched, the environment of the program has chosen.
    world : Comm
        All ranks.
    """

    def __init__(self, tool: Tool | None, world: Any) -> None:
        self.tool, self.world = tool, world
        self.duplicates: dict[str, Any] = {}
        self.before: dict[str, int] = {}
        # Open MPI looks at its variables where a communicator is made, MPICH at every call
        self.by_communicator = tool is not None and bool(tool.variables(["coll_tuned_use_dynamic_rules"]))

    def __call__(self, algorithm: Algorithm) -> Any:
        """Return a communicator on which the algorithm is used; collective."""
        if self.tool is None:
            return self.world
        if not self.by_communicator:
            self.reset()
            self._set(algorithm)
            return self.world
        key = f"{algorithm.collective} {algorithm.name}" if algorithm.settings else ""
        if key not in self.duplicates:
            self._set(algorithm)
            self.duplicates[key] = self.world.Dup()
            self.reset()
        return self.duplicates[key]

    def _set(self, algorithm: Algorithm) -> None:
        assert self.tool is not None
        for name, text in algorithm.settings.items():
            self.before.setdefault(name, self.tool.read(name))
            self.tool.write(name, self.tool.variable(name).number(text))

    def reset(self) -> None:
        """Set all variables to what they were."""
        for name, value in self.before.items():
            assert self.tool is not None
            self.tool.write(name, value)
        self.before.clear()


class SweepWorker:
    """State that the ranks of one start share.

    Parameters
    ----------
    mpi : module
        mpi4py.MPI.
    start : SweepStart
        Tasks of this start.
    """

    def __init__(self, mpi: Any, start: SweepStart) -> None:
        self.mpi, self.start = mpi, start
        self.world = mpi.COMM_WORLD
        self.rank, self.ranks = self.world.Get_rank(), self.world.Get_size()
        # for what the ranks agree on; made before anything is switched
        self.control = self.world.Dup()
        library = loaded_library()
        self.tool = Tool(library) if start.switches and library is not None else None
        self.select = Switch(self.tool, self.world)
        self.wrong: list[tuple[int, int]] = []
        self.log = start.log if self.rank == 0 else ""

    def answer(self, **more: Any) -> StartAnswer | None:
        """Return what rank 0 prints, None elsewhere; collective."""
        self.select.reset()
        facts = self.control.gather((os.uname().nodename, sorted(os.sched_getaffinity(0))), 0)
        if self.rank:
            return None
        hosts = tuple(host for host, _ in facts)
        cores = {host: len({c for h, cpus in facts if h == host for c in cpus}) for host in hosts}
        return StartAnswer(self.ranks, hosts, cores, wrong=self.wrong, **more)

    def begin(self, number: int) -> None:
        """Note what is begun, where it survives an end of the program."""
        if self.log:
            show_text(self.log, str(number))

    def tried(self, call: Call, cell: int, k: int, algorithm: Algorithm) -> Callable[[], object]:
        """Call an algorithm until it is warm, check its answer, and return it for a loop; collective."""
        run = call.on(self.select(algorithm))
        for _ in range(WARM):
            run()
        self.check(call, run, cell, k, algorithm)
        return run

    def check(self, call: Call, run: Callable[[], object], cell: int, k: int, algorithm: Algorithm) -> None:
        """Note an algorithm whose answer is wrong on any rank; collective."""
        self.select(algorithm)
        call.forget()
        run()
        self.select.reset()
        if self.control.allreduce(int(call.right()), self.mpi.MIN) == 0 and (cell, k) not in self.wrong:
            self.wrong.append((cell, k))

    def call(self, cell: Cell) -> Call:
        """Return the buffers of a cell."""
        return Call(self.mpi, cell.collective, cell.nbytes, self.ranks, self.rank)

    def names(self) -> StartAnswer | None:
        """Tell which control variables there are; collective."""
        variables = self.tool.variables(self.start.wanted) if self.tool is not None else []
        return self.answer(
            variables=[
                {
                    "name": v.name,
                    "about": v.about,
                    "values": v.values,
                    "value": v.value,
                    "settable": v.settable,
                }
                for v in variables
            ]
        )

    def probe(self) -> StartAnswer | None:
        """Do everything once; collective."""
        for number, (i, k) in enumerate(self.start.work()):
            self.begin(number)
            cell = self.start.cells[i]
            self.tried(self.call(cell), i, k, cell.algorithms[k])
        return self.answer()

    def measure(self) -> StartAnswer | None:
        """Time everything; collective."""
        # the same on all ranks
        order = random.Random(self.start.seed)
        cells = list(range(len(self.start.cells)))
        order.shuffle(cells)
        seconds: dict[str, list[float]] = {}
        gc.disable()
        for number, i in enumerate(cells):
            self.begin(number)
            seconds |= self._cell(i, order)
            gc.collect()
        floor = sorted(self._slowest([self._block(lambda: None, 1, self.control) for _ in range(EMPTY)]))
        return self.answer(seconds=seconds, floor=floor[EMPTY // 2])

    def _cell(self, i: int, order: random.Random) -> dict[str, list[float]]:
        """Time the algorithms of one cell, all of them in every round; collective."""
        cell = self.start.cells[i]
        call = self.call(cell)
        runs = [self.tried(call, i, k, a) for k, a in enumerate(cell.algorithms)]
        # how long a call takes decides how many make a block; the same on all ranks, since it is that of the slowest
        shortest = [
            min(self._timed(run, 2, a) / 2 for _ in range(TRIES))
            for run, a in zip(runs, cell.algorithms, strict=True)
        ]
        first = self._slowest(shortest)
        times = [min(MOST, max(1, math.ceil(self.start.block / t))) for t in first]
        own: list[list[float]] = [[] for _ in runs]
        for r in range(self.start.rounds):
            ks = [k for k in range(len(runs)) if r < FEW or first[k] <= HOPELESS * first[0]]
            order.shuffle(ks)
            for k in ks:
                own[k].append(self._timed(runs[k], times[k], cell.algorithms[k]) / times[k])
        # a wrong answer may need many calls to show
        for k, algorithm in enumerate(cell.algorithms):
            self.check(call, runs[k], i, k, algorithm)
        return {f"{i},{k}": self._slowest(own[k]) for k in range(len(runs))}

    def _timed(self, run: Callable[[], object], times: int, algorithm: Algorithm) -> float:
        """Return the seconds that a block of calls takes on this rank; collective."""
        self.select(algorithm)
        return self._block(run, times, self.control)

    def _block(self, run: Callable[[], object], times: int, together: Any) -> float:
        again = range(times)
        together.Barrier()
        begin = time.perf_counter()
        for _ in again:
            run()
        return time.perf_counter() - begin

    def _slowest(self, own: list[float]) -> list[float]:
        """Return the largest over the ranks of each number; collective."""
        self.select.reset()
        mine = np.array(own, dtype=np.float64)
        largest = np.empty_like(mine)
        self.control.Allreduce([mine, self.mpi.DOUBLE], [largest, self.mpi.DOUBLE], self.mpi.MAX)
        return [float(v) for v in largest]


def main(text: str) -> None:
    """Do what is asked for and print what came of it."""
    start = SweepStart.read(text)
    import mpi4py

    mpi4py.rc.thread_level = start.threads
    from mpi4py import MPI

    try:
        worker = SweepWorker(MPI, start)
        answer = {"list": worker.names, "probe": worker.probe, "measure": worker.measure}[start.what]()
    except BaseException as error:
        # the other ranks wait in a call that will never end; what the launcher says about that hides this
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        if start.log:
            # whole or not at all, since another rank may end this one in the middle
            show_text(start.log + WHY, str(error))
        MPI.COMM_WORLD.Abort(70)
        raise
    if answer is not None:
        print(answer.text(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
