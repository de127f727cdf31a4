"""`subsalt lab io`: read the options, measure, print input by every rank against input that is broadcast."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.report.table import Column, render
from subsalt_lab.cli.lab import Json, Table, command

if TYPE_CHECKING:
    from subsalt_lab.io import Settings


HEADS = {
    "init": "Initialisation: three model volumes",
    "trace": "Trace input: a slice of the source's and of the receivers' set per time step",
    "total": "Total: both, the time steps, and the image written",
}

COLUMNS = [
    Column("ranks", "ranks", "d"),
    Column("cache", "cache"),
    Column("broadcast_s", "original s", ".3f"),
    Column("per_rank_s", "per-rank s", ".3f"),
    Column("ratio", "ratio", ".3g"),
    Column("ratio_spread", "± %", ".0f", 100),
    Column("per_rank_reading_s", "reading s", ".3f"),
    Column("reading_ratio", "ratio to it", ".3g"),
    Column("wanted", "MB wanted", ".1f", 1e-6),
    Column("broadcast_moved", "moved o", ".1f", 1e-6),
    Column("per_rank_moved", "moved r", ".1f", 1e-6),
    Column("broadcast_redundancy", "redundancy o", ".2f"),
    Column("per_rank_redundancy", "r", ".2f"),
    Column("broadcast_gb_s", "GB/s o", ".3g"),
    Column("per_rank_gb_s", "GB/s r", ".3g"),
    Column("broadcast_from_storage", "disk % o", ".0f", 100),
    Column("per_rank_from_storage", "r", ".0f", 100),
    Column("mark", ""),
]
#: what the letters of the heads mean
LEGEND = "o: original, one rank reads and sends. r: every rank reads its part. reading s: of the thread reading ahead"


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each phase; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of `io.rows_of`.
    how : str
        See `table.render`.
    """
    from subsalt_lab.cli.commands import headed

    shown = [dict(r) | {"mark": "oversubscribed" if r["oversubscribed"] else ""} for r in rows]
    if how == "csv":
        yield render(shown, [Column("table", "table"), *COLUMNS], how)
        return
    yield LEGEND
    for table, head in HEADS.items():
        yield headed(head, [r for r in shown if r["table"] == table], COLUMNS, how)


@dataclass(frozen=True)
class InputOptions:
    """Options of `subsalt lab io`."""

    ranks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Numbers of ranks, such as 1,2,4,24. If there are more ranks than cores, they take turns.",
            show_default="1,2,4",
        ),
    ] = None
    grid: Annotated[str, typer.Option(metavar="NX,NY,NZ", help="Grid points of the model.")] = "256,192,128"
    steps: Annotated[
        int, typer.Option(min=1, help="Time steps; for each of them a slice of two data sets is read.")
    ] = 100
    compute: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, metavar="SHARE", help="Share of the time steps whose wavefields are computed."
        ),
    ] = 1.0
    suffix: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Format of the model volumes: rsf or sgy.")
    ] = "rsf"
    cache: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST", help="State of the page cache before each run: cold or warm.", show_default="both"
        ),
    ] = None
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Measurements of each kind of input.")] = 5
    directory: Annotated[
        Path, typer.Option(metavar="FOLDER", readable=False, help="Folder on the file system to be measured.")
    ] = Path(".")
    keep: Annotated[bool, typer.Option("--keep", help="Keep the files.")] = False
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help='Words that start the ranks, such as "srun --mpi=pmi2" or "mpiexec -n {ranks} -ppn 4".',
            show_default="mpiexec of this environment",
        ),
    ] = None
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Stop a start after this time.")
    ] = 3600.0


@command(
    "Compare reading by every rank with reading by one rank.",
    "subsalt lab io --ranks 1,2,4",
    "subsalt lab io --ranks 2,24 --steps 50 --compute 0 --directory /scratch",
    name="io",
)
@spread
def io(
    options: InputOptions,
    table: Table = "text",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, metavar="FILE", help="File for the result (JSON)."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure the input of a migration: every rank reads its part, or one rank reads all and sends it.

    The table has the times of initialisation, of trace input, and in all.
    """
    _measure(_settings(options), table, out, json)


def _settings(options: InputOptions) -> Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    from subsalt_lab import io as measurement
    from subsalt_lab.io_case import ReadingCase
    from subsalt_lab.option_values import choices

    formats = choices("--format", [options.suffix], ("rsf", "sgy"), ())
    return measurement.Settings(
        ReadingCase(_grid(options.grid), options.steps, options.compute, f".{formats[0]}"),
        _ranks(options.ranks),
        choices("--cache", options.cache, measurement.CACHES, measurement.CACHES),
        options.repeats,
        options.directory.absolute(),
        options.keep,
        options.launcher,
        options.timeout,
    )


def _measure(wanted: Settings, how: str, file: Path | None, as_json: bool) -> None:
    """Measure, print the three tables, and write the result."""
    from subsalt.cli.output import Out
    from subsalt_lab import io as measurement
    from subsalt_lab.cli import io as io_tables
    from subsalt_lab.cli.commands import hand_over, possible, progress, results_lost_on_stop, show

    possible(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(wanted, say=progress)
    show(out, result, io_tables.tables(result.rows, how), how)
    hand_over(out, result, file)


def _ranks(given: list[str] | None) -> list[int]:
    from subsalt_lab import option_values

    if given is None:
        return [1, 2, 4]
    numbers = option_values.words(given)
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= 100_000]
    if bad or not numbers:
        raise option_values.wrong(
            f"--ranks {' '.join(bad)}: not numbers of ranks", "use whole numbers, such as --ranks 1,2,4"
        )
    return sorted({int(w) for w in numbers})


def _grid(text: str) -> tuple[int, int, int]:
    from subsalt_lab import option_values

    words = text.replace("x", ",").split(",")
    if len(words) != 3 or not all(w.strip().isdecimal() and int(w) >= 16 for w in words):
        raise option_values.wrong(
            f"--grid {text}: not three numbers from 16 up", "use nx,ny,nz, such as --grid 256,192,128"
        )
    nx, ny, nz = (int(w) for w in words)
    return nx, ny, nz
