"""The order of the channels of a shot by its first breaks alone: reversed, shifted in a ring or along a spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.first_breaks import ShotBreaks, fit_line, signed_offset

#: traveltimes that grow by less than this many periods over the spread tell no order
PERIODS = 2.0
#: channels of a spread in which a shift in a ring is looked for
CHANNELS = 16


def reversed_order(picks: ShotBreaks) -> bool:
    """Return whether the channels of a shot stand in the reverse order of their places.

    Then times fall with offset, or scatter; and with the places in the reverse order they lie on a line. No model is
    needed for that.
    """
    line, n = picks.line, len(picks.shot.rcv)
    if line is None or picks.picked.mean() < 0.6 or picks.coherence < 0.4:
        return False
    away = np.abs(signed_offset(picks.shot)[n - 1 - picks.rows])
    other = fit_line(away, picks.time)
    if other is None or not 1 / 9000.0 <= other.slowness <= 1 / 250.0:
        return False
    clear = other.slowness * float(np.ptp(away)) >= PERIODS * picks.period
    sharp = other.scatter <= 0.35 * picks.period
    falls = line.slowness < 0 and line.scatter <= 2 * max(other.scatter, 0.1 * picks.period)
    scatters = line.scatter > max(4 * other.scatter, 0.5 * picks.period)
    # nothing arrives earlier and earlier along a spread, whatever bends the curve
    fall = -line.slowness * float(np.ptp(picks.offset[picks.picked]))
    steep = one_sided(picks) and fall >= 2 * PERIODS * picks.period and line.scatter <= 0.1 * fall
    return clear and ((sharp and (falls or scatters)) or steep)


def wrapped(picks: ShotBreaks) -> int:
    """Return by how many the channels of a shot are shifted against their places, in a ring; 0 when they are not.

    What is shifted past one end of the spread stands at the other end, far from where its times belong. With the
    places shifted back all picks lie on one line. A single trace at an end may be a bad one, and says nothing.
    """
    n, use = len(picks.shot.rcv), picks.picked
    if n < CHANNELS or picks.line is None or use.mean() < 0.6:
        return 0
    away, rows, time = np.abs(signed_offset(picks.shot)), picks.rows[use], picks.time[use]

    def misfit(by: int) -> NDArray[np.float64]:
        x = away[(rows - by) % n]
        line = fit_line(x, time)
        return np.full(len(x), np.inf) if line is None else np.abs(time - line.intercept - line.slowness * x)

    room = max(picks.period, 0.1 * float(np.ptp(np.percentile(time, [5, 95]))))
    bad = np.flatnonzero(misfit(0) > 2 * room)
    at_end = len(bad) and (bad[-1] == len(bad) - 1 or bad[0] == len(rows) - len(bad))
    if not at_end or not 2 <= len(bad) <= len(rows) / 4:
        return 0
    most = n // 4
    tried = [k for k in range(-most, most + 1) if abs(k) > 1 and misfit(k).max() <= room]
    return min(tried, key=lambda k: float(misfit(k).mean()), default=0)


def one_sided(picks: ShotBreaks) -> bool:
    """Return whether all receivers of a shot lie on one side of its source."""
    return bool((picks.offset >= 0).all() or (picks.offset <= 0).all())


def centre(picks: ShotBreaks) -> float | None:
    """Return where the time curve of a split spread has its minimum, m from the source; None where it is not known.

    Two lines of one slowness s meet there: ``t = t0 + s |x - c|``.
    """
    left, right = picks.sides
    if left is None or right is None or left.n < 8 or right.n < 8:
        return None
    slowness = 0.5 * (left.slowness + right.slowness)
    alike = min(left.slowness, right.slowness) > 0.8 * max(left.slowness, right.slowness)
    sharp = max(left.scatter, right.scatter) <= 0.15 * picks.period
    if not (slowness > 0 and alike and sharp):
        return None
    return 0.5 * (left.intercept - right.intercept) / slowness
