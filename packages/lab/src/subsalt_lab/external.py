"""How does any other program scale over ranks and threads: rating, speed-up, efficiency.

The command is a list of words, never a text for a shell. ``{ranks}`` and ``{threads}`` in it stand for those of the
layout, ``{case}`` for one of several inputs, ``{directory}`` for one of two places of its files; the time is that from
its start to its end, or the number that a regular expression finds in what it prints.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from subsalt.errors import SubsaltError
from subsalt.machine import programs, records
from subsalt.machine.stats import ratio, summary
from subsalt_lab.campaign import CLOCK, UNITS, Campaign
from subsalt_lab.layouts import RankLayout, WorkRule
from subsalt_lab.result import Result, Say
from subsalt_lab.scaling_rows import Timed, add_sockets, rows
from subsalt_lab.topology import Topology

#: strong scaling
FIXED = WorkRule()

#: a number as programs print it
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    words : sequence of str
        The command.
    layouts : sequence of RankLayout
        In the order of the table.
    repeats : int
        Samples of each.
    time_from : str, optional
        Regular expression whose first group, in the last place where it matches, is the time in seconds.
    work : WorkRule
        How much of it the command does with each layout; ``{work}`` in it stands for that.
    timeout : float
        Seconds that one start may take.
    cases : sequence of str
        Inputs of the command, ``{case}`` in it; one without a name when there are none.
    places : sequence of path
        Up to two directories, ``{directory}`` in the command; the second is compared with the first.
    cached : bool
        Leave the files of the directories in the page cache between runs.
    """

    words: Sequence[str]
    layouts: Sequence[RankLayout]
    repeats: int = 3
    time_from: str | None = None
    work: WorkRule = FIXED
    timeout: float = 86400.0
    cases: Sequence[str] = ("",)
    places: Sequence[Path] = ()
    cached: bool = False

    @property
    def starts(self) -> list[LayoutStart]:
        """Starts that take turns: every layout with every case, in the first place, then in the second."""
        places = self.places or [Path()]
        return [LayoutStart(x, case, p) for p in places for case in self.cases for x in self.layouts]


@dataclass(frozen=True)
class LayoutStart:
    """One layout with one case, in one place."""

    layout: RankLayout
    case: str = ""
    place: Path = Path()

    @property
    def name(self) -> str:
        """How progress calls it."""
        place = [str(self.place)] if self.place.parts else []
        return ", ".join([self.layout.name, *filter(None, [self.case]), *place])


def words_of(settings: Settings, start: LayoutStart, per_socket: int = 1) -> list[str]:
    """Return the command with the numbers of a layout, the case and the directory in it."""
    values = {
        "{ranks}": str(start.layout.ranks),
        "{threads}": str(start.layout.threads),
        "{work}": f"{settings.work.of(start.layout, per_socket):.12g}",
    }
    values |= {"{case}": start.case} if start.case else {}
    values |= {"{directory}": str(start.place)} if settings.places else {}
    known = "|".join(map(re.escape, values))
    return [re.sub(known, lambda m: values[m.group()], w) for w in settings.words]


def check(settings: Settings) -> None:
    """Refuse what would measure nothing.

    Raises
    ------
    SubsaltError
        E783, wrong use: several layouts that do not differ in the command, or a bad regular expression.
    """
    if settings.time_from is not None:
        checked_expression(settings.time_from)
    text = " ".join(settings.words)
    for there, option, word in (
        (len(settings.cases) > 1, "--cases", "{case}"),
        (bool(settings.places), "--directory", "{directory}"),
    ):
        if there and word not in text:
            raise wrong_use(
                f"the command has no {word}, {option} would change nothing", f"write {word} where it goes"
            )
    named = "{ranks}" in text or ("{work}" in text and settings.work.is_weak)
    if len({x.ranks for x in settings.layouts}) > 1 and not named:
        raise wrong_use(
            "the command has no {ranks}, it would be the same for all of --ranks",
            "write it where the number goes, such as mpiexec -n {ranks} program",
        )


def checked_expression(pattern: str) -> None:
    """Refuse a regular expression that gives no number.

    Raises
    ------
    SubsaltError
        E783, wrong use: it is none, or has no group.
    """
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise wrong_use(f"--time-from {pattern!r}: {error}", "correct the regular expression") from None
    if groups < 1:
        cure = rf"put the number in parentheses, such as 'elapsed: ({NUMBER[:5]}...)' or 'Total ([0-9.]+) s'"
        raise wrong_use(f"--time-from {pattern!r} has no group", cure)


def wrong_use(message: str, fix: str) -> SubsaltError:
    """Return the error of options that do not fit the command (E783)."""
    error = SubsaltError(message, fix, code="E783")
    error.exit_code = 2
    return error


