"""`subsalt lab memory` and `subsalt lab kernels`: memory and kernels of the processor, of copies, or of a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated, Any

import typer

from subsalt.cli.output import spread
from subsalt.kernels import requires_gpu
from subsalt.methods.rtm.speed import bytes_of, cost
from subsalt.numerics.stencil import radius_of
from subsalt.report.table import Column, render
from subsalt_lab import option_values
from subsalt_lab.cli.commands import measured
from subsalt_lab.cli.lab import ForMachine, command

#: devices that are measured
MEASURED = ("cpu", "cuda")
#: more copies than this are a slip of the pen
MOST_COPIES = 4096

Threads = Annotated[
    list[str] | None,
    typer.Option(metavar="LIST", help="Numbers of threads, such as 1,2.", show_default="1 and all cores"),
]
Isa = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIST", help="Instruction sets, such as v3,v4, or all.", show_default="the one in use"
    ),
]


@dataclass(frozen=True)
class MemoryOptions:
    """Options of `subsalt lab memory`."""

    threads: Threads = None
    isa: Isa = None
    rounds: Annotated[
        int | None,
        typer.Option(min=3, max=1000, help="Measurements of each case.", show_default="9"),
    ] = None
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Device: cpu, or cuda (memory of the GPU, its link to the host, and launch times).",
        ),
    ] = "cpu"


@command(
    "Measure memory bandwidth and arithmetic rate.",
    "subsalt lab memory --threads 1,2 --isa all",
    "subsalt lab memory --device cuda",
)
@spread
def memory(given: MemoryOptions, where: ForMachine) -> None:
    """Measure the bandwidth of memory (update in place, triad, copy) and the rate of multiply-adds."""
    rounds = given.rounds or 9
    if _on_gpu(given.device):
        from subsalt_lab import device_memory

        _refuse_on_gpu({"--isa": given.isa, "--threads": given.threads})
        measured("device", device_memory, device_memory.Settings(rounds), where)
        return
    from subsalt_lab import memory as measurement

    settings = measurement.Settings(
        option_values.threads(given.threads), option_values.instruction_sets(given.isa), rounds
    )
    measured("memory", measurement, settings, where)


@dataclass(frozen=True)
class KernelOptions:
    """Options of `subsalt lab kernels`."""

    medium: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="Media: isotropic, vti, tti, or kirchhoff.", show_default="all"),
    ] = None
    order: Annotated[
        list[str] | None, typer.Option(metavar="LIST", help="Orders in space: 4 or 8.", show_default="both")
    ] = None
    isa: Isa = None
    threads: Threads = None
    storage: Annotated[
        list[str] | None,
        typer.Option(metavar="LIST", help="Storage of model arrays: f32 or u16.", show_default="both"),
    ] = None
    n: Annotated[
        int | None,
        typer.Option(
            "-n", help="Grid points along each axis, with absorbing layers.", show_default="256, on a GPU 512"
        ),
    ] = None
    rounds: Annotated[
        int | None,
        typer.Option(
            min=3,
            max=1000,
            help="Measurements of each case.",
            show_default="7, with --copies 5, with --quick 3",
        ),
    ] = None
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Measure only order 8 and float32 on all cores, 3 times: half a minute."
        ),
    ] = False
    device: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Device: cpu, or cuda (rates as shares of the copy bandwidth of the GPU)."
        ),
    ] = "cpu"
    copies: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Measure the throughput of this many independent programs at the same time, such as 1,2,4.",
        ),
    ] = None


@command(
    "Measure the rate of every kernel.",
    "subsalt lab kernels --quick",
    "subsalt lab kernels --medium vti --order 8 --isa v3,v4",
    "subsalt lab kernels --copies 2 --medium vti",
    "subsalt lab kernels --device cuda",
)
@spread
def kernels(given: KernelOptions, where: ForMachine) -> None:
    """Measure the rate of every kernel: grid points times time steps per second, and its share of the limits.

    The limits of the machine (memory bandwidth and arithmetic) are measured in the same run.
    """
    if _on_gpu(given.device):
        _refuse_on_gpu({"--isa": given.isa, "--threads": given.threads, "--copies": given.copies})
        _on_device(given, where)
    elif given.copies is not None:
        _of_copies(given, given.copies, where)
    else:
        _on_processor(given, where)


def _on_processor(given: KernelOptions, where: ForMachine) -> None:
    from subsalt.methods.rtm.speed import cost
    from subsalt_lab import kernels as measurement

    counts = option_values.threads(given.threads)
    media = option_values.choices("--medium", given.medium, measurement.MEASURED, measurement.MEASURED)
    storages = option_values.choices(
        "--storage", given.storage, measurement.STORAGES, ("f32",) if given.quick else measurement.STORAGES
    )
    if (
        given.storage is not None
        and "u16" in storages
        and all(m not in measurement.MEDIA or cost(m).packed is None for m in media)
    ):
        raise option_values.wrong(
            f"--storage u16: {' and '.join(media)} has no 16-bit models",
            "leave --storage out, or choose another --medium",
        )
    settings = measurement.Settings(
        media,
        option_values.numbers(
            "--order", given.order, measurement.ORDERS, (8,) if given.quick else measurement.ORDERS
        ),
        option_values.instruction_sets(given.isa),
        counts[-1:] if given.quick and given.threads is None else counts,
        storages,
        option_values.points(given.n or 256),
        given.rounds or (3 if given.quick else 7),
    )
    measured("kernels", measurement, settings, where, tables)


def _of_copies(given: KernelOptions, copies: list[str], where: ForMachine) -> None:
    """Measure independent copies of the kernels."""
    from subsalt_lab import copies as measurement
    from subsalt_lab.kernels import MEDIA, ORDERS

    if given.storage is not None and option_values.words(given.storage) != ["f32"]:
        raise option_values.wrong(
            f"--storage {' '.join(given.storage)}: copies have float32 models", "leave it out"
        )
    each = option_values.threads(given.threads) if given.threads is not None else [1]
    if len(each) > 1:
        raise option_values.wrong(
            f"--threads {','.join(map(str, each))}: copies have one number of threads each",
            "such as --threads 1",
        )
    settings = measurement.Settings(
        option_values.choices("--medium", given.medium, MEDIA, ("isotropic", "vti", "tti")),
        option_values.numbers("--order", given.order, ORDERS, (8,)),
        option_values.instruction_sets(given.isa),
        _counts_of_copies(copies),
        each[0],
        option_values.points(given.n or 256),
        given.rounds or (3 if given.quick else 5),
        0.5 if given.quick else 1.0,
    )
    measured("copies", measurement, settings, where, measurement.tables)


def _counts_of_copies(given: list[str]) -> list[int]:
    numbers = option_values.words(given)
    bad = [w for w in numbers if not w.isdecimal() or not 1 <= int(w) <= MOST_COPIES]
    if bad or not numbers:
        raise option_values.wrong(
            f"--copies {' '.join(bad) or 'is empty'}: not numbers of copies from 1",
            "use such as --copies 2, or 1,2,4",
        )
    return sorted({int(w) for w in numbers})


def _on_device(given: KernelOptions, where: ForMachine) -> None:
    """Measure the kernels on the GPU."""
    from subsalt_lab import device_kernels as measurement
    from subsalt_lab.kernels import MEDIA, ORDERS, STORAGES

    n = given.n or 512
    if n < measurement.SMALLEST:
        raise option_values.wrong(
            f"-n {n}: two layers and a core need more", f"use {measurement.SMALLEST} or more"
        )
    settings = measurement.Settings(
        option_values.choices("--medium", given.medium, MEDIA, MEDIA),
        option_values.numbers("--order", given.order, ORDERS, (8,) if given.quick else ORDERS),
        option_values.choices("--storage", given.storage, STORAGES, ("f32",) if given.quick else STORAGES),
        n,
        given.rounds or (3 if given.quick else 7),
    )
    measured("device_kernels", measurement, settings, where)


def _on_gpu(device: str) -> bool:
    """Return whether `device`, one of `MEASURED`, is the GPU; refuse others."""
    if device not in MEASURED:
        raise option_values.wrong(f"--device {device}: not known", f"choose from {', '.join(MEASURED)}")
    return requires_gpu(device)


def _refuse_on_gpu(unused: Mapping[str, object]) -> None:
    """Refuse options that say something of the processor."""
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise option_values.wrong(
            f"{' and '.join(given)} with --device cuda", "they belong to the processor: leave them out"
        )


COLUMNS = (
    Column("case", ""),
    Column("points_per_s", "Gpt-steps/s", ".3f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("interior_points_per_s", "interior", ".3f", 1e-9),
    Column("x_plain", "x plain", ".2f"),
    Column("x_f32", "x f32", ".2f"),
    Column("of_roof", "% of roof", ".0f", 100),
    Column("of_multiply_add", "% of FMA", ".0f", 100),
    Column("core_steps", "core steps", ".3f"),
    Column("layer_extra", "layer extra", "+.3f"),
)
SUM_COLUMNS = (
    Column("case", ""),
    Column("contributions_per_s", "Gcontrib/s", ".2f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("of_plainest", "x linear", ".2f"),
)
#: columns that say which table a row belongs to, for CSV
IDENTITY = ("medium", "order", "isa", "threads", "n", "model_storage")

Row = Mapping[str, Any]


def _table_of(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(k) for k in IDENTITY)


def heading(rows: Sequence[Row]) -> str:
    """Return the line above the rows of one table: what ran, and what the machine gave meanwhile."""
    first = rows[0]
    moved = bytes_of(first["medium"], first["model_storage"])
    operations = cost(first["medium"]).operations(radius_of(first["order"]))
    adds = next(r["gflop_s"] for r in rows if "gflop_s" in r)
    memory = next(r["roof_gb_s"] for r in rows if "roof_gb_s" in r)
    threads = f"{first['threads']} thread{'s' * (first['threads'] != 1)}"
    storage = "" if first["model_storage"] == "f32" else f", models {first['model_storage']}"
    return (
        f"{first['medium']}, order {first['order']}, {first['n']}^3 points{storage}, {first['isa']}, {threads}: "
        f"{moved} B and {operations} operations per point; "
        f"roof at {memory:.1f} GB/s, multiply-adds at {adds:.0f} GFLOP/s"
    )


def sum_heading(row: Row) -> str:
    """Return the line above the rows of the sum of Kirchhoff migration."""
    threads = f"{row['threads']} thread{'s' * (row['threads'] != 1)}"
    return f"sum of Kirchhoff migration, traces of {row['n']} samples, {row['isa']}, {threads}"


def tables(rows: Sequence[Row], how: str = "text") -> Iterator[str]:
    """Yield one table per medium, order, instruction set and number of threads; one for all as CSV.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of the result.
    how : str
        ``"text"``, ``"markdown"`` or ``"csv"``.
    """
    if how == "csv":
        sums = [Column("contributions_per_s", "")] if any(r["kind"] == "sum" for r in rows) else []
        yield render(rows, [*(Column(k, k) for k in IDENTITY), *COLUMNS, Column("roof_gb_s", ""), *sums], how)
        return
    for _, group in groupby(rows, key=_table_of):
        mine = list(group)
        shown = [r for r in mine if r["case"] != "multiply-add"]
        sums = mine[0]["kind"] == "sum"
        title, table = (
            (sum_heading(mine[0]), render(shown, SUM_COLUMNS, how))
            if sums
            else (heading(mine), render(shown, COLUMNS, how))
        )
        yield f"{title}\n{table}" if how == "text" else f"**{title}**\n\n{table}"
