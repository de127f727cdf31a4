"""A survey of three shots that migrates in a tenth of a second, for tests of stops, failures and kills."""

from __future__ import annotations

import hashlib
from pathlib import Path

from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job

GRID = """
[grid]
spacing = 10
shape = [41, 31]
[source]
f0 = 15
[propagation]
grid = "model"
"""

MODEL = (
    """
[model]
vp = { z = [0, 160, 161, 300], value = [2000, 2000, 2400, 2400] }
[acquisition]
shots = { first = [100, 0], last = [320, 0], n = 3 }
receivers = { first = [0, 0], last = [400, 0], n = 21 }
record_length = 0.25
dt = 0.002
files = "per-shot"
"""
    + GRID
)

#: first arrivals are judged in tests/check: that takes longer than so small a migration
MIGRATE = (
    '[data]\nfiles = ["shots/*.sgy"]\nfirst_breaks = "ignore"\n[model]\nvp = 2000\n[output]\npictures = false\n'
    + GRID
)

#: the same by least squares: three rounds of the three shots
LEAST_SQUARES = f'method = "lsrtm"\n{MIGRATE}[inversion]\niterations = 2\n'


def make(folder: Path, more: str = "", migrate: str = MIGRATE) -> Path:
    """Model the shots in a folder; return the job that migrates them, with further lines."""
    (folder / "model.toml").write_text(MODEL)
    (folder / "job.toml").write_text(migrate + more)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")
    return folder / "job.toml"


def digest(run: Path) -> str:
    """Return the hash of the image of a run."""
    return hashlib.sha256((run / "image.sgy").read_bytes()).hexdigest()
