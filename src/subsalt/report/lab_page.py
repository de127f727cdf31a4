"""One page of what the lab measured on a machine: machine.json by section, and results that are given with it.

Like the report of a run it needs nothing else and may be sent: no script, no network, pictures drawn in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.errors import DataError, MissingInputError
from subsalt.lab import machine_tables as tables
from subsalt.lab.machine import Machine
from subsalt.lab.result import SCHEMA
from subsalt.lab.table import Column
from subsalt.report import chart, lab_results, words
from subsalt.report.html import Markup, bar, code, join, number, table, tag
from subsalt.report.style import CSS

#: the number of a section that is drawn as a bar in every row
BARS = {"memory": "rate", "kernels": "points_per_s", "kirchhoff": "contributions_per_s", "copies": "rate"}
#: rows of a section that are shown at once; the others are folded
SHOWN = 24
#: bytes of a file given with ``--with``
MOST_BYTES = 64_000_000


def write(target: Path, machine: Machine | None, path: Path, results: Sequence[Path] = ()) -> Path:
    """Write the page.

    Parameters
    ----------
    target : Path
        HTML file.
    machine : Machine, optional
        What machine.json knows; None where there is none.
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
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not lab_results.is_known(found):
        raise DataError(
            f"{path} is not a result of the lab",
            f"give a file that subsalt lab ... --out made (schema {SCHEMA}), or a profile",
            code="E973",
        )
    return found


def page(
    machine: Machine | None,
    path: Path,
    results: Sequence[tuple[Path, Mapping[str, Any]]],
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the page as HTML."""
    blocks: list[tuple[str, str, Markup]] = []
    if machine is not None:
        lacking = tables.missing(machine, tables.names())
        if lacking:
            blocks.append(
                ("missing", "What is missing", tag("ul", [tag("li", _command(m)) for m in lacking]))
            )
        order = [*tables.names(), *(s for s in machine.sections if s not in tables.SECTIONS)]
        for name in order:
            if rows := machine.sections.get(name):
                blocks.append((name, tables.SECTIONS.get(name, (name, "", ""))[0], section(name, rows)))
    for i, (file, content) in enumerate(results):
        title, block = lab_results.block(content)
        blocks.append((f"result{i}", title, join([tag("p", code(file.name), class_="soft"), block])))
    if links:
        pages = [tag("li", tag("a", name, href=href)) for name, href in links]
        blocks.append(("pages", "Pages beside this one", tag("ul", pages)))
    main = tag(
        "main",
        tag("nav", [tag("a", title, href=f"#{key}") for key, title, _ in blocks], class_="contents"),
        [tag("section", tag("h2", title), block, id=key) for key, title, block in blocks],
    )
    footer = tag("footer", f"One page, no script, no network: written by subsalt {__version__}.")
    head = _header(machine, path, results)
    body = tag("body", head, main, footer)
    return "<!DOCTYPE html>\n" + tag("html", _head(machine), body, lang="en") + "\n"


def section(name: str, rows: Sequence[Mapping[str, Any]]) -> Markup:
    """Return a section of machine.json: what it is for, curves where sizes were varied, and its rows."""
    _, use, how = tables.SECTIONS.get(name, (name, "", ""))
    about = tag("p", use, ", measured by ", code(how), class_="soft") if use else None
    return join([about, _curves(name, rows), rows_table(tables.columns_of(name, rows), rows, BARS.get(name))])


def rows_table(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], bars: str | None = None
) -> Markup:
    """Return rows as a table, numbers on the right, with a bar for one of them; many rows are folded."""
    plain = tables.shown(rows)
    used = [c for c in columns if any(c.cell(r) for r in plain)]
    # bars of one unit are drawn against each other
    most: dict[str, float] = {}
    for r in plain if bars else []:
        value = _value(r, bars)
        most[str(r.get("unit", ""))] = max(most.get(str(r.get("unit", "")), 0.0), value)
    wide = any(v > 0 for v in most.values())

    def cells(row: Mapping[str, Any]) -> list[Any]:
        out: list[Any] = []
        for c in used:
            text = c.cell(row)
            if c.key == "note" and text:
                out.append(tag("td", text, class_="warn"))
            elif c.key == "age":
                out.append(number(text))
            else:
                out.append(number(text) if words.is_number(row.get(c.key)) else text)
        if wide:
            longest = most[str(row.get("unit", ""))]
            out.append(tag("td", bar(_value(row, bars) / longest) if longest > 0 else "", class_="wide"))
        return out

    heads = [
        tag("th", c.head, class_="number" if any(words.is_number(r.get(c.key)) for r in plain) else None)
        for c in used
    ]
    heads += [tag("th", "")] if wide else []
    first = table(heads, [cells(r) for r in plain[:SHOWN]])
    rest = plain[SHOWN:]
    if not rest:
        return first
    more = tag("details", tag("summary", f"{len(rest)} more"), table(heads, [cells(r) for r in rest]))
    return join([first, more])


def _value(row: Mapping[str, Any], key: str | None) -> float:
    """Return a number of a row, 0 where it has none."""
    value = row.get(key) if key else None
    return float(value) if words.is_number(value) and value else 0.0


def _curves(name: str, rows: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return the curves of messages and of transfers over their size."""
    drawn: list[Markup | None] = []
    if name == "network":
        drawn = lab_results.message_curves(rows)
    if name == "storage":
        service = [r for r in rows if r.get("pattern") == "service"]
        found = lab_results.series(service, "bytes", "service_median", ("mount", "what", "engine"), 1e3)
        drawn = [chart.curves("Service time of one transfer", "bytes", "ms", found)]
    shown = [d for d in drawn if d is not None]
    return tag("div", shown, class_="charts") if shown else None


def _header(machine: Machine | None, path: Path, results: Sequence[tuple[Path, Mapping[str, Any]]]) -> Markup:
    """Title, machine, and where the figures are from."""
    told = tables.title(machine) if machine is not None else lab_results.machine_of(results)
    dates = [str(r.get("date", "")) for rows in (machine.sections if machine else {}).values() for r in rows]
    dates += [str(content.get("date", "")) for _, content in results]
    known = sorted(d[:10] for d in dates if d)
    when = f"measured from {known[0]} to {known[-1]}" if known else "nothing measured yet"
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return tag(
        "header",
        tag("h1", "What this machine can do"),
        tag("p", told),
        tag("p", code(path.name) if machine is not None else None, f" {when}, written {made}", class_="soft"),
    )


def _command(text: str) -> Markup:
    """Return a line whose command, behind its last colon and blank, is set as one."""
    what, found, command = text.rpartition(": subsalt ")
    return join([what, ": ", code(f"subsalt {command}")]) if found else join([text])


def _links(pages: Sequence[Path], target: Path) -> list[tuple[str, str]]:
    """Return names and addresses of pages as seen from the folder of `target`."""
    home = target.absolute().parent
    return [(p.name, Path(os.path.relpath(p.absolute(), home)).as_posix()) for p in pages]


def _head(machine: Machine | None) -> Markup:
    """The head: encoding, policy, title, style."""
    css = CSS + chart.CSS
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    name = str(machine.machine.get("cpu", "machine")) if machine is not None else "machine"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{name} · subsalt lab"),
        tag("style", Markup(css)),
    )
