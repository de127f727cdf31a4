"""The sum of Kirchhoff migration as `lab kernels` times it: one block of traces, prepared and summed in every way.

A contribution is one sample of one trace added to one sample of the image, counted after aperture and mute: from the
first sample that a trace reaches at a location to the last. The geometry is the founding case's: traces of 625 samples
at 8 ms with offsets up to 3 km, bins of 15 m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels import kirchhoff, kirchhoff_reference
from subsalt.kernels.kirchhoff_arguments import Medium, TraceGeometry
from subsalt.machine.records import wrong_answer
from subsalt.machine.stats import ratio, summary
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import Prepared, prepare
from subsalt_lab.rounds import Work

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


def verify(isa: str, threads: int, eta: bool = False, kinds: Sequence[str] = tuple(KINDS)) -> None:
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


def rows(
    bench: SumBench,
    isas: Sequence[str],
    threads: int,
    timed: Callable[[Mapping[str, Work]], Mapping[str, list[float]]],
    kinds: Sequence[str] = tuple(KINDS),
) -> list[dict[str, Any]]:
    """Return a row per instruction set and kind, all `timed` in the same rounds, after their answers were compared."""
    for isa in isas:
        verify(isa, threads, bench.eta, kinds)
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
