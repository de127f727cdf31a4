"""Shots that lack channels: cut between traces, or with a hole that is neither numbering nor editing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.segy.exclude import Exclusion, runs, spans
from subsalt.io.segy.shot_table import shot_table

if TYPE_CHECKING:
    from subsalt.io.scan.trace_set import TraceSet

#: share of the channels of a shot that may be missing without a word
FEW_MISSING = 0.05
#: share of the channels of a shot, and of neighbours among them, that an editor does not take from good data
LARGE_PART, ROW_MISSING = 0.2, 0.1
#: share of shots with the same hole in their numbers, above which it may be a numbering
MOST_SHOTS = 0.5
#: short shots that are reported one by one
ONE_BY_ONE = 3


def missing(t: TraceSet) -> Iterator[Finding]:
    """Yield findings for shots that lack channels that their neighbours have."""
    if not t.ffid.any() and not t.src[:, :2].any():
        return
    # traces that are dead, or left out on purpose, are not missing
    ffid, numbers, src, live, rcv = t.present
    # CDP gathers hold parts of shots: nothing is missing there
    if 1 + np.count_nonzero(np.diff(ffid)) > 1.5 * len(np.unique(ffid)):
        return
    table = shot_table(ffid, src, "auto")
    counts = np.bincount(table.member)
    left = int((~live).sum())
    whole = np.bincount(table.member, live) > 0
    if len(counts) < 3:
        return
    usual = int(np.bincount(counts).argmax())
    there = _Channels(table.ids, table.member, numbers, counts, rcv)
    yield from _holes(there, np.where(whole, left, len(live)))
    # traces left out without a number may be those that a shot lacks
    short = whole & (counts < usual * (1 - FEW_MISSING)) & (usual - counts > left)
    if usual < 4 or (counts == usual).mean() < 0.6 or not 0 < short.sum() <= 0.2 * len(counts) + 1:
        return
    named = np.unique(numbers[np.isin(table.member, np.flatnonzero(counts == usual))])
    findings: list[Finding] = []
    for k in np.flatnonzero(short):
        own = numbers[table.member == k]
        lacking = np.setdiff1d(named, own) if len(named) == usual else named[:0]
        if len(lacking) and (_inside(own, named) or not _much(lacking, named)):
            continue
        findings.append(_short(there, int(k), usual, lacking, table.key == "ffid"))
    yield from (
        findings
        if len(findings) <= ONE_BY_ONE
        else [_many_short(findings, usual, len(counts), table.key == "ffid")]
    )


def _short(there: _Channels, k: int, usual: int, lacking: NDArray, by_number: bool) -> Finding:
    """Return the finding for one shot that has fewer traces than others."""
    shot, count = int(there.ids[k]), int(there.counts[k])
    which = f"; channels {spans(lacking.tolist())} are missing" if len(lacking) else ""
    leave = f"; to image without the shot: [data] exclude = [{{shot = {shot}}}]" if by_number else ""
    alike = int((there.counts == usual).sum())
    return Finding(
        "W255",
        "warning",
        f"shot {shot} has {count} traces, {usual} are usual ({alike} of {len(there.counts)} shots){which}",
        f"look for the rest: the file may have been cut between traces{leave}",
        {"shot": shot, "traces": count, "usual": usual, "channels": lacking[:50].tolist()},
    )


def _many_short(findings: list[Finding], usual: int, shots: int, by_number: bool) -> Finding:
    """Return one finding for many shots that have fewer traces than others."""
    ids = [int(str(f.evidence["shot"])) for f in findings]
    least = min(findings, key=lambda f: int(str(f.evidence["traces"])))
    leave = f"; to image without them: [data] exclude = [{Exclusion(shots=runs(ids))}]" if by_number else ""
    return Finding(
        "W255",
        "warning",
        f"{len(ids)} of {shots} shots have fewer traces than the usual {usual}: {spans(ids)}; the fewest, "
        f"{least.evidence['traces']}, shot {least.evidence['shot']}",
        f"look for the rest: files may have been cut between traces{leave}",
        {"shots": ids[:50], "usual": usual, "shot": least.evidence["shot"]},
    )


def _inside(channels: NDArray, named: NDArray) -> bool:
    """Return whether so many of `named` are missing between first and last channel that it is said elsewhere."""
    between = named[(named >= channels.min()) & (named <= channels.max())]
    lacking = len(between) - len(np.unique(channels))
    return lacking >= max(2, FEW_MISSING * len(between))


def _much(lacking: NDArray, all_: NDArray) -> bool:
    """Return whether the channels that a shot lacks are more than an editor takes here and there.

    A large part of the shot, or a row of neighbours: a tenth of the shot, and three.
    """
    at = np.searchsorted(all_, lacking)
    row = max((len(r) for r in np.split(at, np.flatnonzero(np.diff(at) > 1) + 1)), default=0)
    return len(lacking) >= LARGE_PART * len(all_) or row >= max(3, ROW_MISSING * len(all_))


@dataclass
class _Channels:
    """The channels of all shots: ids and traces (`counts`) of shots, shot, number and receiver (m) of each trace."""

    ids: NDArray[np.int64]
    member: NDArray[np.int64]
    number: NDArray
    counts: NDArray
    rcv: NDArray[np.float64]

    def holes(
        self,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]] | None:
        """Return shot, last channel before, first channel behind, and whether stations are missing, of every hole.

        None where channels are no running numbers.
        """
        order = np.lexsort((self.number, self.member))
        shot, number, rcv = self.member[order], self.number[order].astype(np.int64), self.rcv[order]
        same = np.diff(shot) == 0
        step = np.where(same, np.diff(number), 1)
        if not self.number.any() or (step > 1).sum() == 0 or np.median(step[same]) != 1:
            return None
        apart = np.hypot(*np.diff(rcv[:, :2], axis=0).T)
        interval = float(np.median(apart[same & (step == 1)]))
        at = np.flatnonzero(step > 1)
        # numbers that jump while stations do not are a numbering; without positions that is unknown
        real = np.abs(apart[at] - step[at] * interval) <= 0.25 * step[at] * interval
        return shot[at], number[at], number[at + 1], real & (interval > 0)


def _holes(there: _Channels, forgiven: NDArray[np.int64]) -> Iterator[Finding]:
    """Yield one finding for shots with numbers missing between their first and last channel, more than `forgiven`.

    The same hole in most shots is a numbering, such as that of four cables 1-22, 101-122, ..., unless stations
    are missing there, too.
    """
    hole = there.holes()
    if hole is None:
        return
    shot, before, behind, real = hole
    ids, counts = there.ids, there.counts
    _, kind, often = np.unique(np.stack([before, behind]), axis=1, return_inverse=True, return_counts=True)
    numbering = (often[kind.reshape(-1)] > MOST_SHOTS * len(ids)) & ~real
    jumps = np.unique(np.stack([before, behind])[:, numbering], axis=1)
    # numbers without those that no shot has
    size = behind - before - 1
    for low, high in jumps.T:
        size = size - np.where((before <= low) & (behind >= high), high - low - 1, 0)
    lacking = np.bincount(shot, size, minlength=len(ids)).astype(int)
    row = np.zeros(len(ids), np.int64)
    np.maximum.at(row, shot, size)
    all_ = lacking + counts
    some = (lacking > forgiven) & (lacking <= 4 * counts)
    large = (lacking >= LARGE_PART * all_) | (row >= np.maximum(3, ROW_MISSING * all_))
    bad = np.flatnonzero(some & large)
    if (lacking > 4 * counts).any():
        return
    if len(bad):
        yield _holed(there, bad, lacking, jumps)
    elif (few := np.flatnonzero(some & (lacking > 0))).size:
        yield Finding(
            "I000",
            "ok",
            f"{len(few)} of {len(ids)} shots lack single channels between their first and last, {lacking[few].sum()} "
            f"of {all_.sum()} traces: edited",
            "",
            {"shots": ids[few][:50].tolist(), "traces": int(lacking[few].sum())},
        )


def _holed(there: _Channels, bad: NDArray[np.int64], lacking: NDArray, jumps: NDArray) -> Finding:
    """Return the finding for shots that lack a large part of their channels."""
    ids, k = there.ids, int(bad[0])
    own = np.unique(there.number[there.member == k])
    gone = np.setdiff1d(np.arange(own[0], own[-1] + 1), own)
    for low, high in jumps.T:
        gone = gone[(gone <= low) | (gone >= high)]
    leave = (
        f"; to image without them: [data] exclude = [{Exclusion(shots=runs(ids[bad].tolist()))}]"
        if len(bad) <= 0.5 * len(ids)
        else ""
    )
    return Finding(
        "W255",
        "warning",
        f"{len(bad)} of {len(ids)} shots lack channels between their first and last: shot {ids[k]} has "
        f"{there.counts[k]} of {there.counts[k] + lacking[k]}, channels {spans(gone.tolist())} are missing",
        f"look for the rest: traces were lost on the way, or taken out by an editor{leave}",
        {"shots": ids[bad][:50].tolist(), "shot": int(ids[k]), "channels": gone[:50].tolist()},
    )
