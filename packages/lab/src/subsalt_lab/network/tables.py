"""The tables of `lab network`: messages between two ranks, operations of all, and the lines through the times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from subsalt.report.table import Column, render
from subsalt_lab.network import balance, hpcc, imb
from subsalt_lab.network.places import PLACES
from subsalt_lab.network.rows import BETWEEN_TWO as MESSAGES
from subsalt_lab.network.rows import COLLECTIVES, WINDOW

_WHERE = [Column("where", "where"), Column("pairs", "pairs", "d")]

BETWEEN_TWO = [
    *_WHERE,
    Column("bytes", "bytes", "d"),
    Column("latency", "half round trip us", ".2f", 1e6),
    Column("latency_spread", "± %", ".0f", 100),
    Column("stream", "one way GB/s", ".3g"),
    Column("stream_spread", "± %", ".0f", 100),
    Column("bidirectional", "both ways GB/s", ".3g"),
    Column("bidirectional_spread", "± %", ".0f", 100),
    Column("message_rate", "10^6 messages/s", ".3g", 1e-6),
    Column("note", ""),
]
AMONG_ALL = [
    Column("ranks", "ranks", "d"),
    Column("where", "where"),
    Column("bytes", "bytes", "d"),
    *(Column(name, f"{name} us", ".2f", 1e6) for name in COLLECTIVES),
    Column("note", ""),
]
LINES = [
    *_WHERE,
    Column("a_s", "a us", ".2f", 1e6),
    Column("bytes_per_s", "b GB/s", ".3g", 1e-9),
    Column("worst", "worst error %", ".0f", 100),
    Column("step_from", "step at bytes", "d"),
    Column("step_s", "step us", ".2f", 1e6),
    Column("note", ""),
]
#: columns of the other tables that CSV has beside those of messages
CSV_MORE = (
    "ours",
    "imb",
    "ratio",
    "peak_gflops",
    "dgemm_gflops",
    "bandwidth",
    "one_way",
    "both_ways",
    "stated",
)
ALL = [
    *(Column(k, k) for k in ("what", "where")),
    *(Column(k, k, "d") for k in ("bytes", "ranks")),
    Column("value", "value", "g"),
    Column("unit", "unit"),
    Column("spread", "spread", "g"),
    *(Column(k, k, "g") for k in ("a_s", "bytes_per_s", "worst", "step_from", "step_s")),
    *(Column(k, k) for k in ("mpi", "threads", "of", "test", "who", "machine")),
    *(Column(c.key, c.key, "g") for c in (*imb.COLUMNS, *balance.COLUMNS[:-1]) if c.key in CSV_MORE),
    Column("note", "note"),
]


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each kind; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Of `measure.measure`.
    how : str
        As of `table.render`.
    """
    rows = [{**r, "note": "oversubscribed" if r.get("oversubscribed") else r.get("note")} for r in rows]
    if how == "csv":
        yield render(rows, ALL, how)
        return
    two = [{**r, "pairs": r["ranks"] // 2} for r in rows if r["what"] in (*MESSAGES, "point_to_point")]
    all_ranks = [r for r in rows if r["what"] in COLLECTIVES]
    parts = (
        (
            f"Between two ranks; {WINDOW} messages in flight",
            joined(two, ("where", "pairs", "bytes")),
            BETWEEN_TWO,
        ),
        ("Among all ranks", joined(all_ranks, ("ranks", "where", "bytes")), AMONG_ALL),
        ("Half round trip of s bytes: a + s / b", [r for r in two if r["what"] == "point_to_point"], LINES),
        (imb.HEADING, [r for r in rows if r["what"] == "imb"], imb.COLUMNS),
        (hpcc.HEADING, [r for r in rows if r["what"] == "hpcc"], hpcc.COLUMNS),
        (balance.HEADING, [r for r in rows if r["what"] == "balance"], balance.COLUMNS),
    )
    for head, some, columns in parts:
        if some:
            yield f"{head}\n{'' if how == 'text' else chr(10)}" + render(some, columns, how)


def joined(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row for all that was measured of a case, with what it was as the key of its value.

    Parameters
    ----------
    rows : iterable of mapping
        With ``what``, ``value`` and ``spread``.
    keys : sequence of str
        What makes a case.
    """
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for r in rows:
        if "value" in r:
            case = found.setdefault(tuple(r[k] for k in keys), {k: r[k] for k in (*keys, "note")})
            case |= {r["what"]: r["value"], f"{r['what']}_spread": r["spread"]}
    return sorted(found.values(), key=lambda r: [PLACES.index(r[k]) if k == "where" else r[k] for k in keys])
