"""One page of what the lab measured on a machine: machine.json by section, and results that are given with it.

Like the report of a run it needs nothing else and may be sent: no script, no network, pictures drawn in the page.

Results of measurements and profiles of MPI runs as parts of a page, whatever they measured.

Curves on logarithmic axes as inline SVG: no script, no style attribute, legible in the dark.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import __version__
from subsalt.errors import DataError, MissingInputError
from subsalt.machine.machine_file import Machine
from subsalt.report import render
from subsalt.report.render import part
from subsalt.report.table import Column
from subsalt_lab import machine_tables as tables
from subsalt_lab.result import SCHEMA

if TYPE_CHECKING:
    from markupsafe import Markup

#: size of a chart, and room for its axes
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 520, 260, 62, 12, 12, 34
#: curves that are distinguished by colour and marker; more are left out
MOST = 6

Curve = Sequence[tuple[float, float]]


def curves(title: str, x_name: str, y_name: str, series: Mapping[str, Curve]) -> Markup | None:
    """Return curves over logarithmic axes with a legend; None when nothing can be drawn.

    Parameters
    ----------
    title, x_name, y_name : str
        Title of the chart, and names of its axes, with units.
    series : mapping of str to sequence of (x, y)
        By name; points that are not positive and finite are left out, curves of fewer than two points too.
    """
    drawn = {name: _points(some) for name, some in series.items()}
    drawn = {name: some for name, some in list(drawn.items()) if len(some) > 1}
    shown = dict(list(drawn.items())[:MOST])
    if not shown:
        return None
    xs = [x for some in shown.values() for x, _ in some]
    ys = [y for some in shown.values() for _, y in some]
    (x0, x1), (y0, y1) = _decades(xs), _decades(ys)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0)
        up = (math.log10(y) - y0) / (y1 - y0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    lines, texts = _grid((x0, x1), (y0, y1), at)
    texts += [
        (f"{WIDTH - RIGHT:.1f}", f"{HEIGHT - 4:.1f}", x_name, "end"),
        ("4.0", f"{TOP:.1f}", y_name, "start"),
    ]
    left_out = f" ({len(drawn) - MOST} more in the table)" if len(drawn) > MOST else ""
    content = {
        "title": title + left_out,
        "width": WIDTH,
        "height": HEIGHT,
        "lines": lines,
        "texts": texts,
        "curves": [[(f"{x:.1f}", f"{y:.1f}") for x, y in (at(*p) for p in some)] for some in shown.values()],
        "names": list(shown),
    }
    return part("parts.html", "chart", content)


def _points(some: Curve) -> list[tuple[float, float]]:
    good = [
        (float(x), float(y)) for x, y in some if x > 0 and y > 0 and math.isfinite(x) and math.isfinite(y)
    ]
    return sorted(good)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis in powers of ten: close around the values, never empty."""
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 0.2:
        return low - 0.15, high + 0.15
    room = 0.04 * (high - low)
    return low - room, high + room


