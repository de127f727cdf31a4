"""Pictures of what covers an image: traces per location, and contributions per sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.errors import ModelError
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, TOP, Sheet, png_path
from subsalt.view.time_sections import line_name

if TYPE_CHECKING:
    pass


def fold_map(
    fold: NDArray,
    grid: ImageGrid,
    path: str | Path,
    *,
    offsets: NDArray[np.float64] | None = None,
    title: str = "fold",
    run_id: str = "",
) -> Path:
    """Draw how many traces reach each location: a map of a volume; of a line, fold by location and offset class.

    Parameters
    ----------
    fold : ndarray, (ni, nj) or (ni, nj, n classes)
        Traces with at least one contribution.
    grid : ImageGrid
        The locations.
    path : path
        PNG to write.
    offsets : ndarray, (n classes,), optional
        Offsets of the classes, m, for a line.
    title, run_id : str
        Heading and run.
    """
    a = np.asarray(fold)
    if a.shape[:2] != grid.shape or a.ndim > 3:
        raise ModelError(
            f"fold has shape {a.shape}, the image {grid.shape} locations",
            "give the grid of the image",
            "E401",
        )
    out = png_path(path, "fold.png")
    total = a.reshape(*grid.shape, -1).sum(axis=2)
    empty = int((total == 0).sum())
    facts = f"traces per location: {total.min():g} to {total.max():g}, mean {total.mean():.0f}"
    facts += f" · {empty} of {total.size} without any" if empty else ""
    sheet = Sheet(out, title, run_id, facts)
    if grid.shape[0] == 1:
        return _line(sheet, a.reshape(*grid.shape, -1)[0], grid, offsets)
    ni, nj = grid.shape
    di, dj = grid.spacing
    scale = min(7.4 / (nj * dj), 5.2 / (ni * di))
    wide, tall = max(1.8, nj * dj * scale), max(1.2, ni * di * scale)
    size = (max(LEFT + wide + RIGHT, 5.0), TOP + tall + BOTTOM)
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, TOP, wide, tall))
        (i0, i1, si), (j0, j1, sj) = grid.inlines, grid.crosslines
        extent = (j0 - sj / 2, j1 + sj / 2, i0 - si / 2, i1 + si / 2)
        shown: dict[str, Any] = {"cmap": palettes.palette("fold"), "aspect": "auto", "origin": "lower"}
        drawn = ax.imshow(total, extent=extent, vmin=0, vmax=max(1, total.max()), **shown)
        ax.set_xlabel("crossline")
        ax.set_ylabel("inline")
        style.colour_bar(
            fig, drawn, (LEFT + wide + 0.12, TOP, 0.14, tall), "traces per location", counts=True
        )
    return out


def _line(sheet: Sheet, fold: NDArray, grid: ImageGrid, offsets: NDArray[np.float64] | None) -> Path:
    """Draw the fold of a line: steps by location; beneath, by location and class when there are classes."""
    nj, n = fold.shape
    first, last, step = grid.crosslines
    wide, tall, deep = float(np.clip(0.11 * nj, 3.4, 8.6)), 2.0, 3.0
    classes = n > 1 and offsets is not None and len(offsets) == n
    size = (max(LEFT + wide + RIGHT, 5.0), TOP + tall + BOTTOM + (deep + 0.1 if classes else 0.0))
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, TOP, wide, tall))
        # one patch; a bar per location takes longer than all else on the page
        ax.stairs(
            fold.sum(axis=1), first + step * (np.arange(nj + 1) - 0.5), fill=True, color=palettes.RECEIVER
        )
        ax.set_ylabel("traces")
        ax.set_xlim(first - step / 2, last + step / 2)
        below = ax
        if classes:
            assert offsets is not None
            ax.set_xticklabels([])
            below = style.place(fig, (LEFT, TOP + tall + 0.1, wide, deep))
            shown: dict[str, Any] = {
                "cmap": palettes.palette("fold"),
                "aspect": "auto",
                "interpolation": "nearest",
            }
            extent = (first - step / 2, last + step / 2, n - 0.5, -0.5)
            drawn = below.imshow(fold.T, extent=extent, vmin=0, vmax=max(1, fold.max()), **shown)
            ticks = np.unique(np.linspace(0, n - 1, min(n, 7)).round().astype(int))
            below.set_yticks(ticks, [f"{offsets[i]:.0f}" for i in ticks])
            below.set_ylabel("offset (m)")
            box = (LEFT + wide + 0.12, TOP + tall + 0.1, 0.14, deep)
            style.colour_bar(fig, drawn, box, "traces per class", counts=True)
        below.set_xlabel(line_name(grid))
    return sheet.path
