"""One source wavelet for many shots, and one scale per shot, by least squares from their direct waves.

The direct wave at receiver i of shot k is ``d_ki = a_k g_i * s``: the wavelet s, common to all shots, filtered by the
Green's function g_i, times the scale a_k of the shot. What is to be minimised is

    sum_k w_k sum_i | d_ki - a_k g_i * s |^2,    w_k = 1 / sum_i |d_ki|^2

so that a loud shot counts like a quiet one. With s known each scale is a quotient; with the scales known s solves
normal equations whose matrix is Toeplitz, because s has a finite length and the windows hold all of g_i * s. The two
take turns. Of a shot nothing is needed but three sums (`ShotSums`), a few hundred numbers: no trace is kept, and none
is read twice.

Shots that do not fit are left out with the reason, and the wavelet is estimated again without them.

References
----------
Robinson, E. A. & Treitel, S. (2000), Geophysical signal analysis, chapter 6 (least-squares shaping filters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: white noise, as a part of the power of the Green's functions: frequencies that a ghost takes out are not made up
STABILISE = 1e-4
#: correlation with the modelled direct wave below which a shot is left out, whatever that of the others is
LEAST_CORRELATION = 0.7
#: a shot is left out, too, when it correlates worse than the median by so many times the scatter of the others
SCATTERS, LEAST_SCATTER = 6.0, 0.01
#: a shot is left out when it is so many times louder or quieter than the median
LOUDEST = 5.0
#: turns of scales and shape, rounds of leaving out, and the change of scales that ends the turns
TURNS, ROUNDS, SETTLED = 200, 10, 1e-7


@dataclass(frozen=True, eq=False)
class ShotSums:
    """Sums over the direct waves of a shot.

    Parameters
    ----------
    shot : int
        Id of the shot.
    traces : int
        Traces that went in.
    power : ndarray, (n,), float64
        sum_i of the autocorrelation of g_i at lags 0 to n - 1 samples.
    cross : ndarray, (n,), float64
        sum_i of the correlation of g_i with d_i at the n samples of the wavelet.
    energy : float
        sum_i |d_i|^2.
    spectrum : ndarray, (nf,), float64, optional
        sum_i of |d_i|^2 by frequency.
    """

    shot: int
    traces: int
    power: NDArray[np.float64]
    cross: NDArray[np.float64]
    energy: float
    spectrum: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class ShotFit:
    """How well a shot fits the common wavelet.

    Parameters
    ----------
    shot, traces : int
        Id of the shot, and number of traces used.
    scale : float
        Factor on the common wavelet; the median of all shots that are used is 1.
    correlation : float
        Correlation of the direct waves with the modelled ones, over all traces of the shot, -1 to 1.
    residual : float
        Rms amplitude of what is left, as a part of that of the direct waves.
    reason : str
        Why the shot is left out; empty when it is used.
    """

    shot: int
    traces: int
    scale: float
    correlation: float
    residual: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class DirectWaves:
    """Direct waves of one shot, recorded and modelled, every `dt` from `start` after their traveltime on."""

    shot: int
    offset: NDArray[np.float64]
    start: float
    dt: float
    recorded: NDArray[np.float64]
    modelled: NDArray[np.float64]


def common_shape(sums: Sequence[ShotSums]) -> tuple[NDArray[np.float64], list[ShotFit]]:
    """Return the wavelet (n,) of a median shot, and the fit of every shot.

    Parameters
    ----------
    sums : sequence of ShotSums
        Sums of at least one shot, all of one length n and with some energy.
    """
    power = np.stack([s.power for s in sums])
    cross = np.stack([s.cross for s in sums])
    energy = np.array([s.energy for s in sums])
    use = np.ones(len(sums), bool)
    scale = np.sqrt(energy / np.median(energy))
    for _ in range(ROUNDS):
        shape, scale = _alternate(power, cross, energy, use, scale)
        reasons = _reasons(scale, _correlation(shape, power, cross, energy), use)
        fits = np.array([not r for r in reasons])
        if not fits.any() or np.array_equal(fits, use):
            break
        use = fits
    correlation = _correlation(shape, power, cross, energy)
    shot_fits = [
        ShotFit(s.shot, s.traces, float(a), float(c), float(np.sqrt(max(0.0, 1.0 - c * c))), reason)
        for s, a, c, reason in zip(sums, scale, correlation, reasons, strict=True)
    ]
    return shape, shot_fits


def solve_shape(power: NDArray[np.float64], cross: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the wavelet (n,) of the Toeplitz normal equations with these lags and this right-hand side."""
    from scipy.linalg import solve_toeplitz

    stable = power.copy()
    stable[0] *= 1.0 + STABILISE
    solved: NDArray[np.float64] = solve_toeplitz(stable, cross)
    return solved


def modelled_energy(shape: NDArray[np.float64], power: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sum_i |g_i * s|^2 of one shot, or of many (k, n)."""
    lags = np.correlate(shape, shape, "full")[len(shape) - 1 :]
    lags[1:] *= 2.0
    out: NDArray[np.float64] = power @ lags
    return np.maximum(out, 0.0)


def _alternate(
    power: NDArray[np.float64],
    cross: NDArray[np.float64],
    energy: NDArray[np.float64],
    use: NDArray[np.bool_],
    scale: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return shape and scales that fit the shots in use; scales of the others are those that fit the shape."""
    weight = np.where(use, 1.0 / energy, 0.0)
    for _ in range(TURNS):
        shape = solve_shape((weight * scale**2) @ power, (weight * scale) @ cross)
        model = modelled_energy(shape, power)
        new = np.divide(cross @ shape, model, out=np.zeros_like(model), where=model > 0)
        middle = float(np.median(new[use]))
        if middle == 0.0:
            break
        shape, new = shape * middle, new / middle
        change = float(np.abs(new - scale)[use].max())
        scale = new
        if change <= SETTLED * float(np.abs(scale)[use].max()):
            break
    return shape, scale


def _correlation(
    shape: NDArray[np.float64],
    power: NDArray[np.float64],
    cross: NDArray[np.float64],
    energy: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the correlation of every shot with what the wavelet models."""
    size = np.sqrt(energy * modelled_energy(shape, power))
    out: NDArray[np.float64] = np.divide(cross @ shape, size, out=np.zeros_like(size), where=size > 0)
    return np.clip(out, -1.0, 1.0)


def _reasons(
    scale: NDArray[np.float64], correlation: NDArray[np.float64], use: NDArray[np.bool_]
) -> list[str]:
    """Return why each shot does not fit, an empty text for those that do."""
    middle = float(np.median(correlation[use]))
    scatter = 1.4826 * float(np.median(np.abs(correlation[use] - middle)))
    least = max(LEAST_CORRELATION, middle - SCATTERS * max(scatter, LEAST_SCATTER))
    out = []
    for a, c in zip(scale, correlation, strict=True):
        if c <= -least:
            out.append(f"the opposite polarity of the others (correlation {c:.3f})")
        elif c < least:
            out.append(f"correlation {c:.3f} with the common wavelet, {middle:.3f} in the median shot")
        elif a > LOUDEST:
            out.append(f"{a:.3g} times as loud as the median shot")
        elif a * LOUDEST < 1.0:
            out.append(f"{1 / a:.3g} times as quiet as the median shot")
        else:
            out.append("")
    return out
