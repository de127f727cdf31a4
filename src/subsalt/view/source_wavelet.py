"""A source wavelet: its samples, its spectrum, the quality of every shot, and the direct waves of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from subsalt.acquisition.source_shape import DirectWaves, ShotFit
from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.view import palettes, style
from subsalt.view.pages import LEFT, Sheet
from subsalt.view.records import DrawnTraces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: inches of a panel, and between two
WIDE, TALL, APART = 3.6, 2.3, 0.75
#: dB below the peak that the spectrum shows
DEEP = 50.0


def source_wavelet(
    wavelet: Wavelet,
    path: Path,
    *,
    title: str,
    about: str = "",
    shots: Sequence[ShotFit] = (),
    direct: DirectWaves | None = None,
) -> Path:
    """Draw a wavelet and where it comes from.

    Parameters
    ----------
    wavelet : Wavelet
        The source function.
    path : Path
        PNG to write.
    title, about : str
        Heading, and facts below it.
    shots : sequence of ShotFit
        Quality per shot, where there is one.
    direct : DirectWaves, optional
        Direct waves of one shot.

    Returns
    -------
    Path
        The PNG.
    """
    rows = 1 + bool(shots) + (direct is not None)
    top = 0.75
    size = (LEFT + 2 * WIDE + APART + 0.3, top + rows * (TALL + APART))
    with Sheet(path, title, "", about).page(size) as fig:
        _samples(style.place(fig, (LEFT, top, WIDE, TALL)), wavelet)
        _spectrum(style.place(fig, (LEFT + WIDE + APART, top, WIDE, TALL)), wavelet)
        down = top + TALL + APART
        if shots:
            _quality(style.place(fig, (LEFT, down, WIDE, TALL)), shots, "residual (%)")
            _quality(style.place(fig, (LEFT + WIDE + APART, down, WIDE, TALL)), shots, "scale")
            down += TALL + APART
        if direct is not None:
            room = (2 * WIDE + APART - 0.4) / 3
            limit = style.clip_limit(direct.recorded, 99.0)
            time = TimeAxis(direct.recorded.shape[1], direct.dt, direct.start)
            for k, (name, values) in enumerate(
                (
                    (f"shot {direct.shot}, direct waves", direct.recorded),
                    ("modelled", direct.modelled),
                    ("difference", direct.recorded - direct.modelled),
                )
            ):
                ax = style.place(fig, (LEFT + k * (room + 0.2), down, room, TALL))
                DrawnTraces(values, time, limit, "wiggle", direct.offset).draw(ax)
                ax.set_title(name, fontsize=8, pad=3)
                if k:
                    ax.set_yticklabels([])
                else:
                    ax.set_ylabel("time after the traveltime (s)", fontsize=8)
    return path


def _samples(ax: Axes, wavelet: Wavelet) -> None:
    t = wavelet.times()
    ax.axhline(0.0, color=palettes.FAINT, linewidth=0.5)
    ax.axvline(0.0, color=palettes.FAINT, linewidth=0.5, linestyle=":")
    power = style.exponent(wavelet.samples)
    samples = np.asarray(wavelet.samples, dtype=np.float64) / 10.0**power
    ax.plot(t, samples, color=palettes.INK, linewidth=1.2)
    ax.fill_between(t, 0.0, np.maximum(samples, 0.0), color=palettes.INK, linewidth=0)
    ax.set_xlim(t[0], t[-1])
    ax.set_xlabel("time after the shot (s)")
    ax.set_ylabel(f"amplitude (1e{power})" if power else "amplitude", labelpad=1)
    ax.set_title(f"source function, peak at {1e3 * wavelet.peak_time:.0f} ms", fontsize=9)


def _spectrum(ax: Axes, wavelet: Wavelet) -> None:
    n = max(512, 4 * wavelet.nt)
    f = np.fft.rfftfreq(n, wavelet.dt)
    amplitude = np.abs(np.fft.rfft(wavelet.samples, n))
    level = 20.0 * np.log10(np.maximum(amplitude / amplitude.max(), 1e-6))
    ax.plot(f, level, color=palettes.INK, linewidth=1.2)
    ax.axvline(wavelet.fmax, color=palettes.RECEIVER, linewidth=0.8, linestyle="--")
    ax.set_xlim(0.0, f[-1])
    ax.set_ylim(-DEEP, 2.0)
    ax.set_xlabel("frequency (Hz)")
    ax.set_ylabel("amplitude (dB)")
    ax.set_title(f"peak {wavelet.f0:.0f} Hz, below 3 % from {wavelet.fmax:.0f} Hz", fontsize=9)


def _quality(ax: Axes, shots: Sequence[ShotFit], what: str) -> None:
    """Draw residual or scale by shot; those left out are crosses in another colour."""
    for used, mark, colour in ((True, ".", palettes.INK), (False, "x", palettes.MARK)):
        some = [s for s in shots if (not s.reason) == used and s.traces]
        values = [100.0 * s.residual if what.startswith("residual") else s.scale for s in some]
        label = "used" if used else "left out"
        ax.plot([s.shot for s in some], values, mark, color=colour, markersize=3 if used else 4, label=label)
    ax.set_xlabel("shot")
    ax.set_ylabel(what)
    if any(s.reason and s.traces for s in shots):
        # above the panel: inside it would hide shots
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, borderaxespad=0.1)
