"""Tuning of segments: rows of y per tile, and time steps in one pass over memory. It changes speed, no bit.

The first steps of a run on a large enough grid try several cuts in turn, and the fastest of them once more. The winner
is kept for this process and, by `remember_in`, for later ones: by processor, instruction set, medium, order, layer,
threads and rough shape. Other programs disturb trials: a later process compares the cut that it finds with one other,
and tries all of them again if the other is clearly faster. Trials are steps of the run itself, so that nothing is
computed in vain. ``SUBSALT_TUNE=off`` takes the defaults, ``SUBSALT_TILE_ROWS`` sets the rows of a tile, and
``SUBSALT_BATCH`` is the seed of a random number of steps at a time.
"""

from __future__ import annotations

import math
import os
from functools import cache
from pathlib import Path
from typing import Protocol

from subsalt.errors import ConfigError
from subsalt.kernels.cut_choice import Planes, read_caches, suiting, worth_trying
from subsalt.kernels.passes import DEEPEST
from subsalt.kernels.problem import Problem

#: rows per tile (0: one tile per thread; of a tilted medium as many as are usual), steps per pass, and what is fetched
#: (`Cut` of native/include/segment.hpp): 1, the first step of a pass fetches into L1, or 2, every step into L2; devices
#: have cuts of their own
Cut = tuple[int, ...]

#: cuts worth trying; deep passes beat single steps from DRAM, and lose where the grid fits into a cache; few rows help
#: where they are long, and need what lies beside a tile to be fetched
CANDIDATES: dict[int, tuple[Cut, ...]] = {
    2: ((0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1), (0, 6, 1), (0, 2, 2), (0, 4, 2), (0, 6, 2)),
    3: (
        *((48, 6, 1), (64, 4, 1), (32, 4, 1), (96, 4, 1), (32, 2, 1), (64, 1, 1)),
        *((48, 6, 2), (64, 4, 2), (32, 4, 2), (24, 4, 2), (16, 4, 2), (12, 3, 2)),
    ),
}
#: the same of a tilted medium in 3-D, of which a pass does one step
TILTED: tuple[Cut, ...] = ((64, 1, 1), (48, 1, 1), (32, 1, 1), (16, 1, 1))

#: grids with fewer points run in a cache, whatever the cut
SMALLEST = {2: 2e5, 3: 2e6}
#: point-steps per thread of one trial, at least: tens of milliseconds
TRIAL = 3e7
#: trials of every cut; the fastest counts, the others were disturbed
ROUNDS = 2
#: cuts that are tried as often once more, when all have been tried
FINALISTS = 3
#: a remembered cut whose step takes longer than that of another by this factor was chosen on a disturbed machine
DISTURBED = 1.1
#: keys of cuts that this process has found, or whose remembered cut it has found good
_trusted: set[str] = set()


#: of this machine, read once
caches_here = cache(read_caches)


def cut(problem: Problem) -> Cut:
    """Return the default: in 3-D what the caches of a core hold, in 2-D as many steps as keep a large grid out of DRAM;
    in TTI one.
    """
    rows = forced_rows()
    if problem.medium == "tti":
        return (0 if rows is None else rows), 1, 1
    if problem.layout.ndim == 3:
        return suiting(_planes(problem), caches_here()) if rows is None else (rows, 4, 1)
    return (0 if rows is None else rows), (4 if math.prod(problem.layout.shape3) > 1_500_000 else 2), 1


def candidates(problem: Problem) -> tuple[Cut, ...]:
    """Return the cuts that a trial compares: those whose planes the caches of a core may hold."""
    if problem.medium == "tti":
        return TILTED
    all_of_them = CANDIDATES[problem.layout.ndim]
    return (
        all_of_them
        if problem.layout.ndim == 2
        else worth_trying(all_of_them, _planes(problem), caches_here())
    )


