"""Born data of one shot: what a perturbation of the model scatters, recorded at its receivers.

The wavefield of the background and the scattered one go through time side by side: what a step of the one excites in
the other is made when it is needed, so that two wavefields are held however long the record is. The bits are those of
`subsalt.methods.rtm.operators.RtmOperator.forward`, which keeps every step.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.problem import State
from subsalt.kernels.work import FINITE_EVERY, Source
from subsalt.methods.rtm.arrays import ALONE, Part, RankArrays
from subsalt.methods.rtm.memory import modelled_shot_memory
from subsalt.methods.rtm.modelling import ModelledTraces, ModellingSetup
from subsalt.methods.rtm.operators import add_through_c, spread
from subsalt.parallel.comm import Comm
from subsalt.propagation.propagator import Propagator


def born_shot(
    setup: ModellingSetup,
    shot: Shot,
    dm: NDArray,
    progress: Callable[[float], None] | None = None,
    group: Comm | None = None,
) -> ModelledTraces:
    """Return the scattered traces of one shot on the record axis; collective over the group that shares it.

    Parameters
    ----------
    setup : ModellingSetup
        Shared choices, without a free surface inside the model.
    shot : Shot
        Positions.
    dm : ndarray, (nx, ny, nz) or (nx, nz)
        Perturbation of 1 / v^2 on the grid of the model of `setup`, s^2/m^2; epsilon and delta are held.
    progress : callable, optional
        Called at intervals with the fraction done.
    group : Comm, optional
        The ranks that share the shot; the traces have the bits of one process.

    Raises
    ------
    GeometryError
        When the window of the shot does not meet the model, or a position lies above a free surface.
    NumericalFailure
        When a wavefield is no longer finite.

    Notes
    -----
    The background solves the scheme with the source f, the scattered field the same scheme with
    ``-dm v^2 (L u + f)``. Sources and receivers are tapered alike, as the exact adjoint asks.
    """
    steps = setup.axis.nt - 1
    positions = np.concatenate([shot.src[None], shot.rcv])
    with nullcontext() if group is None else group.together():
        prop = Propagator(
            setup.model,
            setup.propagation,
            setup.axis.dt,
            window=setup.window(shot),
            points=positions,
            taper_at=positions,
            group=group,
        )
        whole = np.asarray(dm).reshape(setup.model.grid.shape3)
        scatterer: NDArray = whole[prop.image_box.slices].astype(prop.dtype)
        source = prop.source(shot.src[None], setup.signature[None])
        recorder = prop.recorder(shot.rcv, setup.axis.nt)
    v2 = prop.layout.view(prop.problem.param("m"))[prop.interior.slices] / prop.dtype(prop.dt**2)
    background, scattered = prop.new_state(), prop.new_state()
    every = max(1, steps // 50)
    with prop:
        for n in range(steps):
            excited = secondary_source(prop, v2, background, source)
            look = (n + 1) % FINITE_EVERY == 0 or n + 1 == steps
            prop.advance(background, 1, sources=[source], check_last=look)
            prop.advance(scattered, 1, check_last=look)
            add_through_c(prop, scattered, [-scatterer * g for g in excited])
            prop.record_again(scattered, recorder)
            if progress is not None and (n + 1) % every == 0:
                progress((n + 1) / steps)
        rows, samples = prop.recorded(recorder)
    traces = setup.trace_map.apply(samples.astype(np.float64)).astype(np.float32)
    return ModelledTraces(rows, traces, prop.points_advanced, 2 * steps * prop.point_count)


def secondary_source(prop: Propagator, v2: NDArray, state: State, source: Source) -> list[NDArray]:
    """Return v^2 (L u + f) of the present time step in the window, one array per field."""
    force = spread(prop, source.points, source.samples[:, state.it] / prop.problem.n_fields)
    applied = prop.kernels.apply_l(prop.problem, state.curr, prop.interior)
    return [v2 * (prop.kernels.to_host(field) + force) for field in applied]


def born_memory(setup: ModellingSetup, shot: Shot, part: Part = ALONE) -> dict[str, int]:
    """Return bytes by array for the Born data of a shot on one rank of those that share it; they sum to its peak.

    Notes
    -----
    Beside what modelling takes: the second wavefield; in the window the perturbation and v^2, and per field three
    arrays from L u to the force that is added; and the source, spread over the planes that are held.
    """
    arrays = RankArrays.of(setup, shot, part)
    held, inside = arrays.propagator, arrays.domain.interior.size
    return modelled_shot_memory(arrays, setup.record.nt, setup.axis.nt) | {
        "scattered wavefield": held.state_held,
        "secondary source": held.word * (inside * (2 + 3 * held.fields) + arrays.domain.held.size),
    }
