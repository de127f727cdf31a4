"""J^T J of a shot in one go, where all samples of its source wavefield are kept in memory between both products.

One source wavefield serves linearised modelling and its adjoint: three wavefields instead of four. Its image has the
bits of `born.scattered` and `born.back` one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm.born import Progress, recorded_scattering
from subsalt.methods.rtm.conditions import CrossCorrelation
from subsalt.methods.rtm.engine import ShotImage, window_weights
from subsalt.methods.rtm.executor import form_of
from subsalt.methods.rtm.linear_setup import record_map
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.image_planes import whole_planes
from subsalt.propagation.propagator import Propagator


def normal_product(
    setup: MigrationSetup,
    shot: Shot,
    dm: NDArray,
    between: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    *,
    prop: Propagator,
    pool: SnapshotPool,
    progress: Progress = lambda fraction: None,
) -> ShotImage:
    """Return the sums of ``J^T B J dm`` of one shot, before `linear_setup.sums_to_gradient`; on one process.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup.linear_setup` makes.
    shot : Shot
        Positions.
    dm : ndarray, shape of the model
        Perturbation of 1 / v^2.
    between : callable
        B: takes the Born data (nr, nt) to the data that go back.
    prop : Propagator
        That of the shot.
    pool : SnapshotPool
        Memory for all samples.
    progress : callable
        Called at intervals with the fraction done.
    """
    begin, k, last = time.perf_counter(), setup.image_step, setup.axis.nt - 1
    numbers = range(k, last, k)
    pool.give_back("device")
    rooms = form_of(prop, False).rooms(pool, prop.kernels, len(numbers), "memory")
    fields = dict(zip(numbers, rooms, strict=True))
    source = prop.source(shot.src[None], setup.signature[None])
    # one after the other: source, scattered and receiver wavefield
    state = prop.new_state()
    prop.advance(
        state,
        numbers[-1] if numbers else 0,
        sources=[source],
        snapshots=Snapshots(prop.interior, fields),
        progress=lambda it: progress(it / last / 3),
    )
    state.clear()
    data = between(recorded_scattering(setup, shot, dm, prop, state, fields.items()))
    progress(2 / 3)
    state.clear()
    condition = CrossCorrelation(prop.kernels, prop.problem, prop.interior)
    met = {last - n: field for n, field in fields.items()}
    prop.advance(
        state,
        last - k if numbers else 0,
        sources=[prop.source(shot.rcv, record_map(setup).apply_transpose(data)[:, ::-1])],
        correlation=condition.correlation(met, k * setup.axis.dt),
        progress=lambda it: progress((2 + it / last) / 3),
    )
    sums = {name: prop.kernels.to_host(a) for name, a in condition.sums.items()}
    for weight in window_weights(setup, prop.window, prop.image_box):
        for a in sums.values():
            a *= weight
    box, whole = whole_planes(prop.domain, {n: np.asarray(a, np.float32) for n, a in sums.items()}, None)
    steps = (numbers[-1] if numbers else 0) + last + max(0, last - k)
    return ShotImage(
        shot.id,
        box,
        whole,
        prop.points_advanced,
        time.perf_counter() - begin,
        grid_point_steps=steps * prop.point_count,
    )
