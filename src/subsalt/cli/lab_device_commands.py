"""What `subsalt lab kernels --device cuda` does: read the options, measure, print, and add to machine.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from subsalt.cli.lab_commands import finish, nothing_kept, prepared, progress, show
from subsalt.cli.output import Out
from subsalt.lab import asked
from subsalt.lab.kernels import MEDIA, ORDERS, STORAGES


def kernels(
    device: str,
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
    from subsalt.lab import device_kernels as measurement
    from subsalt.lab.table import render

    if device != "cuda":
        raise asked.wrong(f"--device {device}: not known", "choose from cpu, cuda")
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise asked.wrong(
            f"{' and '.join(given)} with --device cuda", "they belong to the processor: leave them out"
        )
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
    with nothing_kept():
        result = measurement.measure(settings, say=progress)
    show(out, result, [render(result.rows, measurement.COLUMNS, how)], how)
    finish(out, result, path, "device_kernels", measurement.for_machine(result))
