"""A file whose stations do not lie as those of the others, and the one mistake in its headers that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.groups import Groups
from subsalt.io.segy.geometry import FOOT

if TYPE_CHECKING:
    from subsalt.io.scan.trace_set import TraceSet

Points = NDArray[np.float64]
Mistake = Callable[[Points, Points], tuple[Points, Points]]

#: files that a survey needs before one of them can be odd, and files of which larger surveys are judged
FEWEST, MOST = 5, 2000
#: surveys in order in which a file lies otherwise by chance
ALARM = 0.01
#: station intervals by which spreads may differ and still have their stations at the same places
STATIONS = 0.5
#: files that are compared with all others at one time
_AT_ONCE = 128

_SWAPPED = [1, 0]
#: the correction of the stations of a file: in words, the bytes, the correction
MISTAKES: tuple[tuple[str, str, Mistake], ...] = (
    (
        "x and y were exchanged in this file",
        "bytes 73 and 77, 81 and 85",
        lambda s, r: (s[:, _SWAPPED], r[:, _SWAPPED]),
    ),
    (
        "x and y of the receivers were exchanged in this file",
        "bytes 81 and 85",
        lambda s, r: (s, r[:, _SWAPPED]),
    ),
    (
        "x and y of the sources were exchanged in this file",
        "bytes 73 and 77",
        lambda s, r: (s[:, _SWAPPED], r),
    ),
    (
        "source and receiver were exchanged in this file",
        "bytes 73 and 77 with 81 and 85",
        lambda s, r: (r, s),
    ),
    (
        "the coordinates of this file were in feet, which its header calls metres",
        "bytes 73 to 88, unit in byte 3255",
        lambda s, r: (s * FOOT, r * FOOT),
    ),
    (
        "the coordinates of this file were in metres, which its header calls feet",
        "bytes 73 to 88, unit in byte 3255",
        lambda s, r: (s / FOOT, r / FOOT),
    ),
)


class _Stations:
    """Spreads of all files; that of one is its box (4 bounds) and the extent of its sources (2), m."""

    def __init__(self, ends: list[tuple[Points, Points]]) -> None:
        groups = Groups([len(s) for s, _ in ends])
        src, rcv = (np.concatenate(points) for points in zip(*ends, strict=True))
        extent = groups.max(src) - groups.min(src)
        self.fixed, self.moving = (
            np.hstack([groups.min(there), groups.max(there), extent]) for there in (rcv, rcv - src)
        )
        self.middle = np.array([s.mean(axis=0) for s, _ in ends])
        self.interval = float(np.median(_intervals(rcv, groups)))

    def judged(self, i: int) -> _Judge:
        """Return how file `i` is judged: by all others."""
        fixed, moving, middle = (np.delete(v, i, axis=0) for v in (self.fixed, self.moving, self.middle))
        return _Judge(fixed, moving, middle, STATIONS * self.interval)


class _Judge:
    """Says whether a file lies as others do."""

    def __init__(self, fixed: NDArray, moving: NDArray, middle: Points, room: float) -> None:
        # a spread that stays, or one that moves with its sources: whichever the others share more closely
        usual = {k: float(_nearest(v).max()) for k, v in ((False, fixed), (True, moving))}
        self.moves = usual[True] <= usual[False]
        self.usual = usual[self.moves]
        self.spreads = moving if self.moves else fixed
        box = self.spreads[:, :4]
        self.extent = float(np.median(np.hypot(box[:, 2] - box[:, 0], box[:, 3] - box[:, 1])))
        self.middle = middle
        self.step = float(_nearest(middle).max())
        self.room = room
        # of n files in order, distances to the nearest fall off as exp(-d): the largest of n is ln(n), and one file in
        # n**c is c times as far; with n + 1 of them looked at, one survey in `1 / ALARM` has such a file by chance
        n = len(middle)
        self.times = float(np.log((n + 1) / ALARM) / np.log(n))

    def off(self, src: Points, rcv: Points) -> tuple[float, float]:
        """Return how far spread and sources of a file lie from the nearest of those of the others, m."""
        mine = _spread(src, rcv, self.moves)
        away = np.abs(self.middle - src.mean(axis=0)).max(axis=1).min()
        return float(np.abs(self.spreads - mine).max(axis=1).min()), float(away)

    def differs(self, src: Points, rcv: Points) -> bool:
        """Return whether a file lies otherwise than all others."""
        spread, away = self.off(src, rcv)
        # another line of the same survey lies next to it, by less than its own length
        beside = max(self.times * self.step, 0.5 * self.extent)
        return spread > self.times * self.usual + self.room or away > beside

    def fits(self, src: Points, rcv: Points) -> bool:
        """Return whether a file lies as the others do."""
        spread, away = self.off(src, rcv)
        # at an end of the line, or beside a gap, the nearest may be two steps away
        return spread <= self.usual + self.room and away <= 2 * self.step + self.room


def _intervals(rcv: Points, groups: Groups) -> NDArray[np.float64]:
    """Return of each file the median distance of receivers that follow one another, m; 0 where all are at one place."""
    step = np.hypot(*np.diff(rcv, axis=0).T)
    file = groups.spread(np.arange(len(groups)))
    use = (file[1:] == file[:-1]) & (step > 0)
    counts = np.bincount(file[1:][use], minlength=len(groups))
    out = np.zeros(len(groups))
    if use.any():
        out[counts > 0] = Groups(counts[counts > 0]).medians(step[use])
    return out


def _spread(src: Points, rcv: Points, moving: bool) -> NDArray[np.float64]:
    there = rcv - src if moving else rcv
    return np.concatenate([there.min(axis=0), there.max(axis=0), np.ptp(src, axis=0)])


def _nearest(rows: NDArray) -> NDArray[np.float64]:
    """Return the distance of each row from its nearest other one, by the largest component."""
    out = np.empty(len(rows))
    for a in range(0, len(rows), _AT_ONCE):
        some = rows[a : a + _AT_ONCE]
        d = np.zeros((len(some), len(rows)))
        for mine, all_ in zip(some.T, rows.T, strict=True):
            np.maximum(d, np.abs(mine[:, None] - all_), out=d)
        own = np.arange(len(some))
        d[own, a + own] = np.inf
        out[a : a + _AT_ONCE] = d.min(axis=1)
    return out


def odd_files(t: TraceSet) -> Iterator[Finding]:
    """Yield a warning for each file that lies otherwise than all others, when one mistake in it explains that.

    Parameters
    ----------
    t : TraceSet
        Live traces of shot records.

    Notes
    -----
    Of more than `MOST` files, nothing is said: every file is compared with every other one.
    """
    files = np.unique(t.file)
    if not FEWEST <= len(files) <= MOST:
        return
    order = np.argsort(t.file, kind="stable")
    cuts = np.searchsorted(t.file[order], files[1:])
    ends = [(t.src[rows, :2], t.rcv[rows, :2]) for rows in np.split(order, cuts)]
    stations = _Stations(ends)
    # one odd file at most is expected: of several, each would be the measure of the others
    for i in _suspects(stations):
        judge, (src, rcv) = stations.judged(i), ends[i]
        if not judge.differs(src, rcv):
            continue
        fits = [(words, where, mend(src, rcv)) for words, where, mend in MISTAKES]
        good = [(sum(judge.off(*m)), words, where) for words, where, m in fits if judge.fits(*m)]
        if good:
            words, where = _likeliest([g[1:] for g in sorted(good)], ends[i], t.offset[t.file == files[i]])
            spread, away = judge.off(src, rcv)
            path = t.paths[files[i]]
            yield Finding(
                "W360",
                "warning",
                f"{path}: stations do not lie as those of the other {len(files) - 1} files do (spread other by up to "
                f"{spread:.4g} m, sources {away:.4g} m from the nearest): they lie as if {words} ({where})",
                f"correct the headers of the file ({where}); {t.cure(np.flatnonzero(t.file == files[i]))} excludes it",
                {"file": path, "spread_off_m": spread, "sources_off_m": away, "cause": words},
            )


def _suspects(stations: _Stations) -> list[int]:
    """Return the files whose spread or sources lie farthest from those of any other."""
    return sorted(
        {int(np.argmax(_nearest(rows))) for rows in (stations.fixed, stations.moving, stations.middle)}
    )


def _likeliest(good: list[tuple[str, str]], ends: tuple[Points, Points], said: NDArray) -> tuple[str, str]:
    """Return the first mistake that the offsets of the headers, when they say something, do not contradict."""
    mends = {words: mend for words, _, mend in MISTAKES}
    if len(said) and np.ptp(np.abs(said)) > 0:
        for words, where in good:
            src, rcv = mends[words](*ends)
            distance = np.hypot(*(rcv - src).T)
            if np.abs(distance - np.abs(said)).max() <= 0.02 * float(distance.max()) + 2.0:
                return words, where
    return good[0]
