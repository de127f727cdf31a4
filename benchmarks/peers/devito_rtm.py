"""Devito's side of a migration: forward with saved snapshots, then backward with imaging.

``devito_rtm.py CASE CELLS[-two-levels|-double]``, CELLS of damping around the interior; with two time levels the new
one overwrites the oldest, as ours does; ``-double`` computes in float64. As in Devito's own examples: the source field
is saved every k-th step through a `ConditionalDimension`, the receiver field runs backwards and the product is
accumulated at the same steps. Sources and receivers stand on nodes, so that both sides inject the same numbers.
"""

from __future__ import annotations

import time
from dataclasses import replace

import earth
import numpy as np
from cases import parse
from devito import (
    Buffer,
    ConditionalDimension,
    Eq,
    Function,
    Grid,
    Inc,
    Operator,
    SparseTimeFunction,
    TimeFunction,
    configuration,
)
from devito import __version__ as version
from protocol import serve

configuration["log-level"] = "WARNING"
configuration["language"] = "openmp"


class DevitoMigration:
    """The two operators of a migration and their arrays."""

    def __init__(self, name: str, variant: str) -> None:
        cells, _, how = variant.partition("-")
        self.case = case = replace(parse(name), layer=int(cells))
        self.nt = case.steps
        extent = tuple((n - 1) * case.spacing for n in case.shape)
        self.dtype = np.float64 if how == "double" else np.float32
        self.grid = Grid(case.shape, extent=extent, dtype=self.dtype)
        self.m = Function(name="m", grid=self.grid, space_order=2)  # points interpolate it
        dt = earth.time_step(case)
        self.m.data[:] = (earth.migration_velocity(case, case.layer).astype(np.float64) * dt) ** 2
        every = ConditionalDimension("every", parent=self.grid.time_dim, factor=case.snapshot_every)
        count = self.nt // case.snapshot_every + 1
        self.kept = TimeFunction(
            name="kept", grid=self.grid, time_order=0, space_order=0, save=count, time_dim=every
        )
        self.image = Function(name="image", grid=self.grid, space_order=0)
        keep = {"save": Buffer(2)} if how == "two-levels" else {}
        self.u, self.w = (
            TimeFunction(name=n, grid=self.grid, time_order=2, space_order=case.order, **keep) for n in "uw"
        )
        source, receivers = earth.points_of_shot(case)
        self.src = self._points("src", np.array([source]))
        self.rec = self._points("rec", receivers)
        self.src.data[:, 0] = earth.wavelet(case, self.nt + 1)
        self.blocks: dict[str, dict[str, int]] = {}
        self._build()
        self.about = {"peer": "Devito", "version": version, "variant": variant, "blocks": self.blocks}

    def _points(self, name: str, indices: np.ndarray) -> SparseTimeFunction:
        """Return sparse points on nodes of the interior."""
        f = SparseTimeFunction(name=name, grid=self.grid, npoint=len(indices), nt=self.nt + 1)
        f.coordinates.data[:] = (indices + self.case.layer) * self.case.spacing
        return f

    def _build(self) -> None:
        """Make and tune both operators."""
        case, t = self.case, 0
        dt, vmax = earth.time_step(case), float(earth.migration_velocity(case, 0).max())
        for d, sigma in zip(self.grid.dimensions, earth.damping_axes(case, vmax), strict=True):
            f = Function(name=f"t{d.name}", grid=self.grid, dimensions=(d,), shape=sigma.shape, space_order=0)
            f.data[:] = (sigma * dt).astype(self.dtype)
            t = t + f
        u, w, m, volume = self.u, self.w, self.m, case.spacing**case.ndim
        ahead = Eq(u.forward, (2 * u - (1 - t) * u.backward + m * u.laplace) / (1 + t))
        back = Eq(w.backward, (2 * w - (1 - t) * w.forward + m * w.laplace) / (1 + t))
        subs = self.grid.spacing_map
        self.forward = Operator(
            [ahead, self.src.inject(field=u.forward, expr=self.src * m / volume), Eq(self.kept, u)],
            name="Forward",
            subs=subs,
        )
        self.backward = Operator(
            [
                back,
                self.rec.inject(field=w.backward, expr=self.rec * m / volume),
                Inc(self.image, self.kept * w),
            ],
            name="Backward",
            subs=subs,
        )
        for name, op in (("forward", self.forward), ("backward", self.backward)):
            self.blocks[name] = self._tune(op)

    def _tune(self, op: Operator) -> dict[str, int]:
        """Return the block shape that is fastest: Devito's own search in 3-D, which finds nothing to try in 2-D."""
        steps = min(60, self.nt - 1)
        names = [p.name for p in op.parameters if "_blk" in p.name and p.name.endswith("_size")]
        if self.case.ndim == 3 or not names:
            op.apply(time_m=1, time_M=3, autotune=("aggressive", "destructive"))
            tuned = [e.get("tuned", {}) for e in op._state.get("autotuning", [])]
            return {k: int(v) for e in tuned for k, v in e.items() if k != "nthreads"}
        seconds = {}
        for size in (8, 8, 16, 32, 64, 128):  # the first trial compiles
            blocks = dict.fromkeys(names, int(size))
            start = time.perf_counter()
            op.apply(time_m=1, time_M=steps, autotune=False, **blocks)
            seconds[size] = time.perf_counter() - start
        return dict.fromkeys(names, min(seconds, key=seconds.__getitem__))

    def data(self, path: str) -> None:
        """Load the traces (receiver, sample) that `subsalt_rtm.py` made."""
        traces = np.load(path)
        self.rec.data[:] = 0
        self.rec.data[: traces.shape[1]] = traces.T

    def round(self) -> float:
        """Migrate; return the seconds of the two operators."""
        for f in (self.u, self.w, self.image):
            f.data[:] = 0
        start = time.perf_counter()
        self.forward.apply(time_m=0, time_M=self.nt - 1, autotune=False, **self.blocks["forward"])
        self.backward.apply(time_m=1, time_M=self.nt - 1, autotune=False, **self.blocks["backward"])
        return time.perf_counter() - start

    def save(self, out: str) -> float:
        """Save the image, layer included; return its largest absolute value."""
        scale = self.case.snapshot_every * earth.time_step(self.case)
        image = np.asarray(self.image.data) * self.dtype(scale)
        np.save(out, image)
        return float(np.abs(image).max())


if __name__ == "__main__":
    serve(DevitoMigration)
