"""The frame of every campaign of `lab scaling`: cases take turns, ranks are started and found, bits are compared.

Every layout is a start of its own, and nothing is reported before all of them gave the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt_lab.layouts import RankLayout
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import interleaved

Case = TypeVar("Case")
Answer = TypeVar("Answer")

#: resolution of the monotonic clock with room for its call, s
CLOCK = 1e-6

UNITS = {
    "time": "s, median",
    "seconds": "s",
    "resolution": "s",
    "spread": "half the interquartile range over the median",
    "speed_up": "cores of the smallest run times its time over this time (weak: rates)",
    "efficiency": "speed-up over cores",
    "efficiency_low": "lower end of the 95 % interval of the efficiency",
    "efficiency_high": "upper end of the 95 % interval of the efficiency",
    "against_fewest_ranks": "speed over that of the layout with the fewest ranks on as many cores, by rounds",
    "rate": "point-steps/s, one wavefield, layer included",
    "rate_per_rank": "point-steps/s",
    "rate_per_core": "point-steps/s",
    "rating": "runs per day",
    "rating_per_core": "runs per day and core, each counted as its share of work",
    "rating_per_socket": "runs per day and socket, each counted as its share of work",
    "socket_gain": "speed over that of the fewest cores on as many sockets, by rounds",
    "total": "s, from the start of the command to its end",
    "kernel_share": "seconds of time steps over total",
}


@dataclass
class Campaign:
    """Samples of all cases, and the load of the machine meanwhile.

    Parameters
    ----------
    repeats : int
        Samples of each case.
    cores : int
        That work at the same time, at most.
    say : callable
        Callback for progress text.
    """

    repeats: int
    cores: int
    say: Say

    def samples(
        self, cases: Sequence[Case], run: Callable[[Case], Answer], name: Callable[[Case], str]
    ) -> list[list[Answer]]:
        """Run the cases in turns and return the answers of each, by round."""

        def once(case: Case, round_: int) -> Answer:
            self.say(f"scaling: {name(case)}, round {round_ + 1} of {self.repeats}")
            return run(case)

        with Watch(self.cores) as self.watch:
            return interleaved(cases, self.repeats, once)

    def result(
        self,
        settings: Mapping[str, Any],
        table: Sequence[Mapping[str, Any]],
        units: Mapping[str, str],
        notes: Sequence[str],
    ) -> Result:
        """Return the result of the samples that were taken; the load is noted where it disturbed."""
        load = list(filter(None, [self.watch.text()]))
        return Result("scaling", settings, table, units, self.watch.facts(), [*notes, *load])


def plain(settings: Any) -> dict[str, Any]:
    """Return the fields of settings as plain values for a result: launchers and layouts by their names."""
    named = [asdict(x) | {"name": x.name} for x in settings.layouts]
    return asdict(settings) | {"launcher": settings.launcher.name, "layouts": named}


def key_of(layout: RankLayout, grid: Sequence[int]) -> dict[str, Any]:
    """Return what of a layout stands in its row."""
    return {
        "ranks": layout.ranks,
        "threads": layout.threads,
        "per_core": layout.per_core,
        "nodes": layout.nodes,
        "pinned": layout.pin_lists if layout.pins else "no",
        "grid": " x ".join(map(str, grid)),
    }


def marks_of(layout: RankLayout) -> list[str]:
    """Return what a reader must know of a layout."""
    marks = ["oversubscribed"] if layout.oversubscribed else []
    return marks + (["hyperthreads"] if layout.per_core > 1 else [])


def same_bits(fields: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Refuse hashes that differ although the grid is the same; an empty grid is one without a name.

    Raises
    ------
    SubsaltError
        E710; nothing may be reported then.
    """
    by_grid: dict[str, set[str]] = {}
    for grid, hashes in fields:
        by_grid.setdefault(grid, set()).update(hashes)
    for grid, different in by_grid.items():
        if len(different) > 1:
            where = f" on {grid} points" if grid else ""
            raise wrong_answer(f"layouts gave {len(different)} different results{where}")


def notes(layouts: Sequence[RankLayout]) -> list[str]:
    """Return the lines that a reader of the table must know."""
    out = ["all layouts gave the same bits"]
    if any(x.oversubscribed for x in layouts):
        out.append("oversubscribed: more threads than hardware threads; they take turns on the cores counted")
    if not any(x.pins for x in layouts):
        out.append("not pinned: launcher and system place the threads")
    if not any(x.per_core > 1 for x in layouts):
        out.append("no hyperthreads in this table")
    return out