def printed_time(text: str, pattern: str) -> tuple[float, float]:
    """Return the last time that `pattern` finds in `text`, and how far off it may be by its digits, s.

    Raises
    ------
    SubsaltError
        When nothing matches, or what does is no positive number (E784).
    """
    matches = [m for m in re.finditer(pattern, text, re.MULTILINE) if m.group(1)]
    if not matches:
        last = text.strip().splitlines()[-1:] or ["nothing"]
        raise SubsaltError(
            f"--time-from {pattern!r} matches nothing that the command printed; its last line is {last[0]!r}",
            "try the expression on the output of one run",
            code="E784",
        )
    digits = matches[-1].group(1)
    if not re.fullmatch(NUMBER, digits) or float(digits) <= 0:
        raise SubsaltError(
            f"--time-from {pattern!r} found {digits!r}, which is no time in seconds",
            "let its first group be a positive number",
            code="E784",
        )
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(digits), 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def once(settings: Settings, start: LayoutStart, per_socket: int = 1) -> tuple[float, float]:
    """Run the command once; return its seconds and how far off they may be.

    Raises
    ------
    SubsaltError
        When it fails (E781) or prints no time (E784).
    """
    if settings.places and not settings.cached:
        records.drop_from_cache(_files_in(start.place))
    ran = programs.run(
        words_of(settings, start, per_socket),
        what=f"the command with {start.layout.ranks} ranks x {start.layout.threads} threads",
        extra={"OMP_NUM_THREADS": str(start.layout.threads)},
        timeout=settings.timeout,
    )
    if settings.time_from is None:
        return ran.seconds, CLOCK
    return printed_time(ran.stdout + "\n" + ran.stderr, settings.time_from)


def _files_in(place: Path) -> list[Path]:
    """Return the readable files of a directory and those below, links left out."""
    paths = (Path(folder) / name for folder, _, names in os.walk(place) for name in names)
    return [p for p in paths if p.is_file() and not p.is_symlink() and os.access(p, os.R_OK)]


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, LayoutStart], tuple[float, float]] | None = None,
    topology: Topology | None = None,
) -> Result:
    """Measure a command with every layout, every case, and from one directory or two.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    say : callable
        Callback for progress text.
    run : callable, optional
        Gives seconds and their resolution; runs the command when None.
    topology : Topology, optional
        Cores and sockets; those of this node when None.
    """
    check(settings)
    node = topology or Topology.here()

    most = max(x.ranks * x.threads for x in settings.layouts)
    campaign = Campaign(settings.repeats, min(node.threads, most), say)

    def sample(start: LayoutStart) -> tuple[float, float]:
        return once(settings, start, node.per_socket) if run is None else run(settings, start)

    answers = campaign.samples(settings.starts, sample, lambda start: start.name)
    units = {k: v for k, v in UNITS.items() if not k.startswith(("rate", "kernel", "total"))}
    return campaign.result(
        _facts(settings), _table(settings, answers, node), units, _notes(settings, node.per_socket)
    )


def _table(
    settings: Settings, answers: Sequence[Sequence[tuple[float, float]]], node: Topology
) -> list[dict[str, Any]]:
    """Return the rows of all cases; each case scales against its own smallest run."""
    table: list[dict[str, Any]] = []
    layouts = len(settings.layouts)
    second = answers[layouts * len(settings.cases) :]
    for k, case in enumerate(settings.cases):
        part = slice(k * layouts, (k + 1) * layouts)
        runs = [
            _timed(settings, x, case, given, node)
            for x, given in zip(settings.layouts, answers[part], strict=True)
        ]
        case_rows = rows(runs)
        add_sockets(case_rows, runs, node.per_socket)
        for row, run in zip(case_rows, runs, strict=True):
            row["work"] = run.work
        for row, given in zip(case_rows, second[part], strict=False):
            seconds = [s for s, _ in given]
            row |= {"seconds_b": seconds, "time_b": summary(seconds).median}
            row["b_over_a"] = ratio(seconds, row["seconds"]).median
        table += case_rows
    return table


def _timed(
    settings: Settings, layout: RankLayout, case: str, given: Sequence[tuple[float, float]], node: Topology
) -> Timed:
    cores = layout.ranks * layout.threads
    return Timed(
        ({"case": case} if case else {}) | {"ranks": layout.ranks, "threads": layout.threads},
        cores,
        [seconds for seconds, _ in given],
        settings.work.of(layout, node.per_socket),
        max(off for _, off in given),
        # whether the ranks of a foreign program run on other nodes too is not known here
        [f"beyond the {node.threads} of this node"] if cores > node.threads else [],
    )


def _notes(settings: Settings, per_socket: int) -> list[str]:
    weak = ", per core and socket times the work of the smallest" if settings.work.is_weak else ""
    out = [
        f"cores are ranks x threads, {per_socket} to a socket; rating is 86400 over the time: runs per day{weak}"
    ]
    if len(settings.places) == 2:
        out.append("A is --directory, B is --against; B/A is the median over rounds")
    if settings.places:
        out.append(
            "files may come from the page cache"
            if settings.cached
            else "before every run the page cache was asked to forget the files of its directory"
        )
    return out


def _facts(settings: Settings) -> dict[str, Any]:
    """Return plain values of the settings, without folders: they say nothing about speed and much about a machine."""
    return {
        "what": "command",
        "scaling": "weak" if settings.work.is_weak else "strong",
        "work": str(settings.work),
        "command": shlex.join([Path(settings.words[0]).name, *settings.words[1:]]),
        "time_from": settings.time_from,
        "repeats": settings.repeats,
        "engine": "own",
        "cases": [c for c in settings.cases if c],
        "directories": len(settings.places),
        "cached": settings.cached,
    }
