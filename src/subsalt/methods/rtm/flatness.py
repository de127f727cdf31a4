"""Flatness of angle gathers of a depth image, and the error of velocity that their moveout tells.

rho is the true slowness over that of the migration, averaged over the way of the waves; z0 the true depth; gamma half
the opening angle. An event of a flat reflector lies at ::

    z(gamma) = z0 sqrt(rho^2 - sin^2 gamma) / cos gamma  =  zn sqrt(1 - sin^2 gamma / rho^2) / cos gamma

with zn = rho z0 its depth at gamma = 0, from the sources down; exact where velocity is constant, and nearly so where it
changes with depth (Biondi and Symes 2004 linearise it). Flatness is semblance in windows of depth over the angles that
the data hold: sums of energy over sums of energy, so that strong events count most.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

#: an angle is one that the data hold where its rms amplitude in a window is this share of the largest
HELD = 0.4
#: angles that a window must hold before its semblance says anything
FEWEST_ANGLES = 5
#: a window with less than this share of the energy of the strongest is quiet: a thirtieth of its amplitude
QUIET = 1e-3
#: largest error of slowness that is scanned, and values of rho on either side of one
WIDEST, SCANNED = 0.15, 20

#: part of the range of semblance, from its top, to which a curve is fitted
UPPER = 0.25
#: values from which on a cubic is fitted instead
FEWEST_CUBIC = 5

#: a window of depth: its first sample and the one behind its last
Window = tuple[int, int]


def depth_windows(nz: int, length: int) -> list[Window]:
    """Return windows of about `length` samples, each half over the one before, that cover `nz` samples."""
    count = max(1, round(2 * nz / max(length, 2)) - 1)
    edges = np.linspace(0, nz, count + 2).round().astype(int)
    if len(edges) == 3 and count == 1:
        return [(0, nz)]
    return [(int(a), int(b)) for (a, _), (_, b) in pairwise(pairwise(edges))]


def windowed(values: NDArray[np.floating], windows: Sequence[Window]) -> NDArray[np.float64]:
    """Return the sums of values (..., nz) over every window, (..., nw)."""
    a = np.asarray(values, np.float64)
    return np.stack([a[..., first:end].sum(axis=-1) for first, end in windows], axis=-1)


def holds_event(power: NDArray[np.floating], windows: Sequence[Window]) -> NDArray[np.bool_]:
    """Return which windows hold an event: loud ones, whose energy has its middle in their middle half.

    Parameters
    ----------
    power : ndarray, (..., nz)
        Energy by depth.
    windows : sequence of Window
        Windows that overlap by half: an event lies in the middle half of one of them.

    Notes
    -----
    A window with less than `QUIET` of the energy of the strongest one of all is quiet. One that cuts an event in two
    would see its moveout wrongly.
    """
    p = np.asarray(power, np.float64)
    total = windowed(p, windows)
    moment = windowed(p * np.arange(p.shape[-1]), windows)
    middle = np.array([0.5 * (first + end - 1) for first, end in windows])
    length = np.array([end - first for first, end in windows])
    at = np.divide(moment, total, out=np.full(total.shape, np.inf), where=total > 0)
    holds: NDArray[np.bool_] = (total > QUIET * total.max(initial=0.0)) & (np.abs(at - middle) <= length / 4)
    return holds


def held_angles(energy: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return which angles the data hold: those with at least `HELD` of the largest rms amplitude.

    Parameters
    ----------
    energy : ndarray, (..., angles, nw)
        Energy of every angle in every window (`windowed` squares); of a scan, summed over its scales.
    """
    e = np.asarray(energy, np.float64)
    held: NDArray[np.bool_] = (e > 0) & (e >= HELD**2 * e.max(axis=-2, keepdims=True))
    return held


