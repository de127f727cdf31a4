"""Offsets (byte 37) and positions of bins (bytes 181, 185) against the coordinates of sources and receivers.

Three witnesses of where stations are. Offsets are distances, rounded or nominal. A bin lies nearer to the midpoints of
its traces than any other: what rounding and the width of bins leave open is no disagreement, and across a crooked line
midpoints may lie far from their bins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.segy.exclude import spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import FOOT, ScannedFile, bin_positions, column, unit_factor
from subsalt.io.segy.headers import apply_scalar

#: m and share of the distance that whole metres and feathers leave between offsets and distances
ROUNDED, NOMINAL = 1.5, 0.01
#: scatter (of a normal distribution) within which a constant is distinguished from it
SCATTER = 4.0
#: spacings of bins that they may lie beside their midpoints: half of one for binning, and half for bins that are named
#: by a corner or an edge, with room; moved by a trace it is one
BESIDE = 0.75
#: share of the offset by which smoothed lines of bins lie off a crooked line
SMOOTHED = 0.05
#: part of a bin within which a midpoint is on its edge; distances in those of most traces that make a trace unlike them
ON_EDGE, FAR = 0.05, 5.0
#: share of the traces that makes it one mistake in all: of midpoints in bins that are named by a corner, a quarter is
#: nearest to that one; traces of which fewer say nothing of a file
MOST, FEWEST = 0.9, 8
#: traces of a file whose bins are looked at
LOOKED_AT = 50_000

#: part of the distance of bins and midpoints that is left when an exchange of x and y explains it
EXPLAINED = 0.1

Values = NDArray[np.float64]


def constant_bias(said: Values, distance: Values) -> tuple[float, float] | None:
    """Return how much offsets differ from distances in all traces alike, and the scatter of that, m; else None.

    Parameters
    ----------
    said, distance : ndarray, (n,)
        Offsets of the headers without sign, and distances of the coordinates, m.
    """
    off = np.abs(said - distance)
    if len(off) < FEWEST or np.ptp(said) == 0:
        return None
    much = float(np.median(off))
    scatter = 1.4826 * float(np.median(np.abs(off - much)))
    if (
        much <= ROUNDED + SCATTER * scatter
        or np.mean(np.abs(off - much) <= ROUNDED + SCATTER * scatter) < 0.9
    ):
        return None
    # another scalar or unit shows in the ratio; as a part of the offset, feathers
    both = (said > 0) & (distance > 0)
    ratio = float(np.median(said[both] / distance[both])) if both.any() else 0.0
    return (much, scatter) if 0.5 <= ratio <= 2.0 and np.ptp(distance) > 2 * ROUNDED else None


#: ends of traces whose x and y may be exchanged
Ends = tuple[str, ...]
EXCHANGES: tuple[Ends, ...] = ((), ("source", "receiver"), ("receiver",), ("source",))


def distances_of_bins(one: ScannedFile, fix: Fix, exchanges: Sequence[Ends] = EXCHANGES) -> dict[Ends, float]:
    """Return the median distance of bins and midpoints, m, by the ends whose x and y are exchanged for it.

    Empty where a file names no bins or has no coordinates.
    """
    bins = np.stack(bin_positions(one.values, one.layout, fix), axis=1)[one.live]
    src, rcv = one.positions.src[one.live, :2], one.positions.rcv[one.live, :2]
    if not (bins.any() and src.any() and rcv.any()):
        return {}
    return {ends: float(np.median(misfit(bins, src, rcv, ends))) for ends in exchanges}


def misfit(bins: Values, src: Values, rcv: Values, ends: Ends) -> Values:
    """Return the distances of bins and midpoints, (n,), m, with x and y of some ends exchanged; all of x and y."""
    both = [p[:, ::-1] if end in ends else p for end, p in (("source", src), ("receiver", rcv))]
    return np.hypot(*(0.5 * (both[0] + both[1]) - bins).T)


def sides_with_coordinates(one: ScannedFile, fix: Fix) -> bool | None:
    """Return whether bins lie where the coordinates are, not where they are with x and y exchanged.

    None where bins say nothing of that.
    """
    off = distances_of_bins(one, fix, EXCHANGES[:2])
    now, other = off.get((), 0.0), off.get(("source", "receiver"), 0.0)
    return now < other if min(now, other) <= EXPLAINED * max(now, other) > 0 else None


@dataclass(frozen=True)
class Bins:
    """Bins of traces against their midpoints.

    Parameters
    ----------
    rows : ndarray, (n,)
        Traces of the file that name a bin.
    way : ndarray, (n, 2)
        From midpoint to bin, m.
    spacing : float
        Distance between neighbouring bins, m.
    wrong : ndarray, (n,), bool
        Traces whose midpoint belongs to another bin, or to none.
    factor : float
        Ratio of the coordinates of bins to those of midpoints; 1 where no factor explains them.
    """

    rows: NDArray[np.int64]
    way: Values
    spacing: float
    wrong: NDArray[np.bool_]
    factor: float

    @property
    def off(self) -> Values:
        """Distance of midpoint and bin, (n,), m."""
        return np.hypot(*self.way.T)


def compare_bins(one: ScannedFile, fix: Fix) -> Bins | None:
    """Return the bins of a file against its midpoints; None where it names too few, or has no coordinates."""
    place = np.stack(bin_positions(one.values, one.layout, fix), axis=1)
    src, rcv = one.positions.src[:, :2], one.positions.rcv[:, :2]
    rows = np.flatnonzero(one.live & place.any(axis=1))
    # one value in all traces is none, or that of one gather
    if (
        len(rows) < FEWEST
        or not (src[rows].any() and rcv[rows].any())
        or not np.ptp(place[rows], axis=0).any()
    ):
        return None
    rows = rows[:: max(1, len(rows) // LOOKED_AT)]
    place, middle = place[rows], 0.5 * (src[rows] + rcv[rows])
    step = _step(one, fix)
    if float(np.hypot(*(middle - place).T).max()) <= 1.5 * step:
        return Bins(rows, place - middle, 0.0, np.zeros(len(rows), bool), 1.0)
    # a tenth of a second that headers in order do not take
    from scipy.spatial import cKDTree

    points = np.unique(np.round(place, 3), axis=0)
    tree = cKDTree(points)
    spacing = float(np.median(tree.query(points, k=2)[0][:, 1])) if len(points) > 1 else 0.0
    near, nearest = tree.query(middle)
    off, beside = np.hypot(*(middle - place).T), np.hypot(*(place - points[nearest]).T)
    # on the edge between two bins a midpoint belongs to either
    beside[off - near <= 1.5 * step + ON_EDGE * spacing] = 0.0
    longest = float(np.hypot(*(rcv[rows] - src[rows]).T).max())
    across = spacing + SMOOTHED * longest + _width(np.concatenate([src[rows], rcv[rows]])) + 1.5 * step
    if np.quantile(beside, 1 - MOST) > BESIDE * spacing + 1.5 * step or np.median(near) > across:
        wrong = np.ones(len(rows), bool)
    else:
        wrong = off > FAR * np.median(off) + spacing + across
    return Bins(rows, place - middle, spacing, wrong, _factor(middle, place))


def _step(one: ScannedFile, fix: Fix) -> float:
    """Return what one in the words of coordinates is, m."""
    scalar = column(one.values, "coordinate_scalar", one.layout.n_traces)[one.live]
    return float(apply_scalar(np.ones(1), scalar if fix.scalar is None else fix.scalar).max()) * unit_factor(
        one.layout, fix
    )


def _width(points: Values) -> float:
    """Return how wide stations lie about their best line, m."""
    centred = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return float(np.ptp(centred @ axes[:, 0]))


def _factor(middle: Values, place: Values) -> float:
    """Return the factor of a scalar or unit between midpoints and bins when one explains them all; else 1."""
    size = np.hypot(*middle.T)
    use = size > 0.1 * size.max()
    ratio = np.hypot(*place.T)[use] / size[use]
    factor = float(np.median(ratio))
    alike = np.mean(np.abs(ratio / factor - 1) < 0.02) > 0.9 if factor > 0 else False
    # bins that were moved are by some factor farther from a distant origin, too, but by none of a scalar or unit
    known = [10.0**k * unit for k in range(-4, 5) for unit in (1.0, FOOT, 1 / FOOT) if (k, unit) != (0, 1.0)]
    return factor if alike and min(abs(factor / f - 1) for f in known) < 0.02 else 1.0


# ---- what is said


def witness_findings(one: ScannedFile, fix: Fix, offsets: bool = True) -> Iterator[Finding]:
    """Yield a warning for the witness of a file that disagrees; `offsets`: those are to be judged, too.

    Offsets of single traces, and those that are larger by a factor, are found from all files together.
    """
    bins = compare_bins(one, fix)
    live = np.flatnonzero(one.live)
    src, rcv = one.positions.src[live], one.positions.rcv[live]
    known = bool(src[:, :2].any() and rcv[:, :2].any())
    said, distance = np.abs(one.positions.offset[live]), np.hypot(*(rcv - src)[:, :2].T)
    slanted = bool(
        known and (np.abs(said - np.linalg.norm(rcv - src, axis=1)) <= ROUNDED + NOMINAL * distance).all()
    )
    bias = constant_bias(said, distance) if known and not slanted else None
    if bias is not None and offsets:
        yield _biased(one, said, distance, bias, bins, live)
    if bins is not None and bins.wrong.any() and not (bias is not None and offsets):
        agree = bool(np.median(np.abs(said - distance)) <= ROUNDED) if np.ptp(said) > 0 else None
        if agree is not False and _at_the_other_side(one, bins):
            yield _mirrored(one, bins)
        else:
            yield from _other_bins(one, bins, agree)


def _biased(
    one: ScannedFile,
    said: Values,
    distance: Values,
    bias: tuple[float, float],
    bins: Bins | None,
    live: NDArray[np.int64],
) -> Finding:
    """Return the finding on offsets that are all too large or too small by one length."""
    sign = np.sign(said - distance)
    way = (
        "larger" if (sign > 0).mean() > 0.9 else "smaller" if (sign < 0).mean() > 0.9 else "larger or smaller"
    )
    where = _of_bins(one, said, bins, live)
    turn = one.positions.rcv[live, 0] - one.positions.src[live, 0]
    signed = bool((np.sign(one.positions.offset[live]) * np.sign(turn) >= 0).all() and (turn < 0).any())
    receivers = "receivers" in where
    cures = [
        "if the offsets are wrong: [data.bytes] offset = 0",
        *(['if the receivers are: [data] receivers = "offset"'] * (signed or bool((turn >= 0).all()))),
        "else correct the coordinates (bytes 73 to 88) in the files",
    ]
    return Finding(
        "W226",
        "warning",
        f"{one.layout.path}: offsets (byte 37) are {bias[0]:.4g} m {way} than the distances of the coordinates in all "
        f"{len(said)} traces alike (to {max(bias[1], 0.01):.2g} m): trace {one.numbered(live)[0]} has an offset of "
        f"{said[0]:g} m, its coordinates are {distance[0]:.1f} m apart{where}",
        "; ".join([*cures[1:2], cures[0], *cures[2:]] if receivers else cures),
        {"bias_m": bias[0], "count": len(said)},
    )


def _of_bins(one: ScannedFile, said: Values, bins: Bins | None, live: NDArray[np.int64]) -> str:
    """Return what bins say of offsets that are not the distances."""
    if bins is None:
        return ""
    said = said[np.searchsorted(live, bins.rows)]
    if bins.spacing == 0.0 or not bins.wrong.any():
        return "; bins (bytes 181, 185) are those of the coordinates"
    place = one.positions
    bin_at = 0.5 * (place.src[bins.rows] + place.rcv[bins.rows])[:, :2] + bins.way
    # half the offset lies between a bin and either end: where one end was moved, the other tells
    for name, end in (("receivers", place.src), ("sources", place.rcv)):
        half = np.hypot(*(bin_at - end[bins.rows, :2]).T)
        if np.median(np.abs(2 * half - said)) <= bins.spacing + ROUNDED:
            return f"; bins (bytes 181, 185) side with the offsets: the {name} were moved"
    return "; bins (bytes 181, 185) agree with neither"


def _at_the_other_side(one: ScannedFile, bins: Bins) -> bool:
    """Return whether bins are the midpoints of receivers that stand on the other side of their sources."""
    src, rcv = one.positions.src[bins.rows, :2], one.positions.rcv[bins.rows, :2]
    bin_at = 0.5 * (src + rcv) + bins.way
    off = np.hypot(*(1.5 * src - 0.5 * rcv - bin_at).T)
    return bool(np.quantile(off, MOST) <= EXPLAINED * np.median(bins.off))


def _mirrored(one: ScannedFile, bins: Bins) -> Finding:
    """Return the finding on receivers whose bins say that they stand on the other side of their sources."""
    return Finding(
        "W382",
        "warning",
        f"{one.layout.path}: bins (bytes {one.header.cdp_x}, {one.header.cdp_y}) lie {np.median(bins.off):,.4g} m from "
        f"the midpoints of sources and receivers (median) in all {len(bins.rows)} traces looked at, and at the "
        "midpoints when receivers stand on the other side of their sources",
        "the receivers are likely wrong: correct their coordinates (bytes 81, 85) in the files, to twice sx less gx; "
        "or give the positions of receivers in files of their own: [data.geometry]",
        {"count": len(bins.rows), "median_m": float(np.median(bins.off)), "factor": 1.0},
    )


def _other_bins(one: ScannedFile, bins: Bins, offsets: bool | None) -> Iterator[Finding]:
    """Yield the finding on bins that lie elsewhere than midpoints; `offsets`: they agree, None where there are none."""
    share = float(bins.wrong.mean())
    rows = bins.rows[bins.wrong]
    off = bins.off[bins.wrong]
    how = f"their coordinates are {bins.factor:.4g} times those of the midpoints: another scalar or unit"
    if bins.factor != 1.0 and share > MOST:
        if offsets:  # two witnesses agree, and the third speaks of other units
            yield Finding(
                "I001",
                "unchecked",
                f"{one.layout.path}: bins (bytes {one.header.cdp_x}, {one.header.cdp_y}): {how}; offsets (byte 37) "
                "agree with the coordinates",
                "",
                {"factor": bins.factor},
            )
            return
    else:
        x, y = np.median(bins.way[bins.wrong], axis=0)
        alike = np.median(np.hypot(*(bins.way[bins.wrong] - (x, y)).T)) < 0.25 * np.hypot(x, y)
        how = f"all moved by about {x:+.4g}, {y:+.4g} m (x, y)" if alike else "each by another way"
    offsets_say = {
        True: "agree with the coordinates",
        False: "do not agree with the coordinates",
        None: "are not set",
    }
    whole = len(rows) == len(bins.rows)
    number = one.numbered(rows)
    few = f"{len(rows)} of {len(bins.rows)} traces ({spans(number.tolist())})"
    where = f"all {len(rows)} traces looked at" if whole else few
    yield Finding(
        "W382",
        "warning",
        f"{one.layout.path}: bins (bytes {one.header.cdp_x}, {one.header.cdp_y}) lie {np.median(off):,.4g} m from the "
        f"midpoints of sources and receivers (median; up to {off.max():,.4g} m) in {where}, first trace "
        f"{number[0]}; {how}; offsets (byte 37) {offsets_say[offsets]}",
        "sources and receivers count; if they are right and the bins wrong: [data] bytes = {cdp_x = 0, cdp_y = 0}; "
        "else correct the coordinates (bytes 73 to 88)",
        {"count": len(rows), "median_m": float(np.median(off)), "factor": bins.factor},
    )
