"""Flatness of events in image gathers: semblance along offset, and residual moveout.

Measures of a finished image, for pictures and for choosing a velocity; nothing here is on the way to the image.

An image trace at offset x of a flat event, migrated with v_m instead of v, has it at
``t^2 = tau^2 + q x^2`` with ``q = 1/v^2 - 1/v_m^2`` (the hyperbola of the data less the one that migration took off):
q > 0, later at far offsets, where v_m was too fast; q < 0, earlier, where it was too slow. A dipping event obeys the
same law with v over the cosine of its dip in both velocities (Al-Yahya 1989 and Schleicher & Biloti 2007 for depth).

Pictures of a velocity scan show gathers and stacks at every scale side by side, and the best scale at each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.errors import ConfigError, ModelError
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, LEFT, TOP, Sheet, png_path
from subsalt.view.records import DrawnTraces

#: half length of the window in which semblance is taken, s: two periods of 25 Hz
HALF_WINDOW = 0.08
#: image traces that must be live at a sample before its semblance says anything
FEWEST_LIVE = 4
#: an event counts as picked above this semblance
PICKED = 0.4
#: ... and above this share of the power of the strongest: a thirtieth of its amplitude
QUIET = 1e-3
#: number of scanned curvatures on either side of flat
SCANNED = 20
#: ratios of velocity that are scanned on either side of one
WIDEST_RATIO = 0.15


def window_sum(values: NDArray[np.float64], half: int) -> NDArray[np.float64]:
    """Return sums over 2 half + 1 neighbours along the last axis, shorter at the ends."""
    total = np.cumsum(np.pad(values, [(0, 0)] * (values.ndim - 1) + [(half + 1, half)]), axis=-1)
    return total[..., 2 * half + 1 :] - total[..., : -2 * half - 1]


def semblance(gather: NDArray, time: TimeAxis, half_window: float = HALF_WINDOW) -> NDArray[np.float64]:
    """Return how alike the traces of a gather are: energy of their sum over their energy, 0 to 1.

    Parameters
    ----------
    gather : ndarray, (..., n, nt)
        Image traces of a location by offset; samples that are exactly zero are muted ones.
    time : TimeAxis
        Time axis of the traces.
    half_window : float
        Half length of the window, s.

    Returns
    -------
    ndarray, (..., nt)
        ``sum_w (sum_x a)^2 / sum_w (m sum_x a^2)`` with m the live traces of a sample; 0 where fewer than
        `FEWEST_LIVE` are live.

    References
    ----------
    Neidell & Taner 1971, Geophysics 36, 482-497.
    """
    a = np.asarray(gather, dtype=np.float64)
    live = np.count_nonzero(a, axis=-2)
    enough = live >= FEWEST_LIVE
    half = max(1, round(half_window / time.dt))
    top = window_sum(np.where(enough, a.sum(axis=-2) ** 2, 0.0), half)
    bottom = window_sum(np.where(enough, live * (a**2).sum(axis=-2), 0.0), half)
    # cumulated sums leave rounding where nothing is
    tiny = 1e-9 * bottom.max(initial=0.0)
    out = np.divide(top, bottom, out=np.zeros_like(top), where=(bottom > tiny) & enough)
    return np.clip(out, 0.0, 1.0)


def moved(gather: NDArray, offset: NDArray[np.float64], time: TimeAxis, q: NDArray) -> NDArray[np.float64]:
    """Return a gather read along ``t = sqrt(tau^2 + q x^2)``: flat where its moveout is q.

    Parameters
    ----------
    gather : ndarray, (n, nt)
        Image traces.
    offset : ndarray, (n,)
        Offsets of the traces, m.
    time : TimeAxis
        Time axis of the traces; its times are tau of the result.
    q : ndarray, (nt,)
        Curvature for every tau, s2/m2.

    Returns
    -------
    ndarray, (n, nt), float64
        Linearly interpolated; zero outside the traces, and where either sample is muted (zero).
    """
    tau = time.values()
    square = tau**2 + np.outer(np.asarray(offset, np.float64) ** 2, q)
    place = (np.sqrt(np.maximum(square, 0.0)) - time.t0) / time.dt
    k = np.floor(place).astype(np.int64)
    inside = (square >= 0) & (k >= 0) & (k < time.nt - 1)
    k = np.clip(k, 0, time.nt - 2)
    a = np.asarray(gather, dtype=np.float64)
    low, high = np.take_along_axis(a, k, 1), np.take_along_axis(a, k + 1, 1)
    f = place - k
    return np.where(inside & (low != 0) & (high != 0), low + f * (high - low), 0.0)


@dataclass(frozen=True)
class Moveout:
    """Semblance of a gather by time and by what moveout is left.

    Parameters
    ----------
    ratio : ndarray, (nr,)
        Velocity that would make an event flat over the one that was used.
    spectrum : ndarray, (nr, nt)
        Semblance.
    time : TimeAxis
        Samples of the spectrum.
    picks : ndarray, (n, 4)
        Time (s), ratio, semblance and relative amplitude of the events that stand out, in order of time.
    """

    ratio: NDArray[np.float64]
    spectrum: NDArray[np.float64]
    time: TimeAxis
    picks: NDArray[np.float64]

    @property
    def mean_ratio(self) -> float:
        """Mean of the picked ratios, weighted by semblance and amplitude; NaN without a pick."""
        if not len(self.picks):
            return float("nan")
        return float(np.average(self.picks[:, 1], weights=self.picks[:, 2] * self.picks[:, 3]))


def residual_moveout(
    gather: NDArray,
    offset: NDArray[np.float64],
    time: TimeAxis,
    velocity: NDArray,
    *,
    widest: float = WIDEST_RATIO,
    half_window: float = HALF_WINDOW,
) -> Moveout:
    """Scan a gather for the moveout that is left in it.

    Parameters
    ----------
    gather : ndarray, (n, nt)
        Image traces of one location.
    offset : ndarray, (n,)
        Offsets of the traces, m.
    time : TimeAxis
        Time axis of the traces.
    velocity : ndarray, (nt,)
        The rms velocity with which it was migrated, m/s.
    widest : float
        Ratios from 1 - widest to 1 + widest are tried.
    half_window : float
        Half length of the semblance window, s.

    Returns
    -------
    Moveout
        A pick is the most coherent power of a stretch as long as two semblance windows, when its semblance is `PICKED`
        or more and its power at least `QUIET` of the strongest.

    Notes
    -----
    ``q(tau) = (1/ratio^2 - 1) / v(tau)^2``: ratio below 1 says that the velocity was too fast.
    """
    if not 0 < widest < 1:
        raise ConfigError(f"widest = {widest:g}", "give a share of the velocity above 0 and below 1")
    slowness = 1.0 / np.asarray(velocity, dtype=np.float64) ** 2
    ratio = 1.0 + widest * np.arange(-SCANNED, SCANNED + 1) / SCANNED
    offset = np.asarray(offset, dtype=np.float64)
    half = max(1, round(half_window / time.dt))
    spectrum, power = np.zeros((2, len(ratio), time.nt))
    for k, r in enumerate(ratio):
        flattened = moved(gather, offset, time, (r**-2 - 1) * slowness)
        spectrum[k] = semblance(flattened, time, half_window)
        # summed twice: largest in the middle of an event, whose tails are as much alike as the event itself
        power[k] = window_sum(window_sum(flattened.sum(axis=0) ** 2, half), half)
    return Moveout(ratio, spectrum, time, _picks(spectrum, power, ratio, time, 4 * half))


def _picks(
    spectrum: NDArray[np.float64],
    power: NDArray[np.float64],
    ratio: NDArray[np.float64],
    time: TimeAxis,
    length: int,
) -> NDArray[np.float64]:
    """Return time, ratio, semblance and amplitude of the most coherent power of each stretch of `length` samples."""
    score, picks = spectrum * power, []
    best, loudest = score.max(axis=0), float(power.max(initial=0.0))
    for a in range(0, time.nt, length):
        k = a + int(np.argmax(best[a : a + length]))
        # at the end of a stretch it may be the tail of an event in the next one
        if best[k] < best[max(k - 1, 0) : k + 2].max():
            continue
        column = spectrum[:, k]
        i = int(np.argmax(column))
        # a best at the end of the scan is no best
        if column[i] >= PICKED and power[i, k] > QUIET * loudest and 0 < i < len(ratio) - 1:
            amplitude = float(np.sqrt(power[i, k] / loudest))
            picks.append((time.t0 + k * time.dt, peak(ratio, column), float(column[i]), amplitude))
    return np.asarray(picks, dtype=np.float64).reshape(-1, 4)


def peak(at: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return where the parabola through the largest value and its neighbours peaks; an end as it is."""
    i = int(np.argmax(values))
    if not 0 < i < len(values) - 1:
        return float(at[i])
    left, top, right = (float(v) for v in values[i - 1 : i + 2])
    bend = left - 2 * top + right
    shift = 0.5 * (left - right) / bend if bend < 0 else 0.0
    return float(at[i] + shift * (at[i + 1] - at[i - 1]) / 2)


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
        Time axis of the traces.
    path : path
        PNG to write.
    across : ndarray, (n,), optional
        Labels beneath the traces: offsets or line numbers.
    name : str
        Name of these labels.
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
    wide = float(np.clip((9.6 if len(shown) <= 6 else 11.5) / len(shown) - 0.12, 0.7, 2.6))
    said.append(f"clip {how.clip:g} % of |a| (±{limit:.3g})")
    size = (LEFT + (wide + 0.12) * len(shown) + 0.2, _TOP + _TALL + BOTTOM)
    with Sheet(out, how.title, how.run_id, " · ".join(said)).page(size) as fig:
        for n, (label, traces) in enumerate(shown):
            ax = style.place(fig, (LEFT + n * (wide + 0.12), _TOP, wide, _TALL))
            DrawnTraces(traces, time, limit, "grey", muted=how.muted).draw(ax)
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
        Meaning of the values.
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
            "cmap": palettes.palette("fold"),
            "vmin": max(0.0, float(np.nanmin(shown))),
            "vmax": 1,
        }
        times = np.array([windows[0][0], *(w[1] for w in windows)])
        edges = np.append(scales - half, scales[-1] + half)
        drawn = ax.pcolormesh(edges, times, np.ma.masked_invalid(shown.T), **common)
        ax.axvline(1.0, color=palettes.INK, linewidth=0.8)
        middle = np.array([(a + b) / 2 for a, b in windows])
        ax.plot(best, middle, "o-", color=palettes.MARK, markersize=4, linewidth=1)
        ax.set_xlim(edges[0], edges[-1])
        ax.set_ylim(times[-1], times[0])
        ax.set_xlabel("scale of the velocity")
        ax.set_ylabel("two-way time (s)")
        style.colour_bar(fig, drawn, (LEFT + 3.32, _TOP, 0.14, _TALL), f"{label}, relative")
    return out
