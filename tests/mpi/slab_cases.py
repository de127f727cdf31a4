"""Small shots in every medium and layer, for the comparison of groups of ranks with one process.

`answer` computes a case on one process: everything a plane of the computational grid ends up with, and every recorded
trace. `compare` computes it on a group and returns what differs there in a single bit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import kernels
from subsalt.earth.grid import Box, Grid
from subsalt.earth.model import EarthModel
from subsalt.kernels.work import Correlation, Snapshots
from subsalt.parallel.comm import Comm
from subsalt.propagation.blocks import Decomp
from subsalt.propagation.options import PropagationOptions
from subsalt.propagation.propagator import Propagator

#: several passes before and behind the cut of a run in two (`advance`); more of them in ``make test-all``
STEPS = 40 if os.environ.get("SUBSALT_TESTS") == "all" else 24
SPACING = 10.0
#: time indices of the snapshots
IMAGED = range(3, STEPS, 4)


@dataclass(frozen=True)
class Case:
    """One wavefield.

    Parameters
    ----------
    medium : str
        Of the random model.
    shape : tuple of int
        Of the model, 2-D or 3-D.
    options : dict
        Of the propagation.
    window : tuple of int, optional
        Planes of the model along x that are propagated in.
    receivers : str
        ``"spread"`` over the grid, ``"one"``, or ``"low"``: in the first planes only.
    cut : int, optional
        Sources lie around this plane of the computational grid.
    strength : float
        Of the sources; weak ones make sums below the smallest normal number, which are flushed.
    """

    medium: str = "isotropic"
    shape: tuple[int, ...] = (44, 15, 19)
    options: dict[str, Any] = field(default_factory=dict)
    window: tuple[int, int] | None = None
    receivers: str = "spread"
    cut: int | None = None
    strength: float = 1.0

    def model(self) -> EarthModel:
        """Return the random model; anisotropic nodes with epsilon > delta, and any tilt."""
        rng = np.random.default_rng(7)
        grid = Grid(self.shape, (SPACING,) * len(self.shape))
        values = {"vp": rng.uniform(1500, 3000, self.shape)}
        if self.medium != "isotropic":
            values["delta"] = rng.uniform(-0.1, 0.1, self.shape)
            values["epsilon"] = values["delta"] + rng.uniform(0, 0.2, self.shape)
        if self.medium == "tti":
            values["theta"] = rng.uniform(0, 1.5, self.shape)
            if len(self.shape) == 3:
                values["phi"] = rng.uniform(-3, 3, self.shape)
        return EarthModel(grid, **{k: v.astype(np.float32) for k, v in values.items()})

    def propagator(self, group: Comm | None, decomp: Decomp = "slabs") -> Propagator:
        """Return the propagator of a rank of the group, or of one process."""
        model = self.model()
        options = PropagationOptions(**({"layer": 5} | self.options), decomp=decomp)
        window = None
        if self.window is not None:
            window = Box((self.window[0], 0, 0), (self.window[1], *model.grid.shape3[1:]))
        points = np.concatenate([self.sources(), self.receiver_positions()])
        dt = model.choose_dt(options.order)
        return Propagator(model, options, dt, window=window, points=points, taper_at=points, group=group)

    def x_range(self) -> tuple[int, int]:
        """Return the planes of the model in which points lie: no margin is added for their supports."""
        lo, hi = self.window or (0, self.shape[0])
        return lo + 5, hi - 6

    def sources(self) -> NDArray[np.float64]:
        """Return three sources: on a node, off nodes, and one whose support overlaps that of the second."""
        lo, hi = self.x_range()
        middle = (lo + hi) / 2 if self.cut is None else self.cut
        return self._points(np.array([np.rint(middle), middle + 0.37, middle - 2.81]), 0.3)

    def receiver_positions(self) -> NDArray[np.float64]:
        """Return receivers at irregular distances, some on nodes, some at one place."""
        lo, hi = self.x_range()
        if self.receivers == "one":
            return self._points(np.array([(lo + hi) / 2 + 0.5]), 0.6)
        if self.receivers == "low":
            return self._points(np.linspace(lo, lo + 3.7, 5), 0.6)
        off = np.linspace(lo, hi, 23)
        return self._points(np.concatenate([off[::-1], np.arange(lo, hi), off[3:5]]), 0.6)

    def _points(self, x: NDArray[np.float64], depth: float) -> NDArray[np.float64]:
        """Return local positions at x, in cells, and somewhere in y and z."""
        some = np.arange(len(x))
        y = 5.0 + (0.71 * some) % (self.shape[1] - 11) if len(self.shape) == 3 else 0 * x
        z = np.where(some % 3 == 0, 5.0, 5.0 + (depth + 0.53 * some) % (self.shape[-1] - 11))
        return np.stack([x, y, z], axis=1) * SPACING


def advance(
    case: Case, group: Comm | None, loop: str | None = None, decomp: Decomp = "slabs"
) -> dict[str, NDArray]:
    """Return by name what the case leaves on this rank: planes and receivers, of blocks rows of planes."""
    rng = np.random.default_rng(3)
    with case.propagator(group, decomp) as prop:
        src, rcv = case.sources(), case.receiver_positions()
        shot = prop.source(src, case.strength * rng.uniform(-1, 1, (len(src), STEPS)))
        # as many sources as receivers, as in the second half of a migration; it ends early
        spread = prop.source(rcv, case.strength * rng.uniform(-1, 1, (len(rcv), STEPS // 2)))
        recorder = prop.recorder(rcv, STEPS + 1)
        box = prop.interior

        def zeros() -> Any:
            out = prop.kernels.reserve(box.size, prop.dtype).reshape(box.shape)
            out.fill(0)
            return out

        snapshots = {it: np.zeros(box.shape, dtype=prop.dtype) for it in IMAGED}
        energy, image = zeros(), zeros()
        partners = {it: np.full(box.shape, 0.1 * it, dtype=prop.dtype) for it in IMAGED}
        state = prop.new_state()
        for n in (STEPS // 3, STEPS - STEPS // 3):
            prop.advance(
                state,
                n,
                sources=[shot, spread],
                recorders=[recorder],
                snapshots=Snapshots(box, snapshots, energy, 0.5),
                correlation=Correlation(box, partners, image, 0.7),
                loop="python" if loop == "python" else None,
            )
        rows, data = prop.recorded(recorder)
        out = {f"trace {row}": samples.copy() for row, samples in zip(rows, data, strict=True)}
        owned, lo = prop.owned, (prop.domain.slab.lo, prop.domain.across.lo)
        for name, level in (("prev", state.prev), ("curr", state.curr)):
            for f, a in enumerate(level):
                view = prop.layout.view(np.asarray(a))[owned.slices]
                out |= {f"{name} {f} plane {lo[0] + i}": plane.copy() for i, plane in enumerate(view)}
        first = prop.image_box.lo[0]
        images = {f"snapshot {k}": v for k, v in snapshots.items()} | {"energy": energy, "image": image}
        for name, a in images.items():
            out |= {f"{name} plane {first + i}": plane.copy() for i, plane in enumerate(np.asarray(a))}
        if len(prop.domain.rows) > 1:
            return by_row(out, {True: lo[1], False: prop.image_box.lo[1]})
    return out


def by_row(arrays: dict[str, NDArray], first: dict[bool, int]) -> dict[str, NDArray]:
    """Return planes as rows; `first`: number of the first row of fields (True) and of what is imaged (False)."""
    out = {}
    for name, a in arrays.items():
        if " plane " not in name:
            out[name] = a
            continue
        at = first[name.startswith(("prev", "curr"))]
        out |= {f"{name} row {at + i}": row for i, row in enumerate(a)}
    return out


def compare(
    case: Case,
    group: Comm,
    threads: int,
    loop: str | None,
    wanted: dict[str, NDArray],
    decomp: Decomp = "slabs",
) -> list[str]:
    """Return what is not the same on this rank, and what no rank or several have."""
    kernels.get(case.options.get("device", "cpu")).set_threads(threads)
    got = advance(case, group, loop, decomp)
    if any(" row " in name for names in group.allgather(list(got)) for name in names):
        wanted = by_row(wanted, {True: 0, False: 0})
    return differences(got, group, wanted)


def differences(got: dict[str, NDArray], group: Comm, wanted: dict[str, NDArray]) -> list[str]:
    """Return which of a rank's arrays are not those of one process, and whether each is on exactly one rank."""
    wrong = [name for name, a in got.items() if a.tobytes() != wanted[name].tobytes()]
    everywhere = [name for names in group.allgather(sorted(got)) for name in names]
    if sorted(everywhere) != sorted(wanted):
        wrong.append(f"{len(everywhere)} planes and traces instead of {len(wanted)}")
    return wrong


