"""The scale of the velocity at which the gathers of a depth image are flat, by place and window of depth.

A scale moves events in depth. Gathers of all scales are compared at equal vertical time: a sample of scale s is that of
the reference at the depth which a vertical wave reaches in the same time, so that an event stays in its window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.flatness import (
    NONE,
    GatherAxes,
    Noise,
    Peak,
    Semblance,
    Window,
    curvature,
    held_angles,
    holds_event,
    peak_of,
    windowed,
)
from subsalt.methods.rtm.residual_moveout import bend_of, flat_scale
from subsalt.methods.rtm.source_band import SourceBand

#: places on either side of one whose scales are taken together
NEIGHBOURS = 2
#: points to a sample, and to its vertical time, between which gathers are interpolated linearly
FINER = 8
#: energy of a place over that of the place with most light, below which angles are missing or edges are seen: a
#: quarter of the amplitude
LIT = 1 / 16
#: standard deviation of a best scale over the width of the scan, from which the scan has told nothing: that of equal
#: chances over the scan is 0.29
SHARP = 0.25


@dataclass(frozen=True)
class ScaleMap:
    """Best scales by place and window of depth.

    Places of a volume are those of its lines along x: all lines of the first x, then those of the next.

    Parameters
    ----------
    x : ndarray, (places,)
        Positions, m.
    depth : ndarray, (places, nw)
        Middle of every window at the velocity that was given, m.
    scale, sigma : ndarray, (places, nw)
        Best scale and its standard deviation; NaN and infinity where nothing says it.
    at_end : ndarray of bool, (places, nw)
        The best lies at an end of the scan: a wider one is needed.
    unclear : ndarray of bool, (places, nw)
        Too little light falls there, or semblance changes too little: there is an event, but it says no scale.
    semblance : ndarray, (scales, places, nw)
        Flatness at every scale; of one scale, as the image is, where the moveout was inverted.
    y : ndarray, (places,)
        Positions along y in a volume, m; empty of a section.
    lines : int
        Lines along x; 1 of a section.
    """

    x: NDArray[np.float64]
    depth: NDArray[np.float64]
    scale: NDArray[np.float64]
    sigma: NDArray[np.float64]
    at_end: NDArray[np.bool_]
    unclear: NDArray[np.bool_]
    semblance: NDArray[np.float64]
    y: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    lines: int = 1

    def line(self, number: int) -> slice:
        """Return which places lie on a line along x."""
        return slice(number, None, self.lines)

    def median(self) -> tuple[float, float]:
        """Return the median of all scales, and its standard deviation by their spread; NaN of none."""
        known = self.scale[np.isfinite(self.scale)]
        if not len(known):
            return float("nan"), float("nan")
        # 1.2533: of the median of normal values over that of their mean
        return float(np.median(known)), 1.2533 * float(known.std()) / float(np.sqrt(len(known)))


def vertical_time(velocity: NDArray[np.floating], dz: float) -> NDArray[np.float64]:
    """Return the time, s, from the first of equally spaced depths to each, by the trapezoidal rule; (..., nz)."""
    slowness = 1.0 / np.asarray(velocity, np.float64)
    steps = 0.5 * dz * (slowness[..., 1:] + slowness[..., :-1])
    return np.concatenate([np.zeros((*steps.shape[:-1], 1)), np.cumsum(steps, axis=-1)], axis=-1)


@dataclass(frozen=True)
class Reference:
    """Velocity and band to which gathers of all scales are brought, at one place.

    Parameters
    ----------
    velocity : ndarray, (nz,)
        Velocity to whose depths they are brought, m/s.
    dz : float
        Distance of depths, m.
    angles : ndarray, (angles,)
        Half opening angles, radians.
    band : SourceBand, optional
        Band in which they are compared.
    """

    velocity: NDArray[np.floating]
    dz: float
    angles: NDArray[np.float64]
    band: SourceBand | None = None


def at_equal_time(
    gather: NDArray[np.floating], velocity: NDArray[np.floating], reference: Reference
) -> NDArray[np.float64]:
    """Return a gather in the band of the source, at the depths of the reference velocity.

    Parameters
    ----------
    gather : ndarray, (angles, nz)
        Gather of the image at `velocity`.
    velocity : ndarray, (nz,)
        Velocity at its place, m/s.
    reference : Reference
        To what it is brought.
    """
    a, dz = np.asarray(gather, np.float64), reference.dz
    nz = a.shape[-1]
    own, common = vertical_time(velocity, dz), vertical_time(reference.velocity, dz)
    # linear between samples alone would smooth noise at some scales and not at others, and so favour these
    mirrored = np.concatenate([a, a[:, ::-1]], axis=1)
    fine = np.fft.irfft(np.fft.rfft(mirrored, axis=1), 2 * nz * FINER, axis=1) * FINER
    places, samples = np.arange(2 * nz * FINER) / FINER, np.arange(nz, dtype=np.float64)
    if reference.band is None:
        at = np.interp(common, own, samples)
        return np.stack([np.interp(at, places, trace) for trace in fine])
    step = float(min(np.diff(own).min(), np.diff(common).min())) / FINER
    times = step * np.arange(int(np.ceil(common[-1] / step)) + 1)
    at = np.interp(times, own, samples)
    passed = reference.band.passed(
        np.stack([np.interp(at, places, trace) for trace in fine]), reference.angles, step
    )
    return np.stack([np.interp(common, times, trace) for trace in passed])


def unclear_of(
    energy: NDArray[np.float64], sigma: NDArray[np.float64], scales: Sequence[float]
) -> NDArray[np.bool_]:
    """Return where an event says no scale: in the dark, or where semblance hardly changes over the scan.

    Parameters
    ----------
    energy : ndarray, (places, nw)
        Energy of the angles that are held; a place is dark where it is less than `LIT` of the largest of its window.
    sigma : ndarray, (places, nw)
        Standard deviations of the best scales; semblance is flat where one is more than `SHARP` of the scan's width.
    scales : sequence of float
        The scan.
    """
    dark = energy < LIT * energy.max(axis=0, keepdims=True)
    flat = np.isfinite(sigma) & (sigma > SHARP * (max(scales) - min(scales)))
    return dark | flat


@dataclass(frozen=True)
class PlaceScan:
    """The scan of one place: by window the best scale, the semblance of all scales (scales, nw), and the energy (nw,)
    of the angles that are held, at the scale where it is largest.
    """

    peaks: list[Peak]
    semblance: NDArray[np.float64]
    energy: NDArray[np.float64]


def scan_place(
    gathers: Sequence[NDArray[np.float64]],
    scales: NDArray[np.float64],
    axes: GatherAxes,
    windows: Sequence[Window],
    any_window: bool = False,
) -> PlaceScan:
    """Return the best scale in every window of one place.

    Parameters
    ----------
    gathers : sequence of ndarray, (angles, nz)
        Gather of every scale, at equal vertical time.
    scales : ndarray, (ns,)
        Ascending and equally spaced.
    axes : GatherAxes
        Their axes.
    windows : sequence of Window
        Windows of depth.
    any_window : bool
        Measure every window, not only those that hold an event in their middle.

    Notes
    -----
    The best scale is where the residual moveout goes through zero (`residual_moveout`). Where steps of the scan are so
    wide that no two neighbours lie within its reach, it is that of the largest semblance.
    """
    each, tangents = [np.asarray(g, np.float64) for g in gathers], np.tan(axes.angles)
    held = held_angles(np.sum([windowed(g**2, windows) for g in each], axis=0))
    measured_at = [Semblance.of(g, windows, held) for g in each]
    semblance = np.stack([s.ratio for s in measured_at])
    power = np.max([g.sum(axis=0) ** 2 for g in each], axis=0)
    measured = np.ones(len(windows), bool) if any_window else holds_event(power, windows)
    peaks = []
    for w, (first, end) in enumerate(windows):
        column = semblance[:, w]
        if not measured[w] or not np.isfinite(column).all():
            peaks.append(NONE)
            continue
        use = held[:, w]
        bends = [bend_of(g[use], tangents[use], (first, end), axes.dz) for g in each]
        best = flat_scale(scales, bends)
        if best is None:
            part = each[int(np.argmax(column))][use, first:end]
            best = peak_of(scales, column, Noise.of(part))
        peaks.append(best)
    return PlaceScan(peaks, semblance, np.max([s.energy for s in measured_at], axis=0))


def curvature_scales(
    gather: NDArray[np.floating], axes: GatherAxes, windows: Sequence[Window], scales: NDArray[np.float64]
) -> PlaceScan:
    """Return the best scale of every window by the moveout of one gather: the error of the whole overburden.

    The scale is 1 / rho; rho is tried between the inverses of the first and the last of `scales`.
    """
    rhos = np.linspace(1 / scales[-1], 1 / scales[0], 41)
    one = curvature(gather, axes, windows, rhos)
    peaks = [
        NONE if np.isnan(rho) else Peak(1 / float(rho), float(sigma) / float(rho) ** 2)
        for rho, sigma in zip(one.rho, one.sigma, strict=True)
    ]
    energy = Semblance.of(gather, windows).energy
    return PlaceScan(peaks, one.semblance[None], energy)


def over_neighbours(values: NDArray[np.float64], lines: int = 1) -> NDArray[np.float64]:
    """Return the median over `NEIGHBOURS` places on either side along x, and along y where there are several lines,
    (places, nw); NaN where none of them has a value.
    """
    each = values.reshape(-1, lines, values.shape[-1])
    out = np.full(each.shape, np.nan)
    for i in range(len(each)):
        for j in range(lines):
            along_x = each[max(0, i - NEIGHBOURS) : i + NEIGHBOURS + 1]
            near = along_x[:, max(0, j - NEIGHBOURS) : j + NEIGHBOURS + 1].reshape(-1, values.shape[-1])
            some = np.isfinite(near).any(axis=0)
            out[i, j, some] = np.nanmedian(near[:, some], axis=0)
    return out.reshape(values.shape)


def spread(
    scale_map: ScaleMap,
    x: NDArray[np.float64],
    z: NDArray[np.float64],
    y: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the map of scales at every point: medians over neighbours, linear between, (nx, nz) or (nx, ny, nz).

    Parameters
    ----------
    scale_map : ScaleMap
        With a value at least.
    x, z : ndarray
        Positions along x and depths, m.
    y : ndarray, optional
        Positions along y of a volume, m.
    """
    smooth = over_neighbours(scale_map.scale, scale_map.lines)
    sections, at = [], []
    for number in range(scale_map.lines):
        own = scale_map.line(number)
        if np.isfinite(smooth[own]).any():
            sections.append(_section(scale_map.x[own], scale_map.depth[own], smooth[own], x, z))
            at.append(float(scale_map.y[number]) if y is not None else 0.0)
    if y is None:
        return sections[0]
    # a line without any scale has what lies between the lines beside it
    right = np.searchsorted(np.array(at), y).clip(0, len(at) - 1)
    left = np.maximum(right - 1, 0)
    apart = np.array(at)[right] - np.array(at)[left]
    part = np.divide(y - np.array(at)[left], apart, out=np.ones(len(y)), where=apart > 0).clip(0.0, 1.0)
    volume = np.empty((len(x), len(y), len(z)))
    for k, (a, b, share) in enumerate(zip(left.tolist(), right.tolist(), part.tolist(), strict=True)):
        volume[:, k] = (1.0 - share) * sections[a] + share * sections[b]
    return volume


def _section(
    at: NDArray[np.float64],
    depth: NDArray[np.float64],
    scale: NDArray[np.float64],
    x: NDArray[np.float64],
    z: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the scales of the places of a line at every point of its section, linear between them, (nx, nz)."""
    rows = [i for i in range(len(scale)) if np.isfinite(scale[i]).any()]
    columns = []
    for i in rows:
        known = np.isfinite(scale[i])
        order = np.argsort(depth[i][known])
        columns.append(np.interp(z, depth[i][known][order], scale[i][known][order]))
    table = np.stack(columns)
    return np.stack([np.interp(x, at[rows], table[:, k]) for k in range(len(z))], axis=1)
