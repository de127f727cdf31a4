"""The oddities `scan` reports: one rule per function, each with evidence and cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.cures import (
    as_angles,
    cure,
    delay_findings,
    depth_findings,
    likely_scalar,
    near,
    odd_depths,
    offset_ratio,
    scalar_cure,
)
from subsalt.io.scan.result import ScanResult
from subsalt.io.scan.statistics import SampleStatistics
from subsalt.io.scan.traces import TraceSet, in_two_zones, records_of_receivers, trace_rules
from subsalt.io.scan.upright import upright, upright_findings
from subsalt.io.scan.witnesses import EXPLAINED, distances_of_bins, witness_findings
from subsalt.io.scan.word_types import word_type_findings
from subsalt.io.segy.exclude import short_names, spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import FOOT, LIVE, PRESSURE, SENSORS, VERTICAL, ScannedFile, column
from subsalt.io.segy.headers import FileLayout
from subsalt.io.segy.shot_table import SAME_PLACE, shot_table

#: m; ten times the longest streamers and lines
_LONGEST_OFFSET = 200_000.0
_USUAL_SCALARS = (0, 1, 10, 100, 1000, 10000)


def _warn(code: str, message: str, fix: str = "", **evidence: object) -> Finding:
    return Finding(code, "warning", message, fix, dict(evidence))


def file_findings(one: ScannedFile, statistics: SampleStatistics, fix: Fix) -> list[Finding]:
    """Return what is odd about one file."""
    found: list[Finding] = []
    for rule in (_coordinates, _trace_kinds, _components, _witnesses, _delays, _elevations):
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
        ratio = offset_ratio(one) if byte == 71 else None
        agree = ratio is not None and abs(ratio - 1) < 0.02
        tried = scalar_cure([one], fix) if byte == 71 and not agree else ""
        odd = [v for v in seen if abs(v) not in _USUAL_SCALARS]
        if odd:
            yield _warn(
                "W220",
                f"{lay.path}: scalar (byte {byte}) is {odd[0]}, which the standard does not know",
                tried or f"[data.fix] {key} = 1, or -10, -100 ... (negative divides)",
                values=odd[:20],
            )
        elif len(seen) > 1:
            yield _warn(
                "W221",
                f"{lay.path}: scalar (byte {byte}) varies within the file: {', '.join(map(str, seen[:6]))}"
                + (f"; {_minority(one, name)}" if byte == 71 else ""),
                f"each trace's own is applied{'; if they should agree: ' + tried if tried else ''}",
                values=seen[:20],
            )
        elif seen == [0] and byte == 71 and not agree:
            yield _warn(
                "W222",
                f"{lay.path}: scalar (byte 71) is 0 although coordinates are set; it counts as 1",
                tried or "if coordinates are in decimetres or centimetres: [data.fix] scalar = -10 or -100",
            )


def _minority(one: ScannedFile, name: str) -> str:
    """Return which traces have another value than most."""
    values = column(one.values, name, one.layout.n_traces)
    live = np.flatnonzero(one.live)
    found, counts = np.unique(values[live], return_counts=True)
    rows = live[values[live] != found[np.argmax(counts)]]
    return f"{len(rows)} traces have another than most: {spans((rows + 1).tolist())}"


def _trace_kinds(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    dead, aux = int(one.dead.sum()), int(one.auxiliary.sum())
    kinds = column(one.values, "trace_id", one.layout.n_traces)
    n = one.layout.n_traces
    if dead:
        cure = "kept as zeros" if fix.dead == "zero" else "skipped"
        where = spans((np.flatnonzero(one.dead) + 1).tolist())
        yield _warn(
            "W230",
            f"{one.layout.path}: {dead} dead traces (trace id 2) -> {cure}: traces {where}",
            count=dead,
        )
    if aux and fix.trace_ids is None:
        found = sorted({int(v) for v in np.unique(kinds[one.auxiliary])})
        where = spans((np.flatnonzero(one.auxiliary) + 1).tolist())
        yield _warn(
            "W231",
            f"{one.layout.path}: {aux} of {n} traces are auxiliary (trace id {', '.join(map(str, found[:6]))}) -> "
            f"skipped: traces {where}",
            "if they are seismic traces: [data.fix] all_traces = true",
            count=aux,
            kinds=found[:50],
        )
    if one.excluded.any():
        yield Finding(
            "I000",
            "ok",
            f"{one.layout.path}: {int(one.excluded.sum())} of {n} traces are left out, as [data] exclude says",
            "",
            {"count": int(one.excluded.sum())},
        )


def _components(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield an error for files with several components, or with horizontal ones alone."""
    if fix.trace_ids is not None or fix.all_traces:
        return
    kinds = column(one.values, "trace_id", one.layout.n_traces)
    found, counts = np.unique(kinds[~one.excluded], return_counts=True)
    here = {int(k): int(c) for k, c in zip(found, counts, strict=True) if int(k) in SENSORS or int(k) == LIVE}
    sensors = [k for k in here if k in SENSORS]
    if not sensors or (len(here) == 1 and sensors[0] in (PRESSURE, VERTICAL)):
        return
    said = ", ".join(f"{c} of {SENSORS.get(k, 'seismic data')} (trace id {k})" for k, c in here.items())
    what = "several components" if len(here) > 1 else "horizontal or rotated components alone"
    best = next((k for k in (PRESSURE, VERTICAL, LIVE) if k in here), sensors[0])
    others = [f"[{k}]" for k in here if k != best]
    yield Finding(
        "E241",
        "error",
        f"{one.layout.path} holds {what} (byte 29): traces {said}",
        f"[data.fix] trace_ids = [{best}] uses those of {SENSORS.get(best, 'seismic data')} alone"
        + (f"; others: {', '.join(others)}" if others else ""),
        {"kinds": here},
    )


