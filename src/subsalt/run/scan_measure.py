"""Which velocity of a scan is best, and when: semblance of the gathers and power of the stack in windows of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.view.flatness import FEWEST_LIVE, peak

#: windows a scan is measured in
WINDOWS = 12
#: a window of less than this share of the power of the strongest one says nothing: amplitudes of field data fall by
#: thousands along a trace
QUIET = 1e-8


@dataclass
class Flatness:
    """What is summed over the locations of one image: per sample, so that windows may be chosen later.

    Parameters
    ----------
    time : TimeAxis
        Samples of the image.
    """

    time: TimeAxis
    locations: int = 0
    gathers: int = 0
    summed: NDArray[np.float64] = field(init=False)
    energy: NDArray[np.float64] = field(init=False)
    power: NDArray[np.float64] = field(init=False)

    def __post_init__(self) -> None:
        self.summed, self.energy, self.power = (np.zeros(self.time.nt) for _ in range(3))

    def add(self, gather: NDArray | None, stack: NDArray) -> None:
        """Add a location: its gather (n, nt), None without one, and its stack (nt,)."""
        self.locations += 1
        self.power += np.asarray(stack, dtype=np.float64) ** 2
        if gather is None or len(gather) < FEWEST_LIVE:
            return
        self.gathers += 1
        a = np.asarray(gather, dtype=np.float64)
        live = np.count_nonzero(a, axis=0)
        enough = live >= FEWEST_LIVE
        self.summed += np.where(enough, a.sum(axis=0) ** 2, 0.0)
        self.energy += np.where(enough, live * (a**2).sum(axis=0), 0.0)

    def windows(self, count: int = WINDOWS) -> list[tuple[int, int]]:
        """Return windows of equal length as ranges of samples."""
        edges = np.linspace(0, self.time.nt, min(count, self.time.nt) + 1).round().astype(int)
        return [(int(a), int(b)) for a, b in pairwise(edges)]

    def by_window(self, windows: list[tuple[int, int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean power of the stack and semblance in each window; semblance is NaN where nothing is."""
        power = np.array([self.power[a:b].mean() for a, b in windows]) / max(self.locations, 1)
        top = np.array([self.summed[a:b].sum() for a, b in windows])
        bottom = np.array([self.energy[a:b].sum() for a, b in windows])
        return power, np.divide(top, bottom, out=np.full(len(windows), np.nan), where=bottom > 0)


def best_scales(
    scales: NDArray[np.float64], power: NDArray[np.float64], semblance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the best scale of every window, and where it lies at an end of the scan.

    Parameters
    ----------
    scales : ndarray, (ns,)
        Ascending.
    power, semblance : ndarray, (ns, nw)
        What `Flatness.by_window` gave for each.

    Returns
    -------
    best : ndarray, (nw,)
        Where the parabola through the best scale and its neighbours peaks: of semblance, of power without gathers; NaN
        where a window is quiet.
    at_end : ndarray of bool, (nw,)
        The best is the first or the last scale: a wider scan is needed.
    """
    loud = power.max(axis=0) > QUIET * power.max(initial=0.0)
    # semblance near the top is of few traces: one scale without any there counts as the least
    measured = semblance if np.isfinite(semblance).any() else power
    best, at_end = np.full(power.shape[1], np.nan), np.zeros(power.shape[1], bool)
    for k in np.flatnonzero(loud):
        column = np.nan_to_num(measured[:, k], nan=-np.inf)
        if np.isfinite(column).all():
            best[k] = peak(scales, column)
            at_end[k] = np.argmax(column) in (0, len(scales) - 1)
    return best, at_end
