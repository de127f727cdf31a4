"""Aliasing by the grid: the error of a reflection against points per shortest wavelength, and the points of an image.

At normal incidence a wave of wavenumber k meets its reflection in the model at 2 k, and an image holds 2 k, whichever
order the weights in space have. On a grid of spacing h wavenumbers end at pi / h: above a frequency of v / (4 h), v the
local velocity, 2 k cannot be represented, and is aliased to 2 pi / h - 2 k. The model passes a window on its way
to the grid (`subsalt.earth.regrid`), which weakens wavenumbers below pi / h and lets some above in.

References
----------
Born (single) scattering of a plane wave by the sampled model. Velocities that grow across an interface carry shorter
wavenumbers there, so that a weak contrast in the slowest part of a model is the worst case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.regrid import passed
from subsalt.numerics import fixedmath
from subsalt.numerics.stencil import Stencil

#: wavelengths after which the accuracy holds, of the shortest wave
WAVELENGTHS = 40.0
#: examined frequencies, as parts of the highest of a wavelet; a Ricker wavelet has 1e-6 of its energy beyond
PART = np.linspace(0.02, 1.6, 80)
_KAPPA = np.linspace(0.0, 4 * np.pi, 1601)


@dataclass(frozen=True)
class Waves:
    """The energy of waves by frequency.

    Parameters
    ----------
    power : ndarray
        Power at the frequencies `PART`, in any unit.
    """

    power: NDArray[np.float64]

    @classmethod
    def of(cls, wavelet: Wavelet) -> Waves:
        """Return those of a wavelet, as it is recorded in 3-D; in 2-D there is less of the high frequencies."""
        n = 8 * wavelet.nt
        spectrum = np.abs(np.fft.rfft(wavelet.samples, n)) ** 2
        f = np.fft.rfftfreq(n, wavelet.dt)
        return cls(np.interp(PART * wavelet.fmax, f, spectrum, right=0.0))

    @classmethod
    def ricker(cls) -> Waves:
        """Return those of a Ricker wavelet, whose highest frequency is 2.5 times that of its peak."""
        a = (2.5 * PART) ** 2
        return cls((a * fixedmath.exp(-a)) ** 2)


def symbol(c: tuple[float, ...], kh: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the symbol of -D2 on a unit grid."""
    total = np.full_like(kh, -c[0])
    for k, ck in enumerate(c[1:], 1):
        total = total - 2.0 * ck * fixedmath.cos(k * kh)
    return np.maximum(total, 0.0)


def reflection_error(stencil: Stencil, tilted: bool, waves: Waves, points: ArrayLike) -> NDArray[np.float64]:
    """Return the error of a reflection, relative L2, after `WAVELENGTHS` wavelengths, at the worst depth in a cell.

    Parameters
    ----------
    stencil : Stencil
        Weights in space.
    tilted : bool
        The medium is: its waves are as right as those of an upright one on a grid that is coarser in proportion to
        the points that the weights need in both.
    waves : Waves
        Waves by frequency.
    points : array_like, (n,)
        Per shortest wavelength.

    Notes
    -----
    The reflection of a step of the model at depth z, over the true one, of a plane wave with the frequency of the
    wavenumber k and the wavenumber q on the grid (h = 1)::

        (2 k)^2 / (S'(q) 2 q) [ passed(2 q) + passed(2 pi - 2 q) 2 q / (2 q - 2 pi) exp(-2 pi i z) ] exp(i phase)

    with S the symbol of the weights and the phase that of the way to the receiver. The depth turns the second term
    alone, by as much at all frequencies.
    """
    kh = 2.0 * np.pi * PART / np.atleast_1d(np.asarray(points, dtype=np.float64))[:, None]
    c = stencil.second(tilted)
    q, slope = _on_grid(c, kh)
    # in an upright medium `stretch` is 1
    stretch = stencil.points(False) / stencil.points(True) if tilted else 1.0
    travelled = _on_grid(stencil.second(), kh / stretch)[0] * stretch if tilted else q
    phase = 2.0 * np.pi * WAVELENGTHS * PART * (travelled / kh - 1.0)
    kappa, amplitude = 2.0 * q, (2.0 * kh) ** 2 / np.maximum(slope, 1e-9) / np.maximum(2.0 * q, 1e-9)
    right, folded = amplitude * _passed(kappa), amplitude * _passed(2.0 * np.pi - kappa)
    folded = folded * kappa / np.where(kappa == 2 * np.pi, 1e-9, kappa - 2.0 * np.pi)
    # waves that the grid does not carry do not arrive
    arrives = kh < _fastest(c)
    cosine, sine = fixedmath.cos(phase), fixedmath.sin(phase)
    real = np.where(arrives, right * cosine - 1.0, -1.0)
    imaginary, folded = np.where(arrives, right * sine, 0.0), np.where(arrives, folded, 0.0)
    # against exp(i phase) of the folded wave
    return _worst(waves.power, real * cosine + imaginary * sine, imaginary * cosine - real * sine, folded)


def points_of_image(wavelet: Wavelet, accuracy: float) -> float:
    """Return the points per shortest wavelength of waves whose product folds back by less than the accuracy.

    At normal incidence a frequency f images at the wavenumber 2 f / v, with the square of the wavelet's spectrum; on a
    grid of spacing h it folds back above f = v / (4 h).
    """
    spectrum = np.abs(np.fft.rfft(wavelet.samples, 4 * len(wavelet.samples))) ** 4
    above = np.sqrt(np.cumsum(spectrum[::-1])[::-1] / spectrum.sum())
    f = np.fft.rfftfreq(4 * len(wavelet.samples), wavelet.dt)
    return 4.0 * float(f[int(np.argmax(above <= accuracy))]) / wavelet.fmax


def _worst(
    power: NDArray[np.float64],
    real: NDArray[np.float64],
    imaginary: NDArray[np.float64],
    folded: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the largest L2 of ``a + b exp(i angle)`` of all angles, over that of the waves."""
    fixed = (power * (real * real + imaginary * imaginary + folded * folded)).sum(axis=1)
    with_it, across = (power * real * folded).sum(axis=1), (power * imaginary * folded).sum(axis=1)
    return np.asarray(np.sqrt((fixed + 2.0 * np.sqrt(with_it**2 + across**2)) / power.sum()))


def _passed(kappa: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.interp(np.abs(kappa), _KAPPA, _PASSED)


_PASSED = passed(_KAPPA)


def _on_grid(
    c: tuple[float, ...], kh: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the wavenumber of a wave on the grid by its true one, and the slope of the symbol there."""
    q = np.linspace(0.0, np.pi, 4001)
    frequency = np.maximum.accumulate(np.sqrt(symbol(c, q)))
    wavenumber = np.interp(kh, frequency, q)
    slope = np.zeros_like(wavenumber)
    for k, ck in enumerate(c[1:], 1):
        slope = slope + 2.0 * k * ck * fixedmath.sin(k * wavenumber)
    return wavenumber, slope


def _fastest(c: tuple[float, ...]) -> float:
    """Return the largest frequency of waves on the grid, in units of v / h."""
    return math.sqrt(float(symbol(c, np.array([np.pi]))[0]))
