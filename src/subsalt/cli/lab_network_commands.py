"""What `subsalt lab network` does: read the options, measure, print, and add to machine.json."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from subsalt.cli.lab_commands import finish, possible, prepared, progress, show
from subsalt.cli.output import Out, plain
from subsalt.io.publish import publish_text
from subsalt.lab.asked import wrong
from subsalt.lab.network import asked, rows, tables
from subsalt.lab.network import measure as measurement
from subsalt.lab.network.messages import Settings
from subsalt.lab.result import Result

THREAD_LEVELS = ("multiple", "single")


def settings(
    ranks: list[str] | None,
    sizes: str,
    launcher: str | None,
    library: Path | None,
    blocks: int,
    thread_level: str,
    quick: bool,
) -> Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    if thread_level not in THREAD_LEVELS:
        raise wrong(f"--thread-level {thread_level}: not known", f"choose from {', '.join(THREAD_LEVELS)}")
    if library is not None and not library.is_file():
        raise wrong(
            f"--mpi {library}: there is no such file", "give the libmpi itself, such as /usr/lib/libmpi.so.40"
        )
    wanted = asked.sizes("--sizes", sizes, 4 if quick else 2)
    short = (5, 500, 0.2) if quick else (blocks, 2000, 1.0)
    return Settings(asked.ranks(ranks), wanted, launcher, library, *short, threads=thread_level)


def _keep(out: Out, measured: list[dict[str, Any]], wanted: Settings, how: str, file: Path | None) -> None:
    """Print what was measured before a stop, and write it to FILE; machine.json stays as it was."""
    note = "stopped before the end: these are the starts that had ended"
    partial = Result("network", asdict(wanted), measured, rows.UNITS, {}, [note])
    show(out, partial, tables.tables(partial.rows, how), how)
    if file is not None:
        publish_text(file, json.dumps(plain(partial.to_dict()), indent=1, allow_nan=False) + "\n")
    progress(f"kept: {len(measured)} rows" + (f" in {file}" if file is not None else ", printed above"))


def beside(hpcc: bool, memory: float, imb: bool) -> measurement.Beside:
    """Return what is measured beside our own messages."""
    return measurement.Beside(memory if hpcc else 0.0, imb)


def network(
    wanted: Settings,
    more: measurement.Beside,
    how: str,
    machine: Path | None,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure, print the tables, and add the rows to machine.json."""
    path = prepared(machine, how)
    possible(file, how)
    out = Out(as_json)
    measured: list[dict[str, Any]] = []
    try:
        result = measurement.measure(wanted, more, say=progress, measured=measured)
    except BaseException as stop:
        # KeyboardInterrupt, or the signal of a batch system: hours of measuring may lie behind
        if not isinstance(stop, Exception) and measured:
            _keep(out, measured, wanted, how, file)
        raise
    show(out, result, tables.tables(result.rows, how), how)
    if file is not None:
        publish_text(file, json.dumps(plain(result.to_dict()), indent=1, allow_nan=False) + "\n")
    finish(out, result, path, "network", measurement.for_machine(result))
