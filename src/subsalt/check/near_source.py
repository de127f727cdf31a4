"""Times of direct waves against the model, shot by shot: by how much time zero, or the place of a source, is off.

Near the source a model often leaves the first arrival one time. There the difference of picks and model is split into a
part that grows with offset, which is the velocity's, and a constant, which is none of the model's. On both sides of a
split spread the constant is that of time when it is the same, and that of the source's place when it has opposite
signs. On one side the two cannot be told apart: a source 75 m farther off in water and times that are 50 ms late look
alike.

What is allowed follows from what the constants can be trusted with. Those of a survey have one wavelet, so that its
phase, which is often unknown, is the same in all: shots are held against each other, by how much they scatter. The
constant of all is held against zero only where the waveform of the direct wave is what the wavelet gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import fit_line
from subsalt.check.break_fits import FACTOR, Measured

#: part of a period by which the bounds of a first arrival may differ for one time
ONE_TIME = 0.1
#: picks of one side that give a constant
PICKS = 4
#: parts of a period by which a pick may move with the waveform: between shots, and against a wavelet of the same
#: waveform, which may be misaligned by an eighth and of a line or a point source by another
BETWEEN, KNOWN = 0.15, 0.25
#: part of a period that a wavelet of unknown phase may be off: half of one is the opposite sign
UNKNOWN = 0.5
#: shots that can be held against each other; surveys in order in which one is found by chance
SHOTS, ALARM = 4, 0.01
#: median deviations in three standard deviations of a normal distribution
THREE = 4.45


@dataclass(frozen=True)
class Constant:
    """What picks near the source are late by, the velocity's part taken off.

    Parameters
    ----------
    time : float
        Lateness common to both sides, or of the only side, s.
    apart : float
        Half of what the far side is later than the near one, s; 0 with one side.
    both : bool
        Both sides have picks.
    error : float
        Three standard errors, s.
    speed : float
        Of the direct wave in the model, m/s.
    period : float
        Of the data, s.
    """

    time: float
    apart: float
    both: bool
    error: float
    speed: float
    period: float

    @property
    def moved(self) -> float:
        """How far from its place towards growing offsets the source seems to be, m."""
        return self.apart * self.speed


def constant(m: Measured) -> Constant | None:
    """Return the constant of a shot; None where the model leaves too few picks one time, or something mutes them."""
    one = (m.late - m.early <= ONE_TIME * m.period) & (m.late > 0)
    if m.muted:
        return None
    sides = [s for side in (m.left, ~m.left) if (s := _of_side(m, one & side)) is not None]
    if not sides:
        return None
    speed = float(np.median(m.distance[one] / m.late[one]))
    error = max(e for _, e in sides)
    if len(sides) == 1:
        return Constant(sides[0][0], 0.0, False, error, speed, m.period)
    (left, _), (right, _) = sides
    return Constant(0.5 * (left + right), 0.5 * (left - right), True, error, speed, m.period)


def _of_side(m: Measured, use: NDArray[np.bool_]) -> tuple[float, float] | None:
    """Return constant and error of the picks of one side, s."""
    x, late = m.distance[use], (m.time - m.pulse - m.late)[use]
    if len(x) < PICKS:
        return None
    line = fit_line(x, late)
    slowness = float(np.median(m.late[use] / np.maximum(x, 1e-6)))
    # velocities may be wrong by a tenth; what grows faster with offset is not theirs
    slope = (
        0.0
        if line is None
        else float(np.clip(line.slowness, (1 / FACTOR - 1) * slowness, (FACTOR - 1) * slowness))
    )
    rest = late - slope * x
    middle = float(np.median(rest))
    scatter = THREE * float(np.median(np.abs(rest - middle)))
    spread = float(((x - x.mean()) ** 2).sum())
    lever = 1.0 / len(x) + (float(x.mean()) ** 2 / spread if line is not None and spread > 0 else 0.0)
    return middle, scatter * float(np.sqrt(lever))


@dataclass(frozen=True)
class Compared:
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


def compare(found: list[Constant]) -> Compared:
    """Hold the shots against each other.

    Notes
    -----
    Constants scatter by the near surface with long tails, as a Laplace distribution does, of which 2**-k lies beyond k
    times the median deviation: with k = log2(n / `ALARM`) one survey in `1 / ALARM` has a shot beyond by chance.
    """
    n = len(found)
    period = float(np.median([c.period for c in found]))
    error = np.array([c.error for c in found])
    odd = []
    both = np.array([c.both for c in found])
    for values, use in (([c.time for c in found], np.ones(n, bool)), ([c.apart for c in found], both)):
        v = np.array(values)
        if use.sum() < SHOTS:
            odd.append(np.zeros(n, bool))
            continue
        off = np.abs(v - np.median(v[use]))
        limit = BETWEEN * period + np.log2(use.sum() / ALARM) * float(np.median(off[use])) + error
        wrong = use & (off > limit)
        # a third and more are no single shots: then it is not known which are right
        odd.append(wrong if wrong.sum() < use.sum() / 3 else np.zeros(n, bool))
    time = np.array([c.time for c in found])
    middle = float(np.median(time))
    return Compared(middle, float(np.median(np.abs(time - middle))), odd[0], odd[1], float(np.median(error)))
