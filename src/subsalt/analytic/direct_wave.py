"""The direct waves of a shot: which traces show them alone, where they begin, and what they say of the source.

The direct wave runs from source to receiver through water, or the uppermost layer, with the velocity at the source.
Under a free surface it has a mirror image of the opposite sign, the ghost of source and receiver together:

    g(w) = G(r) - G(r'),    r' the distance of the receiver from the mirrored source

G is the Green's function of the dimension in which the waves of the records spread (`subsalt.analytic`). A trace is cut
to the window of its direct wave, moved to the time of the source, and, where waves spread in 2-D, multiplied by
G_3D(r) / G_2D(r), which takes away the tail that a wave drags along in two dimensions. What remains is short, as
`subsalt.acquisition.source_shape` needs it: (g / (4 pi r)) * s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import fit_line, pick
from subsalt.acquisition.source_shape import ShotSums, solve_shape
from subsalt.acquisition.survey import Shot, TimeAxis
from subsalt.analytic.uniform import isotropic_response
from subsalt.earth.model_like import ModelLike

#: change of velocity with depth that sends back a wave, or bends one
CONTRAST = 0.05
#: traces that a shot needs
FEWEST_TRACES = 3
#: amplitude of a trace over that expected from the median of its shot, beyond which it is left out, up or down
LEVEL = 4.0
#: correlation of a trace with what the others of its shot model, below which it is left out
LEAST_LIKENESS = 0.5
#: samples around a window that fade in and out
PAD = 8


@dataclass(frozen=True)
class DirectWave:
    """How direct waves are modelled and cut.

    Parameters
    ----------
    ndim : {2, 3}
        Dimension in which the waves of the records spread.
    surface : float, optional
        Depth of the free surface, m; None without one.
    start, n : float, int
        Time of the first sample of the wavelet, s, and its number of samples.
    """

    ndim: int
    surface: float | None
    start: float
    n: int

    def distances(self, shot: Shot, rows: NDArray[np.int64]) -> tuple[NDArray, NDArray | None]:
        """Return the distances of receivers from the source and from its mirror image, m, (n,) each."""
        direct = np.sqrt(((shot.rcv[rows] - shot.src) ** 2).sum(axis=1))
        if self.surface is None:
            return direct, None
        mirrored = shot.src.copy()
        mirrored[2] = 2.0 * self.surface - mirrored[2]
        return direct, np.sqrt(((shot.rcv[rows] - mirrored) ** 2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Aligned:
    """Direct waves of a shot, moved to the time of the source, and their Green's functions.

    Parameters
    ----------
    rows : ndarray, (m,), int
        Traces of the shot.
    traces : ndarray, (m, width), float64
        Samples from the start of the wavelet on.
    green : ndarray, (m, nf), complex128
        Spectra of the Green's functions without the traveltime, for transforms of `size` samples.
    size : int
        Samples of these transforms.
    """

    rows: NDArray[np.int64]
    traces: NDArray[np.float64]
    green: NDArray[np.complex128]
    size: int

    def take(self, some: NDArray[np.bool_]) -> Aligned:
        """Return some of the traces."""
        return Aligned(self.rows[some], self.traces[some], self.green[some], self.size)

    def sums(self, shot: int, n: int) -> ShotSums:
        """Return the sums of a wavelet of `n` samples."""
        power = np.fft.irfft((np.abs(self.green) ** 2).sum(axis=0), self.size)[:n]
        spectra = np.fft.rfft(self.traces, self.size, axis=1)
        cross = np.fft.irfft((np.conj(self.green) * spectra).sum(axis=0), self.size)[:n]
        return ShotSums(shot, len(self.rows), power, cross, float((self.traces**2).sum()))

    def modelled(self, shape: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the traces that a wavelet predicts, (m, width)."""
        spectra = self.green * np.fft.rfft(shape, self.size)
        return np.fft.irfft(spectra, self.size, axis=1)[:, : self.traces.shape[1]]


