"""The low end of an estimated wavelet, where its traces hold more noise than signal.

Swell and the recorder's drift lie below a few hertz. Under a free surface the direct wave has next to nothing there,
so that the noise is divided by next to nothing. Two signs tell it: at low frequencies the wavelet explains no more of
the direct waves than one spectral value explains of as many traces of noise (`noisy_to`), and the estimate has a mean,
which a source of pressure has not.
The noise is taken out by a low cut without change of phase.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.source_shape import ShotFit, ShotSums
from subsalt.acquisition.wavelet import BAND_LEVEL

#: absolute sum over sum of absolute values from which a mean is noise; `check` calls 5 % too much. Estimates from exact
#: direct waves, whose windows end with a fade, have up to 1.3 %
MEAN = 0.03
#: energy that a wavelet explains at a frequency, over what it would explain of noise alone, one part in the number of
#: traces, up to which more of the estimate is noise than signal: signal 1, noise 1, and as much again for chance
NOISE = 4.0
#: samples of the transforms over those of the wavelet: the minimum of its spectrum is found to a tenth of the
#: resolution
FINE = 16
#: part of a wavelet at either end over which it fades
FADE = 1 / 16


def faded(values: NDArray[np.float64], both: bool = True) -> NDArray[np.float64]:
    """Return a wavelet brought smoothly to zero at its end, at its beginning too when `both`."""
    n = len(values)
    left = np.arange(n, 0, -1.0) if not both else np.minimum(np.arange(n) + 1.0, np.arange(n, 0, -1.0))
    out: NDArray[np.float64] = (
        values * np.sin(0.5 * math.pi * np.minimum(1.0, left / max(2.0, FADE * n))) ** 2
    )
    return out


def mean_ratio(samples: NDArray[np.float64]) -> float:
    """Return absolute sum over sum of absolute values of a wavelet, 0 to 1."""
    return float(abs(samples.sum()) / np.abs(samples).sum())


def first_minimum(samples: NDArray[np.float64], dt: float) -> float | None:
    """Return the frequency, Hz, at which the amplitude spectrum of a wavelet has its first minimum.

    None where the spectrum rises from zero frequency on, or falls to its end.
    """
    size = FINE * len(samples)
    amplitude = np.abs(np.fft.rfft(samples, size))
    rises = np.flatnonzero(np.diff(amplitude) > 0)
    if not len(rises) or rises[0] == 0:
        return None
    return float(rises[0]) / (size * dt)


def explained(
    shape: NDArray[np.float64], sums: Sequence[ShotSums], fits: Sequence[ShotFit], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the energy of the direct waves that a wavelet models, and that of the traces, by frequency.

    Parameters
    ----------
    shape : ndarray, (n,)
        The wavelet of a median shot.
    sums : sequence of ShotSums
        With the spectra of their traces.
    fits : sequence of ShotFit
        Fits of the same shots, in the same order.
    size : int
        Samples of the transforms of these spectra.

    Returns
    -------
    modelled, recorded : ndarray, (size // 2 + 1,)
        Spectra of all shots that fit, each divided by its energy.
    """
    power = np.abs(np.fft.rfft(shape, size)) ** 2
    modelled, recorded = np.zeros(len(power)), np.zeros(len(power))
    for its, fit in zip(sums, fits, strict=True):
        if fit.reason or its.spectrum is None:
            continue
        green = np.maximum(2.0 * np.fft.rfft(its.power, size).real - its.power[0], 0.0)
        modelled += fit.scale**2 * power * green / its.energy
        recorded += its.spectrum / its.energy
    return modelled, recorded


def noisy_to(
    modelled: NDArray[np.float64],
    recorded: NDArray[np.float64],
    traces: int,
    size: int,
    dt: float,
    length: float,
) -> float | None:
    """Return the frequency, Hz, up to which an estimate from `traces` is noise; None where it is signal throughout.

    Only what lies below half of the frequency at which most is modelled counts: noise above it is for the steps of
    the job. Half a cycle in the `length` of the wavelet, s, is distinguished from none.
    """
    half = int(np.argmax(modelled)) // 2
    noisy = modelled[:half] < min(0.5, NOISE / traces) * recorded[:half]
    # the lowest frequency, or the next, to which a mean that the window has taken out may have fallen
    if not noisy[: half // 4 + 1].any():
        return None
    clean = np.flatnonzero(~noisy[int(np.argmax(noisy)) :])
    last = int(np.argmax(noisy)) + int(clean[0]) if len(clean) else half
    return last / (size * dt) if last * length >= 0.5 * size * dt else None


def without_noise_below(
    samples: NDArray[np.float64], dt: float, noisy: float | None = None
) -> tuple[NDArray[np.float64], float | None]:
    """Return a wavelet (n,) without the noise of its low end, and the frequency of the low cut, Hz.

    Parameters
    ----------
    samples : ndarray, (n,)
        An estimate, which has faded at both ends.
    dt : float
        Sampling interval, s.
    noisy : float, optional
        Frequency up to which its traces hold more noise than signal, Hz.

    Returns
    -------
    samples : ndarray, (n,)
        With zero mean; as they were, and None for the frequency, where nothing says that there is noise.
    low : float or None
        Where the filter passes half of the amplitude: `noisy`, or else the first minimum of the spectrum. Where it has
        none the mean alone is taken out, and the resolution of the wavelet's length is returned.
    """
    n = len(samples)
    mean = mean_ratio(samples) > MEAN
    low = noisy or (first_minimum(samples, dt) if mean else None)
    if low is None:
        return (_without_mean(samples), 1.0 / (n * dt)) if mean else (samples, None)
    size = FINE * n
    f = np.fft.rfftfreq(size, dt)
    amplitude = np.abs(np.fft.rfft(samples, size))
    if not mean and amplitude[f <= low].max() <= BAND_LEVEL * amplitude.max():
        # noise in the traces, not in the estimate
        return samples, None
    ramp = np.clip((f - 0.5 * low) / low, 0.0, 1.0)
    # room on both sides for what the filter spreads
    room = np.zeros(size)
    first = (size - n) // 2
    room[first : first + n] = samples
    cut = np.fft.irfft(np.fft.rfft(room) * np.sin(0.5 * math.pi * ramp) ** 2, size)[first : first + n]
    # what is spread beyond the wavelet is cut off, so that a little of a mean comes back
    return _without_mean(faded(cut)), low


def _without_mean(samples: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a wavelet less a bell of its length, by which its mean is zero."""
    n = len(samples)
    bell = np.sin(math.pi * (np.arange(n) + 0.5) / n) ** 2
    return samples - bell * float(samples.sum() / bell.sum())