@dataclass(frozen=True)
class Semblance:
    """Energy of the sum over angles, and energy of the angles times their number, by window.

    Parameters
    ----------
    stack, energy : ndarray, (..., nw)
        Both summed over the samples of a window.
    """

    stack: NDArray[np.float64]
    energy: NDArray[np.float64]

    @classmethod
    def of(
        cls, gather: NDArray[np.floating], windows: Sequence[Window], held: NDArray[np.bool_] | None = None
    ) -> Semblance:
        """Measure gathers.

        Parameters
        ----------
        gather : ndarray, (..., angles, nz)
            Angle gathers.
        windows : sequence of Window
            Windows of depth.
        held : ndarray of bool, (..., angles, nw), optional
            Angles that count in each window; those that the gathers hold when left out.
        """
        a = np.asarray(gather, np.float64)
        if held is None:
            held = held_angles(windowed(a**2, windows))
        stack, energy = np.zeros((2, *a.shape[:-2], len(windows)))
        for w, (first, end) in enumerate(windows):
            use = held[..., w]
            part = np.where(use[..., None], a[..., first:end], 0.0)
            count = np.count_nonzero(use, axis=-1)
            enough = count >= FEWEST_ANGLES
            stack[..., w] = np.where(enough, (part.sum(axis=-2) ** 2).sum(axis=-1), 0.0)
            energy[..., w] = np.where(enough, count * (part**2).sum(axis=(-2, -1)), 0.0)
        return cls(stack, energy)

    @property
    def ratio(self) -> NDArray[np.float64]:
        """Semblance, 0 to 1; NaN where nothing is, or too few angles."""
        out = np.full(self.stack.shape, np.nan)
        return np.divide(self.stack, self.energy, out=out, where=self.energy > 0)

    def over_depth(self) -> NDArray[np.float64]:
        """Return the semblance of all windows together, weighted by their energy; NaN where nothing is."""
        stack, energy = self.stack.sum(axis=-1), self.energy.sum(axis=-1)
        return np.divide(stack, energy, out=np.full(np.shape(stack), np.nan), where=energy > 0)


