"""Pictures of a velocity scan: gathers and stacks at every scale side by side, and which scale is best when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ModelError
from subsalt.view import style
from subsalt.view.flatness import window_sum
from subsalt.view.pages import BOTTOM, LEFT, TOP, Sheet, png_path
from subsalt.view.records import Traces

_TALL, _TOP = 5.6, TOP + 0.27


@dataclass(frozen=True)
class ScanStyle:
    """How the panels of a velocity scan are drawn.

    Parameters
    ----------
    muted : str, optional
        Colour of samples that are exactly zero.
    clip : float
        Percentile of |a| at which the grey scale ends.
    balance : float
        Length, s, of a window over whose rms amplitude in all panels together samples are divided, so that early and
        late times are seen and scales can still be compared; 0: amplitudes as they are.
    title, about, run_id : str
        Heading, a line beneath it, and run.
    """

    muted: str | None = None
    clip: float = 99.0
    balance: float = 0.0
    title: str = "velocity scan"
    about: str = ""
    run_id: str = ""


def scan_panels(
    panels: Sequence[tuple[str, NDArray]],
    time: TimeAxis,
    path: str | Path,
    *,
    across: NDArray | None = None,
    name: str = "trace",
    **drawn: Any,
) -> Path:
    """Draw the same place at every scale, side by side at one grey scale.

    Parameters
    ----------
    panels : sequence of (str, ndarray (n, nt))
        Name, and traces: of a gather, or of a section.
    time : TimeAxis
        Their samples.
    path : path
        PNG to write.
    across : ndarray, (n,), optional
        What is written beneath the traces: offsets or line numbers.
    name : str
        What that is.
    **drawn
        Fields of `ScanStyle`.
    """
    how = ScanStyle(**drawn)
    shown = [(label, np.asarray(traces, dtype=np.float64)) for label, traces in panels]
    shapes = {a.shape for _, a in shown}
    if len(shapes) != 1 or next(iter(shapes))[1] != time.nt:
        raise ModelError(
            f"panels have shapes {sorted(shapes)}", f"give {time.nt} samples of equal traces", "E401"
        )
    out = png_path(path, "vscan.png")
    said = [how.about] if how.about else []
    if how.balance > 0:
        shown = _balanced(shown, max(1, round(how.balance / time.dt / 2)))
        said.append(f"balanced over {how.balance:g} s")
    limit = style.clip_limit(np.stack([a for _, a in shown]), how.clip)
    wide = float(np.clip(11.5 / len(shown) - 0.12, 0.7, 2.6))
    said.append(f"clip {how.clip:g} % of |a| (±{limit:.3g})")
    size = (LEFT + (wide + 0.12) * len(shown) + 0.2, _TOP + _TALL + BOTTOM)
    with Sheet(out, how.title, how.run_id, " · ".join(said)).page(size) as fig:
        for n, (label, traces) in enumerate(shown):
            ax = style.place(fig, (LEFT + n * (wide + 0.12), _TOP, wide, _TALL))
            Traces(traces, time, limit, "grey", muted=how.muted).draw(ax)
            ax.set_title(style.printable(label), fontsize=9, pad=4)
            if across is not None:
                few, last = (2 if wide < 1.4 else 3), len(traces) - 1
                ticks = np.unique(np.linspace(0.12 * last, 0.88 * last, few).round().astype(int))
                ax.set_xticks(ticks, [f"{across[i]:.0f}" for i in ticks])
            ax.set_xlabel(name)
            if n:
                ax.set_yticklabels([])
            else:
                ax.set_ylabel("two-way time (s)")
    return out


def _balanced(panels: list[tuple[str, NDArray]], half: int) -> list[tuple[str, NDArray]]:
    """Return panels divided by one curve of rms amplitude over 2 half + 1 samples of all of them."""
    every = np.concatenate([a for _, a in panels])
    power = window_sum((every**2).sum(axis=0), half)
    live = window_sum(np.count_nonzero(every, axis=0).astype(np.float64), half)
    rms = np.sqrt(np.maximum(power, 0.0) / np.maximum(live, 1.0))
    # below a millionth there is nothing but rounding
    rms = np.maximum(rms, 1e-6 * rms.max(initial=0.0) or 1.0)
    return [(label, a / rms) for label, a in panels]


def scan_map(
    scales: NDArray[np.float64],
    windows: Sequence[tuple[float, float]],
    values: NDArray[np.float64],
    best: NDArray[np.float64],
    path: str | Path,
    *,
    label: str = "semblance",
    **heading: Any,
) -> Path:
    """Draw what was measured by scale and window of time, and the best scale of each window.

    Parameters
    ----------
    scales : ndarray, (ns,)
        Factors on the velocity.
    windows : sequence of (float, float), nw
        First and last time of each, s.
    values : ndarray, (ns, nw)
        Semblance, or power of the stack; drawn relative to the largest of its window.
    best : ndarray, (nw,)
        Best scale; NaN where nothing is.
    path : path
        PNG to write.
    label : str
        What the values are.
    **heading
        ``title`` and ``run_id``, as in `Sheet`.
    """
    out = png_path(path, "vscan.png")
    most = np.nanmax(np.where(np.isfinite(values), values, 0.0), axis=0)
    shown = np.divide(values, most, out=np.full(values.shape, np.nan), where=most > 0)
    half = (scales[1] - scales[0]) / 2
    facts = f"{label} over the largest of its window · dots: best scale"
    sheet = Sheet(out, **{"title": "velocity scan", **heading}).saying(facts)
    with sheet.page((5.2, _TOP + _TALL + BOTTOM)) as fig:
        ax = style.place(fig, (LEFT, _TOP, 3.2, _TALL))
        common: dict[str, Any] = {
            "cmap": style.palette("fold"),
            "vmin": max(0.0, float(np.nanmin(shown))),
            "vmax": 1,
        }
        times = np.array([windows[0][0], *(w[1] for w in windows)])
        edges = np.append(scales - half, scales[-1] + half)
        drawn = ax.pcolormesh(edges, times, np.ma.masked_invalid(shown.T), **common)
        ax.axvline(1.0, color=style.INK, linewidth=0.8)
        middle = np.array([(a + b) / 2 for a, b in windows])
        ax.plot(best, middle, "o-", color=style.OUTSIDE, markersize=4, linewidth=1)
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(times[-1], times[0])
        ax.set_xlabel("scale of the velocity")
        ax.set_ylabel("two-way time (s)")
        style.colour_bar(fig, drawn, (LEFT + 3.32, _TOP, 0.14, _TALL), f"{label}, relative")
    return out
