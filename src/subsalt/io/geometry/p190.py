"""UKOOA P1/90: positions of marine surveys, receiver groups listed under every shot.

Columns (UKOOA Surveying and Positioning Committee, P1/90 Post Plot Data Exchange Format, 1990; type 1 and item 16),
from 1:

=========================  =======================================
position record (S)        columns
=========================  =======================================
line                       2-13
vessel, source, other id   17, 18, 19
point                      20-25
latitude, longitude        26-35, 36-46
easting, northing          47-55, 56-64
water depth                65-70
=========================  =======================================

A receiver group record (R) holds three groups of 26 columns: number (4), easting (9), northing (9), cable depth (4);
the streamer is in column 80. It belongs to the shot before it. The format has no depth of the source.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subsalt.errors import Finding
from subsalt.io.geometry.columns import Cards, Faults, read_cards
from subsalt.io.geometry.headers import MapFacts
from subsalt.io.geometry.parsed import Parsed, ReceiverGroups
from subsalt.io.geometry.stations import PER_POINT, Names, Stations

LINE, POINT, ANGLES, EASTING, NORTHING = (2, 13), (20, 25), (26, 46), (47, 55), (56, 64)
#: first column of each group of a record, and of the fields in it
GROUPS, STREAMER = (2, 28, 54), 80
#: positions of other things: antenna, tail buoy, midpoint, vessel, echo sounder, bin centre, other
OTHERS = b"ATCVEQZ"


def read_p190(path: Path, number: int, names: Names) -> Parsed:
    """Return the sources and receiver groups of a P1/90 file; see `subsalt.io.geometry.sps.read_sps`."""
    facts, faults = MapFacts(str(path), "UKOOA P1/90"), Faults(str(path), "UKOOA P1/90")
    sources: list[Stations] = []
    groups: list[ReceiverGroups] = []
    findings: list[Finding] = []
    count = 0
    for cards in read_cards(path):
        facts.add(cards.of(b"H"))
        first = cards.text[:, 0]
        is_shot = first == ord("S")
        shots = cards.of(b"S")
        if len(shots):
            if not findings and (angles := _angles_alone(shots)):
                findings.append(angles)
            sources.append(_sources(shots, number, names, faults))
        # the shot that each line comes after
        owner = count + np.cumsum(is_shot) - 1
        rows = first == ord("R")
        if rows.any():
            lines = cards.of(b"R")
            for line in lines.number[owner[rows] < 0][:1]:
                faults.add(int(line), "a receiver group record (R) before any source record (S)")
            groups.append(_groups(lines, owner[rows], faults))
        count += int(is_shot.sum())
        known = np.isin(first, np.frombuffer(b"HSR" + OTHERS, np.uint8)) | (cards.text == 32).all(axis=1)
        for row in np.flatnonzero(~known):
            if cards.text[row, :3].tobytes() != b"EOF":
                text = bytes(cards.text[row])
                faults.add_unknown(int(cards.number[row]), text, b"HSR", _unread(chr(first[row])))
    joined = ReceiverGroups.join(groups) if groups else None
    return Parsed(
        facts, Stations.join(sources), Stations.empty(), None, joined, [*findings, *faults.findings()]
    )


def _unread(kind: str) -> str:
    if kind in "GX":
        return (
            f"record identification {kind!r}: positions and relations of a land survey are read from SPS "
            "files, not from P1/90"
        )
    return f"record identification is {kind!r}"


def _angles_alone(shots: Cards) -> Finding | None:
    """Return an error for positions that are latitudes and longitudes alone."""
    if (shots.words(*EASTING) == b"").all() and (shots.words(*ANGLES) != b"").any():
        return Finding(
            "E368",
            "error",
            f"{shots.path} line {shots.number[0]}: positions are latitudes and longitudes, without eastings and "
            "northings (columns 47-64)",
            "project them to metres",
            {"file": shots.path},
        )
    return None


def _sources(cards: Cards, number: int, names: Names, faults: Faults) -> Stations:
    n = len(cards)
    point = cards.numbers(*POINT, faults, "point number")
    if faults.lines or (cards.words(*EASTING) != b"").any():
        xy = [
            cards.numbers(*span, faults, what)
            for span, what in ((EASTING, "easting"), (NORTHING, "northing"))
        ]
    else:
        xy = [np.zeros(n), np.zeros(n)]
    return Stations(
        names.code(cards.words(*LINE)),
        np.rint(np.nan_to_num(point) * PER_POINT).astype(np.int64),
        np.ones(n, np.int8),
        np.stack([*xy, np.full(n, np.nan)], axis=1),
        np.full(n, np.nan, np.float32),
        cards.number,
        np.full(n, number, np.int16),
    )


def _groups(cards: Cards, shot: np.ndarray, faults: Faults) -> ReceiverGroups:
    streamer = np.nan_to_num(cards.numbers(STREAMER, STREAMER, faults, "streamer", 1.0)).astype(np.int32)
    parts: list[tuple[np.ndarray, ...]] = []
    for begin in GROUPS:
        there = cards.words(begin, begin + 3) != b""
        some = Cards(cards.path, cards.text[there], cards.number[there])
        parts.append(
            (
                np.flatnonzero(there),
                some.numbers(begin, begin + 3, faults, "receiver group"),
                some.numbers(begin + 4, begin + 12, faults, "easting of a group"),
                some.numbers(begin + 13, begin + 21, faults, "northing of a group"),
                some.numbers(begin + 22, begin + 25, faults, "cable depth", 0.0),
            )
        )
    row, group, x, y, z = (np.concatenate([p[i] for p in parts]) for i in range(5))
    order = np.argsort(row, kind="stable")
    row = row[order]
    return ReceiverGroups(
        shot[row],
        streamer[row],
        np.nan_to_num(group[order]).astype(np.int32),
        np.stack([x, y, z], axis=1)[order] + 0.0,
        cards.number[row],
    )
