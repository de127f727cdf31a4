"""Inverse scattering: removes energy that travels the same way in both fields (backscatter).

Op 't Root et al. (2012); Whitmore and Crawley (2012).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.conditions.base import Condition, ImagingSums
from subsalt.methods.rtm.filters import LAPLACIAN_REACH, laplacian


class InverseScattering(Condition):
    """Correlate both fields; weigh every pair of waves by 1 - cos of the angle between them.

    Notes
    -----
    The condition is ``IS = sum [u_t w_t / v^2 - grad u . grad w] dt`` with w in forward time. Two waves along
    n and n' meet in it with the factor ``k^2 (1 - n . n')``: nothing for waves that travel together, ``2 k^2
    cos^2`` of half the opening angle for source and reflected wave. Both fields obey the wave equation away
    from sources, so that ::

        lap(u w) = u w_tt / v^2 + w u_tt / v^2 + 2 grad u . grad w

    and, with sums by parts over time, for any v(x)::

        IS = - 1/2 lap sum u w dt

    Only the correlation has to be accumulated. Exact for isotropic media; with the imaged field of VTI media
    an approximation.
    """

    name: ClassVar[str] = "inverse-scattering"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation",)
    reach: ClassVar[int] = LAPLACIAN_REACH

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return -1/2 lap of the correlation."""
        return -0.5 * laplacian(sums.fields["correlation"], sums.grid)
