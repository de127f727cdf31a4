"""How many bytes per second does a GPU give to its own kernels and over its link to the host, and how long is a launch?

Copies of arrays far beyond its cache, timed by its own clock and looked at first, bytes read and written together:
``kernel copy`` with eight 16-byte loads of every thread in flight before its first store, ``runtime copy`` as CUDA
copies. ``copy``, the faster of the two, is the roof of time steps there. ``down`` and ``up`` are the link, from and to
pinned memory.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from subsalt.machine.load import Watch
from subsalt.machine.stats import summary
from subsalt.report.table import Column
from subsalt_lab.result import Result, Say

#: bytes of an array: far beyond the cache of any GPU; of the emulated one, which has none
WANTED, EMULATED = 2 << 30, 1 << 20
#: part of the free memory that the two arrays may take
SHARE = 0.5
#: launches that are timed together
LAUNCHES = 1000

UNITS = {"rate": "GB/s, or us of a launch", "spread": "1", "seconds": "s"}

COLUMNS = (
    Column("what", "what"),
    Column("rate", "rate", ".1f"),
    Column("unit", "unit"),
    Column("spread", "± %", ".1f", 100),
    Column("told", ""),
)

#: what is timed, how often a byte counts, and in words
COPIES: dict[str, tuple[int, str]] = {
    "kernel copy": (2, "in the memory of the GPU by a kernel: eight loads in flight, then stores"),
    "runtime copy": (2, "in the memory of the GPU by the CUDA runtime"),
    "down": (1, "from the GPU to pinned memory of the host"),
    "up": (1, "from pinned memory of the host to the GPU"),
}


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    rounds : int
        Samples of each.
    array_bytes : int
        Bytes of each of the arrays; chosen for the GPU when 0.
    """

    rounds: int = 9
    array_bytes: int = 0


def measure(settings: Settings, *, say: Say = lambda text: None) -> Result:
    """Measure copies and launches on the GPU of this process.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    say : callable
        Callback for progress text.

    Raises
    ------
    DeviceError
        When there is no GPU, or a copy is wrong.
    """
    from subsalt.kernels import cuda_library
    from subsalt.kernels import cuda_library as timed

    gpu, available = cuda_library.chosen(), cuda_library.availability()
    size = settings.array_bytes or _size(cuda_library.free_memory()[0], emulated=available.emulated)
    say(f"memory of {gpu.name}: copies of {size / 1e6:.0f} MB")
    rows: list[dict[str, Any]] = []
    with Watch(1) as watch:
        for what, (counts, meaning) in COPIES.items():
            seconds = timed.copies(size, settings.rounds, what)  # type: ignore[arg-type]
            rows.append(
                _row(gpu.name, what, counts * size / summary(seconds).median / 1e9, "GB/s", seconds, meaning)
            )
        fastest = max(rows[:2], key=lambda row: float(row["rate"]))
        rows.insert(0, fastest | {"what": "copy", "told": f"the faster of the next two: {fastest['what']}"})
        seconds = timed.launches(LAUNCHES, settings.rounds)
        meaning = "the start of a kernel that does nothing, of many one after the other"
        rows.append(_row(gpu.name, "launch", 1e6 * summary(seconds).median, "us", seconds, meaning))
    notes = ["emulated device: the figures mean nothing"] if available.emulated else []
    return Result(
        "device",
        asdict(settings) | {"array_bytes": size},
        rows,
        UNITS,
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
        {
            "gpu": gpu.name,
            "memory_bytes": gpu.memory,
            "driver": available.driver,
            "emulated": available.emulated,
        },
    )


def _size(free: int, *, emulated: bool) -> int:
    """Return the bytes of an array, in whole accesses of 16."""
    return min(EMULATED if emulated else WANTED, int(SHARE * free / 2)) // 16 * 16


def _row(
    device: str, what: str, rate: float, unit: str, seconds: list[float], meaning: str
) -> dict[str, Any]:
    spread = summary(seconds).spread
    named = {"device": device, "what": what, "told": meaning}
    return named | {"rate": rate, "unit": unit, "spread": spread, "seconds": seconds}


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan needs, without samples."""
    emulated = {"emulated": True} if result.more.get("emulated") else {}
    return [row | emulated for row in result.for_machine("seconds", "told")]
