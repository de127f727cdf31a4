"""A marine 2-D line with ghosts, swell, noise, dead and reversed traces, from formulas.

It has the geometry of the Mobil AVO Viking Graben line 12: a shot every 25 m, a cable of 120 channels every 25 m from
262 m behind the source, 1500 samples of 4 ms. Source and cable are 6 and 10 m deep. The whole line has 1001 shots,
0.75 GB.

A trace is a sum of events, each a shifted source function: the direct wave with its ghost (exact for the water over a
free surface), the sea floor, seven layers and the first multiple of the sea floor with the moveout of the column at
the midpoint (shifted hyperbolas), head waves along the sea floor, and diffractions from points. All have the ghosts of
source and receiver, and the spreading of a point source. Noise is white and swell, and differs from shot to shot.
Everything follows from the number of the shot: the same file each time, and the first 20 shots of the line are the
line of 20 shots.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from subsalt.acquisition.survey import Shot, Survey
from subsalt.acquisition.wavelet import Wavelet, from_samples
from subsalt.earth.grid import Grid
from subsalt.examples.example import Example
from subsalt.io.publish import publish_text
from subsalt.io.segy.writing import write_survey
from subsalt.io.volumes import volume
from subsalt.numerics.filters import minimum_phase

SHOTS, CHANNELS, NT, DT = 1001, 120, 1500, 0.004
SHOT_STEP, GROUP, NEAR = 25.0, 25.0, 262.0
SOURCE_DEPTH, CABLE_DEPTH = 6.0, 10.0
#: velocity of the water, and below the sea floor, m/s
WATER, BELOW = 1480.0, 1850.0
#: growth of the sea floor's reflection towards grazing incidence, as beyond a critical angle
WIDE = 6.0
#: depth grid of the model of the whole line
GRID = Grid((2285, 320), (12.5, 12.5))
#: model in front of the last source, m
AHEAD = 1000.0
#: mean depth, relief and wavelength (m), and reflection coefficient of every reflector; the first is the sea floor
REFLECTORS = (
    (355.0, 15.0, 9000.0, 0.25),
    (640.0, 20.0, 7000.0, 0.06),
    (980.0, 20.0, 5200.0, -0.05),
    (1350.0, 30.0, 6100.0, 0.07),
    (1820.0, 45.0, 8000.0, 0.10),
    (2350.0, 50.0, 7100.0, 0.08),
    (2900.0, 60.0, 11000.0, -0.06),
    (3400.0, 40.0, 9000.0, 0.09),
)
#: points that diffract: distance from one to the next along the line, m, and their depths
EVERY, POINTS = 1500.0, (1500.0, 2100.0, 2650.0)
#: interval of the tabulated source function, and its length, s
FINE, LENGTH = 0.0005, 0.24
#: white noise and swell, rms, as parts of the largest direct wave at the nearest channel
WHITE, SWELL = 0.004, 0.005


def grid_of(shots: int) -> Grid:
    """Return the part of `GRID` in which so many shots lie."""
    last = NEAR + GROUP * (CHANNELS - 1) + SHOT_STEP * (shots - 1)
    nx = min(GRID.shape[0], int((last + AHEAD) // GRID.spacing[0]) + 1)
    return Grid((nx, GRID.shape[1]), GRID.spacing)


def wavelet() -> Wavelet:
    """Return the source function: minimum phase, 5 to 70 Hz, without a mean; in Pa m."""

    def amplitude(f: np.ndarray) -> np.ndarray:
        low = f**2 / (f**2 + 7.0**2)
        return low / (1.0 + (f / 42.0) ** 8)

    n = round(LENGTH / FINE)
    taps = minimum_phase(amplitude, n, FINE).taps
    taps = taps * np.sin(0.5 * np.pi * np.minimum(1.0, np.arange(n, 0, -1) / (0.3 * n))) ** 2
    fade = np.sin(np.pi * np.arange(n) / n) ** 2
    taps = taps - fade * taps.sum() / fade.sum()
    return from_samples(2.0e5 * taps / np.abs(taps).max(), FINE, name="source function")


def depth_of(reflector: tuple[float, float, float, float], x: np.ndarray) -> np.ndarray:
    """Return the depth of a reflector below positions x, m."""
    mean, relief, length, _ = reflector
    return mean + relief * np.sin(2.0 * np.pi * x / length + mean)


def velocity(below: float = 0.0) -> np.ndarray:
    """Return vp at the nodes of `GRID`, or so far below them: water, then sediments, faster with depth."""
    x, z = GRID.axis(0)[:, None], GRID.axis(1)[None, :] + below
    floor = depth_of(REFLECTORS[0], x)
    return np.where(z < floor, WATER, BELOW + 0.5 * (z - floor)).astype(np.float32)


class Line:
    """The events of the line, and the traces that they make.

    Parameters
    ----------
    shots : int
        How many, from the first.
    """

    def __init__(self, shots: int) -> None:
        first = NEAR + GROUP * (CHANNELS - 1)
        src = [(first + SHOT_STEP * k, SOURCE_DEPTH) for k in range(shots)]
        back = NEAR + GROUP * np.arange(CHANNELS)
        rcv = [np.stack([x - back, np.full(CHANNELS, CABLE_DEPTH)], axis=1) for x, _ in src]
        self.survey = Survey.from_arrays(src, rcv, nt=NT, dt=DT)
        self.source = wavelet()
        self.reach = int(LENGTH / DT) + 8
        w = np.append(self.source.samples, 0.0)
        self.shape = w
        self.integral = np.cumsum(w) * FINE
        # time and rms velocity from the surface down to every depth of the columns of the model, every 25 m
        self.x = GRID.axis(0)[::2]
        slow = 1.0 / velocity(0.5 * GRID.spacing[1])[::2].astype(np.float64)
        self.time = np.concatenate(
            [np.zeros((len(slow), 1)), np.cumsum(2.0 * GRID.spacing[1] * slow, axis=1)], axis=1
        )
        path = np.concatenate(
            [np.zeros((len(slow), 1)), np.cumsum(2.0 * GRID.spacing[1] / slow, axis=1)], axis=1
        )
        fourth = np.concatenate(
            [np.zeros((len(slow), 1)), np.cumsum(2.0 * GRID.spacing[1] / slow**3, axis=1)], axis=1
        )
        square = path / np.maximum(self.time, 1e-9)
        self.rms = np.sqrt(square)
        self.rms[:, 0] = WATER
        # mean fourth power of the velocity over the square of the mean square: what bends a moveout off its hyperbola
        self.bend = np.ones_like(square)
        self.bend[:, 1:] = (fourth / np.maximum(self.time, 1e-9) / np.maximum(square, 1.0) ** 2)[:, 1:]
        self.direct = abs(self._near())
        self.done: dict[str, Any] = {"scale": {}, "dead": {}, "reversed": {}, "wild": {}, "misfires": []}

    def _near(self) -> float:
        """Return the largest amplitude of the direct wave at the nearest channel."""
        out = np.zeros((1, NT))
        self._direct(out, np.array([NEAR]))
        return float(np.abs(out).max())

    def _add(self, out: np.ndarray, when: np.ndarray, size: np.ndarray, table: np.ndarray) -> None:
        """Add size times the tabulated function of time minus `when` to traces (n, nt)."""
        first = np.ceil(when / DT).astype(np.int64)
        k = first[:, None] + np.arange(self.reach)
        at = (k * DT - when[:, None]) / FINE
        i = np.minimum(at.astype(np.int64), len(table) - 2)
        part = np.minimum(at - i, 1.0)
        value = table[i] + part * (table[i + 1] - table[i])
        value[at >= len(table) - 1] = table[-1]
        inside = k < out.shape[1]
        rows = np.broadcast_to(np.arange(len(out))[:, None], k.shape)
        out[rows[inside], k[inside]] += (size[:, None] * value)[inside]

    def _ghosted(
        self,
        out: np.ndarray,
        when: np.ndarray,
        size: np.ndarray,
        down: np.ndarray,
        up: np.ndarray,
        table: np.ndarray,
    ) -> None:
        """Add an event with the ghosts of source and receiver; cosines of the angles in the water at both.

        `when` is that between points on the sea surface.
        """
        s, r = SOURCE_DEPTH * down / WATER, CABLE_DEPTH * up / WATER
        for sign, late in ((1, -s - r), (-1, s - r), (-1, r - s), (1, s + r)):
            self._add(out, when + late, sign * size, table)

    def _direct(self, out: np.ndarray, x: np.ndarray) -> None:
        for sign, apart in ((1, CABLE_DEPTH - SOURCE_DEPTH), (-1, CABLE_DEPTH + SOURCE_DEPTH)):
            r = np.hypot(x, apart)
            self._add(out, r / WATER, sign / (4.0 * np.pi * r), self.shape)

    def column(self, what: np.ndarray, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return a quantity of the columns at positions, nearest along the line, linear in depth."""
        i = np.clip(np.rint((x - self.x[0]) / (self.x[1] - self.x[0])).astype(np.int64), 0, len(self.x) - 1)
        at = np.clip(z / GRID.spacing[1], 0, what.shape[1] - 1.001)
        k = at.astype(np.int64)
        return what[i, k] + (at - k) * (what[i, k + 1] - what[i, k])

    def clean(self, xs: float, x: np.ndarray) -> np.ndarray:
        """Return traces (n, nt) of a source at `xs` and receivers `x` behind it, without noise."""
        out = np.zeros((len(x), NT))
        self._direct(out, x)
        middle = xs - 0.5 * x
        for place, reflector in enumerate(REFLECTORS):
            z = depth_of(reflector, middle)
            t0, v, s = (self.column(what, middle, z) for what in (self.time, self.rms, self.bend))
            self._reflection(out, x, (t0, v, s), reflector[3], WIDE if place == 0 else 0.0)
            if place == 0:
                self._reflection(out, x, (2.0 * t0, v, s), -(reflector[3] ** 2))
        self._head(out, x, middle)
        for n in range(int((xs + 2000.0) // EVERY) + 1):
            where = EVERY * (n + 0.5)
            if abs(where - (xs - 1500.0)) < 3500.0:
                self._diffraction(out, xs, x, where, POINTS[n % len(POINTS)])
        return out

    def _reflection(
        self,
        out: np.ndarray,
        x: np.ndarray,
        column: tuple[np.ndarray, np.ndarray, np.ndarray],
        coefficient: float,
        wide: float = 0.0,
    ) -> None:
        """Add a reflection; `wide` is by how much its coefficient has grown where the wave grazes.

        Its time is that of a shifted hyperbola (Castle 1994), right to the fourth order of offset in any column.
        """
        t0, v, s = column
        root = np.sqrt((t0 / s) ** 2 + x**2 / (s * v * v))
        when = t0 * (1.0 - 1.0 / s) + root
        sine = np.minimum(WATER * x / (s * v * v * root), 0.999)
        cosine = np.sqrt(1.0 - sine**2)
        # spreading of reflections in layers (Newman 1973)
        size = coefficient * (1.0 + wide * sine**4) / (4.0 * np.pi * v * v * when / WATER)
        self._ghosted(out, when, size, cosine, cosine, self.shape)

    def _head(self, out: np.ndarray, x: np.ndarray, middle: np.ndarray) -> None:
        """Add the head wave along the sea floor, beyond the critical offset; its wavelet is the integral."""
        below = BELOW
        sine = WATER / below
        cosine = np.sqrt(1.0 - sine**2)
        floor = depth_of(REFLECTORS[0], middle)
        along = x - 2.0 * floor * sine / cosine
        use = along > 0.0
        if not use.any():
            return
        when = x[use] / below + 2.0 * floor[use] * cosine / WATER
        # ray theory, which is infinite at the critical offset: kept finite there
        size = WATER * sine / (2.0 * np.pi * (1.0 - sine**2) * np.sqrt(x[use]) * (along[use] + 250.0) ** 1.5)
        part, c = np.zeros((int(use.sum()), NT)), np.full(int(use.sum()), cosine)
        self._ghosted(part, when, size, c, c, self.integral)
        out[use] += part

    def _diffraction(self, out: np.ndarray, xs: float, x: np.ndarray, where: float, depth: float) -> None:
        z, at = np.array([depth]), np.array([where])
        half, v = 0.5 * self.column(self.time, at, z)[0], self.column(self.rms, at, z)[0]
        down = np.sqrt(half**2 + ((xs - where) / v) ** 2)
        up = np.sqrt(half**2 + ((xs - x - where) / v) ** 2)
        size = np.full(len(x), 6.0e4) / ((4.0 * np.pi) ** 2 * v * v * down * up) * 4.0 * np.pi / WATER
        c, d = half / up, np.full(len(x), half / down)
        self._ghosted(out, down + up, size, d, c, self.shape)

    def traces(self, shot: Shot) -> np.ndarray:
        """Return the traces (channels, nt) of a shot as they would be recorded."""
        number = shot.id
        rng = np.random.default_rng([12, number])
        scale = float(np.exp(0.08 * rng.standard_normal()))
        if rng.random() < 0.012:
            # a misfire
            scale *= 0.1
            self.done["misfires"].append(number)
        self.done["scale"][number] = scale
        out = scale * self.clean(float(shot.src[0]), np.abs(shot.rcv[:, 0] - shot.src[0]))
        noise = WHITE * self.direct * float(np.exp(0.3 * rng.standard_normal()))
        if rng.random() < 0.008:
            noise *= 30.0
        out += noise * rng.standard_normal(out.shape, dtype=np.float32)
        self._swell(out, rng)
        self._spoil(out, number, rng)
        return out.astype(np.float32)

    def _swell(self, out: np.ndarray, rng: np.random.Generator) -> None:
        """Add swell: low frequencies that come and go along the cable."""
        t = DT * np.arange(NT)
        c = np.arange(len(out))
        for f in (0.9, 1.3, 1.7):
            phase = 2.0 * np.pi * (rng.random() + 3.0 * c / len(out) + 0.3 * rng.standard_normal(len(out)))
            level = SWELL * self.direct * np.exp(0.3 * rng.standard_normal(len(out)))
            # sin(w t + phase) of every channel from two rows
            out += np.outer(level * np.cos(phase), np.sin(2.0 * np.pi * f * t))
            out += np.outer(level * np.sin(phase), np.cos(2.0 * np.pi * f * t))

    def _spoil(self, out: np.ndarray, number: int, rng: np.random.Generator) -> None:
        """Make traces dead, reversed and wild."""
        draw = rng.random(len(out))
        dead = np.flatnonzero(draw < 0.004)
        reversed_ = np.flatnonzero((draw >= 0.004) & (draw < 0.007))
        wild = np.flatnonzero((draw >= 0.007) & (draw < 0.008))
        out[reversed_] *= -1.0
        for i in wild:
            out[i] += 40.0 * float(np.abs(out[i]).max()) * rng.standard_normal(NT)
        out[dead] = 0.0
        for name, rows in (("dead", dead), ("reversed", reversed_), ("wild", wild)):
            if len(rows):
                self.done[name][number] = (rows + 1).tolist()


def make(folder: Path, shots: int) -> None:
    """Write the line of so many shots into a folder that is there."""
    line, grid = Line(shots), grid_of(shots)
    w = line.source
    rows = [f"{t:.6f} {v:.9e}" for t, v in zip(w.times(), w.samples, strict=True)]
    publish_text(folder / "wavelet.txt", "\n".join(["# time (s), source function", *rows, ""]))
    vp = velocity()[: grid.shape[0]]
    for name in ("vp.rsf", "vp.sgy"):
        volume.write(folder / name, grid, vp)
    write_survey(folder / "line.sgy", line.survey, data=line.traces)
    publish_text(folder / "truth.json", json.dumps(line.done) + "\n")


EXAMPLE = Example(
    summary="a marine 2-D line with ghosts, swell, noise and faulty traces",
    make=make,
    shots=60,
    most=SHOTS,
    files={
        "line.sgy": "the shots: 120 channels, offsets 262 to 3237 m, 6 s at 4 ms",
        "vp.sgy": "P velocity, m/s, every 12.5 m in x and z; vp.rsf holds the same",
        "wavelet.txt": "the source function that was put in: time in s, Pa m",
        "truth.json": "scale of every shot; dead, reversed and wild traces; misfires",
    },
    truth="reflectors at mean depths of 355 (sea floor), 640, 980, 1350, 1820, 2350, 2900 and 3400 m",
    commands=(
        "subsalt scan line.sgy --first-breaks",
        "subsalt init line.toml --from line.sgy --vp vp.sgy",
        "subsalt wavelet line.toml",
        "subsalt check line.toml",
        "subsalt migrate line.toml",
    ),
)
