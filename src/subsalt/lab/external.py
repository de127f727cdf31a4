"""How does any other program scale over ranks and threads: rating, speed-up, efficiency.

The command is a list of words, never a text for a shell. ``{ranks}`` and ``{threads}`` in it stand for those of the
layout; the time is that from its start to its end, or the number that a regular expression finds in what it prints.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.errors import SubsaltError
from subsalt.lab import launcher
from subsalt.lab.campaign import interleaved
from subsalt.lab.layouts import Layout
from subsalt.lab.load import Watch
from subsalt.lab.result import Result
from subsalt.lab.scaling import CLOCK, UNITS, Say
from subsalt.lab.scaling_rows import Timed, add_sockets, rows
from subsalt.lab.topology import Topology
from subsalt.lab.work_rule import WorkRule

if TYPE_CHECKING:
    from subsalt.lab.rf.campaign import ReFrame

#: strong scaling
FIXED = WorkRule()

#: a number as programs print it
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    words : sequence of str
        The command.
    layouts : sequence of Layout
        In the order of the table.
    repeats : int
        Samples of each.
    time_from : str, optional
        Regular expression whose first group, in the last place where it matches, is the time in seconds.
    work : WorkRule
        How much of it the command does with each layout; ``{work}`` in it stands for that.
    timeout : float
        Seconds that one start may take.
    reframe : ReFrame, optional
        Makes the runs; this process does when None.
    """

    words: Sequence[str]
    layouts: Sequence[Layout]
    repeats: int = 3
    time_from: str | None = None
    work: WorkRule = FIXED
    timeout: float = 86400.0
    reframe: ReFrame | None = None


