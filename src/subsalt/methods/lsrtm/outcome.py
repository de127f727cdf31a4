"""The unknown of a least-squares migration on the grid of the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.regrid import Regridder
from subsalt.methods.rtm.setup import MigrationSetup


def on_image_grid(setup: MigrationSetup, dm: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return a perturbation, shape of the model on which waves are computed, on the grid of the image."""
    source, target = setup.model.grid, setup.image_grid
    values = dm.reshape(source.shape)
    if setup.carries:
        values = Regridder(source, target, "mirror").carried(values, 0, 0, target.shape[0])
    return values.astype(np.float32)
