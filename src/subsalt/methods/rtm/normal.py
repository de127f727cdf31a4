"""J^T J of a shot in one go: linearised modelling beside the first sweep of its source wavefield, then the adjoint.

A migration takes its source wavefield through all samples once, in order of time, before the receivers begin, by
whatever scheme it has them again later. The scattered wavefield goes along, so that one first sweep serves both
products: three wavefields where a migration has two, and what the scheme recomputes. The image has the bits of
`born.scattered` and `born.back` one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.methods.rtm.engine import ReadyShot, ShotImage, migrate_shot, propagator_of
from subsalt.methods.rtm.linear_setup import record_map
from subsalt.methods.rtm.scattering import Scattering
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.propagation.propagator import Propagator

#: takes Born data (nr, nt) of a shot to the data that go back
Between = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class ReturnedScattering(Scattering):
    """A scattered wavefield whose data go back at once.

    Parameters
    ----------
    setup, shot, dm, prop
        As of `Scattering`.
    between : callable
        B.

    Attributes
    ----------
    receivers : Source
        Samples that the receivers inject, in reversed time: silence until `turn`.
    """

    def __init__(
        self, setup: MigrationSetup, shot: Shot, dm: NDArray, prop: Propagator, between: Between
    ) -> None:
        super().__init__(setup, shot, dm, prop)
        self._positions, self._between = shot.rcv, between
        self.receivers = prop.source(shot.rcv, np.zeros((len(shot.rcv), setup.axis.nt)))

    def turn(self) -> None:
        """Let the receivers inject the data of all samples, which have been met."""
        samples = record_map(self.setup).apply_transpose(self._between(self.data()))[:, ::-1]
        self.receivers.samples[...] = self.prop.source(self._positions, samples).samples


def normal_product(
    setup: MigrationSetup,
    shot: Shot,
    dm: NDArray,
    between: Between,
    *,
    prop: Propagator | None = None,
    **how: Any,
) -> ShotImage:
    """Return the sums of ``J^T B J dm`` of one shot, before `linear_setup.sums_to_gradient`; collective over its group.

    Parameters
    ----------
    setup : MigrationSetup
        Setup that `linear_setup.linear_setup` makes.
    shot : Shot
        Positions.
    dm : ndarray, shape of the model
        Perturbation of 1 / v^2.
    between : callable
        B.
    prop : Propagator, optional
        That of the shot, where it is there already.
    **how
        Arguments of `engine.migrate_shot`: pool, phases, progress, scheme, scratch. The scheme may not lose digits,
        and has no restart points.
    """
    # an image alone: illumination takes a sum over samples that no iteration reads
    setup = replace(setup, imaging=replace(setup.imaging, condition="cross-correlation"))
    prop = prop or propagator_of(setup, shot)
    scattering = ReturnedScattering(setup, shot, dm, prop, between)
    source = prop.source(shot.src[None], setup.signature[None])
    ready = ReadyShot(prop, source, scattering.receivers, scattering=scattering)
    return migrate_shot(setup, shot, ready, group=prop.group, **how)
