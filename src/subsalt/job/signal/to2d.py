"""`to2d`: the amplitude and phase of a point source in three dimensions become those of a line source, for 2-D imaging.

A wave of two dimensions is the sum of point sources along a line across the plane. To leading order in 1 / (k R) that
is the half integral of the point source's wave times the root of its spreading across the plane:

    p_2D = I^{1/2} ( sqrt(2 pi sigma(t)) p_3D ),    sigma(t) = int v^2 dt = v_rms(t)^2 t,

exact for any velocity function of depth at vertical incidence, as far as rays go (Bleistein 1986); in a homogeneous
medium sigma = v^2 t. Both waves are of the same source time function. I^{1/2} has the response (i w)^{-1/2}.

The root is taken at the time of a sample. At the arrival T it would be exact to leading order, but no linear operator
that does not know the wavelet can take it there: w(t - T - a) is an arrival at T of one wavelet and at T + a of
another. At T + s the root is larger by s / (2 T), so that the spectrum W(w) of a wavelet becomes W + i W' / (2 T); the
next term of the exact wave is 1 + i / (8 w T).

References
----------
Bleistein, N. (1986), Two-and-one-half dimensional in-plane wave propagation, Geophys. Prosp. 34, 686-703.
Forbriger, T., Gross, L. & Schafer, M. (2014), Line-source simulation for shallow-seismic data, Geophys. J. Int. 198,
1387-1404.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from pydantic import Field

from subsalt.acquisition.survey import TimeAxis
from subsalt.job.signal.step import Filtered, Headers, Resolve, Step, TraceOperator, Traces
from subsalt.job.signal.velocity import AnyVelocity
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, half_integral


class To2d(Step):
    """Convert point sources to line sources."""

    title = "3-D to 2-D"

    step: Literal["to2d"] = Field(description="point source to line source, for 2-D")
    velocity: AnyVelocity = Field(description="rms velocity, a number or {t = [...], v = [...]}")

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the half integral of the traces times the root of the spreading."""
        return _ToLine(time, self)

    def label(self) -> str:
        """Return the velocity."""
        return f"3-D to 2-D, {self.velocity}"


@lru_cache(maxsize=4)
def _half(nt: int, dt: float) -> Filter:
    return half_integral(nt, dt)


class _ToLine(Filtered):
    """Half integral after the root of the spreading."""

    def __init__(self, time: TimeAxis, step: To2d) -> None:
        super().__init__(time, _half(time.nt, time.dt))
        t = np.maximum(time.values(), 0.0)
        v = step.velocity.at(t)
        self.root = np.sqrt(2.0 * fixedmath.PI * (v * v * t))

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the wave of line sources."""
        return super().apply((traces * self.root).astype(traces.dtype), headers)

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose: the half integral backwards in time, then the root."""
        out = super().adjoint(traces, headers)
        return (out * self.root).astype(out.dtype)
