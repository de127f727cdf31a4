"""How long do many jobs of any program take on n nodes that work off a queue: time to completion.

A node that is free takes the next job; no node waits for another. ``{job}`` in the command stands for the number of the
job, ``{node}`` for the node that takes it. The time is that from the start of the first job to the end of the last.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from subsalt.machine import programs
from subsalt.machine.programs import Queued
from subsalt.machine.stats import summary
from subsalt_lab.campaign import CLOCK, UNITS, Campaign
from subsalt_lab.external import wrong_use
from subsalt_lab.result import Result, Say
from subsalt_lab.scaling_rows import Timed, rows


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    words : sequence of str
        The command.
    jobs : int
        How often it is run.
    nodes : sequence of int
        Numbers of nodes that are compared.
    names : sequence of str
        Names of the nodes, the first n are used; their numbers from 1 when empty.
    threads : int
        OMP_NUM_THREADS of a job.
    repeats : int
        Samples of each number of nodes.
    timeout : float
        Seconds that one job may take.
    """

    words: Sequence[str]
    jobs: int
    nodes: Sequence[int]
    names: Sequence[str] = ()
    threads: int = 1
    repeats: int = 3
    timeout: float = 3600.0

    def words_of(self, job: int, node: int) -> list[str]:
        """Return the command of a job on a node, both counted from 0."""
        values = {"{job}": str(job + 1), "{node}": self.names[node] if self.names else str(node + 1)}
        return [re.sub(r"\{(?:job|node)\}", lambda m: values[m.group()], w) for w in self.words]


def check(settings: Settings) -> None:
    """Refuse what would measure nothing.

    Raises
    ------
    SubsaltError
        E783, wrong use: fewer jobs or names than nodes, or named nodes that the command does not name.
    """
    most = max(settings.nodes)
    if settings.jobs < most:
        raise wrong_use(
            f"--jobs {settings.jobs}: fewer than the {most} nodes", "give as many jobs as nodes, or more"
        )
    if settings.names and len(settings.names) < most:
        raise wrong_use(
            f"--hosts names {len(settings.names)} of {most} nodes", f"name {most}, or use fewer --nodes"
        )
    if settings.names and "{node}" not in " ".join(settings.words):
        raise wrong_use(
            "the command has no {node}, all jobs would run on this node",
            "write it where the name goes, such as ssh {node} program",
        )


def once(settings: Settings, nodes: int) -> Queued:
    """Run all jobs on a number of nodes."""
    return programs.queue(
        settings.words_of,
        settings.jobs,
        nodes,
        what=f"the queue on {nodes} node{'s' * (nodes != 1)}",
        extra={"OMP_NUM_THREADS": str(settings.threads)},
        timeout=settings.timeout,
    )


def measure(
    settings: Settings,
    *,
    say: Say = lambda text: None,
    run: Callable[[Settings, int], Queued] = once,
) -> Result:
    """Measure the time to completion on every number of nodes.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    say : callable
        Callback for progress text.
    run : callable
        Runs all jobs on a number of nodes.
    """
    check(settings)

    campaign = Campaign(settings.repeats, settings.threads * max(settings.nodes), say)
    answers = campaign.samples(
        settings.nodes, partial(run, settings), lambda n: f"{settings.jobs} jobs on {n}"
    )
    table = rows(
        [
            Timed({"nodes": n}, n, [a.seconds for a in given], 1.0, CLOCK)
            for n, given in zip(settings.nodes, answers, strict=True)
        ]
    )
    for row, given in zip(table, answers, strict=True):
        row["job"] = summary([s for a in given for s in a.each]).median
        row["longest"] = summary([max(a.each) for a in given]).median
        row["jobs_per_hour"] = 3600.0 * settings.jobs / row["time"]
        row["idle"] = summary([1 - sum(a.busy) / (row["nodes"] * a.seconds) for a in given]).median
    return campaign.result(_facts(settings), table, _units(), _notes(settings))


def _facts(settings: Settings) -> dict[str, Any]:
    return {
        "what": "queue",
        "scaling": "strong",
        # folders of programs say nothing about speed and much about a machine
        "command": shlex.join([Path(settings.words[0]).name, *settings.words[1:]]),
        "jobs": settings.jobs,
        "nodes": list(settings.nodes),
        "threads": settings.threads,
        "repeats": settings.repeats,
    }


def _units() -> dict[str, str]:
    names = ("spread", "speed_up", "efficiency", "efficiency_low", "efficiency_high")
    return {name: UNITS[name] for name in names} | {
        "time": "s from the start of the first job to the end of the last, median",
        "jobs_per_hour": "jobs over the time",
        "job": "s, median of all jobs",
        "longest": "s, the longest job, median over rounds",
        "idle": "share of the nodes' time without a job",
    }


def _notes(settings: Settings) -> list[str]:
    out = [
        "time from the start of the first job to the end of the last; a node that is free takes the next job"
    ]
    if not settings.names:
        out.append(
            "nodes are numbers that the command may use; without {node} in it all jobs run on this machine"
        )
    return out