def other_arrivals(model: ModelLike, shot: Shot, rows: NDArray[np.int64], v: float) -> NDArray[np.float64]:
    """Return the time, s, after which another wave than the direct one may arrive at receivers (n,).

    Notes
    -----
    Below source and receiver the first depth at which the velocity differs by `CONTRAST` reflects; every faster layer
    below sends up a head wave. Both as if the column of the model at the source were everywhere. Infinite where the
    model has one velocity.
    """
    grid = model.grid
    z = grid.axis(-1)
    where = np.repeat(shot.src[None], len(z), axis=0)
    where[:, 2] = z
    column = model.at(where).astype(np.float64)
    x = np.sqrt(((shot.rcv[rows, :2] - shot.src[:2]) ** 2).sum(axis=1))
    zs, zr = shot.src[2], shot.rcv[rows, 2]
    own = float(model.at(shot.src[None])[0])
    # a direct wave that is slower than in the model does not make other waves later
    v = max(v, own)
    below = (z > max(zs, float(zr.max(initial=zs)))) & (np.abs(column - own) > CONTRAST * own)
    if not below.any():
        return np.full(len(rows), math.inf)
    first = int(np.argmax(below))
    deep = 2.0 * z[first] - zs - zr
    out = np.sqrt(x**2 + deep**2) / v
    # a head wave along depth j: x / v_j, and the way down and up to it
    slow = 1.0 / column[first:]
    below_it = np.sqrt(np.maximum(slow[:, None] ** 2 - slow[None, :] ** 2, 0.0))
    below_it = 2.0 * float(grid.spacing[-1]) * np.triu(below_it, 1).sum(axis=0)
    fast = column[first:] > v
    if fast.any():
        p = slow[fast]
        above_it = np.sqrt(1.0 / v**2 - p * p)
        out = np.minimum(out, (np.outer(x, p) + np.outer(deep, above_it) + below_it[fast]).min(axis=1))
    return out


def onsets(
    data: NDArray[np.float32],
    time: TimeAxis,
    travel: NDArray[np.float64],
    end: NDArray[np.float64],
    period: float,
) -> NDArray[np.float64]:
    """Return by how much direct waves begin after their traveltime, s, (n,); NaN where no arrival is clear.

    Parameters
    ----------
    data : ndarray, (n, nt)
        Traces of a shot.
    travel, end : ndarray, (n,)
        Traveltime of the direct wave, and the time after which other waves may arrive, s.
    period : float
        Dominant period, s.
    """
    late = time.values()[None, :] >= end[:, None] + 0.5 * period
    cut = np.where(late, np.float32(0), data)
    at, _, _ = pick(cut, time.dt, period)
    delays: NDArray[np.float64] = at + time.t0 - travel
    # far from the arrival it is something else that was picked
    return np.where(np.abs(delays) < 4.0 * period, delays, np.nan)


def moveout(distance: NDArray[np.float64], time: NDArray[np.float64]) -> float | None:
    """Return the slowness, s/m, of the line through first breaks; None where there are too few."""
    line = fit_line(distance, time)
    return None if line is None else line.slowness


def aligned(
    wave: DirectWave, shot: Shot, rows: NDArray[np.int64], data: NDArray[np.float32], time: TimeAxis, v: float
) -> Aligned:
    """Return the direct waves of traces (len(rows), nt) of a shot, moved to the time of the source."""
    direct, mirrored = wave.distances(shot, rows)
    apart = 0.0 if mirrored is None else float((mirrored - direct).max(initial=0.0))
    width = wave.n + math.ceil(apart / v / time.dt) + 2
    begin = direct / v + wave.start
    first = np.floor((begin - time.t0) / time.dt).astype(np.int64) - PAD
    reach = width + 2 * PAD
    index = first[:, None] + np.arange(reach)
    inside = (index >= 0) & (index < time.nt)
    raw = np.take_along_axis(data.astype(np.float64), np.clip(index, 0, time.nt - 1), axis=1)
    edge = np.minimum(np.arange(reach) + 0.5, PAD) / PAD
    fade = 0.5 - 0.5 * np.cos(math.pi * edge)
    segment = np.where(inside, raw, 0.0) * fade * fade[::-1]
    size = 1 << math.ceil(math.log2(2 * reach))
    omega = 2.0 * math.pi * np.fft.rfftfreq(size, time.dt)
    early = begin - (time.t0 + first * time.dt)
    spectra = np.fft.rfft(segment, size, axis=1) * np.exp(1j * omega * early[:, None])
    green = np.empty_like(spectra)
    ghost, tail = _responses(omega, direct, mirrored, v, wave.ndim)
    green[:] = (1.0 - ghost) / (4.0 * math.pi * direct[:, None])
    moved = np.fft.irfft(spectra * tail, size, axis=1)[:, :width]
    return Aligned(rows, moved, green, size)


