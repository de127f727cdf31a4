"""Inverse scattering: removes energy that travels the same way in both fields (backscatter).

Op 't Root et al. (2012); Whitmore and Crawley (2012).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from subsalt.imaging.conditions.base import Condition, ImagingSums
from subsalt.imaging.filters import laplacian
from subsalt.kernels.problem import State


class InverseScattering(Condition):
    """Accumulate the correlation and that of the time derivatives; combine them without storing gradients.

    Notes
    -----
    The condition is ``IS = sum [u_t w_t / v^2 - grad u . grad w] dt`` with w in forward time. Both fields obey the wave
    equation away from sources, which gives the identity::

        IS = (2 / v^2) I2 - 1/2 lap I1,     I1 = sum u w dt,   I2 = sum u_t w_t dt = - sum u w_tt dt

    so that only u has to be stored; w_tt is the second difference of three consecutive samples of w. Exact for isotropic
    media; with the imaged field of VTI media an approximation. The weight is 2 cos^2 of half the opening angle times the
    square of the wavenumber.
    """

    name: ClassVar[str] = "inverse-scattering"
    accumulators: ClassVar[tuple[str, ...]] = ("correlation", "time_derivatives")
    work_arrays: ClassVar[int] = 2

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self._curr = np.zeros(self.box.shape, dtype=self.problem.dtype)
        self._prev = np.zeros_like(self._curr)
        self._waiting: tuple[NDArray, float] | None = None

    def sample(self, u: NDArray, state: State, scale: float) -> None:
        """Add scale u w, and keep w and its predecessor until the next step."""
        self.kernels.correlate(self.problem, self.sums["correlation"], u, state.curr, self.box, scale)
        self.kernels.snapshot(self.problem, state.curr, self._curr, self.box)
        self.kernels.snapshot(self.problem, state.prev, self._prev, self.box)
        self._waiting = (u, scale)

    def after(self, state: State) -> None:
        """Add -scale u w_tt, now that the next sample of w is there."""
        if self._waiting is None:
            return
        u, scale = self._waiting
        self._waiting = None
        self.kernels.correlate_tt(
            self.problem,
            self.sums["time_derivatives"],
            u,
            self._curr,
            self._prev,
            state.curr,
            self.box,
            -scale / self.problem.dt**2,
        )

    @classmethod
    def finish(cls, sums: ImagingSums) -> NDArray[np.float64]:
        """Return (2 / v^2) I2 - 1/2 lap I1."""
        vp = sums.vp.astype(np.float64)
        curvature = laplacian(sums.fields["correlation"], sums.grid)
        return (2.0 / (vp * vp)) * sums.fields["time_derivatives"] - 0.5 * curvature
