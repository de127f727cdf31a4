"""One page of what the lab measured on a machine: machine.json by section, and results that are given with it.

Like the report of a run it needs nothing else and may be sent: no script, no network, pictures drawn in the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from subsalt import __version__
from subsalt.errors import DataError, MissingInputError
from subsalt.machine.machine_file import Machine
from subsalt.report import chart, render
from subsalt_lab import machine_tables as tables
from subsalt_lab import result_blocks as lab_results
from subsalt_lab.result import SCHEMA
from subsalt_lab.result_blocks import rows_content

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
    sections: list[render.Section] = []

    def add(key: str, title: str, macro: str, content: Any) -> None:
        sections.append(render.Section(key, title, render.part("machine.html", macro, content)))

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
        title, macro, content = lab_results.content_of(result)
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
        return lab_results.message_curves(rows)
    if name != "storage":
        return []
    service = [r for r in rows if r.get("pattern") == "service"]
    series = lab_results.series(service, "bytes", "service_median", ("mount", "what", "engine"), 1e3)
    drawn = chart.curves("Service time of one transfer", "bytes", "ms", series)
    return [] if drawn is None else [drawn]


def _header(
    machine: Machine | None, path: Path, results: Sequence[tuple[Path, Mapping[str, Any]]]
) -> dict[str, Any]:
    """Title, machine, and where the figures are from."""
    dates = [str(r.get("date", "")) for rows in (machine.sections if machine else {}).values() for r in rows]
    dates += [str(content.get("date", "")) for _, content in results]
    known = sorted(d[:10] for d in dates if d)
    return {
        "machine": tables.title(machine) if machine is not None else lab_results.machine_of(results),
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
