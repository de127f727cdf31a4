"""The part of a model whose velocity a depth scan scales: everything, what lies below a horizon, or one layer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, DataError, ModelError
from subsalt.io.volumes import volume
from subsalt.run.velocity_scan import ScanRequest

CODE = "E834"


@dataclass(frozen=True)
class ScaledPart:
    """The part of a section or volume whose velocity is scaled.

    Parameters
    ----------
    inside : ndarray of bool, (nx, nz) or (nx, ny, nz)
        The part.
    words : str
        Its name for people.
    layer : bool
        It is a layer: what lies at its base and just below tells its scale.
    """

    inside: NDArray[np.bool_]
    words: str
    layer: bool = False

    def scaled(self, vp: NDArray[np.floating], scale: NDArray[np.float64] | float) -> NDArray[np.float32]:
        """Return a velocity times `scale` inside, as it is elsewhere."""
        return np.where(self.inside, vp * scale, vp).astype(np.float32)

    def flooded(self, vp: NDArray[np.floating], scale: float) -> NDArray[np.float32]:
        """Return the velocity in which a scale is judged: that of a layer goes on below its base.

        Notes
        -----
        A contrast in the model scatters waves back onto their own way. Their correlation is smooth above the contrast
        and ends there; the Laplacian makes an event of that end, 90 degrees out of phase, at the depth of the model's
        contrast at every angle and every scale. On the image of the base it would pull towards the scale that is given.
        """
        values = self.scaled(vp, scale)
        if not self.layer:
            return values
        nz = self.inside.shape[-1]
        base = (nz - 1 - np.argmax(self.inside[..., ::-1], axis=-1))[..., None]
        below = self.inside.any(axis=-1, keepdims=True) & (np.arange(nz) > base)
        return np.where(below, np.take_along_axis(values, base, axis=-1), values)


def part_of(request: ScanRequest, grid: Grid) -> ScaledPart:
    """Return the part of a model that a request scales.

    Raises
    ------
    ConfigError
        E834: both a horizon and a mask are given, or the horizon does not lie in the model.
    ModelError
        E834: the mask is no volume, has another grid, or is zero throughout.
    """
    _refuse_two(request)
    if request.below is not None:
        depth = _horizon(request.below, grid)
        return ScaledPart(grid.axis(grid.ndim - 1) >= depth[..., None], f"below {request.below}")
    if request.mask is not None:
        inside = _mask(request.mask, grid)
        return ScaledPart(inside, f"inside {request.mask.name}", layer=True)
    return ScaledPart(np.ones(grid.shape, bool), "everywhere")


def _mask(path: Path, grid: Grid) -> NDArray[np.bool_]:
    """Return where a mask is not zero."""
    try:
        opened = volume.read(path)
    except DataError as error:
        raise ModelError(
            f"--mask {path} is no volume on a regular grid: {error.message}",
            "give a volume on the grid of the model that is one in the layer and zero elsewhere",
            CODE,
        ) from None
    if opened.grid != grid:
        raise ModelError(
            f"{path} has {opened.grid.shape} points every {opened.grid.spacing} m from "
            f"{opened.grid.origin}; the model has {grid.shape} every {grid.spacing} m from {grid.origin}",
            "give a mask on the grid of the model",
            CODE,
        )
    inside: NDArray[np.bool_] = np.asarray(opened.values) != 0
    if not inside.any():
        raise ModelError(
            f"{path} is zero throughout: nothing would be scaled", "mark the layer by ones", CODE
        )
    return inside


def name_of(request: ScanRequest) -> str:
    """Return a word for the part, from the request alone, with which its folder is named; empty for everything."""
    if request.below is not None:
        word = f"below_{Path(request.below).name}"
    elif request.mask is not None:
        word = request.mask.stem
    else:
        return ""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", word)


def _refuse_two(request: ScanRequest) -> None:
    """Raise when two parts are named."""
    if request.below is not None and request.mask is not None:
        raise ConfigError(
            "--below and --mask: one part of the model is scaled", "leave one of them out", CODE
        )


def _horizon(text: str, grid: Grid) -> NDArray[np.float64]:
    """Return the depth of a horizon at every column, (nx,) or (nx, ny): one number, or a text file of points."""
    z = grid.axis(grid.ndim - 1)
    try:
        depth = np.full(grid.shape[:-1], float(text))
    except ValueError:
        columns = "x and depth" if grid.ndim == 2 else "x, y and depth"
        try:
            table = np.atleast_2d(np.loadtxt(text, dtype=np.float64))
            depth = _between_points(table, grid)
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError(
                f"--below {text}: neither a depth nor a readable table of {columns} ({error})",
                f"give a depth in m, or a text file with {columns} (m) in its first {grid.ndim} columns",
                CODE,
            ) from None
    outside = ~((depth > z[0]) & (depth < z[-1]))
    if outside.any():
        at = np.unravel_index(int(np.argmax(outside)), outside.shape)
        place = ", ".join(
            f"{name} = {grid.axis(k)[i]:g} m" for k, (name, i) in enumerate(zip("xy", at, strict=False))
        )
        raise ConfigError(
            f"--below {text}: at {place} the horizon lies at {depth[at]:g} m, the model goes from {z[0]:g} to "
            f"{z[-1]:g} m",
            "give a horizon inside the model, with depths in m below its datum",
            CODE,
        )
    return depth


def _between_points(table: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Return the depths of a table at every column, linear between its points; those of a volume form a rectangle."""
    if grid.ndim == 2:
        order = np.argsort(table[:, 0])
        return np.interp(grid.axis(0), table[order, 0], table[order, 1])
    xs, ys = (np.unique(table[:, k]) for k in (0, 1))
    known = np.full((len(xs), len(ys)), np.nan)
    known[np.searchsorted(xs, table[:, 0]), np.searchsorted(ys, table[:, 1])] = table[:, 2]
    if not np.isfinite(known).all():
        raise ValueError(f"its {len(table)} points do not fill a rectangle of {len(xs)} x by {len(ys)} y")
    along_x = np.stack([np.interp(grid.axis(0), xs, column) for column in known.T], axis=1)
    return np.stack([np.interp(grid.axis(1), ys, row) for row in along_x])
