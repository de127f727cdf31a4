"""A land line over hills of 140 m, modelled below its topography."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from subsalt.examples.example import Example
from subsalt.io.publish import publish_text
from subsalt.methods.rtm.job import Job
from subsalt.methods.rtm.model_job import model_job

#: elevations of the ground: in this package, and in the folder
SURFACE = "surface.csv"

MODEL_JOB = """\
# Model a line over hills of 140 m: sources and receivers lie 10 m below the ground. Then: subsalt migrate migrate.toml
title = "Shots over hills"

[model]
vp = { z = [0, 900, 901, 1300, 1301, 1600], value = [2400, 2400, 2900, 2900, 3400, 3400] }

[grid]
spacing = 10
shape = [301, 161]

[source]
f0 = 14

[acquisition]
# z is above the ground: stations are dropped on it
shots = { first = [200, 0], last = [2800, 0], n = 14 }
receivers = { first = [0, 0], last = [3000, 0], n = 151 }
record_length = 1.5
dt = 0.004
files = "per-shot"

[propagation]
grid = "model"

[propagation.topography]
radius = 100
elevations = "surface.csv"
datum = 500
"""

MIGRATE_JOB = """\
# Migrate the shots of model.toml below the topography, with a smoothed velocity
title = "Reflectors below hills"

[data]
files = ["shots/*.sgy"]

[model]
vp = { z = [0, 900, 901, 1300, 1301, 1600], value = [2400, 2400, 2900, 2900, 3400, 3400] }
smoothing = 100

[grid]
spacing = 10
shape = [301, 161]

[source]
f0 = 14

[imaging]
filter = "laplacian"
top_mute = 200

[propagation]
grid = "model"

[propagation.topography]
radius = 100
elevations = "surface.csv"
datum = 500
"""


def make(folder: Path, shots: int) -> None:
    """Write surface and jobs into a folder that is there, and model the shots."""
    publish_text(folder / SURFACE, (resources.files("subsalt.examples") / SURFACE).read_text("utf-8"))
    publish_text(folder / "model.toml", MODEL_JOB)
    publish_text(folder / "migrate.toml", MIGRATE_JOB)
    model_job(Job.from_toml(folder / "model.toml"), folder / "shots")


EXAMPLE = Example(
    summary="a land line over hills of 140 m",
    make=make,
    shots=14,
    most=14,
    files={
        "shots": "14 shots over 151 receivers, 1.5 s at 4 ms, one SEG-Y file each",
        "surface.csv": "elevation of the ground, m",
        "model.toml": "the job that modelled the shots",
        "migrate.toml": "the job that migrates them below the topography",
    },
    truth="flat reflectors 400 and 800 m below sea level, that is 900 and 1300 m below the datum of 500 m",
    commands=("subsalt check migrate.toml", "subsalt migrate migrate.toml", "subsalt view migrate.run"),
)