PML = {"boundary": "pml"}
NONE = {"boundary": "none"}

CASES = {
    "iso 3-D pml": Case(options=PML),
    "iso 2-D damping, free surface": Case(
        shape=(60, 40), options={"boundary": "damping", "free_surface": True}
    ),
    "iso 3-D order 4 u16, free surface": Case(
        options={"order": 4, "model_storage": "u16", "free_surface": True}, window=(3, 40)
    ),
    "vti 3-D pml": Case("vti", options=PML, cut=22),
    "vti 3-D damping u16": Case("vti", options={"boundary": "damping", "model_storage": "u16"}),
    "vti 2-D pml free surface": Case("vti", shape=(70, 41), options={"free_surface": True}, receivers="low"),
    "tti 3-D pml": Case("tti", shape=(44, 15, 17), options=PML),
    "tti 3-D none free surface": Case(
        "tti", shape=(44, 13, 19), options={"boundary": "none", "free_surface": True}, window=(2, 43)
    ),
    "tti 2-D damping order 4": Case("tti", shape=(48, 33), options={"boundary": "damping", "order": 4}),
    "tti 2-D pml": Case("tti", shape=(70, 45), options=PML, receivers="one"),
    # slabs as thin as the halo: 5 ranks of 4 planes, 3 of which share a receiver
    "iso 3-D thin": Case(shape=(20, 15, 19), options=NONE, cut=8),
    "iso 3-D thin and weak": Case(shape=(20, 15, 19), options=NONE, cut=8, strength=3e-33),
    "vti 2-D weak": Case("vti", shape=(70, 41), options=PML, strength=3e-33),
    "vti 2-D thin": Case("vti", shape=(20, 33), options=NONE),
    # whole slabs in the layer: 20 planes of it at either end
    "iso 3-D thick layer": Case(shape=(14, 13, 17), options={"layer": 20}),
    "vti 3-D order 4 thick layer": Case("vti", shape=(14, 13, 17), options={"layer": 20, "order": 4}),
    "reference vti 2-D pml": Case("vti", shape=(40, 23), options={"device": "reference"}),
    "reference tti 2-D pml": Case("tti", shape=(40, 23), options={"device": "reference", "dtype": "float64"}),
}