def _planes(problem: Problem) -> Planes:
    """Return what a pass of an upright medium reads."""
    return Planes(problem.layout.shape3[2], problem.medium, problem.model_storage, problem.order // 2)


def forced_rows() -> int | None:
    """Return the rows per tile that the environment variable ``SUBSALT_TILE_ROWS`` asks for.

    Raises
    ------
    ConfigError
        When it is not a whole number from 1 upwards.
    """
    return _number("SUBSALT_TILE_ROWS", "a number of rows", 1, 2**31, code="E704")


def batch_seed() -> int | None:
    """Return the seed that the environment variable ``SUBSALT_BATCH`` gives, None without one.

    With a seed the lengths of batches, passes and slices of steps are drawn from it, in place of those that suit the
    machine: a means of tests, since no result may depend on where they end.

    Raises
    ------
    ConfigError
        When it is not a whole number from 0 to 2^63 - 1.
    """
    return _number("SUBSALT_BATCH", "a seed", 0, 2**63, code="E545")


def _number(variable: str, what: str, least: int, end: int, code: str) -> int | None:
    """Return the whole number, least <= n < end, of a variable of the environment; None where it is empty."""
    text = os.environ.get(variable, "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and least <= int(text) < end:
        return int(text)
    below = ", below 2^63" if end == 2**63 else ""
    raise ConfigError(
        f"{variable} = {text!r} is not {what}",
        f"use a whole number from {least} upwards{below}, or unset it",
        code=code,
    )


class Memory(Protocol):
    """Storage of cuts beyond the process; this package itself knows no files."""

    def read(self) -> dict[str, Cut]:
        """Return every cut that is known, by `key`."""

    def write(self, name: str, value: Cut) -> None:
        """Add a cut; a memory that cannot be written says nothing."""


_memory: Memory | None = None


def remember_in(memory: Memory | None) -> None:
    """Keep settled cuts in `memory` from now on, and look there first; None: in this process alone."""
    global _memory
    _memory = memory


class Tuner:
    """Choose the cut of one problem while it runs.

    Parameters
    ----------
    problem : Problem
        Medium and grid of the wavefield.
    threads : int
        Threads that advance it.
    isa : str
        Instruction set in use.
    """

    def __init__(self, problem: Problem, threads: int, isa: str) -> None:
        self.best = cut(problem)
        self.key = key(problem, threads, isa)
        self.points = math.prod(problem.layout.shape3)
        self.threads = threads
        large = self.points >= SMALLEST[problem.layout.ndim]
        tilted = problem.medium == "tti"
        # in 2-D its tiles are cut along x, one per thread; steps around a mirror are not cut
        fixed = problem.mirror is not None or (tilted and problem.layout.ndim == 2)
        worth_it = large and forced_rows() is None and not fixed
        self.choose_among(candidates(problem), worth_it=worth_it)

    def choose_among(self, candidates: tuple[Cut, ...], *, worth_it: bool) -> None:
        """Begin trials, unless they are not worth it or switched off; of a remembered cut against one other."""
        self.seconds: dict[Cut, list[float]] = {}  # per step
        self.settled, self.candidates = True, candidates
        self.left: list[Cut] = []
        if not worth_it or len(candidates) < 2 or os.environ.get("SUBSALT_TUNE", "").strip().lower() == "off":
            return
        known = _memory.read().get(self.key) if _memory else None
        if known not in candidates:
            return self._try(list(candidates))
        self.best = known
        if self.key not in _trusted:
            self._try([known, next(c for c in candidates if c != known)], 1)

    def _try(self, cuts: list[Cut], rounds: int = ROUNDS) -> None:
        """Let these compete."""
        self.settled, self.left = False, cuts * rounds

    def trial(self, steps: int) -> tuple[Cut, int]:
        """Return the cut to use next, and for how many of the `steps` ahead."""
        return (self.left[0], self.steps(self.left[0])) if self.tries(steps) else (self.best, steps)

    def tries(self, steps: int) -> bool:
        """Return whether the next of the `steps` ahead are a trial."""
        return not self.settled and steps >= self.steps(self.left[0])

    def steps(self, tried: Cut) -> int:
        """Return the steps of a trial: whole passes, in 2-D as many as keep all threads busy."""
        whole = tried[1] * (self.threads if tried[0] == 0 else 1)
        return math.ceil(max(4, TRIAL * self.threads / self.points) / whole) * whole

    def took(self, tried: Cut, steps: int, seconds: float) -> None:
        """Note the time of a trial; after the last one the fastest cut is settled and written down."""
        if self.settled or tried != self.left[0] or steps != self.steps(tried):
            return
        self.seconds.setdefault(tried, []).append(seconds / steps)
        del self.left[0]
        if not self.left:
            self._judge()

    def _judge(self) -> None:
        """Settle the fastest cut of the trials that are done, or begin those that must follow."""
        ranked = sorted(self.seconds, key=lambda c: min(self.seconds[c]))
        if len(ranked) < len(self.candidates):  # a remembered cut and another
            if min(self.seconds[self.best]) > DISTURBED * min(self.seconds[ranked[0]]):
                if len(self.seconds[self.best]) < ROUNDS:
                    return self._try(list(self.seconds), 1)
                self.seconds = {}
                return self._try(list(self.candidates))
        elif len(ranked) > FINALISTS and all(len(times) == ROUNDS for times in self.seconds.values()):
            return self._try(ranked[:FINALISTS])
        else:
            self.best = ranked[0]
            if _memory:
                _memory.write(self.key, self.best)
        self.settled = True
        _trusted.add(self.key)


def key(problem: Problem, threads: int, isa: str, processor: str = "") -> str:
    """Return the name of a cut in the cache, made of all that it depends on; `processor`: this machine's when empty."""
    nx, ny, nz = problem.layout.shape3
    shape = f"{_class(nx, 1)}x{_class(ny, 2)}x{_class(nz, 4)}"
    dim = f"{problem.layout.ndim}d to depth {DEEPEST}"
    medium = f"{problem.medium} {problem.model_storage} o{problem.order}"
    return " | ".join((processor or machine(), isa, medium, dim, problem.boundary, shape, f"t{threads}"))


def _class(n: int, per_octave: int) -> int:
    """Return a number rounded on a logarithmic scale: grids of nearly one size share their cut."""
    return round(2 ** (round(per_octave * math.log2(n)) / per_octave))


@cache
def machine() -> str:
    """Return the processor's name and the sizes of its caches, as far as the system tells."""
    words = []
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        fields = dict(line.split("\t", 1) for line in lines[: lines.index("")] if "\t" in line)
        names = ("model name", "cpu family", "model", "CPU implementer", "CPU part")
        words = [fields[n].strip(" :\t") for n in names if n in fields]
        caches = sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"))
        words += [c.read_text().strip() for c in caches]
    except (OSError, ValueError):
        pass
    return " ".join(words) or "unknown processor"
