"""OGP P1/11: positions as comma-separated records, receivers listed under every shot.

Fields (IOGP report 483-1, OGP P1/11 Geophysical position data exchange format, versions 1.0 and 1.1), from 1. Source
records (S1): 3 line, 5 point, 10 object, 13 to 15 the position. Receiver records (R1): 3 line, 5 point of the shot, 10
streamer, and from field 12 on groups of equal length: receiver number, then its position of two coordinates, of three,
or of three and further attributes. Header records: HC,1,3,0 the reference systems with their EPSG codes; HC,1,6,1 their
axes in the order in which positions have them, with direction and unit.

Relation records (X1) are not read: relations are taken from SPS files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from subsalt.errors import Finding
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.geometry.columns import LONGEST, PIECE, Faults, no_text, text_begins
from subsalt.io.geometry.headers import FOOT, SURVEY_FOOT, MapFacts
from subsalt.io.geometry.parsed import Parsed, ReceiverGroups
from subsalt.io.geometry.stations import PER_POINT, Names, Stations
from subsalt.io.input_file import InputFile

#: fields, from 0
LINE, POINT, OBJECT, POSITION, RECEIVERS = 2, 4, 9, 12, 11
#: numbers of fields that a receiver may have: its number, two coordinates, a third, attributes
WIDTHS = (3, 4, 5, 6, 7, 8)
#: records of any kind begin so; those of other kinds, such as N1 or P1, say nothing of sources and receivers
RECORD = re.compile(r"(I?OGP|[A-Z][A-Z0-9]),", re.IGNORECASE)
_UNITS = {
    "m": 1.0,
    "metre": 1.0,
    "meter": 1.0,
    "ft": FOOT,
    "foot": FOOT,
    "ftus": SURVEY_FOOT,
    "us survey foot": SURVEY_FOOT,
}


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers; a piece of the file is held at one time."""
    with InputFile(path) as file:
        at, number, rest = text_begins(file), 0, b""
        while at < file.size:
            piece = np.empty(min(PIECE, file.size - at), np.uint8)
            file.read_into(at, raw_bytes(piece))
            at += len(piece)
            *lines, rest = (rest + piece.tobytes()).split(b"\n")
            if len(rest) > LONGEST:
                raise no_text(path)
            for line in lines if at < file.size else [*lines, rest]:
                number += 1
                yield number, line.decode("latin-1").strip("\r ")


@dataclass
class _Axes:
    """Axes of the reference systems: (number of the system, place) -> name, direction, unit, line."""

    said: dict[tuple[str, int], tuple[str, str, str, int]] = field(default_factory=dict)

    def add(self, f: list[str], line: int) -> None:
        """Take a record HC,1,6,1: number of the system, place of the axis, code, name, direction, symbol, unit."""
        if len(f) > 12 and f[6].isdigit():
            self.said[f[5], int(f[6])] = (f[8].lower(), f[9].lower(), f[12].lower(), line)

    def settle(self, path: str, facts: MapFacts) -> tuple[bool, float, Iterator[Finding]]:
        """Return whether northings come first, the sign that makes the third coordinate a depth, and what is wrong."""
        orders: dict[str, list[tuple[int, str, int]]] = {}
        units: dict[str, int] = {}
        up = down = False
        for (system, place), (name, direction, unit, line) in sorted(self.said.items()):
            if "easting" in name or "northing" in name:
                orders.setdefault(system, []).append((place, name, line))
                units.setdefault(unit, line)
            up |= direction == "up" or "height" in name
            down |= direction == "down" or "depth" in name
        first = {axes[0][1][:5]: axes[0][2] for axes in orders.values()}
        findings: list[Finding] = []
        if len(first) > 1 or len(units) > 1:
            findings.append(
                Finding(
                    "E368",
                    "error",
                    f"{path}: projected reference systems differ in order of axes or in units (HC,1,6,1): "
                    + ", ".join(f"{w!r} line {n}" for w, n in [*first.items(), *units.items()]),
                    "write the file in one reference system",
                    {"file": path},
                )
            )
        for unit, line in units.items():
            facts.say("unit", unit, line)
            if unit in _UNITS:
                facts.factor = _UNITS[unit]
        return "north" in first and len(first) == 1, -1.0 if up and not down else 1.0, iter(findings)


