"""Echoes of the columns of a model, read in one way or another, at traces of small offset.

At the two-way time of every change of velocity comes the wavelet with the size of half the relative change, at an
offset by ``t^2 = t0^2 + x^2 / v^2`` with the rms velocity down to there. Stations stand at their depths: times count
from there down and back up, so towed instruments, nodes on the sea bed, geophones in a well and stations below
topography are alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.check.echo_readings import EchoReading
from subsalt.earth.model_like import ModelLike

Array = NDArray[np.float64]

#: most depths of a column, and samples in a period of the wavelet that are kept
DEPTHS, SAMPLES = 512, 10
#: part of the wavelet's largest amplitude from which a frequency counts, and from which it counts fully: swell and hum
#: lie below and beyond
BAND = 0.05, 0.4
#: m/s; what interval velocities from rms or average ones must be to be any, at this share of the nodes
POSSIBLE, MOSTLY = (300.0, 9500.0), 0.98


@dataclass(frozen=True)
class Near:
    """Traces at small offsets.

    Parameters
    ----------
    shot : ndarray, (n,), int
        Which of the shots that were looked at.
    src, rcv : ndarray, (n, 3)
        Where they stand, m.
    data : ndarray, (n, nt)
        Samples.
    """

    shot: NDArray[np.int64]
    src: Array
    rcv: Array
    data: Array

    @property
    def shots(self) -> int:
        """Number of shots."""
        return len(np.unique(self.shot))

    @property
    def offset(self) -> Array:
        """Horizontal distances from the sources, m."""
        return np.asarray(np.hypot(*(self.rcv - self.src)[:, :2].T))

    @property
    def distance(self) -> Array:
        """Distances from the sources, m: receivers may lie on the sea floor."""
        return np.asarray(np.sqrt(((self.rcv - self.src) ** 2).sum(axis=1)))

    @property
    def middle(self) -> Array:
        """Midpoints."""
        return 0.5 * (self.src + self.rcv)

    @property
    def deepest(self) -> Array:
        """Depths of the lower of source and receiver, m: what lies above sends nothing back up."""
        return np.asarray(np.maximum(self.src[:, 2], self.rcv[:, 2]))


@dataclass
class Columns:
    """The columns of a model at traces, and what they would record.

    Parameters
    ----------
    model : ModelLike
        With velocities.
    near : Near
        Traces, of which the samples are not needed.
    time : ndarray, (nt,)
        Times of samples, s.
    wavelet : Wavelet
        Wavelet of the source.
    """

    model: ModelLike
    near: Near
    time: Array
    wavelet: Wavelet
    _held: dict[str, Array] = field(default_factory=dict)

    @property
    def interval(self) -> float:
        """Time between samples, s."""
        return float(self.time[1] - self.time[0])

    @cached_property
    def _pulse(self) -> tuple[int, NDArray[np.complex128]]:
        """Length of the transforms, and that of the wavelet in its band; the same for all readings."""
        wavelet, dt = self.wavelet, self.interval
        pulse_time = wavelet.t0 + dt * np.arange(int((wavelet.duration - wavelet.t0) / dt) + 2)
        pulse = np.interp(pulse_time, wavelet.times(), wavelet.samples, 0, 0)
        # room for the pulse on both sides, which the band makes longer
        whole = fast_length(len(self.time) + 4 * len(pulse))
        return whole, np.fft.rfft(pulse, whole) * band(wavelet, np.fft.rfftfreq(whole, dt))

    def velocities(self, how: EchoReading) -> Array:
        """Return the values of the model below the midpoints, (n, nz), as they are given."""
        if how.what not in self._held:
            n, z = len(self.near.src), self.depths
            where = np.repeat(how.place(self.near.middle)[:, None, :], len(z), axis=1)
            where[:, :, 2] = z
            self._held[how.what] = self.model.at(where.reshape(-1, 3)).astype(np.float64).reshape(n, len(z))
        return self._held[how.what]

    @property
    def depths(self) -> Array:
        """Depths of the model's nodes as they are given, thinned."""
        return self.model.grid.axis(-1)[:: -(-self.model.grid.shape[-1] // DEPTHS)]

    def spikes(self, how: EchoReading) -> tuple[Array, Array] | None:
        """Return arrivals, s, and sizes of all echoes, (n, nz); None where the reading makes no velocities."""
        v, z = self.velocities(how), self.depths
        top = z[0] * (how.factor if how.scaled_top else 1.0) + how.shift
        dz = how.factor * float(z[1] - z[0])
        interval_v = interval(v, dz, how.held)
        if interval_v is None:
            return None
        v = how.speed * interval_v
        step = np.full(v.shape, 1e-3 * dz) if how.timed else 2 * dz / v
        # changes lie between nodes; the first node is the top
        t0 = np.cumsum(step, axis=1) - step - 0.5 * step[:, :1]
        t0[:, 0] = 0.0
        squared = np.cumsum(v * v * step, axis=1) / np.cumsum(step, axis=1)
        one_way = [self._down(t0, v, top, dz, how, at[:, 2]) for at in (self.near.src, self.near.rcv)]
        below = t0 - one_way[0] - one_way[1]
        arrival = np.sqrt(np.maximum(below, 0.0) ** 2 + self.near.offset[:, None] ** 2 / squared)
        size = np.zeros_like(v)
        size[:, 1:] = 0.5 * np.diff(np.log(v), axis=1)
        size[t0 <= 2 * np.maximum(*one_way) + 0.5 * step] = 0.0
        return arrival, size

    @staticmethod
    def _down(t0: Array, v: Array, top: float, dz: float, how: EchoReading, depth: Array) -> Array:
        """Return the one-way vertical times from the top to a depth of each trace, (n, 1); negative above it."""
        deep = depth - top
        if how.timed:
            return np.asarray((deep / v[:, 0])[:, None])
        at = np.clip(deep / dz + 0.5, 0.0, v.shape[1] - 1.0)
        k = np.minimum(at.astype(np.int64), v.shape[1] - 2)
        rows = np.arange(len(v))
        inside = t0[rows, k] + (at - k) * (t0[rows, k + 1] - t0[rows, k])
        return np.asarray(np.where(deep <= dz, deep / v[:, 0], 0.5 * inside)[:, None])

    def echoes(self, how: EchoReading, after: Array | None = None) -> Array | None:
        """Return what a model that is read in some way gives at the traces, (n, nt).

        Parameters
        ----------
        after : ndarray, (n,), optional
            Times of the peak, s, from which echoes count.
        """
        if (arrivals_and_sizes := self.spikes(how)) is None:
            return None
        arrival, size = arrivals_and_sizes
        if after is not None:
            size = np.where(arrival + self.wavelet.peak_time >= after[:, None], size, 0.0)
        n, nt, dt = len(arrival), len(self.time), self.interval
        at = (arrival + self.wavelet.t0 - self.time[0]) / dt
        first = np.floor(at).astype(np.int64)
        rows = np.broadcast_to(np.arange(n)[:, None] * nt, first.shape)
        spikes = np.zeros(n * nt)
        for k, weight in ((first, size * (1 - (at - first))), (first + 1, size * (at - first))):
            inside = (k >= 0) & (k < nt) & (weight != 0)
            spikes += np.bincount((rows + k)[inside], weight[inside], n * nt)
        whole, shape = self._pulse
        return np.asarray(np.fft.irfft(np.fft.rfft(spikes.reshape(n, nt), whole) * shape, whole)[:, :nt])


def interval(v: Array, dz: float, held: str) -> Array | None:
    """Return interval velocities of columns, (n, nz), of rms or average ones from the top down to each depth.

    With the two-way time t down to z, an average velocity is ``2 z / t``, and of an rms velocity V,
    ``d(V^2 t) = v^2 dt`` (Dix 1955) and ``dt = 2 dz / v`` make a quadratic equation for dt. None where what comes out
    is no velocity of rocks.
    """
    if held == "interval":
        return v
    out = np.empty_like(v)
    out[:, 0] = v[:, 0]
    if held == "average":
        k = np.arange(v.shape[1])
        t = 2 * dz * (k + 0.5) / v
        step = np.diff(t, axis=1)
    else:
        t = np.zeros_like(v)
        t[:, 0] = 2 * dz * 0.5 / v[:, 0]
        square = v * v
        for i in range(1, v.shape[1]):
            # V^2 (t + d) - V0^2 t = 4 dz^2 / d
            a, b = square[:, i], (square[:, i] - square[:, i - 1]) * t[:, i - 1]
            t[:, i] = t[:, i - 1] + (-b + np.sqrt(b * b + 16 * a * dz * dz)) / (2 * a)
        step = np.diff(t, axis=1)
    possible = (step > 2 * dz / POSSIBLE[1]) & (step < 2 * dz / POSSIBLE[0])
    if possible.mean() < MOSTLY:
        return None
    out[:, 1:] = 2 * dz / np.clip(step, 2 * dz / POSSIBLE[1], 2 * dz / POSSIBLE[0])
    return out


def band(wavelet: Wavelet, frequency: NDArray[Any]) -> Array:
    """Return how much of each frequency is kept, from 0 to 1, where a wavelet is looked for."""
    n = max(4 * wavelet.nt, 1024)
    pulse = np.abs(np.fft.rfft(wavelet.samples, n))
    part = np.interp(
        frequency, np.fft.rfftfreq(n, wavelet.dt), pulse / max(float(pulse.max()), 1e-300), right=0.0
    )
    return np.asarray(np.clip((part - BAND[0]) / (BAND[1] - BAND[0]), 0.0, 1.0))


def in_band(near: Near, time: TimeAxis, wavelet: Wavelet, after: Array) -> tuple[Near, Array]:
    """Return the traces in the band of the wavelet, with the samples that it needs, and the times of those, s.

    The direct wave, which has passed at the times `after`, (n,), is taken out before: a filter would spread it.
    """
    n = fast_length(2 * time.nt)
    passband = band(wavelet, np.fft.rfftfreq(n, time.dt))
    passed = np.clip(2 * wavelet.f0 * (time.values()[None, :] - after[:, None]) + 1.0, 0.0, 1.0)
    data = np.fft.irfft(np.fft.rfft(near.data * passed, n) * passband, n)[:, : time.nt]
    every = max(1, int(1 / (SAMPLES * wavelet.f0 * time.dt)))
    return replace(near, data=data[:, ::every]), time.values()[::every]


def fast_length(n: int) -> int:
    """Return the smallest number from `n` on with no prime factors but 2, 3 and 5: its transforms are quick."""
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1
