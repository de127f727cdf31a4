"""How many point-steps per second does each kernel do here, and which share of what the machine gives is that?

All kernels of a medium, order and number of threads run round robin in one process with three yardsticks: the plain
loop (the same formula as the compiler vectorises it), the roof (the same arrays, rows and prefetches without the
stencil) and multiply-adds in registers. Rates of a machine change by the minute, ratios of one round do not. All ways
of doing a step are compared bit for bit before any figure.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from subsalt.kernels import sweeps
from subsalt.lab.kernel_answers import verify
from subsalt.lab.kernel_bench import LAYERS, Bench
from subsalt.lab.kernel_cases import Case, cases
from subsalt.lab.load import Watch
from subsalt.lab.memory import MULTIPLY_ADDS
from subsalt.lab.operations import cost
from subsalt.lab.result import Result
from subsalt.lab.rounds import SAMPLE_SECONDS, Clock, round_robin
from subsalt.lab.stats import ratio, summary
from subsalt.stencil import radius_of

#: media that have compiled kernels, in the order of the tables
MEDIA = ("isotropic", "vti", "tti")
ORDERS = (4, 8)
#: how often a sample is imaged in the shares of imaging
IMAGED_EVERY = 8

UNITS = {
    "points_per_s": "point-steps/s, layer included",
    "interior_points_per_s": "point-steps/s, layer not counted",
    "seconds": "s per time step, or per call of a part",
    "spread": "half the interquartile range over the median",
    "x_plain": "rate over that of the plain loop, core step",
    "of_roof": "rate over that of the roof",
    "of_multiply_add": "operations per second over those of multiply-adds in registers",
    "core_steps": "time over that of a core step, one step a call",
    "roof_gb_s": "GB/s at which the roof ran",
}


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Parameters
    ----------
    media, orders, isas, threads : sequence
        Every combination is measured.
    n : int
        Points per axis, layer included.
    rounds : int
        Samples of each case.
    """

    media: Sequence[str]
    orders: Sequence[int]
    isas: Sequence[str]
    threads: Sequence[int]
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
    """
    rows: list[dict[str, Any]] = []
    with Watch(max(settings.threads)) as watch:
        for medium in settings.media:
            for order in settings.orders:
                for threads in settings.threads:
                    say(f"kernels: {medium}, order {order}, {threads} thread{'s' * (threads != 1)}")
                    bench = Bench(settings.n, medium, order, threads)
                    rows += _measure_one(bench, settings, clock, seconds)
                    del bench  # its arrays are a gigabyte
    return Result(
        "kernels",
        asdict(settings) | {"layers": LAYERS, "imaged_every": IMAGED_EVERY},
        rows,
        UNITS,
        watch.facts(),
        [*notes(rows), *filter(None, [watch.text()])],
    )


def notes(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what a reader of the shares must know."""
    out = [
        "every share is of the yardstick that ran in the same rounds; the roof's GB/s says how fast memory was then"
    ]
    passes = [r for r in rows if r.get("steps_per_pass", 1) > 1]
    if passes:
        least = ", ".join(
            f"{m} {pass_bytes(m):g} instead of {cost(m).bytes}"
            for m in dict.fromkeys(r["medium"] for r in passes)
        )
        out.append(
            f"two steps a pass over memory move fewer bytes per step ({least}), so they may exceed the roof of one step"
        )
    return out


def pass_bytes(medium: str) -> float:
    """Return the bytes per point and step of two steps in one pass: every array comes once, all levels are written."""
    fields = 1 if medium == "isotropic" else 2
    # the models are read once instead of twice, and both levels of each field read and written once
    models = (cost(medium).bytes - 12 * fields) / 4
    return (4 * models + 16 * fields) / 2


