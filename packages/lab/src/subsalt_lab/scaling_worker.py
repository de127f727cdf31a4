"""One rank of ``subsalt lab scaling``: time steps of a shot cut into slabs, and nothing else.

``python -m subsalt_lab.scaling_worker SETTINGS`` with SETTINGS one JSON object (`RankWork`; with 0 steps only where the
ranks are is told). Rank 0 prints one JSON object: seconds of the slowest rank, point-steps, a hash of the field, where
the ranks run.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.model_like import Medium, ModelLike
from subsalt.io.tile_cache import remember_tiles
from subsalt.kernels import cpu
from subsalt.parallel import comm
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator
from subsalt_lab.topology import Topology

#: what starts the line with the answer; MPI libraries print lines of their own
ANSWER = "subsalt-scaling "
SPACING = 10.0
#: cells of the absorbing layer on all sides
LAYER = 12
#: planes after which the model repeats itself
PERIOD = 7
#: cells between the receivers that record
RECEIVERS_EVERY = 4


@dataclass(frozen=True)
class RankWork:
    """The propagation that every rank runs.

    Parameters
    ----------
    grid : tuple of int
        Points along x, y, z of the computational grid, layer included.
    medium : str
        ``"isotropic"``, ``"vti"`` or ``"tti"``.
    steps : int
        Time steps that are timed; 0 only tells where the ranks run.
    warm : int
        Steps before them.
    threads : int
        Threads of each rank.
    layer : int
        Cells of the absorbing layer on all sides.
    """

    grid: tuple[int, int, int]
    medium: str
    steps: int
    warm: int
    threads: int
    layer: int = LAYER

    def text(self) -> str:
        """Return what the command line carries."""
        return json.dumps(asdict(self))


class MadeModel:
    """A model whose values are made where they are asked for, so that a rank holds its own planes and no others.

    No two neighbouring planes are alike: a plane in the wrong place shows in the field.

    Parameters
    ----------
    work : RankWork
        Its grid and medium.
    """

    def __init__(self, work: RankWork) -> None:
        shape = tuple(n - 2 * work.layer for n in work.grid)
        self.grid = Grid(shape, (SPACING,) * 3)
        self.kind = work.medium
        # planes repeat along x: a few of them have every value, and with them the numbers about the whole
        self.sample = self._values(Grid((2 * PERIOD, 8, shape[2]), (SPACING,) * 3), 0, np.arange(shape[2]))
        self.medium = self.sample.medium
        self.tilt_is_idle = False
        self.fastest = self.sample.fastest
        self.choose_dt = self.sample.choose_dt

    def window(self, box: Box) -> EarthModel:
        """Return the model in a box; outside the grid the nearest value is continued."""
        nz = self.grid.shape3[2]
        return self._values(
            self.grid.window(box), box.lo[0], np.clip(np.arange(box.lo[2], box.hi[2]), 0, nz - 1)
        )

    def _values(self, grid: Grid, first: int, depth: NDArray[np.int64]) -> EarthModel:
        x = np.clip(np.arange(first, first + grid.shape[0]), 0, self.grid.shape[0] - 1)
        vp = np.empty(grid.shape, np.float32)
        vp[:] = (2000.0 + 2.0 * depth + 20.0 * (x % PERIOD)[:, None])[:, None, :]
        values: dict[str, Any] = {} if self.kind == "isotropic" else {"epsilon": 0.2, "delta": 0.1}
        if self.kind == "tti":
            values |= {"theta": 0.4, "phi": 0.3}
        return EarthModel(grid, vp, **values)


def measure(work: RankWork, world: comm.Comm) -> dict[str, Any]:
    """Return what rank 0 prints; collective."""
    kernels.prepare("cpu", work.threads)
    remember_tiles()
    topology = Topology.here()
    cpus = sorted(c for core in topology.cores for c in core)
    where = world.gather({"host": world.host, "cpus": cpus, "per_core": topology.per_core})
    facts: dict[str, Any] = {"ranks": world.size, "where": where}
    if work.steps == 0:
        return facts
    model = cast(ModelLike, MadeModel(work))
    nx, ny, nz = model.grid.shape3
    middle = np.array([[nx / 2 * SPACING + 3.0, ny / 2 * SPACING + 1.0, nz / 2 * SPACING]])
    line = np.array(
        [[i * SPACING, ny / 2 * SPACING, nz / 4 * SPACING] for i in range(0, nx, RECEIVERS_EVERY)]
    )
    group = world if world.size > 1 else None
    medium = cast(Medium, work.medium)
    # hashes are of whole planes
    options = PropagationOptions(medium=medium, decomp="slabs")
    prop = Propagator(model, options, model.choose_dt(options.weights, None, 0.0), group=group)
    samples = np.sin(np.linspace(0.1, 6.0, work.warm + work.steps))[None]
    source = prop.source(middle, samples)
    recorder = prop.recorder(line, work.warm + work.steps + 1)
    state = prop.new_state()
    with cpu.forced(front=False):  # one process would leave out what the wave has not reached, slabs do not
        prop.advance(state, work.warm, sources=[source], recorders=[recorder])
        world.max(0)  # all begin together
        begin = time.perf_counter()
        prop.advance(state, work.steps, sources=[source], recorders=[recorder])
        seconds = world.max(time.perf_counter() - begin)
    return facts | {
        "seconds": seconds,
        "point_steps": work.steps * int(np.prod(work.grid)),
        "field": field_hash(prop, state, world),
    }


def field_hash(prop: Propagator, state: Any, world: comm.Comm) -> str:
    """Return a hash of the current fields that does not depend on how they are cut; collective."""
    planes: list[str] = []
    for field in state.curr:
        view = prop.layout.view(field)[prop.owned.slices]
        planes += [hashlib.sha256(np.ascontiguousarray(plane).tobytes()).hexdigest() for plane in view]
    per_field = len(planes) // len(state.curr)
    parts = world.gather([planes[k : k + per_field] for k in range(0, len(planes), per_field)])
    if parts is None:
        return ""
    ordered = "".join(h for f in range(len(state.curr)) for part in parts for h in part[f])
    return hashlib.sha256(ordered.encode()).hexdigest()[:16]


def main(text: str) -> None:
    """Measure and print."""
    given = json.loads(text)
    work = RankWork(**{**given, "grid": tuple(given["grid"])})
    world = comm.world()
    answer = measure(work, world)
    if world.is_root:
        print(ANSWER + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
