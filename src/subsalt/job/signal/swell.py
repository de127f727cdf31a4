"""`swell`: attenuate noise of the sea's swell, low in frequency and as strong at the end of a record as at its begin.

A noise model of each trace says how much of its lowest band is swell. Swell is stationary: the band's energy in any
short window is about that in any other. What a source made comes and goes. The median of the windows over their mean,
divided by what that is for stationary noise, is the share of the energy that is swell. Where it is half or more, the
band holds less signal than swell, and all of it is taken; where it is less than a quarter, the trace stays as it is, to
the bit; between them a part is taken that grows from nothing to all. The share of a trace is known to about 0.2: it is
the median of a dozen windows.

The band is cut out by one zero-phase filter, so that the step is its own adjoint at the parts that the samples gave.

References
----------
Elboth, T., Presterud, I. V. & Hermansen, D. (2010), Time-frequency seismic data de-noising, Geophys. Prosp. 58, 441-453
(swell noise in bands below the signal, and why not a low cut of all traces).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.step import Headers, Marked, Resolve, Step, TraceOperator, Traces
from subsalt.job.units import Frequency
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, convolve, zero_phase

#: the band ends at this multiple of its corner, where a cosine ramp has come down to nothing
ENDS = 1.5
#: periods of the corner in a window: the shortest in which a band up to there has an energy
PERIODS = 2.0
#: windows that a record needs, so that their median means something
FEWEST = 5
#: energy of a band of the bandwidth B in a window of the length T, of stationary noise, has about 2BT = 4 degrees of
#: freedom: the median of chi squared with 4 is 3.357
STATIONARY = 3.357 / 4.0
#: share of swell in the energy of the band below which nothing is taken, and above which all of it is
LEAST, MOST = 0.25, 0.5


class Swell(Step):
    """Attenuate low-frequency noise of constant strength along the record."""

    title = "swell attenuation"

    step: Literal["swell"] = Field(description="attenuate swell noise, by a noise model of each trace")
    below: Frequency = Field(
        5.0, description="highest frequency of the swell; the filter ends at 1.5 times this frequency"
    )

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the attenuation on these records."""
        nyquist = 0.5 / time.dt
        if ENDS * self.below > nyquist:
            raise ConfigError(
                f"below = {self.below:g} Hz: its band ends at {ENDS * self.below:g} Hz, above the Nyquist frequency of "
                f"{nyquist:g} Hz (samples every {1e3 * time.dt:g} ms)",
                f"swell lies below 5 Hz, nearly always: use frequencies up to {nyquist / ENDS:.4g} Hz",
                code="E791",
            )
        if time.nt < FEWEST * _window(self.below, time):
            needed = FEWEST * PERIODS / self.below
            raise ConfigError(
                f"records of {time.nt * time.dt:.4g} s are too short to tell swell below {self.below:g} Hz from "
                f"signal: {FEWEST} windows of {PERIODS:g} periods take {needed:.4g} s",
                f"raise below to {1.01 * FEWEST * PERIODS / (time.nt * time.dt):.3g} Hz if the signal begins above, "
                'or use step = "bandpass"',
                code="E791",
            )
        return Calmed(time, self.below)

    def label(self) -> str:
        """Return the band."""
        return f"swell attenuation below {self.below:g} Hz"


def _window(below: float, time: TimeAxis) -> int:
    """Return the samples of a window."""
    return max(1, round(PERIODS / below / time.dt))


@lru_cache(maxsize=8)
def _band(below: float, nt: int, dt: float) -> Filter:
    """Return the zero-phase filter that passes the band of the swell."""

    def amplitude(f: NDArray[np.float64]) -> NDArray[np.float64]:
        x = np.clip((f - below) / ((ENDS - 1.0) * below), 0.0, 1.0)
        return 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * x)

    return zero_phase(amplitude, nt, dt)


class Calmed(Marked):
    """Traces less a part of their lowest band, in per cent: the marks of the step.

    Attributes
    ----------
    energy : ndarray, (2,)
        Energy of the traces that came in, and of what was taken of them, so far in this process.
    """

    of_gathers = True
    does = "attenuate"

    def __init__(self, time: TimeAxis, below: float) -> None:
        super().__init__(time)
        self.below, self.window = below, _window(below, time)
        self.energy = np.zeros(2)
        self.reason = f"{LEAST:.0%} or more of the energy below {below:g} Hz is there all along the record"

    def band(self, traces: Traces) -> NDArray[np.float64]:
        """Return the lowest band of traces (n, nt)."""
        return convolve(traces.astype(np.float64), _band(self.below, self.time.nt, self.time.dt))

    def measure(self, traces: Traces) -> dict[str, NDArray[np.float64]]:
        """Return the share of the band of each trace that is swell, (n,), 0 to 1."""
        low = self.band(traces)
        count = self.time.nt // self.window
        begin = (self.time.nt - count * self.window) // 2
        parts = low[:, begin : begin + count * self.window].reshape(len(low), count, self.window)
        # the mean of a window is no swell, but an offset of the recorder: it goes with the band
        energy = np.array([[fixedmath.dot(w, w) for w in trace] for trace in parts]).reshape(len(low), count)
        mean = np.array([fixedmath.total(row) for row in energy]) / count
        share = np.median(energy, axis=1) / np.where(mean > 0, STATIONARY * mean, 1.0)
        return {"share": np.where(np.isfinite(share), np.minimum(share, 1.0), 0.0)}

    def marks(self, measured: dict[str, NDArray[np.float64]], headers: Headers) -> NDArray[np.int8]:
        """Return the removed share of the band, per cent."""
        part = np.clip((measured["share"] - LEAST) / (MOST - LEAST), 0.0, 1.0)
        return np.rint(100.0 * part).astype(np.int8)

    def edited(self, headers: Headers) -> NDArray[np.bool_]:
        """Return which traces are attenuated."""
        is_attenuated: NDArray[np.bool_] = headers.marks[self.place] > 0
        return is_attenuated

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces less their swell."""
        out = self._attenuated(traces, headers)
        before = traces.astype(np.float64)
        self.energy += [np.square(before).sum(), np.square(before - out).sum()]
        return out

    def _attenuated(self, traces: Traces, headers: Headers) -> Traces:
        out = traces.copy()
        rows = np.flatnonzero(self.edited(headers))
        if len(rows):
            part = headers.marks[self.place][rows, None] / 100.0
            out[rows] = traces[rows] - part * self.band(traces[rows])
        return out

    def adjoint(self, traces: Traces, headers: Headers) -> Traces:
        """Return the transpose: the step itself, at the parts that the samples of the data gave."""
        return self._attenuated(traces, headers)

    def taken(self) -> list[float]:
        """Return the energies of what came in and of what was taken, so far in this process."""
        return [float(e) for e in self.energy]
