"""How does any other program scale over ranks and threads: rating, speed-up, efficiency.

The command is a list of words, never a text for a shell. ``{ranks}`` and ``{threads}`` in it stand for those of the
layout; the time is that from its start to its end, or the number that a regular expression finds in what it prints.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from subsalt.errors import SubsaltError
from subsalt.lab import launcher
from subsalt.lab.campaign import interleaved
from subsalt.lab.layouts import Layout
from subsalt.lab.load import Watch
from subsalt.lab.result import Result
from subsalt.lab.scaling import CLOCK, UNITS, Say
from subsalt.lab.scaling_rows import Timed, rows
from subsalt.lab.topology import Topology

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
    weak : bool
        The command does `ranks` times the work on `ranks` ranks.
    timeout : float
        Seconds that one start may take.
    """

    words: Sequence[str]
    layouts: Sequence[Layout]
    repeats: int = 3
    time_from: str | None = None
    weak: bool = False
    timeout: float = 86400.0


def words_of(settings: Settings, layout: Layout) -> list[str]:
    """Return the command with the numbers of a layout in it."""
    values = {"{ranks}": str(layout.ranks), "{threads}": str(layout.threads)}
    return [re.sub(r"\{(?:ranks|threads)\}", lambda m: values[m.group()], w) for w in settings.words]


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
    if len({x.ranks for x in settings.layouts}) > 1 and "{ranks}" not in text:
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


def once(settings: Settings, layout: Layout) -> tuple[float, float]:
    """Run the command with a layout; return its seconds and how far off they may be."""
    ran = launcher.run(
        words_of(settings, layout),
        what=f"the command with {layout.ranks} ranks x {layout.threads} threads",
        extra={"OMP_NUM_THREADS": str(layout.threads)},
        timeout=settings.timeout,
    )
    if settings.time_from is None:
        return ran.seconds, CLOCK
    return printed_time(ran.stdout + "\n" + ran.stderr, settings.time_from)


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, Layout], tuple[float, float]] = once,
) -> Result:
    """Measure a command with every layout.

    Parameters
    ----------
    settings : Settings
        What is measured.
    say : callable
        Told what is being measured.
    run : callable
        Gives seconds and their resolution.
    """
    check(settings)
    there = Topology.here().threads

    def sample(layout: Layout, number: int) -> tuple[float, float]:
        say(f"scaling: {layout.name}, round {number + 1} of {settings.repeats}")
        return run(settings, layout)

    with Watch(min(there, max(x.ranks * x.threads for x in settings.layouts))) as watch:
        answers = interleaved(settings.layouts, settings.repeats, sample)
    timed = [
        Timed(
            {"ranks": x.ranks, "threads": x.threads},
            x.ranks * x.threads,
            [seconds for seconds, _ in given],
            x.ranks if settings.weak else 1.0,
            max(off for _, off in given),
            # whether the ranks of a foreign program run on other nodes too is not known here
            [f"beyond the {there} of this node"] if x.ranks * x.threads > there else [],
        )
        for x, given in zip(settings.layouts, answers, strict=True)
    ]
    notes = ["cores are ranks x threads; rating is 86400 over the time: runs per day"]
    return Result(
        "scaling",
        {
            "what": "command",
            "scaling": "weak" if settings.weak else "strong",
            # folders of programs say nothing about speed and much about a machine
            "command": shlex.join([Path(settings.words[0]).name, *settings.words[1:]]),
            "time_from": settings.time_from,
            "repeats": settings.repeats,
        },
        rows(timed),
        {k: v for k, v in UNITS.items() if not k.startswith(("rate", "kernel", "total"))}
        | {"rating": UNITS["rating"]},
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
    )