def event_depth(
    zn: NDArray[np.float64] | float, rho: float, gamma: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Return the depth below the sources of an event at angles `gamma` (radians) that lies at `zn` at zero; NaN beyond
    the last angle that it can have.
    """
    sine = np.sin(np.asarray(gamma, np.float64))
    root = 1.0 - (sine / rho) ** 2
    factor = np.sqrt(np.where(root > 0, root, np.nan)) / np.sqrt(1.0 - sine**2)
    return np.multiply(zn, factor, dtype=np.float64)


@dataclass(frozen=True)
class GatherAxes:
    """Axes of an angle gather.

    Parameters
    ----------
    angles : ndarray, (angles,)
        Half opening angles, radians.
    z0, dz : float
        First depth below the sources and distance of depths, m.
    """

    angles: NDArray[np.float64]
    z0: float
    dz: float

    def depths(self, nz: int) -> NDArray[np.float64]:
        """Return the depths of `nz` samples below the sources, m."""
        return self.z0 + self.dz * np.arange(nz, dtype=np.float64)


def flattened(gather: NDArray[np.floating], axes: GatherAxes, rho: float) -> NDArray[np.float64]:
    """Return gathers read along the moveout of `rho`: flat where that is theirs, each event where it is at zero.

    Parameters
    ----------
    gather : ndarray, (..., angles, nz)
        Angle gathers.
    axes : GatherAxes
        Their axes.
    rho : float
        True slowness over that of the migration.

    Returns
    -------
    ndarray, (..., angles, nz), float64
        Linearly interpolated; zero outside the gather.
    """
    a = np.asarray(gather, np.float64)
    nz = a.shape[-1]
    at = (event_depth(axes.depths(nz)[None], rho, axes.angles[:, None]) - axes.z0) / axes.dz
    inside = np.isfinite(at) & (at >= 0) & (at <= nz - 1)
    low = np.clip(np.where(inside, at, 0.0).astype(np.int64), 0, nz - 2)
    part = np.where(inside, at - low, 0.0)
    index = np.broadcast_to(low, a.shape)
    above, below = (np.take_along_axis(a, index + more, axis=-1) for more in (0, 1))
    return np.where(inside, (1.0 - part) * above + part * below, 0.0)


@dataclass(frozen=True)
class Noise:
    """The part of a gather that its traces do not share.

    Parameters
    ----------
    share : float
        Its part of the energy.
    independent : float
        Independent values among the samples.
    """

    share: float
    independent: float

    @classmethod
    def of(cls, part: NDArray[np.floating]) -> Noise:
        """Measure a window of a flattened gather, (angles, samples): what is left without one waveform for all angles,
        each with an amplitude of its own.

        Notes
        -----
        ``n / sum_k r_k^2`` of the values along an axis are independent (Bartlett 1946), r their autocorrelation.
        """
        a = np.asarray(part, np.float64)
        energy, mean = float((a**2).sum()), a.mean(axis=0)
        power = float(mean @ mean)
        rest = a - np.outer(a @ mean / power, mean) if power > 0 else a
        number = 1.0
        for one in (rest, rest.T):
            n = len(one)
            spectrum = np.abs(np.fft.fft(one, 2 * n, axis=0)) ** 2
            r = np.fft.ifft(spectrum.sum(axis=1)).real
            number *= n / float(((r / r[0]) ** 2).sum()) if r[0] > 0 else 1.0
        return cls(float((rest**2).sum()) / energy if energy > 0 else 1.0, max(number, 1.0))


@dataclass(frozen=True)
class Peak:
    """The best of scanned values.

    Parameters
    ----------
    best : float
        Where semblance is largest: the top of a curve through the highest values; NaN without one.
    sigma : float
        Its standard deviation; infinite where semblance does not change.
    at_end : bool
        The best is the first or the last value: a wider scan is needed.
    """

    best: float
    sigma: float
    at_end: bool = False


NONE = Peak(float("nan"), float("inf"))


def peak_of(at: NDArray[np.floating], semblance: NDArray[np.floating], noise: Noise) -> Peak:
    """Return where semblance is largest among scanned values, with its uncertainty.

    Parameters
    ----------
    at : ndarray, (n,)
        Values, ascending and equally spaced.
    semblance : ndarray, (n,)
        Semblance of every value; NaN makes no peak.
    noise : Noise
        Noise of what semblance was measured on, at the best value.

    Notes
    -----
    With a share s of noise in N independent values, and semblance ``S0 - c (x - x0)^2 / 2`` near its top,
    ``sigma^2 = 2 s / (N c)``: the bound of Cramer and Rao for white noise. A parabola, of `FEWEST_CUBIC` values or more
    a cubic, is fitted to the values in the upper `UPPER` of semblance around its top, three at least.
    """
    s, x = np.asarray(semblance, np.float64), np.asarray(at, np.float64)
    # rounding of a semblance that does not change is no peak
    if not np.isfinite(s).all() or len(s) < 2 or np.ptp(s) <= 1e-9:
        return NONE
    i = int(np.argmax(s))
    if not 0 < i < len(s) - 1:
        return Peak(float(x[i]), float("inf"), True)
    low = s < s[i] - UPPER * np.ptp(s)
    first = int(np.flatnonzero(low[:i]).max(initial=-1)) + 1
    end = i + 1 + int(np.flatnonzero(low[i + 1 :]).min(initial=len(s) - i - 1))
    first, end = min(first, i - 1), max(end, i + 2)
    u = x[first:end] - x[i]
    # the cubic term takes what moveout that leaves the window on one side does to the other
    top = np.polynomial.Polynomial.fit(u, s[first:end], 3 if len(u) >= FEWEST_CUBIC else 2)
    ends = [float(r.real) for r in top.deriv().roots() if abs(r.imag) < 1e-12 and u[0] <= r.real <= u[-1]]
    highest = max(ends, key=top, default=None)
    bend = 0.0 if highest is None else -float(top.deriv(2)(highest))
    if highest is None or bend <= 0:
        return NONE
    return Peak(float(x[i]) + highest, float(np.sqrt(2.0 * noise.share / (noise.independent * bend))))


@dataclass(frozen=True)
class Curvature:
    """The moveout of an angle gather by window of depth.

    Parameters
    ----------
    depth : ndarray, (nw,)
        Middle of each window below the sources, m.
    rho, sigma : ndarray, (nw,)
        True slowness over that of the migration, averaged over the way from the surface, and its standard deviation;
        NaN and infinity where a window is quiet or its best value lies at an end of what was scanned.
    semblance : ndarray, (nw,)
        As the gather is, not flattened.
    """

    depth: NDArray[np.float64]
    rho: NDArray[np.float64]
    sigma: NDArray[np.float64]
    semblance: NDArray[np.float64]


def curvature(
    gather: NDArray[np.floating],
    axes: GatherAxes,
    windows: Sequence[Window],
    scanned: NDArray[np.floating] | None = None,
) -> Curvature:
    """Return rho from the moveout of one angle gather.

    Parameters
    ----------
    gather : ndarray, (angles, nz)
        Angle gather of one place.
    axes : GatherAxes
        Its axes.
    windows : sequence of Window
        Windows of depth in which the moveout is measured.
    scanned : ndarray, optional
        Values of rho, ascending and equally spaced; within `WIDEST` of one when left out.
    """
    rhos = 1.0 + WIDEST * np.arange(-SCANNED, SCANNED + 1) / SCANNED if scanned is None else scanned
    a = np.asarray(gather, np.float64)
    held = held_angles(windowed(a**2, windows))
    flat = [flattened(a, axes, float(r)) for r in rhos]
    ratio = np.stack([Semblance.of(f, windows, held).ratio for f in flat])
    rho, sigma = np.full(len(windows), np.nan), np.full(len(windows), np.inf)
    # where events lie once they are flat: at zero angle
    alike = np.stack([(f.sum(axis=0)) ** 2 for f in flat]).max(axis=0)
    for w in np.flatnonzero(holds_event(alike, windows)).tolist():
        first, end = windows[w]
        column = ratio[:, w]
        if not np.isfinite(column).all():
            continue
        part = flat[int(np.argmax(column))][held[:, w], first:end]
        best = peak_of(rhos, column, Noise.of(part))
        if not best.at_end:
            rho[w], sigma[w] = best.best, best.sigma
    depths = axes.depths(a.shape[-1])
    middle = np.array([0.5 * (depths[first] + depths[end - 1]) for first, end in windows])
    return Curvature(middle, rho, sigma, Semblance.of(a, windows, held).ratio)


def mean_wavelength(traces: NDArray[np.floating], dz: float) -> float:
    """Return the wavelength in depth, m, of the mean wavenumber (rms) of traces (..., nz); 0 where they are zero."""
    a = np.asarray(traces, np.float64)
    slope = float((np.diff(a, axis=-1) ** 2).sum()) / dz**2
    return 2 * np.pi * float(np.sqrt((a**2).sum() / slope)) if slope > 0 else 0.0


#: wavelengths in a window of depth: an event, and the moveout that it may have
WAVELENGTHS = 2.5


def windows_for(image: NDArray[np.floating], dz: float) -> list[Window]:
    """Return windows of depth that suit the wavelengths of an image (..., nz)."""
    nz = image.shape[-1]
    length = round(WAVELENGTHS * mean_wavelength(image, dz) / dz)
    return depth_windows(nz, min(max(length, 8), nz))


@dataclass(frozen=True)
class LineFlatness:
    """Flatness of the gathers along a line.

    Parameters
    ----------
    windows : list of Window
        Windows of depth.
    semblance : ndarray, (places, nw)
        Semblance of each window; NaN where nothing is.
    overall : ndarray, (places,)
        Semblance over all depths: strong events count most.
    """

    windows: list[Window]
    semblance: NDArray[np.float64]
    overall: NDArray[np.float64]


def flatness_of_line(gathers: Iterable[NDArray[np.floating]], windows: list[Window]) -> LineFlatness:
    """Return the flatness of angle gathers along a line.

    Parameters
    ----------
    gathers : iterable of ndarray, (angles, nz)
        Gather of each place, one after the other.
    windows : list of Window
        Windows of depth.

    Notes
    -----
    A window that is quiet beside the strongest of all places has no semblance.
    """
    each = [Semblance.of(np.asarray(g, np.float64), windows) for g in gathers]
    ratio, energy = np.stack([s.ratio for s in each]), np.stack([s.energy for s in each])
    loud = energy > QUIET * energy.max(initial=0.0)
    overall = np.array([float(s.over_depth()) for s in each])
    return LineFlatness(windows, np.where(loud, ratio, np.nan), overall)
