"""Kernels by device: modules with the same functions; the formulas are in `subsalt.kernels.reference`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

from subsalt.errors import ConfigError, DeviceError
from subsalt.host import gpus_of_driver
from subsalt.kernels.device import Device

if TYPE_CHECKING:
    from subsalt.kernels import cpu, cuda, reference

    #: modules that a type checker compares with the protocol
    _devices: tuple[Device, ...] = (cpu, cuda, reference)

#: the device that is the GPU where there is one
AUTO = "auto"

#: threads per core that are still computed with, however slowly, and threads that any machine bears
MOST_THREADS, FREE_THREADS = 4, 8

DEVICES = {
    "cpu": "subsalt.kernels.cpu",
    "cuda": "subsalt.kernels.cuda",
    "reference": "subsalt.kernels.reference",
}


@dataclass(frozen=True)
class Chosen:
    """The device that computes for a requested one.

    Parameters
    ----------
    name : str
        A key of `DEVICES`.
    note : str
        Why it is not the GPU although this machine shows signs of one, in one line; else empty.
    fix : str
        How to correct that.
    """

    name: str
    note: str = ""
    fix: str = ""


#: what "auto" is in this process where that was agreed on with others (`decide`)
_decided: list[Chosen] = []


def chosen(device: str) -> Chosen:
    """Return which device computes: `device` itself, or for ``"auto"`` the GPU when there is one, else the processor.

    Raises
    ------
    ConfigError
        When there is no such device.
    DeviceError
        When the job names a GPU that cannot be used (E980 to E983).
    """
    if device not in (AUTO, *DEVICES):
        raise ConfigError(
            f"device {device!r} is not one of {', '.join((AUTO, *DEVICES))}", "use auto", "E701"
        )
    if device == AUTO:
        return _decided[0] if _decided else _selected()
    if requires_gpu(device):
        from subsalt.kernels import cuda_library

        cuda_library.chosen()
    return Chosen(device)


def decide(choice: Chosen | None) -> None:
    """Fix what ``"auto"`` is in this process from now on; None: what is found here."""
    _decided[:] = [] if choice is None else [choice]


def is_gpu(device: str) -> bool:
    """Return whether a device is the GPU: by its name, or as what ``"auto"`` is in this process."""
    return requires_gpu(device) or chosen(device).name == "cuda"


def is_cpu(device: str) -> bool:
    """Return whether the compiled kernels of the processor compute; raises as `chosen`."""
    return chosen(device).name == "cpu"


def requires_gpu(device: str) -> bool:
    """Return whether the job names GPUs: without one nothing can be computed."""
    return device == "cuda"


def may_use_gpu(device: str) -> bool:
    """Return whether a GPU computes if there is one."""
    return device == AUTO or requires_gpu(device)


def is_compiled(device: str) -> bool:
    """Return whether compiled kernels compute, in float32; those of the reference also know float64."""
    return device != "reference"


def _selected() -> Chosen:
    """Return the GPU when there is one that can be used, else the processor and what is to be said of it."""
    from subsalt.kernels import cuda_library

    available = cuda_library.availability()
    if available.devices:
        # an emulated device is there for tests, which ask for it by name
        return Chosen("cpu" if available.emulated else "cuda")
    if cuda_library.switched_off():
        return Chosen("cpu")
    if available.plugin:
        return Chosen("cpu", available.why, available.fix)
    names = gpus_of_driver()
    return Chosen("cpu", f"{', '.join(names)}: {available.why}", available.fix) if names else Chosen("cpu")


def get(device: str = "cpu") -> Device:
    """Return the kernels of a device (`chosen`): ``"cpu"`` and ``"cuda"`` in float32, ``"reference"`` in NumPy."""
    return cast(Device, import_module(DEVICES[chosen(device).name]))


def label(facts: Mapping[str, object]) -> str:
    """Return in words what computes, from what its kernels `describe`: a GPU by its name, else the instruction set."""
    return str(facts.get("name") or f"{facts['device']} {facts['isa']}")


def prepare(device: str, threads: int | None) -> Device:
    """Return the kernels of a device, set to `threads` threads; None: OMP_NUM_THREADS, or all processors."""
    module = get(device)
    module.set_threads(threads_to_use(threads))
    return module


def prepare_or_warn(device: str, threads: int | None) -> Device:
    """Do `prepare` for a caller of functions, with the warning that a GPU is not used (W980), which no check prints."""
    choice = chosen(device)
    if choice.note:
        warnings.warn(f"no GPU is used: {choice.note}; {choice.fix}", stacklevel=3)
    return prepare(device, threads)


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
    setting = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    env = int(setting) if setting.isdigit() else 0
    wanted, here = threads or env or cores(), cores()
    if wanted > max(FREE_THREADS, MOST_THREADS * here):
        where = "threads" if threads else "OMP_NUM_THREADS"
        raise DeviceError(
            f"{where} = {wanted}, but this process may use {here} core{'s' * (here != 1)}",
            f"use at most {here}, or leave it out",
            code="E703",
        )
    return wanted
