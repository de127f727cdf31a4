"""Times of direct waves against the model, shot by shot: by how much time zero, or the place of a source, is off.

The difference of picks and model has three parts: one grows with offset, which is the velocity's; one is the same
everywhere, which is that of time; and one goes with the direction in which receivers lie, which is that of a source
that stands elsewhere: with d from where it should be to where it is, and u from it to a receiver, waves come d.u / v
early. In a spread on one side of the source directions are alike, and the last two cannot be distinguished: a source
75 m farther off in water and times that are 50 ms late look alike.

The tolerances follow from the reliability of these parts. Shots of a survey have one wavelet, so that its phase,
which is often unknown, is the same in all: shots are compared with each other wherever the model knows a first arrival,
and what is allowed is how much they scatter. The time that all have in common is compared with zero only where the
model allows the first arrival one time, and the direct wave has the waveform that the wavelet gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.check.break_fits import FACTOR, Measured

#: part of a period by which the bounds of a first arrival may differ for one time
ONE_TIME = 0.1
#: picks for each number that is fitted, at least
PICKS = 3
#: how unlike directions to receivers must be for a place to be known: the standard deviation of their components, which
#: is 1 in a symmetric split spread and 0.7 all around
UNLIKE = 0.4
#: parts of a period by which a pick may move with the waveform: between shots, and against the direct wave that the
#: wavelet gives (both are picked by one rule, and alike: noise moves them)
BETWEEN, KNOWN = 0.15, 0.15
#: part of a period that a wavelet of unknown phase may be off: half of one is the opposite sign
UNKNOWN = 0.5
#: shots that can be compared with each other; share of correct surveys with a finding by chance
SHOTS, ALARM = 4, 0.01
#: median deviations in three standard deviations of a normal distribution; rounds of a fit by absolute values
THREE, ROUNDS = 4.45, 20


@dataclass(frozen=True)
class ShotLateness:
    """Lateness of the picks of a shot, without the part that a wrong velocity explains.

    Parameters
    ----------
    time : float
        Lateness, s.
    moved : ndarray, (2,)
        How far from its place the source seems to stand, m; zeros where directions are alike.
    placed : bool
        Directions are unlike enough to tell that.
    direct : bool
        The model allows these arrivals one time; else they are compared with its earliest.
    error : float
        Three standard errors of `time`, s.
    speed : float
        Speed of these arrivals in the model, m/s.
    period : float
        Period of the data, s.
    """

    time: float
    moved: NDArray[np.float64]
    placed: bool
    direct: bool
    error: float
    speed: float
    period: float


def lateness(m: Measured) -> ShotLateness | None:
    """Return the constant of a shot; None where it has too few picks, or something mutes them."""
    if m.muted:
        return None
    usable = (m.late > 0) & (m.distance > 0)
    one = usable & (m.late - m.early <= ONE_TIME * m.period)
    one &= _one_branch(m)
    direct = int(one.sum()) >= 2 * PICKS
    use = one if direct else usable
    if use.sum() < 2 * PICKS:
        return None
    model = (m.late if direct else m.early)[use]
    x, u = m.distance[use], m.direction[use]
    late = m.time[use] - m.pulse - model
    speed = float(np.median(x / np.maximum(model, 1e-6)))
    columns = [np.ones(len(x)), x / speed]
    apart = u.std(axis=0)
    axes = np.flatnonzero(apart > UNLIKE)
    placed = len(axes) > 0 and len(x) >= 2 * (2 + len(axes)) + 1
    if placed:
        columns += [-u[:, k] / speed for k in axes]
    fit, error = _fitted(np.stack(columns, axis=1), late)
    moved = np.zeros(2)
    if placed:
        moved[axes] = fit[2:]
    return ShotLateness(float(fit[0]), moved, placed, direct, error, speed, m.period)


def _one_branch(m: Measured) -> NDArray[np.bool_]:
    """Return which picks are of the branch nearest to the source: all, unless those beyond it are early."""
    near = m.near_lines()
    every = np.ones(len(m.time), bool)
    if near is None or near[0].n < 2 * PICKS or near[0].n == len(every):
        return every
    order = np.argsort(m.distance, kind="stable")
    far = order[near[0].n :]
    late = m.time[far] - near[0].intercept - near[0].slowness * m.distance[far]
    if float(np.median(late)) < -BETWEEN * m.period:
        every[far] = False
    return every


def _fitted(columns: NDArray[np.float64], late: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the numbers of smallest absolute misfit, and three standard errors of the first, s.

    The second, that of the velocity, is kept to what velocities near a surface may be off: a tenth.
    """
    fit: NDArray[np.float64] = np.zeros(columns.shape[1])
    scale = 1e-4
    for _ in range(ROUNDS):
        rest = np.abs(late - columns @ fit)
        scale = max(1e-4, float(np.median(rest)))
        root = 1.0 / np.sqrt(np.maximum(rest, 0.1 * scale))[:, None]
        fit = np.asarray(np.linalg.lstsq(columns * root, late * root[:, 0], rcond=1e-6)[0])
        slope = float(np.clip(fit[1], 1 / FACTOR - 1, FACTOR - 1))
        if slope != fit[1]:
            others = np.delete(columns, 1, axis=1)
            part = np.linalg.lstsq(others * root, (late - slope * columns[:, 1]) * root[:, 0], rcond=1e-6)[0]
            fit = np.insert(part, 1, slope)
    rest = np.abs(late - columns @ fit)
    spread = np.linalg.pinv(columns.T @ columns, rcond=1e-9)[0, 0]
    return fit, THREE * float(np.median(rest)) * float(np.sqrt(max(spread, 0.0)))


