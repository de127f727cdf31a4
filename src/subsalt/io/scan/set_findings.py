"""Oddities between the files of a survey: shots, offsets, positions and names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from subsalt.errors import Finding
from subsalt.io.scan.components import components_between, sensors
from subsalt.io.scan.cures import (
    as_angles,
    cure,
    delay_findings,
    depth_findings,
    likely_scalar,
    near,
    odd_depths,
    offset_ratios,
    scalar_cure,
)
from subsalt.io.scan.groups import different
from subsalt.io.scan.result import ScanResult, warn
from subsalt.io.scan.trace_set import TraceSet
from subsalt.io.scan.traces import in_two_zones, records_of_receivers, trace_rules
from subsalt.io.scan.upright import upright
from subsalt.io.segy.exclude import short_names
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import FOOT, ScannedFile, column
from subsalt.io.segy.shot_table import SAME_PLACE, shot_table

#: m; ten times the longest streamers and lines
_LONGEST_OFFSET = 200_000.0


def set_findings(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> list[Finding]:
    """Return what is odd about the files together."""
    findings: list[Finding] = []
    traces = TraceSet.of_files(scanned)
    for rule in (_between_files, _several_of_one_name):
        findings += rule(result, scanned, fix)
    findings += _shots(result, traces)
    for rule in (_offsets, _missing):
        findings += rule(result, scanned, fix)
    findings += [
        *depth_findings(scanned, fix),
        *odd_depths(result.stations, fix),
        *delay_findings(scanned, fix),
    ]
    findings += components_between([(s.layout.path, sensors(s)) for s in scanned], fix)
    if result.kind == "shots":
        findings += trace_rules(traces, fix)
    return findings


def _several_of_one_name(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    """Yield a warning for entries of `exclude` that count the traces of a file, and name several files."""
    short = short_names(s.layout.path for s in scanned) if fix.exclude else {}
    for k, entry in enumerate(fix.exclude):
        named = [s.layout.path for s in scanned if s.matched[k]]
        if entry.file is None or entry.traces is None or len(named) < 2:
            continue
        yield warn(
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
        {int(v) for v in different(column(s.values, "coordinate_scalar", s.layout.n_traces)[s.live])}
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
                yield warn(
                    "W223",
                    f"{s.layout.path}: scalar (byte 71) is {next(iter(values))}, {usual} in other files; "
                    f"its sources reach {middle:,.0f} m",
                    f"if it is forgotten there: {mended}"
                    if mended
                    else "correct the header of this file (byte 71)",
                )


def _shots(result: ScanResult, traces: TraceSet) -> Iterator[Finding]:
    if not result.has_sources or result.kind != "shots":
        return
    if not traces.ffid.any():
        return  # not set, which repeats nothing
    table = shot_table(traces.ffid, traces.src, "ffid")
    receivers = list(records_of_receivers(traces))
    yield from receivers
    if not receivers and table.spread > SAME_PLACE:
        yield warn(
            "W224",
            f"field record numbers (byte 9) repeat: one number stands for sources up to {table.spread:,.1f} "
            f"m apart ({traces.repeated_records()}); "
            f"source positions tell {result.n_shots} shots apart",
            'if positions are right: [data] shot_key = "source"; if the numbers are: shot_key = "ffid"',
            spread_m=table.spread,
        )


def _offsets(result: ScanResult, scanned: list[ScannedFile], fix: Fix) -> Iterator[Finding]:
    if not (result.has_sources and result.has_receivers):
        return
    zones = in_two_zones(*result.offsets)
    if result.offsets[1] > _LONGEST_OFFSET and not zones:
        yield warn(
            "W227",
            f"offsets reach {result.offsets[1]:,.0f} m; no survey is that long",
            scalar_cure(scanned, fix)
            or likely_scalar(scanned, fix)
            or "check the scalar (byte 71) and the coordinate bytes",
            largest_m=result.offsets[1],
        )
    tried: str | None = None
    for s, ratio in zip(scanned, offset_ratios(scanned), strict=True):
        if ratio is None or 0.8 <= ratio <= 1.25 or zones or as_angles(s, fix) or upright([s]):
            continue
        # of all files together, once
        tried = scalar_cure(scanned, fix) if tried is None else tried
        feet = any(abs(ratio * f - 1) < 0.01 for f in (FOOT, 1 / FOOT))
        yield warn(
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
        yield warn(
            "W225",
            "source and receiver coordinates (bytes 73, 77, 81, 85) are all zero",
            "say where they are: [data.bytes] ..., or in [data.geometry]; a time migration places a 2-D line "
            "by [data] cdp_line; scan alone needs none",
        )
