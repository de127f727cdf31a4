"""`resample`: another sample interval.

The first sample stays where it is. On a coarser axis nothing folds back: before, what lies above the new Nyquist
frequency is removed, with a fall from 0.8 of it (100 dB); a finer one has the same band. Between samples stands a
windowed sinc, exact to 1e-5 below 0.9 of the Nyquist frequency (`subsalt.numerics.interpolation`).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.step import Headers, Resolve, Step, TraceOperator, Traces
from subsalt.job.units import PositiveTime
from subsalt.numerics.interpolation import FALL, Resampling

#: part of the new Nyquist frequency that passes whole on a coarser axis
PASSED = (1.0 - FALL / 2) / (1.0 + FALL / 2)


#: new samples to an old one, at most: what lies between them is known from a few
FINEST = 100


class Resample(Step):
    """Resample traces to another interval."""

    title = "resampling"

    step: Literal["resample"] = Field(description="another sample interval, antialiased")
    dt: PositiveTime = Field(description="new sample interval")

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the resampling operator of these records."""
        if self.dt * FINEST < time.dt:
            raise ConfigError(
                f"an interval of {self.dt:g} s is shorter than 1/{FINEST} of that of the records, {time.dt:g} s",
                f'dt = "{1e3 * self.dt:g} s", or at least {time.dt / FINEST:g}',
                code="E794",
            )
        # a text in ms may miss the last sample by a rounding
        nt = int(np.floor((time.nt - 1) * time.dt / self.dt * (1 + 1e-12))) + 1
        if nt < 2:
            raise ConfigError(
                f"an interval of {self.dt:g} s leaves {nt} sample of records of "
                f"{time.duration - time.t0:.4g} s",
                f'dt = "{self.dt:g} ms", if that was meant',
                code="E794",
            )
        return _Resampled(time, TimeAxis(nt, self.dt, time.t0))

    def label(self) -> str:
        """Return the interval."""
        return f"resampling to {1e3 * self.dt:g} ms"


class _Resampled(TraceOperator):
    """Traces on another axis."""

    def __init__(self, time: TimeAxis, out: TimeAxis) -> None:
        super().__init__(time, out)
        ratio = time.dt / out.dt
        positions = np.arange(out.nt, dtype=np.float64) * (out.dt / time.dt)
        # the fall ends at the new Nyquist frequency
        cutoff = 1.0 if ratio >= 1 else ratio / (1.0 + FALL / 2)
        self.axes = Resampling(time.nt, positions, cutoff)
        self.facts = {
            "passes_up_to_hz": (PASSED if ratio < 1 else 1.0 - FALL / 2) * 0.5 / max(time.dt, out.dt)
        }

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces on the new axis."""
        return self.axes.apply(traces)

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose, on the old axis."""
        return self.axes.transpose(traces)
