"""A small 3-D survey and its model in any frame on the map, for tests of grids at an azimuth."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import job_files
from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.line_numbers import LineNumbers
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.methods.rtm.job import Job

GRID = Grid((17, 11, 11), (25.0, 25.0, 25.0))
NUMBERS = LineNumbers(1001, 2, 2010, 5)
#: a turn whose cosine and sine are 0.8 and 0.6 keeps stations whole centimetres on the map
TRIPLE = Frame(431_000.0, 6_781_000.0, math.atan2(0.6, 0.8))
JOB = """\
[data]
files = ["shots.sgy"]
line = "3d"
{data}
[model]
{model}
[source]
f0 = 8
[propagation]
grid = "model"
[output]
{output}
formats = ["segy"]
"""


def survey(frame: Frame) -> Survey:
    """Return two shots over rows of receivers, noise in their traces, in a frame."""
    made = Survey.from_arrays(
        [[100.0, 125.0, 25.0], [250.0, 100.0, 25.0]],
        [[x, y, 25.0] for y in (50.0, 125.0, 200.0) for x in np.arange(50.0, 351.0, 50.0)],
        nt=41,
        dt=0.008,
    )
    dice = np.random.default_rng(1)
    for shot in made.shots:
        shot.data = dice.standard_normal((21, 41)).astype(np.float32)
    made.frame = frame
    return made


def velocity() -> np.ndarray:
    """Return a velocity that tells every corner of the grid from the others."""
    x, y, z = np.meshgrid(*(GRID.axis(i) for i in range(3)), indexing="ij")
    return (1900.0 + 0.3 * x + 0.7 * y + 0.5 * z).astype(np.float32)


def foreign(path: Path) -> None:
    """Blank the textual header of a volume: nothing but the trace headers says then where it lies."""
    raw = bytearray(path.read_bytes())
    raw[:3200] = b"\x40" * 3200
    path.write_bytes(raw)


def write(folder: Path, frame: Frame, *, data="", model='vp = "vp.sgy"', output="pictures = false") -> Job:
    """Write shots and a model that lie in `frame` on the map, and their job."""
    folder.mkdir(exist_ok=True)
    write_survey(folder / "shots.sgy", survey(frame))
    volume.write(folder / "vp.sgy", GRID, velocity(), frame, lines=NUMBERS)
    foreign(folder / "vp.sgy")
    volume.write(folder / "vp.rsf", GRID, velocity())
    text = JOB.format(data=data, model=model, output=output)
    return Job.from_toml(job_files.write_job(folder, text))


def stations(job: Job) -> np.ndarray:
    """Return all local positions of the survey of a job, (n, 3)."""
    return np.concatenate([np.vstack([s.src, s.rcv]) for s in job.load_survey()])
