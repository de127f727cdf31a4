"""What the sub-commands of `lab` do: read the lists, measure, print, and add to machine.json."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from subsalt.cli.output import Out, plain, printable
from subsalt.errors import DiskError, SubsaltError
from subsalt.io.publish import publish_text
from subsalt.kernels import requires_gpu
from subsalt.machine import machine_file as machine
from subsalt.report.table import FORMATS
from subsalt_lab import asked
from subsalt_lab.result import Result

#: devices that are measured
MEASURED = ("cpu", "cuda")

#: more copies than this are a slip of the pen
MOST_COPIES = 4096


def memory(
    threads: list[str] | None,
    isa: list[str] | None,
    rounds: int | None,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure memory and multiply-adds."""
    from subsalt.report.table import render
    from subsalt_lab import memory as measurement

    path = prepared(file, how)
    settings = measurement.Settings(asked.threads(threads), asked.instruction_sets(isa), rounds or 9)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(settings, say=progress)
    show(out, result, [render(result.rows, measurement.COLUMNS, how)], how)
    finish(out, result, path, "memory", measurement.for_machine(result))


def kernels(
    medium: list[str] | None,
    order: list[str] | None,
    isa: list[str] | None,
    threads: list[str] | None,
    storage: list[str] | None,
    n: int,
    rounds: int | None,
    quick: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure the kernels."""
    from subsalt.machine.operations import cost
    from subsalt_lab import kernel_tables
    from subsalt_lab import kernels as measurement

    path = prepared(file, how)
    counts = asked.threads(threads)
    media = asked.choices("--medium", medium, measurement.MEASURED, measurement.MEASURED)
    storages = asked.choices(
        "--storage", storage, measurement.STORAGES, ("f32",) if quick else measurement.STORAGES
    )
    if (
        storage is not None
        and "u16" in storages
        and all(m not in measurement.MEDIA or cost(m).packed is None for m in media)
    ):
        raise asked.wrong(
            f"--storage u16: {' and '.join(media)} has no 16-bit models",
            "leave --storage out, or choose another --medium",
        )
    settings = measurement.Settings(
        media,
        asked.numbers("--order", order, measurement.ORDERS, (8,) if quick else measurement.ORDERS),
        asked.instruction_sets(isa),
        counts[-1:] if quick and threads is None else counts,
        storages,
        asked.points(n),
        rounds or (3 if quick else 7),
    )
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(settings, say=progress)
    show(out, result, kernel_tables.tables(result.rows, how), how)
    finish(out, result, path, "kernels", measurement.for_machine(result))


def copies(
    counts: list[str],
    medium: list[str] | None,
    order: list[str] | None,
    isa: list[str] | None,
    threads: list[str] | None,
    storage: list[str] | None,
    n: int,
    rounds: int | None,
    quick: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure independent copies of the kernels."""
    from subsalt_lab import copies as measurement
    from subsalt_lab.kernels import MEDIA, ORDERS

    path = prepared(file, how)
    if storage is not None and asked.words(storage) != ["f32"]:
        raise asked.wrong(f"--storage {' '.join(storage)}: copies have float32 models", "leave it out")
    each = asked.threads(threads) if threads is not None else [1]
    if len(each) > 1:
        raise asked.wrong(
            f"--threads {','.join(map(str, each))}: copies have one number of threads each",
            "such as --threads 1",
        )
    settings = measurement.Settings(
        asked.choices("--medium", medium, MEDIA, ("isotropic", "vti", "tti")),
        asked.numbers("--order", order, ORDERS, (8,)),
        asked.instruction_sets(isa),
        _counts_of_copies(counts),
        each[0],
        asked.points(n),
        rounds or (3 if quick else 5),
        0.5 if quick else 1.0,
    )
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(settings, say=progress)
    show(out, result, measurement.tables(result.rows, how), how)
    finish(out, result, path, "copies", measurement.for_machine(result))


def _counts_of_copies(given: list[str]) -> list[int]:
    found = asked.words(given)
    bad = [w for w in found if not w.isdecimal() or not 1 <= int(w) <= MOST_COPIES]
    if bad or not found:
        raise asked.wrong(
            f"--copies {' '.join(bad) or 'is empty'}: not numbers of copies from 1",
            "use such as --copies 2, or 1,2,4",
        )
    return sorted({int(w) for w in found})


def device_memory(
    unused: Mapping[str, object],
    rounds: int | None,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure the memory of the GPU, its link to the host, and launches."""
    from subsalt.report.table import render
    from subsalt_lab import device_memory as measurement

    _refuse_on_gpu(unused)
    path = prepared(file, how)
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(measurement.Settings(rounds or 9), say=progress)
    show(out, result, [render(result.rows, measurement.COLUMNS, how)], how)
    finish(out, result, path, "device", measurement.for_machine(result))


def on_gpu(device: str) -> bool:
    """Return whether `device`, one of `MEASURED`, is the GPU; refuse others."""
    if device not in MEASURED:
        raise asked.wrong(f"--device {device}: not known", f"choose from {', '.join(MEASURED)}")
    return requires_gpu(device)


def _refuse_on_gpu(unused: Mapping[str, object]) -> None:
    """Refuse options that say something of the processor."""
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise asked.wrong(
            f"{' and '.join(given)} with --device cuda", "they belong to the processor: leave them out"
        )


def device_kernels(
    unused: Mapping[str, object],
    medium: list[str] | None,
    order: list[str] | None,
    storage: list[str] | None,
    n: int,
    rounds: int | None,
    quick: bool,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure the kernels on the GPU."""
    from subsalt.report.table import render
    from subsalt_lab import device_kernels as measurement
    from subsalt_lab.kernels import MEDIA, ORDERS, STORAGES

    _refuse_on_gpu(unused)
    if n < measurement.SMALLEST:
        raise asked.wrong(f"-n {n}: two layers and a core need more", f"use {measurement.SMALLEST} or more")
    path = prepared(file, how)
    settings = measurement.Settings(
        asked.choices("--medium", medium, MEDIA, MEDIA),
        asked.numbers("--order", order, ORDERS, (8,) if quick else ORDERS),
        asked.choices("--storage", storage, STORAGES, ("f32",) if quick else STORAGES),
        n,
        rounds or (3 if quick else 7),
    )
    out = Out(as_json)
    with results_lost_on_stop():
        result = measurement.measure(settings, say=progress)
    show(out, result, [render(result.rows, measurement.COLUMNS, how)], how)
    finish(out, result, path, "device_kernels", measurement.for_machine(result))


def prepared(file: Path | None, how: str) -> Path:
    """Return the machine.json to be written, after everything that can go wrong with it was looked at."""
    if how not in FORMATS:
        raise asked.wrong(f"--table {how}: not known", f"choose from {', '.join(FORMATS)}")
    path = file if file is not None else machine.default_path()
    machine.prepare(path)
    return path


def possible(file: Path | None, how: str, option: str = "--out") -> None:
    """Refuse a kind of table or a file for the result that cannot be, before anything is measured."""
    if how not in FORMATS:
        raise asked.wrong(f"--table {how}: not known", f"choose from {', '.join(FORMATS)}")
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


def finish(out: Out, result: Result, path: Path, section: str, rows: list[dict[str, Any]]) -> None:
    """Add the rows to machine.json and print the result for programs."""
    left_out = machine.save(path, section, rows)
    if out.as_json:
        out.json(result.to_dict() | {"machine_file": str(path)})
    kept = f" ({left_out} quiet rows in it were kept)" if left_out else ""
    print(f"machine   {printable(str(path))}{kept}", file=sys.stderr, flush=True)
