"""`bandpass`: the frequencies of a band pass, those outside do not.

Ormsby: nothing below f1 and above f4, everything from f2 to f3, cosine ramps between. Butterworth: half the power at
`low` and `high`, falling by 6 dB per octave and order outside. Zero phase by default: the filter is then its own
adjoint. With ``phase = "minimum"`` it is causal, and its energy comes as early as its amplitude allows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.step import Filtered, Headers, Resolve, Step, TraceOperator, Traces
from subsalt.job.units import Frequency, NonNegativeFrequency, NonNegativeTime
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, minimum_phase, zero_phase


class Bandpass(Step):
    """Band-pass filter."""

    title = "band-pass"
    moves = True

    step: Literal["bandpass"] = Field(description="band-pass filter")
    corners: list[NonNegativeFrequency] | None = Field(
        None,
        description="Ormsby filter: f1 and f4 are the outer limits, full amplitude between f2 and f3, Hz",
    )
    low: Frequency | None = Field(None, description="Butterworth: half the power here, less below")
    high: Frequency | None = Field(None, description="Butterworth: half the power here, less above")
    order: int = Field(4, ge=1, le=20, description="Butterworth: 6 dB per octave each")
    phase: Literal["zero", "minimum"] = Field("zero", description="phase of the filter")
    taper: NonNegativeTime = Field(
        0.0, description="length of the ramps at both ends of the record, before the filter"
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Bandpass:
        ormsby, butterworth = self.corners is not None, self.low is not None or self.high is not None
        if ormsby == butterworth:
            raise ConfigError(
                "bandpass has " + ("corners and low or high" if ormsby else "no corners"),
                "give corners = [3, 6, 60, 80] (Ormsby), or low = 5, high = 60 (Butterworth)",
                code="E791",
            )
        f = self.corners
        if f is not None and (len(f) != 4 or not f[0] <= f[1] < f[2] <= f[3]):
            raise ConfigError(
                f"corners = {f} Hz", "give four frequencies that grow, such as [3, 6, 60, 80]", code="E791"
            )
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ConfigError(
                f"low = {self.low:g} Hz is not below high = {self.high:g} Hz", "exchange them", code="E791"
            )
        return self

    @property
    def highest(self) -> float | None:
        """Frequency above which little or nothing passes, Hz; None without one."""
        return self.corners[3] if self.corners is not None else self.high

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the filter for these records."""
        nyquist, named = 0.5 / time.dt, "corners" if self.corners is not None else "low or high"
        most = max(self.corners or [], default=max(self.low or 0.0, self.high or 0.0))
        # a corner at Nyquist says that everything up there passes
        if most > nyquist * (1 + 1e-9):
            raise ConfigError(
                f"{named} = {most:g} Hz, above the Nyquist frequency of {nyquist:g} Hz "
                f"(samples every {1e3 * time.dt:g} ms)",
                f"use frequencies up to {nyquist:g} Hz",
                code="E791",
            )
        return _Bandpassed(time, _designed(self.model_dump_json(), time.nt, time.dt), self.taper)

    def amplitude(self, f: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the amplitude at frequencies, Hz."""
        if self.corners is not None:
            f1, f2, f3, f4 = self.corners
            return _ramp(f, f1, f2) * (1.0 - _ramp(f, f3, f4))
        squared = np.ones_like(f)
        if self.high is not None:
            squared = squared / (1.0 + fixedmath.power(f / self.high, 2 * self.order))
        if self.low is not None:
            part = fixedmath.power(f / self.low, 2 * self.order)
            squared = squared * (part / (1.0 + part))
        return np.sqrt(squared)

    def label(self) -> str:
        """Return band and phase."""
        if self.corners is not None:
            band = "-".join(f"{f:g}" for f in self.corners) + " Hz"
        else:
            ends = [f"{f:g}" for f in (self.low, self.high) if f is not None]
            word = "" if len(ends) == 2 else ("above " if self.high is None else "below ")
            band = f"Butterworth {word}{'-'.join(ends)} Hz, order {self.order}"
        return f"band-pass {band}" + (", minimum phase" if self.phase == "minimum" else "")


def _ramp(f: NDArray[np.float64], first: float, last: float) -> NDArray[np.float64]:
    """Return 0 below `first`, 1 from `last` on, half a cosine between; at a jump 1."""
    if last <= first:
        return (f >= last).astype(np.float64) if last > 0 else np.ones_like(f)
    return 0.5 - 0.5 * fixedmath.cos(fixedmath.PI * np.clip((f - first) / (last - first), 0.0, 1.0))


@lru_cache(maxsize=8)
def _designed(keys: str, nt: int, dt: float) -> Filter:
    step = Bandpass.model_validate_json(keys)
    return (zero_phase if step.phase == "zero" else minimum_phase)(step.amplitude, nt, dt)


class _Bandpassed(Filtered):
    """The filter, after ramps over both ends of the record."""

    def __init__(self, time: TimeAxis, filter_: Filter, taper: float) -> None:
        super().__init__(time, filter_)
        i = np.arange(time.nt, dtype=np.float64)
        edge = np.minimum(i, i[::-1]) * time.dt
        self._ends = None if taper == 0 else fixedmath.ramp((edge + 0.5 * time.dt) / taper)

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the band of the traces."""
        if self._ends is not None:
            traces = (traces * self._ends).astype(traces.dtype)
        return super().apply(traces, headers)

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose: the filter reversed, then the ramps."""
        out = super().adjoint(traces, headers)
        return out if self._ends is None else (out * self._ends).astype(out.dtype)
