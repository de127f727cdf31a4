"""SPS, Shell Processing Support: point records of sources (S) and receivers (R), relation records (X).

Columns of revision 2.1 (SEG Technical Standards Committee, Shell Processing Support Format for Land 3-D Surveys, rev
2.1, January 2006) and of the first one (rev 0, 1993), from 1:

===================  ==============  ==============
point record         rev 2.1         rev 0
===================  ==============  ==============
line                 2-11 F10.2      2-17 A16
point                12-21 F10.2     18-25
point index          24              26
point code           25-26           27-28
static correction    27-30 ms        29-32 ms
point depth          31-34           33-36
easting              47-55           47-55
northing             56-65           56-65
elevation            66-71           66-71
===================  ==============  ==============

===================  ==============  ==============
relation record      rev 2.1         rev 0
===================  ==============  ==============
field tape           2-7             2-7
field record         8-15            8-11
source line          18-27 F10.2     14-29 A16
source point         28-37 F10.2     30-37
point index          38              38
from, to channel     39-43, 44-48    39-42, 43-46
channel increment    49              47
receiver line        50-59 F10.2     48-63 A16
from, to receiver    60-69, 70-79    64-71, 72-79
receiver index       80              80
===================  ==============  ==============

A point lies at z = point depth - elevation: the elevation is that of the surface, the depth counts downward from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.io.geometry.columns import Cards, Faults, read_cards
from subsalt.io.geometry.headers import MapFacts
from subsalt.io.geometry.parsed import Parsed
from subsalt.io.geometry.spreads import Relations
from subsalt.io.geometry.stations import PER_POINT, Names, Stations

Span = tuple[int, int]


@dataclass(frozen=True)
class SpsColumns:
    """Columns of the fields that differ between revisions."""

    name: str
    line: Span
    point: Span
    index: Span
    static: Span
    depth: Span
    record: Span
    source_line: Span
    source_point: Span
    first: Span
    last: Span
    step: Span
    receiver_line: Span
    from_point: Span
    to_point: Span


REV21 = SpsColumns(
    "SPS rev 2.1",
    line=(2, 11),
    point=(12, 21),
    index=(24, 24),
    static=(27, 30),
    depth=(31, 34),
    record=(8, 15),
    source_line=(18, 27),
    source_point=(28, 37),
    first=(39, 43),
    last=(44, 48),
    step=(49, 49),
    receiver_line=(50, 59),
    from_point=(60, 69),
    to_point=(70, 79),
)
REV0 = SpsColumns(
    "SPS rev 0",
    line=(2, 17),
    point=(18, 25),
    index=(26, 26),
    static=(29, 32),
    depth=(33, 36),
    record=(8, 11),
    source_line=(14, 29),
    source_point=(30, 37),
    first=(39, 42),
    last=(43, 46),
    step=(47, 47),
    receiver_line=(48, 63),
    from_point=(64, 71),
    to_point=(72, 79),
)
#: columns that have the same place in both
EASTING, NORTHING, ELEVATION, SOURCE_INDEX, RECEIVER_INDEX, TAPE = (
    (47, 55),
    (56, 65),
    (66, 71),
    (38, 38),
    (80, 80),
    (2, 7),
)


def read_sps(path: Path, number: int, names: Names) -> Parsed:
    """Return the points and relations of an SPS file, whichever of S, R and X it holds.

    Parameters
    ----------
    path : Path
        The file.
    number : int
        Which of the files it is.
    names : Names
        Numbers of the names of lines; gets those of the file.
    """
    facts = MapFacts(str(path))
    sources: list[Stations] = []
    receivers: list[Stations] = []
    relations: list[Relations] = []
    layout: SpsColumns | None = None
    faults = Faults(str(path), "SPS")
    for cards in read_cards(path):
        facts.add(cards.of(b"H"))
        _unknown(cards, faults)
        records = cards.of(b"SRX")
        if not len(records):
            continue
        if layout is None:
            layout = _layout(records)
            faults.kind = layout.name
        for kind, table in ((b"S", sources), (b"R", receivers)):
            if len(some := records.of(kind)):
                table.append(_points(some, layout, number, names, faults))
        if len(some := records.of(b"X")):
            relations.append(_relations(some, layout, number, names, faults))
    facts.format = layout.name if layout else "SPS"
    return Parsed(
        facts,
        Stations.join(sources),
        Stations.join(receivers),
        Relations.join(relations) if relations else None,
        None,
        list(faults.findings()),
    )


def _unknown(cards: Cards, faults: Faults) -> None:
    """Note lines that are no record: a file that was cut or joined with another is not read in part."""
    first = cards.text[:, 0]
    known = np.isin(first, np.frombuffer(b"HSRXE", np.uint8)) | (cards.text == 32).all(axis=1)
    for row in np.flatnonzero(~known):
        what = f"record identification is {chr(first[row])!r}, not H, S, R or X"
        faults.add_unknown(int(cards.number[row]), bytes(cards.text[row]), b"HSRX", what)


def _layout(records: Cards) -> SpsColumns:
    """Return the revision in whose columns more records have their numbers; names of lines may be any text."""
    some = Cards(records.path, records.text[:100], records.number[:100])
    relation = some.text[:, 0] == ord("X")
    points, relations = (Cards(some.path, some.text[r], some.number[r]) for r in (~relation, relation))
    return max((REV21, REV0), key=lambda layout: _fit(points, relations, layout))


def _fit(points: Cards, relations: Cards, layout: SpsColumns) -> int:
    """Return how many records have numbers where a layout has points, indices, field records and channels."""
    odd = Faults(points.path, "")
    for cards, spans in (
        (points, (layout.point, layout.index)),
        (relations, (layout.record, layout.source_point, layout.first, layout.last, layout.to_point)),
    ):
        for span in spans:
            cards.numbers(*span, odd, "", 1.0 if span == layout.index else None)
    if layout is REV21:  # blank here; in rev 0 part of the point
        for row in np.flatnonzero(points.words(22, 23) != b""):
            odd.add(int(points.number[row]), "")
    return len(points) + len(relations) - len(odd.lines)


def _points(cards: Cards, layout: SpsColumns, number: int, names: Names, faults: Faults) -> Stations:
    n = len(cards)
    easting, northing = (
        cards.numbers(*span, faults, what) for span, what in ((EASTING, "easting"), (NORTHING, "northing"))
    )
    elevation = cards.numbers(*ELEVATION, faults, "elevation", 0.0)
    depth = cards.numbers(*layout.depth, faults, "point depth", 0.0)
    static = cards.numbers(*layout.static, faults, "static correction", np.nan)
    return Stations(
        names.code(cards.words(*layout.line)),
        _point(cards.numbers(*layout.point, faults, "point number")),
        _small(cards.numbers(*layout.index, faults, "point index", 1.0)),
        np.stack([easting, northing, depth - elevation], axis=1) + 0.0,
        (static / 1000.0).astype(np.float32),
        cards.number,
        np.full(n, number, np.int16),
    )


def _relations(cards: Cards, layout: SpsColumns, number: int, names: Names, faults: Faults) -> Relations:
    def whole(span: Span, what: str, default: float | None = None) -> NDArray[np.int64]:
        return _whole(cards.numbers(*span, faults, what, default))

    return Relations(
        whole(layout.record, "field record"),
        cards.words(*TAPE),
        names.code(cards.words(*layout.source_line)),
        _point(cards.numbers(*layout.source_point, faults, "source point")),
        _small(cards.numbers(*SOURCE_INDEX, faults, "point index", 1.0)),
        whole(layout.first, "from channel"),
        whole(layout.last, "to channel"),
        whole(layout.step, "channel increment", 1.0),
        names.code(cards.words(*layout.receiver_line)),
        _point(cards.numbers(*layout.from_point, faults, "from receiver")),
        _point(cards.numbers(*layout.to_point, faults, "to receiver")),
        _small(cards.numbers(*RECEIVER_INDEX, faults, "receiver index", 1.0)),
        cards.number,
        np.full(len(cards), number, np.int16),
    )


def _point(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(np.nan_to_num(values) * PER_POINT).astype(np.int64)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.nan_to_num(values).astype(np.int64)


def _small(values: NDArray[np.float64]) -> NDArray[np.int8]:
    return np.nan_to_num(values, nan=1.0).astype(np.int8)
