"""Traces that the user leaves out, by file, field record and channel; how they are named in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import GeometryError

#: (first, last, step), ends included
Ranges = tuple[tuple[int, int, int], ...]

#: numbers written out in a cure; of more, the whole file or shot is easier to name
LISTED = 400


@dataclass(frozen=True)
class Exclusion:
    """Traces that meet every condition given.

    Parameters
    ----------
    file : str, optional
        A file, by its name or the end of its path; all files when left out.
    traces : tuple of ranges, optional
        Numbers of traces in their file, from 1.
    shots, channels : tuple of ranges, optional
        Field record (byte 9) and channel numbers (byte 13).
    """

    file: str | None = None
    traces: Ranges | None = None
    shots: Ranges | None = None
    channels: Ranges | None = None

    @property
    def whole_file(self) -> bool:
        """Whether all traces of a file are meant."""
        return self.file is not None and (self.traces, self.shots, self.channels) == (None, None, None)

    def names(self, path: str) -> bool:
        """Return whether the file at `path` is meant."""
        if self.file is None:
            return True
        wanted, parts = PurePath(self.file).parts, PurePath(path).parts
        wanted = tuple(p for p in wanted if p not in (".", ".."))
        return parts[-len(wanted) :] == wanted if wanted else False

    def among(
        self, path: str, number: NDArray[np.int64], ffid: NDArray, channel: NDArray
    ) -> NDArray[np.bool_]:
        """Return which traces of the file at `path` are meant; `number` counts from 0."""
        out = np.full(len(number), self.names(path))
        for ranges, values in ((self.traces, number + 1), (self.shots, ffid), (self.channels, channel)):
            if ranges is not None:
                out &= within(values, ranges)
        return out

    def __str__(self) -> str:
        """Return the entry as a job has it."""
        parts = [] if self.file is None else [f'file = "{self.file}"']
        for name, ranges in (("shot", self.shots), ("channels", self.channels), ("traces", self.traces)):
            if ranges is not None:
                parts.append(f"{name} = {_ranges_text(ranges)}")
        return "{" + ", ".join(parts) + "}"


def within(values: NDArray, ranges: Ranges) -> NDArray[np.bool_]:
    """Return which values lie in one of the ranges."""
    out = np.zeros(len(values), bool)
    for first, last, step in ranges:
        out |= (values >= first) & (values <= last) & ((values - first) % step == 0)
    return out


def excluded(
    entries: Sequence[Exclusion], path: str, number: NDArray[np.int64], ffid: NDArray, channel: NDArray
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which traces of the file at `path` the entries leave out, and which entries leave out any of them.

    `number` counts traces from 0.
    """
    out, matched = np.zeros(len(number), bool), np.zeros(len(entries), bool)
    for i, entry in enumerate(entries):
        traces = entry.among(path, number, ffid, channel)
        out |= traces
        matched[i] = traces.any()
    return out, matched


def refuse_unmatched(entries: Sequence[Exclusion], matched: Iterable[bool | np.bool_]) -> None:
    """Raise `GeometryError` for entries that leave out no trace of any file."""
    lost = [str(entry) for entry, used in zip(entries, matched, strict=True) if not used]
    if lost:
        raise GeometryError(
            f"[data] exclude: no trace is {', '.join(lost[:5])}",
            "take the entry out, or correct it: file by its name, shot (byte 9), channels (byte 13), traces (from 1, "
            "in their file)",
            code="E244",
        )


def _ranges_text(ranges: Ranges) -> str:
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return str(ranges[0][0])
    if all(a == b for a, b, _ in ranges):
        return "[" + ", ".join(str(a) for a, _, _ in ranges) + "]"
    texts = (str(a) if a == b else f"{a}-{b}" + (f":{s}" if s > 1 else "") for a, b, s in ranges)
    return '"' + ", ".join(texts) + '"'


def runs(numbers: Iterable[int]) -> Ranges:
    """Return numbers as ranges, ascending."""
    values = np.unique(np.fromiter(numbers, np.int64))
    if not len(values):
        return ()
    cuts = np.flatnonzero(np.diff(values) != 1) + 1
    return tuple((int(part[0]), int(part[-1]), 1) for part in np.split(values, cuts))


def spans(numbers: Iterable[int], most: int = 4) -> str:
    """Return numbers for a message, as ``12, 14-18, 31 ...``."""
    ranges = runs(numbers)
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b, _ in ranges[:most])
    return text + (" ..." if len(ranges) > most else "")


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path the shortest end of it that names no other of the files, whole folder names at a time."""
    parts = {path: PurePath(path).parts for path in paths}
    out = {path: path for path in parts}
    left, length = list(parts), 1
    while left:
        ends = {path: parts[path][-length:] for path in left}
        shared = {end for end, n in Counter(ends.values()).items() if n > 1}
        for path, end in ends.items():
            if end not in shared:
                out[path] = str(PurePath(*end))
        # the whole path is as long as it gets
        left = [path for path, end in ends.items() if end in shared and length < len(parts[path])]
        length += 1
    return out


def leave_out(traces: Iterable[tuple[str, Iterable[int] | None]], among: Iterable[str]) -> str:
    """Return the key of the job that leaves traces out.

    Parameters
    ----------
    traces : iterable of (str, iterable of int or None)
        Path of a file, and the numbers of its traces, from 1; None for all of them.
    among : iterable of str
        Paths of all files of the survey: entries name a file by as much of its path as tells it from the others.
    """
    names = short_names(among)
    entries = []
    for path, numbers in traces:
        ranges = None if numbers is None else runs(numbers)
        if ranges is None or ranges:
            entries.append(str(Exclusion(names.get(path, path), ranges)))
    if len(entries) > LISTED:
        entries = [*entries[:LISTED], "..."]
    return f"[data] exclude = [{', '.join(entries)}]"
