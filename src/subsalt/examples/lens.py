"""A 2-D line over five flat reflectors of equal contrast below a slow lens: Born data, without noise.

The velocity is 2000 m/s, 20 % less in the middle of the lens, and is known. Reflectors are perturbations of 1 / v^2 by
the same amount, each one row of the grid. What an image shows of them is not equal: the lens focuses light below it,
the ends of the line see less, and light decays with depth. Everything follows from the numbers here: the same files
each time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.examples.example import Example
from subsalt.io.publish import publish_text
from subsalt.io.volumes import volume
from subsalt.methods.rtm.born_job import BornImage, born_job
from subsalt.methods.rtm.job import Job

#: velocity, m/s; the part of it that the lens lacks in its middle, and 1 / v^2 that reflectors add, as a part of it
SPEED, SLOWER, CONTRAST = 2000.0, 0.2, 0.05
#: centre of the lens from the middle of the line and from the top, and its half widths along x and z, m
LENS_DEPTH, LENS_WIDTH, LENS_HEIGHT = 200.0, 150.0, 60.0

MODEL_JOB = """\
# The positions of the line, and the velocity with its lens.  Born data: subsalt model model.toml --born dm.rsf
title = "five reflectors below a lens"

[model]
vp = "vp.rsf"

[source]
f0 = {f0:g}

[acquisition]
shots = {{ first = [{first:g}, {deep:g}], last = [{last:g}, {deep:g}], n = {shots} }}
receivers = {{ first = [{first:g}, {deep:g}], last = [{last:g}, {deep:g}], n = {receivers} }}
record_length = {record:g}
dt = 0.004

[propagation]
grid = "model"
"""

MIGRATE_JOB = """\
title = "five reflectors below a lens"

[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"   # Born data have no direct waves

[model]
vp = "vp.rsf"

[source]
f0 = {f0:g}

[propagation]
grid = "model"

[imaging]
condition = "cross-correlation"
filter = "laplacian"
top_mute = {mute:g}
"""

LEAST_SQUARES_JOB = """\
method = "lsrtm"
title = "five reflectors below a lens, by least squares"

[data]
files = ["shots/*.sgy"]
first_breaks = "ignore"   # Born data have no direct waves

[model]
vp = "vp.rsf"

[source]
f0 = {f0:g}

[propagation]
grid = "model"

[inversion]
iterations = 10
mask = "mask.rsf"         # nothing reflects above
"""


@dataclass(frozen=True)
class LensLine:
    """Sizes of the line.

    Parameters
    ----------
    spacing : float
        Distance of points, m.
    f0 : float
        Peak frequency, Hz.
    length, depth : float
        Length and depth of the model, m.
    shots, receivers : int
        Evenly from one end to the other.
    record : float
        Length of the records, s.
    tops : tuple of float
        Depths of the reflectors, m.
    """

    spacing: float = 12.5
    f0: float = 12.0
    length: float = 2000.0
    depth: float = 1000.0
    shots: int = 16
    receivers: int = 79
    record: float = 1.3
    tops: tuple[float, ...] = (400.0, 512.5, 625.0, 737.5, 850.0)

    @property
    def grid(self) -> Grid:
        """Grid of the model."""
        h = self.spacing
        return Grid((1 + round(self.length / h), 1 + round(self.depth / h)), (h, h))

    @property
    def rows(self) -> list[int]:
        """Rows of the grid in which the reflectors lie."""
        return [round(top / self.spacing) for top in self.tops]

    @property
    def mute(self) -> float:
        """Depth above which nothing reflects: halfway from the middle of the lens to the first reflector, m."""
        return 0.5 * (LENS_DEPTH + self.tops[0])

    def vp(self) -> NDArray[np.float32]:
        """Return the velocity, which is that of the migration too, m/s."""
        x, z = self.grid.axis(0)[:, None] - 0.5 * self.length, self.grid.axis(1)[None] - LENS_DEPTH
        lens = np.exp(-0.5 * ((x / LENS_WIDTH) ** 2 + (z / LENS_HEIGHT) ** 2))
        return (SPEED * (1.0 - SLOWER * lens)).astype(np.float32)

    def dm(self) -> NDArray[np.float32]:
        """Return the perturbation of 1 / v^2 that reflects, s^2/m^2."""
        out = np.zeros(self.grid.shape, np.float32)
        out[:, self.rows] = CONTRAST / SPEED**2
        return out

    def mask(self) -> NDArray[np.float32]:
        """Return 0 above the mute and 1 from 50 m below it on."""
        z = np.broadcast_to(self.grid.axis(1), self.grid.shape)
        return np.clip((z - self.mute) / 50.0, 0.0, 1.0).astype(np.float32)

    def write(self, folder: Path) -> None:
        """Write models, jobs and truth into a folder that is there, and the Born data of the reflectors."""
        volume.write(folder / "vp.rsf", self.grid, self.vp(), name="vp")
        volume.write(folder / "dm.rsf", self.grid, self.dm(), name="dm")
        volume.write(folder / "mask.rsf", self.grid, self.mask(), name="mask")
        deep = self.spacing
        text = MODEL_JOB.format(
            f0=self.f0,
            first=2.0 * deep,
            last=self.length - 2.0 * deep,
            deep=deep,
            shots=self.shots,
            receivers=self.receivers,
            record=self.record,
        )
        publish_text(folder / "model.toml", text)
        publish_text(folder / "migrate.toml", MIGRATE_JOB.format(f0=self.f0, mute=self.mute))
        publish_text(folder / "lsrtm.toml", LEAST_SQUARES_JOB.format(f0=self.f0))
        truth = {"depths": self.tops, "contrast": CONTRAST, "dm": CONTRAST / SPEED**2}
        publish_text(folder / "truth.json", json.dumps(truth) + "\n")
        born_job(Job.from_toml(folder / "model.toml"), BornImage(folder / "dm.rsf"), folder / "shots")


def make(folder: Path, shots: int) -> None:
    """Write the line of so many shots into a folder that is there."""
    LensLine(shots=shots).write(folder)


EXAMPLE = Example(
    summary="a 2-D line over five flat reflectors of equal contrast below a lens, Born data",
    make=make,
    shots=16,
    most=79,
    files={
        "shots": "the Born data of the reflectors, 79 receivers, 1.3 s at 4 ms, one SEG-Y file each",
        "vp.rsf": "P velocity, m/s, every 12.5 m: 2000, in the middle of the lens 1600",
        "dm.rsf": "the perturbation of 1 / v^2 that reflects, s^2/m^2",
        "model.toml": "the job that modelled the shots, with --born dm.rsf",
        "migrate.toml": "a job that migrates them",
        "lsrtm.toml": "a job that migrates them by least squares",
        "mask.rsf": "0 above 300 m, where that image stays zero, 1 from 350 m on",
        "truth.json": "depths and contrast of the reflectors",
    },
    truth="reflectors at 400, 512.5, 625, 737.5 and 850 m, each 1 / v^2 greater by 5 %",
    commands=(
        "subsalt migrate migrate.toml",
        "subsalt view migrate.run",
        "subsalt migrate lsrtm.toml",
        "subsalt view lsrtm.run",
        "subsalt model model.toml --born lsrtm.run/image.rsf",
    ),
)
