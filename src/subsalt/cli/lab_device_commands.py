"""`subsalt lab kernels` and `lab memory` with ``--device cuda``: read the options, measure, add to machine.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from subsalt.cli.lab_commands import finish, nothing_kept, prepared, progress, show
from subsalt.cli.output import Out
from subsalt.lab import asked
from subsalt.lab.kernels import MEDIA, ORDERS, STORAGES


def memory(
    device: str,
    unused: Mapping[str, object],
    rounds: int | None,
    how: str,
    file: Path | None,
    as_json: bool,
) -> None:
    """Measure the memory of the GPU, its link to the host, and launches."""
    from subsalt.lab import device_memory as measurement
    from subsalt.lab.table import render

    _refuse(device, unused)
    path = prepared(file, how)
    out = Out(as_json)
    with nothing_kept():
        result = measurement.measure(measurement.Settings(rounds or 9), say=progress)
    show(out, result, [render(result.rows, measurement.COLUMNS, how)], how)
    finish(out, result, path, "device", measurement.for_machine(result))


def _refuse(device: str, unused: Mapping[str, object]) -> None:
    """Refuse another device, and options that say something of the processor."""
    if device != "cuda":
        raise asked.wrong(f"--device {device}: not known", "choose from cpu, cuda")
    given = [name for name, value in unused.items() if value is not None]
    if given:
        raise asked.wrong(
            f"{' and '.join(given)} with --device cuda", "they belong to the processor: leave them out"
        )


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

    _refuse(device, unused)
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
