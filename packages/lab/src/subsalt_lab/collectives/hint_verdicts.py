"""Which hints of MPI-IO are surely faster: the rule that algorithms of collectives have, without neighbouring sizes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from subsalt.machine.mounts import mount_of
from subsalt.machine.stats import Paired, holm, paired, t_test
from subsalt_lab.collectives.decide import LEAST_RATIO, LEVEL
from subsalt_lab.collectives.hint_programs import Request, shape_of
from subsalt_lab.collectives.hint_sets import Hints
from subsalt_lab.pmpi.mpi_in_use import MpiInUse
from subsalt_lab.result import Result


@dataclass(frozen=True)
class Compared:
    """A set of hints and what came of it.

    Parameters
    ----------
    hints : Hints
        What was asked.
    seconds : tuple of dict
        Of every round, by part.
    came_back : mapping of str to str
        What the library said of what was asked.
    paired : Paired or None
        Default against these hints.
    why : str
        Verdict in words.
    switch : bool
        Whether it is written.
    """

    hints: Hints
    seconds: tuple[Mapping[str, float], ...]
    came_back: Mapping[str, str]
    paired: Paired | None = None
    why: str = ""
    switch: bool = False

    @property
    def totals(self) -> list[float]:
        """Seconds of each round, all parts but subsalt's own."""
        return [sum(s for part, s in one.items() if not part.startswith("ours")) for one in self.seconds]


def decide(compared: Sequence[Compared]) -> list[Compared]:
    """Compare each set of hints with the library's own choice, by the rule that collectives have.

    Parameters
    ----------
    compared : sequence of Compared
        The library's own first, of as many rounds as the others.
    """
    default, others = compared[0], compared[1:]
    if not others:
        return [replace(default, why="nothing to compare with")]
    ratios = [[math.log(b / a) for b, a in zip(default.totals, c.totals, strict=True)] for c in others]
    chances = holm([t_test(r) for r in ratios])
    out = []
    for c, p in zip(others, chances, strict=True):
        pair = paired(default.totals, c.totals)
        sure = p <= LEVEL and pair.ratio_low > LEAST_RATIO
        why = (
            "faster"
            if sure
            else "slower"
            if pair.ratio_high < 1.0 and p <= LEVEL
            else "no significant difference"
        )
        out.append(replace(c, paired=pair, why=why))
    fast = [c for c in out if c.why == "faster"]
    best = min(fast, key=lambda c: statistics.median(c.totals), default=None)
    out = [replace(c, switch=True, why="switch") if c is best else c for c in out]
    return [replace(default, why="the library's own"), *out]


def result_of(
    mpi: MpiInUse,
    request: Request,
    compared: Sequence[Compared],
    load: Mapping[str, Any],
    notes: Sequence[str],
) -> Result:
    """Return the record of a measurement."""
    shape = shape_of(request.file.stat().st_size, request.ranks)
    rows = []
    for c in compared:
        row: dict[str, Any] = {
            "hints": c.hints.name,
            "verdict": c.why,
            "asked": {**c.hints.hints, **c.hints.variables},
        }
        row["came_back"] = dict(c.came_back)
        row["samples"] = [dict(s) for s in c.seconds]
        if c.seconds:
            row["total"] = statistics.median(c.totals)
            row |= {part: statistics.median(s[part] for s in c.seconds) for part in c.seconds[0]}
        if c.paired is not None:
            p = c.paired
            row |= {"ratio": p.ratio, "ratio_low": p.ratio_low, "ratio_high": p.ratio_high, "p": p.p}
            row["interval"] = f"{p.ratio_low:.2f}-{p.ratio_high:.2f}"
        rows.append(row)
    settings = {
        "file": str(request.file),
        "file_system": mount_of(request.file).kind,
        "bytes": math.prod(shape) * 4,
        "shape": list(shape),
        "ranks": request.ranks,
        "rounds": request.rounds,
        "patterns": list(request.patterns),
        "mpi": mpi.name,
    }
    parts = [f"{way}_{pattern}" for pattern in request.patterns for way in ("write", "read")]
    units = dict.fromkeys(["total", "ours_write", *parts], "s, median, of the slowest rank")
    return Result("io-hints", settings, rows, units, load, notes)
