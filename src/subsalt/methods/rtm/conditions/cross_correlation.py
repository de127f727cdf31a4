"""Zero-lag cross-correlation, I = sum u w dt (Claerbout, 1971)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.conditions.base import Condition, ImagingSums


class CrossCorrelation(Condition):
    """Correlate source and receiver field at every imaged sample.

    Notes
    -----
    ``I(x) = k dt sum_n u(x, n) w(x, n)`` over every k-th sample; units of data times source.
    """

    name: ClassVar[str] = "cross-correlation"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return the sum itself."""
        return sums.fields["correlation"].copy()
