"""Pictures of traces: gathers as wiggles with filled lobes, in grey, or in red, white and blue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import Shot, Survey, TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, LEFT, Sheet, png_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_WIDE, _TALL, _GAP = 2.6, 3.2, 0.55


Draw = Literal["auto", "wiggle", "grey", "residual"]
# wiggles closer than this many pixels are a smear
MOST_WIGGLES = 120
# pixels along an axis for the label of a trace
TICK_LABEL = 56


@dataclass(frozen=True)
class TraceStyle:
    """The style of traces.

    Parameters
    ----------
    draw : {"auto", "wiggle", "grey", "residual"}
        Wiggle with filled positive lobes, grey, or red-white-blue; auto: wiggles where traces have room for them (of
        shots up to 60), else grey.
    clip : float
        Percentile of |a| that fills the room of a trace, or ends the scale.
    gain : float
        Traces are multiplied by time to this power before they are drawn.
    """

    draw: Draw = "auto"
    clip: float = 99.0
    gain: float = 0.0

    def __post_init__(self) -> None:
        if self.draw not in get_args(Draw):
            raise ConfigError(f"draw = {self.draw!r}", "use auto, wiggle, grey or residual")

    def chosen(self, room: bool) -> str:
        """Return how to draw traces that have room for wiggles, or not."""
        return self.draw if self.draw != "auto" else ("wiggle" if room else "grey")

    def weight(self, time: TimeAxis) -> NDArray[np.float64]:
        """Return the factors of the samples, (nt,)."""
        return np.maximum(time.values(), 0.0) ** self.gain if self.gain else np.ones(time.nt)

    def facts(self, time: TimeAxis, limit: float) -> str:
        """Return samples, clip and gain in words."""
        said = f"{time.nt} samples of {time.dt * 1e3:g} ms · clip {self.clip:g} % of |a| (±{limit:.3g})"
        return said + (f" · gain t^{self.gain:g}" if self.gain else "")


def gather(
    data: ArrayLike,
    time: TimeAxis,
    path: str | Path,
    *,
    offset: ArrayLike | None = None,
    title: str = "gather",
    run_id: str = "",
    **drawn: Any,
) -> Path:
    """Draw one gather.

    Parameters
    ----------
    data : array_like, (nr, nt)
        Traces, one per row.
    time : TimeAxis
        Time axis of the traces.
    path : path
        PNG to write.
    offset : array_like, (nr,), optional
        Written on the axis beneath the traces, m; the number of the trace otherwise.
    title, run_id : str
        Heading and run.
    **drawn
        Fields of `TraceStyle`: ``draw``, ``clip`` and ``gain``.

    Returns
    -------
    Path
        The PNG.
    """
    traces = _checked(data, time)
    offsets = None if offset is None else np.asarray(offset, dtype=np.float64)
    sheet = Sheet(png_path(path, "gather.png"), title, run_id)
    return _page(sheet, [("", traces, offsets)], time, TraceStyle(**drawn))


def gathers(
    survey: Survey,
    path: str | Path,
    *,
    ids: Sequence[int] | None = None,
    title: str = "shot gathers",
    run_id: str = "",
    **drawn: Any,
) -> Path:
    """Draw shots of a survey side by side at one scale; reads their traces.

    Parameters
    ----------
    survey : Survey
        Shots with data or a reader.
    path : path
        PNG to write.
    ids : sequence of int, optional
        Ids of the shots; the first, the middle and the last when left out.
    title, run_id, **drawn
        Text and style, as in `gather`.

    Returns
    -------
    Path
        The PNG.
    """
    if not len(survey):
        raise GeometryError("the survey has no shots", "check the selection of shots", code="E304")
    if ids is None:
        few = sorted({0, len(survey) // 2, len(survey) - 1})
        shots = [survey.shots[i] for i in few]
    else:
        shots = survey.select(ids).shots
    panels = [(f"shot {s.id}", _checked(survey.traces(s), survey.time), offset_along(s)) for s in shots]
    sheet = Sheet(png_path(path, "gather.png"), title, run_id)
    return _page(sheet, panels, survey.time, TraceStyle(**drawn))


def signed_offset(shot: Shot) -> NDArray[np.float64]:
    """Return horizontal offsets (nr,), m; negative where a receiver lies at smaller x than the source."""
    return np.where(shot.rcv[:, 0] < shot.src[0], -shot.offset, shot.offset)


def offset_along(shot: Shot) -> NDArray[np.float64] | None:
    """Return signed offsets where they grow, or fall, along the traces; None for an areal spread, where they jump."""
    offset = signed_offset(shot)
    step = np.sign(np.diff(offset))
    return offset if abs(step.sum()) >= 0.8 * len(step) else None


def _checked(data: ArrayLike, time: TimeAxis) -> NDArray[np.float64]:
    """Return traces as (nr, nt), or say why not."""
    a = np.asarray(data, dtype=np.float64)
    if a.ndim != 2 or a.shape[1] != time.nt or not len(a):
        raise GeometryError(
            f"traces have shape {a.shape}, the time axis {time.nt} samples",
            "give one row of samples per trace",
            code="E302",
        )
    return a


def _page(
    sheet: Sheet,
    panels: Sequence[tuple[str, NDArray[np.float64], NDArray[np.float64] | None]],
    time: TimeAxis,
    how: TraceStyle,
) -> Path:
    """Draw gathers (name, traces, offsets) side by side."""
    weight = how.weight(time)
    shown = [(name, traces * weight, offset) for name, traces, offset in panels]
    limit = style.clip_limit(np.concatenate([t.reshape(-1) for _, t, _ in shown]), how.clip)
    room = max(2.2, 9.0 / len(shown)) - 0.15
    wide = [min(room, 7.0) for _ in shown]
    tall, top = 5.4, 0.78
    size = (LEFT + sum(wide) + 0.15 * (len(shown) - 1) + 0.3, top + tall + BOTTOM)
    with sheet.saying(how.facts(time, limit)).page(size) as fig:
        left = LEFT
        for n, (name, traces, offset) in enumerate(shown):
            ax = style.place(fig, (left, top, wide[n], tall))
            DrawnTraces(traces, time, limit, how.chosen(len(traces) <= 60), offset).draw(ax)
            ax.set_title(name, fontsize=9, pad=4)
            if n:
                ax.set_yticklabels([])
            else:
                ax.set_ylabel("time (s)")
            left += wide[n] + 0.15
    return sheet.path


def draw_traces(
    ax: Axes, data: ArrayLike, time: TimeAxis, offset: NDArray[np.float64] | None = None, **drawn: Any
) -> None:
    """Draw one gather on given axes; parameters as of `gather`."""
    how = TraceStyle(**drawn)
    traces = _checked(data, time) * how.weight(time)
    limit = style.clip_limit(traces, how.clip)
    DrawnTraces(traces, time, limit, how.chosen(len(traces) <= 60), offset).draw(ax)
    ax.set_ylabel("time (s)")


@dataclass(frozen=True)
class DrawnTraces:
    """Traces that are drawn on one pair of axes.

    Parameters
    ----------
    values : ndarray, (nr, nt)
        One trace per row.
    time : TimeAxis
        Time axis of the traces.
    limit : float
        Amplitude that fills the room of a trace, or ends the scale.
    how : {"wiggle", "grey", "residual"}
        Style of the traces, as in `TraceStyle`.
    offset : ndarray, (nr,), optional
        Written beneath the traces, m; their numbers when None.
    muted : str, optional
        Colour of samples that are exactly zero, when they are not to look like a zero that was measured.
    """

    values: NDArray[np.float64]
    time: TimeAxis
    limit: float
    how: str
    offset: NDArray[np.float64] | None = None
    muted: str | None = None

    def draw(self, ax: Axes) -> None:
        """Draw them, time downwards, with the offset (or number) of a few traces beneath."""
        if self.how == "wiggle":
            self._wiggles(ax)
        else:
            self._densities(ax)
        nr, time = len(self.values), self.time
        ax.set_xlim(-0.7, nr - 0.3)
        ax.set_ylim(max(time.duration, time.t0 + 0.5 * time.dt), time.t0)
        # not at the very ends, where the labels of neighbouring gathers would meet
        room = max(1, int(palettes.pixels_of(ax)[1] / TICK_LABEL))
        ticks = np.unique(np.linspace(0.1 * (nr - 1), 0.9 * (nr - 1), min(nr, 5, room)).round().astype(int))
        if self.offset is None:
            ax.set_xticks(ticks, [str(i + 1) for i in ticks])
            ax.set_xlabel("trace")
        else:
            ax.set_xticks(ticks, [f"{self.offset[i]:.0f}" for i in ticks])
            ax.set_xlabel("offset (m)")
        ax.tick_params(labelsize=8)

    def _densities(self, ax: Axes) -> None:
        """Draw columns of grey or of red, white and blue."""
        half, columns = 0.5 * self.time.dt, self.values.T
        down, across = palettes.pixels_of(ax)
        many = columns.shape[1] > across or columns.shape[0] > down
        if self.muted is not None:
            ax.set_facecolor(self.muted)
            columns = np.ma.masked_equal(columns, 0.0)
        ax.imshow(
            columns,
            cmap=palettes.palette(self.how),
            vmin=-self.limit,
            vmax=self.limit,
            extent=(-0.5, len(self.values) - 0.5, self.time.duration + half, self.time.t0 - half),
            aspect="auto",
            interpolation="hanning" if many else "nearest",
        )

    def _wiggles(self, ax: Axes) -> None:
        """Draw lines about their place, positive lobes filled; every n-th when they are too many."""
        from matplotlib.collections import PolyCollection

        step = -(-len(self.values) // MOST_WIGGLES)
        t = self.time.values()
        lobes = []
        for i in range(0, len(self.values), step):
            # neighbours may touch, but a wild trace must not cover the others
            a = 0.8 * step * np.clip(np.nan_to_num(self.values[i]) / self.limit, -1.5, 1.5)
            ax.plot(i + a, t, color=palettes.INK, linewidth=0.5)
            outline = _lobes(a, t)
            outline[:, 0] += i
            lobes.append(outline)
        ax.add_collection(PolyCollection(lobes, facecolors=palettes.INK, linewidths=0), autolim=False)


def _lobes(a: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the outline (n, 2) of what lies right of zero, with corners where the line between samples crosses it."""
    k = np.flatnonzero(a[:-1] * a[1:] < 0)
    crossing = t[k] + a[k] / (a[k] - a[k + 1]) * (t[k + 1] - t[k])
    at = np.concatenate([t[:1], t, crossing, t[-1:]])
    right = np.concatenate([[0.0], np.maximum(a, 0.0), np.zeros(len(k)), [0.0]])
    order = np.argsort(at, kind="stable")
    return np.stack([right, at], axis=1)[order]
