"""The CUDA plug-in: its place, whether it can be used, its calls and their errors.

It is a shared library with a plain C interface (``native/cuda/api.h``), loaded at the first use. A machine without it,
without a driver or without a GPU counts as one without GPU; `availability` returns the reason.

`copies` measures the rates of a GPU and of its link to the host, between events on its stream.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from threading import Lock, Thread
from typing import Any, Literal

from subsalt.errors import DeviceError, SubsaltError
from subsalt.extensions import CUDA_PLUGIN, extensions

#: version of api.h
ABI = 4

#: error numbers of CUDA that mean: too little memory; a driver older than the plug-in's CUDA; no device
OUT_OF_MEMORY, OLD_DRIVER, NO_DEVICE = 2, 35, 100

#: number of the plug-in: page-locked memory of the host cannot be had
NO_LOCKED_MEMORY = 10001

#: error numbers of CUDA that mean that the GPU was taken away or has broken down: devices unavailable, none, no or a
#: destroyed context, uncorrectable errors of memory and link and what contained them, the system, its driver and its
#: daemon for shared GPUs, a device outside, and what has no name
LOST = frozenset({46, 100, 201, 709, 214, 220, 226, 304, 802, 803, 805, 806, 807, 810, 911, 999})

PLUGIN = "libsubsalt_cuda.so"

_BUILD = "build it with make cuda or install its wheel, subsalt-cuda; or use device = cpu"


@dataclass(frozen=True)
class Gpu:
    """One GPU.

    Parameters
    ----------
    number : int
        Number of the GPU in this process.
    name : str
        Name from the driver.
    memory : int
        Bytes.
    capability : tuple of int
        Compute capability, such as (9, 0).
    processors : int
        Multiprocessors.
    bus : str
        Address on the PCI bus and beginning of the UUID: the same in every process of a node, and another for each
        part of a GPU that was divided (MIG).
    """

    number: int
    name: str
    memory: int
    capability: tuple[int, int]
    processors: int
    bus: str


@dataclass(frozen=True)
class Availability:
    """The GPUs that this process can compute on, or why there are none.

    Parameters
    ----------
    devices : tuple of Gpu
        The GPUs of this process; none when they cannot be used.
    why : str
        Why there are none, in one line; empty when there are.
    fix : str
        How to correct that.
    code : str
        Code of the error that a request for a GPU raises.
    emulated : bool
        Whether the plug-in is the emulator for tests, not a GPU.
    driver, runtime : str
        Versions of CUDA, such as ``"13.0"``; empty when not known.
    plugin : str
        Path of the plug-in; empty when there is none.
    """

    devices: tuple[Gpu, ...] = ()
    why: str = ""
    fix: str = ""
    code: str = ""
    emulated: bool = False
    driver: str = ""
    runtime: str = ""
    plugin: str = ""


class _Facts(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 128),
        ("memory", ctypes.c_int64),
        ("major", ctypes.c_int32),
        ("minor", ctypes.c_int32),
        ("processors", ctypes.c_int32),
        ("integrated", ctypes.c_int32),
        ("bus", ctypes.c_char * 32),
    ]


class _Settings:
    """The GPU that this process uses: chosen once, before anything is allocated."""

    number = 0
    in_use: Any = None
    opening: Thread | None = None
    lock = Lock()


def forget() -> None:
    """Look for the plug-in again at the next use; for tests."""
    if _Settings.opening is not None:
        _Settings.opening.join()
    availability.cache_clear()
    extensions.cache_clear()
    _Settings.in_use = _Settings.opening = None


def plugin_path() -> Path | None:
    """Return where the plug-in is; None: nowhere, or switched off.

    SUBSALT_CUDA_PLUGIN names it; else it lies beside the package (`make cuda`), or in the distribution subsalt-cuda.
    """
    setting = os.environ.get("SUBSALT_CUDA_PLUGIN", "").strip()
    if switched_off():
        return None
    if setting:
        return Path(setting)
    from subsalt import _native  # installed where the compiled kernels are

    here = Path(_native.__file__ or "").parent / PLUGIN
    if here.is_file():
        return here
    return next((Path(path) for path in extensions(CUDA_PLUGIN).values()), None)


def switched_off() -> bool:
    """Return whether the user wants no GPU: SUBSALT_CUDA_PLUGIN is off."""
    return os.environ.get("SUBSALT_CUDA_PLUGIN", "").strip().lower() == "off"


@cache
def availability() -> Availability:
    """Return the GPUs of this process, or why there are none; raises nothing."""
    path = plugin_path()
    if path is None:
        why = "SUBSALT_CUDA_PLUGIN is off" if switched_off() else "the plug-in for GPUs is not built"
        return Availability(why=why, fix=_BUILD, code="E980")
    try:
        library = _load(path)
    except OSError as err:
        return Availability(
            why=f"the plug-in {path} cannot be loaded: {err}", fix=_BUILD, code="E980", plugin=str(path)
        )
    except SubsaltError as err:
        return Availability(why=err.message, fix=err.fix, code=err.code, plugin=str(path))
    driver, runtime, count = ctypes.c_int32(), ctypes.c_int32(), ctypes.c_int32()
    library.subsalt_cuda_versions(ctypes.byref(driver), ctypes.byref(runtime))
    facts: dict[str, Any] = {
        "emulated": bool(library.subsalt_cuda_emulated()),
        "driver": _version(driver.value),
        "runtime": _version(runtime.value),
        "plugin": str(path),
    }
    status = library.subsalt_cuda_count(ctypes.byref(count))
    if status == OLD_DRIVER and driver.value:
        why = f"the driver knows CUDA {facts['driver']}, the plug-in was built for {facts['runtime']}"
        return Availability(
            why=why, fix="update the driver, or build with the toolkit of that version", code="E982", **facts
        )
    if status or not count.value:
        why = _said(library) if status not in (0, OLD_DRIVER, NO_DEVICE) else "this machine has none"
        if status == OLD_DRIVER or (status == 0 and not driver.value):
            why = "this machine has no driver for GPUs"
        elif status == NO_DEVICE and os.environ.get("CUDA_VISIBLE_DEVICES") is not None:
            why = f"CUDA_VISIBLE_DEVICES = {os.environ['CUDA_VISIBLE_DEVICES']!r} leaves none"
        return Availability(why=why, fix="use device = cpu", code="E981", **facts)
    try:
        return Availability(devices=tuple(_gpu(library, i) for i in range(count.value)), **facts)
    except DeviceError as err:
        return Availability(why=err.message, fix="use device = cpu", code="E981", **facts)


def available() -> bool:
    """Return whether there is a GPU to compute on."""
    return bool(availability().devices)


def choose(number: int) -> None:
    """Let this process use GPU `number`, before it uses any."""
    if (_Settings.in_use or _Settings.opening) is not None and number != _Settings.number:
        raise DeviceError(
            f"this process uses GPU {_Settings.number} and is asked to use {number}", "start another process"
        )
    _Settings.number = number


def chosen() -> Gpu:
    """Return the GPU of this process.

    Raises
    ------
    DeviceError
        When there is none (E980 to E983).
    """
    here = availability()
    if not here.devices:
        raise DeviceError(f"device = cuda, but {here.why}", here.fix, code=here.code)
    if _Settings.number >= len(here.devices):
        raise DeviceError(
            f"GPU {_Settings.number} of {len(here.devices)}",
            "use device = cpu, or a GPU that is there",
            code="E981",
        )
    return here.devices[_Settings.number]


def library() -> Any:
    """Return the plug-in with its GPU in use; raises as `chosen`."""
    if _Settings.in_use is None:
        with _Settings.lock:
            if _Settings.in_use is None:
                number = chosen().number
                loaded = _load(Path(availability().plugin))
                check(loaded, loaded.subsalt_cuda_use(number))
                _Settings.in_use = loaded
    return _Settings.in_use


def begin() -> None:
    """Begin to use the chosen GPU in a thread: its driver takes about a second, in which the host may read the model.

    The first call that needs the GPU waits in `library`, which raises any error of the start.
    """

    def use() -> None:
        with suppress(SubsaltError):  # who needs the GPU tries again, and says what the driver says then
            library()

    if _Settings.in_use is None and _Settings.opening is None:
        # no daemon: a driver that is left half-way when the process ends may crash it
        _Settings.opening = Thread(target=use, name="gpu")
        _Settings.opening.start()


def free_memory() -> tuple[int, int]:
    """Return the bytes that are free on the GPU of this process, and those it has; makes the driver's context."""
    gc.collect()  # arrays of an earlier job that wait for it in cycles
    free, total = ctypes.c_int64(), ctypes.c_int64()
    call("subsalt_cuda_free_memory", ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def allocated() -> dict[str, int]:
    """Return the bytes that this process has on the GPU and page-locked on the host, and had at most."""
    counters = [ctypes.c_int64() for _ in range(4)]
    call("subsalt_cuda_allocated", *map(ctypes.byref, counters))
    return dict(zip(("device", "device_peak", "host", "host_peak"), (n.value for n in counters), strict=True))


def call(name: str, *arguments: Any) -> None:
    """Call a function of the plug-in; raise what it says."""
    lib = library()
    check(lib, getattr(lib, name)(*arguments))


def check(lib: Any, status: int) -> None:
    """Raise a DeviceError for the number that a call returned, unless it is 0."""
    if status == 0:
        return
    said = _said(lib)
    if status == OUT_OF_MEMORY:
        raise OutOfDeviceMemory(said, "end what else uses the GPU; subsalt plan says what fits", code="E988")
    if status == NO_LOCKED_MEMORY:
        raise OutOfLockedMemory(
            f"the host gives no more page-locked memory ({said})",
            'set [checkpoint] memory lower, or place = "disk" (time migration: [kirchhoff] memory), or use fewer ranks',
            code="E986",
        )
    if status in LOST:
        raise DeviceError(
            f"the GPU was lost ({said})",
            "a run resumes where it stood: start it again; subsalt doctor says whether the GPU is back",
            code="E984",
        )
    raise DeviceError(
        f"the GPU failed ({said})",
        "start again, with device = cpu if it fails again, and report it with this line",
        code="E985",
    )


class OutOfDeviceMemory(DeviceError, MemoryError):
    """The GPU has no more memory to give."""


class OutOfLockedMemory(DeviceError, MemoryError):
    """The host has no more memory that can be page-locked, from which a GPU copies while it computes."""


def _said(lib: Any) -> str:
    return str(lib.subsalt_cuda_message().decode())


@cache
def _load(path: Path) -> Any:
    """Return the plug-in, refused when it is of another version."""
    lib = ctypes.CDLL(str(path))
    from subsalt import __version__

    lib.subsalt_cuda_version.restype = ctypes.c_char_p
    lib.subsalt_cuda_message.restype = ctypes.c_char_p
    built, abi = lib.subsalt_cuda_version().decode(), lib.subsalt_cuda_abi()
    if abi != ABI or built != __version__:
        raise DeviceError(
            f"the plug-in {path} is of version {built} ({abi}), subsalt of {__version__} ({ABI})",
            "build it again with make cuda, or install subsalt-cuda of this version",
            code="E983",
        )
    for name, types in SIGNATURES.items():
        getattr(lib, name).argtypes = types
    return lib


def _gpu(lib: Any, number: int) -> Gpu:
    facts = _Facts()
    check(lib, lib.subsalt_cuda_facts(number, ctypes.byref(facts)))
    return Gpu(
        number,
        facts.name.decode(errors="replace"),
        facts.memory,
        (facts.major, facts.minor),
        facts.processors,
        facts.bus.decode(errors="replace"),
    )


def _version(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""


_P, _I, _L, _F = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_float
_POINTERS, _CORNER = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)

#: argument types of the functions of api.h
SIGNATURES: dict[str, list[Any]] = {
    "subsalt_cuda_versions": [_P, _P],
    "subsalt_cuda_count": [_P],
    "subsalt_cuda_facts": [_I, _P],
    "subsalt_cuda_use": [_I],
    "subsalt_cuda_free_memory": [_P, _P],
    "subsalt_cuda_allocate": [_POINTERS, _L, _I],
    "subsalt_cuda_release": [_P],
    "subsalt_cuda_allocate_host": [_POINTERS, _L],
    "subsalt_cuda_release_host": [_P],
    "subsalt_cuda_lock_host": [_P, _L],
    "subsalt_cuda_unlock_host": [_P],
    "subsalt_cuda_allocated": [_P, _P, _P, _P],
    "subsalt_cuda_copy": [_P, _P, _L],
    "subsalt_cuda_zero": [_P, _L],
    "subsalt_cuda_synchronize": [],
    "subsalt_cuda_measure_copy": [_L, _I, _I, _P],
    "subsalt_cuda_measure_launch": [_I, _I, _P],
    "subsalt_cuda_arithmetic": [_I, _P, _P, _P, _P, _L],
    "subsalt_cuda_plan": [_P, _L, _POINTERS, _POINTERS],
    "subsalt_cuda_free_plan": [_P],
    "subsalt_cuda_points": [_P, _P, _L, _POINTERS],
    "subsalt_cuda_free_points": [_P],
    "subsalt_cuda_memory_step": [_P, _POINTERS, _CORNER, _CORNER],
    "subsalt_cuda_field_step": [_P, _POINTERS, _CORNER, _CORNER],
    "subsalt_cuda_apply_l": [_P, _POINTERS, _POINTERS, _CORNER, _CORNER],
    "subsalt_cuda_inject": [_P, _POINTERS, _P, _P],
    "subsalt_cuda_record": [_P, _POINTERS, _P, _P],
    "subsalt_cuda_record_shares": [_P, _POINTERS, _P, _P],
    "subsalt_cuda_snapshot": [_P, _POINTERS, _P, _CORNER, _CORNER],
    "subsalt_cuda_correlate": [_P, _P, _P, _POINTERS, _CORNER, _CORNER, _F],
    "subsalt_cuda_square": [_P, _P, _L, _F],
    "subsalt_cuda_product": [_P, _P, _P, _L, _F],
    "subsalt_cuda_is_finite": [_P, _POINTERS, _P],
    "subsalt_cuda_segment": [_P, _P, _POINTERS],
    "subsalt_cuda_free_segment": [_P],
    "subsalt_cuda_segment_run": [_P, _POINTERS, _P],
    "subsalt_cuda_segment_part": [_P, _POINTERS, _L, _CORNER, _CORNER, _I, _I, _L],
    "subsalt_cuda_segment_finish": [_P],
    "subsalt_cuda_tune": [_P, _I, _I],
    "subsalt_cuda_tunings": [_P, _P, _I, _P],
    "subsalt_cuda_counters": [_CORNER],
    "subsalt_cuda_shell": [_P, _POINTERS, _CORNER, _CORNER, _CORNER, _P, _I],
    "subsalt_cuda_halo": [_I, _POINTERS, _POINTERS, _POINTERS, _POINTERS, _CORNER, _CORNER, _POINTERS],
    "subsalt_cuda_halo_leave": [_P],
    "subsalt_cuda_halo_left": [_P, _P],
    "subsalt_cuda_halo_arrive": [_P],
    "subsalt_cuda_free_halo": [_P],
    "subsalt_cuda_kirchhoff_open": [_P, _L, _P, _L, _P, _POINTERS],
    "subsalt_cuda_kirchhoff_room": [_P, _P, _POINTERS],
    "subsalt_cuda_kirchhoff_add": [_P, _P, _P],
    "subsalt_cuda_kirchhoff_fetch": [_P, _P, _P, _P, _P],
    "subsalt_cuda_kirchhoff_close": [_P],
}


def pointers(values: Sequence[int | None]) -> Any:
    """Return addresses as a C array of pointers; None: null."""
    return (ctypes.c_void_p * len(values))(*values)


def corner(values: Sequence[int]) -> Any:
    """Return indices as a C array of 64-bit integers."""
    return (ctypes.c_int64 * len(values))(*values)


Direction = Literal["copy", "kernel copy", "runtime copy", "down", "up"]

_KINDS = {"kernel copy": 0, "up": 1, "down": 2, "runtime copy": 3}


def copies(nbytes: int, rounds: int, direction: Direction = "copy") -> list[float]:
    """Return the seconds of `rounds` copies of `nbytes`.

    Parameters
    ----------
    nbytes : int
        Bytes of the array; a copy within the memory of the GPU reads and writes as many.
    rounds : int
        Number of timed copies; one untimed copy precedes them.
    direction : {"copy", "kernel copy", "runtime copy", "down", "up"}
        In the memory of the GPU, by a kernel or by the CUDA runtime (``"copy"``: by the faster of the two); from it to
        page-locked memory of the host, or the other way.
    """
    if direction == "copy":
        return min((copies(nbytes, rounds, by) for by in ("kernel copy", "runtime copy")), key=median)
    seconds = (ctypes.c_double * rounds)()
    call("subsalt_cuda_measure_copy", nbytes, rounds, _KINDS[direction], seconds)
    return list(seconds)


def launches(count: int, rounds: int) -> list[float]:
    """Return the seconds of an empty kernel among `count`, `rounds` times."""
    seconds = (ctypes.c_double * rounds)()
    call("subsalt_cuda_measure_launch", count, rounds, seconds)
    return list(seconds)
