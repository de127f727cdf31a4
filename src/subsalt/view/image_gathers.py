"""Pictures of image gathers: each next to its stack and its residual moveout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, GeometryError
from subsalt.view import palettes, style
from subsalt.view.flatness import Moveout, residual_moveout
from subsalt.view.pages import BOTTOM, LEFT, Sheet, png_path
from subsalt.view.records import DrawnTraces, TraceStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: locations on one page
MOST_GATHERS = 8
# copies of the stacked trace beside its gather: one alone is hard to follow
_COPIES = 4
# the room of a gather relative to its stack and its moveout
_SHARES = {"gather": 1.0, "stack": 0.2, "moveout": 0.36}
_GAP, _BETWEEN, _TALL, _TOP = 0.06, 0.22, 5.6, 0.82


@dataclass(frozen=True)
class ImageGather:
    """The image traces of one location.

    Parameters
    ----------
    inline, crossline : int
        Line numbers.
    offset : ndarray, (n,)
        m, ascending.
    traces : ndarray, (n, nt)
        Image traces; samples that are exactly zero are muted.
    stack : ndarray, (nt,), optional
        The image at this location; the mean over live traces when left out.
    velocity : ndarray, (nt,), optional
        The rms velocity of the migration, m/s: with it the moveout that is left is shown.
    name : str
        Text above it; the line numbers when empty.
    """

    inline: int
    crossline: int
    offset: NDArray[np.float64]
    traces: NDArray
    stack: NDArray | None = None
    velocity: NDArray | None = None
    name: str = ""
    moveout: Moveout | None = field(default=None, repr=False)

    def stacked(self) -> NDArray[np.float64]:
        """Return the stack, or the mean over live traces."""
        if self.stack is not None:
            return np.asarray(self.stack, dtype=np.float64)
        live = np.maximum(np.count_nonzero(self.traces, axis=0), 1)
        return np.asarray(self.traces, dtype=np.float64).sum(axis=0) / live

    def left_over(self, time: TimeAxis) -> Moveout | None:
        """Return the moveout that is left, None without a velocity or with too few traces."""
        if self.moveout is not None or self.velocity is None or len(self.traces) < 4:
            return self.moveout
        return residual_moveout(self.traces, self.offset, time, self.velocity)


def image_gathers(
    gathers: Sequence[ImageGather],
    time: TimeAxis,
    path: str | Path,
    *,
    title: str = "image gathers",
    run_id: str = "",
    **drawn: Any,
) -> Path:
    """Draw image gathers side by side at one scale, each with its stack and the moveout that is left.

    Parameters
    ----------
    gathers : sequence of ImageGather
        Gathers, at most `MOST_GATHERS`.
    time : TimeAxis
        Two-way times of their samples.
    path : path
        PNG to write.
    title, run_id : str
        Heading and run.
    **drawn
        Fields of `TraceStyle`: ``draw``, ``clip`` and ``gain``.

    Returns
    -------
    Path
        The PNG.

    Notes
    -----
    The third panel is the semblance along ``t^2 = t0^2 + q x^2`` over the velocity that would flatten the event,
    relative to the one that was used; dots are the events that stand out. Left of the line the velocity was too fast.
    """
    shown, how = list(gathers), TraceStyle(**drawn)
    _check(shown, time)
    out, weight = png_path(path, "gathers.png"), how.weight(time)
    limit = style.clip_limit(np.concatenate([np.ravel(g.traces * weight) for g in shown]), how.clip)
    left_over = [g.left_over(time) for g in shown]
    wide = _widths(shown, left_over)
    size = (LEFT + sum(sum(w.values()) + _GAP * (len(w) - 1) for w in wide), _TOP + _TALL + BOTTOM)
    size = (size[0] + _BETWEEN * (len(shown) - 1) + 0.3, size[1])
    facts = how.facts(time, limit)
    facts += " · right: velocity that flattens over the one used" if any(left_over) else ""
    with Sheet(out, title, run_id, facts).page(size) as fig:
        left = LEFT
        for n, (g, room, rest) in enumerate(zip(shown, wide, left_over, strict=True)):
            axes = {}
            for part, width in room.items():
                axes[part] = style.place(fig, (left, _TOP, width, _TALL))
                left += width + _GAP
            left += _BETWEEN - _GAP
            traces = np.asarray(g.traces, dtype=np.float64) * weight
            pixels = palettes.pixels_of(axes["gather"])[1] / len(traces)
            kind = how.chosen(pixels >= 7)
            muted = palettes.MUTED if kind != "wiggle" else None
            DrawnTraces(traces, time, limit, kind, g.offset, muted).draw(axes["gather"])
            _stack(
                axes["stack"], DrawnTraces(np.tile(g.stacked() * weight, (_COPIES, 1)), time, limit, "wiggle")
            )
            if rest is not None:
                _moveout(axes["moveout"], rest, time)
            if n == 0:
                axes["gather"].set_ylabel("two-way time (s)")
            else:
                axes["gather"].set_yticklabels([])
            _name(fig, axes["gather"], g, rest)
    return out


def _check(gathers: Sequence[ImageGather], time: TimeAxis) -> None:
    if not 0 < len(gathers) <= MOST_GATHERS:
        raise ConfigError(
            f"{len(gathers)} gathers for one picture", f"choose 1 to {MOST_GATHERS} locations", code="E833"
        )
    for g in gathers:
        a = np.asarray(g.traces)
        if a.ndim != 2 or a.shape != (len(g.offset), time.nt) or not len(a):
            raise GeometryError(
                f"the gather at {g.inline}, {g.crossline} has shape {a.shape}, with {len(g.offset)} offsets and "
                f"{time.nt} samples",
                "give one trace of all samples per offset",
                code="E302",
            )


def _widths(gathers: Sequence[ImageGather], left_over: Sequence[Moveout | None]) -> list[dict[str, float]]:
    """Return the widths of the panels of each gather, inches: of up to four gathers the page stays below 10 inches, of
    more below 13 where it can.
    """
    parts = [
        {k: v for k, v in _SHARES.items() if k != "moveout" or rest is not None}
        for g, rest in zip(gathers, left_over, strict=True)
    ]
    unit = min(
        3.2,
        ((9.0 if len(gathers) <= 4 else 12.0) - _BETWEEN * len(gathers))
        / sum(sum(p.values()) for p in parts),
    )
    return [{k: max(v * unit, 0.25) for k, v in p.items()} for p in parts]


def _stack(ax: Axes, stack: DrawnTraces) -> None:
    """Draw the stack of a gather beside it."""
    # it is weaker than a near trace where events are not flat: that is what it is there to show
    stack.draw(ax)
    ax.set_xticks([])
    ax.set_xlabel("stack", fontsize=8, labelpad=16)
    ax.set_yticklabels([])


def _moveout(ax: Axes, rest: Moveout, time: TimeAxis) -> None:
    """Draw the semblance by ratio of velocity, and the picks."""
    step = (rest.ratio[1] - rest.ratio[0]) / 2
    extent = (rest.ratio[0] - step, rest.ratio[-1] + step, time.duration, time.t0)
    shown: dict[str, Any] = {"cmap": palettes.palette("fold"), "vmin": 0, "vmax": 1, "aspect": "auto"}
    ax.imshow(rest.spectrum.T, extent=extent, interpolation="bilinear", **shown)
    ax.axvline(1.0, color=palettes.INK, linewidth=0.7)
    if len(rest.picks):
        ax.plot(rest.picks[:, 1], rest.picks[:, 0], "o-", color=palettes.MARK, markersize=3, linewidth=0.8)
    ax.set_xlim(extent[0], extent[1])
    ax.set_ylim(time.duration, time.t0)
    ax.set_xticks([rest.ratio[0], 1.0, rest.ratio[-1]], [f"{rest.ratio[0]:g}", "1", f"{rest.ratio[-1]:g}"])
    ax.tick_params(labelsize=7)
    ax.set_yticklabels([])
    ax.set_xlabel("v ratio", fontsize=8, labelpad=5)


def _name(fig: Figure, ax: Axes, g: ImageGather, rest: Moveout | None) -> None:
    """Write the place above a gather, and what its moveout says."""
    name = g.name or f"inline {g.inline}, crossline {g.crossline}"
    ax.set_title(style.printable(name), fontsize=9, pad=15, loc="left")
    if rest is not None:
        said = f"flat at {rest.mean_ratio:.3f} v" if len(rest.picks) else "no event stands out"
        ax.text(0, 1.008, said, transform=ax.transAxes, fontsize=7.5, color=palettes.FAINT)