def read_p111(path: Path, number: int, names: Names) -> Parsed:
    """Return the sources and receivers of a P1/11 file; see `subsalt.io.geometry.sps.read_sps`."""
    facts, faults, axes = MapFacts(str(path), "OGP P1/11"), Faults(str(path), "OGP P1/11"), _Axes()
    shots: list[tuple[str, float, float, float, float, int]] = []
    at: dict[tuple[str, str], int] = {}
    groups: list[np.ndarray] = []
    owners: list[tuple[int, int, int, int]] = []
    streamers: dict[str, int] = {}
    width = 0
    for line, text in lines_of(path):
        f = [part.strip() for part in text.split(",")]
        kind = f[0].upper()
        if kind == "HC":
            if f[1:4] == ["1", "6", "1"]:
                axes.add(f, line)
            elif f[1:4] == ["1", "3", "0"] and len(f) > 7 and f[6].isdigit() and "/" in f[7]:
                facts.say("projection", f"{f[7]} (EPSG {f[6]})", line)
        elif kind == "S1":
            try:
                z = float(f[14]) if len(f) > 14 and f[14] else np.nan
                shots.append((f[LINE], float(f[POINT]), float(f[POSITION]), float(f[POSITION + 1]), z, line))
                at[f[LINE], f[POINT]] = len(shots) - 1
            except (ValueError, IndexError):
                faults.add(
                    line, "line, point and position (fields 3, 5, 13 to 15) of the source are no numbers"
                )
        elif kind == "R1":
            shot = at.get((f[LINE], f[POINT])) if len(f) > RECEIVERS else None
            if shot is None:
                faults.add(
                    line,
                    f"receivers of line {f[2:3]}, point {f[4:5]}, which has no source record (S1) before",
                )
                continue
            if not (width := width or _width(f[RECEIVERS:])):
                faults.add(line, "receivers (from field 12) are not number, coordinate, coordinate, ...")
                continue
            values = _receivers(f[RECEIVERS:], width)
            if values is None:
                faults.add(
                    line,
                    f"receivers (from field 12) are not groups of {width} fields, as in the records before",
                )
                continue
            groups.append(values)
            owners.append((shot, streamers.setdefault(f[OBJECT], len(streamers) + 1), line, len(values)))
        elif kind == "X1":
            faults.add(line, "relation record (X1); relations are read from SPS files")
        elif text and not RECORD.match(text):
            faults.add(line, f"no record of P1/11: {text[:24]!r}")
    northing_first, sign, odd = axes.settle(str(path), facts)
    table = np.array([s[1:] for s in shots], np.float64).reshape(-1, 5)
    xyz, own = table[:, 1:4], joined_groups(groups)
    if northing_first:
        xyz = xyz[:, [1, 0, 2]]
        own[:, 1:3] = own[:, [2, 1]]
    xyz[:, 2] *= sign
    own[:, 3] *= sign
    sources = Stations(
        names.code(np.array([s[0].encode("latin-1") for s in shots], np.bytes_)),
        np.rint(table[:, 0] * PER_POINT).astype(np.int64),
        np.ones(len(shots), np.int8),
        xyz,
        np.full(len(shots), np.nan, np.float32),
        table[:, 4].astype(np.int64),
        np.full(len(shots), number, np.int16),
    )
    owner = np.repeat(
        np.array([o[:3] for o in owners], np.int64).reshape(-1, 3), [o[3] for o in owners], axis=0
    )
    joined = ReceiverGroups(
        owner[:, 0], owner[:, 1].astype(np.int32), own[:, 0].astype(np.int32), own[:, 1:], owner[:, 2]
    )
    return Parsed(facts, sources, Stations.empty(), None, joined, [*odd, *faults.findings()])


def joined_groups(groups: list[np.ndarray]) -> np.ndarray:
    """Return receivers as one array, (n, 4)."""
    return np.concatenate([np.empty((0, 4)), *groups])


def _width(fields: list[str]) -> int:
    """Return how many fields a receiver has: the fewest that put whole numbers in its place in every group."""
    for some in (fields, _stripped(fields)):
        for width in WIDTHS:
            if some and len(some) % width == 0 and _receivers(some, width) is not None:
                return width
    return 0


def _stripped(fields: list[str]) -> list[str]:
    """Return fields without empty ones at the end."""
    n = len(fields)
    while n and not fields[n - 1]:
        n -= 1
    return fields[:n]


def _receivers(fields: list[str], width: int) -> np.ndarray | None:
    """Return number and position of receivers, (n, 4), z 0 where there is none; None when the fields are otherwise."""
    if len(fields) % width:
        fields = _stripped(fields)
    if len(fields) % width or not all(n.isdigit() for n in fields[::width]):
        return None
    try:
        columns = [[float(v) for v in fields[i::width]] for i in range(3)]
        z = [float(v) if v else 0.0 for v in fields[3::width]] if width > 3 else [0.0] * len(columns[0])
    except ValueError:
        return None
    return np.array([*columns, z]).T
