"""A small least-squares migration: the scattered traces of three shots, and the job that explains them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np

import subsalt as ss
from subsalt.io.segy.writing import write_survey

GRID = ss.Grid((31, 25), (10.0, 10.0))
WAVELET = ss.ricker(15.0, 0.001)
ITERATIONS = 3
JOB = """
method = "lsrtm"
[data]
files = ["shots.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
[output]
pictures = false
[grid]
spacing = 10
shape = [31, 25]
[source]
f0 = 15
[propagation]
grid = "model"
[inversion]
iterations = {iterations}
"""


def job_in(folder: Path, survey: Path, more: str = "", iterations: int = ITERATIONS) -> Path:
    """Write a job beside its traces; return its file."""
    folder.mkdir(exist_ok=True, parents=True)
    shutil.copy(survey, folder / "shots.sgy")
    (folder / "job.toml").write_text(JOB.format(iterations=iterations) + more)
    return folder / "job.toml"


def scattered_survey(folder: Path) -> Path:
    """Write the traces of three shots over one flat reflector; return their file."""
    receivers = [[x, 0.0] for x in range(0, 301, 30)]
    survey = ss.Survey.from_arrays([[50.0, 0.0], [150.0, 0.0], [250.0, 0.0]], receivers, nt=90, dt=0.002)
    dm = np.zeros(GRID.shape)
    dm[:, 13] = 4e-9
    data = ss.born_operator(ss.EarthModel(GRID, 2000.0), survey, WAVELET).forward(dm).astype(np.float32)
    shots = [replace(s, data=data[i]) for i, s in enumerate(survey.shots)]
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / "shots.sgy"
    write_survey(path, replace(survey, shots=shots))
    return path
