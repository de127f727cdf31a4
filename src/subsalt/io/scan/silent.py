"""Files of which no rule on the headers of one file has anything to say, found for all files of a table at once.

Each function answers for the rules that it names, and asks for less than they do: where the answer is not certain, the
rules themselves look at the file (`findings.header_findings`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.io.scan.coordinates import USUAL_SCALARS
from subsalt.io.scan.cures import DEEPEST, DEEPEST_SEA, SHORTENED_BY_ANGLES
from subsalt.io.scan.header_table import HeaderTable
from subsalt.io.scan.upright import MOSTLY_BESIDE, beside, off_line
from subsalt.io.scan.witnesses import EXCHANGES, EXPLAINED, FEWEST, ROUNDED
from subsalt.io.scan.word_types import COORDINATES, NUMBERS, SMALLEST_FLOAT
from subsalt.io.segy.geometry import PRESSURE, SENSORS, VERTICAL, unit_factor
from subsalt.io.segy.headers import apply_scalar

Flags = NDArray[np.bool_]


def silent(table: HeaderTable) -> Flags:
    """Return of which files, (n files,), `findings.header_findings` says nothing; False where that is not certain."""
    out = table.groups.all(table.whole.live)
    for says_nothing in (
        _word_types,
        _upright,
        _scalars,
        _units,
        _components,
        _exchanged_bins,
        _other_bins,
        _biased_offsets,
        _delays,
        _depths,
    ):
        if not out.any():
            break
        out = out & says_nothing(table)
    return out


def _word_types(t: HeaderTable) -> Flags:
    """`word_types` is silent: coordinates are no floats, numbers fit into two bytes or have one upper half."""
    out = np.ones(len(t.groups), bool)
    for name in COORDINATES:
        low, high = t.bounds_of(name)
        out &= np.maximum(np.abs(low.astype(np.int64)), np.abs(high.astype(np.int64))) < SMALLEST_FLOAT
    for name in NUMBERS:
        low, high = (v.astype(np.int64) >> 16 for v in t.bounds_of(name))
        out &= (low < 1) | (low == high)
    return out


def _upright(t: HeaderTable) -> Flags:
    """`upright` is silent: the words of depths are set, offsets do not vary, or stations lie as on a map."""
    words = [t.bounds_of(n) for n in ("source_depth", "source_elevation", "receiver_elevation")]
    deep = np.any([(low != 0) | (high != 0) for low, high in words], axis=0)
    alike = t.groups.min(t.offset) == t.groups.max(t.offset)
    dx, dy = np.abs(t.apart).T
    distance = np.hypot(dx, dy)
    few = t.groups.count(beside(t.offset, distance)) / t.groups.sizes < MOSTLY_BESIDE
    y = [p[:, 1] for p in (t.whole.positions.src, t.whole.positions.rcv)]
    low, high = np.minimum(*map(t.groups.min, y)), np.maximum(*map(t.groups.max, y))
    map_y = ~((low > 0.0) & (high < DEEPEST_SEA)) | (t.groups.max(y[0]) - t.groups.min(y[0]) > DEEPEST)
    return deep | alike | ~t.placed | t.groups.any(off_line(t.offset, dx)) | few | map_y


def _scalars(t: HeaderTable) -> Flags:
    """`coordinates` is silent on scalars: there is one of the standard in all traces, that of coordinates not 0."""
    out = np.ones(len(t.groups), bool)
    for name, given in (
        ("coordinate_scalar", t.fix.scalar),
        ("elevation_scalar", t.fix.elevation_scalar),
    ):
        if given is None:
            low, high = t.bounds_of(name)
            out &= (low == high) & np.isin(np.abs(low), USUAL_SCALARS)
            if name == "coordinate_scalar":
                out &= (low != 0) | np.all(
                    [(a == 0) & (b == 0) for a, b in (t.bounds_of(n) for n in COORDINATES)], axis=0
                )
    return out


def _units(t: HeaderTable) -> Flags:
    """`coordinates` is silent on units: lengths are in metres by their code, and too large to be angles."""
    low, high = t.bounds_of("coordinate_units")
    codes = (low >= 0) & (high < 2)
    feet = t.whole.layout.measurement == 2 and t.fix.unit is None
    alike = t.groups.min(t.offset) == t.groups.max(t.offset)
    # the rule compares with lengths in units of the file
    there = t.groups.medians(t.distance) / unit_factor(t.whole.layout, t.fix)
    # a median is rounded once more where it is divided by the unit after it was taken
    far = there > (1.0 + 1e-9) * SHORTENED_BY_ANGLES * t.groups.medians(t.offset)
    return codes & (alike | far) & (not feet)


def _components(t: HeaderTable) -> Flags:
    """`components` is silent: no trace has the code of a sensor, or all have one that is used by itself."""
    if t.fix.trace_ids is not None or t.fix.all_traces:
        return np.ones(len(t.groups), bool)
    low, high = t.bounds_of("trace_id")
    none = (high < min(SENSORS)) | (low > max(SENSORS))
    return none | ((low == high) & np.isin(low, (PRESSURE, VERTICAL)))


def _exchanged_bins(t: HeaderTable) -> Flags:
    """`coordinates` is silent on exchanges: there are no bins, or no exchange brings them to their midpoints."""
    if not t.binned.any():
        return np.ones(len(t.groups), bool)
    now = t.misfits[()]
    return ~t.binned | np.all([t.misfits[ends] > EXPLAINED * now for ends in EXCHANGES[1:]], axis=0)


def _other_bins(t: HeaderTable) -> Flags:
    """`witnesses` is silent on bins: there are none, or all lie at their midpoints to the last digit of coordinates."""
    if not t.binned.any():
        return np.ones(len(t.groups), bool)
    middle = 0.5 * (t.whole.positions.src + t.whole.positions.rcv)[:, :2]
    off = np.where(t.bins.any(axis=1), np.hypot(*(middle - t.bins).T), 0.0)
    scalar = t.column("coordinate_scalar") if t.fix.scalar is None else np.int32(t.fix.scalar)
    step = t.groups.max(apply_scalar(np.ones(len(off)), scalar)) * unit_factor(t.whole.layout, t.fix)
    return ~t.binned | (t.groups.max(off) <= 1.5 * step)


def _biased_offsets(t: HeaderTable) -> Flags:
    """`witnesses` is silent on offsets: traces are few, or offsets do not vary, or half of them are the distances."""
    alike = t.groups.min(t.offset) == t.groups.max(t.offset)
    near = t.groups.medians(np.abs(t.offset - t.distance)) <= ROUNDED
    return ~t.placed | (t.groups.sizes < FEWEST) | alike | near


def _delays(t: HeaderTable) -> Flags:
    """`findings` is silent on delays: there is none."""
    return np.full(len(t.groups), t.fix.delay is not None) | ~t.groups.any(t.whole.positions.delay)


def _depths(t: HeaderTable) -> Flags:
    """`findings` is silent on depths: none of a source is negative, none of a receiver has the sign of a height."""
    shallow, _ = t.bounds_of("source_depth")
    below = (shallow >= 0) | (t.fix.source_depth is not None)
    low, high = t.bounds_of("receiver_elevation")
    bottom, top = t.bounds_of("source_elevation")
    surface = (bottom != 0) | (top != 0)
    apart = (low == high) & (bottom == top) & (low > bottom)
    given = t.fix.z_sign != 1 or t.fix.receiver_depth is not None
    return below & (given | (low <= 0) | (surface & ~apart))
