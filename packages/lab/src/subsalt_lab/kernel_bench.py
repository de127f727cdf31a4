"""The wavefields, models and layers of one medium that `lab kernels` times, and every way to advance them."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from subsalt.acquisition.injection import Points
from subsalt.kernels import cpu
from subsalt.kernels.problem import FIELD_NAMES, Layout, pack
from subsalt.numerics.stencil import radius_of
from subsalt_lab import sweeps
from subsalt_lab.kernel_models import LAYERS, KernelModel
from subsalt_lab.memory import MULTIPLY_ADDS
from subsalt_lab.rounds import Work

#: points per axis that two damping layers and a core need
SMALLEST = 96
#: media whose step exists as a plain loop too
WITH_PLAIN_LOOP = ("isotropic", "vti")
#: receivers of a shot, for what recording and injection cost
RECEIVERS = 2000
#: time steps per call of the segment, whole passes of every depth; fewer for TTI, which does one per pass
STEPS_PER_CALL = {"isotropic": 12, "vti": 12, "tti": 2}
#: no time index is a multiple of it: whether the field is finite is timed by itself
NEVER = 1 << 30


def bytes_needed(n: int, medium: str, order: int, packed: bool) -> int:
    """Return the bytes of all arrays of a `Bench`, with its `packed` one in addition or not."""
    layout = Layout((n, n, n), radius_of(order), 3)
    padded = 4 * math.prod(layout.padded_shape)
    models = {"isotropic": 1, "vti": 3, "tti": 9}[medium]  # of TTI the axis twice: upright in the PML
    levels = 2 * len(FIELD_NAMES[medium])
    kinds = 3 if medium == "tti" else 2
    memory = kinds * 4 * n * n * (4 * LAYERS["pml"] + 2 * 16)
    return padded * (levels + models) + (padded * models // 2 if packed else 0) + memory + 4 * 4 * n**3


class Bench(KernelModel):
    """Wavefields, models and layers of one medium on n^3 points, all points counted.

    Parameters
    ----------
    n : int
        Points per axis, layer included.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    order : int
        Order of the stencil in space.
    threads : int
        Threads that touch the arrays first.
    """

    def __init__(self, n: int, medium: str, order: int, threads: int) -> None:
        self.threads = threads
        with cpu.forced(threads=threads):
            super().__init__(n, medium, order)
            self.storage = "f32"
            self.problems = {boundary: self.problem(boundary) for boundary in LAYERS}
            self.segments = {boundary: cpu.Segment(p) for boundary, p in self.problems.items()}
            self.state = cpu.new_state(self.problems["pml"])
            self.memory = self.state.memory
            self.image, self.snap = (sweeps.zeros(self.layout.shape3, threads) for _ in range(2))
        self.points, self.values = self._points(), np.full(RECEIVERS, 1e-9, np.float32)

    @property
    def name(self) -> str:
        """Medium, order and storage, for messages."""
        return f"{self.medium}, order {self.order}, models {self.storage}"

    @property
    def steps_per_call(self) -> int:
        """Time steps that `segment` does."""
        return STEPS_PER_CALL[self.medium]

    @property
    def has_plain_loop(self) -> bool:
        """Whether the core step exists as a plain loop too."""
        return self.medium in WITH_PLAIN_LOOP and self.storage == "f32"

    def packed(self) -> Bench:
        """Return a bench on the same wavefields with model arrays of 16 bits."""
        other = copy.copy(self)
        other.storage = "u16"
        other.problems = {boundary: self.problem(boundary) for boundary in LAYERS}
        first, *rest = other.problems.values()
        pack(first)
        with cpu.forced(threads=self.threads):
            cpu.Segment(first)  # moves the packed model to aligned memory: one for all problems
            for problem in rest:
                problem.params, problem.scales = dict(first.params), dict(first.scales)
            other.segments = {boundary: cpu.Segment(p) for boundary, p in other.problems.items()}
        return other

    def _points(self) -> Points:
        rng = np.random.default_rng(1)
        base = rng.integers(20, self.n - 28, (RECEIVERS, 3)).astype(np.int32)
        base[:, 2] = 20
        return Points(base, rng.uniform(-1, 1, (RECEIVERS, 3, 8)).astype(np.float32))

    def load(self) -> None:
        """Fill both time levels with noise and clear the memory of the layer."""
        self.state.memory = self.memory
        self.state.clear()
        for a in (*self.state.prev, *self.state.curr):
            self.layout.view(a)[...] = self.start

    def step(self, boundary: str) -> None:
        """Do a time step in one call, as `Propagator.advance` without its segment does."""
        self.state.memory = self.memory if boundary == "pml" else {}
        cpu.time_step(self.problems[boundary], self.state)
        self.state.rotate()

    def step_by_boxes(self, boundary: str) -> None:
        """Do a time step by the functions of boxes: memory of the layer, then fields."""
        self.state.memory = self.memory if boundary == "pml" else {}
        cpu.memory_step(self.problems[boundary], self.state, self.box)
        cpu.field_step(self.problems[boundary], self.state, self.box)
        self.state.rotate()

    def segment(self, boundary: str) -> None:
        """Do `steps_per_call` time steps in one call, as `migrate` and `model` do them."""
        self.state.memory = self.memory if boundary == "pml" else {}
        self.segments[boundary].advance(self.state, self.steps_per_call, NEVER, False)

    def settle(self, boundary: str) -> tuple[int | None, int]:
        """Return the rows per tile and steps per pass of the segment, after it has tried them.

        The segment of TTI has tiles of its own and does one step per pass.
        """
        if self.medium == "tti":
            return None, 1
        self.load()
        self.state.memory = self.memory if boundary == "pml" else {}
        rows, per_pass, _ = cpu.settle(self.problems[boundary], self.state)
        return rows, per_pass

    def plain(self) -> None:
        """Do a time step of the core by the plain loop."""
        cpu.plain_step(self.problems["none"], self.state)
        self.state.rotate()

    def roof(self) -> None:
        """Do what a time step of the core does to memory."""
        cpu.roof_step(self.problems["none"], self.state)
        self.state.rotate()


@dataclass(frozen=True)
class KernelCase:
    """One thing that is timed.

    Parameters
    ----------
    name : str
        For people.
    kind : str
        ``"step"`` (advances the wavefield), ``"yardstick"``, or ``"part"`` (of a run, beside the steps).
    boundary : str
        Layer of a step.
    loop : str
        ``"step"`` (one call per time step) or ``"segment"`` (several).
    steps : int
        Time steps done by one call.
    per_pass : int
        Time steps per pass over memory.
    tile_rows : int or None
        Rows per tile that the segment chose; 0: one tile per thread.
    run : callable
        One call.
    """

    name: str
    kind: str
    boundary: str
    run: Work
    loop: str = "step"
    steps: int = 1
    per_pass: int = 1
    tile_rows: int | None = None


def cases(bench: Bench, isa: str) -> list[KernelCase]:
    """Return what is timed; the core step is called ``core``."""

    def forced(run: Callable[[], Any]) -> Work:
        def work() -> None:
            with cpu.forced(isa, threads=bench.threads):
                run()

        return work

    def add(name: str, kind: str, run: Callable[[], Any], boundary: str = "none") -> None:
        out.append(KernelCase(name, kind, boundary, forced(run)))

    out: list[KernelCase] = []
    for boundary, width in LAYERS.items():
        name = "core" if boundary == "none" else f"{boundary} {width}"
        add(name, "step", partial(bench.step, boundary), boundary)
        with cpu.forced(isa, threads=bench.threads):
            rows, per_pass = bench.settle(boundary)
        run = forced(partial(bench.segment, boundary))
        out.append(
            KernelCase(
                f"{name}, segment", "step", boundary, run, "segment", bench.steps_per_call, per_pass, rows
            )
        )
    if bench.has_plain_loop:
        add("plain loop", "yardstick", bench.plain)
    add("roof", "yardstick", bench.roof)
    adds = partial(sweeps.multiply_add, 0.5, 1.0, MULTIPLY_ADDS, threads=bench.threads, isa=isa)
    add("multiply-add", "yardstick", adds)
    if bench.storage == "f32":  # they read no model
        for name, run in parts(bench).items():
            add(name, "part", run)
    return out


def parts(bench: Bench) -> dict[str, Callable[[], Any]]:
    """Return what a run does beside the steps, by name."""
    problem, box = bench.problems["none"], bench.box

    # the state changes its arrays with every step: look them up when called
    return {
        "snapshot": lambda: cpu.snapshot(problem, bench.state.curr, bench.snap, box),
        "correlate": lambda: cpu.correlate(problem, bench.image, bench.snap, bench.state.curr, box, 1.0),
        "square": lambda: cpu.square(problem, bench.image, bench.snap, 1.0),
        "is_finite": lambda: cpu.is_finite(problem, bench.state.curr),
        f"record {RECEIVERS}": lambda: cpu.record(problem, bench.state.curr, bench.points),
        f"inject {RECEIVERS}": lambda: cpu.inject(problem, bench.state.curr, bench.points, bench.values),
    }