def sensors(one: ScannedFile) -> list[int]:
    """Return the identifications of rev 1 (byte 29) that the live traces of a file have."""
    found = np.unique(column(one.values, "trace_id", one.layout.n_traces)[one.live])
    return [int(k) for k in found if int(k) in SENSORS]


def components_between(files: list[tuple[str, list[int]]], fix: Fix) -> Iterator[Finding]:
    """Yield an error for components that are in files of their own, when none is chosen; of (path, `sensors`)."""
    first = {k: path for path, kinds in reversed(files) for k in kinds}
    if fix.trace_ids is not None or fix.all_traces or len(first) < 2 or any(len(k) > 1 for _, k in files):
        return
    said = ", ".join(f"{SENSORS[k]} (trace id {k}) in {first[k]}" for k in sorted(first))
    best = min(first)
    yield Finding(
        "E241",
        "error",
        f"the files hold several components (byte 29): {said}",
        f"[data.fix] trace_ids = [{best}] uses those of {SENSORS[best]} alone; or name the files of one component",
        {"kinds": sorted(first)},
    )


def coordinate_findings(one: ScannedFile, fix: Fix) -> list[Finding]:
    """Return what scalars and units make odd about positions; some traces of a file will do."""
    return [*_coordinates(one, fix), *_witnesses(one, fix, offsets=False), *_components(one, fix)]


