"""The stack of the image traces of the classes: the mean over the classes that are live at a sample.

A class counts with the weight that the stretch mute leaves it over a flat reflector, and not at all where no trace of
it reaches the location or where its reflection lies outside the record. A flat reflector therefore keeps its amplitude
through the taper of the mute, where a count of live classes would lose some of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics import fixedmath

if TYPE_CHECKING:
    from subsalt.acquisition.survey import TimeAxis
    from subsalt.kernels.kirchhoff_arguments import Below
    from subsalt.methods.kirchhoff.classes import Classes
    from subsalt.methods.kirchhoff.options import KirchhoffOptions

#: bytes of one temporary array: they stay in the caches
_BYTES = 512 << 10


def live_classes(
    classes: Classes,
    fold: NDArray[np.int32],
    v: NDArray[np.float32],
    eta: NDArray[np.float32] | None,
    time: TimeAxis,
    record: TimeAxis,
    options: KirchhoffOptions,
    below: Below | None = None,
) -> NDArray[np.float32]:
    """Return the number of live classes of every output sample, those in the taper of the stretch mute in part.

    Parameters
    ----------
    classes : Classes
        Whose centres are the offsets.
    fold : ndarray, (n, groups), int32
        Traces that reach a location, by class.
    v : ndarray, (n, nt), float32
        Rms velocity, m/s.
    eta : ndarray or None, (n, nt), float32
        Anellipticity.
    time : TimeAxis
        Time axis of the image.
    record : TimeAxis
        Time axis of the traces.
    options : KirchhoffOptions
        With the stretch mute.
    below : Below, optional
        Heights of the traces, where the acquisition is on a surface: times count from there.

    Returns
    -------
    ndarray, (n, nt), float32

    Notes
    -----
    At offset X over a flat reflector ts = tr = t/2 with the leg of the operator for x = X/2; the stretch is t/t0 - 1.
    """
    n, nt = v.shape
    down = time.values()[None] if below is None else below.t0(time)
    out = np.empty((n, nt), np.float32)
    offset, of_class = np.unique(classes.centres, return_inverse=True)
    # classes of one offset, its sectors, are live together: how many of them have traces
    present = np.zeros((n, len(offset)), np.float64)
    np.add.at(present.T, of_class, (fold > 0).T.astype(np.float64))
    step = max(1, _BYTES // (8 * nt * len(offset)))

    def weights(some: NDArray[np.float64], rows: slice, k: slice | NDArray[np.bool_]) -> NDArray[np.float64]:
        vv = v[rows, k].astype(np.float64)[:, None, :]
        e = None if eta is None else eta[rows, k].astype(np.float64)[:, None, :]
        t0 = down[rows if len(down) > 1 else slice(None), k][:, None, :]
        t = 2.0 * leg(0.5 * t0, 0.5 * some[:, None], vv, e)
        weight = mute_weight(t, t0, options)
        weight *= (t >= record.t0) & (t <= record.duration)
        return weight

    for a in range(0, n, step):
        rows = slice(a, a + step)
        # sums of whole numbers, exact in any order
        out[rows] = present[rows].sum(axis=1)[:, None]
        k: NDArray[np.bool_] = np.ones(nt, bool)
        if eta is None:
            # times grow with offset: where nearest and farthest count in full, all do
            ends = weights(offset[[0, -1]], rows, slice(None))
            k = np.asarray((ends < 1.0).any(axis=(0, 1)))
        weight = weights(offset, rows, k)
        weight *= present[rows][:, :, None]
        total = np.zeros((weight.shape[0], weight.shape[2]))
        # one order of additions, whatever NumPy does with more than eight terms
        for c in range(len(offset)):
            total += weight[:, c]
        out[rows, k] = total
    return out


def leg(
    half_t0: NDArray[np.float64],
    x: NDArray[np.float64],
    v: NDArray[np.float64],
    eta: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the time of one leg, s, for half the two-way time t0 and a lateral distance x, as the sum has it."""
    squared = half_t0 * half_t0 + (x * x) / (v * v)
    if eta is not None:
        x2, v2 = x * x, v * v
        squared = squared - 2.0 * eta * x2 * x2 / (
            v2 * np.maximum(half_t0 * half_t0 * v2 + (1 + 2 * eta) * x2, 1e-30)
        )
    return np.sqrt(np.maximum(squared, 0.0))


def mute_weight(
    t: NDArray[np.float64], t0: NDArray[np.float64], options: KirchhoffOptions
) -> NDArray[np.float64]:
    """Return the weight of the stretch mute where a flat event is stretched from t0 to t; 0 at time zero."""
    weight = np.broadcast_to(t0 > 0, t.shape).astype(np.float64)
    if options.stretch_mute is None:
        return weight
    stretch = t / np.where(t0 > 0, t0, 1.0) - 1.0
    first = options.stretch_mute * (1.0 - options.stretch_taper)
    weight[stretch > options.stretch_mute] = 0.0
    between = (stretch > first) & (weight > 0)
    part = (stretch[between] - first) / (options.stretch_mute - first)
    weight[between] = 0.5 + 0.5 * fixedmath.cos(fixedmath.PI * part)
    return weight


def stack(summed: NDArray[np.float32], live: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the image: the sum over classes divided by the live classes, by 1 where less than one of them is live.

    Parameters
    ----------
    summed : ndarray, (n, classes, nt), float32
        Image traces of all classes, or of all in one.
    live : ndarray, (n, nt), float32
        `live_classes`.

    Returns
    -------
    ndarray, (n, nt), float32
    """
    total = np.zeros((summed.shape[0], summed.shape[2]), np.float64)
    for c in range(summed.shape[1]):
        total += summed[:, c]
    return (total / np.maximum(live, 1.0)).astype(np.float32)
