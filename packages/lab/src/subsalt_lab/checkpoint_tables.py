"""The table of `lab checkpoint`, in the shape of the founding documents with what they left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from subsalt.report.table import Column, render
from subsalt_lab.checkpoint_rows import compared

HEADS = {
    "bare": "Bare: records put, then got, nothing else done",
    "overlapped": "Overlapped: a shot in a VTI medium, its checkpoints on disk",
}

COLUMNS = [
    Column("checkpoints", "checkpoints", "d"),
    Column("threads", "threads", "d"),
    Column("directory", "directory"),
    Column("how", "access"),
    Column("put_reaches", "put to"),
    Column("puts", "puts", "d"),
    Column("put_bytes", "MB", ".0f", 1e-6),
    Column("put_seconds", "put s", ".3f"),
    Column("put_rate", "GB/s", ".3g"),
    Column("get_reaches", "got from"),
    Column("gets", "gets", "d"),
    Column("get_bytes", "MB", ".0f", 1e-6),
    Column("get_seconds", "get s", ".3f"),
    Column("get_rate", "GB/s", ".3g"),
    Column("total_seconds", "total s", ".3f"),
    Column("stall_seconds", "waited s", ".3f"),
    Column("over_first", "x first directory", ".2f"),
    Column("over_one", "x fewest threads", ".2f"),
    Column("shot_seconds", "shot s", ".3f"),
    Column("of_memory", "of all in memory", ".3f"),
]


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each mode; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Of `checkpoint.measure`.
    how : str
        As of `table.render`.
    """
    shown = compared(rows)
    if how == "csv":
        yield render(shown, [Column("mode", "mode"), *COLUMNS], how)
        return
    for mode, head in HEADS.items():
        some = [r for r in shown if r["mode"] == mode]
        if some:
            yield f"{head}\n{'' if how == 'text' else chr(10)}" + render(some, COLUMNS, how)
