"""Traces and shots whose samples are unlike those of their neighbours: strong, humming, in swell, rough, clipped.

Neighbours are traces at like offsets, so that direct waves near the source and the decay with distance are no outliers.
All comparisons are of logarithms, by medians: a tenth of bad traces does not move them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.statistics import STEADY, SWELL, TraceMeasures
from subsalt.io.segy.exclude import leave_out, spans
from subsalt.io.segy.fix import Fix

#: a trace this many times stronger than its neighbours, and this many robust deviations, is none of the survey
STRONGER, DEVIATIONS = 10.0, 6.0
#: robust deviation (of the logarithm) below which differences between traces are not taken for telling
LEAST_SPREAD = 0.25
#: energy of strong traces over that of all others, both relative to their neighbours, above which the image is theirs
SPOILS = 0.5
#: fewer traces cannot say what is usual
FEWEST = 8
#: traces that make a shot
FEW = 5
#: how much faster than the square of the distance nothing decays
DECAY = 2.0
#: share of a trace's energy in swell, share of traces that have so much, and their number, that are worth a word
IN_SWELL, SOME, SEVERAL = 0.25, 0.01, 3
#: frequencies of the mains, Hz: public networks, and those of railways in central Europe
MAINS = (50.0, 60.0, 50.0 / 3.0)
#: a line this near to a multiple of the mains is theirs: 1 %, networks drift by less, or 1 Hz, as records of 1 s tell
NEAR, NEAR_HZ = 0.01, 1.0
#: traces that are compared at one offset, at least
GROUP = 9


@dataclass
class MeasuredFile:
    """Measures of traces of a file, with what names and compares them: distances (m), field records, channels."""

    path: str
    measures: TraceMeasures
    distance: NDArray[np.float64]
    ffid: NDArray
    channel: NDArray


class MeasuredSet:
    """Measures of the traces of many files, side by side."""

    def __init__(self, files: list[MeasuredFile]) -> None:
        self.files = files
        self.of = np.repeat(np.arange(len(files)), [len(f.measures) for f in files])
        self.all = TraceMeasures.joined([f.measures for f in files])
        self.distance = np.concatenate([f.distance for f in files])
        self.ffid = np.concatenate([f.ffid for f in files]).astype(np.int64)
        self.channel = np.concatenate([f.channel for f in files])

    def name(self, rows: NDArray[np.int64], most: int = 3) -> str:
        """Return the first of some traces by file, shot and number."""
        names = []
        for row in rows[:most]:
            shot = f" (shot {self.ffid[row]}, channel {self.channel[row]})" if self.ffid.any() else ""
            names.append(f"{self.files[self.of[row]].path} trace {self.all.number[row] + 1}{shot}")
        return "; ".join(names) + (" ..." if len(rows) > most else "")

    def cure(self, rows: NDArray[np.int64]) -> str:
        """Return the key that leaves some traces out."""
        return leave_out(
            (
                (self.files[f].path, (self.all.number[rows[self.of[rows] == f]] + 1).tolist())
                for f in np.unique(self.of[rows])
            ),
            (f.path for f in self.files),
        )

    def numbers(self, rows: NDArray[np.int64]) -> dict[str, str]:
        """Return the numbers of all of some traces by file, from 1, such as ``"3-12, 31"``."""
        return {
            self.files[f].path: spans((self.all.number[rows[self.of[rows] == f]] + 1).tolist(), len(rows))
            for f in np.unique(self.of[rows])
        }

    def evidence(self, rows: NDArray[np.int64]) -> dict[str, object]:
        """Return counts and the first traces for programs."""
        return {
            "count": len(rows),
            "traces": [
                {
                    "file": self.files[self.of[i]].path,
                    "shot": int(self.ffid[i]),
                    "trace": int(self.all.number[i]) + 1,
                }
                for i in rows[:50]
            ],
        }


def amplitude_findings(files: list[MeasuredFile], fix: Fix, *, shots: bool = True) -> list[Finding]:
    """Return what is odd about the samples of single traces and shots of all files together.

    Parameters
    ----------
    shots : bool
        The files hold shot records; of volumes and sections only traces without a signal are named.
    """
    files = [f for f in files if len(f.measures)]
    if not files:
        return []
    together = MeasuredSet(files)
    in_all = [*_zero(together), *(_clipped(together) if shots else ())]
    live = np.flatnonzero(~together.all.flat & (together.all.bad == 0) & (together.all.peak > 0))
    if len(live) < FEWEST or not shots:
        return in_all
    strong = _strong(together, live)
    return [
        *_in_swell(together, live),
        *strong.findings(together, fix),
        *_humming(together, live),
        *_rough(together, live, strong),
        *in_all,
    ]


@dataclass
class _Strong:
    """Traces, by row, and shots that are stronger than their neighbours, with their ratios."""

    rows: NDArray[np.int64]
    ratio: NDArray[np.float64]
    spikes: NDArray[np.bool_]
    share: float
    shots: dict[int, float]
    shot_rows: NDArray[np.int64]
    level: NDArray[np.float64]

    def findings(self, t: MeasuredSet, fix: Fix) -> Iterator[Finding]:
        spoils = self.share > SPOILS and fix.noisy != "keep"
        keep = '; to use them anyway: [data] noisy_traces = "keep"' if spoils else ""
        if len(self.rows):
            worst = int(np.argmax(self.ratio))
            kind = "spikes" if self.spikes.all() else "noise" if not self.spikes.any() else "noise or spikes"
            if (t.all.swell[self.rows] > IN_SWELL).all():
                kind = f"swell below {SWELL:g} Hz"
            yield Finding(
                "E246" if spoils else "W246",
                "error" if spoils else "warning",
                f"{len(self.rows)} of {len(t.all)} traces looked at are far stronger than others at their offset "
                f"({kind}; up to {self.ratio.max():.3g} times, largest sample {t.all.peak[self.rows[worst]]:.3g}): "
                f"{t.name(self.rows)}",
                t.cure(self.rows) + keep,
                t.evidence(self.rows)
                | {
                    "numbers": t.numbers(self.rows),
                    "kind": kind,
                    "largest_ratio": float(self.ratio.max()),
                    "energy_share": self.share,
                },
            )
        for shot, ratio in list(self.shots.items())[:20]:
            rows = self.shot_rows[t.ffid[self.shot_rows] == shot]
            yield Finding(
                "W254",
                "warning",
                f"shot {shot}: its {len(rows)} traces are {ratio:.3g} times as strong as those of other shots "
                f"(median, {t.name(rows[:1])})",
                f"scale it to the others if gains were not applied; to leave it out: {t.cure(rows)}",
                {"shot": shot, "ratio": ratio},
            )


def _strong(t: MeasuredSet, live: NDArray[np.int64]) -> _Strong:
    """Return the traces and shots that are far stronger than their neighbours."""
    shots, member = np.unique(t.ffid[live], return_inverse=True)
    over = np.zeros((2, len(live)))
    gain, size = np.zeros(len(shots)), np.bincount(member)
    kinds: list[NDArray] = [t.all.rms, t.all.peak]
    for i, values in enumerate(kinds):
        level = np.log(np.maximum(values[live].astype(np.float64), 1e-300))
        over[i] = level - _usual(t.distance[live], level)
        if i == 0 and len(shots) > 2:
            # a shot that is strong as a whole is one matter, not that of each of its traces
            order = np.argsort(member, kind="stable")
            gain = np.array([np.median(over[0][part]) for part in np.split(order, np.cumsum(size)[:-1])])
            gain -= np.median(gain)
            gain[size < FEW] = 0.0
        over[i] -= np.maximum(gain, 0.0)[member]
    limits = [max(np.log(STRONGER), DEVIATIONS * _spread(o)) for o in over]
    bad = (over[0] > limits[0]) | (over[1] > limits[1])
    ratio = np.exp(np.maximum(over[0], over[1])[bad])
    # a spike has most of its energy in a few samples
    crest = t.all.peak[live[bad]] / np.maximum(t.all.rms[live[bad]], 1e-30)
    energy = np.exp(2.0 * np.clip(over[0], -20, 20))
    rest = float(energy[~bad].sum())
    share = float(energy[bad].sum()) / rest if rest > 0 else 0.0
    apart = max(np.log(STRONGER), DEVIATIONS * _spread(gain))
    far = {int(shots[k]): float(np.exp(gain[k])) for k in np.flatnonzero(gain > apart)}
    return _Strong(live[bad], ratio, crest > 12.0, share, far, live, over[0])


def _spread(values: NDArray[np.float64]) -> float:
    """Return the robust deviation of logarithms."""
    return max(LEAST_SPREAD, 1.4826 * float(np.median(np.abs(values - np.median(values)))))


def _usual(distance: NDArray[np.float64], level: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the amplitude that is usual at the offset of each trace.

    That of its group of traces at like offsets, or of its neighbouring groups when these are stronger; nearer to the
    source, traces may be stronger by the square of the distances.
    """
    order = np.argsort(distance, kind="stable")
    groups = max(1, min(200, len(order) // GROUP))
    middle, where = _medians(level[order], groups), _medians(distance[order], groups)
    size, longer = divmod(len(order), groups)
    own = np.repeat(np.arange(groups), np.where(np.arange(groups) < longer, size + 1, size))
    d = np.maximum(distance[order], 1e-3 * max(float(distance.max()), 1e-30))
    usual = np.full(len(order), -np.inf)
    for shift in (-1, 0, 1):
        there = (own + shift >= 0) & (own + shift < groups)
        k = np.clip(own + shift, 0, groups - 1)
        nearer = np.maximum(np.log(np.maximum(where[k], 1e-30) / d), 0.0) * (where[k] > 0)
        usual = np.where(there, np.maximum(usual, middle[k] + DECAY * nearer), usual)
    out = np.empty(len(order))
    out[order] = usual
    return out


def _medians(values: NDArray[np.float64], groups: int) -> NDArray[np.float64]:
    """Return the medians of groups of values that follow one another, as `np.array_split` parts them."""
    size, longer = divmod(len(values), groups)
    cut = longer * (size + 1)
    parts = (values[:cut].reshape(longer, size + 1), values[cut:].reshape(groups - longer, size))
    return np.concatenate([np.median(part, axis=1) for part in parts if len(part)])


def _humming(t: MeasuredSet, live: NDArray[np.int64]) -> Iterator[Finding]:
    """Yield a finding for traces that hold one frequency and little else."""
    line, steady = t.all.line[live], t.all.steady[live]
    usual = float(np.median(line))
    pitch = t.all.pitch[live]
    # one frequency of swell is swell, whatever its band
    bad = (steady > STEADY) & (line > 0.8) & (1 - line < 0.15 * (1 - usual)) & ~(pitch < SWELL)
    if not bad.any() or bad.mean() > 0.5:
        return
    rows = live[bad]
    where = ", ".join(f"{f:.3g} Hz{_of_mains(f)}" for f in _pitches(pitch[bad]))
    yield Finding(
        "W247",
        "warning",
        f"{len(rows)} of {len(t.all)} traces looked at hum at {where}: {np.median(line[bad]):.0%} of the energy of "
        f"their later half is in one frequency, {usual:.0%} in other traces: {t.name(rows)}",
        f"to leave them out: {t.cure(rows)}; if the source has nothing there, a band-pass that ends below it keeps "
        "them",
        t.evidence(rows) | {"frequencies_hz": [round(float(f), 2) for f in _pitches(pitch[bad])]},
    )


def _pitches(pitch: NDArray) -> list[float]:
    """Return the frequencies at which traces hum, the most frequent ones first, five at most."""
    order = np.sort(pitch.astype(np.float64))
    groups = np.split(order, np.flatnonzero(np.diff(order) > np.maximum(NEAR_HZ, NEAR * order[1:])) + 1)
    return [float(np.median(g)) for g in sorted(groups, key=len, reverse=True)[:5]]


def _of_mains(frequency: float) -> str:
    """Return which multiple of the mains a frequency is, in words."""
    for mains in MAINS:
        times = max(1, round(frequency / mains))
        if abs(frequency - times * mains) <= max(NEAR * frequency, NEAR_HZ) and times <= 10:
            return " (the mains)" if times == 1 else f" ({times} times the {mains:.3g} Hz of the mains)"
    return " (no multiple of the mains)"


def _in_swell(t: MeasuredSet, live: NDArray[np.int64]) -> Iterator[Finding]:
    """Yield a finding for traces whose lowest frequencies are as strong all along the record, and much of the trace."""
    share = t.all.swell[live]
    rows = live[share > IN_SWELL]
    if len(rows) < max(SEVERAL, SOME * len(live)):
        return
    yield Finding(
        "W270",
        "warning",
        f"{len(rows)} of {len(t.all)} traces looked at hold swell noise: {np.median(t.all.swell[rows]):.0%} of their "
        f"energy (median) lies below {SWELL:g} Hz and is as strong at the end of the record as at its "
        f"begin: {t.name(rows)}",
        f'[[signal]] step = "swell"; to leave them out: {t.cure(rows)}',
        t.evidence(rows) | {"numbers": t.numbers(rows), "share": float(np.median(t.all.swell[rows]))},
    )


def _rough(t: MeasuredSet, live: NDArray[np.int64], strong: _Strong) -> Iterator[Finding]:
    """Yield a finding for traces that are noise from sample to sample and not weaker than their neighbours."""
    rough = np.log(np.maximum(t.all.rough[live].astype(np.float64), 1e-12))
    over = rough - np.median(rough)
    bad = (over > max(np.log(4.0), DEVIATIONS * _spread(rough))) & (t.all.rough[live] > 0.7)
    bad &= (strong.level > np.log(0.5)) & ~np.isin(live, strong.rows)
    if not bad.any() or bad.mean() > 0.2:
        return
    rows = live[bad]
    yield Finding(
        "W256",
        "warning",
        f"{len(rows)} of {len(t.all)} traces looked at are noise from sample to sample, unlike others: {t.name(rows)}",
        t.cure(rows),
        t.evidence(rows),
    )


def _clipped(t: MeasuredSet) -> Iterator[Finding]:
    """Yield a finding for traces that stay at their largest value for several samples, again and again."""
    m = t.all
    bad = (m.clipped >= 4) & ~m.flat & (m.peak > 0)
    if not bad.any():
        return
    # clipping has one level for many traces; a plateau of a single trace may be anything
    levels, counts = np.unique(m.peak[bad], return_counts=True)
    common = levels[counts >= 2]
    bad &= np.isin(m.peak, common) | (m.clipped >= 20)
    if not bad.any():
        return
    rows = np.flatnonzero(bad)
    yield Finding(
        "W253",
        "warning",
        f"{len(rows)} of {len(m)} traces looked at are clipped (at {m.peak[rows].min():.4g} to "
        f"{m.peak[rows].max():.4g}, up to {int(m.clipped[rows].max())} samples of a trace): {t.name(rows)}",
        f"take data from before they were clipped; to leave them out: {t.cure(rows)}",
        t.evidence(rows),
    )


def _zero(t: MeasuredSet) -> Iterator[Finding]:
    """Yield findings for traces that are zero, or one value, all along."""
    m = t.all
    for bad, code, what in ((m.peak == 0, "W233", "all zero"), (m.flat & (m.peak > 0), "W234", "constant")):
        rows = np.flatnonzero(bad)
        if len(rows):
            yield Finding(
                code,
                "warning",
                f"{len(rows)} of {len(m)} traces looked at are {what}: {t.name(rows)}",
                "they add nothing to the image; if they should, copy the file again and check its format; to leave "
                f"them out: {t.cure(rows)}",
                t.evidence(rows),
            )
