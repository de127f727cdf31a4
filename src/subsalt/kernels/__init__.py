"""Kernels by device: modules with the same functions; the formulas are in `subsalt.kernels.reference`."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from subsalt.errors import ConfigError

DEVICES = {"cpu": "subsalt.kernels.cpu", "reference": "subsalt.kernels.reference"}


def get(device: str = "cpu") -> ModuleType:
    """Return the kernels of a device: ``"cpu"`` (compiled, float32) or ``"reference"`` (NumPy)."""
    if device not in DEVICES:
        raise ConfigError(f"device {device!r} is not one of {', '.join(DEVICES)}", "use cpu", code="E701")
    return import_module(DEVICES[device])


def prepare(device: str, threads: int | None) -> ModuleType:
    """Return the kernels of a device, set to `threads` threads; None: OMP_NUM_THREADS, or all processors."""
    module = get(device)
    # a list gives the threads of nested regions; the outer one is ours
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    module.set_threads(
        threads or (int(asked) if asked.isdigit() and int(asked) > 0 else len(os.sched_getaffinity(0)))
    )
    return module
