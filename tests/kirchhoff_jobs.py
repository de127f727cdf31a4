"""Small jobs of time migration with their files, for the tests of job, checks, plan and command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kirchhoff_data import areal_positions, line_positions, make_survey, reflector_traces
from subsalt.job import text as toml_out

#: record of the small surveys: 1 s at 8 ms, a reflector at 0.6 s
NT, DT, V, DEPTH = 126, 0.008, 2000.0, 600.0
#: offsets of the areal survey, m
OFFSETS = (100.0, 300.0, 500.0)
#: inlines 11 ... 16 lie 25 m apart along x, crosslines 101 ... 120 lie 20 m apart along y
CORNERS = [[11, 101, 1000.0, 2000.0], [11, 120, 1000.0, 2380.0], [16, 101, 1125.0, 2000.0]]


def areal(path: Path, **options):
    """Write an areal survey with every offset in every bin of `CORNERS`; return src, rcv."""
    x, y = 1000.0 + 25.0 * np.arange(6), 2000.0 + 20.0 * np.arange(20)
    src, rcv = areal_positions(x, y, OFFSETS, azimuths=(30.0,))
    traces = reflector_traces(src, rcv, NT, DT, v=V, depth=DEPTH)
    edit = options.pop("edit", None)
    if edit is not None:
        edit(traces)
    make_survey(path, src, rcv, traces, options.pop("dt", DT), **options)
    return src, rcv


def line(path: Path, n=40, spacing=12.5, offsets=(100.0, 300.0, 500.0), **options):
    """Write a 2-D line with every offset at every CDP, 1 ... n along map x; return src, rcv."""
    src, rcv = line_positions(n, spacing, offsets)
    make_survey(path, src, rcv, reflector_traces(src, rcv, NT, DT, v=V, depth=DEPTH), DT, **options)
    return src, rcv


def write_job(folder: Path, name="survey.toml", **tables) -> Path:
    """Write a job of time migration of ``traces.sgy`` and return its path; tables replace those of the default."""
    raw = {
        "method": "kirchhoff",
        "data": {"files": ["traces.sgy"]},
        "velocity": {"v": V},
        "kirchhoff": {"corners": CORNERS, "aperture": 400.0, "bands": 4},
        "parallel": {"threads": 1},
        "output": {"pictures": False},
    }
    for key, values in tables.items():
        raw[key] = raw.get(key, {}) | values if isinstance(values, dict) else values
    parts = [toml_out.table("", {k: v for k, v in raw.items() if not isinstance(v, dict)})]
    parts += [toml_out.table(k, v) for k, v in raw.items() if isinstance(v, dict)]
    path = folder / name
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def codes_of(text: str) -> set[str]:
    """Return the codes of findings in the JSON that a command printed."""
    return {f["code"] for f in json.loads(text)["findings"] if f["level"] != "ok"}
