"""`gain`: amplitudes over time.

===============  ==================================================================  =======
kind             factor                                                              inverse
===============  ==================================================================  =======
``power``        t^n, t in s, 0 before time zero                                     t > 0
``exponential``  e^(a t)                                                             yes
``divergence``   v_rms(t)^2 t / v_rms(0), the spreading of a reflection (Newman)     t > 0
``agc``          1 / rms amplitude in a window about the sample                      none
===============  ==================================================================  =======

Automatic gain control (AGC) makes all amplitudes alike: those of the image say nothing of reflection strength then.
It is no linear map of the traces, hence has no adjoint.

References
----------
Newman, P. (1973), Divergence effects in a layered earth, Geophysics 38, 481-488.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError
from subsalt.job.signal.step import Headers, Resolve, Scaled, Step, TraceOperator, Traces
from subsalt.job.signal.velocity import AnyVelocity
from subsalt.job.units import PositiveTime
from subsalt.numerics import fixedmath

#: largest exponent of an exponential gain: e^40 is 10^17, beyond the digits of float32 traces
LARGEST_EXPONENT = 40.0
#: the key that each kind needs, and no other has
KEYS = {"power": "power", "exponential": "rate", "divergence": "velocity", "agc": "window"}


class Gain(Step):
    """Scale samples by a function of time, or by the amplitude around them."""

    title = "gain"

    step: Literal["gain"] = Field(description="gain over time")
    kind: Literal["power", "exponential", "divergence", "agc"] = Field(
        description="how amplitudes are scaled"
    )
    power: float | None = Field(None, ge=-8, le=8, description="power: n of t^n, t in s")
    rate: float | None = Field(None, ge=-100, le=100, description="exponential: a of e^(a t), 1/s")
    velocity: AnyVelocity | None = Field(
        None, description="divergence: rms velocity, a number or {t = [...], v = [...]}"
    )
    window: PositiveTime | None = Field(None, description="agc: length of the window around a sample")

    @model_validator(mode="after")
    def _keys_of_the_kind(self) -> Gain:
        need = KEYS[self.kind]
        given = [key for key in KEYS.values() if getattr(self, key) is not None]
        if given != [need]:
            raise ConfigError(
                f"gain of kind {self.kind} has {', '.join(given) or 'no ' + need}",
                f"give {need}" + (" alone" if len(given) > 1 or (given and need not in given) else ""),
                code="E104",
            )
        return self

    def operator(self, time: TimeAxis, resolve: Resolve) -> TraceOperator:
        """Return the gain for these records."""
        t = np.maximum(time.values(), 0.0)
        if self.kind == "power":
            assert self.power is not None
            factor = np.zeros_like(t)
            factor[t > 0] = fixedmath.power(t[t > 0], self.power)
            # t^n of a negative power ends at the first sample: what lies before would grow without limit
            return Scaled(time, factor if self.power != 0 else np.ones_like(t))
        if self.kind == "exponential":
            assert self.rate is not None
            exponent = self.rate * time.values()
            if np.abs(exponent).max() > LARGEST_EXPONENT:
                raise ConfigError(
                    f"e^(rate t) reaches e^{exponent[np.abs(exponent).argmax()]:.4g} within the records",
                    f"use a rate below {LARGEST_EXPONENT / np.abs(time.values()).max():.3g} 1/s",
                    code="E792",
                )
            return Scaled(time, fixedmath.exp(exponent))
        if self.kind == "divergence":
            assert self.velocity is not None
            v = self.velocity.at(t)
            return Scaled(time, v * v * t / float(self.velocity.at(np.zeros(1))[0]))
        assert self.window is not None
        if self.window > time.duration - time.t0:
            raise ConfigError(
                f"the window of the agc, {self.window:g} s, is longer than the records "
                f"({time.duration - time.t0:.4g} s)",
                f'window = "{self.window:g} ms", if that was meant; else a part of the record such as 0.5 s',
                code="E792",
            )
        return _AutomaticGain(time, self.window)

    def label(self) -> str:
        """Return kind and parameter."""
        if self.kind == "power":
            return f"gain t^{self.power:g}"
        if self.kind == "exponential":
            return f"gain e^({self.rate:g} t)"
        if self.kind == "divergence":
            return f"spherical divergence, {self.velocity}"
        return f"AGC, window {1e3 * (self.window or 0.0):g} ms"


class _AutomaticGain(TraceOperator):
    """Samples over the rms amplitude in a window about each."""

    levels = True
    no_adjoint = "automatic gain control divides by the amplitude of the traces themselves, and is not linear"

    def __init__(self, time: TimeAxis, window: float) -> None:
        super().__init__(time)
        self.half = max(1, round(0.5 * window / time.dt))

    def apply(self, traces: Traces, headers: Headers) -> Traces:
        """Return the traces with an rms amplitude of 1 in every window; zeros stay zeros."""
        nt, half = self.time.nt, self.half
        # running sums from the first sample on, one addition after the other
        energy = np.cumsum(np.asarray(traces, np.float64) ** 2, axis=1)
        energy = np.concatenate([np.zeros((len(traces), 1)), energy], axis=1)
        i = np.arange(nt)
        low, high = np.maximum(i - half, 0), np.minimum(i + half + 1, nt)
        mean = (energy[:, high] - energy[:, low]) / (high - low)
        # what the running sums have lost to rounding is no signal
        quiet = mean <= 1e-13 * energy[:, -1:]
        rms = np.sqrt(np.where(quiet, 1.0, mean))
        return np.where(quiet, 0.0, traces / rms).astype(traces.dtype)
