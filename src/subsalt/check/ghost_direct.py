"""Whether direct waves hold the ghost of a free surface, from a few shots.

Direct wave and mirrored direct wave nearly cancel: beside the ghost the direct wave falls off by one more power of the
distance, and faster at low frequencies. Of every shot that was read the wavelet is estimated by least squares with the
ghost and without, for waves that spread in two dimensions and in three, on the samples of each trace before anything
else can arrive (`subsalt.analytic.direct_wave`). What is left, as a part of the energy of the traces, says which of the
readings the data have. Every trace counts alike, and every shot has its own wavelet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import spread
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.analytic.direct_wave import DirectWave, aligned, other_arrivals
from subsalt.check.context import Context, SampledShot

Array = NDArray[np.float64]

#: traces of a shot, fewest that say anything, and farthest over nearest distance: powers of the distance that differ by
#: one then differ by this factor in amplitude
TRACES, FEWEST, REACH = 24, 6, 1.5
#: traces of a shot among which they are sought
LOOKED = 96
#: length of a wavelet, and shortest part of it that is seen alone, periods
LONG, SHORT = 2.5, 0.75
#: part of the time to the next arrival that is sure: depths of the sea bed differ along a cable
SURE = 0.85
#: share of the traces that have to fit
KEPT = 0.75
#: samples in a period after thinning
SAMPLES = 10
#: swell ends at this part of the dominant frequency
SLOW = 0.4
#: energy of a direct wave over that of the noise before it, from which a trace is used
CLEAR = 9.0
#: white noise, as a part of the power of the Green's functions
STABILISE = 1e-3
#: energy left by the better reading, of the traces, from which on nothing is said: half of the amplitudes
LOST = 0.25
#: energy left by the better reading over that of the other, up to which it is decided
DECIDED = 0.5
#: amplitude of the stack of direct waves, of its largest, at which it begins
ONSET = 0.1


@dataclass(frozen=True)
class Direct:
    """Misfit of direct waves with a ghost and without one.

    Parameters
    ----------
    with_ghost, without_ghost : float
        Rms amplitude of what is left, as a part of that of the direct waves, the better of spreading in 2-D and 3-D.
    traces, shots : int
        That were looked at.
    near, far : float
        Their distances from the sources, m.
    """

    with_ghost: float
    without_ghost: float
    traces: int
    shots: int
    near: float
    far: float

    @property
    def ghost(self) -> bool | None:
        """Whether the direct waves have the ghost; None where they do not tell."""
        low, high = sorted((self.with_ghost**2, self.without_ghost**2))
        if low > LOST or low > DECIDED * high:
            return None
        return self.with_ghost < self.without_ghost

    def said(self) -> str:
        """Return the numbers in words."""
        return (
            f"direct waves at {self.near:.0f} to {self.far:.0f} m leave {100 * self.with_ghost:.0f} % of their "
            f"amplitude unexplained with the ghost of a free surface, {100 * self.without_ghost:.0f} % without"
        )


def direct_waves(context: Context, surface: float) -> Direct | str:
    """Return what both readings leave of the direct waves of the sampled shots, or why they cannot be looked at.

    Parameters
    ----------
    context : Context
        With a survey, samples and a model.
    surface : float
        Depth of the free surface, m.
    """
    left: list[Array] = []
    traces, near, far = 0, math.inf, 0.0
    for item in context.samples:
        for misfits, distance in _left(context, item, surface):
            left.append(misfits)
            traces += len(distance)
            near, far = min(near, float(distance.min())), max(far, float(distance.max()))
    if not left:
        return "too few traces show their direct wave before other waves arrive"
    # (ghost, dimension), of the energy of the traces
    mean = np.mean(left, axis=0)
    with_ghost, without = (float(np.sqrt(max(0.0, part.min()))) for part in mean)
    return Direct(with_ghost, without, traces, len(left), near, far)


def _left(context: Context, item: SampledShot, surface: float) -> Iterator[tuple[Array, Array]]:
    """Yield what is left of the traces of a shot, (2, 2), and their distances; nothing where they say nothing."""
    assert context.survey is not None
    assert context.velocity is not None
    model = context.velocity
    shot, some = _fewer(item.shot)
    time, data = _thinned(context.survey.time, np.nan_to_num(item.data[some].astype(np.float64)))
    period = SAMPLES * time.dt
    v = float(np.median(model.at(np.concatenate([shot.src[None], shot.rcv]))))
    rows = np.flatnonzero(data.any(axis=1))
    direct, image = DirectWave(3, surface, 0.0, 0).distances(shot, rows)
    assert image is not None
    apart = direct > 0
    rows, direct, image = rows[apart], direct[apart], image[apart]
    room = np.minimum(other_arrivals(model, shot, rows, v), time.duration) - image / v
    room = SURE * room
    onset = _onset(shot, rows, data, time, v)
    if onset is None:
        return
    start, clear = onset
    use = clear & (room >= SHORT * period) & (direct / v + start > time.t0)
    rows, direct, room = rows[use], direct[use], room[use]
    some = spread(len(rows), TRACES)
    rows, direct, room = rows[some], direct[some], room[some]
    if len(rows) < FEWEST or direct.max() < REACH * direct.min():
        return
    n = round(LONG * SAMPLES)
    # what arrives later begins as long after its traveltime
    whole = np.minimum(n, np.floor(room / time.dt)).astype(int)
    out = np.empty((2, 2))
    for j, ndim in enumerate((2, 3)):
        for i, top in enumerate((surface, None)):
            wave = DirectWave(ndim, top, start, n)
            made = aligned(wave, shot, rows, data[rows].astype(np.float32), time, v)
            green = np.fft.irfft(made.green, made.size, axis=1)
            out[i, j] = _unexplained(made.traces[:, :n], green, whole)
    yield out, direct


def _fewer(shot: Shot) -> tuple[Shot, NDArray[np.int64]]:
    """Return a shot with `LOOKED` of its receivers, spread over the distances, and which they are."""
    order = np.argsort(((shot.rcv - shot.src) ** 2).sum(axis=1), kind="stable")
    rows = np.sort(order[spread(len(order), LOOKED)])
    return Shot(shot.id, shot.src, shot.rcv[rows]), rows


def _thinned(time: TimeAxis, data: Array) -> tuple[TimeAxis, Array]:
    """Return traces without the noise of high frequencies, at a tenth of the dominant period."""
    f = np.fft.rfftfreq(time.nt, time.dt)
    spectra = np.fft.rfft(data, axis=1)
    power = (np.abs(spectra) ** 2).sum(axis=0)
    # weighted by the frequency, of which swell has little
    peak = float(f[int(np.argmax(np.convolve(power * f, np.hanning(9), "same")))])
    peak = max(peak, 4.0 / (time.nt * time.dt))
    # of what is left out no tail of a sample reaches another by more than a part of a period
    ramp = np.clip((4.0 * peak - f) / (2.0 * peak), 0.0, 1.0)
    clean = np.fft.irfft(spectra * np.sin(0.5 * math.pi * ramp) ** 2, time.nt, axis=1)
    every = max(1, round(1.0 / (peak * SAMPLES * time.dt)))
    thin = clean[:, ::every]
    return TimeAxis(thin.shape[1], time.dt * every, time.t0), thin


def _onset(
    shot: Shot, rows: NDArray[np.int64], data: Array, time: TimeAxis, v: float
) -> tuple[float, NDArray[np.bool_]] | None:
    """Return when direct waves begin after their traveltime, s, and which traces stand above their noise, (n,).

    They begin where the stack of those of a shot rises.
    """
    before = 2 * SAMPLES
    if len(rows) < FEWEST:
        return None
    wave = DirectWave(3, None, -before * time.dt, before + 4 * SAMPLES)
    made = aligned(wave, shot, rows, data[rows].astype(np.float32), time, v).traces
    level = np.sqrt((made**2).sum(axis=1, keepdims=True))
    stack = np.abs(np.divide(made, level, out=np.zeros_like(made), where=level > 0).sum(axis=0))
    if not stack.any():
        return None
    first = max(1, int(np.argmax(stack > ONSET * stack.max())) - round(0.25 * SAMPLES))
    noise = np.array([_quick(row[:first]) for row in made]) / first
    signal = np.array([_quick(row[first : first + SAMPLES]) for row in made]) / SAMPLES
    return time.dt * (first - before), signal > CLEAR * noise


@lru_cache(maxsize=64)
def _slow(n: int) -> Array:
    """Return an orthonormal basis (n, k) of what swell is in n samples: half cycles up to `SLOW` of the frequency."""
    half = 1 + int(2.0 * SLOW * n / SAMPLES)
    angle = math.pi * (np.arange(n) + 0.5)[:, None] * np.arange(half) / n
    q, _ = np.linalg.qr(np.cos(angle))
    return np.asarray(q)


def _quick(values: Array) -> float:
    """Return the energy of samples without swell."""
    q = _slow(len(values))
    return float((values**2).sum() - ((q.T @ values) ** 2).sum())


def _unexplained(traces: Array, green: Array, whole: NDArray[np.int64]) -> float:
    """Return the energy that one wavelet leaves of traces, as a part of their own, mean of those that fit best.

    Parameters
    ----------
    traces : ndarray, (m, n)
        Direct waves from the start of the wavelet on.
    green : ndarray, (m, size)
        Their Green's functions, negative times at the end.
    whole : ndarray, (m,), int
        Samples of each trace that hold nothing else.
    """
    n = traces.shape[1]
    lag = np.arange(n)[:, None] - np.arange(n)[None, :]
    inside = np.arange(n)[None, :] < whole[:, None]
    d = np.where(inside, traces, 0.0)
    energy = np.array([_quick(row[:long]) for row, long in zip(d, whole, strict=True)])
    live = energy > 0
    d, g, inside = d[live], green[live], inside[live]
    weight = 1.0 / np.sqrt(energy[live])
    # A sample depends on no later one of the wavelet, so that traces may end early; of shifts by a part of a sample
    # both sides are needed, or a ghost that comes after a tenth of a sample is none.
    k = g[:, lag % g.shape[1]] * inside[:, :, None]
    for i, long in enumerate(whole[live]):
        q = _slow(int(long))
        d[i, :long] -= q @ (q.T @ d[i, :long])
        k[i, :long] -= q @ (q.T @ k[i, :long])
    d = d * weight[:, None]
    k = k * weight[:, None, None]
    left = _rests(k, d)
    # the same share of the traces for every reading: those in which something else comes first say nothing
    lowest = np.argsort(left, kind="stable")[: math.ceil(KEPT * len(left))]
    return float(_rests(k[lowest], d[lowest]).mean()) if len(lowest) else 1.0


def _rests(k: Array, d: Array) -> Array:
    """Return the energy that one wavelet leaves of each trace d (m, n), which its matrix (m, n, n) models."""
    n = k.shape[2]
    flat = k.reshape(-1, n)
    normal = flat.T @ flat
    normal[np.diag_indices(n)] += STABILISE * max(np.trace(normal), 1e-30) / n
    shape = np.linalg.solve(normal, flat.T @ d.reshape(-1))
    return np.asarray(((d - k @ shape) ** 2).sum(axis=1))
