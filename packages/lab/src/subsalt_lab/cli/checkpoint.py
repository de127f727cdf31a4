"""`subsalt lab checkpoint`: read the options, measure, print put, get and total of checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.report.table import Column, render
from subsalt_lab.cli.commands import headed
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.cli.storage import Directories, IoThreads, Names

if TYPE_CHECKING:
    from subsalt_lab.checkpoint import Settings


HEADS = {
    "bare": "Bare: records put, then got, nothing else done",
    "overlapped": "Overlapped: a shot in a VTI medium, its checkpoints on disk",
}

COLUMNS = [
    Column("checkpoints", "checkpoints", "d"),
    Column("threads", "threads", "d"),
    Column("directory", "directory"),
    Column("how", "access"),
    Column("put_reaches", "put to"),
    Column("puts", "puts", "d"),
    Column("put_bytes", "MB", ".0f", 1e-6),
    Column("put_seconds", "put s", ".3f"),
    Column("put_rate", "GB/s", ".3g"),
    Column("get_reaches", "got from"),
    Column("gets", "gets", "d"),
    Column("get_bytes", "MB", ".0f", 1e-6),
    Column("get_seconds", "get s", ".3f"),
    Column("get_rate", "GB/s", ".3g"),
    Column("total_seconds", "total s", ".3f"),
    Column("stall_seconds", "waited s", ".3f"),
    Column("over_first", "x first directory", ".2f"),
    Column("over_one", "x fewest threads", ".2f"),
    Column("shot_seconds", "shot s", ".3f"),
    Column("of_memory", "of all in memory", ".3f"),
]


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each mode; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of `checkpoint.measure`.
    how : str
        See `table.render`.
    """
    from subsalt_lab.checkpoint import compared

    shown = compared(rows)
    if how == "csv":
        yield render(shown, [Column("mode", "mode"), *COLUMNS], how)
        return
    for mode, head in HEADS.items():
        some = [r for r in shown if r["mode"] == mode]
        if some:
            yield headed(head, some, COLUMNS, how)


#: of the founding documents
CHECKPOINTS = (80, 400, 800)
STRATEGIES = ("store", "revolve")
MODES = ("bare", "overlapped")
#: points per axis inside the layer at least
INSIDE = 16


@dataclass(frozen=True)
class CheckpointCaseOptions:
    """Options of `subsalt lab checkpoint`."""

    directories: Directories = None
    checkpoints: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="Numbers of checkpoints.", show_default="80,400,800"),
    ] = None
    grid: Annotated[
        str, typer.Option(metavar="NX,NY,NZ", help="Grid points of the shot with its absorbing layers.")
    ] = "96,96,96"
    samples: Annotated[int, typer.Option(min=1, help="Time steps of the shot.")] = 800
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Checkpoint strategy: store (snapshots) or revolve (fewer states than steps).",
        ),
    ] = "store"
    threads: IoThreads = None
    direct: Annotated[bool, typer.Option("--direct/--buffered", help="Bypass the page cache, or use it.")] = (
        False
    )
    mode: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="What runs: bare (transfers only) or overlapped (transfers while a shot is computed).",
            show_default="both",
        ),
    ] = None
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Number of measurements of each case.")] = 1
    names: Names = None


@command(
    "Measure writing and reading checkpoints of a shot.",
    "subsalt lab checkpoint /scratch /home/me",
    "subsalt lab checkpoint . --checkpoints 20,80 --strategy revolve --direct",
)
@spread
def checkpoint(
    options: CheckpointCaseOptions,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, metavar="FILE", help="File for the result (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure the time to write and read checkpoints on disk, by their number, directory and threads."""
    _measure(_settings(options), table, out, json)


def _settings(options: CheckpointCaseOptions) -> Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    from subsalt.host import usable_cores
    from subsalt_lab import checkpoint as measurement
    from subsalt_lab.checkpoint_case import CheckpointCase
    from subsalt_lab.cli.storage import io_threads, names_of
    from subsalt_lab.option_values import choices

    strategy = choices("--strategy", [options.strategy], STRATEGIES, ())[0]
    places = list(dict.fromkeys(options.directories or [Path(".")]))
    return measurement.Settings(
        CheckpointCase(_grid(options.grid), options.samples, strategy, usable_cores()),
        places,
        _checkpoints(options.checkpoints, options.samples),
        io_threads(options.threads),
        options.direct,
        choices("--mode", options.mode, MODES, MODES),
        options.repeats,
        names_of(options.names, places),
    )


def _measure(wanted: Settings, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, print the tables, and write the result."""
    from subsalt.cli.output import Out
    from subsalt_lab import checkpoint as measurement
    from subsalt_lab.cli import checkpoint as checkpoint_tables
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show

    possible(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(wanted, say=progress)
    show(out, result, checkpoint_tables.tables(result.rows, how), how)
    hand_over(out, result, file)


def _checkpoints(given: list[str] | None, samples: int) -> list[int]:
    from subsalt_lab import option_values

    if given is None:
        return sorted({min(c, samples) for c in CHECKPOINTS})
    numbers = option_values.words(given)
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= samples]
    if bad or not numbers:
        raise option_values.wrong(
            f"--checkpoints {' '.join(bad)}: not numbers from 1 to {samples}, the time steps",
            "use such as --checkpoints 80,400, or more --samples",
        )
    return sorted({int(w) for w in numbers})


def _grid(text: str) -> tuple[int, int, int]:
    from subsalt_lab import option_values
    from subsalt_lab.checkpoint_case import LAYER

    least = INSIDE + 2 * LAYER
    words = text.replace("x", ",").split(",")
    if len(words) != 3 or not all(w.strip().isdecimal() and int(w) >= least for w in words):
        raise option_values.wrong(
            f"--grid {text}: not three numbers from {least} up, layer included",
            "use nx,ny,nz, such as --grid 96,96,96",
        )
    nx, ny, nz = (int(w) for w in words)
    return nx, ny, nz
