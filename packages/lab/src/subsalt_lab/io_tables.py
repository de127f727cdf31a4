"""The three tables of `lab io`: initialisation, trace input, total; original against per-rank."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from subsalt.report.table import Column, render

HEADS = {
    "init": "Initialisation: three model volumes",
    "trace": "Trace input: a slice of the source's and of the receivers' set per time step",
    "total": "Total: both, the time steps, and the image written",
}

COLUMNS = [
    Column("ranks", "ranks", "d"),
    Column("cache", "cache"),
    Column("broadcast_s", "original s", ".3f"),
    Column("per_rank_s", "per-rank s", ".3f"),
    Column("ratio", "ratio", ".3g"),
    Column("ratio_spread", "± %", ".0f", 100),
    Column("per_rank_reading_s", "reading s", ".3f"),
    Column("reading_ratio", "ratio to it", ".3g"),
    Column("wanted", "MB wanted", ".1f", 1e-6),
    Column("broadcast_moved", "moved o", ".1f", 1e-6),
    Column("per_rank_moved", "moved r", ".1f", 1e-6),
    Column("broadcast_redundancy", "redundancy o", ".2f"),
    Column("per_rank_redundancy", "r", ".2f"),
    Column("broadcast_gb_s", "GB/s o", ".3g"),
    Column("per_rank_gb_s", "GB/s r", ".3g"),
    Column("broadcast_from_storage", "disk % o", ".0f", 100),
    Column("per_rank_from_storage", "r", ".0f", 100),
    Column("mark", ""),
]
#: what the letters of the heads mean
LEGEND = "o: original, one rank reads and sends. r: every rank reads its part. reading s: of the thread reading ahead"


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each phase; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Of `io_rows.rows_of`.
    how : str
        As of `table.render`.
    """
    shown = [dict(r) | {"mark": "oversubscribed" if r["oversubscribed"] else ""} for r in rows]
    if how == "csv":
        yield render(shown, [Column("table", "table"), *COLUMNS], how)
        return
    yield LEGEND
    for table, head in HEADS.items():
        yield f"{head}\n{'' if how == 'text' else chr(10)}" + render(
            [r for r in shown if r["table"] == table], COLUMNS, how
        )
