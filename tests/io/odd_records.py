"""Small odd files: one trace, one sample, zeros, NaN, infinity, constants, no interval, extremes of headers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from segy_maker import line_headers, make_segy

#: shots and channels of a file
SHOTS, CHANNELS, NS = 6, 24, 160


def _wave() -> np.ndarray:
    t = 0.004 * np.arange(NS)
    a = (np.pi * 20 * (t[None] - 0.05 - 0.01 * np.tile(np.arange(CHANNELS), SHOTS)[:, None])) ** 2
    return ((1 - 2 * a) * np.exp(-a)).astype(np.float32)


def _samples() -> Iterator[tuple[str, np.ndarray]]:
    wave, shape = _wave(), (SHOTS * CHANNELS, NS)
    yield "one trace", wave[:1]
    yield "two traces", wave[:2]
    yield "one sample", wave[:, 20:21]
    yield "two samples", wave[:, 20:22]
    yield "one trace of one sample", wave[:1, 20:21]
    yield "all zero", np.zeros(shape)
    yield "all one", np.ones(shape)
    yield "all NaN", np.full(shape, np.nan)
    yield "all infinite", np.full(shape, np.inf)
    yield "some infinite", np.where(np.arange(NS) == 50, -np.inf, wave)
    yield "one trace NaN", np.where(np.arange(len(wave))[:, None] == 3, np.nan, wave)
    yield (
        "one sample NaN",
        np.where((np.arange(len(wave))[:, None] == 3) & (np.arange(NS) == 7), np.nan, wave),
    )
    yield "all but one trace zero", np.where(np.arange(len(wave))[:, None] == 3, wave, 0)
    yield "all but one sample zero", np.where(np.arange(NS) == 30, wave, 0)
    yield "huge", wave * np.float32(3e38)
    yield "tiny", wave * np.float32(1e-40)
    yield "huge beside tiny", wave * np.where(np.arange(len(wave)) % 2, 1e38, 1e-38)[:, None]
    yield "constants that differ", np.broadcast_to(np.arange(len(wave))[:, None], shape)
    yield "a step", np.broadcast_to((np.arange(NS) > 80) * 1.0, shape)
    yield "a spike in the first sample", np.broadcast_to((np.arange(NS) == 0) * 1.0, shape)
    yield "a spike in the last sample", np.broadcast_to((np.arange(NS) == NS - 1) * 1.0, shape)


def _headers() -> Iterator[tuple[str, dict[str, object]]]:
    yield "nothing in the headers", {}
    for name in ("ffid", "channel", "source_x", "receiver_x", "offset", "coordinate_scalar", "trace_id"):
        yield f"{name} zero", {name: 0}
    yield "all stations at one place", {"source_x": 5, "receiver_x": 5, "offset": 0}
    yield "all receivers at one place", {"receiver_x": 100_000}
    yield "all traces dead", {"trace_id": 2}
    yield (
        "largest coordinates",
        {"source_x": 2**31 - 1, "receiver_x": -(2**31) + 1, "coordinate_scalar": 10_000},
    )
    yield "largest offsets", {"offset": 2**31 - 1}
    yield "largest delay", {"delay": 32_767}
    yield "negative delay", {"delay": -32_768}
    yield "depths of all bits", {"source_depth": -1, "receiver_elevation": -1, "elevation_scalar": -1}


def odd_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Write the files one after the other; yield their names and paths."""
    whole, wave = line_headers(SHOTS, CHANNELS), _wave()
    k = 0
    for name, samples in _samples():
        part = {n: v[: len(samples)] if isinstance(v, np.ndarray) else v for n, v in whole.items()}
        k += 1
        yield name, make_segy(folder / f"{k:02d}.sgy", np.asarray(samples, np.float32), headers=part)
    for name, changed in _headers():
        k += 1
        yield name, make_segy(folder / f"{k:02d}.sgy", wave, headers=(whole | changed) if changed else {})
    for dt in (0, 20, 65_535):
        k += 1
        yield f"interval {dt}", make_segy(folder / f"{k:02d}.sgy", wave, headers=whole, dt=dt)
    for code in (1, 2, 3, 8):
        k += 1
        data = wave if code == 1 else np.zeros_like(wave).astype(np.int8)
        yield f"format {code}", make_segy(folder / f"{k:02d}.sgy", data, headers=whole, code=code)
