"""What `subsalt lab model` does: read the options, compute, print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from subsalt.cli.output import Out
from subsalt.cli.plan_command import counts_of
from subsalt.errors import ConfigError
from subsalt.plan.model import network as links
from subsalt.plan.model.cut import Shape
from subsalt.plan.model.network import Link
from subsalt.plan.model.shot import Files
from subsalt_lab import asked as words
from subsalt_lab.cli.commands import hand_over, possible
from subsalt_lab.result import Result


@dataclass(frozen=True)
class Asked:
    """Grid, nodes and rates that somebody gave."""

    shape: Shape
    nodes: list[int]
    rate: float
    link: Link | None
    files: Files | None


def asked_of(
    grid: str | None, nodes: str | None, rate: str | None, network: str | None, files: str | None
) -> Asked:
    """Return what the options say.

    Raises
    ------
    ConfigError
        When one is missing (E974) or says nothing that can be.
    """
    missing = [n for n, v in (("--grid", grid), ("--nodes", nodes), ("--rate", rate)) if v is None]
    if grid is None or nodes is None or rate is None:
        raise ConfigError(
            f"nothing to predict: {' and '.join(missing)} not given",
            "give --founding, or --grid 2486,1151,1231 --nodes 24,100 --rate 2e9",
            code="E974",
        )
    if network is None:
        from subsalt.plan.rates import machine_if_known

        link = links.link_of(machine_if_known(), "across")
    else:
        link = links.given(network)
    total = None if files is None else links.given(files, "--files").rate
    return Asked(
        shape_of(grid),
        counts_of(nodes),
        rate_of(rate),
        link,
        None if total is None else Files(math.inf, math.inf, total),
    )


def shape_of(text: str) -> Shape:
    """Return three numbers of points."""
    found = [w.strip() for w in text.split(",")]
    if len(found) != 3 or not all(w.isdecimal() and 1 <= int(w) <= 10**6 for w in found):
        raise words.wrong(f"--grid {text}: not three numbers of points", "use such as --grid 2486,1151,1231")
    x, y, z = map(int, found)
    return x, y, z


def rate_of(text: str) -> float:
    """Return point-steps per second."""
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate < math.inf:
        raise words.wrong(f"--rate {text}: not a number of point-steps per second", "use such as --rate 2e9")
    return rate


def tell(out: Out, result: Result, tables: list[str], how: str) -> None:
    """Print what is no measurement of this machine: label, tables, notes; CSV alone."""
    label, *notes = result.notes
    if how == "csv":
        out.say(tables[0])
        return
    for text in (label, *tables):
        out.say(text)
        out.say()
    for note in notes:
        out.say(note)


def founding(how: str, file: Path | None, as_json: bool) -> None:
    """Print document 001's runs as the model predicts them beside the document."""
    from subsalt_lab.model import founding as documents

    possible(file, how)
    out, result = Out(as_json), documents.result()
    tell(out, result, documents.tables(result, how), how)
    hand_over(out, result, file)


def model(
    given: Asked,
    steps: int,
    wavefields: int,
    ghost: int,
    blocks: bool,
    overlap: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Print the table of a shot on many nodes."""
    from subsalt.plan.model.shot import Problem
    from subsalt_lab.model import nodes

    possible(file, how)
    problem = Problem(given.shape, steps, wavefields, ghost)
    settings = nodes.Settings(
        problem, given.nodes, given.rate, given.link, given.files, "blocks" if blocks else "slabs", overlap
    )
    out, result = Out(as_json), nodes.result(settings)
    tell(out, result, nodes.tables(result, how), how)
    hand_over(out, result, file)
