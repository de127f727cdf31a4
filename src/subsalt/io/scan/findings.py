"""Oddities of one file that `scan` reports: one rule per function, each with evidence and cure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.scan.components import component_findings, trace_kind_findings
from subsalt.io.scan.coordinates import disagreeing_witnesses, position_findings
from subsalt.io.scan.result import warn
from subsalt.io.scan.statistics import SampleStatistics
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.headers import FileLayout


def file_findings(one: ScannedFile, statistics: SampleStatistics, fix: Fix) -> list[Finding]:
    """Return what is odd about one file."""
    oddities = list(position_findings(one, fix))
    return [
        *oddities,
        *trace_kind_findings(one, fix),
        *component_findings(one, fix),
        *disagreeing_witnesses(one, fix, oddities),
        *_delays(one, fix),
        *_elevations(one, fix),
        *sample_findings(one.layout, statistics, fix),
    ]


def _delays(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    yield from late_findings(one.layout.path, one.positions.delay, fix)


def late_findings(where: str, delay: NDArray[np.float64], fix: Fix) -> Iterator[Finding]:
    """Yield a warning when first samples (`delay`, s) do not lie at the time of the shot."""
    low, high = float(delay.min()), float(delay.max())
    if fix.delay is None and (low or high):
        span = f"{low * 1e3:g}" if low == high else f"{low * 1e3:g} .. {high * 1e3:g}"
        yield warn(
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
        yield warn(
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
        yield warn(
            "W243",
            f"{lay.path}: receivers lie above z = 0 (elevation, byte 41, positive: z {rcv[:, 2].min():g} .. "
            f"{rcv[:, 2].max():g} m) and apart from the sources ({src[:, 2].min():g} m)",
            "if byte 41 holds depths: [data.fix] z_sign = -1; or give the depth: [data.fix] receiver_depth = ...; on "
            "land, correct the elevation of the surface at the sources (byte 45)",
        )


def sample_findings(layout: FileLayout, s: SampleStatistics, fix: Fix) -> Iterator[Finding]:
    """Yield what is odd about the samples of a file."""
    path = layout.path
    of = "" if s.complete else f" in {s.traces} sampled traces"
    first = f", the first in trace {s.first_not_finite}" if s.first_not_finite else ""
    if s.not_finite and fix.nan == "zero":
        yield warn(
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
        yield warn(
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
