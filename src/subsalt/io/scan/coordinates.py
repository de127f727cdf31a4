"""Coordinates of one file: scalars and units that are odd, and bins and offsets that speak against them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from subsalt.errors import Finding
from subsalt.io.scan.components import component_findings
from subsalt.io.scan.cures import as_angles, offset_ratio, scalar_cure
from subsalt.io.scan.result import warn
from subsalt.io.scan.upright import upright_findings
from subsalt.io.scan.witnesses import EXPLAINED, distances_of_bins, witness_findings
from subsalt.io.scan.word_types import word_type_findings
from subsalt.io.segy.exclude import spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column

#: scalars of the standard, without sign
USUAL_SCALARS = (0, 1, 10, 100, 1000, 10000)


def coordinate_findings(one: ScannedFile, fix: Fix) -> list[Finding]:
    """Return what scalars and units make odd about positions; some traces of a file will do."""
    oddities = list(position_findings(one, fix))
    return [
        *oddities,
        *disagreeing_witnesses(one, fix, oddities, offsets=False),
        *component_findings(one, fix),
    ]


def position_findings(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield what is odd about types, scalars and units of coordinates."""
    types = list(word_type_findings(one))
    yield from types
    # words that are read as the wrong type have neither scalar nor unit
    if not any(f.level == "error" for f in types):
        # nor is a depth in y one coordinate with a scalar of another power
        flat = list(upright_findings(one, fix))
        yield from flat or _scalars(one, fix)
        yield from _units(one, fix)


def geometry_errors(one: ScannedFile, fix: Fix, placed: bool = False) -> list[Finding]:
    """Return the findings of level error that make positions useless; `placed`: those of the headers do not count."""
    units = () if placed else (*word_type_findings(one), *_units(one, fix))
    return [f for f in (*units, *component_findings(one, fix)) if f.level == "error"]


def _offsets_agree(one: ScannedFile) -> bool:
    """Say whether the offsets (byte 37) confirm that coordinates are lengths, whatever byte 89 says."""
    live = one.live
    offset = np.abs(one.positions.offset[live])
    d = one.positions.rcv[live, :2] - one.positions.src[live, :2]
    distance = np.sqrt((d**2).sum(axis=1))
    return bool(offset.any() and np.median(np.abs(distance - offset)) <= 1.0 + 0.02 * offset.max())


