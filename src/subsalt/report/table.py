"""Tables of results: as text, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: ways to write a table
FORMATS = ("text", "markdown", "csv")


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    key : str
        Key of the value in a row; the cell is empty where a row has none.
    head : str
        Heading of the column, with the unit.
    form : str
        Format of a number, such as ``".2f"``; texts stand on the left.
    scale : float
        Factor on numbers.
    """

    key: str
    head: str
    form: str = ""
    scale: float = 1.0

    def cell(self, row: Mapping[str, Any]) -> str:
        """Return the text of one place."""
        value = row.get(self.key)
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return ""
        if isinstance(value, str):
            return value
        return format(value * self.scale if self.scale != 1.0 else value, self.form)


def render(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], how: str = "text") -> str:
    """Return the table in one of `FORMATS`; columns without any value are left out.

    Parameters
    ----------
    rows : sequence of mapping
        Values by key.
    columns : sequence of Column
        Columns from left to right.
    how : str
        ``"text"``, ``"markdown"`` or ``"csv"``; CSV has the keys as heads and numbers in full.
    """
    used = [c for c in columns if any(c.cell(r) for r in rows)]
    if how == "csv":
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([c.key for c in used])
        writer.writerows([["" if not c.cell(r) else r[c.key] for c in used] for r in rows])
        return out.getvalue().rstrip("\n")
    cells = [[c.cell(r) for c in used] for r in rows]
    left = [all(isinstance(r.get(c.key), str | None) for r in rows) for c in used]
    if how == "markdown":
        lines = [[c.head for c in used], ["---" if to_left else "---:" for to_left in left], *cells]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    wide = [max(len(c.head), *(len(line[i]) for line in cells), 0) for i, c in enumerate(used)]
    lines = [[c.head for c in used], *cells]
    return "\n".join(
        "  ".join(
            t.ljust(w) if to_left else t.rjust(w) for t, w, to_left in zip(line, wide, left, strict=True)
        ).rstrip()
        for line in lines
    )
