"""How many bytes per second does memory give, and how many multiply-adds the cores, by threads and instruction set?

Sweeps over arrays of more than four times the last-level cache, on large pages, touched first by the threads that sweep
them. `update` is the traffic of an isotropic time step, and the roof that `subsalt lab kernels` compares with.
Every answer is verified before any figure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from subsalt.errors import MemoryPlanError
from subsalt.host import cache_bytes, machine_facts
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import summary
from subsalt.report.table import Column
from subsalt_lab import sweeps
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import SAMPLE_SECONDS, Clock, Work, round_robin

#: arrays over the last-level cache
CACHES = 4
#: taken for a last-level cache where the system does not say
USUAL_CACHE = 32 << 20
#: part of the memory that the three arrays may take
SHARE = 0.5
#: rounds of multiply-adds in one call: some milliseconds
MULTIPLY_ADDS = 1_000_000

UNITS = {"rate": "unit of the row", "spread": "1", "bytes_per_element": "B", "seconds": "s"}

COLUMNS = (
    Column("what", "sweep"),
    Column("isa", "isa"),
    Column("threads", "threads", "d"),
    Column("rate", "rate", ".1f"),
    Column("unit", "unit"),
    Column("spread", "± %", ".1f", 100),
    Column("bytes_per_element", "B/element", "d"),
    Column("of_one_thread", "x one thread", ".2f"),
)


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    threads : sequence of int
        Numbers of threads, each measured for itself.
    isas : sequence of str
        Instruction sets.
    rounds : int
        Samples of each sweep.
    array_bytes : int
        Bytes of each of the three arrays; `wanted_bytes` when 0.
    """

    threads: Sequence[int]
    isas: Sequence[str]
    rounds: int = 9
    array_bytes: int = 0


def wanted_bytes() -> int:
    """Return the bytes of an array: four times the last-level cache and a little."""
    last = max(cache_bytes().values(), default=USUAL_CACHE)
    return CACHES * last + (1 << 20)


def _sized(settings: Settings) -> int:
    """Return the bytes of an array; refuse what the memory does not hold."""
    size = settings.array_bytes or wanted_bytes()
    memory = machine_facts()["ram_bytes"]
    if 3 * size > SHARE * memory:
        raise MemoryPlanError(
            f"three arrays of {size / 1e6:.0f} MB, four times the last-level cache, take more than half of the "
            f"{memory / 1e9:.1f} GB of memory",
            "measure on a machine with more memory; smaller arrays would measure the cache",
            code="E612",
        )
    return size


class Arrays:
    """Three arrays of one size, touched first by the threads that sweep them."""

    def __init__(self, nbytes: int, threads: int) -> None:
        self.threads = threads
        self.o, self.a, self.p = (sweeps.allocate(nbytes // 4, threads) for _ in range(3))

    def reset(self) -> None:
        """Fill with numbers whose sums and products are exact."""
        self.o.fill(0.25)
        self.a.fill(0.5)
        self.p.fill(1.0)

    def work(self, isa: str) -> dict[str, Work]:
        """Return the sweeps of one instruction set by name."""
        o, a, p, t = self.o, self.a, self.p, self.threads
        return {
            "update": partial(sweeps.update, o, a, p, threads=t, isa=isa),
            "triad": partial(sweeps.triad, o, a, p, 3.0, threads=t, isa=isa),
            "copy": partial(sweeps.copy, o, a, threads=t, isa=isa),
            "multiply-add": partial(sweeps.multiply_add, 0.5, 1.0, MULTIPLY_ADDS, threads=t, isa=isa),
        }

    def verify(self, isa: str) -> None:
        """Compare every sweep with its exact answer.

        Raises
        ------
        SubsaltError
            When one differs; nothing may be reported then.
        """
        for what, right in {"update": 1.25, "triad": 3.5, "copy": 0.5}.items():
            self.reset()
            self.work(isa)[what]()
            if not bool((self.o == np.float32(right)).all()):
                raise wrong_answer(f"the sweep {what}, {isa}, {self.threads} threads")
        chains, lanes = sweeps.chains(isa)
        # x -> x / 2 + 1, three times from k: k / 8 + 7 / 4
        exact = (np.arange(chains) / 8 + 1.75)[:, None] * np.ones(lanes)
        if not bool((sweeps.multiply_add(0.5, 1.0, 3, threads=self.threads, isa=isa) == exact).all()):
            raise wrong_answer(f"multiply-adds, {isa}, {self.threads} threads")
        self.reset()


def amount(what: str, elements: int, threads: int, isa: str) -> tuple[float, str]:
    """Return how much one call does, and the unit of its rate: bytes, or floating-point operations."""
    if what == "multiply-add":
        return float(sweeps.operations(MULTIPLY_ADDS, threads=threads, isa=isa)), "GFLOP/s"
    return float(elements * sweeps.BYTES[what]), "GB/s"


def measure(
    settings: Settings,
    *,
    clock: Clock = time.perf_counter,
    seconds: float = SAMPLE_SECONDS,
    say: Say = lambda text: None,
) -> Result:
    """Measure sweeps and multiply-adds.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    clock : callable
        Returns seconds.
    seconds : float
        Length of a sample at least.
    say : callable
        Callback for progress text.

    Raises
    ------
    MemoryPlanError
        When arrays beyond the cache do not fit into half the memory.
    """
    size = _sized(settings)
    rows: list[dict[str, Any]] = []
    with Watch(max(settings.threads)) as watch:
        for threads in settings.threads:
            say(f"memory: {', '.join(settings.isas)}, {threads} thread{'s' * (threads != 1)}")
            arrays = Arrays(size, threads)
            work: dict[str, Work] = {}
            for isa in settings.isas:
                arrays.verify(isa)
                work |= {f"{what}/{isa}": run for what, run in arrays.work(isa).items()}
            samples = round_robin(work, settings.rounds, seconds=seconds, clock=clock)
            for name, taken in samples.items():
                what, isa = name.split("/")
                rows.append(_row(what, isa, threads, arrays.o.size, taken))
            del arrays, work
    _compare_threads(rows)
    notes = [
        "bytes are those the sweep names: a store that first fetches its line moves 4 more in triad and copy"
    ]
    return Result(
        "memory",
        asdict(settings) | {"array_bytes": size},
        rows,
        UNITS,
        watch.facts(),
        [*notes, *filter(None, [watch.text()])],
    )


def _row(what: str, isa: str, threads: int, elements: int, taken: list[float]) -> dict[str, Any]:
    done, unit = amount(what, elements, threads, isa)
    middle = summary(taken)
    return {
        "what": what,
        "isa": isa,
        "threads": threads,
        "rate": done / middle.median / 1e9,
        "unit": unit,
        "spread": middle.spread,
        "bytes_per_element": sweeps.BYTES.get(what),
        "seconds": taken,
    }


def _compare_threads(rows: list[dict[str, Any]]) -> None:
    """Add to every row its rate over that of one thread."""
    one = {(r["what"], r["isa"]): r["rate"] for r in rows if r["threads"] == 1}
    for r in rows:
        base = one.get((r["what"], r["isa"]))
        r["of_one_thread"] = r["rate"] / base if base and r["threads"] > 1 else None


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan needs, without samples."""
    return result.for_machine("seconds")
