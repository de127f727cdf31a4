"""Parts that the sub-commands of `lab` share: where a result goes, how it is printed, and what remains after a stop."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.cli.output import Out, plain, printable
from subsalt.errors import DiskError, SubsaltError
from subsalt.io.publish import publish_text
from subsalt.machine import machine_file as machine
from subsalt.report.table import FORMATS, Column, render
from subsalt_lab import option_values as words
from subsalt_lab.result import Result

if TYPE_CHECKING:
    from subsalt_lab.cli.lab import ForMachine


def prepared(file: Path | None, how: str) -> Path:
    """Return the machine.json to be written, after everything that can go wrong with it was looked at."""
    if how not in FORMATS:
        raise words.wrong(f"--table {how}: not known", f"choose from {', '.join(FORMATS)}")
    path = file if file is not None else machine.default_path()
    machine.prepare(path)
    return path


def possible(file: Path | None, how: str, option: str = "--out") -> None:
    """Refuse a kind of table or a file for the result that cannot be, before anything is measured."""
    if how not in FORMATS:
        raise words.wrong(f"--table {how}: not known", f"choose from {', '.join(FORMATS)}")
    if file is not None and (file.is_dir() or not os.access(file.absolute().parent, os.W_OK)):
        raise DiskError(f"{file} cannot be written", f"give another name with {option}", code="E620")


def hand_over(out: Out, result: Result, file: Path | None) -> None:
    """Write a result into the file that was asked for, and on standard output with ``--json``."""
    content = plain(result.to_dict())
    if file is not None:
        publish_text(file, json.dumps(content, indent=1, allow_nan=False) + "\n")
    out.json(content)


@contextmanager
def results_lost_on_stop() -> Iterator[None]:
    """Say on Ctrl-C that nothing was written: a measurement has no half."""
    try:
        yield
    except KeyboardInterrupt:
        error = SubsaltError("interrupted; nothing was written", "start the measurement again", code="E801")
        error.exit_code = 130
        raise error from None


def progress(text: str) -> None:
    """Tell on standard error what is being measured."""
    print(printable(text), file=sys.stderr, flush=True)


def show(out: Out, result: Result, tables: Iterable[str], how: str) -> None:
    """Print heading, tables and notes; CSV alone, so that it can be piped."""
    if how != "csv":
        out.say(result.heading())
    for text in tables:
        if how != "csv":
            out.say()
        out.say(text)
    if how != "csv":
        out.say()
        for note in result.notes:
            out.say(note)


def headed(head: str, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], how: str) -> str:
    """Return a table under its head."""
    return f"{head}\n{'' if how == 'text' else chr(10)}" + render(rows, columns, how)


def finish(out: Out, result: Result, path: Path, section: str, rows: list[dict[str, Any]]) -> None:
    """Add the rows to machine.json and print the result for programs."""
    left_out = machine.save(path, section, rows)
    if out.as_json:
        out.json(result.to_dict() | {"machine_file": str(path)})
    remark = f" ({left_out} quiet rows in it were kept)" if left_out else ""
    print(f"machine   {printable(str(path))}{remark}", file=sys.stderr, flush=True)


def measured(
    section: str,
    measurement: Any,
    settings: Any,
    options: ForMachine,
    tables: Callable[[Sequence[Mapping[str, Any]], str], Iterable[str]] | None = None,
) -> None:
    """Measure, print the tables, and add the rows to a section of machine.json.

    Parameters
    ----------
    measurement : module
        With ``measure(settings, say)``, ``for_machine(result)``, and the columns of its table or `tables`.
    """
    path = prepared(options.out, options.table)
    out = Out(options.json)
    with results_lost_on_stop():
        result = measurement.measure(settings, say=progress)
    made = (
        [render(result.rows, measurement.COLUMNS, options.table)]
        if tables is None
        else tables(result.rows, options.table)
    )
    show(out, result, made, options.table)
    finish(out, result, path, section, measurement.for_machine(result))
