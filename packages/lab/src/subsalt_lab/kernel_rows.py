"""From the samples of `lab kernels` to its rows: rates, and ratios to the yardsticks of the same rounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from subsalt.kernels import sweeps
from subsalt.machine.operations import bytes_of, cost
from subsalt.machine.stats import ratio, summary
from subsalt.numerics.stencil import radius_of
from subsalt_lab.kernel_bench import Bench
from subsalt_lab.kernel_cases import Case
from subsalt_lab.kernel_models import LAYERS
from subsalt_lab.memory import MULTIPLY_ADDS

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
