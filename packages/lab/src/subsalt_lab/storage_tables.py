"""The tables of `lab storage`: put and get, the tests of the founding documents, one stream against many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from subsalt.report.table import Column, render

_WHERE = [Column("directory", "directory"), Column("what", "what")]
_HOW = [Column("how", "access"), Column("reaches", "reaches"), Column("threads", "threads", "d")]
_BY = Column("engine", "by")
_RATE = [Column("rate", "GB/s", ".3g"), Column("spread", "± %", ".0f", 100)]
_SERVICE = [
    Column("service_median", "median ms", ".3g", 1e3),
    Column("service_99", "99 % ms", ".3g", 1e3),
]

#: pattern of the rows -> heading, columns
TABLES: dict[str, tuple[str, list[Column]]] = {
    "record": (
        "Snapshots: put and get",
        [
            *_WHERE,
            *_HOW,
            Column("count", "snapshots", "d"),
            Column("bytes", "MB each", ".1f", 1e-6),
            *_RATE,
            Column("busy", "busy s", ".3f"),
            Column("stall", "waited s", ".3f"),
            Column("from_storage", "from storage %", ".0f", 100),
        ],
    ),
    "sequential": (
        "1 MiB in sequence",
        [*_WHERE, _BY, *_HOW, Column("moved", "MB", ".0f", 1e-6), *_RATE[:1], *_SERVICE],
    ),
    "random": (
        "4 KiB at random; threads are the transfers under way at a time",
        [*_WHERE, _BY, *_HOW, Column("requests_per_s", "per second", ".0f"), *_RATE[:1], *_SERVICE],
    ),
    "service": (
        "Service time by transfer size, one at a time, at random",
        [*_WHERE, _BY, *_HOW[:2], Column("bytes", "KiB", ".0f", 1 / 1024), *_SERVICE, *_RATE[:1]],
    ),
    "streams": (
        "One stream against many: threads that write one file; snapshots: the store of the migrations",
        [
            _WHERE[0],
            *_HOW[:2],
            _HOW[2],
            _BY,
            Column("moved", "MB", ".0f", 1e-6),
            *_RATE,
            Column("against", "x plain", ".2f"),
            Column("marks", ""),
        ],
    ),
    "sustained": (
        "4 KiB at random that go on: burst is the first minute or third, sustained the last third",
        [
            _WHERE[0],
            _BY,
            *_HOW,
            Column("lasted", "s", ".0f"),
            Column("requests_per_s", "per second", ".0f"),
            Column("burst_per_s", "burst", ".0f"),
            Column("sustained_per_s", "sustained", ".0f"),
            Column("of_burst", "of burst %", ".0f", 100),
        ],
    ),
}


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each pattern; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Of `storage.measure`.
    how : str
        As of `table.render`.
    """
    if how == "csv":
        keys = ["directory", "file_system", "engine", "pattern", "what", "how", "reaches", "bytes", "threads"]
        numbers = [c for _, columns in TABLES.values() for c in columns if c.form and c.key not in keys]
        yield render(rows, [*(Column(k, k) for k in keys), *{c.key: c for c in numbers}.values()], how)
        return
    for pattern, (head, columns) in TABLES.items():
        some = [dict(r) | {"lasted": sum(r["seconds"])} for r in rows if r["pattern"] == pattern]
        if some:
            yield f"{head}\n{'' if how == 'text' else chr(10)}" + render(some, columns, how)
