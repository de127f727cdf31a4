"""`subsalt lab network`: read the options, measure, print messages, collectives and the lines through the times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.host import usable_cores
from subsalt.report.table import Column, render
from subsalt_lab.cli.commands import headed
from subsalt_lab.cli.lab import Json, Table, command
from subsalt_lab.network import balance, hpcc, imb
from subsalt_lab.network.places import PLACES
from subsalt_lab.network.rows import BETWEEN_TWO as MESSAGES
from subsalt_lab.network.rows import COLLECTIVES, WINDOW
from subsalt_lab.option_values import words, wrong

if TYPE_CHECKING:
    from subsalt.cli.output import Out
    from subsalt_lab.network.messages import Settings
    from subsalt_lab.network.rows import Beside
    from subsalt_lab.result import Result


_WHERE = [Column("where", "where"), Column("pairs", "pairs", "d")]

BETWEEN_TWO = [
    *_WHERE,
    Column("bytes", "bytes", "d"),
    Column("latency", "half round trip us", ".2f", 1e6),
    Column("latency_spread", "± %", ".0f", 100),
    Column("stream", "one way GB/s", ".3g"),
    Column("stream_spread", "± %", ".0f", 100),
    Column("bidirectional", "both ways GB/s", ".3g"),
    Column("bidirectional_spread", "± %", ".0f", 100),
    Column("message_rate", "10^6 messages/s", ".3g", 1e-6),
    Column("note", ""),
]
AMONG_ALL = [
    Column("ranks", "ranks", "d"),
    Column("where", "where"),
    Column("bytes", "bytes", "d"),
    *(Column(name, f"{name} us", ".2f", 1e6) for name in COLLECTIVES),
    Column("note", ""),
]
LINES = [
    *_WHERE,
    Column("a_s", "a us", ".2f", 1e6),
    Column("bytes_per_s", "b GB/s", ".3g", 1e-9),
    Column("worst", "worst error %", ".0f", 100),
    Column("step_from", "step at bytes", "d"),
    Column("step_s", "step us", ".2f", 1e6),
    Column("note", ""),
]
#: columns of the other tables that CSV has beside those of messages
CSV_MORE = (
    "ours",
    "imb",
    "ratio",
    "peak_gflops",
    "dgemm_gflops",
    "bandwidth",
    "one_way",
    "both_ways",
    "stated",
)
ALL = [
    *(Column(k, k) for k in ("what", "where")),
    *(Column(k, k, "d") for k in ("bytes", "ranks")),
    Column("value", "value", "g"),
    Column("unit", "unit"),
    Column("spread", "spread", "g"),
    *(Column(k, k, "g") for k in ("a_s", "bytes_per_s", "worst", "step_from", "step_s")),
    *(Column(k, k) for k in ("mpi", "threads", "of", "test", "who", "machine")),
    *(Column(c.key, c.key, "g") for c in (*imb.COLUMNS, *balance.COLUMNS[:-1]) if c.key in CSV_MORE),
    Column("note", "note"),
]


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each kind; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of `measure.measure`.
    how : str
        See `table.render`.
    """
    rows = [{**r, "note": "oversubscribed" if r.get("oversubscribed") else r.get("note")} for r in rows]
    if how == "csv":
        yield render(rows, ALL, how)
        return
    two = [{**r, "pairs": r["ranks"] // 2} for r in rows if r["what"] in (*MESSAGES, "point_to_point")]
    all_ranks = [r for r in rows if r["what"] in COLLECTIVES]
    parts = (
        (
            f"Between two ranks; {WINDOW} messages in flight",
            joined(two, ("where", "pairs", "bytes")),
            BETWEEN_TWO,
        ),
        ("Among all ranks", joined(all_ranks, ("ranks", "where", "bytes")), AMONG_ALL),
        ("Half round trip of s bytes: a + s / b", [r for r in two if r["what"] == "point_to_point"], LINES),
        (imb.HEADING, [r for r in rows if r["what"] == "imb"], imb.COLUMNS),
        (hpcc.HEADING, [r for r in rows if r["what"] == "hpcc"], hpcc.COLUMNS),
        (balance.HEADING, [r for r in rows if r["what"] == "balance"], balance.COLUMNS),
    )
    for head, some, columns in parts:
        if some:
            yield headed(head, some, columns, how)


def joined(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return one row for all that was measured of a case, with what it was as the key of its value.

    Parameters
    ----------
    rows : iterable of mapping
        With ``what``, ``value`` and ``spread``.
    keys : sequence of str
        Keys that distinguish cases.
    """
    by_case: dict[tuple[Any, ...], dict[str, Any]] = {}
    for r in rows:
        if "value" in r:
            case = by_case.setdefault(tuple(r[k] for k in keys), {k: r[k] for k in (*keys, "note")})
            case |= {r["what"]: r["value"], f"{r['what']}_spread": r["spread"]}
    return sorted(
        by_case.values(), key=lambda r: [PLACES.index(r[k]) if k == "where" else r[k] for k in keys]
    )


#: counts of MPI are integers of 32 bits; larger messages say nothing new
LARGEST = 1 << 30
#: as many as `net.c` has room for
MOST = 64

_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def message(option: str, text: str) -> int:
    """Return the bytes of a message, such as ``0``, ``8``, ``64K`` or ``4MiB``: of messages K is 1024.

    Raises
    ------
    ConfigError
        When it is none, or larger than `LARGEST`.
    """
    match = re.fullmatch(r"\s*(\d+)\s*([kmg]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if match is None:
        raise wrong(
            f"{option} {text}: not a message size", f"use such as {option} 0:4M, or {option} 8,1K,64K"
        )
    nbytes = int(match[1]) * _BINARY[match[2].lower()]
    if nbytes > LARGEST:
        raise wrong(f"{option} {text}: larger than 1 GiB", "use smaller messages")
    return nbytes


def sizes(option: str, text: str, factor: int = 2) -> list[int]:
    """Return message sizes, ascending: of ``8:4M`` 8 times powers of `factor` up to 4 MiB, of ``8,1K`` those.

    Parameters
    ----------
    option : str
        How an error calls it.
    text : str
        Its value. A range that begins with 0 has 0, 1, and so on.
    factor : int
        From one size of a range to the next.

    Raises
    ------
    ConfigError
        When it is neither, or empty.
    """
    first, colon, last = text.partition(":")
    if not colon:
        message_sizes = sorted({message(option, w) for w in words([text])})
        if not 1 <= len(message_sizes) <= MOST:
            raise wrong(f"{option} {text!r}: {len(message_sizes)} sizes", f"give 1 to {MOST}")
        return message_sizes
    low, high = message(option, first), message(option, last)
    if low > high:
        raise wrong(f"{option} {text}: from large to small", f"use {option} {last}:{first}")
    message_sizes = [0] if low == 0 else []
    size = max(low, 1)
    while size <= high:
        message_sizes.append(size)
        size *= factor
    return message_sizes


def ranks(given: Sequence[str] | None) -> list[int]:
    """Return numbers of ranks, ascending: two, and as many as cores, when not given.

    Raises
    ------
    ConfigError
        When one is not a number from 2 on.
    """
    if given is None:
        return sorted({2, max(2, usable_cores())})
    numbers = words(given)
    bad = [w for w in numbers if not w.isdecimal() or not 2 <= int(w) <= 100000]
    if bad or not numbers:
        what = f"--np {' '.join(bad)}: a message needs two ranks" if bad else "--np is empty"
        raise wrong(what, "use numbers from 2 on, such as --np 2,4")
    return sorted({int(w) for w in numbers})


THREAD_LEVELS = ("multiple", "single")


@dataclass(frozen=True)
class NetworkOptions:
    """Options of `subsalt lab network`."""

    np: Annotated[
        list[str] | None,
        typer.Option(
            "--np",
            metavar="LIST",
            help="Numbers of ranks, such as 2,4.",
            show_default="2, and one on each core",
        ),
    ] = None
    sizes: Annotated[
        str,
        typer.Option(
            metavar="SIZES",
            help="Message sizes in bytes: FIRST:LAST by powers of two, or a list such as 8,1K,64K.",
        ),
    ] = "0:4M"
    launcher: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Words that start the ranks, such as 'srun -N 2 -n {ranks}'.",
            show_default="mpiexec of this environment",
        ),
    ] = None
    mpi: Annotated[
        Path | None,
        typer.Option(
            "--mpi",
            metavar="FILE",
            readable=False,
            help="MPI library to be measured.",
            show_default="the one that mpi4py loads",
        ),
    ] = None
    blocks: Annotated[int, typer.Option(min=3, max=1000, help="Measurements of each case.")] = 15
    thread_level: Annotated[
        str,
        typer.Option(
            metavar="LEVEL",
            help="MPI thread level: multiple (as subsalt requests) or single. Only multiple is stored.",
        ),
    ] = "multiple"
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure sizes by powers of four, 5 times: some seconds.")
    ] = False
    hpcc: Annotated[
        bool, typer.Option("--hpcc", help="Also run HPC Challenge, if hpcc is installed. It takes minutes.")
    ] = False
    hpcc_memory: Annotated[
        float,
        typer.Option(
            min=0.0001, max=0.8, metavar="SHARE", help="Share of the memory for the matrix of HPC Challenge."
        ),
    ] = 0.1
    imb: Annotated[
        bool, typer.Option("--imb", help="Also run IMB-MPI1, if it is installed, and compare.")
    ] = False


@command(
    "Measure latency and bandwidth between ranks.",
    "subsalt lab network --quick",
    "subsalt lab network --np 2,4 --sizes 8:1M --hpcc",
    "subsalt lab network --launcher 'srun --mpi=pmi2 -N 2 -n {ranks}'",
)
@spread
def network(
    options: NetworkOptions,
    table: Table = "text",
    machine: Annotated[
        Path | None,
        typer.Option(
            "--machine",
            metavar="FILE",
            readable=False,
            help="File to which the result is added.",
            show_default="machine.json in the cache folder of the user",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            readable=False,
            help="File for the result (JSON) with every measurement.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure latency and bandwidth between two ranks and among all, and compare this machine with others."""
    from subsalt_lab.network.rows import Beside

    _measure(
        _settings(options),
        Beside(options.hpcc_memory if options.hpcc else 0.0, options.imb),
        table,
        machine,
        out,
        json,
    )


def _settings(options: NetworkOptions) -> Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    from subsalt_lab.network.messages import Settings

    if options.thread_level not in THREAD_LEVELS:
        raise wrong(
            f"--thread-level {options.thread_level}: not known", f"choose from {', '.join(THREAD_LEVELS)}"
        )
    if options.mpi is not None and not options.mpi.is_file():
        raise wrong(
            f"--mpi {options.mpi}: there is no such file",
            "give the libmpi itself, such as /usr/lib/libmpi.so.40",
        )
    wanted = sizes("--sizes", options.sizes, 4 if options.quick else 2)
    short = (5, 500, 0.2) if options.quick else (options.blocks, 2000, 1.0)
    return Settings(
        ranks(options.np), wanted, options.launcher, options.mpi, *short, threads=options.thread_level
    )


def _keep(out: Out, measured: list[dict[str, Any]], wanted: Settings, how: str, file: Path | None) -> None:
    """Print what was measured before a stop, and write it to FILE; machine.json stays as it was."""
    from subsalt_lab.cli.commands import progress, show
    from subsalt_lab.network import rows
    from subsalt_lab.result import Result

    note = "stopped before the end: these are the starts that had ended"
    partial = Result("network", asdict(wanted), measured, rows.UNITS, {}, [note])
    show(out, partial, tables(partial.rows, how), how)
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
    from subsalt_lab.network import rows as measurement

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
    show(out, result, tables(result.rows, how), how)
    if file is not None:
        _write(result, file)
    finish(out, result, path, "network", measurement.for_machine(result))


def _write(result: Result, file: Path) -> None:
    from json import dumps

    from subsalt.cli.output import plain
    from subsalt.io.publish import publish_text

    publish_text(file, dumps(plain(result.to_dict()), indent=1, allow_nan=False) + "\n")
