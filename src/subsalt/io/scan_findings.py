"""The oddities `scan` reports: one rule per function, each with evidence and cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from subsalt.errors import Finding
from subsalt.io.file_layout import FileLayout
from subsalt.io.geometry import column
from subsalt.io.headers import Fix
from subsalt.io.shots import SAME_PLACE, shot_table
from subsalt.io.statistics import SampleStatistics

if TYPE_CHECKING:
    from subsalt.io.scan import ScannedFile, ScanResult

#: m; ten times the longest streamers and lines
_LONGEST_OFFSET = 200_000.0
_USUAL_SCALARS = (0, 1, 10, 100, 1000, 10000)


def _warn(code: str, message: str, fix: str = "", **evidence: object) -> Finding:
    return Finding(code, "warning", message, fix, dict(evidence))


def file_findings(one: ScannedFile, statistics: SampleStatistics, fix: Fix) -> list[Finding]:
    """Return what is odd about one file."""
    found: list[Finding] = []
    for rule in (_scalars, _trace_kinds, _units, _delays, _elevations):
        found += rule(one, fix)
    found += sample_findings(one.layout, statistics, fix)
    return found


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
        odd = [v for v in seen if abs(v) not in _USUAL_SCALARS]
        if odd:
            yield _warn(
                "W220",
                f"{lay.path}: scalar (byte {byte}) is {odd[0]}, which the standard does not know",
                f"[data.fix] {key} = 1, or -10, -100 ... (negative divides)",
                values=odd[:20],
            )
        elif len(seen) > 1:
            yield _warn(
                "W221",
                f"{lay.path}: scalar (byte {byte}) varies within the file: {', '.join(map(str, seen[:6]))}",
                f"each trace's own is applied; if they should agree: [data.fix] {key} = {seen[0]}",
                values=seen[:20],
            )
        elif seen == [0] and byte == 71:
            yield _warn(
                "W222",
                f"{lay.path}: scalar (byte 71) is 0 although coordinates are set; it counts as 1",
                "if coordinates are in decimetres or centimetres: [data.fix] scalar = -10 or -100",
            )


def _trace_kinds(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    dead, aux = int(one.dead.sum()), int(one.auxiliary.sum())
    if dead:
        cure = "kept as zeros" if fix.dead == "zero" else "skipped"
        yield _warn("W230", f"{one.layout.path}: {dead} dead traces (trace id 2) -> {cure}", count=dead)
    if aux:
        kinds = sorted(
            {int(v) for v in np.unique(column(one.values, "trace_id", one.layout.n_traces)[one.auxiliary])}
        )
        yield _warn(
            "W231",
            f"{one.layout.path}: {aux} of {one.layout.n_traces} traces are auxiliary (trace id "
            f"{', '.join(map(str, kinds[:6]))}) -> skipped",
            "if they are seismic traces: [data.fix] all_traces = true",
            count=aux,
            kinds=kinds[:50],
        )


def coordinate_findings(one: ScannedFile, fix: Fix) -> list[Finding]:
    """Return what scalars and units make odd about positions; some traces of a file will do."""
    return [*_scalars(one, fix), *_units(one, fix)]


def geometry_errors(one: ScannedFile, fix: Fix) -> list[Finding]:
    """Return the findings of level error that make positions useless."""
    return [f for f in _units(one, fix) if f.level == "error"]


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
        yield _warn(
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
    if lay.kind == "segy" and lay.measurement == 2 and fix.unit is None:
        yield _warn(
            "W241",
            f"{lay.path}: measurement system (byte 3255) is feet; positions are converted to metres",
            'if they are metres already: [data.fix] unit = "m"; unit = "ft" silences this',
        )


def _delays(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    delay = one.positions.delay
    low, high = float(delay.min()), float(delay.max())
    if fix.delay is None and (low or high):
        span = f"{low * 1e3:g}" if low == high else f"{low * 1e3:g} .. {high * 1e3:g}"
        yield _warn(
            "W232",
            f"{one.layout.path}: first samples lie at {span} ms (delay, byte 109); this is applied",
            "if the traces start at the shot: [data.fix] delay = 0",
            delay_s=[low, high],
        )


def _elevations(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    lay = one.layout
    live = one.live
    if not live.any():
        return
    src, rcv = one.positions.src[live], one.positions.rcv[live]
    elevation = column(one.values, "receiver_elevation", lay.n_traces)[live]
    depth = column(one.values, "source_depth", lay.n_traces)[live]
    if (depth < 0).any() and fix.source_depth is None:
        yield _warn(
            "W242",
            f"{lay.path}: source depths (byte 49) reach {src[:, 2].min():g} m; they count downward and "
            "should be positive",
            "give the depth: [data.fix] source_depth = ...",
        )
    # elevations up at sea: a receiver above the source's surface by as much as cables lie below
    surface = column(one.values, "source_elevation", lay.n_traces)[live]
    # on land both lie on one surface; two constant levels, or none for the source, are depths
    apart = np.ptp(elevation) == 0 and np.ptp(surface) == 0 and surface[0] != elevation[0]
    same = (elevation > 0).all() and (not surface.any() or apart)
    if same and fix.z_sign == 1 and fix.receiver_depth is None:
        yield _warn(
            "W243",
            f"{lay.path}: receivers lie above z = 0 (elevation, byte 41, positive: z {rcv[:, 2].min():g} .. "
            f"{rcv[:, 2].max():g} m) and apart from the sources ({src[:, 2].min():g} m)",
            "if byte 41 holds depths: [data.fix] z_sign = -1; or receiver_depth = ...",
        )


def sample_findings(layout: FileLayout, s: SampleStatistics, fix: Fix) -> Iterator[Finding]:
    """Yield what is odd about the samples of a file."""
    path = layout.path
    of = "" if s.complete else f" in {s.traces} sampled traces"
    first = f", the first in trace {s.first_not_finite}" if s.first_not_finite else ""
    if s.not_finite and fix.nan == "zero":
        yield _warn(
            "W250",
            f"{path}: {s.not_finite} samples{of} are not finite{first} -> set to zero",
            count=s.not_finite,
        )
    elif s.not_finite:
        yield Finding(
            "E250",
            "error",
            f"{path}: {s.not_finite} samples{of} are not finite{first}",
            'correct the data, set the right [data.fix] format, or [data] bad_traces = "zero"',
            {"count": s.not_finite},
        )
    if s.suspicion and fix.format is None and fix.endian is None:
        yield _warn(
            "W251", f"{path}: {s.suspicion}", f"[data.fix] {s.remedy}; if the headers are right, ignore it"
        )
    elif max(abs(s.minimum), abs(s.maximum)) > 1e30:
        yield _warn(
            "W252",
            f"{path}: amplitudes reach {max(abs(s.minimum), abs(s.maximum)):.3g}",
            "check [data.fix] format",
        )
    if s.zero_traces:
        yield _warn("W233", f"{path}: {s.zero_traces} traces{of} are all zero", count=s.zero_traces)
    if s.constant_traces and layout.ns > 1:
        yield _warn("W234", f"{path}: {s.constant_traces} traces{of} are constant", count=s.constant_traces)


def said_once(findings: list[Finding], paths: Iterable[str]) -> list[Finding]:
    """Return findings in which what holds for many files is said once, of the first of them.

    Findings of different files belong together when they have one code and one cure.
    """
    names = set(paths)
    first: dict[tuple[str, str], Finding] = {}
    more: dict[tuple[str, str], list[str]] = {}
    out: list[Finding] = []
    for f in findings:
        name = str(f.evidence.get("file") or f.message.partition(": ")[0])
        key = (f.code, f.fix)
        if name not in names or key not in first:
            out.append(f)
            if name in names:
                first[key], more[key] = f, []
        else:
            more[key].append(name)
    for i, f in enumerate(out):
        others = more.get((f.code, f.fix), [])
        if others and first[f.code, f.fix] is f:
            files = "1 more file" if len(others) == 1 else f"{len(others)} more files"
            out[i] = replace(
                f,
                message=f"{f.message} (and {files} alike)",
                evidence={**f.evidence, "more_files": others[:50]},
            )
    return out


def set_findings(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> list[Finding]:
    """Return what is odd about the files together."""
    found: list[Finding] = []
    for rule in (_between_files, _shots, _offsets, _missing):
        found += rule(result, scanned, fix)
    return found


def _between_files(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    for name, code in (("ns", "E260"), ("dt", "E261")):
        seen = sorted({getattr(s.layout, name) for s in scanned})
        if len(seen) > 1:
            what = "samples per trace" if name == "ns" else "sample interval (s)"
            yield Finding(
                code,
                "error",
                f"{what} differs between files: {', '.join(f'{v:g}' for v in seen[:6])}",
                "migrate the files apart, or bring them to one time axis first",
                {"values": seen[:50]},
            )
    scalars = [
        {int(v) for v in np.unique(column(s.values, "coordinate_scalar", s.layout.n_traces)[s.live])}
        for s in scanned
    ]
    plain = [next(iter(s)) for s in scalars if len(s) == 1]
    if fix.scalar is None and len(set(plain)) > 1:
        usual = max(set(plain), key=plain.count)
        for s, values in zip(scanned, scalars, strict=True):
            if len(values) == 1 and usual not in values:
                middle = float(np.abs(s.positions.src[:, :2]).max())
                yield _warn(
                    "W223",
                    f"{s.layout.path}: scalar (byte 71) is {next(iter(values))}, {usual} in other files; "
                    f"its sources reach {middle:,.0f} m",
                    f"if it is forgotten there: [data.fix] scalar = {usual}",
                )


def _shots(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not result.has_sources or result.kind != "shots":
        return
    ffid = np.concatenate([column(s.values, "ffid", s.layout.n_traces)[s.live] for s in scanned])
    src = np.concatenate([s.positions.src[s.live] for s in scanned])
    table = shot_table(ffid, src, "ffid")
    rcv = np.concatenate([s.positions.rcv[s.live] for s in scanned])
    if (
        table.spread > SAME_PLACE
        and len(table.ids) > 1
        and shot_table(ffid, rcv, "ffid").spread <= SAME_PLACE
    ):
        yield _warn(
            "W224",
            f"each of {len(table.ids)} field records (byte 9) has one receiver and sources up to {table.spread:,.1f} "
            "m apart: "
            "sources and receivers are exchanged in the headers, or these are receiver gathers",
            "if they are exchanged: [data.bytes] source_x = 81, source_y = 85, receiver_x = 73, receiver_y = 77; "
            "receiver "
            "gathers are taken by source position as they are",
            spread_m=table.spread,
        )
    elif table.spread > SAME_PLACE:
        yield _warn(
            "W224",
            f"field record numbers (byte 9) repeat: one number stands for sources up to {table.spread:,.1f} "
            "m apart; "
            f"source positions tell {result.n_shots} shots apart",
            'if the numbers are right: [data] shot_key = "ffid"',
            spread_m=table.spread,
        )


def _offsets(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not (result.has_sources and result.has_receivers):
        return
    if result.offsets[1] > _LONGEST_OFFSET:
        yield _warn(
            "W227",
            f"offsets reach {result.offsets[1]:,.0f} m; no survey is that long",
            "check the scalar: [data.fix] scalar = -100 or -1000, and the coordinate bytes",
            largest_m=result.offsets[1],
        )
    for s in scanned:
        live = s.live
        said = np.abs(s.positions.offset[live])
        d = s.positions.rcv[live, :2] - s.positions.src[live, :2]
        distance = np.sqrt((d**2).sum(axis=1))
        use = (said > 0) & (distance > 0)
        # many writers leave 0 or 1 in byte 37: only values that vary are meant
        if use.sum() < 0.5 * live.sum() or np.ptp(said[use]) == 0:
            continue
        ratio = float(np.median(said[use] / distance[use]))
        if not 0.8 <= ratio <= 1.25:
            yield _warn(
                "W226",
                f"{s.layout.path}: offsets (byte 37) are {ratio:.3g} times the distances of the coordinates "
                "(median)",
                "check the scalar (byte 71) and the coordinate bytes; a power of ten is a scalar",
                ratio=ratio,
            )


def _missing(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not result.has_receivers and not result.has_sources and result.kind == "shots":
        yield _warn(
            "W225",
            "source and receiver coordinates (bytes 73, 77, 81, 85) are all zero",
            "say where they are: [data.bytes] ..., or give the geometry in a CSV; a time migration places a 2-D line "
            "by [data] cdp_line; scan alone needs none",
        )
