"""How many point-steps per second does each kernel do here, and which share of what the machine gives is that?

All kernels of a medium, order and number of threads run round robin in one process with three yardsticks: the plain
loop (the same formula as the compiler vectorises it), the roof (the same arrays, rows and prefetches without the
stencil) and multiply-adds in registers. Rates of a machine change by the minute, ratios of one round do not. All ways
of doing a step are compared bit for bit before any figure.

All ways of doing a time step compared, before any of them is timed.

From the samples of `lab kernels` to its rows: rates, and ratios to the yardsticks of the same rounds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import MemoryPlanError
from subsalt.host import machine_facts
from subsalt.kernels import cpu, sweeps
from subsalt.machine.load import Watch
from subsalt.machine.operations import bytes_of, cost, pass_bytes
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.numerics.stencil import radius_of
from subsalt_lab import kernel_sums
from subsalt_lab.kernel_bench import Bench, Case, bytes_needed, cases
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.memory import MULTIPLY_ADDS
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import SAMPLE_SECONDS, Clock, Work, round_robin

#: how often a sample is imaged in the shares of imaging
IMAGED_EVERY = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """What was timed of one bench with one instruction set.

    Parameters
    ----------
    bench : Bench
        Medium, order, threads, storage.
    isa : str
        Instruction set.
    samples : mapping of str to (Case, list of float)
        Cases by name, with the seconds of one step (or call) in every round.
    plain : Variant, optional
        The same with float32 models, of the same rounds.
    """

    bench: Bench
    isa: str
    samples: Mapping[str, tuple[Case, list[float]]]
    plain: Variant | None = None

    def seconds(self, name: str) -> list[float]:
        """Return the samples of one case."""
        return self.samples[name][1]

    def rows(self) -> list[Row]:
        """Return one row per case, and what imaging adds to a step."""
        return [*map(self._row, self.samples), *self._imaging()]

    def _identity(self) -> Row:
        bench = self.bench
        return {
            "medium": bench.medium,
            "dim": 3,
            "order": bench.order,
            "isa": self.isa,
            "threads": bench.threads,
            "n": bench.n,
            "model_storage": bench.storage,
        }

    def _timed(self, name: str, kind: str, seconds: list[float]) -> Row:
        middle = summary(seconds)
        return self._identity() | {
            "case": name,
            "kind": kind,
            "seconds": seconds,
            "spread": middle.spread,
            "core_steps": ratio(seconds, self.seconds("core")).median,
        }

    def _row(self, name: str) -> Row:
        case, seconds = self.samples[name]
        row = self._timed(name, case.kind, seconds)
        if name == "multiply-add":
            done = sweeps.operations(MULTIPLY_ADDS, threads=self.bench.threads, isa=self.isa)
            del row["core_steps"]
            return row | {"gflop_s": done / summary(seconds).median / 1e9}
        if case.kind != "part":
            row |= self._rates(case, seconds)
        if case.kind == "step":
            row |= self._step(case, seconds)
        return row

    def _rates(self, case: Case, seconds: list[float]) -> Row:
        """Return point-steps per second, and what they are to the plain loop and to float32 models."""
        bench, middle = self.bench, summary(seconds).median
        inside = math.prod(n - 2 * LAYERS[case.boundary] for n in bench.layout.shape3)
        per_point = bytes_of(bench.medium, bench.storage)
        row: Row = {
            "points_per_s": bench.n**3 / middle,
            "interior_points_per_s": inside / middle,
            "roof_gb_s": per_point * bench.n**3 / summary(self.seconds("roof")).median / 1e9,
        }
        other = self.plain or self
        if "plain loop" in other.samples:
            row["x_plain"] = ratio(other.seconds("plain loop"), seconds).median
        if self.plain is not None:
            row["x_f32"] = ratio(self.plain.seconds(case.name), seconds).median
        return row

    def _step(self, case: Case, seconds: list[float]) -> Row:
        """Return how a step is done, and its shares of the roofs."""
        bench = self.bench
        operations = cost(bench.medium).operations(radius_of(bench.order)) * bench.n**3
        adds = sweeps.operations(MULTIPLY_ADDS, threads=bench.threads, isa=self.isa)
        core = "core" if case.loop == "step" else "core, segment"
        extra = None if case.boundary == "none" else ratio(seconds, self.seconds(core)).median - 1
        return {
            "boundary": case.boundary,
            "layer_cells": LAYERS[case.boundary],
            "loop": case.loop,
            "steps_per_pass": case.per_pass,
            "tile_rows": case.tile_rows,
            "layer_extra": extra,
            "of_roof": ratio(self.seconds("roof"), seconds).median,
            "of_multiply_add": ratio(self.seconds("multiply-add"), seconds).median * operations / adds,
        }

    def _imaging(self) -> list[Row]:
        """Return what imaging every `IMAGED_EVERY`-th sample adds to a core step of each wavefield."""
        if "snapshot" not in self.samples:
            return []
        sums = zip(self.seconds("correlate"), self.seconds("square"), strict=True)
        added = {
            f"snapshot, every {IMAGED_EVERY}th step": [s / IMAGED_EVERY for s in self.seconds("snapshot")],
            f"correlate and square, every {IMAGED_EVERY}th step": [(a + b) / IMAGED_EVERY for a, b in sums],
        }
        return [self._timed(name, "imaging", seconds) for name, seconds in added.items()]


def verify(bench: Bench, isa: str) -> None:
    """Compare all ways of doing a step bit for bit, and the roof with NumPy.

    Raises
    ------
    SubsaltError
        When two differ; nothing may be reported then.
    """
    with cpu.forced(isa, threads=bench.threads):
        for boundary in LAYERS:
            want = _after(bench, partial(bench.step_by_boxes, boundary), bench.steps_per_call)
            ways: dict[str, tuple[Work, int]] = {
                "one call per step": (partial(bench.step, boundary), bench.steps_per_call),
                "segment": (partial(bench.segment, boundary), 1),
            }
            if boundary == "none" and bench.has_plain_loop:
                ways["plain loop"] = bench.plain, bench.steps_per_call
            for way, (run, calls) in ways.items():
                if not all(map(np.array_equal, _after(bench, run, calls), want)):
                    raise wrong_answer(f"{bench.name}, {boundary}, {isa}: {way}")
        _verify_roof(bench, isa)


def _after(bench: Bench, run: Work, calls: int) -> list[NDArray[np.uint32]]:
    """Return the bits of the field after some calls from the same start."""
    bench.load()
    for _ in range(calls):
        run()
    return [bench.layout.view(a).view(np.uint32).copy() for a in bench.state.curr]


def roof_laplacians(bench: Bench, u: NDArray[np.float64], some: slice) -> list[NDArray[np.float64]]:
    """Return what stands for the right hand sides over m in the roof, for fields that all hold `u`."""
    problem = bench.problems["none"]
    cx, cy, cz = (float(problem.second(axis)[0]) for axis in range(3))
    if bench.medium == "isotropic":
        return [(cx + cy + cz) * u]
    a, b = (cx + cy) * u, cz * u
    if bench.medium == "tti":
        square = sum(
            bench.layout.view(problem.param(k))[some].astype(np.float64) ** 2 for k in ("nx", "ny", "nz")
        )
        b = b * square
    e, s = (bench.layout.view(problem.param(k))[some].astype(np.float64) for k in ("e", "s"))
    return [e * a + s * b, s * a + b]


def _verify_roof(bench: Bench, isa: str) -> None:
    """Compare the roof with its formula in double precision on every 16th plane."""
    bench.load()
    bench.roof()
    some, lay = slice(None, None, 16), bench.layout
    u = bench.start[some].astype(np.float64)
    m = lay.view(bench.problems["none"].param("m"))[some].astype(np.float64)
    for field, laplacian in zip(bench.state.curr, roof_laplacians(bench, u, some), strict=True):
        # both levels hold u: 2 u - u + m L. Sixteen roundings or fewer, each of a number below the sum of magnitudes
        bound = 16 * np.finfo(np.float32).eps * (3 * np.abs(u) + m * np.abs(laplacian))
        if not bool((np.abs(lay.view(field)[some] - (m * laplacian + u)) <= bound).all()):
            raise wrong_answer(f"{bench.name}, {isa}: the step without its stencil")


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
    say: Say = lambda text: None,
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
                timed = partial(round_robin, rounds=settings.rounds, seconds=seconds, clock=clock)
                rows += kernel_sums.rows(kernel_sums.SumBench(), settings.isas, threads, timed)
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
    return result.for_machine("seconds", "case", "kind", where=lambda row: row["kind"] == "step")
