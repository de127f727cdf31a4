"""Blocks of locations and prepared traces at random, for tests of the sum over traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from subsalt.acquisition.survey import TimeAxis
from subsalt.kernels import kirchhoff, kirchhoff_reference
from subsalt.kernels.kirchhoff_arguments import Below, Medium, TraceGeometry
from subsalt.methods.kirchhoff.options import KirchhoffOptions
from subsalt.methods.kirchhoff.prepare import Prepared, prepare

AXES = np.array([[0.6, 0.8], [-0.8, 0.6]])


@dataclass
class Block:
    """Everything that `sum_traces` takes, and how to call it."""

    points: np.ndarray
    v: np.ndarray
    eta: np.ndarray | None
    time: TimeAxis
    traces: np.ndarray
    record: TimeAxis
    geometry: TraceGeometry
    options: KirchhoffOptions
    classes: int = 3
    spacing: tuple[float, float] = (25.0, 25.0)
    prepared: Prepared | None = None
    below: Below | None = None

    def empty(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return an image, hits and fold of zeros."""
        n, nt = self.v.shape
        return (
            np.zeros((n, self.classes, nt), np.float32),
            np.zeros((n, nt + 1), np.int32),
            np.zeros((n, self.classes), np.int32),
        )

    def ready(self) -> Prepared:
        """Return the prepared traces."""
        if self.prepared is None:
            self.prepared = prepare(self.traces, self.record, self.options, 1)
        return self.prepared

    def sum(self, out: Any = None, locations: slice = slice(None), traces: slice = slice(None), **how: Any):
        """Return image, hits, fold and contributions of the compiled sum; `out` is added to."""
        return self._call(kirchhoff.sum_traces, out, locations, traces, **how)

    def reference(self, out: Any = None, locations: slice = slice(None), traces: slice = slice(None)):
        """Return the same of the sum in NumPy."""
        return self._call(kirchhoff_reference.sum_traces, out, locations, traces)

    def _call(self, function: Any, out: Any, locations: slice, traces: slice, **how: Any):
        image, hits, fold = self.empty() if out is None else out
        eta = None if self.eta is None else self.eta[locations]
        g, p = self.geometry, self.ready()
        b = self.below
        below = None if b is None else Below(b.zero[locations], b.surface[locations])
        integrals = None if p.integrals is None else p.integrals[traces]
        done = function(
            image[locations],
            hits[locations],
            fold[locations],
            self.points[locations],
            AXES,
            Medium(self.v[locations], eta, below),
            self.time,
            replace(p, samples=p.samples[traces], integrals=integrals),
            g.some(traces),
            self.options,
            self.spacing,
            **how,
        )
        return image, hits, fold, done


def make_block(
    seed: int = 0,
    *,
    locations: int = 7,
    traces: int = 9,
    nt: int = 203,
    ns: int = 240,
    first: float = 0.0,
    eta: bool = False,
    **options: Any,
) -> Block:
    """Return a block: velocities that grow downwards, legs up to 2 km, traces of noise below half of Nyquist."""
    rng = np.random.default_rng(seed)
    time, record = TimeAxis(nt, 0.008), TimeAxis(ns, 0.008, first)
    src, rcv = rng.uniform(-900, 900, (2, traces, 2))
    top, growth = rng.uniform(1500, 2200, (locations, 1)), rng.uniform(300, 900, (locations, 1))
    spectrum = np.fft.rfft(rng.standard_normal((traces, ns)))
    spectrum[:, spectrum.shape[1] // 2 :] = 0
    slot = rng.integers(0, 3, traces).astype(np.int32)
    slot[rng.integers(0, traces)] = -1
    geometry = TraceGeometry(
        src,
        rcv,
        rng.uniform(0.5, 2, traces).astype(np.float32),
        slot,
        rng.integers(0, 3, traces).astype(np.int32),
    )
    return Block(
        rng.uniform(-600, 600, (locations, 2)),
        (top + growth * time.values()).astype(np.float32),
        rng.uniform(-0.05, 0.2, (locations, 1)).astype(np.float32) * np.ones((1, nt), np.float32)
        if eta
        else None,
        time,
        np.fft.irfft(spectrum, ns).astype(np.float32),
        record,
        geometry,
        KirchhoffOptions(**options),
    )


def on_topography(block: Block, seed: int = 0) -> Block:
    """Return the block with ends of traces up to 0.1 s above and below the locations, each location of its own."""
    rng = np.random.default_rng(seed)
    n, nloc = len(block.traces), len(block.points)
    geometry = replace(
        block.geometry, height=rng.uniform(-0.1, 0.1, (n, 2)), late=rng.uniform(-0.02, 0.02, n)
    )
    return replace(block, geometry=geometry, below=Below(*rng.uniform(-0.05, 0.05, (2, nloc))))
