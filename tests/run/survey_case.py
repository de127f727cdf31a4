"""A small modelled survey and jobs that migrate it, for tests of runs; wavefields kept of any of them."""

from __future__ import annotations

from pathlib import Path

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job

GRID = """
[grid]
spacing = 10
shape = [61, 41]
[source]
f0 = 15
[propagation]
grid = "model"
"""
MODEL = """
[model]
vp = { z = [0, 240, 241, 400], value = [2000, 2000, 2400, 2400] }
[acquisition]
shots = { first = [100, 0], last = [480, 0], n = 3 }
receivers = { first = [0, 0], last = [600, 0], n = 61 }
record_length = 0.4
dt = 0.002
files = "per-shot"
"""
MIGRATE = """
[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"
[model]
vp = 2000
[output]
pictures = false
"""


def make_survey(folder: Path) -> Path:
    """Model three shots into a folder; return it."""
    (folder / "model.toml").write_text(MODEL + GRID)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    return folder


def job_of(folder: Path, name: str = "line", more: str = "", **sections) -> Job:
    """Return a job file on the survey of `folder`, with other values in its sections."""
    path = folder / f"{name}.toml"
    path.write_text(MIGRATE + GRID + more)
    job = Job.from_toml(path)
    for section, values in sections.items():
        job = job.changed(section, **values)
    return job
