"""A small 2-D survey in one file, its headers as a person would have spoiled them, and what `check` says of its job.

Nine shots, 25 receivers of a fixed spread, a direct wave in water and a reflector 700 m below: nothing is modelled.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from subsalt.job.base import read_job
from subsalt.methods import method_of
from subsalt.methods.rtm.job import Job

sys.path.insert(0, str(Path(__file__).parents[1] / "io"))
from segy_maker import make_segy

SHOTS, RECEIVERS, STEP = 9, 97, 25.0
SX = np.repeat(np.arange(400.0, 2001.0, 200.0), RECEIVERS)
GX = np.tile(STEP * np.arange(RECEIVERS), SHOTS)
FFID = np.repeat(np.arange(1, SHOTS + 1), RECEIVERS)


def samples() -> np.ndarray:
    """Return the traces, (873, 251) at 4 ms."""
    t, offset = 0.004 * np.arange(251), np.abs(GX - SX)[:, None]

    def pulse(time):
        a = (np.pi * 12 * (t - 0.125 - time)) ** 2
        return (1 - 2 * a) * np.exp(-a)

    echo = 0.1 * pulse(np.hypot(offset, 1400.0) / 1500.0)
    return (pulse(offset / 1500.0) / (1 + offset / 50.0) + echo).astype(np.float32)


def headers(**words) -> dict[str, object]:
    """Return header words in centimetres; `words` replace them."""
    return {
        "ffid": FFID,
        "channel": np.tile(np.arange(1, RECEIVERS + 1), SHOTS),
        "offset": GX - SX,
        "receiver_elevation": -1000,
        "source_depth": 1000,
        "elevation_scalar": -100,
        "coordinate_scalar": -100,
        "source_x": 100 * SX,
        "receiver_x": 100 * GX,
        "coordinate_units": 1,
        "trace_id": 1,
    } | words


def survey(
    folder: Path, more: str = "", *, vp: str = '"vp.npz"', tables: str = "", top=0.0, f0=12, dt=4000, **words
) -> Path:
    """Write files and job; `more` are keys of `[data]`, `tables` further ones, `words` words."""
    make_segy(folder / "line.sgy", samples(), dt=dt, headers=headers(**words))
    v = np.full((241, 121), 1500.0, np.float32)
    v[:, 71:] = 2200.0
    np.savez(folder / "vp.npz", vp=v, spacing_m=[10.0, 10.0], origin_m=[0.0, top])
    job = folder / "job.toml"
    # positions are looked at, not waves
    data = f'[data]\nfiles = "line.sgy"\nfirst_breaks = "ignore"\n{more}'
    text = f"{data}\n[model]\nvp = {vp}\n[source]\nf0 = {f0}\n{tables}\n"
    job.write_text(text, encoding="utf-8")
    return job


def checked(job: Path):
    """Return the check of a job as its rules have it: which of their cures hold is told elsewhere, from real waves."""
    opened = read_job(job)
    return method_of(opened.method).check(opened)


def findings_by_code(job: Path) -> dict[str, object]:
    """Return the findings of a job by code, errors first; not what is in order."""
    result = checked(job)
    return {f.code: f for f in sorted(result.findings, key=lambda f: f.level) if f.is_fault}


def positions(job: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return sources (n, 3) and receivers (n, 3) of a job, from the first node of its model."""
    opened = Job.from_toml(job)
    first = np.array(opened.load_model().grid.origin3)
    shots = opened.load_survey().shots
    return np.stack([s.src for s in shots]) - first, np.concatenate([s.rcv for s in shots]) - first
