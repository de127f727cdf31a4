"""`subsalt lab storage`: what a directory takes and gives, and which one suits the checkpoints of a job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from subsalt.cli.output import Out, spread
from subsalt.machine import machine_file as machine
from subsalt.machine.records import refuse
from subsalt.report.table import Column, render
from subsalt_lab import option_values, storage_rows
from subsalt_lab import storage as measurement
from subsalt_lab.cli.commands import finish, headed, prepared, progress, results_lost_on_stop, show
from subsalt_lab.cli.lab import Json, MachineFile, Table, command
from subsalt_lab.storage_settings import ENGINES, STREAMS
from subsalt_lab.transfers import PAGE

if TYPE_CHECKING:
    from subsalt.methods.rtm.advice import Advice
    from subsalt.methods.rtm.job import Job


_WHERE = [Column("directory", "directory"), Column("what", "what")]
_HOW = [Column("how", "access"), Column("reaches", "reaches"), Column("threads", "threads", "d")]
_BY = Column("engine", "by")
_RATE = [Column("rate", "GB/s", ".3g"), Column("spread", "± %", ".0f", 100)]
_SERVICE = [
    Column("service_median", "median ms", ".3g", 1e3),
    Column("service_99", "99 % ms", ".3g", 1e3),
]

#: pattern of the rows -> heading, columns
TABLES: dict[str, tuple[str, list[Column]]] = {
    "record": (
        "Snapshots: put and get",
        [
            *_WHERE,
            *_HOW,
            Column("count", "snapshots", "d"),
            Column("bytes", "MB each", ".1f", 1e-6),
            *_RATE,
            Column("busy", "busy s", ".3f"),
            Column("stall", "waited s", ".3f"),
            Column("from_storage", "from storage %", ".0f", 100),
        ],
    ),
    "sequential": (
        "1 MiB in sequence",
        [*_WHERE, _BY, *_HOW, Column("moved", "MB", ".0f", 1e-6), *_RATE[:1], *_SERVICE],
    ),
    "random": (
        "4 KiB at random; threads are the transfers under way at a time",
        [*_WHERE, _BY, *_HOW, Column("requests_per_s", "per second", ".0f"), *_RATE[:1], *_SERVICE],
    ),
    "service": (
        "Service time by transfer size, one at a time, at random",
        [*_WHERE, _BY, *_HOW[:2], Column("bytes", "KiB", ".0f", 1 / 1024), *_SERVICE, *_RATE[:1]],
    ),
    "streams": (
        "One stream against many: threads that write one file; snapshots: the store of the migrations",
        [
            _WHERE[0],
            *_HOW[:2],
            _HOW[2],
            _BY,
            Column("moved", "MB", ".0f", 1e-6),
            *_RATE,
            Column("against", "x plain", ".2f"),
            Column("marks", ""),
        ],
    ),
    "sustained": (
        "4 KiB at random that go on: burst is the first minute or third, sustained the last third",
        [
            _WHERE[0],
            _BY,
            *_HOW,
            Column("lasted", "s", ".0f"),
            Column("requests_per_s", "per second", ".0f"),
            Column("burst_per_s", "burst", ".0f"),
            Column("sustained_per_s", "sustained", ".0f"),
            Column("of_burst", "of burst %", ".0f", 100),
        ],
    ),
}


def tables(rows: Sequence[Mapping[str, Any]], how: str) -> Iterator[str]:
    """Yield heading and table of each pattern; with CSV one table of all rows.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of `storage.measure`.
    how : str
        See `table.render`.
    """
    if how == "csv":
        keys = ["directory", "file_system", "engine", "pattern", "what", "how", "reaches", "bytes", "threads"]
        numbers = [c for _, columns in TABLES.values() for c in columns if c.form and c.key not in keys]
        yield render(rows, [*(Column(k, k) for k in keys), *{c.key: c for c in numbers}.values()], how)
        return
    for pattern, (head, columns) in TABLES.items():
        some = [dict(r) | {"lasted": sum(r["seconds"])} for r in rows if r["pattern"] == pattern]
        if some:
            yield headed(head, some, columns, how)


COLUMNS = (
    Column("number", "#", "d"),
    Column("directory", "directory"),
    Column("file_system", "file system"),
    Column("strategy", "strategy"),
    Column("puts", "puts", "d"),
    Column("gets", "gets", "d"),
    Column("put_bytes", "put GB", ".3g", 1e-9),
    Column("get_bytes", "get GB", ".3g", 1e-9),
    Column("access", "access"),
    Column("threads", "threads", "d"),
    Column("put_seconds", "put s", ".3g"),
    Column("get_seconds", "get s", ".3g"),
    Column("kernel_seconds", "steps s", ".3g"),
    Column("again", "again s", ".3g"),
    Column("waits", "waits s", ".3g"),
    Column("needed", "needs GB", ".3g", 1e-9),
    Column("free", "room GB", ".3g", 1e-9),
)


def job_of(path: Path) -> Job:
    """Return the job that is advised, read before anything is measured.

    Raises
    ------
    ConfigError
        When it is of a method without checkpoints, or only models (E128).
    """
    from subsalt.job.base import read_job
    from subsalt.methods.rtm.job import Job

    job = read_job(path)
    if not isinstance(job, Job):
        raise option_values.wrong(
            f"--advise {path}: its method is {job.method}, which keeps no checkpoints",
            'give a job with method = "rtm"',
        )
    if job.data is None:
        raise option_values.wrong(
            f"--advise {path}: it has no [data], and modelling keeps no checkpoints",
            "give a job that migrates",
        )
    return job


def advice_of(job: Job, directories: Sequence[Path], ranks: int, known: Path) -> Advice:
    """Return the directories in their order, from the rates in machine.json."""
    from subsalt.errors import MissingInputError
    from subsalt.methods.rtm.advice import advise
    from subsalt.plan.world import World

    try:
        rates = machine.read(known)
    except MissingInputError:
        rates = machine.Machine.here()
    world = World.planned(ranks, None, job.propagation_options.threads)
    return advise(job, directories, world, rates)


def lines(advice: Advice, how: str) -> Iterator[str]:
    """Yield the table, why each directory stands where it does, and what belongs into the job file."""
    rows: list[dict[str, Any]] = [
        vars(p) | {"number": i, "access": "direct" if p.direct else "buffered"}
        for i, p in enumerate(advice.places, 1)
    ]
    for row in rows:
        if row["problem"] and not row["strategy"]:
            # nothing was predicted
            for key in ("puts", "gets", "put_bytes", "get_bytes", "put_seconds", "get_seconds", "threads"):
                row[key] = None
            row |= {"kernel_seconds": None, "again": None, "waits": None, "needed": None, "access": ""}
    if how == "csv":
        yield render(rows, [*COLUMNS, Column("problem", "problem")], how)
        return
    head = f"Checkpoints of {advice.job}, largest shot, all ranks of this node; a model from measured rates"
    yield headed(head, rows, COLUMNS, how)
    reasons = [f"{i}. {p.directory}: {p.reason}" for i, p in enumerate(advice.places, 1)]
    if advice.needs_none:
        reasons.append(
            f"as it stands the job keeps nothing on disk ({advice.as_it_stands}): this is what it would do there"
        )
    if advice.kernels == "assumed":
        reasons.append("time steps are assumed, and slow: measure them with subsalt lab kernels")
    yield "\n".join(reasons)
    wanted = advice.lines()
    if wanted:
        yield "for the job file:\n" + "\n".join(f"  {line}" for line in wanted)


Directories = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FOLDER",
        help="Folders on the file systems to be measured.",
        show_default="the current folder",
        readable=False,
    ),
]
IoThreads = Annotated[
    list[str] | None,
    typer.Option(
        "--threads",
        metavar="LIST",
        help="Numbers of threads that write and read, such as 1,4.",
        show_default="1,4",
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option(
        "--names",
        metavar="LIST",
        help="Names of the directories in the tables, such as disk,memory.",
        show_default="their paths",
    ),
]
Direct = Annotated[
    bool | None,
    typer.Option("--direct/--buffered", help="Bypass the page cache, or use it.", show_default="both"),
]


#: seconds of which a first and a last third can be told
LEAST_SUSTAINED = 3
#: bytes of `--quick`
QUICK = 256_000_000


@dataclass(frozen=True)
class StorageOptions:
    """Options of `subsalt lab storage`."""

    directories: Directories = None
    size: Annotated[
        str, typer.Option(metavar="SIZE", help="Bytes that are written and read for one measurement.")
    ] = "1GB"
    record: Annotated[str, typer.Option(metavar="SIZE", help="Size of a snapshot.")] = "32MiB"
    threads: IoThreads = None
    direct: Direct = None
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Measurements of writing and reading.")] = 3
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Write and read only snapshots, 256 MB, once, with 4 threads: some seconds."
        ),
    ] = False
    names: Names = None
    engine: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Program that transfers: fio, own (threads of subsalt) or both; auto takes fio if it is installed.",
        ),
    ] = "auto"
    streams: Annotated[
        list[str] | None,
        typer.Option(
            "--streams",
            metavar="LIST",
            help="Numbers of threads that write one file; 0 skips this test.",
            show_default="1,2,4,8,16",
        ),
    ] = None
    sustained: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Also measure sustained writes of 4 KiB for this time, 180 or more if possible.",
        ),
    ] = 0.0
    founding: Annotated[
        bool,
        typer.Option(
            "--founding", help="Also print the tables of a published study with these directories added."
        ),
    ] = False
    advise: Annotated[
        Path | None,
        typer.Option(
            metavar="JOB",
            readable=False,
            help="Measure writing and reading, and rank the directories for the checkpoints of this job.",
        ),
    ] = None
    ranks: Annotated[int, typer.Option(min=1, help="With --advise, ranks of the run on this node.")] = 1
    known: Annotated[
        bool,
        typer.Option("--known", help="With --advise, measure nothing and use the rates in machine.json."),
    ] = False


@command(
    "Measure write and read rates of directories.",
    "subsalt lab storage . --quick",
    "subsalt lab storage /scratch /home/me --size 8GB --threads 1,4,16",
    "subsalt lab storage /scratch /home/me --advise job.toml",
)
@spread
def storage(
    given: StorageOptions,
    table: Table = "text",
    out: MachineFile = None,
    json: Json = False,
) -> None:
    """Measure writing and reading of snapshots, transfers of many sizes with fio, and one thread against many.

    With --advise the directories are ranked for the checkpoints of a job.
    """
    if given.advise is not None:
        _advise(given, given.advise, table, out, json)
        return
    _unadvised(given.ranks, given.known)
    _measure(settings(given), given.founding, table, out, json)


def settings(given: StorageOptions) -> measurement.Settings:
    """Return what the options ask for.

    Raises
    ------
    ConfigError
        When one of them asks for something impossible.
    """
    if 0 < given.sustained < LEAST_SUSTAINED:
        raise option_values.wrong(
            f"--sustained {given.sustained:g}: too short for a burst and what follows it",
            f"use {LEAST_SUSTAINED} or more, 180 for figures",
        )
    each = option_values.size("--record", given.record, PAGE)
    nbytes = option_values.size("--size", given.size, PAGE)
    places = list(dict.fromkeys(given.directories or [Path(".")]))
    return measurement.Settings(
        places,
        min(nbytes, QUICK) if given.quick else nbytes,
        io_threads(given.threads, given.quick),
        min(each, nbytes) // 4 * 4,
        given.direct,
        given.quick,
        1 if given.quick else given.repeats,
        names=names_of(given.names, places),
        engine=option_values.choices("--engine", [given.engine], ENGINES, ())[0],
        streams=_streams(given.streams),
        sustained=given.sustained,
    )


def _streams(given: list[str] | None) -> Sequence[int]:
    """Return how many threads write one file; none for 0."""
    if given is None:
        return STREAMS
    numbers = option_values.words(given)
    if numbers == ["0"]:
        return ()
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= 256]
    if bad or not numbers:
        raise option_values.wrong(
            f"--streams {' '.join(bad)}: not numbers of threads from 1 to 256",
            "use such as --streams 1,4,16, or 0",
        )
    return sorted({int(w) for w in numbers})


def names_of(given: list[str] | None, directories: Sequence[Path]) -> list[str]:
    """Return what directories are called, one name each; none when not given."""
    names = [] if given is None else option_values.words(given)
    if given is not None and len(names) != len(directories):
        raise option_values.wrong(
            f"--names {' '.join(names)}: {len(names)} names for {len(directories)} directories",
            "give a name to each, such as --names disk,memory",
        )
    return names


def io_threads(given: list[str] | None, quick: bool = False) -> list[int]:
    """Return numbers of threads that move data: they wait more than they compute, and may be more than cores."""
    if given is None:
        return [4] if quick else [1, 4]
    numbers = option_values.words(given)
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= 256]
    if bad or not numbers:
        raise option_values.wrong(
            f"--threads {' '.join(bad)}: not numbers of threads from 1 to 256", "use such as --threads 1,4"
        )
    return sorted({int(w) for w in numbers})


def _measure(
    wanted: measurement.Settings, founding: bool, how: str, file: Path | None, as_json: bool
) -> None:
    """Measure, print the tables, and add the rows to machine.json."""
    path = prepared(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(wanted, say=progress)
    texts = list(tables(result.rows, how))
    if founding and how != "csv":
        texts += storage_rows.founding_tables(result.rows, how)
    show(out, result, texts, how)
    finish(out, result, path, "storage", measurement.for_machine(result, wanted))


def _unadvised(ranks: int, known: bool) -> None:
    """Refuse options of `--advise` without it."""
    for option, there in {"--ranks": ranks != 1, "--known": known}.items():
        if there:
            raise option_values.wrong(
                f"{option} belongs to --advise", "name a job with --advise, or leave it out"
            )


def _advise(given: StorageOptions, job_file: Path, how: str, file: Path | None, as_json: bool) -> None:
    """Measure puts and gets unless they are known, and rank the directories for the checkpoints of a job."""
    wanted, path = settings(given), prepared(file, how)
    job = job_of(job_file)
    out = Out(as_json)
    texts: list[str] = []
    result = None
    if given.known:
        for place in wanted.directories:
            refuse(place, 0, "")
    else:
        wanted = replace(wanted, quick=True)
        with results_lost_on_stop():
            result = measurement.measure(wanted, say=progress)
        machine.save(path, "storage", measurement.for_machine(result, wanted))
        texts += [] if how == "csv" else tables(result.rows, how)
    advice = advice_of(job, wanted.directories, given.ranks, path)
    texts += lines(advice, how)
    if result is not None:
        show(out, result, texts, how)
        out.json(result.to_dict() | {"advice": advice.to_dict(), "machine_file": str(path)})
        return
    for i, text in enumerate(texts):
        if i and how != "csv":
            out.say()
        out.say(text)
    out.json({"advice": advice.to_dict(), "machine_file": str(path)})
