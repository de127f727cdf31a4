"""Pictures of an iteration: its misfit, and sections of its images side by side at one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.view import palettes, style
from subsalt.view.cuts import Look, cuts_at, draw_cut
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, Sheet, bar, columns_of, fit
from subsalt.view.style import Length

#: inches: width and height of a curve, its upper edge; the page for panels, and the room above each
WIDE, TALL, TOP = 6.4, 3.4, 0.62
PAGE, ABOVE = (11.0, 8.0), 0.32
#: a misfit that has fallen below this part of the start is drawn on a logarithmic axis
STEEP = 0.1


def misfit_curve(sheet: Sheet, misfits: Sequence[float], of: str = "") -> Path:
    """Draw the misfit by iteration.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    misfits : sequence of float
        Misfit over that of the start, before the first iteration and after each.
    of : str
        Shots whose misfit an iteration has, in words; all when left out.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

    values = np.asarray(misfits, dtype=np.float64)
    with sheet.page((LEFT + WIDE + 0.3, TOP + TALL + BOTTOM)) as fig:
        ax = style.place(fig, (LEFT, TOP, WIDE, TALL))
        ax.plot(np.arange(len(values)), values, "o-", color=palettes.CURVES[0], markersize=4, linewidth=1.2)
        if 0 < values.min() < STEEP:
            ax.set_yscale("log")
            # plain numbers: pictures parse no formulas
            ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
        else:
            ax.set_ylim(0.0, 1.05 * float(values.max(initial=1.0)))
        ax.grid(color=palettes.GRID_LINE, linewidth=0.5)
        ax.set_xlim(-0.3, max(1, len(values) - 1) + 0.3)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.set_xlabel("iteration")
        ax.set_ylabel(
            f"misfit of {of}\n/ that of the same at the start" if of else "misfit / misfit of the start"
        )
    return sheet.path


@dataclass(frozen=True)
class Panel:
    """A section beside others.

    Parameters
    ----------
    name : str
        Written above it.
    values : ndarray, (nx, nz)
        Amplitudes.
    palette : {"grey", "residual"}
        Grey for images, red-white-blue for differences.
    """

    name: str
    values: NDArray
    palette: str = "grey"


def section_panels(sheet: Sheet, panels: Sequence[Panel], grid: Grid, limit: float) -> Path:
    """Draw sections of one grid side by side at one scale.

    Parameters
    ----------
    sheet : Sheet
        Picture to write; its facts stand above.
    panels : sequence of Panel
        Sections in order.
    grid : Grid
        Grid of the sections, 2-D.
    limit : float
        Amplitude at which all scales end.
    """
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    columns = columns_of(len(panels), 3 if len(panels) > 2 and cut.lengths[0] < 2.5 * cut.lengths[1] else 2)
    rows = -(-len(panels) // columns)
    across, down = LEFT + RIGHT, ABOVE + BOTTOM
    room = (PAGE[0] / columns - across, PAGE[1] / rows - down)
    wide, tall, ratio = fit(*cut.lengths, None, room)
    facts = sheet.about + (f" · vertical exaggeration {ratio:g}" if ratio != 1 else "")
    size = (columns * (wide + across), TOP - ABOVE + 0.1 + rows * (tall + down))
    with sheet.saying(facts).page(size) as fig:
        for k, panel in enumerate(panels):
            row, column = divmod(k, columns)
            left = column * (wide + across) + LEFT
            top = TOP - ABOVE + 0.1 + row * (tall + down) + ABOVE
            ax = style.place(fig, (left, top, wide, tall))
            drawn = draw_cut(ax, cut, Look(panel.values[:, None], limit, panel.palette), unit)
            ax.set_title(style.printable(panel.name), fontsize=9, pad=4)
            bar(fig, drawn, (left + wide + 0.12, top, 0.12, tall), "amplitude")
    return sheet.path
