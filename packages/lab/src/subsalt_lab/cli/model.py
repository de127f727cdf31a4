"""`subsalt lab model`: read the options, compute, print."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from subsalt.cli.options import spread
from subsalt.cli.output import Out
from subsalt.cli.plan_command import counts_of
from subsalt.errors import ConfigError
from subsalt.plan import network as links
from subsalt.plan.model import Shape
from subsalt_lab import asked as words
from subsalt_lab.cli.commands import hand_over, possible
from subsalt_lab.result import Result

if TYPE_CHECKING:
    from subsalt_lab.model.nodes import Settings

from subsalt_lab.cli.lab import Json, Table, lab

ResultFile = Annotated[
    Path | None, typer.Option("--out", "-o", readable=False, help="JSON file for the result.")
]


@dataclass(frozen=True)
class Options:
    """What is asked for, as it was typed."""

    founding: Annotated[
        bool,
        typer.Option(
            "--founding", help="Predict founding document 001's runs from the fewest nodes of each grid."
        ),
    ] = False
    grid: Annotated[str | None, typer.Option(help="Points nx,ny,nz of the shot.")] = None
    nodes: Annotated[
        str | None, typer.Option(help="Numbers of nodes that share it, such as 24,100,1000.")
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(help="Point-steps per second of a node, such as 2e9; see subsalt lab kernels."),
    ] = None
    network: Annotated[
        str | None,
        typer.Option(
            help="Between nodes: 20 (GB/s), 100Gbit/s, 20GB/s,2us; that of machine.json when left out."
        ),
    ] = None
    files: Annotated[
        str | None, typer.Option(help="GB/s of the file system for all nodes together; no I/O when left out.")
    ] = None
    steps: Annotated[int, typer.Option(min=1, help="Time steps.")] = 800
    wavefields: Annotated[int, typer.Option(min=1, help="Arrays that travel in a step.")] = 2
    ghost: Annotated[int, typer.Option(min=1, help="Planes that a neighbour needs.")] = 4
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Cut in three directions; slabs along x when left out.")
    ] = False
    overlap: Annotated[bool, typer.Option("--overlap", help="Messages travel under the time steps.")] = False


@lab.command(
    short_help="Predict a shot on many nodes; check against document 001.",
    epilog="Example: subsalt lab model --founding; subsalt lab model --grid 2486,1151,1231 --nodes 24,100,310 "
    "--rate 280e6 --network 3.2GB/s,0us",
)
@spread
def model(
    asked: Options,
    table: Table = "text",
    out: ResultFile = None,
    json: Json = False,
) -> None:
    """Predict kernel, halo and input of a shot on many nodes: a model, labelled so, never a measurement."""
    possible(out, table)
    printer = Out(json)
    if asked.founding:
        from subsalt_lab.model import founding

        result = founding.result()
        tell(printer, result, founding.tables(result, table), table)
    else:
        from subsalt_lab.model import nodes

        result = nodes.result(_settings(asked))
        tell(printer, result, nodes.tables(result, table), table)
    hand_over(printer, result, out)


def _settings(asked: Options) -> Settings:
    """Return what the options say.

    Raises
    ------
    ConfigError
        When one is missing (E974) or says nothing that can be.
    """
    from subsalt.plan.model import Files, Problem
    from subsalt_lab.model.nodes import Settings

    given = {"--grid": asked.grid, "--nodes": asked.nodes, "--rate": asked.rate}
    missing = [name for name, value in given.items() if value is None]
    if asked.grid is None or asked.nodes is None or asked.rate is None:
        raise ConfigError(
            f"nothing to predict: {' and '.join(missing)} not given",
            "give --founding, or --grid 2486,1151,1231 --nodes 24,100 --rate 2e9",
            code="E974",
        )
    if asked.network is None:
        from subsalt.plan.rates import machine_if_known

        link = links.link_of(machine_if_known(), "across")
    else:
        link = links.given(asked.network)
    total = None if asked.files is None else links.given(asked.files, "--files").rate
    return Settings(
        Problem(shape_of(asked.grid), asked.steps, asked.wavefields, asked.ghost),
        counts_of(asked.nodes),
        rate_of(asked.rate),
        link,
        None if total is None else Files(math.inf, math.inf, total),
        "blocks" if asked.blocks else "slabs",
        asked.overlap,
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
