"""What the headers of prestack files make odd about their traces taken together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.headers import Fix
from subsalt.io.prestack_scan import PrestackScan


def trace_findings(scan: PrestackScan, delay: NDArray[np.float64], fix: Fix) -> Iterator[Finding]:
    """Yield warnings about dead, auxiliary and late traces.

    Parameters
    ----------
    scan : PrestackScan
        Of all files.
    delay : ndarray, (n,)
        Time of the first sample of each usable trace, s.
    fix : Fix
        What the user knows better.
    """
    n, files = int(scan.first[-1]), len(scan.layouts)
    where = scan.layouts[0].path if files == 1 else f"{files} files"
    if scan.dead:
        done = "kept as zeros" if fix.dead == "zero" else "skipped"
        yield Finding(
            "W230",
            "warning",
            f"{where}: {scan.dead} of {n} traces are dead (trace id 2) -> {done}",
            "",
            {"count": scan.dead},
        )
    if scan.auxiliary:
        yield Finding(
            "W231",
            "warning",
            f"{where}: {scan.auxiliary} of {n} traces are auxiliary (trace id other than 0, 1, 2) -> skipped",
            "if they are seismic traces: [data.fix] all_traces = true",
            {"count": scan.auxiliary},
        )
    low, high = float(delay.min()), float(delay.max())
    if fix.delay is None and (low or high):
        span = f"{low * 1e3:g}" if low == high else f"{low * 1e3:g} .. {high * 1e3:g}"
        yield Finding(
            "W232",
            "warning",
            f"{where}: first samples lie at {span} ms (delay, byte 109); this is applied",
            "if the traces start at the shot: [data.fix] delay = 0",
            {"delay_s": [low, high]},
        )
