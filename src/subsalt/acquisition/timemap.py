"""Traces from one time axis to another: interpolation, the time-dispersion transform, the derivative.

Second-order time stepping makes a wave of angular frequency w behave as the exact equation does at ``(2/dt)
sin(w dt/2)``. The error is undone exactly, trace by trace (physics page, section 3.1): what is injected
passes the forward transform ``X~(w) = X((2/dt) sin(w dt/2))``, what was recorded the inverse one. Evaluating
the spectrum of a trace at one set of frequencies and summing it at another does both that and the change of
sampling interval::

    y(t') = (1/pi) Re sum_k g_k H(w_k) X(w~_k) exp(i w_k t') dw
    X(w~) = dt sum_n x[n] exp(-i w~ (t0 + n dt))

with ``g_0 = 1/2``, else 1, and H the cosine taper at the upper end of the band, times ``i w`` for the
derivative. The sum has the period 2 pi / dw, twice the duration that covers both axes, so that nothing wraps
around into the record.

References ---------- Stork, C. (2013), Eliminating nearly all dispersion error from FD modeling and RTM with
minimal cost increase, EAGE. Koene, E. F. M., et al. (2018), Eliminating time dispersion from seismic wave
modeling, Geophys. J. Int. 213, 169-180.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt import _native
from subsalt.errors import ConfigError
from subsalt.numerics import fixedmath

Dispersion = tuple[Literal["forward", "inverse"], float]

#: fraction of the band over which the cosine taper falls to zero
TAPER = 0.15

#: samples of two axes coincide when they are less than this share of an interval apart
COINCIDE = 1e-9

#: multiply-adds of a thread per second, traces that are mapped together, and those that their tables take as long as
#: (Zen 4, 2026-11-26)
TERMS_PER_S, CHUNK, TABLES = 1.5e10, 512, 40

#: period of the frequency sum over the duration that covers both axes
PAD = 2.0


class TraceMap:
    """A linear map of traces between two time axes, and its exact transpose.

    Parameters
    ----------
    nt_in, dt_in, t0_in : int, float, float
        Samples, interval (s) and time of the first sample (s) of the input axis.
    nt_out, dt_out, t0_out : int, float, float
        The same of the output axis.
    dispersion : (str, float), optional
        ``("forward", dt)`` for wavelets and observed traces before they are injected into a propagation with
        step `dt`, ``("inverse", dt)`` for traces it recorded. Both need true times: time zero is the same for
        both.
    derivative : {0, 1}
        1 differentiates with respect to the true time.
    fmax : float, optional
        Highest frequency to keep, Hz; it and all below pass unchanged (as far as the axes can carry them),
        the taper follows. Without it the taper ends at the lower Nyquist frequency.

    Notes
    -----
    Where nothing but the ends of the axes differs, samples are copied: there is nothing to interpolate, and outside the
    input axis is zero. Else a map does not keep tables: it costs (nt_in + nt_out) nk multiply-adds per trace, with nk =
    fmax times twice the covering duration, and memory for 512 traces at a time. Call it with many traces at once.
    """

    def __init__(
        self,
        nt_in: int,
        dt_in: float,
        t0_in: float,
        nt_out: int,
        dt_out: float,
        t0_out: float,
        *,
        dispersion: Dispersion | None = None,
        derivative: int = 0,
        fmax: float | None = None,
    ) -> None:
        self.nt_in, self.dt_in, self.t0_in = int(nt_in), float(dt_in), float(t0_in)
        self.nt_out, self.dt_out, self.t0_out = int(nt_out), float(dt_out), float(t0_out)
        self.dispersion, self.derivative, self.fmax = dispersion, derivative, fmax
        self._check()
        offset = (self.t0_in - self.t0_out) / self.dt_out
        #: output sample at which the first input sample stands, where the samples of both axes coincide
        self.shift = round(offset)
        plain = dispersion is None and derivative == 0 and fmax is None
        self.is_copy = plain and self.dt_in == self.dt_out and abs(offset - self.shift) < COINCIDE
        if not self.is_copy:
            self._prepare()

    def apply(self, x: NDArray) -> NDArray:
        """Map traces (n, nt_in), or one (nt_in,), to the output axis; float32 stays float32."""
        return self._run(x, self.nt_in, self.nt_out, transpose=False)

    def apply_transpose(self, y: NDArray) -> NDArray:
        """Map traces (n, nt_out) to (n, nt_in) by the transpose of `apply`."""
        return self._run(y, self.nt_out, self.nt_in, transpose=True)

    def seconds(self, traces: int, threads: int) -> float:
        """Return about how long so many traces take, s."""
        if self.is_copy or not traces:
            return 0.0
        terms = (self.nt_in + self.nt_out) * len(self._w_in)
        return terms * (traces + TABLES * math.ceil(traces / CHUNK)) / (TERMS_PER_S * threads)

    def _run(self, x: NDArray, nt_from: int, nt_to: int, transpose: bool) -> NDArray:
        traces = np.asarray(x)
        if traces.dtype not in (np.float32, np.float64):
            traces = traces.astype(np.float64)
        if traces.ndim not in (1, 2) or traces.shape[-1] != nt_from:
            raise ConfigError(
                f"traces have shape {traces.shape}, the time axis has {nt_from} samples",
                "order traces as (trace, sample)",
                code="E163",
            )
        if self.is_copy:
            return _shifted(traces, -self.shift if transpose else self.shift, nt_to)
        rows = np.ascontiguousarray(traces).reshape(-1, nt_from)
        out = np.empty((len(rows), nt_to), dtype=rows.dtype)
        if transpose:
            _native.map_traces(
                rows, out, self.dt_out, self.dt_in, self._w_out, self._w_in, self._q_real, -self._q_imag
            )
        else:
            _native.map_traces(
                rows, out, self.dt_in, self.dt_out, self._w_in, self._w_out, self._q_real, self._q_imag
            )
        return out.reshape(*traces.shape[:-1], nt_to)

    def _check(self) -> None:
        numbers = (self.dt_in, self.t0_in, self.dt_out, self.t0_out)
        if (
            min(self.nt_in, self.nt_out) < 1
            or min(self.dt_in, self.dt_out) <= 0
            or not np.isfinite(numbers).all()
        ):
            raise ConfigError(
                f"time axes of {self.nt_in} samples at {self.dt_in} s from {self.t0_in} s "
                f"and {self.nt_out} samples at {self.dt_out} s from {self.t0_out} s",
                "give positive numbers of samples and intervals in seconds",
                code="E163",
            )
        if self.dispersion is not None and not (
            self.dispersion[0] in ("forward", "inverse") and 0 < self.dispersion[1] < math.inf
        ):
            raise ConfigError(
                f"dispersion = {self.dispersion}", 'use ("forward", dt) or ("inverse", dt)', code="E163"
            )
        if self.derivative not in (0, 1) or (self.fmax is not None and not 0 < self.fmax < math.inf):
            raise ConfigError(
                f"derivative = {self.derivative}, fmax = {self.fmax}",
                "use 0 or 1, and a positive fmax in Hz",
                code="E163",
            )

    def _prepare(self) -> None:
        """Choose the frequencies and form q, all that lies between analysis and synthesis."""
        start = min(self.t0_in, self.t0_out)
        end = max(self.t0_in + self.nt_in * self.dt_in, self.t0_out + self.nt_out * self.dt_out)
        step = 2.0 * fixedmath.PI / (PAD * (end - start))
        limit_out, limit = self._limits()
        count = math.floor(limit_out / step) + 1
        w_out = step * np.arange(count, dtype=np.float64)
        w_in, physical = self._frequencies(w_out)

        top, flat = limit, (1.0 - TAPER) * limit
        if self.fmax is not None and 2.0 * fixedmath.PI * self.fmax < flat:
            flat = 2.0 * fixedmath.PI * self.fmax
            top = min(limit, flat / (1.0 - TAPER))
        keep = physical < top
        w_out, w_in, physical = w_out[keep], w_in[keep], physical[keep]
        fall = np.clip((physical - flat) / (top - flat), 0.0, 1.0)
        gain = (0.5 + 0.5 * fixedmath.cos(fixedmath.PI * fall)) * (step * self.dt_in / fixedmath.PI)
        gain[0] *= 0.5

        # samples count from the middles of the axes; q moves them back to true times
        middle_in = self.t0_in + 0.5 * (self.nt_in - 1) * self.dt_in
        middle_out = self.t0_out + 0.5 * (self.nt_out - 1) * self.dt_out
        angle = w_out * (middle_out - middle_in) - (w_in - w_out) * middle_in
        real, imag = gain * fixedmath.cos(angle), gain * fixedmath.sin(angle)
        if self.derivative:
            real, imag = -physical * imag, physical * real
        self._w_in, self._w_out = np.ascontiguousarray(w_in), np.ascontiguousarray(w_out)
        self._q_real, self._q_imag = np.ascontiguousarray(real), np.ascontiguousarray(imag)

    def _limits(self) -> tuple[float, float]:
        """Return the upper limits of the output frequency and of the true one, rad/s."""
        nyquist_in, nyquist_out = fixedmath.PI / self.dt_in, fixedmath.PI / self.dt_out
        if self.dispersion is None:
            limit = min(nyquist_in, nyquist_out)
            return limit, limit
        kind, dt = self.dispersion
        if kind == "forward":  # the input is the true wave
            out = min(nyquist_out, fixedmath.PI / dt)
            if nyquist_in < 2.0 / dt:
                out = min(out, 2.0 / dt * float(fixedmath.asin(nyquist_in * dt / 2.0)))
            return out, 2.0 / dt * float(fixedmath.sin(out * dt / 2.0))
        stepped = min(nyquist_in, fixedmath.PI / dt)
        limit = min(nyquist_out, 2.0 / dt * float(fixedmath.sin(stepped * dt / 2.0)))
        return limit, limit

    def _frequencies(self, w_out: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the input frequencies of the output ones, and which of the two are the true ones."""
        if self.dispersion is None:
            return w_out, w_out
        kind, dt = self.dispersion
        if kind == "forward":
            w_in = 2.0 / dt * fixedmath.sin(w_out * dt / 2.0)
            return w_in, w_in
        # rounding may carry the last frequency past 2/dt
        return 2.0 / dt * fixedmath.asin(np.minimum(1.0, w_out * dt / 2.0)), w_out


def _shifted(traces: NDArray, shift: int, nt: int) -> NDArray:
    """Return `nt` samples of which number `shift` is the first of `traces`; zero where these have none."""
    out = np.zeros((*traces.shape[:-1], nt), dtype=traces.dtype)
    first, last = max(0, shift), min(nt, shift + traces.shape[-1])
    if first < last:
        out[..., first:last] = traces[..., first - shift : last - shift]
    return out
