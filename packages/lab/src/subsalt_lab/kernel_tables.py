"""The tables of `lab kernels`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from subsalt.machine.operations import bytes_of, cost
from subsalt.numerics.stencil import radius_of
from subsalt.report.table import Column, render

COLUMNS = (
    Column("case", ""),
    Column("points_per_s", "Gpt-steps/s", ".3f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("interior_points_per_s", "interior", ".3f", 1e-9),
    Column("x_plain", "x plain", ".2f"),
    Column("x_f32", "x f32", ".2f"),
    Column("of_roof", "% of roof", ".0f", 100),
    Column("of_multiply_add", "% of FMA", ".0f", 100),
    Column("core_steps", "core steps", ".3f"),
    Column("layer_extra", "layer extra", "+.3f"),
)
SUM_COLUMNS = (
    Column("case", ""),
    Column("contributions_per_s", "Gcontrib/s", ".2f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("of_plainest", "x linear", ".2f"),
)
#: columns that say which table a row belongs to, for CSV
IDENTITY = ("medium", "order", "isa", "threads", "n", "model_storage")

Row = Mapping[str, Any]


def _table_of(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(k) for k in IDENTITY)


def heading(rows: Sequence[Row]) -> str:
    """Return the line above the rows of one table: what ran, and what the machine gave meanwhile."""
    first = rows[0]
    moved = bytes_of(first["medium"], first["model_storage"])
    operations = cost(first["medium"]).operations(radius_of(first["order"]))
    adds = next(r["gflop_s"] for r in rows if "gflop_s" in r)
    memory = next(r["roof_gb_s"] for r in rows if "roof_gb_s" in r)
    threads = f"{first['threads']} thread{'s' * (first['threads'] != 1)}"
    storage = "" if first["model_storage"] == "f32" else f", models {first['model_storage']}"
    return (
        f"{first['medium']}, order {first['order']}, {first['n']}^3 points{storage}, {first['isa']}, {threads}: "
        f"{moved} B and {operations} operations per point; "
        f"roof at {memory:.1f} GB/s, multiply-adds at {adds:.0f} GFLOP/s"
    )


def sum_heading(row: Row) -> str:
    """Return the line above the rows of the sum of Kirchhoff migration."""
    threads = f"{row['threads']} thread{'s' * (row['threads'] != 1)}"
    return f"sum of Kirchhoff migration, traces of {row['n']} samples, {row['isa']}, {threads}"


def tables(rows: Sequence[Row], how: str = "text") -> Iterator[str]:
    """Yield one table per medium, order, instruction set and number of threads; one for all as CSV.

    Parameters
    ----------
    rows : sequence of mapping
        Of the result.
    how : str
        ``"text"``, ``"markdown"`` or ``"csv"``.
    """
    if how == "csv":
        sums = [Column("contributions_per_s", "")] if any(r["kind"] == "sum" for r in rows) else []
        yield render(rows, [*(Column(k, k) for k in IDENTITY), *COLUMNS, Column("roof_gb_s", ""), *sums], how)
        return
    for _, group in groupby(rows, key=_table_of):
        mine = list(group)
        shown = [r for r in mine if r["case"] != "multiply-add"]
        sums = mine[0]["kind"] == "sum"
        title, table = (
            (sum_heading(mine[0]), render(shown, SUM_COLUMNS, how))
            if sums
            else (heading(mine), render(shown, COLUMNS, how))
        )
        yield f"{title}\n{table}" if how == "text" else f"**{title}**\n\n{table}"
