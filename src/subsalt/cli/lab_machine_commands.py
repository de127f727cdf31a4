"""What `subsalt lab machine` and `subsalt lab report` do: read machine.json and results, print or write the page."""

from __future__ import annotations

from pathlib import Path

from subsalt.cli.lab_commands import possible
from subsalt.cli.output import Out
from subsalt.lab import asked as words


def machine(file: Path | None, sections: list[str] | None, how: str, as_json: bool) -> None:
    """Print what machine.json knows."""
    from subsalt.lab import machine as machines
    from subsalt.lab import machine_tables

    possible(None, how)
    path = file if file is not None else machines.default_path()
    wanted = words.choices("--section", sections, machine_tables.names(), machine_tables.names())
    known, out = machines.read(path), Out(as_json)
    if how == "csv" and len(wanted) != 1:
        raise words.wrong("--table csv: a table for each section", "choose one with --section")
    for line in machine_tables.lines(known, wanted, how, str(path)):
        out.say(line)
    out.json(machine_tables.content(known, wanted) | {"machine_file": str(path)})


def report(target: Path, results: list[Path], file: Path | None, as_json: bool) -> None:
    """Write the page."""
    from subsalt.lab import machine as machines
    from subsalt.report import lab_page

    possible(target, "text")
    path = file if file is not None else machines.default_path()
    out, known = Out(as_json), None
    if path.exists() or not results or file is not None:
        known = machines.read(path)
    written = lab_page.write(target, known, path, results)
    out.row("report", str(written))
    out.json({"report": written})
