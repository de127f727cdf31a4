"""Small jobs with their files, for the tests of job, checks and command."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Grid
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume

GRID = Grid((81, 51), (10.0, 10.0))


def survey(n_shots=3, nt=151, dt=0.004, fill=True):
    """Return a line of shots over receivers every 25 m, with a pulse along the direct ray."""
    src = [[x, 15.0] for x in np.linspace(200.0, 600.0, n_shots)]
    rcv = np.stack([np.arange(50.0, 751.0, 50.0), np.full(15, 10.0)], axis=1)
    out = Survey.from_arrays(src, rcv, nt=nt, dt=dt)
    if fill:
        t = out.time.values()
        for shot in out.shots:
            arrival = np.abs(shot.rcv[:, 0] - shot.src[0]) / 1500.0 + 0.15
            a = (np.pi * 10.0 * (t[None] - arrival[:, None])) ** 2
            shot.data = ((1 - 2 * a) * np.exp(-a)).astype(np.float32)
    return out


def nodes(n_shots=6, nt=151, dt=0.004):
    """Return shots along a line over two nodes on the sea floor, each trace with its own samples."""
    src = [[150.0 + 80.0 * k, 20.0] for k in range(n_shots)]
    t = dt * np.arange(nt)
    rcv = np.array([[300.0, 200.0], [500.0, 200.0]])
    data = np.zeros((n_shots, 2, nt))
    for s, p in enumerate(src):
        for r, q in enumerate(rcv):
            a = (np.pi * 10.0 * (t - np.hypot(*(q - p)) / 1600.0 - 0.15)) ** 2
            data[s, r] = (1 + 0.1 * s + 0.3 * r) * (1 - 2 * a) * np.exp(-a)
    return Survey.from_arrays(src, rcv, nt=nt, dt=dt, data=data)


def velocity():
    """Return vp on `GRID`: a gradient, 1500 m/s at the top."""
    return np.ascontiguousarray(np.broadcast_to(1500.0 + 1.0 * GRID.axis(-1), GRID.shape)).astype(np.float32)


def write_files(folder, survey_=None):
    """Write shots.sgy, vp.rsf, epsilon.rsf and delta.rsf into `folder`."""
    write_survey(folder / "shots.sgy", survey_ or survey())
    volume.write(folder / "vp.rsf", GRID, velocity())
    volume.write(folder / "epsilon.rsf", GRID, np.full(GRID.shape, 0.1, np.float32))
    volume.write(folder / "delta.rsf", GRID, np.full(GRID.shape, 0.05, np.float32))


MIGRATE = """\
title = "a line"

[data]
files = ["shots.sgy"]
line = "2d"

[model]
vp = "vp.rsf"
epsilon = "epsilon.rsf"
delta = "delta.rsf"

[source]
f0 = "10 Hz"

[output]
pictures = false
"""

#: the same for tests of runs: first arrivals are judged in tests/check, and longer than so little is migrated
RUN = MIGRATE.replace('line = "2d"', 'line = "2d"\nfirst_breaks = "ignore"')

#: appended to a job: waves on the grid of its model
OWN_GRID = '[propagation]\ngrid = "model"\n'


def write_job(folder, text=MIGRATE, name="line.toml"):
    """Write a job file and return its path."""
    path = folder / name
    path.write_text(text)
    return path


def shared_data():
    """Return the folder of the shared real files, or skip the test."""
    root = Path(os.environ.get("SUBSALT_SHARED_DATA") or Path(__file__).parents[1].parent / "shared" / "data")
    if not root.is_dir():
        pytest.skip("the files of ../shared/data are not there")
    return root


def example_job(folder, name):
    """Return a job of examples/ on the shared real files, written into a folder; or skip the test."""
    text = (Path(__file__).parents[1] / "examples" / f"{name}.toml").read_text(encoding="utf-8")
    return write_job(folder, text.replace('"data/', f'"{shared_data()}/'), f"{name}.toml")