def _units(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    lay = one.layout
    units = np.unique(column(one.values, "coordinate_units", lay.n_traces)[one.live])
    angles = [int(v) for v in units if v in (2, 3, 4)]
    # an angle on Earth is at most 180 degrees, 648,000 seconds of arc
    p = one.positions
    largest = max(
        (float(np.abs(a[one.live, :2]).max()) for a in (p.src, p.rcv) if one.live.any()), default=0.0
    )
    lengths = angles and (largest > 648_000 or _offsets_agree(one) or (3 in angles and largest > 360))
    if angles and lengths:
        yield warn(
            "W240",
            f"{lay.path}: coordinates are called angles (byte 89 = {angles[0]}), but offsets or size say "
            "lengths; "
            "they are taken as lengths",
            "[data.bytes] coordinate_units = 0 silences this",
        )
    elif angles and largest > 0:
        yield Finding(
            "E240",
            "error",
            f"{lay.path}: coordinates are angles (byte 89 = {angles[0]}: arc seconds or degrees)",
            "project them to metres first; if they are metres already: [data.bytes] coordinate_units = 0",
        )
    elif not angles and (words := as_angles(one, fix)):
        yield Finding(
            "E240",
            "error",
            f"{lay.path}: coordinates are longitudes and latitudes in {words}, although byte 89 calls them lengths "
            f"({', '.join(str(int(v)) for v in units[:3])}): as such, sources and receivers are as far apart as the "
            "offsets (byte 37) say; as lengths, a fifth of that at most",
            "project them to metres first; if they are metres and the offsets wrong: [data.bytes] offset = 0",
            {"angles": words},
        )
    if lay.kind == "segy" and lay.measurement == 2 and fix.unit is None:
        yield warn(
            "W241",
            f"{lay.path}: measurement system (byte 3255) is feet; positions are converted to metres",
            'if they are metres already: [data.fix] unit = "m"; unit = "ft" silences this',
        )


def disagreeing_witnesses(
    one: ScannedFile, fix: Fix, oddities: Sequence[Finding], offsets: bool = True
) -> Iterator[Finding]:
    """Yield what bins and offsets say against the coordinates: an exchange of x and y explains all else.

    `oddities` are the file's `position_findings`: coordinates that are angles, or of another type, are no lengths.
    """
    if any(f.code in ("E240", "E381") for f in oddities):
        return
    exchanges = list(_bins(one, fix))
    yield from exchanges or witness_findings(one, fix, offsets)


def _bins(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield a warning when the positions of bins are midpoints only after x and y of stations are exchanged."""
    lay, off = one.layout, distances_of_bins(one, fix)
    now = off.get((), 0.0)
    for ends in (("source", "receiver"), ("receiver",), ("source",)):
        # bins are wide, and lines crooked: an exchange that explains them leaves a small part of the misfit
        if off and off[ends] <= EXPLAINED * now:
            names = [
                (f"{end}_{a}", getattr(one.header, f"{end}_{b}")) for end in ends for a, b in ("xy", "yx")
            ]
            yield warn(
                "W381",
                f"{lay.path}: midpoints lie {now:,.1f} m from the positions of their bins (bytes {one.header.cdp_x}, "
                f"{one.header.cdp_y}; median), with x and y of {' and '.join(f'{e}s' for e in ends)} exchanged "
                f"{off[ends]:,.1f} m",
                f"if stations are wrong: [data] bytes = {{{', '.join(f'{n} = {byte}' for n, byte in names)}}}; if the "
                f"bins are: [data] bytes = {{cdp_x = {one.header.cdp_y}, cdp_y = {one.header.cdp_x}}}",
                off_m=now,
                ends=list(ends),
            )
            return


def _scalars(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    lay, values = one.layout, one.values
    has_xy = any(
        column(values, n, lay.n_traces).any() for n in ("source_x", "source_y", "receiver_x", "receiver_y")
    )
    for byte, name, given, used in (
        (71, "coordinate_scalar", fix.scalar, has_xy),
        (69, "elevation_scalar", fix.elevation_scalar, True),
    ):
        if given is not None or not used or name not in values:
            continue
        seen = [int(v) for v in np.unique(values[name][one.live])]
        key = "scalar" if byte == 71 else "elevation_scalar"
        ratio = offset_ratio(one) if byte == 71 else None
        agree = ratio is not None and abs(ratio - 1) < 0.02
        tried = scalar_cure([one], fix) if byte == 71 and not agree else ""
        odd = [v for v in seen if abs(v) not in USUAL_SCALARS]
        if odd:
            yield warn(
                "W220",
                f"{lay.path}: scalar (byte {byte}) is {odd[0]}, which the standard does not know",
                tried or f"[data.fix] {key} = 1, or -10, -100 ... (negative divides)",
                values=odd[:20],
            )
        elif len(seen) > 1:
            yield warn(
                "W221",
                f"{lay.path}: scalar (byte {byte}) varies within the file: {', '.join(map(str, seen[:6]))}"
                + (f"; {_minority(one, name)}" if byte == 71 else ""),
                f"each trace's own is applied{'; if they should agree: ' + tried if tried else ''}",
                values=seen[:20],
            )
        elif seen == [0] and byte == 71 and not agree:
            yield warn(
                "W222",
                f"{lay.path}: scalar (byte 71) is 0 although coordinates are set; it counts as 1",
                tried or "if coordinates are in decimetres or centimetres: [data.fix] scalar = -10 or -100",
            )


def _minority(one: ScannedFile, name: str) -> str:
    """Return which traces have another value than most."""
    values = column(one.values, name, one.layout.n_traces)
    live = np.flatnonzero(one.live)
    distinct, counts = np.unique(values[live], return_counts=True)
    rows = live[values[live] != distinct[np.argmax(counts)]]
    return f"{len(rows)} traces have another than most: {spans((rows + 1).tolist())}"
