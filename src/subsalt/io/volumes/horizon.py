"""A horizon: its depth below every column of a grid, from a number or a text of points."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError


def read_horizon(text: str, grid: Grid, option: str, code: str) -> NDArray[np.float64]:
    """Return the depth of a horizon at every column of a grid, (nx,) or (nx, ny), m.

    Parameters
    ----------
    text : str
        A depth, m; or the path of a text file with x and depth in its first columns, of a volume x, y and depth, m.
        Depth is linear between the points, and beyond the outer ones that of them; those of a volume form a rectangle.
    grid : Grid
        Grid in which it lies.
    option : str
        Option or key that names it, for messages.
    code : str
        Code of the errors.

    Raises
    ------
    ConfigError
        When it is neither a depth nor a readable table, or leaves the grid.
    """
    z = grid.axis(grid.ndim - 1)
    try:
        depth = np.full(grid.shape[:-1], float(text))
    except ValueError:
        columns = "x and depth" if grid.ndim == 2 else "x, y and depth"
        try:
            depth = _between_points(_table(text, grid.ndim), grid)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{option} {text}: neither a depth nor a readable table of {columns} ({error})",
                f"give a depth in m, or a text file with {columns} (m) in its first {grid.ndim} columns",
                code,
            ) from None
    outside = ~((depth > z[0]) & (depth < z[-1]))
    if outside.any():
        at = np.unravel_index(int(np.argmax(outside)), outside.shape)
        place = ", ".join(
            f"{name} = {grid.axis(k)[i]:g} m" for k, (name, i) in enumerate(zip("xy", at, strict=False))
        )
        raise ConfigError(
            f"{option} {text}: at {place} the horizon lies at {depth[at]:g} m, the grid goes from {z[0]:g} to "
            f"{z[-1]:g} m",
            "give a horizon inside it, with depths in m below its datum",
            code,
        )
    return depth


def _table(path: str, columns: int) -> NDArray[np.float64]:
    """Return the first columns of a text file, (points, columns)."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "loadtxt: input contained no data")
        table = np.loadtxt(path, dtype=np.float64, ndmin=2)
    if not len(table) or table.shape[1] < columns:
        raise ValueError(f"{len(table)} lines of {table.shape[1] if len(table) else 0} columns")
    return table[:, :columns]


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
