"""A map of midpoints and output grid in plain text, for a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from subsalt.imaging.kirchhoff.image_grid import ImageGrid

#: characters across and lines of the map; a character is about twice as high as wide
WIDTH, HEIGHT = 56, 16


def text_map(points: NDArray[np.float64], grid: ImageGrid) -> list[str]:
    """Return lines with north up: ``.`` midpoints, ``#`` outline of the output, ``A`` its first corner.

    Parameters
    ----------
    points : ndarray, (n, 2)
        Midpoints, m.
    grid : ImageGrid
        The output.
    """
    corners = grid.corners()
    both = np.concatenate([points, corners])
    low, high = both.min(axis=0), both.max(axis=0)
    # one scale for x and y, so that a turned grid looks turned
    metres = max((high[0] - low[0]) / (WIDTH - 1), (high[1] - low[1]) / (2 * (HEIGHT - 1)), 1e-3)
    columns = int((high[0] - low[0]) / metres + 0.5) + 1
    rows = int((high[1] - low[1]) / (2 * metres) + 0.5) + 1
    drawn = np.full((rows, columns), " ")

    def put(p: NDArray[np.float64], sign: str) -> None:
        x = np.clip(((p[:, 0] - low[0]) / metres + 0.5).astype(int), 0, columns - 1)
        y = np.clip(((high[1] - p[:, 1]) / (2 * metres) + 0.5).astype(int), 0, rows - 1)
        drawn[y, x] = sign

    put(points, ".")
    share = np.linspace(0.0, 1.0, 4 * WIDTH)[:, None]
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        put(a + share * (b - a), "#")
    put(corners[:1], "A")
    frame = "+" + "-" * columns + "+"
    return [
        f"north up, {metres:.3g} m a character: . midpoints, # output, A its first inline and crossline",
        frame,
        *("|" + "".join(row) + "|" for row in drawn),
        frame,
        f"x {low[0]:.0f} to {high[0]:.0f} m, y {low[1]:.0f} to {high[1]:.0f} m",
    ]
