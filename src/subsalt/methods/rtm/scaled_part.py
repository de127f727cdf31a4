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
from subsalt.io.volumes.horizon import read_horizon
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
        depth = read_horizon(request.below, grid, "--below", CODE)
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