def words_of(settings: Settings, layout: Layout, per_socket: int = 1) -> list[str]:
    """Return the command with the numbers of a layout in it."""
    values = {
        "{ranks}": str(layout.ranks),
        "{threads}": str(layout.threads),
        "{work}": f"{settings.work.of(layout, per_socket):.12g}",
    }
    return [re.sub(r"\{(?:ranks|threads|work)\}", lambda m: values[m.group()], w) for w in settings.words]


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
    named = "{ranks}" in text or ("{work}" in text and settings.work.is_weak)
    if len({x.ranks for x in settings.layouts}) > 1 and not named:
        raise _wrong(
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
        raise _wrong(f"--time-from {pattern!r}: {error}", "mend the regular expression") from None
    if groups < 1:
        cure = rf"put the number in parentheses, such as 'elapsed: ({NUMBER[:5]}...)' or 'Total ([0-9.]+) s'"
        raise _wrong(f"--time-from {pattern!r} has no group", cure)


def _wrong(message: str, fix: str) -> SubsaltError:
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
    found = [m for m in re.finditer(pattern, text, re.MULTILINE) if m.group(1)]
    if not found:
        last = text.strip().splitlines()[-1:] or ["nothing"]
        raise SubsaltError(
            f"--time-from {pattern!r} matches nothing that the command printed; its last line is {last[0]!r}",
            "try the expression on the output of one run",
            code="E784",
        )
    digits = found[-1].group(1)
    if not re.fullmatch(NUMBER, digits) or float(digits) <= 0:
        raise SubsaltError(
            f"--time-from {pattern!r} found {digits!r}, which is no time in seconds",
            "let its first group be a positive number",
            code="E784",
        )
    mantissa, _, exponent = digits.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return float(digits), 0.5 * 10.0 ** (int(exponent or 0) - decimals)


def timed(
    words: Sequence[str],
    what: str,
    time_from: str | None,
    timeout: float,
    extra: Mapping[str, str] | None = None,
) -> tuple[float, float]:
    """Run a command; return its seconds and how far off they may be.

    Parameters
    ----------
    words : sequence of str
        The command.
    what : str
        How an error calls it.
    time_from : str, optional
        Expression that finds its time.
    timeout : float
        Seconds after which it is ended.
    extra : mapping of str to str, optional
        Environment variables beside those of this process.

    Raises
    ------
    SubsaltError
        When it fails (E781) or prints no time (E784).
    """
    ran = launcher.run(words, what=what, extra=extra, timeout=timeout)
    if time_from is None:
        return ran.seconds, CLOCK
    return printed_time(ran.stdout + "\n" + ran.stderr, time_from)


def _run_of(settings: Settings, layout: Layout, per_socket: int) -> dict[str, Any]:
    """Return one run of the command with a layout, as an engine takes it."""
    return {
        "words": words_of(settings, layout, per_socket),
        "what": f"the command with {layout.ranks} ranks x {layout.threads} threads",
        "time_from": settings.time_from,
        "ranks": layout.ranks,
        "threads": layout.threads,
    }


def once(settings: Settings, layout: Layout, per_socket: int = 1) -> tuple[float, float]:
    """Run the command with a layout; return its seconds and how far off they may be."""
    run = _run_of(settings, layout, per_socket)
    extra = {"OMP_NUM_THREADS": str(layout.threads)}
    return timed(run["words"], run["what"], settings.time_from, settings.timeout, extra)


def through_reframe(
    settings: Settings, per_socket: int, say: Say
) -> tuple[list[list[tuple[float, float]]], list[str]]:
    """Return seconds and resolution by layout, all runs made by ReFrame in the order of rounds; and notes."""
    from subsalt.lab.rf.report import in_order

    reframe, runs = settings.reframe, []
    assert reframe is not None

    def wanted(layout: Layout, number: int) -> int:
        runs.append(_run_of(settings, layout, per_socket))
        return len(runs) - 1

    numbers = interleaved(settings.layouts, settings.repeats, wanted)
    say(
        f"scaling: {len(runs)} run{'s' * (len(runs) != 1)} through ReFrame {reframe.version}, one after the other"
    )
    made = reframe.run(runs, settings.timeout)
    notes = [f"runs were made by ReFrame {reframe.version}, serial policy, scheduler {reframe.scheduler}"]
    if not in_order(made):
        notes.append("ReFrame made the runs in another order than rounds: a drift may favour a layout")
    return [[(made[i].seconds, made[i].resolution) for i in some] for some in numbers], notes


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, Layout], tuple[float, float]] | None = None,
    topology: Topology | None = None,
) -> Result:
    """Measure a command with every layout.

    Parameters
    ----------
    settings : Settings
        What is measured.
    say : callable
        Told what is being measured.
    run : callable, optional
        Gives seconds and their resolution; runs the command when None.
    topology : Topology, optional
        Cores and sockets; those of this node when None.
    """
    check(settings)
    node = topology or Topology.here()
    there, per_socket = node.threads, node.per_socket
    work = [settings.work.of(x, per_socket) for x in settings.layouts]
    notes: list[str] = []

    def sample(layout: Layout, number: int) -> tuple[float, float]:
        say(f"scaling: {layout.name}, round {number + 1} of {settings.repeats}")
        return once(settings, layout, per_socket) if run is None else run(settings, layout)

    with Watch(min(there, max(x.ranks * x.threads for x in settings.layouts))) as watch:
        if settings.reframe is not None:
            answers, notes = through_reframe(settings, per_socket, say)
        else:
            answers = interleaved(settings.layouts, settings.repeats, sample)
    timed_runs = [
        Timed(
            {"ranks": x.ranks, "threads": x.threads},
            x.ranks * x.threads,
            [seconds for seconds, _ in given],
            share,
            max(off for _, off in given),
            # whether the ranks of a foreign program run on other nodes too is not known here
            [f"beyond the {there} of this node"] if x.ranks * x.threads > there else [],
        )
        for x, given, share in zip(settings.layouts, answers, work, strict=True)
    ]
    table = rows(timed_runs)
    add_sockets(table, timed_runs, per_socket)
    for row, share in zip(table, work, strict=True):
        row["work"] = share
    notes = [
        f"cores are ranks x threads, {per_socket} to a socket; rating is 86400 over the time: runs per day"
        + (", per core and socket times the work of the smallest" if settings.work.is_weak else ""),
        *notes,
    ]
    return Result(
        "scaling",
        {
            "what": "command",
            "scaling": "weak" if settings.work.is_weak else "strong",
            "work": str(settings.work),
            # folders of programs say nothing about speed and much about a machine
            "command": shlex.join([Path(settings.words[0]).name, *settings.words[1:]]),
            "time_from": settings.time_from,
            "repeats": settings.repeats,
            "engine": "own" if settings.reframe is None else f"ReFrame {settings.reframe.version}",
        },
        table,
        {k: v for k, v in UNITS.items() if not k.startswith(("rate", "kernel", "total"))},
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
    )
