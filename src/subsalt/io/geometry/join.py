"""Traces joined with positions from files of their own, by the numbers in their headers.

Traces are known by what their headers hold: a field record and a channel, or the point (and line) of the shot and a
channel. All that find no place are named at once, before anything is computed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding, GeometryFindings
from subsalt.io.geometry.spreads import Spread
from subsalt.io.geometry.stations import PER_POINT, Names, Stations, find_sorted, point_text
from subsalt.io.segy.exclude import spans
from subsalt.io.segy.words import halves

#: shots, channels or files that a message lists
LISTED = 5
#: what tells traces apart: field record (byte 9) and channel, or shot point (byte 17), line and channel
By = Literal["record", "point"]


class TraceKeys(Protocol):
    """Header values of traces, (n,) each, and the file of each."""

    ffid: NDArray
    channel: NDArray
    source_point: NDArray
    source_line: NDArray
    file: NDArray[np.int64]
    paths: list[str]


@dataclass
class SurveyGeometry:
    """Sources, receivers, and which receivers recorded which channels of which shots.

    Parameters
    ----------
    sources, receivers : Stations
        Sources sorted, each once; receivers sorted (SPS), or in the order in which they are listed.
    spread : Spread
        Shots are rows of `shots`.
    shots : ndarray, (n, 2), int64
        Ascending keys of the shots: number of the line (-1: of any), and field record or point.
    source : ndarray, (n,), int64
        Row of the source of each shot.
    by : {"record", "point"}
        Meaning of the numbers of `shots`.
    names : Names
        Numbers of the names of lines.
    lines : mapping
        Name of the line of trace files, by pattern.
    facts : dict
        For reports: files, formats, counts, channels of streamers, unit, map.
    codes : tuple of str
        Codes of errors for shots and for channels without a place.
    receiver_static : ndarray, (n,), float32, optional
        Static corrections of the receivers, s; NaN where there is none.
    """

    sources: Stations
    receivers: NDArray[np.float64]
    spread: Spread
    shots: NDArray[np.int64]
    source: NDArray[np.int64]
    by: By
    names: Names
    lines: Mapping[str, str]
    facts: dict[str, Any] = field(default_factory=dict)
    codes: tuple[str, str] = ("E364", "E365")
    receiver_static: NDArray[np.float32] | None = None

    def placed(self, traces: TraceKeys, depth: NDArray[np.float64]) -> tuple[NDArray, NDArray]:
        """Return sources and receivers of traces, (n, 3) each, m.

        Parameters
        ----------
        traces : TraceKeys
            All that count.
        depth : ndarray, (n,)
            Depth of the sources as the headers have it, for formats that have none.

        Raises
        ------
        GeometryFindings
            With all shots and channels that have no place.
        """
        shot, rows = self._rows(traces)
        lost = [*self._lost_shots(traces, shot), *self._lost_channels(traces, shot, rows)]
        if lost:
            raise GeometryFindings(lost)
        src = self.sources.xyz[self.source[shot]]
        src[:, 2] = np.where(np.isnan(src[:, 2]), depth, src[:, 2])
        self.facts |= {
            "joined_by": self.by,
            "traces": len(shot),
            "shots_joined": len(np.unique(shot)),
            "receivers_joined": len(np.unique(rows)),
            "source_depths_of_headers": bool(np.isnan(self.sources.xyz[:, 2]).any()),
        }
        return src, self.receivers[rows]

    def statics(self, traces: TraceKeys) -> NDArray[np.float64]:
        """Return static corrections of traces that were `placed`, (n,), s: those of source and receiver in the files.

        0 where the files have none.
        """
        shot, rows = self._rows(traces)
        source = np.nan_to_num(self.sources.static[self.source[shot]]).astype(np.float64)
        return source if self.receiver_static is None else source + np.nan_to_num(self.receiver_static[rows])

    def _rows(self, traces: TraceKeys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return shot and receiver of each trace, -1 where there is none."""
        shot = self._shots_of(traces)
        rows = np.full(len(shot), -1, np.int64)
        known = shot >= 0
        rows[known] = self.spread.rows(shot[known], traces.channel.astype(np.int64)[known])
        return shot, rows

    def _shots_of(self, traces: TraceKeys) -> NDArray[np.int64]:
        """Return the shot of each trace, -1 where there is none."""
        number = traces.ffid if self.by == "record" else traces.source_point.astype(np.int64) * PER_POINT
        line = self._lines_of(traces)
        return find_sorted(shot_key(self.shots[:, 0], self.shots[:, 1]), shot_key(line, number))

    def _lines_of(self, traces: TraceKeys) -> NDArray[np.int64]:
        """Return the line of each trace: as the job, the headers, or the single line has it; -1 where lines do not
        matter.
        """
        if len(self.shots) and (self.shots[:, 0] == -1).all():
            return np.full(len(traces.ffid), -1, np.int64)
        if self.lines:
            of_file = np.full(len(traces.paths), -2, np.int64)
            lost = []
            for i, path in enumerate(traces.paths):
                name = next((v for pattern, v in self.lines.items() if _matches(path, pattern)), None)
                code = None if name is None else self.names.known(name)
                if code is None:
                    lost.append(f"{path}: {'no pattern' if name is None else f'line {name!r}'}")
                else:
                    of_file[i] = code
            if lost:
                raise GeometryFindings(
                    [
                        Finding(
                            "E369",
                            "error",
                            f"[data.geometry] lines has no line that is known for {len(lost)} files: "
                            f"{', '.join(lost[:LISTED])}",
                            f"lines of the positions: {', '.join(list(self.names)[:20])}",
                        )
                    ]
                )
            return of_file[traces.file]
        if traces.source_line.any():
            values, inverse = np.unique(traces.source_line, return_inverse=True)
            known = [self.names.known(str(v)) for v in values]
            return np.array([-2 if k is None else k for k in known], np.int64)[inverse.reshape(-1)]
        used = np.unique(self.shots[:, 0])
        if len(used) > 1:
            listed = ", ".join(self.names[int(k)] for k in used[:10])
            raise GeometryFindings(
                [
                    Finding(
                        "E369",
                        "error",
                        f"shots of {len(used)} lines have the same numbers, and nothing says which line a file of "
                        f"traces is of: {listed}",
                        f'[data.geometry] lines = {{"{PurePath(traces.paths[0]).name}" = "{self.names[int(used[0])]}", '
                        "...}, or the header word of the line: [data.bytes] source_line = ...",
                    )
                ]
            )
        return np.full(len(traces.ffid), used[0] if len(used) else -1, np.int64)

    def _shot_text(self, shot: int) -> str:
        line, number = self.shots[shot]
        text = f"shot {number}" if self.by == "record" else f"shot point {point_text(int(number))}"
        return text if line < 0 else f"{text} of line {self.names[int(line)]}"

    def _lost_shots(self, traces: TraceKeys, shot: NDArray[np.int64]) -> Iterator[Finding]:
        lost = np.flatnonzero(shot < 0)
        if not len(lost):
            return
        number = (traces.ffid if self.by == "record" else traces.source_point)[lost]
        word, byte = ("field record", 9) if self.by == "record" else ("shot point", 17)
        there = self.shots[:, 1] // (1 if self.by == "record" else PER_POINT)
        span = f"{there.min()} to {there.max()}" if len(there) else "none"
        file = traces.paths[int(traces.file[lost[0]])]
        other = ""
        if self.by == "record" and self.codes[0] == "E364" and traces.source_point.any():
            other = '; shot points (byte 17) are set: [data.geometry] join = "point"'
        elif self.by == "point" and self.facts.get("relations"):
            other = '; by field records: [data.geometry] join = "record"'
        listed = spans(number.tolist())
        yield Finding(
            self.codes[0],
            "error",
            f"{self.facts['named']} has no shot {listed} ({word}, byte {byte}), first in {file}; there are {span}",
            "add what is missing, leave the shot out, or correct the header word: [data.bytes] "
            f"{'ffid' if self.by == 'record' else 'source_point'} = ...{other}",
            {"shots": np.unique(number)[:200].tolist()},
        )

    def _lost_channels(
        self, traces: TraceKeys, shot: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> Iterator[Finding]:
        lost = np.flatnonzero((rows < 0) & (shot >= 0))
        if not len(lost):
            return
        shots = np.unique(shot[lost])
        bare = ~self.spread.has(shots)
        named = self.facts.get("receivers_named", self.facts["named"])
        if bare.any():
            listed = ", ".join(self._shot_text(int(s)) for s in shots[bare][:LISTED])
            yield Finding(
                self.codes[1 if self.codes[0] != "E364" else 0],
                "error",
                f"there are no receivers in {named} for {listed}{' ...' * (bare.sum() > LISTED)}",
                "add them (relations of SPS, receivers of P1/90, P1/11 and tables), or leave the shots out",
                {"count": int(bare.sum())},
            )
        if not bare.all():
            texts = []
            for s in shots[~bare][:LISTED]:
                channels = spans(traces.channel[lost][shot[lost] == s].tolist())
                texts.append(
                    f"{self._shot_text(int(s))}: channels {channels}, there are {self.spread.channels(int(s))}"
                )
            more = f"; and {int((~bare).sum()) - LISTED} more shots" if (~bare).sum() > LISTED else ""
            yield Finding(
                self.codes[1],
                "error",
                f"there are no receivers in {named} for channels (byte 13, or that of [data.bytes]): "
                f"{'; '.join(texts)}{more}",
                "add what is missing, leave the channels out, or correct the header word: [data.bytes] channel = ..."
                f"{_shift(traces, lost, self.spread, shot)}",
                {"shots": int((~bare).sum())},
            )


def _shift(traces: TraceKeys, lost: NDArray, spread: Spread, shot: NDArray) -> str:
    """Return a hint when channels are counted from another number, or have two bytes of the four that were read."""
    s = shot[lost[0]]
    own = np.flatnonzero(shot == s)
    channel = traces.channel[own].astype(np.int64)
    for shift in (1, -1):
        if (spread.rows(np.full(len(own), s), channel + shift) >= 0).all():
            return (
                f"; channels are counted from {channel.min()} in the headers and from {channel.min() + shift} there: "
                "number one as the other"
            )
    parts = halves(channel)
    if parts is not None and (spread.rows(np.full(len(own), s), parts[0]) >= 0).all():
        return (
            f"; {channel[0]} is {parts[0][0]} * 65536 + {parts[1][0]}: if the word has two bytes, "
            'channel = {byte = ..., type = "i2"}'
        )
    return ""


def _matches(path: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(PurePath(path).name, pattern) or fnmatch.fnmatchcase(path, pattern)


def shot_key(line: NDArray, number: NDArray) -> NDArray[np.int64]:
    """Return line and number as one number that ascends with both."""
    return (np.asarray(line, np.int64) << 40) + np.asarray(number, np.int64)


def described(facts: Mapping[str, Any]) -> str:
    """Return in words what was joined: facts of `SurveyGeometry` after `SurveyGeometry.placed`."""
    by = (
        "field record and channel (bytes 9, 13)"
        if facts["joined_by"] == "record"
        else "shot point, line and channel"
    )
    text = (
        f"positions of {facts['traces']} traces, {facts['shots_joined']} of {facts['shots']} shots, from "
        f"{' and '.join(facts['formats'])} by {by}: {facts['sources']} sources, {facts['receivers']} receivers"
    )
    if "relations" in facts:
        text += f", {facts['relations']} relations"
    if len(facts.get("streamers", ())) > 1:
        text += "; channels " + ", ".join(f"{c} on streamer {s}" for s, c in facts["streamers"].items())
    if facts.get("metres_per_unit", 1.0) != 1.0:
        text += f"; one unit of the grid is {facts['metres_per_unit']:.9g} m"
    text += "".join(f"; {what} {said}" for what, said in facts.get("map", {}).items())
    if facts["source_depths_of_headers"]:
        text += "; source depths are those of the trace headers, the files have none"
    statics = [facts[k] for k in ("source_statics_s", "receiver_statics_s") if any(facts.get(k, ()))]
    if statics:
        low, high = min(s[0] for s in statics), max(s[1] for s in statics)
        text += f"; static corrections from {low * 1e3:g} to {high * 1e3:g} ms are there and not applied"
    return text
