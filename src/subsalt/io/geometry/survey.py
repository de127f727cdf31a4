"""Geometry of a survey from its files of positions, read and checked as a whole.

Everything that does not fit is found before anything is computed, with files, lines and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding, GeometryFindings
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.geometry.columns import text_begins
from subsalt.io.geometry.headers import disagreements
from subsalt.io.geometry.join import By, SurveyGeometry, shot_key
from subsalt.io.geometry.p111 import read_p111
from subsalt.io.geometry.p190 import read_p190
from subsalt.io.geometry.parsed import Parsed, ReceiverGroups
from subsalt.io.geometry.spreads import ListedSpread, Relations, RelationSpread
from subsalt.io.geometry.sps import read_sps
from subsalt.io.geometry.stations import PER_POINT, Names, Stations, find_sorted, point_text, without_repeats
from subsalt.io.input_file import InputFile
from subsalt.io.segy.shot_table import SAME_PLACE

#: shots, channels or points that a message lists
LISTED = 5
#: readers by format; each takes (path, number of the file, names of lines)
READERS = {"sps": read_sps, "p190": read_p190, "p111": read_p111}


def format_of(path: Path) -> str:
    """Return which of `READERS` reads a file, by its first records."""
    with InputFile(path) as file:
        at = text_begins(file)
        head = np.empty(min(file.size - at, 1 << 16), np.uint8)
        file.read_into(at, raw_bytes(head))
    for line in head.tobytes().decode("latin-1").splitlines():
        if re.match(r"I?OGP,", line, re.IGNORECASE) or re.match(r"(HC|CC|S1|R1|P1),", line):
            return "p111"
        if re.match(r"H\d{4}", line) or re.match(r"[SVACETZQ].{33}[NS].{10}[EW]", line):
            return "p190"
        if re.match(r"H\d\d|[SRX].{30}", line):
            return "sps"
    return "sps"


def read_geometry(
    paths: Sequence[Path],
    *,
    join: Literal["auto", "record", "point"] = "auto",
    lines: Mapping[str, str] | None = None,
    unit: str | None = None,
) -> SurveyGeometry:
    """Read and check the files of positions of a survey.

    Parameters
    ----------
    paths : sequence of Path
        SPS files of points and relations, P1/90 or P1/11 files; each says what it is.
    join : {"auto", "record", "point"}
        Key of traces; ``auto``: field records where there are relations, else shot points.
    lines : mapping, optional
        Name of the line of trace files by pattern, where numbers repeat between lines.
    unit : {"m", "ft", "us-ft"}, optional
        Unit of the grid, instead of that of the headers.

    Returns
    -------
    SurveyGeometry

    Raises
    ------
    GeometryFindings
        With everything that is wrong: unreadable lines, overlapping relations, points missing or twice, units and maps
        that differ.

    Notes
    -----
    A piece of a file is held at one time; what remains are some 60 bytes a point or relation, 40 a listed receiver.
    """
    names = Names()
    files = [str(p) for p in paths]
    parsed = [READERS[format_of(p)](p, i, names) for i, p in enumerate(paths)]
    findings = [f for p in parsed for f in p.findings]
    findings += disagreements([p.facts for p in parsed])
    factors = []
    for p in parsed:
        factor, odd = p.facts.metres(unit)
        factors.append(factor)
        findings += [] if odd is None else [odd]
    if any(f.level == "error" for f in findings):
        raise GeometryFindings(findings)
    for p, factor in zip(parsed, factors, strict=True):
        _scale(p, factor)
    findings += _angles(parsed)
    sources, odd_sources = without_repeats(
        Stations.join([p.sources for p in parsed]), names, files, "sources"
    )
    findings += odd_sources
    facts: dict[str, Any] = {
        "named": files[0] if len(files) == 1 else f"the {len(files)} files of positions",
        "files": files,
        "formats": sorted({p.facts.format for p in parsed}),
        "sources": len(sources),
        "lines": len(names),
        "metres_per_unit": factors[0] if factors else 1.0,
        "map": {k: v[0] for p in reversed(parsed) for k, v in p.facts.said.items() if k != "unit"},
    }
    if (statics := sources.static[np.isfinite(sources.static)]).size:
        facts["source_statics_s"] = [float(statics.min()), float(statics.max())]
    relations = [p.relations for p in parsed if p.relations is not None]
    if not len(sources):
        findings.append(_nothing(facts["named"], "sources", "S records of SPS, P1/90 or P1/11"))
    if relations:
        out = _by_relations(parsed, Relations.join(relations), sources, names, files, join, facts, findings)
    else:
        out = _by_lists(parsed, sources, names, files, join, facts, findings)
    if any(f.level == "error" for f in findings) or out is None:
        raise GeometryFindings(findings)
    out.lines = lines or {}
    return out


def _nothing(named: str, what: str, where: str) -> Finding:
    return Finding(
        "E366", "error", f"there are no {what} in {named}", f"name the files that have them: {where}"
    )


def _scale(p: Parsed, factor: float) -> None:
    if factor != 1.0:
        for table in (p.sources, p.receivers, p.groups):
            if table is not None:
                table.xyz = np.round(table.xyz * factor, 4)


def _angles(parsed: list[Parsed]) -> Iterator[Finding]:
    """Yield an error for files whose positions can only be degrees."""
    for p in parsed:
        both = [t.xyz[:, :2] for t in (p.sources, p.receivers) if len(t)]
        if both and all((np.abs(xy) <= (180.0, 90.0)).all() and (xy != np.rint(xy)).any() for xy in both):
            points = np.concatenate(both)
            if len(points) > 1 and np.ptp(points, axis=0).max() < 5.0:
                yield Finding(
                    "E368",
                    "error",
                    f"{p.facts.path}: eastings and northings are longitudes and latitudes in degrees "
                    f"({points[0, 0]:g}, {points[0, 1]:g})",
                    "project them to metres",
                    {"file": p.facts.path},
                )


def _by_relations(
    parsed: list[Parsed],
    relations: Relations,
    sources: Stations,
    names: Names,
    files: list[str],
    join: str,
    facts: dict[str, Any],
    findings: list[Finding],
) -> SurveyGeometry | None:
    """Return the geometry of SPS files."""
    by: By = "point" if join == "point" else "record"
    receivers, odd = without_repeats(Stations.join([p.receivers for p in parsed]), names, files, "receivers")
    findings += odd
    if not len(receivers):
        findings.append(_nothing(facts["named"], "receivers", "R records of SPS"))
    bad = list(relations.faults(files))
    findings += bad
    row = sources.find(relations.source_line, relations.source_point, relations.source_index)
    if (row < 0).any() and len(sources):
        findings.append(_no_source(relations, np.flatnonzero(row < 0), names, files))
    line = np.full(len(relations), -1, np.int64)
    number = relations.record
    if by == "point":
        line, number = relations.source_line.astype(np.int64), relations.source_point
    elif _ambiguous(shot_key(line, number), row):
        # lines that count their records each from 1
        line = relations.source_line.astype(np.int64)
    keys, first, shot = np.unique(shot_key(line, number), return_index=True, return_inverse=True)
    shot = shot.reshape(-1)
    findings += _two_sources(relations, sources, names, files, row, shot, by)
    facts |= {"receivers": len(receivers), "relations": len(relations), "shots": len(keys)}
    if (statics := receivers.static[np.isfinite(receivers.static)]).size:
        facts["receiver_statics_s"] = [float(statics.min()), float(statics.max())]
    if bad or not len(receivers):
        return None
    spread = RelationSpread(relations, shot, receivers).without_repeats()
    findings += spread.overlap_findings(files)
    findings += spread.missing_points(names, files)
    shots = np.stack([line[first], number[first]], axis=1)
    return SurveyGeometry(
        sources,
        receivers.xyz,
        spread,
        shots,
        row[first],
        by,
        names,
        {},
        facts,
        receiver_static=receivers.static,
    )


def _ambiguous(key: NDArray[np.int64], source: NDArray[np.int64]) -> bool:
    """Return whether one key stands for several sources."""
    order = np.lexsort((source, key))
    return bool(((np.diff(key[order]) == 0) & (np.diff(source[order]) != 0)).any())


def _no_source(r: Relations, rows: NDArray, names: Names, files: list[str]) -> Finding:
    listed = "; ".join(
        f"{r.where(k, files)}: record {r.record[k]} names source line {names[r.source_line[k]]} point "
        f"{point_text(int(r.source_point[k]))}, index {r.source_index[k]}"
        for k in rows[:LISTED]
    )
    more = f"; and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
    return Finding(
        "E366",
        "error",
        f"sources of relations are missing: {listed}{more}",
        "add their S records, or correct line, point or index of the relations",
        {"count": len(rows)},
    )


def _two_sources(
    r: Relations, sources: Stations, names: Names, files: list[str], row: NDArray, shot: NDArray, by: By
) -> Iterator[Finding]:
    """Yield an error for shots that relations place at two sources."""
    order = np.lexsort((row, shot))
    again = np.flatnonzero((np.diff(shot[order]) == 0) & (np.diff(row[order]) != 0))
    pairs = [(int(order[k]), int(order[k + 1])) for k in again]
    pairs = [p for p in pairs if min(row[p[0]], row[p[1]]) >= 0 and _apart(sources, row[p[0]], row[p[1]])]
    if pairs:
        word = "record" if by == "record" else "shot point"
        listed = "; ".join(
            f"{word} {r.record[a] if by == 'record' else point_text(int(r.source_point[a]))} is shot from "
            f"{sources.name(int(row[a]), names)} ({r.where(a, files)}, tape {r.tape[a].decode('latin-1') or '-'}) and "
            f"{sources.name(int(row[b]), names)} ({r.where(b, files)}, tape {r.tape[b].decode('latin-1') or '-'})"
            for a, b in pairs[:LISTED]
        )
        more = f"; and {len(pairs) - LISTED} more" if len(pairs) > LISTED else ""
        cure = (
            'correct the relations; where several tapes count records alike: [data.geometry] join = "point", or one '
            "tape with its relations at a time"
            if by == "record"
            else 'a point that was shot again has an index: [data.geometry] join = "record"'
        )
        yield Finding(
            "E367",
            "error",
            f"shots have two sources: {listed}{more}",
            cure,
            {"count": len(pairs)},
        )


def _apart(sources: Stations, a: int, b: int) -> bool:
    return bool(np.abs(np.nan_to_num(sources.xyz[a] - sources.xyz[b])).max() > SAME_PLACE)


def _by_lists(
    parsed: list[Parsed],
    sources: Stations,
    names: Names,
    files: list[str],
    join: str,
    facts: dict[str, Any],
    findings: list[Finding],
) -> SurveyGeometry | None:
    """Return the geometry of P1/90 and P1/11 files."""
    by: By = "record" if join == "record" else "point"
    listed: list[ReceiverGroups] = []
    for p in parsed:
        if p.groups is not None and len(p.groups) and len(p.sources):
            own = p.sources.take(p.groups.shot)
            listed.append(replace(p.groups, shot=sources.find(own.line, own.point, own.index)))
    if not listed:
        if len(sources):
            findings.append(
                _nothing(
                    facts["named"],
                    "relations or receivers of its shots",
                    "X records of SPS (with the S and R files), or R records of P1/90 or P1/11",
                )
            )
        return None
    groups = ReceiverGroups.join(listed)
    source, points = groups.shot, groups.xyz
    channel, said = _channels(groups.streamer, groups.group)
    line = sources.line.astype(np.int64)
    value = sources.point // PER_POINT if by == "record" else sources.point
    if len(np.unique(line)) > 1 and len(np.unique(value)) == len(value):
        line = np.full(len(line), -1, np.int64)  # numbers that no two lines share
    keys, first, of_source = np.unique(shot_key(line, value), return_index=True, return_inverse=True)
    spread = ListedSpread(of_source.reshape(-1)[source], channel)
    again = spread.repeats()
    again = again[(np.abs(points[again[:, 0]] - points[again[:, 1]]) > SAME_PLACE).any(axis=1)]
    if len(again):
        lines, where = groups.number, sources.file[source]
        text = "; ".join(
            f"{sources.name(int(source[a]), names)} channel {channel[a]}: {files[where[a]]} lines {lines[a]} "
            f"and {lines[b]}"
            for a, b in again[:LISTED]
        )
        more = f"; and {len(again) - LISTED} more" if len(again) > LISTED else ""
        findings.append(
            Finding(
                "E367",
                "error",
                f"receivers are given twice at different places: {text}{more}",
                "remove the wrong ones",
                {"count": len(again)},
            )
        )
    facts |= {"receivers": len(points), "streamers": said, "shots": len(keys)}
    shots = np.stack([line[first], value[first]], axis=1)
    return SurveyGeometry(sources, points, spread, shots, first, by, names, {}, facts)


def listed_geometry(
    shots: NDArray[np.float64],
    receivers: NDArray[np.float64],
    named: tuple[str, str],
    by: By = "record",
    lines: Mapping[str, str] | None = None,
) -> SurveyGeometry:
    """Return the geometry of two tables.

    Parameters
    ----------
    shots : ndarray, (n, 5)
        Line (NaN: lines do not matter), number and position of each shot, z positive down, m.
    receivers : ndarray, (n, 6)
        Line and number of the shot, channel and position.
    named : tuple of str
        The files, for messages.
    by : {"record", "point"}
        Meaning of the numbers: field records, or shot points.
    lines : mapping, optional
        See `read_geometry`.
    """
    names, parts = Names(), PER_POINT if by == "point" else 1
    own, of_receivers = (_listed_keys(t, names, parts) for t in (shots, receivers))
    keys, first, same = np.unique(shot_key(*own), return_index=True, return_inverse=True)
    owner = find_sorted(keys, shot_key(*of_receivers))
    spread, points = ListedSpread(owner, receivers[:, 2].astype(np.int64)), receivers[:, 3:]
    apart = (np.abs(shots[:, 2:] - shots[first[same.reshape(-1)], 2:]) > SAME_PLACE).any(axis=1)
    findings = [_twice(f"{named[0]}: shot {k:g}") for k in shots[apart, 1][:LISTED]]
    again = spread.repeats()
    again = again[(np.abs(points[again[:, 0]] - points[again[:, 1]]) > SAME_PLACE).any(axis=1)]
    for row in again[owner[again[:, 0]] >= 0][:LISTED, 0]:
        findings.append(_twice(f"{named[1]}: shot {receivers[row, 1]:g}, channel {receivers[row, 2]:g}"))
    if findings:
        raise GeometryFindings(findings)
    n = len(shots)
    sources = Stations(
        own[0].astype(np.int32),
        own[1] * (PER_POINT // parts),
        np.ones(n, np.int8),
        shots[:, 2:],
        np.full(n, np.nan, np.float32),
        np.arange(n),
        np.zeros(n, np.int16),
    )
    facts = {
        "named": named[0],
        "receivers_named": named[1],
        "files": list(named),
        "formats": ["CSV"],
        "sources": n,
        "receivers": len(receivers),
        "shots": len(keys),
    }
    numbers = np.stack([own[0][first], own[1][first]], axis=1)
    return SurveyGeometry(
        sources, points, spread, numbers, first, by, names, lines or {}, facts, ("E307", "E308")
    )


def _listed_keys(
    table: NDArray[np.float64], names: Names, parts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return line and number of the rows of a table, as of `SurveyGeometry.shots`."""
    line = np.full(len(table), -1, np.int64)
    if np.isfinite(table[:, 0]).all():
        line = names.code(table[:, 0].astype("S32")).astype(np.int64)
    return line, np.rint(table[:, 1] * parts).astype(np.int64)


def _twice(what: str) -> Finding:
    return Finding("E367", "error", f"{what} is given twice at different places", "remove the wrong line")


def _channels(
    streamer: NDArray[np.int32], group: NDArray[np.int32]
) -> tuple[NDArray[np.int64], dict[str, str]]:
    """Return the channel of each receiver group, and the channels of each streamer in words.

    Groups that are numbered through all streamers are channels; groups that start again on every streamer are counted
    on, in the order of the streamers.
    """
    numbers = np.unique(streamer)
    low, high = (np.array([int(f(group[streamer == s])) for s in numbers]) for f in (np.min, np.max))
    order = np.argsort(low, kind="stable")
    through = (low[order][1:] > high[order][:-1]).all()
    shift = np.zeros(len(numbers), np.int64)
    if not through:
        shift[1:] = np.cumsum(high)[:-1]
    channel = group.astype(np.int64) + shift[np.searchsorted(numbers, streamer)]
    said = {str(int(s)): f"{a + d}-{b + d}" for s, a, b, d in zip(numbers, low, high, shift, strict=True)}
    return channel, said
