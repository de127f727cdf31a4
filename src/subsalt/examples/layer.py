"""A modelled 2-D line with white noise over a layer whose velocity is 4 % too high in its model.

Flat layers of 2000, 2500, 3000 and 3500 m/s; the second, 300 m thick, begins at 800 m. Receivers lie within 2 km on
both sides of every shot. Traces are those of the layers less those of the first layer alone, without direct waves.
Everything follows from the numbers here: the same file each time.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.acquisition.wavelet import ricker
from subsalt.api import forward
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.examples.example import Example
from subsalt.io.publish import publish_text
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume

#: depths at which the velocity changes, m, and velocities above and below them, m/s
TOPS, VELOCITIES = (800.0, 1100.0, 1400.0), (2000.0, 2500.0, 3000.0, 3500.0)
#: the velocity of the second layer in the model of the example, over the true one
ERROR = 1.04
#: half length of the spread, m, and standard deviation of the noise over the rms of the traces of the survey
OFFSET, NOISE = 2000.0, 0.1

JOB = """\
title = "a layer that is 4 % too fast"

[data]
files = "line.sgy"
first_breaks = "ignore"   # direct waves are removed

[model]
vp = "vp.rsf"

[source]
f0 = {f0:g}

[propagation]
grid = "model"

[imaging]
condition = "cross-correlation"
filter = "laplacian"
gathers = {{ kind = "angle", max = {most:g}, every = {every}, angle = "40 deg" }}
"""


@dataclass(frozen=True)
class LayerLine:
    """Sizes of the line.

    Gathers go to 40 degrees. Offsets of 2 km light the base of the layer up to 50 degrees, but within a Fresnel zone of
    the last receiver, ``sqrt(wavelength path) / cos``, here 600 m, the end of the spread bends events: 1400 m are 40.

    Parameters
    ----------
    spacing : float
        Distance of points, m.
    f0 : float
        Peak frequency, Hz.
    length, depth : float
        Length and depth of the model, m.
    shots : int
        Shots, evenly about the middle.
    shot_step, group : float
        Distance of shots and of receivers, m.
    every : int
        Columns from one gather to the next.
    nt : int
        Samples, every 2 ms.
    widest : float
        Largest half offset of the gathers, m.
    """

    spacing: float = 10.0
    f0: float = 15.0
    length: float = 5000.0
    depth: float = 1600.0
    shots: int = 31
    shot_step: float = 100.0
    group: float = 25.0
    every: int = 25
    nt: int = 1001
    widest: float = 400.0

    @property
    def grid(self) -> Grid:
        """Grid of the model."""
        h = self.spacing
        return Grid((1 + round(self.length / h), 1 + round(self.depth / h)), (h, h))

    def vp(self, error: float = 1.0) -> NDArray[np.float32]:
        """Return the velocity, that of the second layer times `error`."""
        values = np.array(VELOCITIES) * np.array([1.0, error, 1.0, 1.0])
        column = values[np.searchsorted(np.array(TOPS), self.grid.axis(1), side="right")]
        return np.tile(column.astype(np.float32), (self.grid.shape[0], 1))

    def mask(self) -> NDArray[np.float32]:
        """Return one in the second layer, zero elsewhere."""
        z = self.grid.axis(1)
        inside = (z >= TOPS[0]) & (z < TOPS[1])
        return np.tile(inside.astype(np.float32), (self.grid.shape[0], 1))

    def survey(self) -> Survey:
        """Return the traces."""
        middle, half = 0.5 * self.length, 0.5 * self.shot_step * (self.shots - 1)
        deep = self.spacing
        x = np.arange(0.0, self.length + 0.5 * self.group, self.group)
        shots = []
        for number, at in enumerate(np.linspace(middle - half, middle + half, self.shots), start=1):
            near = x[np.abs(x - at) <= OFFSET]
            rcv = np.stack([near, np.zeros(len(near)), np.full(len(near), deep)], axis=1)
            shots.append(Shot(number, np.array([at, 0.0, deep]), rcv))
        empty = Survey(shots, TimeAxis(self.nt, 0.002), 2)
        wavelet = ricker(self.f0, 0.002)
        layers, alone = (
            forward(EarthModel(self.grid, vp=v), empty, wavelet, grid="model").survey.shots
            for v in (self.vp(), np.full(self.grid.shape, VELOCITIES[0], np.float32))
        )
        clean = [
            np.asarray(a.data, np.float64) - np.asarray(b.data, np.float64)
            for a, b in zip(layers, alone, strict=True)
        ]
        rms = np.sqrt(np.mean(np.concatenate([c.ravel() for c in clean]) ** 2))
        rng = np.random.default_rng(42)
        noisy = [
            replace(shot, data=(c + NOISE * rms * rng.standard_normal(c.shape)).astype(np.float32))
            for shot, c in zip(shots, clean, strict=True)
        ]
        return replace(empty, shots=noisy)

    def write(self, folder: Path) -> None:
        """Write survey, model, mask, job and truth into a folder that is there."""
        write_survey(folder / "line.sgy", self.survey())
        volume.write(folder / "vp.rsf", self.grid, self.vp(ERROR))
        volume.write(folder / "vp_true.rsf", self.grid, self.vp())
        volume.write(folder / "layer.rsf", self.grid, self.mask())
        job = JOB.format(f0=self.f0, most=self.widest, every=self.every)
        publish_text(folder / "line.toml", job)
        publish_text(folder / "truth.json", json.dumps({"error": ERROR, "best_scale": 1 / ERROR}) + "\n")


def depth_of_base(trace: NDArray[np.floating], dz: float) -> float:
    """Return the depth of the base of the second layer in a trace of an image from the surface down, m, by a parabola.

    Velocity grows there, so that its event is a peak. The troughs beside it are no guide: what a contrast of the model
    scatters, 90 degrees out of phase, makes one of them the loudest at one velocity and the peak at another.
    """
    a = np.asarray(trace, np.float64)
    first, end = (round((TOPS[1] + apart) / dz) for apart in (-100.0, 100.0))
    k = first + int(np.argmax(a[first:end]))
    above, top, below = a[k - 1 : k + 2]
    return float(dz * (k + 0.5 * (above - below) / (above - 2 * top + below)))


def make(folder: Path, shots: int) -> None:
    """Write the line of so many shots into a folder that is there."""
    LayerLine(shots=shots).write(folder)


EXAMPLE = Example(
    summary="a 2-D line over a layer whose velocity is 4 % too high in its model",
    make=make,
    shots=31,
    most=41,
    files={
        "line.sgy": "the shots: offsets to 2 km, 2 s at 2 ms, without direct waves, with white noise",
        "line.toml": "a job that migrates them, with angle gathers",
        "vp.rsf": "P velocity, m/s, every 10 m: 2600 instead of 2500 m/s from 800 to 1100 m",
        "vp_true.rsf": "the true one",
        "layer.rsf": "one from 800 to 1100 m, zero elsewhere",
        "truth.json": "the planted error, and the scale that takes it back",
    },
    truth="reflectors at 800, 1100 and 1400 m; scale of the layer 0.9615",
    commands=(
        "subsalt migrate line.toml",
        "subsalt view line.run --gathers",
        "subsalt vscan line.toml 0.92:1.04:0.02 --mask layer.rsf --update",
    ),
)