def _measure_one(bench: Bench, settings: Settings, clock: Clock, seconds: float) -> list[dict[str, Any]]:
    timed: dict[str, tuple[str, Case]] = {}
    for isa in settings.isas:
        verify(bench, isa)
        timed |= {f"{case.name}/{isa}": (isa, case) for case in cases(bench, isa)}
    work = {key: case.run for key, (_, case) in timed.items()}
    bench.load()
    taken = round_robin(work, settings.rounds, seconds=seconds, clock=clock, before=bench.load)
    rows = []
    for isa in settings.isas:
        mine = {
            case.name: (case, [t / case.steps for t in taken[key]])
            for key, (of, case) in timed.items()
            if of == isa
        }
        rows += [_row(bench, isa, name, mine) for name in mine]
        rows += _imaging(bench, isa, mine)
    return rows


Samples = dict[str, tuple[Case, list[float]]]


def _row(bench: Bench, isa: str, name: str, taken: Samples) -> dict[str, Any]:
    """Return the row of one case: its rates, and its ratios to the yardsticks of the same rounds."""
    case, seconds = taken[name]
    middle = summary(seconds)
    row = _identity(bench, isa) | {
        "case": name,
        "kind": case.kind,
        "seconds": seconds,
        "spread": middle.spread,
        "core_steps": ratio(seconds, taken["core"][1]).median,
    }
    if name == "multiply-add":
        done = sweeps.operations(MULTIPLY_ADDS, threads=bench.threads, isa=isa)
        del row["core_steps"]
        return row | {"gflop_s": done / middle.median / 1e9}
    if case.kind == "part":
        return row
    points, cells = bench.n**3, LAYERS[case.boundary]
    inside = math.prod(n - 2 * cells for n in bench.layout.shape3)
    adds = sweeps.operations(MULTIPLY_ADDS, threads=bench.threads, isa=isa)
    price, roof = cost(bench.medium), taken["roof"][1]
    row |= {
        "points_per_s": points / middle.median,
        "interior_points_per_s": inside / middle.median,
        "roof_gb_s": price.bytes * points / summary(roof).median / 1e9,
    }
    if case.kind == "step":
        operations = price.operations(radius_of(bench.order)) * points
        per_add = ratio(taken["multiply-add"][1], seconds).median
        row |= {
            "boundary": case.boundary,
            "layer_cells": cells,
            "loop": case.loop,
            "steps_per_pass": case.per_pass,
            "tile_rows": case.tile_rows,
            "of_roof": ratio(roof, seconds).median,
            "of_multiply_add": per_add * operations / adds,
        }
    if "plain loop" in taken:
        row["x_plain"] = ratio(taken["plain loop"][1], seconds).median
    return row


def _imaging(bench: Bench, isa: str, taken: Samples) -> list[dict[str, Any]]:
    """Return what imaging every `IMAGED_EVERY`-th sample adds to a core step of each wavefield."""
    core = taken["core"][1]
    parts = {
        f"snapshot, every {IMAGED_EVERY}th step": taken["snapshot"][1],
        f"correlate and square, every {IMAGED_EVERY}th step": [
            a + b for a, b in zip(taken["correlate"][1], taken["square"][1], strict=True)
        ],
    }
    rows = []
    for name, seconds in parts.items():
        share = [s / IMAGED_EVERY for s in seconds]
        rows.append(
            _identity(bench, isa)
            | {
                "case": name,
                "kind": "imaging",
                "seconds": share,
                "spread": summary(share).spread,
                "core_steps": ratio(share, core).median,
            }
        )
    return rows


def _identity(bench: Bench, isa: str) -> dict[str, Any]:
    return {
        "medium": bench.medium,
        "dim": 3,
        "order": bench.order,
        "isa": isa,
        "threads": bench.threads,
        "n": bench.n,
        "model_storage": "f32",
    }


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan needs: the rates of steps, without samples."""
    common = {"date": result.date, "version": result.version, "noisy": result.noisy}
    return [
        {k: v for k, v in row.items() if k not in ("seconds", "case", "kind")} | common
        for row in result.rows
        if row["kind"] == "step"
    ]
