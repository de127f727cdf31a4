"""The options of `subsalt lab storage`. What it does is in `lab_storage_commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from subsalt_lab.cli.lab import Json, MachineFile, Table, lab

Directories = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="DIR",
        help="Where files are made: the file systems to be measured; this folder by default.",
        readable=False,
    ),
]
IoThreads = Annotated[
    list[str] | None,
    typer.Option("--threads", help="Numbers of threads that put and get, such as 1,4; both by default."),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--names", help="What the directories are called in the tables, such as disk,memory."),
]
Direct = Annotated[
    bool | None,
    typer.Option("--direct/--buffered", help="Past the page cache, or through it; both when left out."),
]


@lab.command(
    short_help="What a directory takes and gives.",
    epilog="Example: subsalt lab storage . --quick; subsalt lab storage /scratch /home/me --size 8GB --threads 1,4,16; "
    "subsalt lab storage /scratch /home/me --advise job.toml",
)
def storage(
    directories: Directories = None,
    size: Annotated[str, typer.Option(help="Put and got for one figure.")] = "1GB",
    record: Annotated[str, typer.Option(help="A snapshot.")] = "32MiB",
    threads: IoThreads = None,
    direct: Direct = None,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Samples of put and get.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="Put and get alone, 256 MB, one sample: seconds.")
    ] = False,
    names: Names = None,
    engine: Annotated[
        str,
        typer.Option(
            help="What makes the transfers: fio, own (threads of this program), both; auto: fio if there."
        ),
    ] = "auto",
    streams: Annotated[
        list[str] | None,
        typer.Option(
            "--streams", help="Threads that write one file, 1,2,4,8,16 when left out; 0 leaves that test out."
        ),
    ] = None,
    sustained: Annotated[
        float, typer.Option(min=0, help="Seconds of 4 KiB writes that go on, at best 180 or more; 0: none.")
    ] = 0.0,
    founding: Annotated[
        bool,
        typer.Option("--founding", help="Add the tables of founding document 004 with these directories."),
    ] = False,
    advise: Annotated[
        Path | None,
        typer.Option(
            readable=False,
            help="Job whose checkpoints need a directory: puts and gets are measured, the "
            "directories ranked.",
        ),
    ] = None,
    ranks: Annotated[int, typer.Option(min=1, help="With --advise: ranks of the run on this node.")] = 1,
    known: Annotated[
        bool, typer.Option("--known", help="With --advise: measure nothing, take the rates in machine.json.")
    ] = False,
    table: Table = "text",
    out: MachineFile = None,
    json: Json = False,
) -> None:
    """Measure put and get of snapshots, transfers of every size by fio, and one stream against many.

    With --advise, rank directories for the checkpoints of a job.
    """
    from subsalt_lab.cli import storage_commands as lab_storage_commands

    wanted = lab_storage_commands.settings(
        directories, size, record, threads, direct, repeats, quick, names, engine, streams, sustained
    )
    if advise is not None:
        lab_storage_commands.advise(wanted, advise, ranks, known, table, out, json)
    else:
        lab_storage_commands.unadvised(ranks, known)
        lab_storage_commands.storage(wanted, founding, table, out, json)
