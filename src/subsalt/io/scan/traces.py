"""Traces that are missing, there twice, without a header, or far from all others: named by file, shot and trace."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.missing import missing
from subsalt.io.scan.odd_files import odd_files
from subsalt.io.scan.trace_set import TraceSet
from subsalt.io.scan.witnesses import constant_bias
from subsalt.io.segy.exclude import Exclusion, runs
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.shot_table import SAME_PLACE, find_repeats, shot_table

#: factor by which nominal offsets differ from distances at most
NOMINAL = 1.1
#: a gap between two groups of stations, over the extent of both, and in m, that no survey has
GAP, GAP_LENGTH = 10.0, 50_000.0


def trace_rules(t: TraceSet, fix: Fix) -> Iterator[Finding]:
    """Yield what the headers of all files make odd about single traces of shot records."""
    if not len(t):
        return
    none = without_coordinates(t)
    yield from none
    yield from repeated(t, fix)
    yield from missing(t)
    yield from offsets_by_trace(t)
    if not none:
        yield from ends_apart(t)
        yield from far_away(t)
        yield from odd_files(t)


def without_coordinates(t: TraceSet) -> list[Finding]:
    """Return an error for traces whose coordinates are all zero while others have some."""
    zero = ~(t.src[:, :2].any(axis=1) | t.rcv[:, :2].any(axis=1))
    if not zero.any() or zero.all():
        return []
    # a receiver at its source at the origin of the map is one trace of its shot, and says so
    shots, member, counts = np.unique(t.ffid, return_inverse=True, return_counts=True)
    zeros = np.bincount(member, zero)
    at_origin = np.ones(len(shots), bool)
    np.logical_and.at(at_origin, member, ~t.src[:, :2].any(axis=1))
    several = len(shots) > 1 or bool(t.ffid.any())
    honest = (zeros == 1) & at_origin & (counts > 1) if several else (zeros == 1) & at_origin
    said = np.ptp(t.offset) > 0
    rows = np.flatnonzero(zero & ~(honest[member] & ((t.offset == 0) | ~said)))
    if not len(rows):
        return []
    return [
        Finding(
            "E235",
            "error",
            f"{len(rows)} of {len(t)} traces have no coordinates (bytes 73 to 88 are zero), others have: "
            f"{t.where(rows)}; "
            "they would lie at map 0, 0",
            f"correct their headers or copy the files again; to leave them out: {t.cure(rows)}",
            {"count": len(rows), "traces": t.first(rows)},
        )
    ]


def repeated(t: TraceSet, fix: Fix) -> Iterator[Finding]:
    """Yield what is to be said of traces that are there twice."""
    if fix.duplicates == "first":
        return
    repeats = find_repeats(t)
    rows = repeats.same
    if len(rows):
        first = int(repeats.first[0])
        text = (
            f"{len(rows)} of {len(t)} traces are there twice, with one field record, channel and place: field record "
            f"{t.ffid[rows[0]]} channel {t.channel[rows[0]]}: {t.path(first)} trace {t.number[first] + 1} and "
            f"{t.path(int(rows[0]))} trace {t.number[rows[0]] + 1}"
        )
        evidence = {"count": len(rows), "traces": t.first(rows)}
        if fix.duplicates == "keep":
            yield Finding("W728", "warning", text, "they are all used, as [data] duplicates says", evidence)
        else:
            cure = 'name each file once; [data] duplicates = "first" leaves the others out, "keep" uses all'
            yield Finding("E728", "error", text, cure, evidence)
    yield from shots_twice(t)


def shots_twice(t: TraceSet) -> Iterator[Finding]:
    """Yield an error for shots with another number at the source and the receivers of an earlier one."""
    if not t.ffid.any():
        return
    numbers, first, member = np.unique(t.ffid, return_index=True, return_inverse=True)
    place = np.round(t.src[first] / SAME_PLACE).astype(np.int64)
    _, group = np.unique(place, axis=0, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(member, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(member))[:-1])
    twice: list[int] = []
    pair = (0, 0)
    for g in np.flatnonzero(np.bincount(group) > 1):
        shots = np.flatnonzero(group == g)
        for k in shots[1:]:
            a, b = parts[shots[0]], parts[k]
            if len(a) == len(b) and (np.abs(t.rcv[a] - t.rcv[b]) <= SAME_PLACE).all():
                pair = pair if twice else (int(numbers[shots[0]]), int(numbers[k]))
                twice.append(int(numbers[k]))
    if twice and len(twice) <= 0.5 * len(numbers):
        cure = str(Exclusion(shots=runs(twice)))
        yield Finding(
            "W263",
            "warning",
            f"{len(twice)} shots have the source and all receivers of another: shot {pair[1]} those of shot {pair[0]} "
            f"({t.where(parts[int(np.searchsorted(numbers, pair[1]))])})",
            f"they count double in the image; if one is a copy: [data] exclude = [{cure}]",
            {"shots": twice[:50]},
        )


def records_of_receivers(t: TraceSet) -> Iterator[Finding]:
    """Yield a warning when each field record has one receiver and many sources."""
    by_source, by_receiver = (shot_table(t.ffid, p, "ffid") for p in (t.src, t.rcv))
    if len(by_source.ids) < 2 or by_source.spread <= SAME_PLACE or by_receiver.spread > SAME_PLACE:
        return
    yield Finding(
        "W224",
        "warning",
        f"each of {len(by_source.ids)} field records (byte 9) has one receiver and sources up to "
        f"{by_source.spread:,.1f} m apart: sources and receivers are exchanged in the headers, or these are receiver "
        "gathers",
        "if they are exchanged: [data] bytes = { source_x = 81, source_y = 85, receiver_x = 73, receiver_y = 77 }; "
        "receiver gathers are taken by source position as they are",
        {"spread_m": by_source.spread},
    )


def in_two_zones(low: float, high: float) -> bool:
    """Return whether offsets from `low` to `high`, m, are those of sources and receivers in two map zones.

    They then hardly vary: a wrong scalar multiplies the smallest and the largest alike.
    """
    return low > max(GAP_LENGTH, GAP * (high - low))


def ends_apart(t: TraceSet) -> Iterator[Finding]:
    """Yield an error when every receiver lies far from its source: the two are in different zones."""
    if not (t.src[:, :2].any() and t.rcv[:, :2].any()):
        return
    distance = np.hypot(*(t.rcv[:, :2] - t.src[:, :2]).T)
    low, high = float(distance.min()), float(distance.max())
    if not in_two_zones(low, high):
        return
    said = np.abs(t.offset)
    words = f"; offsets (byte 37) are {said.min():g} to {said.max():g} m" if said.any() else ""
    yield Finding(
        "E380",
        "error",
        f"all {len(t)} receivers lie {low / 1000:,.1f} to {high / 1000:,.1f} km from their sources{words}: source "
        "coordinates (bytes 73, 77) and receiver coordinates (bytes 81, 85) are in different map zones or datums",
        "project both to one zone, or say where the receivers are: [data.bytes] receiver_x, receiver_y",
        {"distance_m": [low, high], "offsets_m": [float(said.min()), float(said.max())]},
    )


def far_away(t: TraceSet) -> Iterator[Finding]:
    """Yield an error for traces whose stations lie far from all others: another zone, or another scalar."""
    rows = apart(0.5 * (t.src[:, :2] + t.rcv[:, :2]))
    if rows is not None:
        yield far_finding(rows[0], rows[1], len(t), t.where(rows[0]), t.cure(rows[0]), t.first(rows[0]))


def far_finding(
    rows: NDArray[np.int64], distance: float, n: int, where: str, cure: str, first: list[dict[str, object]]
) -> Finding:
    """Return the finding for traces that lie far from all others."""
    return Finding(
        "E243",
        "error",
        f"{len(rows)} of {n} traces lie {distance / 1000:,.0f} km from the others: {where}",
        "if they belong to this survey, their coordinates are in another zone or have another scalar (byte 71): "
        f"correct their headers; to leave them out: {cure}",
        {"count": len(rows), "distance_m": distance, "traces": first},
    )


def apart(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], float] | None:
    """Return the rows of the smaller of two groups of points (n, 2) that lie far apart, and how far; else None."""
    best: tuple[NDArray[np.int64], float] | None = None
    for axis in range(2):
        order = np.argsort(points[:, axis], kind="stable")
        x = points[order, axis]
        if len(x) < 2:
            return None
        k = int(np.argmax(np.diff(x)))
        gap = float(x[k + 1] - x[k])
        extent = float((x[k] - x[0]) + (x[-1] - x[k + 1]))
        if gap > max(GAP_LENGTH, GAP * extent) and (best is None or gap > best[1]):
            low, high = order[: k + 1], order[k + 1 :]
            best = (np.sort(low if len(low) < len(high) else high), gap)
    return best


def offsets_by_trace(t: TraceSet) -> Iterator[Finding]:
    """Yield a warning for single traces whose offset (byte 37) is not the distance of their coordinates."""
    from subsalt.io.prestack.positions import OFFSET_SLACK

    if not (t.src[:, :2].any() and t.rcv[:, :2].any()):
        return
    said = np.abs(t.offset)
    d = t.rcv[:, :2] - t.src[:, :2]
    distance = np.sqrt(d[:, 0] ** 2 + d[:, 1] ** 2)
    wrong = np.abs(said - distance) > OFFSET_SLACK[0] + OFFSET_SLACK[1] * distance
    # where no word is set, there is nothing to compare
    if not wrong.any() or np.ptp(t.offset) == 0:
        return
    if wrong.mean() > 0.2 and constant_bias(said, distance) is None:
        yield from _offsets_without_rule(said, distance, int(wrong.sum()))
        return
    if wrong.mean() > 0.2:
        return  # one length in all traces is said of their files
    rows = np.flatnonzero(wrong)
    worst = int(rows[np.argmax(np.abs(said - distance)[rows])])
    yield Finding(
        "W226",
        "warning",
        f"offsets (byte 37) are not the distances of the coordinates in {len(rows)} of {len(t)} traces: "
        f"{t.where(rows)}; {t.path(worst)} trace {t.number[worst] + 1}: offset {t.offset[worst]:g} m, coordinates "
        f"{distance[worst]:.1f} m apart",
        f"the coordinates count; if these are wrong: {t.cure(rows)}; if the offsets are: [data.bytes] offset = 0",
        {"count": len(rows), "traces": t.first(rows)},
    )


def _offsets_without_rule(
    said: NDArray[np.float64], distance: NDArray[np.float64], wrong: int
) -> Iterator[Finding]:
    """Yield a warning for offsets that mostly are not the distances, though they are about as large.

    Another scalar or unit shows in the ratio of all; nominal offsets are off by a few per cent.
    """
    both = (said > 0) & (distance > 0)
    # many writers leave 0 or 1 in byte 37
    if both.mean() < 0.5:
        return
    ratio = said[both] / distance[both]
    typical = float(np.exp(np.median(np.abs(np.log(ratio)))))
    if not 0.8 <= float(np.median(ratio)) <= 1.25 or typical < NOMINAL:
        return
    yield Finding(
        "W226",
        "warning",
        f"offsets (byte 37) are not the distances of the coordinates in {wrong} of {len(said)} traces: they are other "
        f"ones by a factor of {typical:.3g} in the median, some larger, some smaller, which no scalar or unit explains",
        "the coordinates count; check that traces and headers belong together (byte 13, channel); if the offsets are "
        "wrong: [data.bytes] offset = 0",
        {"count": wrong, "factor": typical},
    )
