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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.work import Snapshots
from subsalt.methods.rtm.engine import ReadyShot, ShotImage, migrate_shot, propagator_of
from subsalt.methods.rtm.linear_setup import record_map
from subsalt.methods.rtm.scattering import Scattering
from subsalt.methods.rtm.setup import MigrationSetup
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
    prop = prop or propagator_of(setup, shot)
    k, last = setup.image_step, setup.axis.nt - 1
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
        if progress is not None:
            progress(n / last)
    return scattering.data()


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
