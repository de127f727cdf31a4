"""From the table `[velocity]` to the velocity that computes: files opened and placed, units converted, smoothed.

Smoothing averages over two-way time and over the map. The average is one of values as they are (rms velocities: what
velocity tools of the field smooth, too), weighted with a raised cosine ``(1 + cos(2 pi x / L)) / 2`` of full length L
along each direction in turn. On the map it is computed at nodes that stand at every so many line numbers, an eighth
of the length apart, and taken linearly between them; a node depends on its own surroundings alone, so that any block
of points, and an image of any lines, sees the same bits. Constants and linear trends stay what they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, numbers_of, positions_of
from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ModelError
from subsalt.io.segy.geometry import FOOT
from subsalt.io.segy.headers import HeaderBytes
from subsalt.io.volumes.in_time import TimeVolume, is_volume, open_time_volume
from subsalt.io.volumes.velocity_text import TextFunctions, read_velocity_text
from subsalt.job.units import known_unit, to_si
from subsalt.methods.kirchhoff.velocity.fields import (
    Array,
    ConstantField,
    Functions,
    Profile,
    ScaledField,
    TimeField,
    VolumeField,
)
from subsalt.methods.kirchhoff.velocity.section import LONGEST
from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity
from subsalt.numerics import fixedmath

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.velocity.section import FunctionSection, TimeFileSection, VelocitySection


#: nodes per length of an average
PER_LENGTH = 8
#: nodes along the side of a tile that is averaged at one time
TILE = 16


class SmoothedField(TimeField):
    """The average of another field.

    Parameters
    ----------
    field : TimeField
        The other field.
    grid : ImageGrid
        Grid of the image: gives the positions of the nodes.
    time, inline, crossline : float
        Full lengths: s; m in the direction in which inlines, and in which crosslines, follow each other. 0: no average.
    """

    def __init__(
        self,
        field: TimeField,
        grid: ImageGrid,
        time: float = 0.0,
        inline: float = 0.0,
        crossline: float = 0.0,
    ) -> None:
        self.field, self.grid, self.source = field, grid, field.source
        self.length, self.lengths = time, (inline, crossline)
        spacing = grid.numbered_spacing
        self.every = tuple(
            max(1, math.floor(length / (PER_LENGTH * h)))
            for length, h in zip(self.lengths, spacing, strict=True)
        )
        self._weights = [
            cosine_weights(length / (h * every))
            for length, h, every in zip(self.lengths, spacing, self.every, strict=True)
        ]

    def sample(self, points: Array, time: TimeAxis) -> Array:
        """Return the values (n, nt)."""
        if all(len(w) == 1 for w in self._weights):
            return self._in_time(points, time)
        at = numbers_of(self.grid, points) / np.array(self.every, dtype=np.float64)
        low = np.floor(at).astype(np.int64)
        share = at - low
        out = np.empty((len(points), time.nt))
        tiles = low // TILE
        for tile in np.unique(tiles, axis=0):
            rows = np.nonzero((tiles == tile).all(axis=1))[0]
            out[rows] = self._tile(low[rows], share[rows], time)
        return out

    def _tile(self, low: NDArray[np.int64], share: Array, time: TimeAxis) -> Array:
        """Return values at points given by the node before them, and the share of the node after it, per axis."""
        first = low.min(axis=0)
        end = (low + (share > 0)).max(axis=0) + 1
        nodes = self._nodes(first, end, time)
        (i0, j0), (ni, nj) = (low - first).T, nodes.shape[:2]
        i1, j1 = np.minimum(i0 + 1, ni - 1), np.minimum(j0 + 1, nj - 1)
        si, sj = share[:, :1], share[:, 1:]
        a, c = nodes[i0, j0], nodes[i1, j0]
        left = a + (nodes[i0, j1] - a) * sj
        right = c + (nodes[i1, j1] - c) * sj
        return left + (right - left) * si

    def _nodes(self, first: NDArray[np.int64], end: NDArray[np.int64], time: TimeAxis) -> Array:
        """Return averages (ni, nj, nt) at the nodes first <= (i, j) < end."""
        reach = [len(w) // 2 for w in self._weights]
        i, j = (np.arange(first[k] - reach[k], end[k] + reach[k]) * self.every[k] for k in (0, 1))
        numbers = np.stack(np.broadcast_arrays(i[:, None], j[None, :]), axis=-1).reshape(-1, 2)
        values = self._in_time(positions_of(self.grid, numbers.astype(np.float64)), time)
        values = values.reshape(len(i), len(j), time.nt)
        for axis in (0, 1):
            values = averaged(values, self._weights[axis], axis)
        return values

    def _in_time(self, points: Array, time: TimeAxis) -> Array:
        weights = cosine_weights(self.length / time.dt)
        reach = len(weights) // 2
        if not reach:
            return self.field.sample(points, time)
        longer = TimeAxis(time.nt + 2 * reach, time.dt, time.t0 - reach * time.dt)
        return averaged(self.field.sample(points, longer), weights, 1)

    def describe(self) -> dict[str, Any]:
        """Return plain values for reports."""
        length = {"time_s": self.length, "inline_m": self.lengths[0], "crossline_m": self.lengths[1]}
        return self.field.describe() | {"smooth": {k: v for k, v in length.items() if v}}


def cosine_weights(length: float) -> Array:
    """Return the normalised raised cosine of a full length in samples; a single 1 where it holds one sample only."""
    reach = max(0, math.ceil(length / 2) - 1)
    if reach == 0:
        return np.ones(1)
    raw = 0.5 * (1.0 + fixedmath.cos(2 * fixedmath.PI * np.arange(-reach, reach + 1) / length))
    return raw / math.fsum(raw)


def averaged(values: Array, weights: Array, axis: int) -> Array:
    """Return weighted sums along an axis, which loses the reach of the weights at both ends."""
    n = values.shape[axis] - len(weights) + 1
    out = np.zeros(1)
    for k, w in enumerate(weights):
        part = values[(slice(None),) * axis + (slice(k, k + n),)] * w
        out = part if k == 0 else out + part
    return out


Resolve = Callable[[str], Path]

#: a function that ends before this in ms ends before its first tenth of a second
SHORTEST = 30.0


def open_velocity(
    section: VelocitySection, resolve: Resolve, grid: ImageGrid, curved: bool = False
) -> FieldVelocity:
    """Return the velocity of a job.

    Parameters
    ----------
    section : VelocitySection
        Section of the job.
    resolve : callable
        From the name of a file in the job to its path.
    grid : ImageGrid
        Grid of the image: places inline and crossline numbers on the map.
    curved : bool
        ``[kirchhoff] traveltime = "curved"``.

    Raises
    ------
    ModelError, SegyError
        When a file cannot be read or placed, or is no velocity in time.
    """
    fields_ = given_fields(section, resolve, grid)
    v = fields_["v"]
    if section.scale != 1.0:
        v = ScaledField(v, section.scale)
    smooth = section.smooth
    if smooth is not None and (smooth.time or smooth.inline or smooth.crossline):
        v = SmoothedField(v, grid, smooth.time, smooth.inline, smooth.crossline)
    return FieldVelocity(v, fields_.get("eta"), curved)


def given_fields(section: VelocitySection, resolve: Resolve, grid: ImageGrid) -> dict[str, TimeField]:
    """Return rms velocity and eta as fields, as given: not yet scaled or smoothed."""
    out: dict[str, TimeField] = {}
    if section.file is None:
        assert section.v is not None
        out["v"] = _inline(section.v, section.kind)
    else:
        path = resolve(section.file)
        if is_volume(path):
            out["v"] = _volume(section, path, grid, section.kind, section.unit, "velocity")
        else:
            text = read_velocity_text(path, section.columns)
            out["v"] = _functions(text, "v", section, grid, section.kind, section.unit)
            if "eta" in text.columns and section.eta is None:
                out["eta"] = _functions(text, "eta", section, grid)
    eta = section.eta
    if eta is not None and eta.value is not None:
        out["eta"] = _inline(eta.value)
    elif eta is not None:
        assert eta.file is not None
        path = resolve(eta.file)
        if is_volume(path):
            out["eta"] = _volume(eta, path, grid, "rms", None, "fraction")
        else:
            out["eta"] = _functions(read_velocity_text(path, eta.columns, "eta"), "eta", eta, grid)
    return out


def _inline(function: FunctionSection, kind: str = "rms") -> TimeField:
    """Return what stands in the job itself."""
    if function.t is None:
        assert isinstance(function.value, float)
        return ConstantField(function.value)
    return Profile(np.array(function.t), np.array(function.value), kind)


def _functions(
    text: TextFunctions,
    column: str,
    section: TimeFileSection,
    grid: ImageGrid,
    kind: str = "rms",
    unit: str | None = None,
) -> TimeField:
    """Return the functions of a text as a field."""
    in_ms = bool(text.in_ms) if section.time_unit is None else section.time_unit == "ms"
    unit = unit or (known_unit(text.unit, "velocity") if column == "v" else None)
    _refuse_time_unit(text, in_ms)
    _refuse_impossible(text, column)
    times = [t * 1e-3 if in_ms else t for t in text.times]
    values = [
        np.asarray(to_si(v, unit, "velocity") if unit else v, dtype=np.float64) for v in text.columns[column]
    ]
    if not text.keys:
        return Profile(times[0], values[0], kind, text.path)
    places, axes = _places(text, grid, FOOT if section.map_unit == "ft" else 1.0)
    return Functions(places, times, values, grid, kind, axes, text.path)


def _refuse_impossible(text: TextFunctions, column: str) -> None:
    """Raise at the first value that no medium has."""
    name, low = ("velocity", 0.0) if column == "v" else ("eta", -0.5)
    for i, (times, values) in enumerate(zip(text.times, text.columns[column], strict=True)):
        if values.min() <= low:
            k = int(np.argmin(values))
            raise ModelError(
                f"{text.path}: {name} {values[k]:g} of {text.name(i)} at time {times[k]:g} (its function begins on "
                f"line {text.lines[i]})",
                f"{name} must be above {low:g}; replace it or remove the line",
                code="E740",
            )


def _refuse_time_unit(text: TextFunctions, in_ms: bool) -> None:
    """Raise when times are in another unit than the job says, or in both."""
    last = np.array([t[-1] for t in text.times])
    long, short = int(np.argmax(last)), int(np.argmin(last))
    if last[long] > LONGEST and 0 < last[short] < SHORTEST and last[long] > 100 * last[short]:
        raise ModelError(
            f"{text.path}: times in s and in ms are mixed; {text.name(short)} ends at {last[short]:g} "
            f"(line {text.lines[short]}), {text.name(long)} at {last[long]:g} (line {text.lines[long]})",
            "write all times in one unit",
            code="E743",
        )
    if not in_ms and last[long] > LONGEST:
        raise ModelError(
            f"{text.path}: {text.name(long)} reaches {last[long]:g} s; these look like ms",
            'if they are: [velocity] time_unit = "ms"',
            code="E743",
        )
    if in_ms and len(text.times[long]) > 1 and last[long] < SHORTEST:
        raise ModelError(
            f"{text.path}: no function goes beyond {last[long]:g} ms; these look like seconds",
            '[velocity] time_unit = "s"',
            code="E743",
        )


def _places(
    text: TextFunctions, grid: ImageGrid, metres: float
) -> tuple[NDArray[np.float64], tuple[bool, bool]]:
    """Return where functions stand, by inline and crossline number, and which of the two tell them apart."""
    if text.keys == ("x", "y"):
        out = numbers_of(grid, text.places * metres)
        across, along = np.ptp(out, axis=0) * np.array(grid.numbered_spacing)
        # picked along a line that is not quite straight
        return out, (not (grid.is_line and 4 * across <= along), True)
    if text.keys == ("inline", "crossline"):
        return text.places, (True, True)
    if text.keys == ("cdp",) and not grid.is_line:
        raise ModelError(
            f"{text.path}: a CDP number alone is no place on an image of {grid.shape[0]} inlines",
            'give inline and crossline: columns = "inline crossline t v"; or x and y',
            code="E747",
        )
    return np.column_stack([np.zeros(len(text)), text.places[:, 0]]), (False, True)


def _volume(
    section: TimeFileSection, path: Path, grid: ImageGrid, kind: str, unit: str | None, measures: str
) -> VolumeField:
    """Return a volume as a field."""
    volume = open_time_volume(
        path,
        header=HeaderBytes().placed({name: (byte, None) for name, byte in section.bytes.items()}),
        key=section.key,
        spacing=section.spacing,
        origin=section.origin,
    )
    if volume.depth:
        raise ModelError(
            f"{path}: {volume.depth}; a time migration needs velocities in two-way time",
            "convert the velocity to time first; if it is in time, correct what the file says",
            code="E746",
        )
    in_ms = section.time_unit == "ms" if section.time_unit else bool(volume.in_ms)
    factor = 1e-3 if in_ms else 1.0
    last = (volume.t0 + volume.dt * (volume.shape[2] - 1)) * factor
    if last > LONGEST:
        raise ModelError(
            f"{path}: its last axis goes in steps of {volume.dt * factor:g} s to {last:g} s: these look like "
            "ms, or like metres of depth",
            'time_unit = "ms" if they are ms; a velocity in depth must be converted to time first',
            code="E746",
        )
    declared = unit or known_unit(volume.unit, measures)
    convert = partial(to_si, unit=declared, kind=measures)
    return VolumeField(volume, grid, _by_map(section, volume, grid), convert, kind, factor)


def _by_map(section: TimeFileSection, volume: TimeVolume, grid: ImageGrid) -> bool:
    """Return whether a volume is placed by its map coordinates."""
    if section.locate == "numbers" and volume.lines is None:
        raise ModelError(
            f"{volume.path} has no inline, crossline or CDP numbers",
            "say where they are: [velocity] bytes = {inline = 189, crossline = 193}; or place it by the map",
            code="E747",
        )
    if section.locate == "map" and volume.place is None:
        raise ModelError(
            f"{volume.path} has no map coordinates that make a regular grid",
            'place it by its line numbers: locate = "numbers"',
            code="E747",
        )
    if section.locate != "auto":
        return section.locate == "map"
    if volume.place is None and volume.lines is None:
        raise ModelError(
            f"{volume.path} tells neither line numbers nor map coordinates",
            "say where they are: [velocity] bytes = {inline = 189, crossline = 193}, or give spacing and origin",
            code="E747",
        )
    if volume.place is None or volume.lines is None:
        return volume.lines is None
    # data without coordinates have an image on an invented map: numbers hold there
    return bool(covers(VolumeField(volume, grid, True), grid)) or not covers(
        VolumeField(volume, grid, False), grid
    )


def covers(field: VolumeField, grid: ImageGrid) -> bool:
    """Return whether the rectangles of a volume and of the image meet."""
    at = field.index_of(grid.corners())
    shape = field.volume.shape
    axes = (1,) if shape[0] == 1 else (0, 1)
    return all(at[:, k].max() >= -0.5 and at[:, k].min() <= shape[k] - 0.5 for k in axes)


def velocity_files(section: VelocitySection, resolve: Resolve) -> dict[str, list[Path]]:
    """Return the files that the table names, by the key that names them.

    Raises
    ------
    MissingInputError
        When one is not there.
    """
    from subsalt.job.inputs import existing, with_payload

    named = {"velocity.file": section.file}
    if section.eta is not None:
        named["velocity.eta.file"] = section.eta.file
    return {k: with_payload(existing(resolve(f), k, stored=True)) for k, f in named.items() if f is not None}
