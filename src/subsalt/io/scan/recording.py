"""How shots were recorded, by what several traces say together: two components without a name, one record under two
headers, shots that were fired into each other's records, two systems of time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.input_file import InputFile
from subsalt.io.scan.amplitudes import MeasuredFile, MeasuredSet
from subsalt.io.segy.exclude import Exclusion, runs, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.shot_table import SAME_PLACE

#: share of the stations of a survey that must have two traces each, and of these that differ the same way
PAIRED, ONE_WAY = 0.95, 0.8
#: shots that a rule needs to know what is usual
FEWEST = 3
#: shots of a file whose times are read, at most
MOST_TIMES = 2000
#: bytes of a trace, from 0, with the time words (year, day, hour, minute, second, system), from byte 157 on
TIME_BYTES = slice(156, 168)
#: what systems of time are called
SYSTEMS = {1: "local", 2: "Greenwich", 3: "other", 4: "UTC"}
#: seconds by which shots that follow one another drift from even intervals, when clocks differ by whole half hours
DRIFT = 120.0


@dataclass
class ShotTimes:
    """When the shots of a file were fired.

    Parameters
    ----------
    ffid : ndarray, (n,)
        Field record numbers.
    src : ndarray, (n, 2)
        Where, m.
    seconds : ndarray, (n,)
        Since the begin of year 0 of 366 days a year; NaN where the words say no time.
    system : ndarray, (n,), int
        Byte 167.
    """

    path: str
    ffid: NDArray[np.int64]
    src: NDArray[np.float64]
    seconds: NDArray[np.float64]
    system: NDArray[np.int64]


def shot_times(file: InputFile, one: ScannedFile) -> ShotTimes | None:
    """Return when the shots of a file were fired, by the first trace of each; None of a store or an object."""
    if file.is_remote:
        return None
    lay, rows = one.layout, first_traces(one)
    raw = np.zeros((len(rows), TIME_BYTES.stop - TIME_BYTES.start), np.uint8)
    if len(rows):
        file.read_rows((lay.first_trace + rows * lay.trace_bytes + TIME_BYTES.start).tolist(), raw)
    return times_of_shots([one], [rows], raw)[0]


def first_traces(one: ScannedFile) -> NDArray[np.int64]:
    """Return the first live trace of each shot of a file, of `MOST_TIMES` at most."""
    live = np.flatnonzero(one.live)
    ffid = column(one.values, "ffid", one.layout.n_traces)[live]
    if len(ffid) and (ffid == ffid[0]).all():
        return live[:1]
    _, first = np.unique(ffid, return_index=True)
    return live[first][:MOST_TIMES]


def times_of_shots(
    files: Sequence[ScannedFile], rows: Sequence[NDArray[np.int64]], raw: NDArray[np.uint8]
) -> list[ShotTimes]:
    """Return when the shots of files of one byte order were fired.

    Parameters
    ----------
    files : sequence of ScannedFile
        The files.
    rows : sequence of ndarray, int
        Traces of each that are the first of their shots.
    raw : ndarray, (n, 12), uint8
        `TIME_BYTES` of all these traces, one file after the other.
    """
    words = raw.view(">i2" if files[0].layout.endian == "big" else "<i2").astype(np.int64)
    year, day, hour, minute, second, system = words.T
    good = (day >= 1) & (day <= 366) & (hour >= 0) & (hour < 24)
    good &= (minute >= 0) & (minute < 60) & (second >= 0) & (second < 60)
    seconds = 86400.0 * (366 * year + day) + 3600.0 * hour + 60.0 * minute + second
    seconds = np.where(good, seconds, np.nan)
    out, end = [], 0
    for one, own in zip(files, rows, strict=True):
        begin, end = end, end + len(own)
        ffid = column(one.values, "ffid", one.layout.n_traces)[own].astype(np.int64)
        src = one.positions.src[own, :2]
        out.append(ShotTimes(one.layout.path, ffid, src, seconds[begin:end], system[begin:end]))
    return out


def time_findings(times: list[ShotTimes], record: float) -> Iterator[Finding]:
    """Yield what the times of shots say: records that overlap (`record` s long), and two systems of time."""
    times = [t for t in times if len(t.ffid)]
    yield from _two_systems(times)
    if not times:
        return
    seconds = np.concatenate([t.seconds for t in times])
    src = np.concatenate([t.src for t in times])
    ffid = np.concatenate([t.ffid for t in times])
    known = np.isfinite(seconds)
    # one time for all is no time
    if known.sum() < FEWEST or np.unique(seconds[known]).size < 0.5 * known.sum():
        return
    order = np.flatnonzero(known)[np.argsort(seconds[known], kind="stable")]
    apart = np.diff(seconds[order])
    elsewhere = np.abs(np.diff(src[order], axis=0)).max(axis=1) > SAME_PLACE
    # times are whole seconds: two shots may be one second nearer than the words say
    into = np.flatnonzero((apart < record - 1.0) & elsewhere)
    if not len(into):
        return
    k = int(into[np.argmin(apart[into])])
    shots = np.unique(ffid[order[np.concatenate([into, into + 1])]])
    yield Finding(
        "W295",
        "warning",
        f"{len(into)} shots were fired into the record of another (time words, bytes 157 to 166): shots "
        f"{ffid[order[k]]} and {ffid[order[k + 1]]} {apart[k]:.0f} s apart, records are {record:.4g} s long: each of "
        f"{len(shots)} records may hold the energy of two sources (blended shots)",
        "separate the sources before (deblending); where records were separated already, nothing",
        {"shots": shots[:50].tolist(), "least_s": float(apart[k])},
    )


def _two_systems(times: list[ShotTimes]) -> Iterator[Finding]:
    """Yield a finding for files whose times are in another system: byte 167 says so, or whole half hours do."""
    systems = [
        int(t.system[0]) for t in times if len(set(t.system.tolist())) == 1 and np.isfinite(t.seconds).any()
    ]
    named = sorted({s for s in systems if s in SYSTEMS})
    if len(named) > 1 and len(systems) == len(times):
        usual = max(named, key=systems.count)
        odd = [t for t, s in zip(times, systems, strict=True) if s != usual]
        yield _systems(odd, f"byte 167 says {' and '.join(SYSTEMS[n] for n in named)} time", None)
        return
    by_number = sorted((t for t in times if np.isfinite(t.seconds).all()), key=lambda t: int(t.ffid[0]))
    numbers, seconds = (
        np.concatenate([np.asarray(getattr(t, name), np.float64) for t in by_number] or [np.zeros(0)])
        for name in ("ffid", "seconds")
    )
    if len(numbers) < FEWEST + 2 or (np.diff(numbers) <= 0).any():
        return
    step, wait = np.diff(numbers), np.diff(seconds)
    interval = float(np.median(wait / step))
    at = np.concatenate([[0], np.cumsum([len(t.ffid) for t in by_number])])
    back = np.flatnonzero(wait < 0)
    # numbers of shots increase while the clock goes back: the files from there on have another clock
    if not interval > 0 or not len(back) or len(back) > max(1, 0.1 * len(wait)):
        return
    off = wait[back] - interval * step[back]
    half_hours = np.round(off / 1800.0)
    starts = np.isin(back + 1, at)
    if (
        (np.abs(off - 1800.0 * half_hours) > DRIFT).any()
        or not starts.all()
        or (np.abs(half_hours) > 28).any()
    ):
        return
    first = int(np.searchsorted(at, back[0] + 1))
    yield _systems(
        by_number[first:],
        f"shot {int(numbers[back[0] + 1])} follows shot {int(numbers[back[0]])} by number, and is "
        f"{-wait[back[0]] / 3600:.3g} h earlier",
        float(half_hours[0] / 2),
    )


def _systems(odd: list[ShotTimes], why: str, hours: float | None) -> Finding:
    by = "" if hours is None else f" by {abs(hours):g} h"
    return Finding(
        "W296",
        "warning",
        f"{odd[0].path}: its times (bytes 157 to 168) are in another system than those of other files{by}, local time "
        f"against UTC for instance: {why}" + f" (and {len(odd) - 1} more files alike)" * (len(odd) > 1),
        "images do not depend on it; bring all times to one system before positions are joined by time",
        {"files": [t.path for t in odd[:50]], "hours": hours},
    )


def sample_copies(t: MeasuredSet, src: NDArray[np.float64]) -> Iterator[Finding]:
    """Yield a finding for shots whose samples are those of another shot at another place (`src`, (n, 2))."""
    good = np.flatnonzero((t.all.peak > 0) & ~t.all.flat & (t.all.bad == 0))
    shots = np.unique(t.ffid[good])
    if len(shots) < FEWEST:
        return
    keys = np.stack([t.all.rms[good], t.all.peak[good].astype(np.float64), t.all.rough[good]], axis=1)
    _, first, same = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    original = good[first[same.reshape(-1)]]
    copied = (t.ffid[original] != t.ffid[good]) & (np.abs(src[original] - src[good]).max(axis=1) > SAME_PLACE)
    place = np.searchsorted(shots, t.ffid[good])
    share = np.bincount(place, copied) / np.bincount(place)
    alike = share > 0.9
    # an earth that is its own mirror image gives shots on either side of its middle the same traces, in reverse order
    together = place[1:] == place[:-1]
    falls, rises = (
        np.bincount(place[1:], together & (sign * np.diff(original) > 0), minlength=len(shots))
        for sign in (-1, 1)
    )
    twice = np.flatnonzero(alike & (falls <= rises))
    # over a layered earth, a program makes all shots alike
    if not len(twice) or alike.sum() > 0.5 * len(shots):
        return
    rows = np.flatnonzero(place == twice[0])
    of, names = int(t.ffid[original[rows[0]]]), shots[twice].tolist()
    yield Finding(
        "W294",
        "warning",
        f"{len(twice)} shots have the samples of another shot, under the headers of another place: shot {names[0]} "
        f"those of shot {of} ({t.name(good[rows[:1]])})",
        f"one of the two is a copy, or a blended record that stands for both sources; to leave them out: [data] "
        f"exclude = [{Exclusion(shots=runs(names))}]",
        {"shots": names[:50], "shot": of},
    )


def unnamed_components(
    t: MeasuredSet, src: NDArray[np.float64], rcv: NDArray[np.float64]
) -> Iterator[Finding]:
    """Yield a finding for stations with two traces per shot that are unlike each other (`src`, `rcv`: (n, 3))."""
    if not rcv[:, :2].any() or len(t.all) < 8:
        return
    place = np.round(np.column_stack([src[:, :2], rcv]) / SAME_PLACE).astype(np.int64)
    _, member, count = np.unique(
        np.column_stack([t.ffid, place]), axis=0, return_inverse=True, return_counts=True
    )
    member = member.reshape(-1)
    if (count == 2).mean() < PAIRED:
        return
    order = np.argsort(member, kind="stable")
    order = order[count[member[order]] == 2].reshape(-1, 2)
    # the lower channel first; traces of one channel are there twice, and said so
    channel = t.channel[order]
    order = np.where((channel[:, 0] > channel[:, 1])[:, None], order[:, ::-1], order)
    a, b = order.T
    live = (t.all.peak[a] > 0) & (t.all.peak[b] > 0) & (t.channel[a] != t.channel[b])
    a, b = a[live], b[live]
    if len(a) < 4:
        return
    louder = np.log(t.all.rms[b] / t.all.rms[a])
    rougher = np.log(np.maximum(t.all.rough[b], 1e-12) / np.maximum(t.all.rough[a], 1e-12)).astype(np.float64)
    if _one_way(louder):
        how = f"{np.exp(np.median(louder)):.3g} times as strong"
    elif _one_way(rougher):
        how = f"{np.exp(0.5 * np.median(rougher)):.3g} times as high in frequency"
    else:
        return
    a, b = a[np.argsort(a)], b[np.argsort(a)]
    first, second = np.unique(t.channel[a]), np.unique(t.channel[b])
    apart = not np.isin(first, second).any()
    cures = [
        f"[data] exclude = [{Exclusion(channels=_every(numbers))}]" if apart else t.cure(rows)
        for numbers, rows in ((second, np.sort(b)), (first, np.sort(a)))
    ]
    yield Finding(
        "W293",
        "warning",
        f"stations have two traces per shot, such as channels {t.channel[a[0]]} and {t.channel[b[0]]} of shot "
        f"{t.ffid[a[0]]}, and the second are {how}: two components, or two kinds "
        f"of sensor, that byte 29 (trace id) does not distinguish ({len(a)} pairs)",
        f"use one of them; for the first of each pair: {cures[0]}",
        {
            "pairs": len(a),
            "ratio": float(np.exp(np.median(louder))),
            "channels": [spans(first), spans(second)],
        },
    )


def _one_way(log_ratio: NDArray[np.float64]) -> bool:
    """Return whether nearly all ratios are off one to the same side, by a tenth in the median."""
    up = float(np.mean(log_ratio > 0))
    return max(up, 1 - up) > ONE_WAY and abs(float(np.median(log_ratio))) > np.log(1.1)


def _every(numbers: NDArray) -> tuple[tuple[int, int, int], ...]:
    """Return numbers as one range with a step where they are even, else as runs."""
    step = np.unique(np.diff(numbers))
    if len(numbers) > 1 and len(step) == 1:
        return ((int(numbers[0]), int(numbers[-1]), int(step[0])),)
    return runs(numbers.tolist())


def delays_in_two_units(scanned: list[ScannedFile]) -> Iterator[Finding]:
    """Yield a finding for files whose delays are a thousandth of those of the others: seconds instead of ms."""
    delays = {
        s.layout.path: float(s.positions.delay[s.live][0])
        for s in scanned
        if s.live.any() and not np.ptp(s.positions.delay[s.live])
    }
    values = sorted({d for d in delays.values() if d})
    if len(values) != 2 or abs(values[1] - 1000.0 * values[0]) > 1e-6 * values[1] or not values[0] > 0:
        return
    low, high = values
    odd = [path for path, d in delays.items() if d == low]
    yield Finding(
        "W297",
        "warning",
        f"{odd[0]}: traces begin at {1e3 * low:g} ms (delay, byte 109), those of {list(delays.values()).count(high)} "
        f"other files at {1e3 * high:g} ms, a thousand times that: the delay is in seconds in {len(odd)} of "
        f"{len(delays)} files",
        f"[data.fix] delay = {high:g}",
        {"files": odd[:50], "delays_s": values},
    )


def recording_findings(
    scanned: list[ScannedFile], measured: list[MeasuredFile], times: list[ShotTimes], fix: Fix
) -> Iterator[Finding]:
    """Yield what traces and times of shot records say together about how they were recorded."""
    record = min(s.layout.ns * s.layout.dt for s in scanned)
    yield from time_findings(times, record)
    if fix.delay is None:
        yield from delays_in_two_units(scanned)
    pairs = [(s, m) for s, m in zip(scanned, measured, strict=True) if len(m.measures)]
    if not pairs:
        return
    t = MeasuredSet([m for _, m in pairs])
    src, rcv = (
        np.concatenate([getattr(s.positions, end)[m.measures.number] for s, m in pairs])
        for end in ("src", "rcv")
    )
    yield from sample_copies(t, src[:, :2])
    # of a sample of all traces, few have their neighbour with them
    if sum(len(m.measures) for _, m in pairs) == sum(int(s.live.sum()) for s in scanned):
        yield from unnamed_components(t, src, rcv)
