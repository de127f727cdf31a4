"""Linearised (Born) modelling of a shot by compiled segments, and its exact adjoint, which is a migration.

The source wavefield u meets a perturbation dm of m = 1 / v^2 at every k-th time step, as in a migration, and scatters
there ``-k dm u_tt``; the scattered wavefield is advanced beside it and recorded::

    w[n+1] += -k (v dt)^2 dm u_tt[n],    n = k, 2k, ...

Between two of these steps nothing is lost: scattering multiplies by dm, which does not change with time, so that the
band above 1 / (k dt) - fmax, which sampling adds, stays above the band of the source, and recording leaves it out.

The scheme is linear and does not change with time, so that its u_tt is the wavefield of another source: of the second
difference of the wavelet. The adjoint is then the cross-correlation of that wavefield with the one that the records
excite, sample by sample, by whatever scheme the source wavefield comes back: `engine.migrate_shot` as it is.

In VTI and TTI media, which have two fields, what scatters and what is imaged is their mean, (p + q) / 2. In isotropic
media that is the derivative of the data with respect to 1 / v^2; elsewhere amplitudes differ from it by a factor
between 1 and 1 + 2 epsilon that depends on the angle. The pair is exact in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.problem import Z_FRONT, State
from subsalt.kernels.work import Recorder, Snapshots
from subsalt.methods.rtm.engine import (
    ReadyShot,
    ShotImage,
    migrate_shot,
    propagator_of,
    window_taper,
)
from subsalt.methods.rtm.linear_setup import record_map
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
        That of the shot (`engine.propagator_of`), where it is there already; on one process.
    progress : callable, optional
        Called at intervals with the fraction done.
    """
    prop = prop or propagator_of(setup, shot)
    k, last = setup.image_step, setup.axis.nt - 1
    source = prop.source(shot.src[None], setup.signature[None])
    background = prop.new_state()
    room: NDArray = np.zeros(prop.interior.shape, prop.dtype)

    def samples() -> Iterator[tuple[int, NDArray]]:
        for n in range(k, last, k):
            wanted = Snapshots(prop.interior, {n: room})
            prop.advance(background, n - background.it, sources=[source], snapshots=wanted, check_last=False)
            yield n, room
            if progress is not None:
                progress(n / last)

    return recorded_scattering(setup, shot, dm, prop, prop.new_state(), samples())


def recorded_scattering(
    setup: MigrationSetup,
    shot: Shot,
    dm: NDArray,
    prop: Propagator,
    waves: State,
    samples: Iterable[tuple[int, NDArray]],
) -> NDArray[np.float64]:
    """Return the Born data of a shot, (nr, nt), of the samples of its source wavefield.

    Parameters
    ----------
    setup, shot, dm, prop
        As of `scattered`.
    waves : State
        At rest; the scattered wavefield, advanced here.
    samples : iterable of (int, ndarray)
        Time index and u_tt in the window of every imaged sample but one at the last step, in order.
    """
    window = np.asarray(dm).reshape(setup.model.grid.shape3)[setup.window(shot).slices]
    amounts = scatterers(setup, prop, window)
    recorder = prop.recorder(shot.rcv, setup.axis.nt)
    assert isinstance(recorder, Recorder)
    product: NDArray = np.zeros(prop.interior.shape, prop.dtype)
    for n, field in samples:
        prop.advance(waves, n + 1 - waves.it, recorders=[recorder], check_last=False)
        _scatter(prop, waves, amounts, field, product)
        # the step had recorded its sample before
        recorder.data[:, n + 1] = prop.kernels.record(prop.problem, waves.curr, recorder.points)
    prop.advance(waves, setup.axis.nt - 1 - waves.it, recorders=[recorder])
    _, recorded = prop.recorded(recorder)
    return np.asarray(record_map(setup).apply(recorded.astype(np.float64)))


def scatterers(setup: MigrationSetup, prop: Propagator, window: NDArray) -> list[NDArray]:
    """Return what u_tt is multiplied by at every point of a window, for every field.

    Parameters
    ----------
    window : ndarray
        Perturbation of 1 / v^2 in the window of the shot.
    """
    values = window.astype(np.float64)
    for weight in window_taper(setup, prop.window):
        values = values * weight
    problem = prop.problem

    def inside(name: str) -> NDArray[np.float64]:
        part = prop.layout.view(problem.param(name))[prop.interior.slices]
        return np.asarray(part, dtype=np.float64)

    amount = -float(setup.image_step) * values * inside("m")
    if problem.n_fields == 1:
        return [amount.astype(prop.dtype)]
    e, s = inside("e"), inside("s")
    return [(0.5 * (e + s) * amount).astype(prop.dtype), (0.5 * (s + 1.0) * amount).astype(prop.dtype)]


def _scatter(
    prop: Propagator, state: State, amounts: list[NDArray], field: NDArray, product: NDArray
) -> None:
    """Add the scattered sample to the current level of every field."""
    for level, amount in zip(state.curr, amounts, strict=True):
        np.multiply(amount, field, out=product)
        with prop.kernels.on_host(level) as u:
            inside = prop.layout.view(u)[prop.interior.slices]
            np.add(inside, product, out=inside)
            if prop.problem.free_surface:  # the next step reads the odd images above the surface
                for k in range(1, prop.layout.radius + 1):
                    u[..., Z_FRONT - k] = -u[..., Z_FRONT + k]


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
    return migrate_shot(setup, shot, ready, **how)