@dataclass(frozen=True)
class SurveyLateness:
    """Constants of the shots of a survey.

    Parameters
    ----------
    time, scatter : float
        Median of the shots, and median deviation from it, s.
    late, moved : ndarray, (n,), bool
        Shots that are later or earlier than the others; whose source stands elsewhere.
    error : float
        Three standard errors of one shot, s, as a median.
    """

    time: float
    scatter: float
    late: NDArray[np.bool_]
    moved: NDArray[np.bool_]
    error: float


def compare_shots(latenesses: list[ShotLateness]) -> SurveyLateness:
    """Compare the shots with each other.

    Notes
    -----
    Constants scatter by the near surface with long tails, as a Laplace distribution does, of which 2**-k lies beyond k
    times the median deviation: with k = log2(n / `ALARM`) one survey in `1 / ALARM` has a shot beyond by chance.
    """
    n = len(latenesses)
    period = float(np.median([c.period for c in latenesses]))
    error = np.array([c.error for c in latenesses])
    time = np.array([c.time for c in latenesses])
    middle, off = _apart(time[:, None], np.array([c.direct for c in latenesses]))
    late = _odd(off, BETWEEN * period + error, np.ones(n, bool))
    speed = np.array([c.speed for c in latenesses])
    placed = np.array([c.placed for c in latenesses])
    _, aside = _apart(np.array([c.moved for c in latenesses]), np.array([c.direct for c in latenesses]))
    moved = _odd(aside, BETWEEN * period * speed + error * speed, placed)
    return SurveyLateness(middle, float(np.median(off)), late & ~moved, moved, float(np.median(error)))


def _apart(values: NDArray[np.float64], direct: NDArray[np.bool_]) -> tuple[float, NDArray[np.float64]]:
    """Return the median of the first of `values` (n, k), and how far each is from the median of its kind."""
    out = np.zeros(len(values))
    for kind in (direct, ~direct):
        if kind.any():
            out[kind] = np.sqrt(((values[kind] - np.median(values[kind], axis=0)) ** 2).sum(axis=1))
    first = values[direct if direct.any() else ~direct][:, 0]
    return float(np.median(first)), out


def _odd(off: NDArray[np.float64], room: NDArray[np.float64], use: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which shots are farther off than the others: a third at most, else it is unknown which are right."""
    n = int(use.sum())
    if n < SHOTS:
        return np.zeros(len(off), bool)
    wrong = use & (off > room + np.log2(n / ALARM) * float(np.median(off[use])))
    return wrong if wrong.sum() <= n / 3 else np.zeros(len(off), bool)
