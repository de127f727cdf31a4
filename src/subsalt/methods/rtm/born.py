"""Linearised (Born) modelling of a shot by compiled segments, and its exact adjoint, which is a migration.

The source wavefield u meets a perturbation dm of m = 1 / v^2 at every k-th time step, as in a migration, and scatters
there ``-k dm u_tt``, every field of a medium by itself; the scattered wavefield is advanced beside it and recorded::

    w[n+1] += -k (v dt)^2 dm u_tt[n],    n = k, 2k, ...

Between two of these steps nothing is lost: scattering multiplies by dm, which does not change with time, so that the
band above 1 / (k dt) - fmax, which sampling adds, stays above the band of the source, and recording leaves it out.

The scheme is linear and does not change with time, so that its u_tt is the wavefield of another source: of the second
difference of the wavelet. The adjoint is then the cross-correlation of that wavefield with the one that the records
excite, sample by sample, by whatever scheme the source wavefield comes back: `engine.migrate_shot` as it is.

That is the derivative of the data with respect to 1 / v^2, in VTI and TTI media with v along the symmetry axis, and
epsilon, delta and the tilt held: samples and products are those of both fields there (`field_pair`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm.arrays import ALONE, Part, RankArrays
from subsalt.methods.rtm.engine import ReadyShot, ShotImage, migrate_shot, propagator_of
from subsalt.methods.rtm.linear_setup import record_map
from subsalt.methods.rtm.memory import modelled_shot_memory
from subsalt.methods.rtm.modelling import ModelledTraces
from subsalt.methods.rtm.scattering import Scattering
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.propagation.propagator import Propagator

#: called with the fraction of the work that is done, 0 to 1
Progress = Callable[[float], None]


def scattered(
    setup: MigrationSetup,
    shot: Shot,
    dm: NDArray,
    *,
    prop: Propagator | None = None,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Return the Born data of a shot on the record axis, (nr, nt).

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup.linear_setup` makes.
    shot : Shot
        Positions.
    dm : ndarray, shape of the model or of its three axes
        Perturbation of 1 / v^2, s^2/m^2, on the whole grid of the model.
    prop : Propagator, optional
        That of the shot (`engine.propagator_of`), where it is there already; of a group all ranks call, and each gets
        all traces.
    progress : callable, optional
        Called at intervals with the fraction done.
    """
    scattering, _ = _met(setup, shot, dm, prop or propagator_of(setup, shot), progress)
    return scattering.data()


def scattered_traces(
    setup: MigrationSetup,
    shot: Shot,
    dm: NDArray,
    progress: Progress | None = None,
    group: Comm | None = None,
) -> ModelledTraces:
    """Return the traces of `scattered` as they are written; collective over the group that shares the shot.

    Parameters
    ----------
    setup, shot, dm, progress
        As of `scattered`.
    group : Comm, optional
        The ranks that share the shot; the traces have the bits of one process.

    Raises
    ------
    GeometryError
        When the window of the shot does not meet the model, or a position lies above a free surface.
    NumericalFailure
        When a wavefield is no longer finite.
    """
    with nullcontext() if group is None else group.together():
        prop = propagator_of(setup, shot, group)
    with prop:
        scattering, before = _met(setup, shot, dm, prop, progress)
        rows, samples = scattering.recorded()
    steps = before + scattering.steps
    del scattering  # and with it the scattered wavefield, before its traces are mapped
    traces = record_map(setup).apply(samples.astype(np.float64)).astype(np.float32)
    return ModelledTraces(rows, traces, prop.points_advanced, steps * prop.point_count)


def born_memory(setup: MigrationSetup, shot: Shot, part: Part = ALONE) -> dict[str, int]:
    """Return bytes by array for `scattered_traces` on one rank of those that share a shot; they sum to its peak.

    Notes
    -----
    Beside what modelling takes: the second wavefield, and in the window what the perturbation multiplies a sample by,
    the sample and the product of both. A sample of two fields has two arrays; with it come the three that part the
    fields (`field_pair`), and a term of the product. What these are made from, in double precision, takes less than
    the second wavefield, which is allocated after it is gone.
    """
    arrays = RankArrays.of(setup, shot, part)
    held, windows = arrays.propagator, 8 if setup.pairs else 3
    return modelled_shot_memory(arrays, setup.record.nt, setup.axis.nt) | {
        "scattered wavefield": held.state_held,
        "scattering": held.word * windows * arrays.domain.interior.size,
    }


def _met(
    setup: MigrationSetup, shot: Shot, dm: NDArray, prop: Propagator, progress: Progress | None
) -> tuple[Scattering, int]:
    """Return the scattered wavefield once it has met every sample of the source wavefield, and the steps of that."""
    k, last = setup.image_step, setup.axis.nt - 1
    every, reported = max(1, last // 50), 0
    source = prop.source(shot.src[None], setup.signature[None])
    background, scattering = prop.new_state(), Scattering(setup, shot, dm, prop)
    scattering.use(prop.new_state())
    pair, room = scattering.pair, scattering.room
    for n in range(k, last, k):
        wanted = Snapshots(prop.interior, {n: room}) if pair is None else None
        prop.advance(background, n - background.it, sources=[source], snapshots=wanted, check_last=False)
        if pair is not None:
            pair.write(background, room)
        scattering.meet(n, room)
        if progress is not None and n - reported >= every:
            reported = n
            progress(n / last)
    return scattering, background.it


def back(
    setup: MigrationSetup,
    shot: Shot,
    traces: NDArray[np.float64],
    *,
    prop: Propagator | None = None,
    **how: Any,
) -> ShotImage:
    """Return the sums of the adjoint of `scattered`, before `linear_setup.sums_to_gradient`.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup.linear_setup` makes.
    shot : Shot
        Positions.
    traces : ndarray, (nr, nt), float64
        Data on the record axis.
    prop : Propagator, optional
        As of `scattered`.
    **how
        Arguments of `engine.migrate_shot`: pool, phases, progress, scheme, scratch.
    """
    prop = prop or propagator_of(setup, shot)
    samples = record_map(setup).apply_transpose(traces)[:, ::-1]
    source = prop.source(shot.src[None], setup.signature[None])
    ready = ReadyShot(prop, source, prop.source(shot.rcv, samples))
    return migrate_shot(setup, shot, ready, group=prop.group, **how)
