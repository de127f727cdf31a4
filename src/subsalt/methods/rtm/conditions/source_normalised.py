"""Cross-correlation divided by the source illumination: in reflectivity mode a reflection coefficient.

Over the cosine of the angle of incidence: reflectors that are seen at wide angles come out larger.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.conditions.base import Condition, ImagingSums


class SourceNormalised(Condition):
    """Correlate, and accumulate the energy of the source field beside it.

    Notes
    -----
    ``I(x) = sum u w / (sum u^2 + lambda mean(sum u^2))``, both summed over all shots first; lambda = 0.01 by
    default. Dimensionless when source and data have the same unit.

    The floor is taken from the mean over the image. The maximum, which stands right at a source and grows
    without bound as the grid gets finer, would in 3-D lie above the illumination of the whole depth: a
    reflector of R = 0.2 at 330 m then images as 0.06.
    """

    name: ClassVar[str] = "source-normalised"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation", "illumination")

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Divide correlation by stabilised illumination; zero where no source energy came at all."""
        illumination = sums.fields["illumination"]
        total, points = sums.illumination
        floor = sums.normalise * total / points
        if floor <= 0.0:
            return np.zeros_like(illumination)
        return sums.fields["correlation"] / (illumination + floor)
