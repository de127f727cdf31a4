"""Results of measurements and profiles of MPI runs as parts of a page, whatever they measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from subsalt.lab.result import SCHEMA
from subsalt.lab.table import Column
from subsalt.report import chart, words
from subsalt.report.chart import Curve
from subsalt.report.html import Markup, join, number, table, tag

#: format of profiles of MPI runs
PROFILE = "subsalt-mpi-profile-1"
#: columns of a table of a result at most, and calls of a profile that are shown
MOST_COLUMNS, MOST_CALLS = 16, 15
#: values of rows that are of no use to a reader
HIDDEN = ("seconds", "samples", "superlinear", "resolution", "pinned", "table")

Row = Mapping[str, Any]


def is_known(content: Row) -> bool:
    """Return whether a file is a result or a profile whose format is known."""
    rows = content.get("rows") if content.get("schema") == SCHEMA else content.get("calls")
    known = content.get("schema") in (SCHEMA, PROFILE) and isinstance(rows, list)
    return known and all(isinstance(r, dict) for r in rows or [])


def machine_of(results: Sequence[tuple[Path, Row]]) -> str:
    """Return the machine that the first result names, in words."""
    for _, content in results:
        m = content.get("machine")
        if isinstance(m, dict) and m.get("cpu"):
            return f"{m['cpu']}, {m.get('cores')} cores"
    return ""


def block(content: Row) -> tuple[str, Markup]:
    """Return title and body of a result or a profile."""
    if content.get("schema") == PROFILE:
        return _profile(content)
    whole = content.get("profile")
    if isinstance(whole, dict) and whole.get("schema") == PROFILE and is_known(whole):
        return _profile(whole)
    rows = [r for r in content["rows"] if isinstance(r, dict)]
    name = str(content.get("measurement", "result"))
    load = content.get("load")
    noisy = isinstance(load, dict) and bool(load.get("noisy"))
    about = f"{content.get('date', '')}, subsalt {content.get('version', '')}"
    notes = [str(n) for n in content.get("notes") or [] if isinstance(n, str)]
    state = tag("span", " noisy", class_="warn") if noisy else None
    return (
        f"Result: {name}",
        join(
            [
                tag("p", about, state, class_="soft"),
                _pictures(name, rows),
                _rows(rows),
                tag("ul", [tag("li", n) for n in notes]) if notes else None,
            ]
        ),
    )


def _rows(rows: Sequence[Row]) -> Markup:
    """Return the plain values of rows: those that differ, as a table; those that do not, in a line."""
    from subsalt.report.lab_page import rows_table

    keys = [k for k in dict.fromkeys(k for r in rows for k in r) if k not in HIDDEN]
    plain = [k for k in keys if all(isinstance(r.get(k), str | int | float | None) for r in rows)]
    some = [k for k in plain if any(r.get(k) not in (None, "") for r in rows)]
    alike = [k for k in some if len(rows) > 1 and len({str(r.get(k)) for r in rows}) == 1]
    columns = [
        Column(k, k.replace("_", " "), ".4g" if any(isinstance(r.get(k), float) for r in rows) else "")
        for k in some
        if k not in alike
    ][:MOST_COLUMNS]
    same = ", ".join(f"{k.replace('_', ' ')} {words.plain(rows[0][k])}" for k in alike)
    return join([tag("p", f"all rows: {same}", class_="soft") if same else None, rows_table(columns, rows)])


def _pictures(name: str, rows: Sequence[Row]) -> Markup | None:
    """Return the curves of measurements that vary a number of cores or a size."""
    drawn: list[Markup | None] = []
    if name == "scaling":
        rows = [r for r in rows if "oversubscribed" not in str(r.get("marks", ""))]
        found = series(rows, "cores", "speed_up", ("threads", "grid"), 1.0)
        cores = sorted({float(r["cores"]) for r in rows if words.is_number(r.get("cores"))})
        if found and len(cores) > 1:
            found["even share"] = [(c, c) for c in cores]
        drawn = [chart.curves("Speed-up", "cores", "times", found)]
    elif name == "network":
        drawn = message_curves(rows)
    elif name == "collectives":
        for what in dict.fromkeys(str(r.get("collective")) for r in rows):
            of_one = [r for r in rows if r.get("collective") == what]
            found = series(of_one, "bytes", "median_us", ("algorithm",), 1.0)
            drawn.append(chart.curves(what, "bytes", "us", found))
    shown = [d for d in drawn if d is not None]
    return tag("div", shown, class_="charts") if shown else None


def message_curves(rows: Sequence[Row]) -> list[Markup | None]:
    """Return half round trip, bytes per second and collectives over the size of a message."""
    latency = [r for r in rows if r.get("what") == "latency"]
    rates = [r for r in rows if r.get("what") in ("stream", "bidirectional")]
    names = ("allreduce", "reduce", "bcast", "allgather", "alltoall")
    together = [r for r in rows if r.get("what") in names]
    return [
        chart.curves(
            "Half round trip",
            "bytes",
            "us",
            series(latency, "bytes", "value", ("where", "ranks", "mpi"), 1e6),
        ),
        chart.curves(
            "Between two ranks",
            "bytes",
            "GB/s",
            series(rates, "bytes", "value", ("what", "where", "mpi"), 1.0),
        ),
        chart.curves(
            "All ranks", "bytes", "us", series(together, "bytes", "value", ("what", "ranks", "mpi"), 1e6)
        ),
    ]


def series(rows: Sequence[Row], x: str, y: str, by: Sequence[str], scale: float) -> dict[str, Curve]:
    """Return curves of rows by the values of some keys, those in which they differ."""
    good = [r for r in rows if words.is_number(r.get(x)) and words.is_number(r.get(y))]
    differing = [k for k in by if len({str(r.get(k, "")) for r in good}) > 1]
    found: dict[str, list[tuple[float, float]]] = {}
    for r in good:
        name = " ".join(
            f"{k} {r.get(k)}" if words.is_number(r.get(k)) else str(r.get(k, "")) for k in differing
        )
        found.setdefault(name or y, []).append((float(r[x]), scale * float(r[y])))
    return dict(found.items())


def _profile(content: Row) -> tuple[str, Markup]:
    """Return the tables of document 002: MPI time of the run, and its calls."""
    walls = [float(w) for w in content.get("wall") or [] if words.is_number(w)]
    inside = [float(w) for w in content.get("mpi_seconds") or [] if words.is_number(w)]
    calls: dict[str, list[float]] = {}
    for row in content["calls"]:
        kept = calls.setdefault(str(row.get("call")), [0.0, 0.0, 0.0])
        for i, key in enumerate(("seconds", "calls", "bytes")):
            value = row.get(key)
            kept[i] += float(value) if words.is_number(value) and value else 0.0
    total = sum(v[0] for v in calls.values())
    wall = sum(walls) / len(walls) if walls else 0.0
    mpi = sum(inside) / len(inside) if inside else 0.0
    share = f"{mpi / wall:.2%}" if wall > 0 else ""
    first = table(
        ("ranks", "wall, s", "MPI, s", "MPI"),
        [(number(content.get("ranks", "")), number(f"{wall:.3f}"), number(f"{mpi:.3f}"), number(share))],
    )
    most = sorted(calls.items(), key=lambda kv: -kv[1][0])[:MOST_CALLS]
    second = table(
        ("call", *(tag("th", h, class_="number") for h in ("s, all ranks", "of MPI", "calls", "bytes"))),
        [
            (
                name,
                number(f"{seconds:.3f}"),
                number(f"{seconds / total:.1%}" if total > 0 else ""),
                number(words.count(count)),
                number(words.size(size)),
            )
            for name, (seconds, count, size) in most
        ],
    )
    about = tag("p", str(content.get("command", "")), " · ", str(content.get("mpi", "")), class_="soft")
    return "Profile of MPI", join([about, first, second])