def _grid(
    across: tuple[float, float], up: tuple[float, float], at: Callable[[float, float], tuple[float, float]]
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return lines (x1, x2, y1, y2) and texts (x, y, text, anchor) at round values of both axes."""
    lines: list[tuple[str, ...]] = []
    texts: list[tuple[str, ...]] = []
    for value in _ticks(*across):
        x, _ = at(value, 10 ** up[0])
        lines.append((f"{x:.1f}", f"{x:.1f}", str(TOP), str(HEIGHT - BOTTOM)))
        texts.append((f"{x:.1f}", f"{HEIGHT - BOTTOM + 14:.1f}", short(value), "middle"))
    for value in _ticks(*up):
        _, y = at(10 ** across[0], value)
        lines.append((str(LEFT), str(WIDTH - RIGHT), f"{y:.1f}", f"{y:.1f}"))
        texts.append((f"{LEFT - 5:.1f}", f"{y + 4:.1f}", short(value), "end"))
    return lines, texts


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two powers of ten: decades, or 1, 2, 5 where there are few."""
    steps = (1.0,) if high - low > 2.5 else (1.0, 2.0, 5.0)
    ticks = [s * 10.0**k for k in range(math.floor(low), math.ceil(high) + 1) for s in steps]
    ticks = [v for v in ticks if low <= math.log10(v) <= high]
    return ticks[:: max(1, math.ceil(len(ticks) / 7))]


def short(value: float) -> str:
    """Return a number of an axis: ``5``, ``20k``, ``1M``, ``0.02``."""
    for unit, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= scale:
            return f"{value / scale:g}{unit}"
    return f"{value:g}" if value >= 0.001 else f"{value:.0e}"


#: format of profiles of MPI runs
PROFILE = "subsalt-mpi-profile-1"
#: columns of a table of a result at most, and calls of a profile that are shown
MOST_COLUMNS, MOST_CALLS = 16, 15
#: rows of a table that are shown at once; the others are folded
SHOWN = 24
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


def content_of(content: Row) -> tuple[str, str, dict[str, Any]]:
    """Return title, macro of ``templates/machine.html`` and its content for a result or a profile."""
    whole = content if content.get("schema") == PROFILE else content.get("profile")
    if isinstance(whole, dict) and whole.get("schema") == PROFILE and is_known(whole):
        return "Profile of MPI", "profile", _profile(whole)
    rows = [r for r in content["rows"] if isinstance(r, dict)]
    name, load = str(content.get("measurement", "result")), content.get("load")
    same, table = _rows(rows)
    return (
        f"Result: {name}",
        "result",
        {
            "about": f"{content.get('date', '')}, subsalt {content.get('version', '')}",
            "noisy": isinstance(load, dict) and bool(load.get("noisy")),
            "charts": _charts(name, rows),
            "same": same,
            "rows": table,
            "notes": [str(n) for n in content.get("notes") or [] if isinstance(n, str)],
        },
    )


def rows_content(columns: Sequence[Column], rows: Sequence[Row], bars: str | None = None) -> dict[str, Any]:
    """Return rows for a table, numbers on the right, with a bar for one of them; many rows are folded."""
    plain = tables.shown(rows)
    used = [c for c in columns if any(c.cell(r) for r in plain)]
    # bars of one unit are drawn against each other
    most: dict[str, float] = {}
    for r in plain if bars else []:
        unit = str(r.get("unit", ""))
        most[unit] = max(most.get(unit, 0.0), _value(r, bars))
    wide = any(v > 0 for v in most.values())

    def kind(c: Column) -> str:
        if c.key == "note":
            return "warn"
        return "number" if c.key == "age" or any(render.is_number(r.get(c.key)) for r in plain) else ""

    def cells(row: Row) -> list[Any]:
        longest = most.get(str(row.get("unit", "")), 0.0)
        strip = [_value(row, bars) / longest if longest > 0 else ""] if wide else []
        return [*(c.cell(row) for c in used), *strip]

    heads = [(c.head, kind(c)) for c in used] + ([("", "bar")] if wide else [])
    return {
        "columns": heads,
        "shown": [cells(r) for r in plain[:SHOWN]],
        "more": [cells(r) for r in plain[SHOWN:]],
    }


def _value(row: Row, key: str | None) -> float:
    """Return a number of a row, 0 where it has none."""
    value = row.get(key) if key else None
    return float(value) if render.is_number(value) and value else 0.0


def _rows(rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return the plain values of rows: those that do not differ, as a line; those that do, as a table."""
    keys = [k for k in dict.fromkeys(k for r in rows for k in r) if k not in HIDDEN]
    plain = [k for k in keys if all(isinstance(r.get(k), str | int | float | None) for r in rows)]
    some = [k for k in plain if any(r.get(k) not in (None, "") for r in rows)]
    alike = [k for k in some if len(rows) > 1 and len({str(r.get(k)) for r in rows}) == 1]
    columns = [
        Column(k, k.replace("_", " "), ".4g" if any(isinstance(r.get(k), float) for r in rows) else "")
        for k in some
        if k not in alike
    ][:MOST_COLUMNS]
    same = ", ".join(f"{k.replace('_', ' ')} {render.plain(rows[0][k])}" for k in alike)
    return same, rows_content(columns, rows)


def _charts(name: str, rows: Sequence[Row]) -> list[Markup]:
    """Return the curves of measurements that vary a number of cores or a size."""
    drawn: list[Markup | None] = []
    if name == "scaling":
        rows = [r for r in rows if "oversubscribed" not in str(r.get("marks", ""))]
        lines = series(rows, "cores", "speed_up", ("threads", "grid"), 1.0)
        cores = sorted({float(r["cores"]) for r in rows if render.is_number(r.get("cores"))})
        if lines and len(cores) > 1:
            lines["even share"] = [(c, c) for c in cores]
        drawn = [curves("Speed-up", "cores", "times", lines)]
    elif name == "network":
        return message_curves(rows)
    elif name == "collectives":
        for what in dict.fromkeys(str(r.get("collective")) for r in rows):
            of_one = [r for r in rows if r.get("collective") == what]
            lines = series(of_one, "bytes", "median_us", ("algorithm",), 1.0)
            drawn.append(curves(what, "bytes", "us", lines))
    return [d for d in drawn if d is not None]


def message_curves(rows: Sequence[Row]) -> list[Markup]:
    """Return half round trip, bytes per second and collectives over the size of a message."""
    together = ("allreduce", "reduce", "bcast", "allgather", "alltoall")
    pictures = (
        ("Half round trip", "us", ("latency",), ("where", "ranks", "mpi"), 1e6),
        ("Between two ranks", "GB/s", ("stream", "bidirectional"), ("what", "where", "mpi"), 1.0),
        ("All ranks", "us", together, ("what", "ranks", "mpi"), 1e6),
    )
    drawn = []
    for title, unit, kinds, by, scale in pictures:
        some = [r for r in rows if r.get("what") in kinds]
        drawn.append(curves(title, "bytes", unit, series(some, "bytes", "value", by, scale)))
    return [d for d in drawn if d is not None]


def series(rows: Sequence[Row], x: str, y: str, by: Sequence[str], scale: float) -> dict[str, Curve]:
    """Return curves of rows by the values of some keys, those in which they differ."""
    good = [r for r in rows if render.is_number(r.get(x)) and render.is_number(r.get(y))]
    differing = [k for k in by if len({str(r.get(k, "")) for r in good}) > 1]
    curves: dict[str, list[tuple[float, float]]] = {}
    for r in good:
        name = " ".join(
            f"{k} {r.get(k)}" if render.is_number(r.get(k)) else str(r.get(k, "")) for k in differing
        )
        curves.setdefault(name or y, []).append((float(r[x]), scale * float(r[y])))
    return dict(curves.items())


def _profile(content: Row) -> dict[str, Any]:
    """Return MPI time of the run, and its calls."""
    walls = [float(w) for w in content.get("wall") or [] if render.is_number(w)]
    inside = [float(w) for w in content.get("mpi_seconds") or [] if render.is_number(w)]
    calls: dict[str, list[float]] = {}
    for row in content["calls"]:
        sums = calls.setdefault(str(row.get("call")), [0.0, 0.0, 0.0])
        for i, key in enumerate(("seconds", "calls", "bytes")):
            value = row.get(key)
            sums[i] += float(value) if render.is_number(value) and value else 0.0
    total = sum(v[0] for v in calls.values())
    wall = sum(walls) / len(walls) if walls else 0.0
    mpi = sum(inside) / len(inside) if inside else 0.0
    share = f"{mpi / wall:.2%}" if wall > 0 else ""
    most = sorted(calls.items(), key=lambda kv: -kv[1][0])[:MOST_CALLS]
    return {
        "command": str(content.get("command", "")),
        "mpi": str(content.get("mpi", "")),
        "whole": (content.get("ranks", ""), f"{wall:.3f}", f"{mpi:.3f}", share),
        "calls": [
            (
                name,
                f"{seconds:.3f}",
                f"{seconds / total:.1%}" if total > 0 else "",
                render.count(count),
                render.size(size),
            )
            for name, (seconds, count, size) in most
        ],
    }


render.add_templates(Path(__file__).with_name("templates"))

#: the number of a section that is drawn as a bar in every row
BARS = {"memory": "rate", "kernels": "points_per_s", "kirchhoff": "contributions_per_s", "copies": "rate"}
#: bytes of a file given with ``--with``
MOST_BYTES = 64_000_000


def write(target: Path, machine: Machine | None, path: Path, results: Sequence[Path] = ()) -> Path:
    """Write the page.

    Parameters
    ----------
    target : Path
        HTML file.
    machine : Machine, optional
        Content of machine.json; None where there is none.
    path : Path
        Where that stands.
    results : sequence of Path
        JSON files of measurements and profiles; HTML pages, to which it links.

    Raises
    ------
    MissingInputError
        When one is not there.
    DataError
        When one is nothing of the lab's (E973).
    """
    from subsalt.io.publish import publish_text

    given = [(p, read(p)) for p in results if p.suffix != ".html"]
    links = [p for p in results if p.suffix == ".html"]
    for p in links:
        if not p.is_file():
            raise MissingInputError(f"{p} does not exist", "check the name", code="E110")
    publish_text(target, page(machine, path, given, _links(links, target)))
    return target


def read(path: Path) -> dict[str, Any]:
    """Return the content of a result or of a profile.

    Raises
    ------
    MissingInputError
        When it is not there.
    DataError
        When it is neither (E973).
    """
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8", errors="replace") if size <= MOST_BYTES else ""
    except FileNotFoundError:
        raise MissingInputError(f"{path} does not exist", "check the name", code="E110") from None
    except OSError as error:
        raise MissingInputError(
            f"{path} cannot be read: {error.strerror}", "check its permissions", code="E111"
        ) from error
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not is_known(content):
        raise DataError(
            f"{path} is not a result of the lab",
            f"give a file that subsalt lab ... --out made (schema {SCHEMA}), or a profile",
            code="E973",
        )
    return content


def page(
    machine: Machine | None,
    path: Path,
    results: Sequence[tuple[Path, Mapping[str, Any]]],
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page as HTML."""
    sections: list[render.PageSection] = []

    def add(key: str, title: str, macro: str, content: Any) -> None:
        sections.append(render.PageSection(key, title, render.part("machine.html", macro, content)))

    if machine is not None:
        lacking = tables.missing(machine, tables.names())
        if lacking:
            add("missing", "What is missing", "missing", [_command(m) for m in lacking])
        order = [*tables.names(), *(s for s in machine.sections if s not in tables.SECTIONS)]
        for name in order:
            if rows := machine.sections.get(name):
                title = tables.SECTIONS.get(name, (name, "", ""))[0]
                add(name, title, "section", section(name, rows))
    for i, (file, result) in enumerate(results):
        title, macro, content = content_of(result)
        add(f"result{i}", title, macro, {**content, "file": file.name})
    if links:
        add("pages", "Pages beside this one", "pages", links)
    header = render.part("machine.html", "header", _header(machine, path, results))
    name = str(machine.machine.get("cpu", "machine")) if machine is not None else "machine"
    return render.page(f"{name} · subsalt lab", header, sections, __version__, styles=["chart.css"])


def section(name: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a section of machine.json: what it is for, curves where sizes were varied, and its rows."""
    _, use, how = tables.SECTIONS.get(name, (name, "", ""))
    content = rows_content(tables.columns_of(name, rows), rows, BARS.get(name))
    return {"use": use, "how": how, "charts": _curves(name, rows), "rows": content}


def _curves(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return the curves of messages and of transfers over their size."""
    if name == "network":
        return message_curves(rows)
    if name != "storage":
        return []
    service = [r for r in rows if r.get("pattern") == "service"]
    drawn = curves(
        "Service time of one transfer",
        "bytes",
        "ms",
        series(service, "bytes", "service_median", ("mount", "what", "engine"), 1e3),
    )
    return [] if drawn is None else [drawn]


def _header(
    machine: Machine | None, path: Path, results: Sequence[tuple[Path, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Title, machine, and where the figures are from."""
    dates = [str(r.get("date", "")) for rows in (machine.sections if machine else {}).values() for r in rows]
    dates += [str(content.get("date", "")) for _, content in results]
    known = sorted(d[:10] for d in dates if d)
    return {
        "machine": tables.title(machine) if machine is not None else machine_of(results),
        "file": path.name if machine is not None else "",
        "when": f"measured from {known[0]} to {known[-1]}" if known else "nothing measured yet",
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _command(text: str) -> tuple[str, str]:
    """Return a line and the command behind its last colon and blank, which is set as one."""
    what, colon, command = text.rpartition(": subsalt ")
    return (what, f"subsalt {command}") if colon else (text, "")


def _links(pages: Sequence[Path], target: Path) -> list[tuple[str, str]]:
    """Return names and addresses of pages as seen from the folder of `target`."""
    home = target.absolute().parent
    return [(p.name, Path(os.path.relpath(p.absolute(), home)).as_posix()) for p in pages]
