"""The wavefield that a perturbation scatters, beside the source wavefield whose samples it meets in order of time.

It does not ask where the samples come from: from a sweep of the source wavefield alone, or from the first sweep of any
scheme of checkpoints, whose later sweeps then serve the adjoint.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.kernels.problem import Z_FRONT, State
from subsalt.methods.rtm.engine import window_taper
from subsalt.methods.rtm.field_pair import FieldPair
from subsalt.methods.rtm.linear_setup import record_map
from subsalt.methods.rtm.samples import WavefieldFormat
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.propagation.propagator import Propagator


class Scattering:
    """The scattered wavefield of a shot, and what its receivers record of it; collective over the group that shares it.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup.linear_setup` makes.
    shot : Shot
        Positions.
    dm : ndarray, shape of the model or of its three axes
        Perturbation of 1 / v^2, s^2/m^2, on the whole grid of the model.
    prop : Propagator
        That of the shot; each rank of its group has a part of it.

    Notes
    -----
    It rests until it meets the first sample, and what its state holds is cleared then: that may be a state that the
    source wavefield had before, where all samples are kept by then.
    """

    def __init__(self, setup: MigrationSetup, shot: Shot, dm: NDArray, prop: Propagator) -> None:
        self.setup, self.prop = setup, prop
        window = np.asarray(dm).reshape(setup.model.grid.shape3)[prop.image_box.slices]
        self._amount = scatterer(setup, prop, window)
        self.pair = FieldPair(prop) if setup.pairs else None
        self._recorder, self._count = prop.recorder(shot.rcv, setup.axis.nt), len(shot.rcv)
        self._room: NDArray | None = None
        self._product: NDArray | None = None
        self._last = setup.axis.nt - 1
        self._waves: State | None = None
        self._moving = False

    @property
    def steps(self) -> int:
        """Time steps of the scattered wavefield."""
        return self._last

    @property
    def room(self) -> NDArray:
        """Room for a sample that no one keeps; the next one takes its place."""
        if self._room is None:
            form = WavefieldFormat.of_fields(
                self.prop.interior.shape, self.prop.dtype, fields=self.setup.fields_of_sample
            )
            self._room = np.zeros(form.shape, form.dtype)
        return self._room

    def use(self, waves: State) -> None:
        """Say which state carries the scattered wavefield."""
        self._waves = waves

    def meet(self, n: int, field: NDArray) -> None:
        """Scatter a sample of the source wavefield; one at the last time step reaches no receiver.

        Parameters
        ----------
        n : int
            Its time index, later than that of the sample before.
        field : ndarray, shape of the window
            u_tt there; in an anisotropic medium what `FieldPair` writes of both fields of it, (2, *window).
        """
        if n >= self._last:
            return
        waves, recorder = self._from_rest(), self._recorder
        self.prop.advance(waves, n + 1 - waves.it, recorders=[recorder], check_last=False)
        self._scatter(waves, field)
        # the step had recorded its sample before
        self.prop.record_again(waves, recorder)

    def recorded(self) -> tuple[NDArray[np.intp], NDArray]:
        """Return receivers, (n,), and what they recorded until the end at every time step, (n, steps + 1); collective.

        Of a group every receiver is among those of exactly one rank.
        """
        waves = self._from_rest()
        self.prop.advance(waves, self._last - waves.it, recorders=[self._recorder])
        return self.prop.recorded(self._recorder)

    def data(self) -> NDArray[np.float64]:
        """Return what all receivers recorded until the end, on the record axis, (nr, nt); collective."""
        rows, samples = self.recorded()
        traces = np.asarray(record_map(self.setup).apply(samples.astype(np.float64)))
        return all_traces(self.prop.group, rows, traces, self._count)

    def _from_rest(self) -> State:
        """Return the state, cleared before its first step."""
        assert self._waves is not None
        if not self._moving:
            self._waves.clear()
            self._moving = True
        return self._waves

    def _scatter(self, waves: State, field: NDArray) -> None:
        """Add a sample times the perturbation to the current level of every field."""
        prop = self.prop
        for number, level in enumerate(waves.curr):
            if self.pair is not None:
                product = self.pair.scatter(field, self._amount, number)
            else:
                product = self._product = np.multiply(self._amount, field, out=self._product)
            with prop.kernels.on_host(level) as u:
                inside = prop.layout.view(u)[prop.interior.slices]
                np.add(inside, product, out=inside)
                if prop.problem.free_surface:  # the next step reads the odd images above the surface
                    for k in range(1, prop.layout.radius + 1):
                        u[..., Z_FRONT - k] = -u[..., Z_FRONT + k]


def all_traces(
    group: Comm | None, rows: NDArray[np.intp], traces: NDArray[np.float64], count: int
) -> NDArray[np.float64]:
    """Return the traces of all receivers (count, nt) from those of ranks, on every rank; collective over the group."""
    if group is None:
        return traces
    order = [row for some in group.allgather(rows.tolist()) for row in some]
    out = np.empty((count, traces.shape[1]))
    out[order] = group.allgather_array(np.ascontiguousarray(traces).reshape(-1)).reshape(-1, traces.shape[1])
    return out


def scatterer(setup: MigrationSetup, prop: Propagator, window: NDArray) -> NDArray:
    """Return what u_tt is multiplied by at every point of a window, of the type of wavefields.

    Parameters
    ----------
    window : ndarray
        Perturbation of 1 / v^2 in the part of the window that this rank has (`Propagator.image_box`).
    """
    values = window.astype(np.float64)
    for weight in window_taper(setup, prop.window, prop.image_box):
        values *= weight
    values *= -float(setup.image_step)
    values *= np.asarray(prop.layout.view(prop.problem.param("m"))[prop.interior.slices], dtype=np.float64)
    return values.astype(prop.dtype)
