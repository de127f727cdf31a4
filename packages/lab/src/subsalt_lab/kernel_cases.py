"""Everything that `lab kernels` times on the wavefields of a bench, with one instruction set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from subsalt.kernels import cpu, sweeps
from subsalt_lab.kernel_bench import RECEIVERS, Bench
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.memory import MULTIPLY_ADDS
from subsalt_lab.rounds import Work


@dataclass(frozen=True)
class Case:
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


def cases(bench: Bench, isa: str) -> list[Case]:
    """Return what is timed; the core step is called ``core``."""

    def forced(run: Callable[[], Any]) -> Work:
        def work() -> None:
            with cpu.forced(isa, threads=bench.threads):
                run()

        return work

    def add(name: str, kind: str, run: Callable[[], Any], boundary: str = "none") -> None:
        out.append(Case(name, kind, boundary, forced(run)))

    out: list[Case] = []
    for boundary, width in LAYERS.items():
        name = "core" if boundary == "none" else f"{boundary} {width}"
        add(name, "step", partial(bench.step, boundary), boundary)
        with cpu.forced(isa, threads=bench.threads):
            rows, per_pass = bench.settle(boundary)
        run = forced(partial(bench.segment, boundary))
        out.append(
            Case(f"{name}, segment", "step", boundary, run, "segment", bench.steps_per_call, per_pass, rows)
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
