"""`subsalt lab predict`: one shot on many nodes, of a given grid and given rates, or of founding document 001.

How far do slabs scale, how far blocks? Arithmetic from rates to seconds by phase. What it says beyond the machine that
was measured is an extrapolation and labelled so: a model, never a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from subsalt.cli.output import Out, spread
from subsalt.cli.plan_command import counts_of
from subsalt.errors import ConfigError
from subsalt.plan import network as links
from subsalt.plan.model import Blocks, FileRates, Predicted, Shape, ShotProblem, cubes, predict, slabs
from subsalt.plan.network import Link
from subsalt.report.table import Column, render
from subsalt_lab import option_values as words
from subsalt_lab.cli.commands import hand_over, possible
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.result import Result

ResultFile = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", readable=False, help="File for the result (JSON)."),
]


@dataclass(frozen=True)
class PredictOptions:
    """Options of `subsalt lab predict`."""

    founding: Annotated[
        bool,
        typer.Option(
            "--founding",
            help="Predict the published runs of one study from their smallest numbers of nodes, and compare.",
        ),
    ] = False
    grid: Annotated[str | None, typer.Option(metavar="NX,NY,NZ", help="Grid points of the shot.")] = None
    nodes: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Numbers of nodes that share the shot, such as 24,100,1000."),
    ] = None
    rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Grid points times time steps per second of a node, such as 2e9; `subsalt lab kernels` measures it.",
        ),
    ] = None
    network: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Network between nodes: 20 (GB/s), 100Gbit/s, or with latency 20GB/s,2us.",
            show_default="as measured on this machine",
        ),
    ] = None
    files: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Rate of the file system for all nodes together, in GB/s.",
            show_default="no input and output",
        ),
    ] = None
    steps: Annotated[int, typer.Option(min=1, help="Number of time steps.")] = 800
    wavefields: Annotated[
        int, typer.Option(min=1, help="Wavefield arrays that are exchanged in each step.")
    ] = 2
    ghost: Annotated[int, typer.Option(min=1, help="Ghost planes on each side of a part.")] = 4
    blocks: Annotated[
        bool, typer.Option("--blocks", help="Divide the grid in three directions, not in slabs along x.")
    ] = False
    overlap: Annotated[
        bool, typer.Option("--overlap", help="Assume that messages travel while time steps are computed.")
    ] = False


@command(
    "Predict the time of a shot on many nodes.",
    "subsalt lab predict --grid 2486,1151,1231 --nodes 24,100,310 --rate 280e6",
    "subsalt lab predict --founding",
    name="predict",
)
@spread
def predict_shot(
    options: PredictOptions,
    table: Table = "text",
    out: ResultFile = None,
    json: Json = False,
) -> None:
    """Predict the time of a shot on many nodes: computation, exchange of ghost planes, input and output.

    The result is a model, not a measurement, and is marked so.
    """
    possible(out, table)
    printer = Out(json)
    if options.founding:
        from subsalt_lab import model_founding as founding

        result = founding.result()
        tell(printer, result, founding.tables(result, table), table)
    else:
        result = prediction(_settings(options))
        tell(printer, result, [render(result.rows, COLUMNS, table)], table)
    hand_over(printer, result, out)


def _settings(options: PredictOptions) -> Settings:
    """Return what the options say.

    Raises
    ------
    ConfigError
        When one is missing (E974) or says nothing that can be.
    """
    given = {"--grid": options.grid, "--nodes": options.nodes, "--rate": options.rate}
    missing = [name for name, value in given.items() if value is None]
    if options.grid is None or options.nodes is None or options.rate is None:
        raise ConfigError(
            f"nothing to predict: {' and '.join(missing)} not given",
            "give --founding, or --grid 2486,1151,1231 --nodes 24,100 --rate 2e9",
            code="E974",
        )
    if options.network is None:
        from subsalt.plan.rates import machine_if_known

        link = links.link_of(machine_if_known(), "across")
    else:
        link = links.given(options.network)
    total = None if options.files is None else links.given(options.files, "--files").rate
    return Settings(
        ShotProblem(shape_of(options.grid), options.steps, options.wavefields, options.ghost),
        counts_of(options.nodes),
        rate_of(options.rate),
        link,
        None if total is None else FileRates(math.inf, math.inf, total),
        "blocks" if options.blocks else "slabs",
        options.overlap,
    )


def shape_of(text: str) -> Shape:
    """Return three numbers of points."""
    numbers = [w.strip() for w in text.split(",")]
    if len(numbers) != 3 or not all(w.isdecimal() and 1 <= int(w) <= 10**6 for w in numbers):
        raise words.wrong(f"--grid {text}: not three numbers of points", "use such as --grid 2486,1151,1231")
    x, y, z = map(int, numbers)
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


#: ways to cut a grid
CUTS: dict[str, Callable[[Shape, int], Blocks]] = {"slabs": slabs, "blocks": cubes}

UNITS = {
    "kernel": "s",
    "halo": "s, of exchanges that no time step hides",
    "init": "s, model arrays read",
    "traces": "s, traces read",
    "image": "s, image written",
    "efficiency": "even share of the kernel over kernel and halo",
    "imbalance": "points of the largest block over the mean",
}

COLUMNS = (
    Column("nodes", "nodes", "d"),
    Column("cut", "cut"),
    Column("largest", "largest block"),
    Column("imbalance", "most/mean", ".3f"),
    Column("kernel", "kernel s", ".4g"),
    Column("halo", "halo s", ".3g"),
    Column("efficiency", "efficiency", ".2f"),
    Column("init", "init s", ".3g"),
    Column("traces", "traces s", ".3g"),
    Column("image", "image s", ".3g"),
    Column("problem", "cannot be cut"),
)


@dataclass(frozen=True)
class Settings:
    """Settings of the model.

    Parameters
    ----------
    problem : ShotProblem
        The shot.
    nodes : sequence of int
        How many share it.
    rate : float
        Point-steps per second of a node, in the count of the steps of `problem`.
    link : Link, optional
        Between nodes.
    files : FileRates, optional
        For model, traces and image.
    how : {"slabs", "blocks"}
        How the grid is cut.
    overlapped : bool
        Messages travel under the time steps.
    """

    problem: ShotProblem
    nodes: Sequence[int]
    rate: float
    link: Link | None = None
    files: FileRates | None = None
    how: str = "slabs"
    overlapped: bool = False
    notes: Sequence[str] = field(default_factory=tuple)

    def predicted(self, nodes: int) -> Predicted:
        """Return the phases on so many nodes."""
        blocks = CUTS[self.how](self.problem.shape, nodes)
        return predict(self.problem, blocks, self.rate, self.link, self.files, overlapped=self.overlapped)


def prediction(settings: Settings) -> Result:
    """Return a row for each number of nodes.

    Raises
    ------
    ConfigError
        When none of them can share the grid (E974).
    """
    rows = [_row(settings, n) for n in settings.nodes]
    if all(r.get("problem") for r in rows):
        raise ConfigError(
            f"{min(settings.nodes)} nodes cannot share a grid of {' x '.join(map(str, settings.problem.shape))}",
            "use fewer nodes, a larger grid, or --blocks",
            code="E974",
        )
    p = settings.problem
    plain = {k: v for k, v in vars(settings).items() if k not in ("problem", "link", "files")}
    return Result(
        "model",
        plain | {"problem": dict(vars(p)), "link": settings.link and vars(settings.link)},
        rows,
        UNITS,
        {},
        notes(settings),
    )


def _row(settings: Settings, nodes: int) -> dict[str, Any]:
    row: dict[str, Any] = {"nodes": nodes}
    if settings.how == "slabs" and nodes > settings.problem.shape[0]:
        return row | {"problem": f"{settings.problem.shape[0]} planes"}
    try:
        predicted = settings.predicted(nodes)
    except ValueError:
        return row | {"problem": "more blocks than points along an axis"}
    thin = settings.how == "slabs" and predicted.blocks.largest[0] < settings.problem.ghost
    return row | {
        "cut": " x ".join(map(str, predicted.blocks.counts)),
        "largest": " x ".join(map(str, predicted.blocks.largest)),
        "imbalance": predicted.blocks.imbalance,
        "efficiency": predicted.efficiency,
        **predicted.phases,
        "problem": f"slabs thinner than the {settings.problem.ghost} planes of their halo" if thin else "",
    }


def notes(settings: Settings) -> list[str]:
    """Return what a reader must know: first of all that this is a model."""
    p = settings.problem
    out = [
        "MODEL, no measurement",
        f"assumed: {settings.rate / 1e6:.4g} M point-steps/s of a node, alike on all, for {p.steps} steps; the largest "
        "block rules",
    ]
    if settings.link is None:
        out.append("halo: not known: give --network, or measure with subsalt lab network")
    else:
        hidden = "under the time steps" if settings.overlapped else "nothing hidden, one face after the other"
        out.append(
            f"assumed: {p.ghost} planes of {p.wavefields} wavefields to each neighbour in each step, {hidden}; "
            f"{settings.link.text()}"
        )
    if settings.files is not None:
        out.append(f"assumed: all nodes together read and write {settings.files.limit / 1e9:.3g} GB/s")
    return [*out, *settings.notes]
