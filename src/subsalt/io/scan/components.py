"""Kinds of traces in a file (byte 29): dead and auxiliary ones, and components of the ground's motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.errors import Finding
from subsalt.io.scan.groups import different
from subsalt.io.scan.result import warn
from subsalt.io.segy.exclude import spans
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.geometry import LIVE, PRESSURE, SENSORS, VERTICAL, ScannedFile, column


def trace_kind_findings(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield what becomes of dead, auxiliary and excluded traces of a file."""
    dead, aux = int(one.dead.sum()), int(one.auxiliary.sum())
    kinds = column(one.values, "trace_id", one.layout.n_traces)
    n = one.layout.n_traces
    if dead:
        cure = "kept as zeros" if fix.dead == "zero" else "skipped"
        where = spans((np.flatnonzero(one.dead) + 1).tolist())
        yield warn(
            "W230",
            f"{one.layout.path}: {dead} dead traces (trace id 2) -> {cure}: traces {where}",
            count=dead,
        )
    if aux and fix.trace_ids is None:
        codes = sorted({int(v) for v in np.unique(kinds[one.auxiliary])})
        where = spans((np.flatnonzero(one.auxiliary) + 1).tolist())
        yield warn(
            "W231",
            f"{one.layout.path}: {aux} of {n} traces are auxiliary (trace id {', '.join(map(str, codes[:6]))}) -> "
            f"skipped: traces {where}",
            "if they are seismic traces: [data.fix] all_traces = true",
            count=aux,
            kinds=codes[:50],
        )
    if one.excluded.any():
        yield Finding(
            "I000",
            "ok",
            f"{one.layout.path}: {int(one.excluded.sum())} of {n} traces are left out, as [data] exclude says",
            "",
            {"count": int(one.excluded.sum())},
        )


def component_findings(one: ScannedFile, fix: Fix) -> Iterator[Finding]:
    """Yield an error for files with several components, or with horizontal ones alone."""
    if fix.trace_ids is not None or fix.all_traces:
        return
    kinds = column(one.values, "trace_id", one.layout.n_traces)
    codes, counts = np.unique(kinds[~one.excluded], return_counts=True)
    here = {int(k): int(c) for k, c in zip(codes, counts, strict=True) if int(k) in SENSORS or int(k) == LIVE}
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
    codes = different(column(one.values, "trace_id", one.layout.n_traces)[one.live])
    return [int(k) for k in codes if int(k) in SENSORS]


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
