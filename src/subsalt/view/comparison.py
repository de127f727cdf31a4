"""Pictures of two images of one grid side by side, and of their difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.view import style
from subsalt.view.cuts import Look, as_volume, cuts_at, draw_cut
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, Sheet, bar, fit, png_path
from subsalt.view.style import Length


def compare(
    first: NDArray,
    second: NDArray,
    grid: Grid,
    path: str | Path,
    *,
    names: Sequence[str] = ("first", "second"),
    plane: str | None = None,
    at: Sequence[float] | None = None,
    clip: float = 99.0,
    same_scale: bool = False,
    difference: bool = False,
    title: str = "comparison",
    run_id: str = "",
) -> Path:
    """Draw two images of one grid on the same axes.

    Parameters
    ----------
    first, second : ndarray, (nx, nz) or (nx, ny, nz)
        The images.
    grid : Grid
        Grid of both.
    path : path
        PNG to write.
    names : sequence of str, (2,)
        Written above them.
    plane : {"inline", "crossline", "depth"}, optional
        Plane of a 3-D image; inline when left out.
    at : sequence of float, (3,), optional
        Local point through which the plane is cut, m.
    clip : float
        Percentile of ``|a|`` at which the grey scale ends.
    same_scale : bool
        One limit for both (the first one's), instead of one each, as suits images in different units.
    difference : bool
        Add second - first in red, white and blue, at the scale of the first.
    title, run_id : str
        Heading and run.

    Returns
    -------
    Path
        The PNG.
    """
    out = png_path(path, "compare.png")
    a, b = as_volume(first, grid, names[0]), as_volume(second, grid, names[1])
    cuts = cuts_at(grid, at)
    cut = cuts["section" if grid.ndim == 2 else (plane or "inline")]
    limits = [style.clip_limit(a, clip), style.clip_limit(b, clip)]
    if same_scale or difference:
        limits[1] = limits[0]
    panels = [(names[0], a, limits[0], "grey"), (names[1], b, limits[1], "grey")]
    if difference:
        away = b.astype(np.float64) - a
        panels.append((f"{names[1]} - {names[0]}", away, limits[0], "residual"))
    unit = Length.fitting(*cut.lengths)
    beside = cut.lengths[0] < 1.6 * cut.lengths[1]
    room = (12.0 / len(panels) - RIGHT, 5.0) if beside else (8.6, 8.4 / len(panels))
    wide, tall, ratio = fit(*cut.lengths, None if cut.axes[1] == 2 else 1.0, room)
    across, down = LEFT + wide + RIGHT, 0.35 + tall + BOTTOM
    columns, rows = (len(panels), 1) if beside else (1, len(panels))
    facts = f"{cut.title(unit)} · clip {clip:g} % of |a|"
    if ratio != 1:
        facts += f" · vertical exaggeration {ratio:g}"
    with Sheet(out, title, run_id, facts).page((columns * across, 0.45 + rows * down)) as fig:
        for n, (name, values, limit, palette) in enumerate(panels):
            left, top = (n * across, 0.0) if beside else (0.0, n * down)
            ax = style.place(fig, (left + LEFT, top + 0.8, wide, tall))
            drawn = draw_cut(ax, cut, Look(values, limit, palette), unit)
            ax.set_title(style.printable(name), fontsize=9, pad=4)
            bar(fig, drawn, (left + LEFT + wide + 0.12, top + 0.8, 0.12, tall), "amplitude")
    return out
