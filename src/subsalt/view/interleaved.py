"""Recorded and predicted traces of a shot by turns in one gather, and what is left between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, LEFT, Sheet
from subsalt.view.records import DrawnTraces, TraceStyle

#: groups of traces that take turns in a gather
TURNS = 12
#: inches: width and height of a panel, its upper edge, and the room between two
WIDE, TALL, TOP, BETWEEN = 4.6, 5.0, 0.95, 0.2


@dataclass(frozen=True)
class Predicted:
    """The traces of a shot as they were recorded, and as an image predicts them.

    Parameters
    ----------
    recorded, predicted : ndarray, (nr, nt)
        Traces after the steps on them.
    time : TimeAxis
        Their time axis.
    offset : ndarray, (nr,), optional
        Written beneath the traces, m.
    """

    recorded: NDArray[np.float64]
    predicted: NDArray[np.float64]
    time: TimeAxis
    offset: NDArray[np.float64] | None = None

    @property
    def left(self) -> float:
        """Energy of the difference over that of the recorded traces."""
        energy = float(np.square(self.recorded).sum())
        return float(np.square(self.recorded - self.predicted).sum()) / energy if energy > 0 else 0.0

    @property
    def width(self) -> int:
        """Traces of a turn."""
        return max(1, round(len(self.recorded) / TURNS))

    def by_turns(self) -> NDArray[np.float64]:
        """Return recorded traces, then as many predicted ones, and so on along the gather."""
        turn = (np.arange(len(self.recorded)) // self.width) % 2
        return np.where(turn[:, None] == 0, self.recorded, self.predicted)


def draw_interleaved(sheet: Sheet, shot: Predicted, how: TraceStyle | None = None) -> Path:
    """Draw the gather by turns, and the recorded less the predicted traces, at one scale.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    shot : Predicted
        Traces of a shot.
    how : TraceStyle, optional
        Style of the traces.
    """
    how = how or TraceStyle()
    n, weight = len(shot.recorded), how.weight(shot.time)
    limit = style.clip_limit(shot.recorded * weight, how.clip)
    facts = f"{100 * shot.left:.3g} % of the energy is left · {how.facts(shot.time, limit)}"
    panels = (
        (f"by turns, {shot.width} traces each: r recorded, p predicted", shot.by_turns()),
        ("recorded - predicted", shot.recorded - shot.predicted),
    )
    with sheet.saying(facts).page((LEFT + 2 * WIDE + BETWEEN + 0.3, TOP + TALL + BOTTOM)) as fig:
        for k, (name, traces) in enumerate(panels):
            ax = style.place(fig, (LEFT + k * (WIDE + BETWEEN), TOP, WIDE, TALL))
            DrawnTraces(traces * weight, shot.time, limit, how.chosen(n <= 60), shot.offset).draw(ax)
            ax.set_title(name, fontsize=9, pad=16)
            if k:
                ax.set_yticklabels([])
                continue
            ax.set_ylabel("time (s)")
            for turn, first in enumerate(range(0, n, shot.width)):
                if first:
                    ax.axvline(first - 0.5, color=palettes.MARK, linewidth=0.5)
                middle = 0.5 * (first + min(n, first + shot.width) - 1)
                ax.annotate(
                    "rp"[turn % 2],
                    (middle, 1.0),
                    (0, 3),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    ha="center",
                    fontsize=7,
                    color=palettes.MARK,
                )
    return sheet.path
