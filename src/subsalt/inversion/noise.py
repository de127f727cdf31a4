"""The noise of traces, estimated from what they have above the band of the source, where no model makes a signal.

White noise has the same energy in every band. A high-pass filter h that lets pass what lies above the band leaves of
white noise of variance s^2 in a sample ::

    s^2 sum_j h_j^2 w[n - j]^2

with w[n] = 0 where a trace was muted or is dead, and else 1 but for a ramp at both ends of the record, by which traces
are multiplied before: a signal that a record cuts off has frequencies above any band there. So the energy above the
band, over the sum of these factors, is s^2, whatever was muted. Noise that falls with frequency, as swell and ground
roll do, is more than this estimate; a record of a few periods, cut off in its signal, has less than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, convolve, zero_phase

NoiseEstimate = Literal["above-band"]

#: code of a noise that cannot be estimated
CODE = "E899"
#: the filter rises from the end of the band to this many times it. A Ricker wavelet has 3 % of its largest amplitude at
#: 2.5 f0, where its band ends, and 0.3 % at 3 f0
RISE = 1.2
#: part of the Nyquist frequency up to which recorders keep noise: their anti-alias filters end between it and Nyquist
KEPT = 0.8
#: length of the ramps at both ends of a record, in periods of the end of the band, and at most, in records
RAMP, MOST = 3.0, 0.25
#: the least width of what is looked at, in parts of the Nyquist frequency
LEAST = 0.1


@dataclass(frozen=True)
class AboveBand:
    """Estimates the noise of records from frequencies above the band of their source.

    Parameters
    ----------
    nt : int
        Samples of a trace.
    dt : float
        Their distance, s.
    end : float
        End of the band of the source, Hz.

    Raises
    ------
    ConfigError
        E899: next to nothing lies between the band and what recorders cut off.
    """

    nt: int
    dt: float
    end: float

    def __post_init__(self) -> None:
        nyquist = 0.5 / self.dt
        if KEPT * nyquist - RISE * self.end < LEAST * nyquist:
            raise ConfigError(
                f"the noise cannot be estimated above the band of the source: it ends at {self.end:g} Hz, and traces "
                f"every {1e3 * self.dt:g} ms have {nyquist:g} Hz at most",
                "give the noise over the data as a number, such as noise = 0.2",
                code=CODE,
            )

    @cached_property
    def _filter(self) -> Filter:
        end, top = self.end, KEPT * 0.5 / self.dt

        def amplitude(f: NDArray[np.float64]) -> NDArray[np.float64]:
            rise = np.clip((f - end) / ((RISE - 1.0) * end), 0.0, 1.0)
            return np.where(f <= top, 0.5 - 0.5 * fixedmath.cos(fixedmath.PI * rise), 0.0)

        return zero_phase(amplitude, self.nt, self.dt)

    @cached_property
    def _ramps(self) -> NDArray[np.float64]:
        """Factors of the samples of a trace: 1 but at both ends."""
        index = np.arange(self.nt, dtype=np.float64)
        samples = min(RAMP / (self.end * self.dt), MOST * self.nt)
        return fixedmath.ramp((np.minimum(index, index[::-1]) + 0.5) / max(samples, 1.0))

    def energy(self, traces: NDArray[np.float64]) -> float:
        """Return the estimated |n|^2 of traces (n, nt): of their samples that are not zero."""
        there = (traces != 0).astype(np.float64)
        h, ramps = self._filter, self._ramps
        left = convolve(np.ascontiguousarray(traces * ramps, dtype=np.float64), h)
        of_one = fixedmath.total(convolve(there * np.square(ramps), Filter(np.square(h.taps), h.first)))
        if of_one <= 0:
            return 0.0
        return fixedmath.dot(left, left) / of_one * fixedmath.total(there)
