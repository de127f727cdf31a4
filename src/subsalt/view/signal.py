"""A gather before and after every step on its traces, with the edges of mutes drawn over what they will zero."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, LEFT, Sheet, columns_of, png_path
from subsalt.view.records import DrawnTraces, TraceStyle

#: panels beside each other, at most; inches of a panel, and of the room for its title and axis
ACROSS = 4
WIDE, TALL, ABOVE, BELOW = 2.2, 3.0, 0.5, 0.5
#: characters of a line of a title
TITLE = 36


@dataclass(frozen=True)
class Stage:
    """A gather between two steps.

    Parameters
    ----------
    label : str
        The step behind it; what was recorded for the first.
    values : ndarray, (n, nt)
        Traces of the gather.
    time : TimeAxis
        Time axis of the traces.
    offset : ndarray, (n,)
        Offsets of the traces, m.
    curves : list of ndarray, (n,)
        Times, s, at which the next step will cut; NaN where it does not.
    """

    label: str
    values: NDArray[Any]
    time: TimeAxis
    offset: NDArray[np.float64]
    curves: Sequence[NDArray[np.float64]] = field(default_factory=tuple)


def signal_steps(
    stages: Sequence[Stage], path: str | Path, *, title: str = "steps on the traces", **drawn: Any
) -> Path:
    """Draw a gather as recorded and after every step, each at a scale of its own.

    Parameters
    ----------
    stages : sequence of Stage
        Stages in order.
    path : path
        PNG to write.
    title : str
        Heading.
    **drawn
        Fields of `subsalt.view.records.TraceStyle`: ``draw``, ``clip`` and ``gain``.

    Returns
    -------
    Path
        The PNG.
    """
    how = TraceStyle(**drawn)
    columns = columns_of(len(stages), ACROSS)
    rows = -(-len(stages) // columns)
    top, tall = 0.62, ABOVE + TALL + BELOW
    size = (LEFT + columns * WIDE + (columns - 1) * 0.45 + 0.3, top + rows * tall + BOTTOM - BELOW)
    n = len(stages[0].values)
    facts = f"{n} traces · clip {how.clip:g} % of |a| of each panel · line: where the next step mutes"
    with Sheet(png_path(path, "signal.png"), title, "", facts).page(size) as fig:
        for k, stage in enumerate(stages):
            row, column = divmod(k, columns)
            box = (LEFT + column * (WIDE + 0.45), top + row * tall + ABOVE, WIDE, TALL)
            ax = style.place(fig, box)
            values = np.asarray(stage.values, np.float64) * how.weight(stage.time)
            limit = style.clip_limit(values, how.clip)
            DrawnTraces(values, stage.time, limit, how.chosen(n <= 60), stage.offset).draw(ax)
            for curve in stage.curves:
                ax.plot(np.arange(n), curve, color=palettes.MARK, linewidth=1.0)
            label = textwrap.fill(stage.label if k == 0 else f"{k}  {stage.label}", TITLE)
            ax.set_title(f"{label}\n(±{limit:.3g})", fontsize=7.5, pad=3)
            ax.tick_params(labelsize=7)
            ax.xaxis.label.set_fontsize(7)
            if column == 0:
                ax.set_ylabel("time (s)", fontsize=8)
    return png_path(path, "signal.png")
