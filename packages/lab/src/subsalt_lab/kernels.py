"""How many point-steps per second does each kernel do here, and which share of what the machine gives is that?

All kernels of a medium, order and number of threads run round robin in one process with three yardsticks: the plain
loop (the same formula as the compiler vectorises it), the roof (the same arrays, rows and prefetches without the
stencil) and multiply-adds in registers. Rates of a machine change by the minute, ratios of one round do not. All ways
of doing a step are compared bit for bit before any figure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from subsalt.errors import MemoryPlanError
from subsalt.host import machine_facts
from subsalt.machine.load import Watch
from subsalt.machine.operations import cost, pass_bytes
from subsalt_lab import kernel_sums
from subsalt_lab.kernel_answers import verify
from subsalt_lab.kernel_bench import Bench, bytes_needed
from subsalt_lab.kernel_cases import Case, cases
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.kernel_rows import IMAGED_EVERY, Row, Variant
from subsalt_lab.result import Result
from subsalt_lab.rounds import SAMPLE_SECONDS, Clock, round_robin

#: media that have compiled kernels, in the order of the tables
MEDIA = ("isotropic", "vti", "tti")
#: what is measured: the steps of media, and the sum of Kirchhoff migration
MEASURED = (*MEDIA, kernel_sums.NAME)
ORDERS = (4, 8)
STORAGES = ("f32", "u16")
#: part of the memory that the arrays of a medium may take
MEMORY_SHARE = 0.8

UNITS = {
    "points_per_s": "point-steps/s, layer included",
    "interior_points_per_s": "point-steps/s, layer not counted",
    "seconds": "s per time step, or per call of a part",
    "spread": "half the interquartile range over the median",
    "x_plain": "rate over that of the plain loop, core step",
    "of_roof": "rate over that of the roof",
    "of_multiply_add": "operations per second over those of multiply-adds in registers",
    "core_steps": "time over that of a core step, one step a call",
    "layer_extra": "time over that of the core done the same way, minus 1",
    "x_f32": "rate over that of the same case with float32 models",
    "contributions_per_s": "samples of traces added to samples of the image, per second",
    "of_plainest": "rate over that of linear interpolation without antialias",
    "roof_gb_s": "GB/s at which the roof ran",
}


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    media, orders, isas, threads : sequence
        Every combination is measured; ``"kirchhoff"`` among the media is the sum of Kirchhoff migration, without order.
    storages : sequence of str
        How model arrays are stored: ``"f32"`` always, and ``"u16"`` beside it where the medium has it.
    n : int
        Points per axis, layer included.
    rounds : int
        Samples of each case.
    """

    media: Sequence[str]
    orders: Sequence[int]
    isas: Sequence[str]
    threads: Sequence[int]
    storages: Sequence[str] = ("f32", "u16")
    n: int = 256
    rounds: int = 7


def measure(
    settings: Settings,
    *,
    clock: Clock = time.perf_counter,
    seconds: float = SAMPLE_SECONDS,
    say: Callable[[str], None] = lambda text: None,
) -> Result:
    """Measure every combination of medium, order, threads and instruction set.

    Parameters
    ----------
    settings : Settings
        What is measured.
    clock : callable
        Returns seconds.
    seconds : float
        Length of a sample at least.
    say : callable
        Told what is being measured.

    Raises
    ------
    MemoryPlanError
        When the arrays of a medium take more than `MEMORY_SHARE` of the memory.
    """
    _refuse_too_large(settings)
    rows: list[Row] = []
    with Watch(max(settings.threads)) as watch:
        for medium in (m for m in settings.media if m in MEDIA):
            for order in settings.orders:
                for threads in settings.threads:
                    say(f"kernels: {medium}, order {order}, {threads} thread{'s' * (threads != 1)}")
                    benches = [Bench(settings.n, medium, order, threads)]
                    if "u16" in settings.storages and cost(medium).packed is not None:
                        benches.append(benches[0].packed())
                    rows += _measure_one(benches, settings, clock, seconds)
                    del benches  # their arrays are a gigabyte
        if kernel_sums.NAME in settings.media:
            for threads in settings.threads:
                say(f"kernels: sum of Kirchhoff migration, {threads} thread{'s' * (threads != 1)}")
                rows += kernel_sums.rows(
                    settings.isas, threads, settings.rounds, clock=clock, seconds=seconds
                )
    return Result(
        "kernels",
        asdict(settings) | {"layers": LAYERS, "imaged_every": IMAGED_EVERY},
        rows,
        UNITS,
        watch.facts(),
        [*notes(rows), *filter(None, [watch.text()])],
    )


def _refuse_too_large(settings: Settings) -> None:
    """Refuse a grid whose arrays the machine does not hold."""

    def needed(n: int) -> tuple[int, str]:
        return max(
            (bytes_needed(n, m, o, "u16" in settings.storages and cost(m).packed is not None), m)
            for m in settings.media
            if m in MEDIA
            for o in settings.orders
        )

    if not any(m in MEDIA for m in settings.media):
        return
    memory = machine_facts()["ram_bytes"]
    need, medium = needed(settings.n)
    if need > MEMORY_SHARE * memory:
        fits = (n for n in range(settings.n // 16 * 16, 0, -16) if needed(n)[0] <= MEMORY_SHARE * memory)
        raise MemoryPlanError(
            f"-n {settings.n}: the arrays of {medium} take {need / 1e9:.1f} GB of the {memory / 1e9:.1f} GB of memory",
            f"use -n {next(fits, 0)} or less",
            code="E612",
        )


def notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what a reader of the shares must know."""
    if not any(r["kind"] == "step" for r in rows):
        return []
    out = [
        "every share is of the yardstick that ran in the same rounds; the roof's GB/s says how fast memory was then"
    ]
    passes = [r for r in rows if r.get("steps_per_pass", 1) > 1]
    if passes:
        least = ", ".join(
            f"{m} {pass_bytes(m):g} B instead of {cost(m).bytes}"
            for m in dict.fromkeys(r["medium"] for r in passes)
        )
        out.append(
            f"several steps a pass over memory move fewer bytes per step (two: {least}), so they may exceed the roof "
            "of one step"
        )
    return out


def _measure_one(benches: Sequence[Bench], settings: Settings, clock: Clock, seconds: float) -> list[Row]:
    """Return the rows of benches that share their wavefields, timed in the same rounds."""
    timed: dict[tuple[str, str, str], Case] = {}
    for bench in benches:
        for isa in settings.isas:
            verify(bench, isa)
            timed |= {(bench.storage, isa, case.name): case for case in cases(bench, isa)}
    work = {" ".join(key): case.run for key, case in timed.items()}
    load = benches[0].load
    load()
    taken = round_robin(work, settings.rounds, seconds=seconds, clock=clock, before=load)
    rows: list[Row] = []
    for isa in settings.isas:
        plain: Variant | None = None
        for bench in benches:
            samples = {
                name: (case, [t / case.steps for t in taken[" ".join((storage, of, name))]])
                for (storage, of, name), case in timed.items()
                if (storage, of) == (bench.storage, isa)
            }
            variant = Variant(bench, isa, samples, plain)
            plain = plain or variant
            rows += variant.rows()
    return rows


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan needs: the rates of steps, without samples."""
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "case", "kind")} | common
        for row in result.rows
        if row["kind"] == "step"
    ]
