"""From seconds of layouts to speed-up, efficiency and rates: the arithmetic of scaling tables.

All figures compare with the smallest run of the same table, the one on the fewest cores, as founding document 001
does: a run on w cores that is k times as fast as the smallest, on w0 cores, has speed-up ``w0 k`` and efficiency
``w0 k / w``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from subsalt.machine.stats import interval, ratio, summary

#: seconds in a day: a rating is runs per day
DAY = 86400.0


@dataclass(frozen=True)
class Timed:
    """Seconds of one layout.

    Parameters
    ----------
    key : mapping
        Entries of its row that distinguish it from the others: ranks, threads, grid.
    cores : int
        Cores in use.
    seconds : sequence of float
        One sample per round.
    work : float
        Work done in that time, in any unit: the same everywhere in strong scaling, growing with the cores in weak.
    resolution : float
        How far off a time may be by the clock or by the digits that were printed, s.
    marks : sequence of str
        Marks for the reader, such as ``"oversubscribed"``.
    """

    key: Mapping[str, Any]
    cores: int
    seconds: Sequence[float]
    work: float = 1.0
    resolution: float = 0.0
    marks: Sequence[str] = field(default_factory=tuple)


def smallest(runs: Sequence[Timed]) -> Timed:
    """Return the run that the others are compared with: the fewest cores, of those the first, no hyperthreads."""
    return min(runs, key=lambda r: (r.cores, r.key.get("per_core", 1)))


def rows(runs: Sequence[Timed]) -> list[dict[str, Any]]:
    """Return a row for each run: median, spread, speed-up, efficiency with its interval, super-linear or not.

    Notes
    -----
    The interval of an efficiency is the 95 % bootstrap interval of the ratio of the medians, widened by the
    resolution of both times. An efficiency above 1 is super-linear only when all of that interval is: 2 s and 0.9 s,
    printed in whole and in tenths of seconds, say nothing.
    """
    if not runs:
        return []
    base = smallest(runs)
    return [_row(run, base) | _at_equal_cores(run, runs) for run in runs]


def _row(run: Timed, base: Timed) -> dict[str, Any]:
    middle, first = summary(run.seconds), summary(base.seconds).median
    speed = base.cores * (run.work / base.work) * first / middle.median
    low, high = interval(base.seconds, run.seconds)
    scale = base.cores * run.work / base.work / run.cores
    # the clock may have cut from one time and added to the other
    off, off_base = run.resolution / middle.median, base.resolution / first
    efficiency_low = scale * low * (1 - off_base) / (1 + off)
    efficiency_high = scale * high * (1 + off_base) / (1 - off) if off < 1 else math.inf
    if run is base:
        efficiency_low = efficiency_high = 1.0
    superlinear = efficiency_low > 1
    marks = [*run.marks, *(["super-linear"] if superlinear else [])]
    return {
        **run.key,
        "cores": run.cores,
        "time": middle.median,
        "spread": middle.spread,
        "seconds": list(run.seconds),
        "resolution": run.resolution,
        "speed_up": speed,
        "efficiency": speed / run.cores,
        "efficiency_low": efficiency_low,
        "efficiency_high": efficiency_high if math.isfinite(efficiency_high) else None,
        "superlinear": superlinear,
        "rating": DAY / middle.median,
        "marks": ", ".join(marks),
    }


def _at_equal_cores(run: Timed, runs: Sequence[Timed]) -> dict[str, Any]:
    """Return how a layout compares with that of the fewest ranks on as many cores, round by round."""
    same = [r for r in runs if r.cores == run.cores and math.isclose(r.work, run.work)]
    first = min(same, key=lambda r: (r.key.get("ranks", 1), r.key.get("per_core", 1)))
    if first is run or len(first.seconds) != len(run.seconds):
        return {"against_fewest_ranks": None}
    # what a whole round suffered cancels
    return {"against_fewest_ranks": ratio(first.seconds, run.seconds).median}


def add_rates(
    table: Sequence[dict[str, Any]], steps_key: str = "point_steps", time_key: str = "time"
) -> None:
    """Add point-steps per second, in total, per rank and per core, to rows that say their point-steps."""
    for row in table:
        rate = row[steps_key] / row[time_key]
        row |= {"rate": rate, "rate_per_rank": rate / row["ranks"], "rate_per_core": rate / row["cores"]}


def add_sockets(table: Sequence[dict[str, Any]], runs: Sequence[Timed], per_socket: int) -> None:
    """Add sockets, runs per day and core and socket, and the gain of a socket by more of its cores.

    Parameters
    ----------
    table : sequence of dict
        Table of `rows`, in the order of `runs`.
    runs : sequence of Timed
        They were made of.
    per_socket : int
        Cores of a socket; sockets are filled one after the other.

    Notes
    -----
    Where runs do different work, a run counts as that of the smallest times its share of work. The gain is the speed
    over that of the layout with the fewest cores on as many sockets, the median over rounds.
    """
    if not runs:
        return
    base = smallest(runs)
    sockets = [-(-run.cores // max(1, per_socket)) for run in runs]
    for row, run, count in zip(table, runs, sockets, strict=True):
        rated = row["rating"] * run.work / base.work
        row |= {"sockets": count, "rating_per_core": rated / run.cores, "rating_per_socket": rated / count}
        same = [r for r, n in zip(runs, sockets, strict=True) if n == count]
        first = smallest(same)
        if first is not run and len(first.seconds) == len(run.seconds):
            row["socket_gain"] = ratio(first.seconds, run.seconds).median * run.work / first.work
