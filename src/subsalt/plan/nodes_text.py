"""The table of many nodes as lines that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt.lab.model.measured import largest_error
from subsalt.lab.table import Column, render
from subsalt.methods import method_of

if TYPE_CHECKING:
    from subsalt.plan.nodes import NodesPlan

#: in front of everything: what is extrapolated is no result
LABEL = "MODEL, no measurement: what rates of one machine say of many like it"

COLUMNS = (
    Column("nodes", "nodes", "d"),
    Column("ranks", "ranks", "d"),
    Column("per_shot", "per shot", "d"),
    Column("groups", "groups", "d"),
    Column("kernel", "kernel s", ".1f"),
    Column("halo", "halo s", ".2f"),
    Column("checkpoint", "checkpoint s", ".1f"),
    Column("io", "I/O s", ".1f"),
    Column("image_sum", "image sum s", ".1f"),
    Column("rest", "rest s", ".1f"),
    Column("lost", "lost %", ".0f", 100),
    Column("wall", "wall s", ".1f"),
    Column("efficiency", "efficiency", ".2f"),
    Column("problem", "would not run"),
)

#: columns with a name of their own, or without meaning (None), by what is distributed among the nodes
HEADS: dict[str, dict[str, str | None]] = {
    "block": {"per_shot": None, "groups": "blocks", "kernel": "sum s", "halo": None}
}


def lines(plan: NodesPlan) -> list[str]:
    """Return label, table, assumptions, and the error where something was measured."""
    heads = HEADS.get(method_of(plan.method).unit, {})
    columns = [
        c if c.key not in heads else Column(c.key, str(heads[c.key]), c.form, c.scale)
        for c in COLUMNS
        if heads.get(c.key, "") is not None
    ]
    rows = [r.to_dict() | {k: None for k in ("per_shot", "groups") if not vars(r)[k]} for r in plan.rows]
    out = [LABEL, f"{plan.method} {plan.job}: {plan.units}", "", *render(rows, columns).splitlines(), ""]
    out += [f"assumed: {a}" for a in plan.assumptions]
    out += _error(plan)
    return out


def _error(plan: NodesPlan) -> list[str]:
    """Return what the model is off where something was measured."""
    worst = largest_error(plan.points)
    if worst is None:
        return ["error on measured points: not known: migrate the job here first, or give --measured FILE"]
    return [f"error on measured points: {worst:.0%} at most", *(f"  {p.text()}" for p in plan.points)]
