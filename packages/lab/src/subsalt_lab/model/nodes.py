"""One shot on many nodes, of a grid and rates that somebody gives: how far do slabs scale, how far blocks?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from subsalt.errors import ConfigError
from subsalt.plan.model import Blocks, Files, Predicted, Problem, Shape, cubes, predict, slabs
from subsalt.plan.network import Link
from subsalt.report.table import Column, render
from subsalt_lab.result import Result

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
    """What is asked.

    Parameters
    ----------
    problem : Problem
        The shot.
    nodes : sequence of int
        How many share it.
    rate : float
        Point-steps per second of a node, in the count of the steps of `problem`.
    link : Link, optional
        Between nodes.
    files : Files, optional
        For model, traces and image.
    how : {"slabs", "blocks"}
        How the grid is cut.
    overlapped : bool
        Messages travel under the time steps.
    """

    problem: Problem
    nodes: Sequence[int]
    rate: float
    link: Link | None = None
    files: Files | None = None
    how: str = "slabs"
    overlapped: bool = False
    notes: Sequence[str] = field(default_factory=tuple)

    def predicted(self, nodes: int) -> Predicted:
        """Return the phases on so many nodes."""
        blocks = CUTS[self.how](self.problem.shape, nodes)
        return predict(self.problem, blocks, self.rate, self.link, self.files, overlapped=self.overlapped)


def result(settings: Settings) -> Result:
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
        found = settings.predicted(nodes)
    except ValueError:
        return row | {"problem": "more blocks than points along an axis"}
    thin = settings.how == "slabs" and found.blocks.largest[0] < settings.problem.ghost
    return row | {
        "cut": " x ".join(map(str, found.blocks.counts)),
        "largest": " x ".join(map(str, found.blocks.largest)),
        "imbalance": found.blocks.imbalance,
        "efficiency": found.efficiency,
        **found.phases,
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


def tables(found: Result, how: str) -> list[str]:
    """Return the table."""
    return [render(found.rows, COLUMNS, how)]
