"""Small rough models of every medium, a shot over each, and its traces: for the tests of reversal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

import subsalt as ss
from subsalt.acquisition.survey import Shot
from subsalt.methods.rtm.conditions import Condition, condition_of
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.options import ImagingOptions, PropagationOptions
from subsalt.propagation.propagator import Propagator

H = 10.0
SHAPES = {2: (71, 58), 3: (36, 30, 33)}


@dataclass
class Case:
    """One shot with what it needs, and the propagator of its wavefields."""

    setup: MigrationSetup
    shot: Shot
    traces: np.ndarray
    prop: Propagator

    @property
    def steps(self) -> int:
        """Time steps of a sweep."""
        return self.setup.axis.nt - 1

    def condition(self) -> Condition:
        """Return accumulators of zeros."""
        kind = condition_of(self.setup.imaging.condition)
        return kind(self.prop.kernels, self.prop.problem, self.prop.interior)


def rough_model(medium: str, ndim: int, seed: int = 3) -> ss.EarthModel:
    """Return a model that differs from node to node by up to some per cent, with contrasts of a factor of two."""
    rng = np.random.default_rng(seed)
    shape = SHAPES[ndim]

    def volume(lo: float, hi: float) -> np.ndarray:
        f = gaussian_filter(rng.standard_normal(shape), 3)
        return (lo + (hi - lo) * (f - f.min()) / (f.max() - f.min())).astype(np.float32)

    parts = {}
    if medium != "isotropic":
        parts = {"epsilon": volume(0.1, 0.25), "delta": volume(-0.05, 0.08)}
    if medium == "tti":
        parts["theta"] = volume(-0.7, 0.7)
        if ndim == 3:
            parts["phi"] = volume(-1.0, 1.0)
    return ss.EarthModel(ss.Grid(shape, (H,) * ndim), volume(1600.0, 3400.0), **parts)


def case_of(
    medium: str,
    ndim: int,
    *,
    nt: int = 260,
    seed: int = 3,
    change: Callable[[ss.EarthModel], ss.EarthModel] = lambda m: m,
    image_step: int | None = None,
    **options: object,
) -> Case:
    """Return a shot over a rough model: the source off the nodes and near the top, receivers over the whole width."""
    model = change(rough_model(medium, ndim, seed))
    across = [(n - 1) * H for n in SHAPES[ndim]]
    x = np.arange(3.0, across[0], 17.0)
    y = np.full_like(x, across[1] / 2 + 4.0 if ndim == 3 else 0.0)
    rcv = np.stack([x, y, np.full_like(x, 22.0)], axis=1)
    shot = ss.Shot(1, np.array([across[0] / 2 + 3.0, y[0], 26.0]), rcv)
    record = ss.TimeAxis(nt, 0.001)
    setup = MigrationSetup.build(
        model,
        ss.ricker(22.0, 0.001),
        record,
        PropagationOptions(**options),  # type: ignore[arg-type]
        ImagingOptions(image_step=image_step),
    )
    rng = np.random.default_rng(seed)
    traces = gaussian_filter(rng.standard_normal((len(rcv), nt)), (0, 6)).astype(np.float32)
    prop = propagator_of(setup, shot)
    return Case(setup, shot, traces, prop)
