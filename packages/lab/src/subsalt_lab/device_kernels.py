"""How many point-steps per second does each kernel do on the GPU, and which share of its copy bandwidth is that?

All steps of a medium, order and storage run round robin with a copy in the memory of the GPU, so that a share is of
what the memory gave in the same rounds. Before any figure the fields of every kind of step are compared, bit for bit,
with those of the processor on a small grid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from subsalt import kernels
from subsalt.errors import DeviceError
from subsalt.kernels.problem import Problem, State, pack
from subsalt.kernels.work import Work
from subsalt.machine.load import Watch
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.methods.rtm.speed import bytes_of, cost
from subsalt.propagation.march import stepper_of
from subsalt.report.table import Column
from subsalt_lab.kernel_bench import bytes_needed
from subsalt_lab.kernel_models import LAYERS, KernelModel
from subsalt_lab.result import Result, Say
from subsalt_lab.rounds import Clock, round_robin

#: points per axis of the grid on which answers are compared, and its steps: the wave crosses the layers
SMALL, STEPS_COMPARED = 48, 12
#: what is timed
BOUNDARIES = ("none", "pml")
#: points per axis that two layers, what reaches into them, and a core need
SMALLEST = 64
#: bytes of the arrays that are copied: many times the caches of any GPU
COPIED = 1 << 30
#: seconds a sample takes at least: thousands of launches, tens of steps
SAMPLE_SECONDS = 0.2
#: no time index is a multiple of it: whether the field is finite is not looked at
NEVER = 1 << 30
#: part of the free memory of the GPU that the arrays may take
MEMORY_SHARE = 0.9
#: steps of one call
STEPS = 20

#: shares of the copy bandwidth to reach, with models in float32 (bytes per point: `operations`)
BAR = {"isotropic": 0.70, "vti": 0.70, "tti": 0.45}

UNITS = {
    "points_per_s": "point-steps/s, layer included",
    "seconds": "s per time step; of the copy per call",
    "spread": "half the interquartile range over the median",
    "copy_gb_s": "GB/s of a copy in the memory of the GPU, bytes read and written",
    "of_copy": "bytes per second of the step, every array once, over those of the copy in the same rounds",
    "predicted_of_copy": "the share that was to be reached",
    "layer_extra": "time over that of the core, minus 1",
}

COLUMNS = (
    Column("medium", ""),
    Column("order", "order"),
    Column("n", "n"),
    Column("model_storage", "model"),
    Column("boundary", "layer"),
    Column("predicted_of_copy", "bar %", ".0f", 100),
    Column("of_copy", "% of copy", ".1f", 100),
    Column("points_per_s", "Gpt-steps/s", ".2f", 1e-9),
    Column("spread", "± %", ".1f", 100),
    Column("copy_gb_s", "copy GB/s", ".0f"),
    Column("layer_extra", "layer extra", "+.3f"),
)


@dataclass(frozen=True)
class Settings:
    """Settings of the measurement.

    Parameters
    ----------
    media, orders, storages : sequence
        Every combination that exists is measured.
    n : int
        Points per axis, layer included.
    rounds : int
        Samples of each case.
    """

    media: Sequence[str]
    orders: Sequence[int]
    storages: Sequence[str] = ("f32", "u16")
    n: int = 512
    rounds: int = 7


class DeviceBench:
    """The wavefields of one model on the GPU, and every kind of step on them."""

    def __init__(
        self, model: KernelModel, storage: str, boundaries: Sequence[str], device: str = "cuda"
    ) -> None:
        self.model, self.storage, self.device = model, storage, kernels.get(device)
        self.problems = {boundary: self._problem(boundary) for boundary in boundaries}
        self.segments = {
            boundary: stepper_of(self.device, p, Work()) for boundary, p in self.problems.items()
        }
        self.state: State = self.device.new_state(next(iter(self.problems.values())))
        self.memory = {boundary: self.device.new_memory(p) for boundary, p in self.problems.items()}

    def _problem(self, boundary: str) -> Problem:
        problem = self.model.problem(boundary)
        if self.storage == "u16":
            pack(problem)
        return problem

    def load(self) -> None:
        """Fill both time levels with noise and clear the memory of every layer."""
        padded = self.model.layout.pad(self.model.start)
        for a in (*self.state.prev, *self.state.curr):
            self.device.copy(a, padded)
        for memory in self.memory.values():
            for a in memory.values():
                a.fill(0)
        # noise is everywhere: how far it has come does not matter
        self.state.it, self.state.whole = 0, True

    def advance(self, boundary: str, steps: int) -> None:
        """Do some time steps as `migrate` does them; they are done when it returns."""
        self.state.memory = self.memory[boundary]
        self.segments[boundary].advance(self.state, steps, NEVER, True)


def measure(
    settings: Settings,
    *,
    clock: Clock = time.perf_counter,
    seconds: float = SAMPLE_SECONDS,
    copied: int = COPIED,
    small: int = SMALL,
    say: Say = lambda text: None,
) -> Result:
    """Measure every combination of medium, order and storage on the GPU of this process.

    Parameters
    ----------
    settings : Settings
        Settings of the measurement.
    clock : callable
        Returns seconds.
    seconds : float
        Length of a sample at least.
    copied : int
        Bytes of the arrays of the copy.
    small : int
        Points per axis of the grid on which answers are compared.
    say : callable
        Callback for progress text.

    Raises
    ------
    DeviceError
        When there is no GPU, or its memory does not hold the arrays.
    SubsaltError
        When a field differs from that of the processor.
    """
    from subsalt.kernels import cuda_library

    gpu = cuda_library.chosen()
    rows: list[dict[str, Any]] = []
    with Watch(1) as watch:
        for medium, order, storage in _combinations(settings):
            say(f"kernels on {gpu.name}: {medium}, order {order}, models {storage}")
            _refuse_too_large(settings.n, medium, order, storage, copied)
            verify(KernelModel(small, medium, order), storage)
            bench = DeviceBench(KernelModel(settings.n, medium, order), storage, BOUNDARIES)
            bench.load()
            work = {boundary: _steps(bench, boundary) for boundary in bench.problems}
            taken = round_robin(work, settings.rounds, seconds=seconds, clock=clock, before=bench.load)
            rows += _rows(bench, gpu.name, {k: [t / STEPS for t in v] for k, v in taken.items()}, copied)
            del bench, work  # their arrays are gigabytes
    notes = ["emulated device: the figures mean nothing"] if cuda_library.availability().emulated else []
    facts = {"device": gpu.name, "driver": cuda_library.availability().driver, "layers": LAYERS}
    return Result(
        "device_kernels",
        asdict(settings) | facts,
        rows,
        UNITS,
        watch.facts(),
        [
            *notes,
            "a share is of the copy measured right after the rounds of its row",
            *filter(None, [watch.text()]),
        ],
    )


def _steps(bench: DeviceBench, boundary: str) -> Callable[[], None]:
    return lambda: bench.advance(boundary, STEPS)


def _combinations(settings: Settings) -> Iterator[tuple[str, int, str]]:
    for medium in settings.media:
        for order in settings.orders:
            for storage in settings.storages:
                if storage == "f32" or cost(medium).packed is not None:
                    yield medium, order, storage


def verify(model: KernelModel, storage: str) -> None:
    """Compare the fields of every kind of step with those of the processor, bit for bit.

    Raises
    ------
    SubsaltError
        When two differ; nothing may be reported then.
    """
    for boundary in BOUNDARIES:
        fields = []
        for device in ("cpu", "cuda"):
            bench = DeviceBench(model, storage, (boundary,), device)
            bench.load()
            bench.advance(boundary, STEPS_COMPARED)
            fields.append([np.asarray(a).view(np.uint32) for a in bench.state.curr])
        for ours, theirs in zip(*fields, strict=True):
            view = model.layout.view
            if not np.array_equal(view(ours), view(theirs)):
                raise wrong_answer(
                    f"{model.medium}, order {model.order}, models {storage}, {boundary}: on the GPU"
                )


def _refuse_too_large(n: int, medium: str, order: int, storage: str, copied: int) -> None:
    """Refuse a grid whose arrays the GPU does not hold."""
    from subsalt.kernels import cuda_library

    free, _ = cuda_library.free_memory()
    need = bytes_needed(n, medium, order, storage == "u16") + 2 * copied
    if need > MEMORY_SHARE * free:
        raise DeviceError(
            f"-n {n}: the arrays of {medium} take {need / 1e9:.1f} GB of the {free / 1e9:.1f} GB free on the GPU",
            "use a smaller -n",
            code="E988",
        )


def _rows(bench: DeviceBench, name: str, taken: dict[str, list[float]], copied: int) -> list[dict[str, Any]]:
    """Return one row per boundary."""
    from subsalt.kernels.cuda_library import copies

    model, rows = bench.model, []
    copy = 2 * copied / median(copies(copied, len(taken["none"])))
    moved = bytes_of(model.medium, bench.storage)
    for boundary, seconds in taken.items():
        middle = summary(seconds)
        rate = model.n**3 / middle.median
        rows.append(
            {
                "device": name,
                "medium": model.medium,
                "dim": 3,
                "order": model.order,
                "n": model.n,
                "model_storage": bench.storage,
                "boundary": boundary,
                "layer_cells": LAYERS[boundary],
                "loop": "segment",
                "points_per_s": rate,
                "seconds": seconds,
                "spread": middle.spread,
                "copy_gb_s": copy / 1e9,
                "of_copy": rate * moved / copy,
                "predicted_of_copy": BAR[model.medium] if boundary == "none" else None,
                "layer_extra": None if boundary == "none" else ratio(seconds, taken["none"]).median - 1,
            }
        )
    return rows


def for_machine(result: Result) -> list[dict[str, Any]]:
    """Return the rows a plan needs, without samples."""
    return result.for_machine("seconds")
