"""`designature`: the source signature becomes a zero-phase wavelet.

With S(f) the spectrum of the signature, times counted from the moment the source is said to fire, traces are filtered
by

    H = D conj(S) / (|S|^2 + stabilise max |S|^2)

D is what the wavelet is to have: |S|, which leaves the amplitude spectrum and takes the phase out, or, with
`corners`, a
flat band of the height max |S| with cosine ramps. `stabilise` is white noise, a part of the largest power: where the
signature has less than that, nothing is made up. The report says how much the filter amplifies, and where.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from subsalt.acquisition import wavelet
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.bandpass import Bandpass
from subsalt.job.signal.step import Filtered, Resolve, Step, TraceOperator
from subsalt.job.units import NonNegativeFrequency, PositiveTime, Time
from subsalt.numerics import fixedmath
from subsalt.numerics.filters import Filter, design_frequencies, from_response


class Designature(Step):
    """Convert the source signature to a zero-phase wavelet."""

    title = "designature"
    moves = True

    step: Literal["designature"] = Field(description="source signature to a zero-phase wavelet")
    signature: str = Field(description="file of the signature, as [source] file: values, or times and values")
    dt: PositiveTime | None = Field(None, description="sample interval of a signature without times")
    t0: Time | None = Field(None, description="time of the first sample of a file without times")
    corners: list[NonNegativeFrequency] | None = Field(
        None,
        description="pass band of the zero-phase wavelet, as for bandpass; default: the amplitudes of the signature",
    )
    stabilise: float = Field(1e-3, gt=0, le=1, description="white noise, as a fraction of the largest power")

    @model_validator(mode="after")
    def _corners_of_a_band(self) -> Designature:
        if self.corners is not None:
            Bandpass(step="bandpass", corners=self.corners)
        return self

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the filter for these records."""
        path = resolve(self.signature, "signature")
        values, step, first = wavelet.read_columns(path)
        if step is not None and (self.dt or self.t0) is not None:
            raise ConfigError(f"{path} has times, and dt or t0 is given", "leave dt and t0 out", code="E793")
        if step is None and self.dt is None:
            raise ConfigError(
                f"{path} has one column and the step no dt",
                "give the sample interval of the signature: dt, in seconds",
                code="E161",
            )
        made = wavelet.from_samples(values, step or self.dt or 0.0, self.t0 or first, name=Path(path).name)
        if made.duration - made.t0 > time.duration - time.t0:
            raise ConfigError(
                f"the signature of {path} is {made.duration - made.t0:.4g} s long, the records "
                f"{time.duration - time.t0:.4g} s",
                'give the signature alone; dt = "1 ms" if its interval was meant in milliseconds',
                code="E793",
            )
        if self.corners is not None:
            Bandpass(step="bandpass", corners=self.corners).operator(time, resolve)
        samples = made.samples.tobytes()
        filter_, facts = _designed(self.model_dump_json(), samples, made.dt, made.t0, time.nt, time.dt)
        filtered = Filtered(time, filter_)
        filtered.facts = dict(facts)
        return filtered

    def files(self) -> dict[str, str]:
        """Return the file of the signature."""
        return {"signature": self.signature}

    def label(self) -> str:
        """Return signature and wavelet."""
        band = "" if self.corners is None else ", " + "-".join(f"{f:g}" for f in self.corners) + " Hz"
        return f"designature {Path(self.signature).name}{band}, {100 * self.stabilise:g} % noise"


def spectrum(
    samples: NDArray[np.float64], dt: float, t0: float, f: NDArray[np.float64]
) -> tuple[NDArray, NDArray]:
    """Return real and imaginary part of dt sum_n s_n e^{-2 pi i f (t0 + n dt)} at frequencies, Hz."""
    real, imag = np.zeros_like(f), np.zeros_like(f)
    for n, value in enumerate(samples):
        if value:
            angle = (2.0 * fixedmath.PI * (t0 + n * dt)) * f
            real += value * fixedmath.cos(angle)
            imag -= value * fixedmath.sin(angle)
    return dt * real, dt * imag


@lru_cache(maxsize=4)
def _designed(
    keys: str, samples: bytes, dt: float, t0: float, nt: int, interval: float
) -> tuple[Filter, dict[str, float]]:
    """Return the filter, and what is said of it."""
    step = Designature.model_validate_json(keys)
    f = design_frequencies(nt, interval)
    real, imag = spectrum(np.frombuffer(samples), dt, t0, f)
    # above its own Nyquist frequency a signature repeats itself
    known = f < 0.5 / dt * (1 + 1e-9)
    power = np.where(known, real * real + imag * imag, 0.0)
    largest = float(power.max())
    if step.corners is None:
        wanted = np.sqrt(power)
    else:
        wanted = math.sqrt(largest) * Bandpass(step="bandpass", corners=step.corners).amplitude(f)
    factor = np.where(known, wanted / (power + step.stabilise * largest), 0.0)
    amplitude = factor * np.sqrt(power)
    most = int(amplitude.argmax())
    above = np.flatnonzero(power > step.stabilise * largest)
    facts = {
        "largest_gain_db": 20.0 * math.log10(float(amplitude[most])),
        "at_hz": float(f[most]),
        "above_the_noise_from_hz": float(f[above[0]]),
        "to_hz": float(f[above[-1]]),
    }
    return from_response(factor * real, -factor * imag, nt), facts
