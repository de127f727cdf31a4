"""How many point-steps per second does each kernel do here, and which share of what the machine gives is that?

All kernels of a medium, order and number of threads run round robin in one process with three yardsticks: the plain
loop (the same formula as the compiler vectorises it), the roof (the same arrays, rows and prefetches without the
stencil) and multiply-adds in registers. Rates of a machine change by the minute, ratios of one round do not. All ways
of doing a step are compared bit for bit before any figure.

All ways of doing a time step compared, before any of them is timed.

From the samples of `lab kernels` to its rows: rates, and ratios to the yardsticks of the same rounds.

The sum of Kirchhoff migration as `lab kernels` times it: one block of traces, prepared and summed in every way.

A contribution is one sample of one trace added to one sample of the image, counted after aperture and mute: from the
first sample that a trace reaches at a location to the last. The geometry is the founding case's: traces of 625 samples
at 8 ms with offsets up to 3 km, bins of 15 m.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import MemoryPlanError
from subsalt.host import machine_facts
from subsalt.kernels import cpu, kirchhoff, kirchhoff_reference
from subsalt.kernels.kirchhoff_arguments import Medium, TraceGeometry
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import Prepared, prepare
from subsalt.methods.rtm.speed import bytes_of, cost, pass_bytes
from subsalt.numerics.stencil import radius_of
from subsalt_lab import sweeps
from subsalt_lab.kernel_bench import Bench, KernelCase, bytes_needed, cases
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.memory import MULTIPLY_ADDS
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import SAMPLE_SECONDS, Clock, Work, round_robin

#: what `lab kernels --medium` calls the sum
NAME = "kirchhoff"
TIME = TimeAxis(625, 0.008)
AXES = np.eye(2)
SPACING = (15.0, 15.0)
#: locations along inlines and crosslines, and traces of a block
LOCATIONS, TRACES = (21, 64), 32

_ANTIALIAS: dict[str, dict[str, Any]] = {
    "no antialias": {"antialias": "none"},
    "10 bands, interpolated": {"antialias": "bands"},
    "10 bands, nearest": {"antialias": "bands", "band_choice": "nearest"},
    "triangle": {"antialias": "triangle"},
}
#: options by name; the default is "sinc, 10 bands, interpolated"
KINDS = {
    f"{interpolation}, {name}": KirchhoffOptions(interpolation=interpolation, **antialias)  # type: ignore[arg-type]
    for interpolation in ("linear", "sinc")
    for name, antialias in _ANTIALIAS.items()
}
PLAINEST = "linear, no antialias"


@dataclass
class SumBench:
    """A block of traces over a block of locations.

    Parameters
    ----------
    locations : tuple of int
        Along inlines and crosslines.
    traces : int
        Traces of the block, in order of offset.
    eta : bool
        With the anisotropic moveout.
    tile : int
        Locations of a tile; 0: chosen.
    """

    locations: tuple[int, int] = LOCATIONS
    traces: int = TRACES
    eta: bool = False
    tile: int = 0

    def __post_init__(self) -> None:
        rng = np.random.default_rng(1)
        i, j = np.indices(self.locations).reshape(2, -1)
        self.points = np.stack([SPACING[0] * i, SPACING[1] * j], axis=1)
        n = len(self.points)
        v = (1700 + 350 * TIME.values()[None, :] + 0.05 * self.points[:, 1:]).astype(np.float32)
        self.medium = Medium(v, np.full_like(v, 0.08) if self.eta else None)
        low, high = self.points.min(axis=0) - 300, self.points.max(axis=0) + 300
        middle = rng.uniform(low, high, (self.traces, 2))
        along, across = np.sort(rng.uniform(0, 1500, self.traces)), rng.uniform(-100, 100, self.traces)
        half = np.stack([across, along], axis=1)
        slot, weight = np.zeros(self.traces, np.int32), np.ones(self.traces, np.float32)
        self.geometry = TraceGeometry(middle - half, middle + half, weight, slot)
        self.data = rng.standard_normal((self.traces, TIME.nt)).astype(np.float32)
        self.image = np.zeros((n, 1, TIME.nt), np.float32)
        self.hits, self.fold = np.zeros((n, TIME.nt + 1), np.int32), np.zeros((n, 1), np.int32)
        self.ready: dict[str, Prepared] = {}

    def prepared(self, kind: str) -> Prepared:
        """Return the traces made ready for a kind, once."""
        if kind not in self.ready:
            self.ready[kind] = prepare(self.data, TIME, KINDS[kind], 1)
        return self.ready[kind]

    def sum(self, kind: str, threads: int, isa: str) -> int:
        """Add all traces once; return the contributions."""
        where = self.image, self.hits, self.fold, self.points, AXES, self.medium, TIME, self.prepared(kind)
        return kirchhoff.sum_traces(
            *where, self.geometry, KINDS[kind], SPACING, threads=threads, isa=isa, tile=self.tile
        )

    def reference(self, kind: str) -> int:
        """Do the same in NumPy."""
        where = self.image, self.hits, self.fold, self.points, AXES, self.medium, TIME, self.prepared(kind)
        return kirchhoff_reference.sum_traces(*where, self.geometry, KINDS[kind], SPACING)


def verify_sums(isa: str, threads: int, eta: bool = False, kinds: Sequence[str] = tuple(KINDS)) -> None:
    """Compare every kind with NumPy on a small block.

    Raises
    ------
    SubsaltError
        When one differs; nothing may be reported then.
    """
    for kind in kinds:
        compiled, numpy = (SumBench((3, 4), 8, eta) for _ in range(2))
        done, wanted = compiled.sum(kind, threads, isa), numpy.reference(kind)
        # positions of up to 625 samples carry 4 roundings, and white noise changes by up to pi of its size per sample
        bound = 4 * 625 * np.pi * np.finfo(np.float32).eps * np.abs(numpy.image).max()
        if (
            done != wanted
            or np.abs(compiled.image - numpy.image).max() > bound
            or not np.array_equal(compiled.hits, numpy.hits)
        ):
            raise wrong_answer(f"sum of Kirchhoff migration, {kind}, {isa}")


def rows_of_sums(
    bench: SumBench,
    isas: Sequence[str],
    threads: int,
    timed: Callable[[Mapping[str, Work]], Mapping[str, list[float]]],
    kinds: Sequence[str] = tuple(KINDS),
) -> list[dict[str, Any]]:
    """Return a row per instruction set and kind, all `timed` in the same rounds, after their answers were compared."""
    for isa in isas:
        verify_sums(isa, threads, bench.eta, kinds)
    done: dict[str, int] = {}

    def work(isa: str, kind: str) -> Callable[[], None]:
        def run() -> None:
            done[kind] = bench.sum(kind, threads, isa)

        return run

    cases = {f"{isa}/{kind}": work(isa, kind) for isa in isas for kind in kinds}
    taken = timed(cases)
    return [_row(isa, kind, threads, done[kind], taken) for isa in isas for kind in kinds]


def _row(isa: str, kind: str, threads: int, done: int, taken: Mapping[str, list[float]]) -> dict[str, Any]:
    samples, plainest = taken[f"{isa}/{kind}"], taken.get(f"{isa}/{PLAINEST}")
    middle = summary(samples)
    return {
        "medium": NAME,
        "isa": isa,
        "threads": threads,
        "n": TIME.nt,
        "case": kind,
        "kind": "sum",
        "seconds": samples,
        "spread": middle.spread,
        "contributions_per_s": done / middle.median,
        "of_plainest": None if plainest is None else ratio(plainest, samples).median,
    }


#: how often a sample is imaged in the shares of imaging
IMAGED_EVERY = 8

Row = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """Times of one bench with one instruction set.

    Parameters
    ----------
    bench : Bench
        Medium, order, threads, storage.
    isa : str
        Instruction set.
    samples : mapping of str to (KernelCase, list of float)
        Cases by name, with the seconds of one step (or call) in every round.
    plain : Variant, optional
        The same with float32 models, of the same rounds.
    """

    bench: Bench
    isa: str
    samples: Mapping[str, tuple[KernelCase, list[float]]]
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

    def _rates(self, case: KernelCase, seconds: list[float]) -> Row:
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

    def _step(self, case: KernelCase, seconds: list[float]) -> Row:
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
            runs: dict[str, tuple[Work, int]] = {
                "one call per step": (partial(bench.step, boundary), bench.steps_per_call),
                "segment": (partial(bench.segment, boundary), 1),
            }
            if boundary == "none" and bench.has_plain_loop:
                runs["plain loop"] = bench.plain, bench.steps_per_call
            for way, (run, calls) in runs.items():
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
MEASURED = (*MEDIA, NAME)
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
    """Settings of the measurement.

    Parameters
    ----------
    media, orders, isas, threads : sequence
        Every combination is measured; ``"kirchhoff"`` among the media is the sum of Kirchhoff migration, without order.
    storages : sequence of str
        How model arrays are stored: ``"f32"`` always, and also ``"u16"`` where the medium has it.
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
        if NAME in settings.media:
            for threads in settings.threads:
                say(f"kernels: sum of Kirchhoff migration, {threads} thread{'s' * (threads != 1)}")
                timed = partial(round_robin, rounds=settings.rounds, seconds=seconds, clock=clock)
                rows += rows_of_sums(SumBench(), settings.isas, threads, timed)
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
    timed: dict[tuple[str, str, str], KernelCase] = {}
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
