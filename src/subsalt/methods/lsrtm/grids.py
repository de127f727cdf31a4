"""Mask and starting image of a job on the grid on which waves are computed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.earth.regrid import Regridder
from subsalt.errors import ConfigError
from subsalt.io.volumes.volume import open_volume, read
from subsalt.methods.rtm.setup import MigrationSetup

if TYPE_CHECKING:
    from subsalt.methods.lsrtm.job import LeastSquaresJob

#: difference of two grids, in their spacing, that counts as none: what headers round
ROUNDED = 1e-3


def on_wave_grid(
    job: LeastSquaresJob, setup: MigrationSetup, name: Literal["start", "mask"]
) -> NDArray[np.float64] | None:
    """Return the values of a file that the job names, on the grid of the waves; None where it names none.

    Raises
    ------
    ConfigError
        When the file is on another grid than the image, or has values that are no numbers (E896).
    """
    file = getattr(job.inversion, name)
    if file is None:
        return None
    path, grid = job.resolve(file), setup.image_grid
    volume = read(path)
    _same(name, path, volume.grid, grid)
    values = np.asarray(volume.values, dtype=np.float64).reshape(grid.shape)
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise ConfigError(
            f"[inversion] {name}: {path} is not finite at {bad} of {values.size} points",
            "give finite values",
            code="E896",
        )
    if not setup.carries:
        return values
    carried = Regridder(grid, setup.model.grid, "mirror").carried(values, 0, 0, setup.model.grid.shape3[0])
    # a mask swings beyond 0 and 1 beside its edges
    return np.clip(carried, 0.0, None) if name == "mask" else carried


def refuse_other_grid(job: LeastSquaresJob) -> None:
    """Raise when mask or start of a job are on another grid than its image; reads their headers alone (E896)."""
    for name in ("start", "mask"):
        if (file := getattr(job.inversion, name)) is not None:
            path = job.resolve(file)
            _same(name, path, open_volume(path).grid, job.open_model().grid)


def _same(name: str, path: Path, there: Grid, grid: Grid) -> None:
    """Raise when the grid of a file is not that of the image."""
    same = there.shape == grid.shape and all(
        abs(a - b) <= ROUNDED * h
        for pair in ((there.origin, grid.origin), (there.spacing, grid.spacing))
        for a, b, h in zip(*pair, grid.spacing, strict=True)
    )
    if not same:
        raise ConfigError(
            f"[inversion] {name}: {path} has {_said(there)}, the image of this job {_said(grid)}",
            "give a file on the grid of the image, such as image.rsf of a run of this job",
            code="E896",
        )


def _said(grid: Grid) -> str:
    """Return a grid in words."""
    shape, spacing, origin = (
        " x ".join(f"{v:g}" for v in values) for values in (grid.shape, grid.spacing, grid.origin)
    )
    return f"{shape} points at {spacing} m from {origin} m"
