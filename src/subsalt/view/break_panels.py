"""Pictures of first breaks, and of the lines fitted to each side of a shot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt.acquisition.first_breaks import ShotBreaks
from subsalt.errors import GeometryError
from subsalt.view import palettes, style
from subsalt.view.pages import LEFT, TOP, Sheet, columns_of, png_path
from subsalt.view.records import _GAP, _TALL, _WIDE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: shots drawn beside each other, evenly spread over those that were picked
PANELS = 6


def first_breaks(
    breaks: Sequence[ShotBreaks], path: str | Path, *, title: str = "first breaks", run_id: str = ""
) -> Path:
    """Draw picked time against signed offset of some shots, with the lines through each side.

    Parameters
    ----------
    breaks : sequence of ShotBreaks
        Result of `subsalt.acquisition.first_breaks.first_breaks`.
    path : path
        PNG to write.
    title, run_id : str
        Heading and run.

    Returns
    -------
    Path
        The PNG.
    """
    if not breaks:
        raise GeometryError("there are no shots to draw", "check the selection of shots", code="E304")
    from matplotlib.ticker import MaxNLocator

    out = png_path(path, "first-breaks.png")
    chosen = [
        breaks[int(i)] for i in np.unique(np.linspace(0, len(breaks) - 1, min(len(breaks), PANELS)).round())
    ]
    columns = columns_of(len(chosen), 3)
    rows = -(-len(chosen) // columns)
    size = (LEFT + columns * (_WIDE + _GAP), TOP + rows * (_TALL + _GAP + 0.25) - 0.1)
    facts = f"{len(chosen)} of {len(breaks)} shots · dots: picks · lines: median slope of each side"
    latest = max(float(np.nanmax(b.time, initial=0.0)) for b in chosen) or 1.0
    earliest = min(0.0, *(float(np.nanmin(b.time, initial=0.0)) for b in chosen))
    with Sheet(out, title, run_id, facts).page(size) as fig:
        for n, b in enumerate(chosen):
            row, column = divmod(n, columns)
            box = (LEFT + column * (_WIDE + _GAP), TOP + 0.25 + row * (_TALL + _GAP + 0.25), _WIDE, _TALL)
            ax = style.place(fig, box)
            _panel(ax, b)
            ax.set_ylim(1.05 * latest, earliest)
            ax.set_xlabel("offset (m)")
            ax.xaxis.set_major_locator(MaxNLocator(4))
            if column == 0:
                ax.set_ylabel("time (s)")
    return out


def _panel(ax: Axes, b: ShotBreaks) -> None:
    """Draw one shot: its picks and lines."""
    ax.plot(b.offset, b.time, "o", markersize=2.5, color=palettes.INK, linestyle="none")
    labels = []
    for line, sign in zip(b.sides, (-1.0, 1.0), strict=True):
        own = b.picked & (b.offset < 0 if sign < 0 else b.offset >= 0)
        if line is None or not own.any():
            continue
        x = np.array([0.0, float(np.abs(b.offset[own]).max())])
        ax.plot(sign * x, line.intercept + line.slowness * x, color=palettes.MARK, linewidth=1.2)
        labels.append(f"{line.velocity:.0f} m/s, {1e3 * line.intercept:.0f} ms")
    ax.set_title(f"shot {b.shot.id}\n{' | '.join(labels) or 'no line'}", fontsize=8, pad=3)
    ax.tick_params(labelsize=7)
