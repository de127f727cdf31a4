"""Small shot records in order, written byte by byte, from which tests make mistakes; cures that are pasted."""

from __future__ import annotations

import tomllib

import numpy as np
from segy_maker import make_segy

from subsalt.io.scan.scan import scan
from subsalt.job.data import header_options
from subsalt.methods.rtm.data_sections import DataSection

SHOTS, CHANNELS, NS, DT = 8, 24, 300, 0.004


def records(shots=SHOTS, channels=CHANNELS, first=100.0):
    """Return (headers, traces): a streamer line with a direct wave, a reflection and a little noise.

    Sources every 50 m at 6 m depth, receivers every 25 m behind them at 10 m, in centimetres and decimetres.
    """
    shot = np.repeat(np.arange(shots), channels)
    channel = np.tile(np.arange(channels), shots)
    offset = first + 25.0 * channel
    source = 5000.0 + 50.0 * shot
    headers = {
        "ffid": shot + 101,
        "channel": channel + 1,
        "source_x": np.round(100 * source).astype(int),
        "receiver_x": np.round(100 * (source - offset)).astype(int),
        "source_y": 200_000,
        "receiver_y": 200_000,
        "coordinate_scalar": -100,
        "elevation_scalar": -10,
        "source_depth": 60,
        "receiver_elevation": -100,
        "trace_id": 1,
        "offset": -np.round(offset).astype(int),
    }
    t = DT * np.arange(NS)
    rng = np.random.default_rng(3)
    traces = 1e-3 * rng.standard_normal((len(offset), NS))
    for amplitude, way in ((30.0, offset), (20.0, np.sqrt(offset**2 + 900.0**2))):
        a = (np.pi * 20.0 * (t[None] - way[:, None] / 1500.0 - 0.06)) ** 2
        traces += (amplitude / np.maximum(way, 1.0))[:, None] * (1 - 2 * a) * np.exp(-a)
    return headers, traces.astype(np.float32)


def write(folder, headers, traces, *, per_shot=False, name="line", **more):
    """Write the records into one file, or one file per shot; return the paths."""
    n = len(traces)
    full = {k: np.broadcast_to(np.asarray(v), (n,)) for k, v in headers.items()}
    if not per_shot:
        return [make_segy(folder / f"{name}.sgy", traces, headers=full, **more)]
    out = []
    shots = np.unique(full["ffid"]) if full["ffid"].any() else np.array([0])
    for k, shot in enumerate(shots):
        own = full["ffid"] == shot
        path = folder / f"{name}{k + 1:02d}.sgy"
        out.append(make_segy(path, traces[own], headers={k: v[own] for k, v in full.items()}, **more))
    return out


def finding_of(paths, code, *, fix=None, header=None):
    """Return the finding of a code, which is there once."""
    (one,) = (f for f in scan(paths, header, fix).findings if f.code == code)
    return one


def problems(paths, fix=None, header=None):
    """Return the codes of what is not in order."""
    return [f.code for f in scan(paths, header, fix).findings if f.is_fault]


def pasted(text):
    """Return (header bytes, fix) of the key of `[data]` that a cure holds, as a job that has it pasted would."""
    return header_options(section_of(text))


def section_of(text):
    """Return the `[data]` of a job that has the key of a cure pasted."""
    text = text[text.index("[data") :]
    table, _, key = text.partition("] ")
    # a cure may go on with words behind its key
    for end in range(len(key), 0, -1):
        try:
            raw = tomllib.loads(f"{table}]\n{key[:end]}\n")
        except tomllib.TOMLDecodeError:
            continue
        return DataSection(files=["a.sgy"], **raw["data"])
    raise AssertionError(text)


def cured(paths, finding):
    """Return what is left of the problems under the cure of a finding."""
    section = section_of(finding.fix)
    header, fix = header_options(section)
    whole = [e for e in section.excluded() if e.whole_file]
    return problems([p for p in paths if not any(e.names(str(p)) for e in whole)], fix, header)
