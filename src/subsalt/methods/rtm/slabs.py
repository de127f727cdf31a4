"""What a rank of a group has of a shot, known before anything is read: planes, receivers, its part of the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt import physics
from subsalt.acquisition.survey import Shot
from subsalt.earth.grid import Box
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.parallel.decomp import Slab
from subsalt.propagation.domain import Domain


@dataclass(frozen=True)
class ShotShare:
    """One rank's share of a shot.

    Parameters
    ----------
    slab : Slab
        Planes of the shot's computational grid.
    rows : ndarray, (k,)
        Receivers whose support touches the planes owned; one receiver may be in the shares of several ranks.
    image_box : Box
        The part of the image that this rank accumulates, on the model grid; may be empty.
    """

    slab: Slab
    rows: NDArray[np.intp]
    image_box: Box


def share_of(setup: MigrationSetup, shot: Shot, group: Comm | None = None) -> ShotShare:
    """Return a rank's share of a shot; needs no message and reads no model values.

    Parameters
    ----------
    setup : MigrationSetup
        Shared choices.
    shot : Shot
        Positions.
    group : Comm, optional
        The ranks that share the shot; None: this process alone.

    Raises
    ------
    ConfigError
        When the slabs of the group would be thinner than their halo.
    """
    rank, ranks = (group.rank, group.size) if group is not None else (0, 1)
    positions = np.concatenate([shot.src[None], shot.rcv])
    domain = Domain.of(
        setup.model.grid,
        setup.window(shot),
        setup.propagation,
        physics.medium_of(setup.model, setup.propagation.medium),
        positions,
        rank=rank,
        ranks=ranks,
    )
    _, rows = domain.mine(domain.points(shot.rcv))
    return ShotShare(domain.slab, rows, domain.image_box)
