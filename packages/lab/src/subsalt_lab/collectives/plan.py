"""Requests to the worker and its answers: the language between `sweep` and `worker`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from subsalt_lab.collectives.choice import Algorithm

#: what starts the line with the answer; MPI libraries print lines of their own
ANSWER = "subsalt-collectives "
#: what is added to the name of the log for what the library said when it failed
WHY = ".why"


@dataclass(frozen=True)
class Cell:
    """One collective at one size, and the ways to do it.

    Parameters
    ----------
    collective : str
        One of `choice.COLLECTIVES`.
    nbytes : int
        As `choice.COLLECTIVES` counts them.
    algorithms : tuple of Algorithm
        The library's own choice first.
    """

    collective: str
    nbytes: int
    algorithms: tuple[Algorithm, ...]


@dataclass(frozen=True)
class SweepStart:
    """Tasks of the ranks of one start.

    Parameters
    ----------
    what : str
        ``"list"``: tell what there is; ``"probe"``: do everything once and check the answers; ``"measure"``.
    cells : tuple of Cell
        Cells to run.
    rounds : int
        Samples of each algorithm.
    seed : int
        Seed of the order of cells and algorithms.
    block : float
        Seconds that a block of calls lasts at least.
    threads : str
        Level of thread support that is requested of MPI: ``"multiple"`` or ``"single"``.
    switches : bool
        Algorithms change while the program runs; else they were chosen by its environment.
    wanted : tuple of str
        Patterns of the control variables to be told, with ``"list"``.
    log : str
        File in which rank 0 keeps the number of what it began last, so that an end in the middle can be told.
    """

    what: str
    cells: tuple[Cell, ...] = ()
    rounds: int = 0
    seed: int = 0
    block: float = 2e-4
    threads: str = "multiple"
    switches: bool = True
    wanted: tuple[str, ...] = ()
    log: str = ""

    def text(self) -> str:
        """Return what the command line carries."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, text: str) -> SweepStart:
        """Return what `text` carried."""
        plain: dict[str, Any] = json.loads(text)
        cells = tuple(
            Cell(c["collective"], c["nbytes"], tuple(Algorithm.from_dict(a) for a in c["algorithms"]))
            for c in plain["cells"]
        )
        return cls(**{**plain, "cells": cells, "wanted": tuple(plain["wanted"])})

    def work(self) -> list[tuple[int, int]]:
        """Return (cell, algorithm) of everything, in the order of a probe: the log counts in it."""
        return [(i, k) for i, cell in enumerate(self.cells) for k in range(len(cell.algorithms))]


@dataclass(frozen=True)
class StartAnswer:
    """Answer of one start.

    Parameters
    ----------
    ranks : int
        Ranks of the world.
    hosts : tuple of str
        Where each rank was.
    cores : mapping of str to int
        Cores that the ranks of a host may use together.
    variables : sequence of mapping
        Control variables (``"list"``).
    wrong : sequence of (int, int)
        (cell, algorithm) whose answers were wrong.
    seconds : mapping
        ``"cell,algorithm"`` -> seconds of a call, one per round, the slowest rank.
    floor : float
        Time that reading the clock adds to a call, s.
    """

    ranks: int
    hosts: tuple[str, ...]
    cores: dict[str, int]
    variables: Sequence[dict[str, Any]] = ()
    wrong: Sequence[tuple[int, int]] = ()
    seconds: dict[str, list[float]] = field(default_factory=dict)
    floor: float = 0.0

    def text(self) -> str:
        """Return the line that rank 0 prints."""
        return ANSWER + json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def read(cls, line: str) -> StartAnswer:
        """Return what a line carried."""
        plain = json.loads(line[len(ANSWER) :])
        return cls(**plain | {"hosts": tuple(plain["hosts"]), "wrong": [(i, k) for i, k in plain["wrong"]]})
