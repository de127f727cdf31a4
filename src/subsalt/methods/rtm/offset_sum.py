"""Sums over shots of the gathers beside an image: by half offset, or by surface offset."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.engine import ShotImage
from subsalt.methods.rtm.image_sum import ImageSum, LagSum
from subsalt.methods.rtm.offset_classes import WEIGHTED, OffsetClasses
from subsalt.methods.rtm.setup import MigrationSetup


class OffsetSum(LagSum):
    """Sums of offset gathers over shots, on the columns that some planes of the image need.

    Parameters
    ----------
    setup : MigrationSetup
        With classes of offset.
    image : ImageSum
        The sum of the images on the same planes; shots are added to it and to this one alike.
    """

    lags: OffsetClasses

    def of_shot(self, part: ShotImage, first: int, end: int) -> NDArray[np.float64]:
        """Return the image of a shot by class, in the columns along x with numbers `first` to `end`."""
        xs, ys = self.places((first, end), part.box)
        image, weighted = (
            part.sums[name][np.ix_(xs, ys)].astype(np.float64) for name in ("correlation", WEIGHTED)
        )
        by_class = self.lags.divided(image, weighted)
        return by_class.reshape(len(xs), -1, by_class.shape[-1])


def gather_sum(setup: MigrationSetup, image: ImageSum) -> LagSum | None:
    """Return the sum of the gathers that a setup asks for; None without any."""
    if setup.offsets is not None:
        return OffsetSum(setup, image)
    return None if setup.lags is None else LagSum(setup, image)
