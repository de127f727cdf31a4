"""`subsalt lab network`: read the options, measure, print, and add to machine.json."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt_lab.cli.lab import Json, Table, lab

if TYPE_CHECKING:
    from subsalt.cli.output import Out
    from subsalt_lab.network.measure import Beside
    from subsalt_lab.network.messages import Settings
    from subsalt_lab.result import Result

THREAD_LEVELS = ("multiple", "single")


@lab.command(
    short_help="Messages between ranks: latency, bandwidth, collectives.",
    epilog="Example: subsalt lab network --quick; subsalt lab network --np 2,4 --sizes 8:1M --hpcc; "
    "subsalt lab network --np 2,32 --launcher 'srun --mpi=pmi2 -N 2 -n {ranks}'",
)
def network(
    np: Annotated[
        list[str] | None,
        typer.Option("--np", help="Numbers of ranks, such as 2,4; two and as many as cores when left out."),
    ] = None,
    sizes: Annotated[
        str,
        typer.Option(help="Bytes of messages: first:last by powers of two, or a list such as 8,1K,64K."),
    ] = "0:4M",
    launcher: Annotated[
        str | None,
        typer.Option(
            help="What starts the ranks, such as 'srun -N 2 -n {ranks}'; mpiexec of this environment when left out."
        ),
    ] = None,
    mpi: Annotated[
        Path | None,
        typer.Option(
            "--mpi",
            readable=False,
            help="The libmpi that is measured; the one that MPI for Python loads when left out.",
        ),
    ] = None,
    blocks: Annotated[int, typer.Option(min=3, max=1000, help="Samples of each case.")] = 15,
    thread_level: Annotated[
        str,
        typer.Option(help="How MPI is started: multiple, as subsalt does, or single; only multiple is kept."),
    ] = "multiple",
    quick: Annotated[
        bool, typer.Option("--quick", help="Powers of four, 5 short blocks: some seconds.")
    ] = False,
    hpcc: Annotated[
        bool, typer.Option("--hpcc", help="Run HPC Challenge too, where hpcc is installed: minutes.")
    ] = False,
    hpcc_memory: Annotated[
        float, typer.Option(min=0.0001, max=0.8, help="Part of the memory for its matrix.")
    ] = 0.1,
    imb: Annotated[
        bool, typer.Option("--imb", help="Cross-check by IMB-MPI1, where it is installed.")
    ] = False,
    table: Table = "text",
    machine: Annotated[
        Path | None,
        typer.Option(
            "--machine", readable=False, help="machine.json; in the user's cache folder when left out."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", readable=False, help="Write the result with every sample here, as JSON."),
    ] = None,
    json: Json = False,
) -> None:
    """Measure messages between two ranks and among all, and set this machine among others."""
    from subsalt_lab.network.measure import Beside

    _measure(
        _settings(np, sizes, launcher, mpi, blocks, thread_level, quick),
        Beside(hpcc_memory if hpcc else 0.0, imb),
        table,
        machine,
        out,
        json,
    )


def _settings(
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
    from subsalt_lab.asked import wrong
    from subsalt_lab.network import asked
    from subsalt_lab.network.messages import Settings

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
    from subsalt_lab.cli.commands import progress, show
    from subsalt_lab.network import rows, tables
    from subsalt_lab.result import Result

    note = "stopped before the end: these are the starts that had ended"
    partial = Result("network", asdict(wanted), measured, rows.UNITS, {}, [note])
    show(out, partial, tables.tables(partial.rows, how), how)
    if file is not None:
        _write(partial, file)
    progress(f"kept: {len(measured)} rows" + (f" in {file}" if file is not None else ", printed above"))


def _measure(
    wanted: Settings,
    more: Beside,
    how: str,
    machine: Path | None,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure, print the tables, and add the rows to machine.json."""
    from subsalt.cli.output import Out
    from subsalt_lab.cli.commands import finish, possible, prepared, progress, show
    from subsalt_lab.network import measure as measurement
    from subsalt_lab.network import tables

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
        _write(result, file)
    finish(out, result, path, "network", measurement.for_machine(result))


def _write(result: Result, file: Path) -> None:
    from json import dumps

    from subsalt.cli.output import plain
    from subsalt.io.publish import publish_text

    publish_text(file, dumps(plain(result.to_dict()), indent=1, allow_nan=False) + "\n")
