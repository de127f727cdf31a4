"""Waveforms around first breaks: how alike two are, and what a wavelet makes of the direct wave.

Windows are aligned by their picks, which are made on absolute values, so that neither time zero nor sign of the wavelet
matters to how alike they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.band import cut_low
from subsalt.acquisition.first_breaks import FEWEST, WINDOW, ShotBreaks, pick, spread, windows
from subsalt.check.context import Context
from subsalt.check.looked_at import wavelet_of
from subsalt.check.picked import breaks, measured

#: samples of a window by which two arrivals may be misaligned: an eighth of a period
LAG = WINDOW // 16
#: traces of a shot with a direct wave alone that are compared with the wavelet, at least; and shots
SINGLE, SHOTS = 3, 8
#: correlation of the direct wave with what the wavelet makes of it from which the phase of the wavelet is right
SAME_WAVE = 0.9


def correlations(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of windows (n, WINDOW) with others, of the largest absolute value over small lags."""
    n = a.shape[1]
    lag = np.arange(-LAG, LAG + 1)
    late, early = np.maximum(lag, 0), np.maximum(-lag, 0)
    # all of b at once: einsum sums along the rows without an array of products
    products = np.stack(
        [np.einsum("ij,ij->i", a[:, i : n - j], b[:, j : n - i]) for i, j in zip(late, early, strict=True)],
        axis=1,
    )
    # energies of what overlaps at each lag
    of_a, of_b = (np.pad(np.cumsum(x * x, axis=1), ((0, 0), (1, 0))) for x in (a, b))
    size = np.sqrt((of_a[:, n - early] - of_a[:, late]) * (of_b[:, n - late] - of_b[:, early]))
    normed = np.divide(products, size, out=np.zeros_like(products), where=size > 0)
    return np.take_along_axis(normed, np.abs(normed).argmax(axis=1)[:, None], axis=1)[:, 0]


@dataclass(frozen=True)
class Likeness:
    """How alike the direct wave of a shot is to what the wavelet makes of it, as medians over some traces.

    Of a line, the wave of a point source is compared, and that of a line source, as modelled data have it.

    Parameters
    ----------
    low, high : float
        Correlation with the one that is less alike, and with the other.
    bias_low, bias : float
        By how much they are picked later than their traveltime and the onset of the wavelet, s.
    """

    low: float
    high: float
    bias_low: float
    bias: float


def against_the_wavelet(context: Context, whenever: bool = False) -> list[Likeness]:
    """Return how alike the direct waves of some shots are to what the wavelet makes of them; found once.

    Those within a period of when the model lets them arrive, or all that lie on its curve, `whenever` they come.
    """
    by_timing: dict[bool, list[Likeness]] = context.facts.setdefault("_against_the_wavelet", {})
    if whenever not in by_timing:
        good = [b for b in breaks(context) if b.good]
        some = [good[int(i)] for i in spread(len(good), SHOTS)]
        by_timing[whenever] = [c for b in some if (c := _of_shot(context, b, whenever)) is not None]
    return by_timing[whenever]


def _of_shot(context: Context, picks: ShotBreaks, whenever: bool) -> Likeness | None:
    """Return the likeness of a shot; None where no direct wave is sure.

    The model allows it one time, and it came then, or all of it within a period of then.
    """
    assert context.model is not None
    m = measured(context, picks)
    one, late = m.late - m.early < 0.1 * m.period, m.excess()
    if not one.any():
        return None
    alike = np.abs(late - np.median(late[one])) < 0.25 * m.period
    in_time = np.abs(late) < (np.inf if whenever else m.period)
    far = np.flatnonzero(one & alike & in_time & (m.late > m.period))
    if len(far) < SINGLE:
        return None
    values: list[tuple[float, float]] = []
    for ndim in {context.model.grid.ndim, 3}:
        likeness: list[float] = []
        after: list[float] = []
        for i in far[spread(len(far), FEWEST)]:
            made = _direct(context, picks, int(m.at[i]), float(m.late[i]), ndim)
            if made is not None:
                likeness.append(float(correlations(picks.windows[m.at[i]][None], made[0][None])[0]))
                after.append(made[1] - m.late[i] - m.pulse)
        values += [(float(np.median(likeness)), float(np.median(after)))] if likeness else []
    if not values:
        return None
    (low, bias_low), (high, bias) = min(values), max(values)
    return Likeness(low, high, bias_low, bias)


def bias_of(context: Context, whenever: bool = False) -> float | None:
    """Return by how much direct waves are picked late with the wavelet of the job, s; None if theirs is another."""
    likenesses = against_the_wavelet(context, whenever)
    if not likenesses:
        return None
    high, low = (float(np.median([getattr(c, n) for c in likenesses])) for n in ("high", "low"))
    # of the opposite sign they are more alike: then nothing is known
    return float(np.median([c.bias for c in likenesses])) if high >= max(SAME_WAVE, -low) else None


def _direct(
    context: Context, picks: ShotBreaks, i: int, time: float, ndim: int
) -> tuple[NDArray[np.float64], float] | None:
    """Return the window around the pick of the direct wave of one trace in a uniform medium, with its ghost, and the
    pick, s.
    """
    from subsalt.analytic.uniform import isotropic_waveform

    assert context.model is not None
    wavelet, shot = wavelet_of(context), picks.shot
    rcv = shot.rcv[picks.rows[i]]
    x = float(np.hypot(*(rcv[:2] - shot.src[:2])))
    top = context.model.grid.origin[-1]
    over = [float(rcv[2] - shot.src[2])]
    if context.propagation.free_surface:
        surface = context.propagation.topography
        ends = np.stack([rcv, shot.src])
        tops = np.full(2, top) if surface is None else surface.depth(ends[:, :2])
        over.append(float((ends[:, 2] - tops).sum()))
    v = float(np.hypot(x, over[0])) / time
    nt = int(np.ceil((time + 6.0 / wavelet.f0) / wavelet.dt)) + wavelet.nt
    # coarser than the propagation needs it: a twelfth of the shortest period
    step = max(1, int(1.0 / (12.0 * wavelet.fmax * wavelet.dt)))
    samples, dt, n = wavelet.samples[::step], wavelet.dt * step, nt // step + 1
    across = [0.0] * (ndim - 2)
    parts = isotropic_waveform(
        [[x, *across, z] for z in over], v, np.pad(samples, (0, max(0, n - len(samples)))), dt, n
    )
    trace = parts[0] - parts[1] if len(parts) > 1 else parts[0]
    # as the traces were treated before they were picked
    alike = cut_low(trace[None].astype(np.float32), dt, picks.cut)
    at = pick(alike, dt, picks.period)[0]
    if not np.isfinite(at[0]):
        return None
    return windows(alike, dt, at, picks.period)[0], float(at[0]) + wavelet.t0