def _responses(
    omega: NDArray[np.floating[Any]], direct: NDArray, mirrored: NDArray | None, v: float, ndim: int
) -> tuple[NDArray[np.complex128] | float, NDArray[np.complex128] | float]:
    """Return G(r') / G(r), (n, nf), and G_3D(r) / G_2D(r), for transforms with exp(-i w t)."""
    w = omega[1:].astype(np.complex128)

    def response(distance: NDArray, dimension: int) -> NDArray[np.complex128]:
        # that of a static load at zero frequency, which does not travel, is left out
        return np.conj(isotropic_response(w, distance, v, dimension))

    def whole(part: NDArray[np.complex128], at_zero: NDArray | float) -> NDArray[np.complex128]:
        out = np.empty((len(part), len(omega)), np.complex128)
        out[:, 1:] = part
        out[:, 0] = at_zero
        return out

    base = response(direct, ndim)
    tail = 1.0 if ndim == 3 else whole(response(direct, 3) / base, 0.0)
    if mirrored is None:
        return 0.0, tail
    limit = direct / mirrored if ndim == 3 else 1.0
    return whole(response(mirrored, ndim) / base, limit), tail


def chosen(made: Aligned, shot: int, n: int) -> tuple[Aligned, dict[str, int]]:
    """Return the traces of a shot that show the direct wave, and how many were left out, by reason.

    Parameters
    ----------
    made : Aligned
        Aligned traces of the shot that lie in the range of offsets.
    shot, n : int
        Id of the shot, samples of the wavelet.

    Notes
    -----
    Left out are dead traces, then traces whose energy over that of their Green's function is not that of the others
    (spikes, noise, far traces under which the direct wave is buried), then those that do not correlate with what the
    others model; those of the opposite sign are counted as reversed.
    """
    counts = {"dead": 0, "level": 0, "reversed": 0, "unlike": 0}
    energy = (made.traces**2).sum(axis=1)
    alive = (energy > 0) & np.isfinite(energy)
    counts["dead"] = int((~alive).sum())
    made, energy = made.take(alive), energy[alive]
    if not len(made.rows):
        return made, counts
    ratio = energy / (np.abs(made.green) ** 2).sum(axis=1)
    middle = float(np.median(ratio))
    even = (ratio < LEVEL**2 * middle) & (ratio * LEVEL**2 > middle)
    counts["level"] = int((~even).sum())
    made, energy = made.take(even), energy[even]
    keep = np.ones(len(made.rows), bool)
    likeness = np.ones(len(made.rows))
    for _ in range(4):
        sums = made.take(keep).sums(shot, n)
        model = made.modelled(solve_shape(sums.power, sums.cross))
        size = np.sqrt(energy * (model**2).sum(axis=1))
        dot = (made.traces * model).sum(axis=1)
        likeness = np.divide(dot, size, out=np.zeros_like(size), where=size > 0)
        better = likeness >= LEAST_LIKENESS
        if better.sum() < FEWEST_TRACES or np.array_equal(better, keep):
            break
        keep = better
    keep = likeness >= LEAST_LIKENESS
    counts["reversed"] = int((likeness <= -LEAST_LIKENESS).sum())
    counts["unlike"] = int((~keep).sum()) - counts["reversed"]
    return made.take(keep), counts