def _coordinates(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
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
    return [f for f in (*units, *_components(one, fix)) if f.level == "error"]


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
        yield _warn(
            "W241",
            f"{lay.path}: measurement system (byte 3255) is feet; positions are converted to metres",
            'if they are metres already: [data.fix] unit = "m"; unit = "ft" silences this',
        )


def _witnesses(one: ScannedFile, fix: Fix, offsets: bool = True) -> Iterator[Finding]:
    """Yield what bins and offsets say against the coordinates: an exchange of x and y explains all else."""
    if any(f.code in ("E240", "E381") for f in _coordinates(one, fix)):
        return
    exchanges = list(_bins(one, fix))
    yield from exchanges or witness_findings(one, fix, offsets)


def _bins(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield a warning when the positions of bins are midpoints only after x and y of stations are exchanged."""
    lay, off = one.layout, distances_of_bins(one, fix)
    now = off.get((), 0.0)
    for ends in (("source", "receiver"), ("receiver",), ("source",)):
        # bins are wide, and lines crooked: an exchange that explains them leaves a small part of what it mends
        if off and off[ends] <= EXPLAINED * now:
            names = [
                (f"{end}_{a}", getattr(one.header, f"{end}_{b}")) for end in ends for a, b in ("xy", "yx")
            ]
            yield _warn(
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


def _delays(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    yield from late_findings(one.layout.path, one.positions.delay, fix)


def late_findings(where: str, delay: NDArray[np.float64], fix: Fix) -> Iterator[Finding]:
    """Yield a warning when first samples (`delay`, s) do not lie at the time of the shot."""
    low, high = float(delay.min()), float(delay.max())
    if fix.delay is None and (low or high):
        span = f"{low * 1e3:g}" if low == high else f"{low * 1e3:g} .. {high * 1e3:g}"
        yield _warn(
            "W232",
            f"{where}: first samples lie at {span} ms (delay, byte 109); this is applied",
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
    apart = np.ptp(elevation) == 0 and np.ptp(surface) == 0 and elevation[0] > surface[0]
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
    if s.suspicion and (fix.format, fix.endian, fix.sample_endian) == (None, None, None):
        yield Finding(
            "E257",
            "error",
            f"{path}: {s.suspicion}",
            f"{s.remedy}; if the headers are right: [data.fix] format = {layout.format}",
            {"format": layout.format, "sample_order": layout.sample_order},
        )
    elif max(abs(s.minimum), abs(s.maximum)) > 1e30:
        yield _warn(
            "W252",
            f"{path}: amplitudes reach {max(abs(s.minimum), abs(s.maximum)):.3g}",
            "check [data.fix] format",
        )


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
    for rule in (_between_files, _several_of_one_name, _shots, _offsets, _missing):
        found += rule(result, scanned, fix)
    found += [*depth_findings(scanned, fix), *odd_depths(scanned, fix), *delay_findings(scanned, fix)]
    found += components_between([(s.layout.path, sensors(s)) for s in scanned], fix)
    if result.kind == "shots":
        found += trace_rules(scanned, fix)
    return found


def _several_of_one_name(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    """Yield a warning for entries of `exclude` that count the traces of a file, and name several files."""
    short = short_names(s.layout.path for s in scanned)
    for k, entry in enumerate(fix.exclude):
        named = [s.layout.path for s in scanned if s.matched[k]]
        if entry.file is None or entry.traces is None or len(named) < 2:
            continue
        yield _warn(
            "W268",
            f"{entry} leaves out traces of {len(named)} files of that name: {', '.join(named[:3])}"
            + ", ..." * (len(named) > 3),
            "name one of them by more of its path: "
            f"[data] exclude = [{replace(entry, file=short[named[0]])}]",
            files=named[:50],
        )


def _between_files(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    for name, code in (("ns", "E260"), ("dt", "E261")):
        seen = sorted({getattr(s.layout, name) for s in scanned})
        if len(seen) > 1:
            what = "samples per trace" if name == "ns" else "sample interval (s)"
            held = [getattr(s.layout, name) for s in scanned]
            usual = max(seen, key=held.count)
            elsewhere = [s.layout.path for s, v in zip(scanned, held, strict=True) if v != usual]
            same = f"if it is {usual:g} s in all: [data.fix] dt = {usual:.10g}; else " if name == "dt" else ""
            yield Finding(
                code,
                "error",
                f"{what} differs between files: {', '.join(f'{v:g}' for v in seen[:6])}; it is not {usual:g} in "
                f"{', '.join(elsewhere[:3])}{f' and {len(elsewhere) - 3} more' * (len(elsewhere) > 3)}",
                f"{same}migrate the files apart, or bring them to one time axis first",
                {"values": seen[:50], "files": elsewhere[:50]},
            )
    scalars = [
        {int(v) for v in np.unique(column(s.values, "coordinate_scalar", s.layout.n_traces)[s.live])}
        for s in scanned
    ]
    plain = [next(iter(s)) for s in scalars if len(s) == 1]
    if fix.scalar is None and len(set(plain)) > 1:
        usual = max(set(plain), key=plain.count)
        others = [s for s, values in zip(scanned, scalars, strict=True) if usual in values]
        for s, values in zip(scanned, scalars, strict=True):
            if len(values) == 1 and usual not in values:
                # another scalar may be right where the numbers are others; they were then written as one survey
                mended = cure([s], fix, [{"scalar": usual}], lambda files, _: near(files, others))
                if near([s], others) and not mended:
                    continue
                middle = float(np.abs(s.positions.src[:, :2]).max())
                yield _warn(
                    "W223",
                    f"{s.layout.path}: scalar (byte 71) is {next(iter(values))}, {usual} in other files; "
                    f"its sources reach {middle:,.0f} m",
                    f"if it is forgotten there: {mended}"
                    if mended
                    else "mend the header of this file (byte 71)",
                )


def _shots(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not result.has_sources or result.kind != "shots":
        return
    ffid = np.concatenate([column(s.values, "ffid", s.layout.n_traces)[s.live] for s in scanned])
    if not ffid.any():
        return  # not set, which repeats nothing
    src = np.concatenate([s.positions.src[s.live] for s in scanned])
    table = shot_table(ffid, src, "ffid")
    receivers = list(records_of_receivers(TraceSet.of_files(scanned)))
    yield from receivers
    if not receivers and table.spread > SAME_PLACE:
        yield _warn(
            "W224",
            f"field record numbers (byte 9) repeat: one number stands for sources up to {table.spread:,.1f} "
            f"m apart ({TraceSet.of_files(scanned).repeated_records()}); "
            f"source positions tell {result.n_shots} shots apart",
            'if positions are right: [data] shot_key = "source"; if the numbers are: shot_key = "ffid"',
            spread_m=table.spread,
        )


def _offsets(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not (result.has_sources and result.has_receivers):
        return
    zones = in_two_zones(*result.offsets)
    if result.offsets[1] > _LONGEST_OFFSET and not zones:
        yield _warn(
            "W227",
            f"offsets reach {result.offsets[1]:,.0f} m; no survey is that long",
            scalar_cure(scanned, fix)
            or likely_scalar(scanned, fix)
            or "check the scalar (byte 71) and the coordinate bytes",
            largest_m=result.offsets[1],
        )
    for s in scanned:
        ratio = offset_ratio(s)
        if ratio is None or 0.8 <= ratio <= 1.25 or zones or as_angles(s, fix) or upright([s]):
            continue
        tried = scalar_cure(scanned, fix)
        feet = any(abs(ratio * f - 1) < 0.01 for f in (FOOT, 1 / FOOT))
        yield _warn(
            "W226",
            f"{s.layout.path}: offsets (byte 37) are {ratio:.3g} times the distances of the coordinates (median)"
            + (": one of them is in feet" if feet else ""),
            f"{tried}; if the coordinates are right and the offsets wrong: [data.bytes] offset = 0"
            if tried
            else (
                'the coordinates count; if these are in feet: [data.fix] unit = "ft"; '
                "[data.bytes] offset = 0 silences this"
                if feet
                else "check the coordinate bytes ([data.bytes] source_x, receiver_x); if they are right and the "
                "offsets wrong: [data.bytes] offset = 0"
            ),
            ratio=ratio,
        )


def _missing(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not any(s.live.any() for s in scanned):
        return  # none counts: why, was said of the traces
    if not result.has_receivers and not result.has_sources and result.kind == "shots":
        yield _warn(
            "W225",
            "source and receiver coordinates (bytes 73, 77, 81, 85) are all zero",
            "say where they are: [data.bytes] ..., or in [data.geometry]; a time migration places a 2-D line "
            "by [data] cdp_line; scan alone needs none",
        )
