"""Kernels by device: modules with the same functions; the formulas are in `subsalt.kernels.reference`."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from subsalt.errors import ConfigError, DeviceError

#: threads per core that are still computed with, however slowly, and threads that any machine bears
MOST_THREADS, FREE_THREADS = 4, 8

DEVICES = {
    "cpu": "subsalt.kernels.cpu",
    "cuda": "subsalt.kernels.cuda",
    "reference": "subsalt.kernels.reference",
}


def get(device: str = "cpu") -> ModuleType:
    """Return the kernels of a device: ``"cpu"`` (compiled), ``"cuda"`` (both float32) or ``"reference"`` (NumPy)."""
    if device not in DEVICES:
        raise ConfigError(f"device {device!r} is not one of {', '.join(DEVICES)}", "use cpu", code="E701")
    return import_module(DEVICES[device])


def prepare(device: str, threads: int | None) -> ModuleType:
    """Return the kernels of a device, set to `threads` threads; None: OMP_NUM_THREADS, or all processors."""
    module = get(device)
    module.set_threads(threads_to_use(threads))
    return module


def cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def threads_to_use(threads: int | None = None) -> int:
    """Return the number of threads to compute with: `threads`, else OMP_NUM_THREADS, else one per core.

    Raises
    ------
    DeviceError
        When it is absurd: more than `MOST_THREADS` per core.
    """
    # a list gives the threads of nested regions; the outer one is ours
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    env = int(asked) if asked.isdigit() else 0
    found, here = threads or env or cores(), cores()
    if found > max(FREE_THREADS, MOST_THREADS * here):
        where = "threads" if threads else "OMP_NUM_THREADS"
        raise DeviceError(
            f"{where} = {found}, but this process may use {here} core{'s' * (here != 1)}",
            f"use at most {here}, or leave it out",
            code="E703",
        )
    return found
