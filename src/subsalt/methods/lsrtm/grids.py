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
from subsalt.methods.rtm.born_job import of_migration
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
        When the file is on another grid than the image, or its values are no mask, or no image to start from (E896).
    """
    values = _fitting(job, name, setup.image_grid, setup.model.vp_min)
    if values is None or not setup.carries:
        return values
    grid = setup.image_grid
    carried = Regridder(grid, setup.model.grid, "mirror").carried(values, 0, 0, setup.model.grid.shape3[0])
    # a mask swings beyond 0 and 1 beside its edges
    return np.clip(carried, 0.0, None) if name == "mask" else carried


def refuse_unfit_files(job: LeastSquaresJob) -> None:
    """Raise when mask or start of a job do not fit its image (E896), before a run has computed anything."""
    model = job.open_model()
    for name in ("start", "mask"):
        _fitting(job, name, model.grid, model.vp_min)


def _fitting(
    job: LeastSquaresJob, name: Literal["start", "mask"], grid: Grid, slowest: float
) -> NDArray[np.float64] | None:
    """Return the values of a file that the job names, on the grid of the image, or refuse it; None without a file."""
    file = getattr(job.inversion, name)
    if file is None:
        return None
    path = job.resolve(file)
    _same(name, path, open_volume(path).grid, grid)
    values = np.asarray(read(path).values, dtype=np.float64).reshape(grid.shape)
    bad = int(np.count_nonzero(~np.isfinite(values)))
    if bad:
        raise ConfigError(
            f"[inversion] {name}: {path} is not finite at {bad} of {values.size} points",
            "give finite values",
            code="E896",
        )
    if name == "mask":
        _refuse_no_mask(path, values)
    else:
        _refuse_no_start(path, values, slowest)
    return values


def _refuse_no_mask(path: Path, values: NDArray[np.float64]) -> None:
    """Raise when values are negative somewhere, or zero throughout."""
    wrong = int(np.count_nonzero(values < 0))
    if wrong or not values.any():
        what = (
            f"negative at {wrong} of {values.size} points" if wrong else "zero throughout: nothing may change"
        )
        raise ConfigError(
            f"[inversion] mask: {path} is {what}",
            "give 0 where the image stays as it is and 1 where it may change",
            code="E896",
        )


def _refuse_no_start(path: Path, values: NDArray[np.float64], slowest: float) -> None:
    """Raise when values are no perturbation of 1 / v^2: those of a migration, or larger than 1 / v^2 itself."""
    cure = "give an image of least squares, or leave start out: the iteration then begins at zero"
    largest = float(np.abs(values).max())
    if largest * slowest**2 > 1.0:
        raise ConfigError(
            f"[inversion] start: the largest value of {path}, {largest:.3g} s2/m2, is {largest * slowest**2:.3g} times "
            f"1 / v^2 of the slowest velocity, {slowest:g} m/s: that is no perturbation of 1 / v^2",
            cure,
            code="E896",
        )
    if of_migration(path):
        raise ConfigError(
            f"[inversion] start: {path} is the image of a reverse time migration, in a unit of its own, and no "
            "perturbation of 1 / v^2",
            cure,
            code="E896",
        )


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
