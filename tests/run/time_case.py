"""A small survey for runs of time migration: 3-D, three offsets, shot order, as SEG-Y and a job file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from kirchhoff_data import areal_positions, make_survey, reflector_traces

JOB = """
method = "kirchhoff"
[data]
files = ["traces.sgy"]
first_breaks = "ignore"
[velocity]
v = 2000
[kirchhoff]
inline = {{ first = 11, last = 15 }}
crossline = {{ first = 101, last = 107 }}
origin = [100, 100]
azimuth = 90
spacing = [-25, 25]
time = {{ first = 0.1, last = 0.9, step = 0.008 }}
gathers = "{gathers}"
aperture = 110
bands = 4
{keys}
[output]
pictures = false
{output}
"""

#: files that belong to the result
RESULTS = ("image.sgy", "gathers.sgy", "hits.sgy", "fold.rsf", "fold.rsf@")
#: offsets of the survey, m
OFFSETS = (100.0, 300.0, 500.0)


def positions() -> tuple[np.ndarray, np.ndarray]:
    """Return source and receiver of every trace."""
    return areal_positions(np.arange(0, 400, 25.0), np.arange(0, 300, 25.0), OFFSETS)


def make(
    folder: Path, gathers: str = "full-offset", keys: str = "", output: str = "", order: str = "shot"
) -> Path:
    """Write traces, when they are not there, and a job; return the job file."""
    if not (folder / "traces.sgy").exists():
        src, rcv = positions()
        traces = reflector_traces(src, rcv, 125, 0.008, depth=400.0, dip=10.0, f0=15.0)
        make_survey(folder / "traces.sgy", src, rcv, traces, 0.008, order=order)
    path = folder / "time.toml"
    path.write_text(JOB.format(gathers=gathers, keys=keys, output=output))
    return path


def hashes(run: Path) -> dict[str, str]:
    """Return the hashes of the results of a run that are there."""
    paths = {n: (run / n) for n in (*RESULTS, "image.rsf@", "gathers.rsf@", "hits.rsf@")}
    return {n: hashlib.sha256(p.read_bytes()).hexdigest() for n, p in paths.items() if p.exists()}
