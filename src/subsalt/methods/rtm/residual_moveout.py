"""The residual moveout of an event in angle gathers, and the scale of the velocity at which it vanishes.

gamma is half the opening angle at the reflector. A layer whose slowness is off by ds, L thick, delays a wave that
crosses it under gamma by ``ds L / cos(gamma)``, and a delay dt moves an event by ``v dt / cos(gamma)``, so that ::

    z(gamma) - z(0) = c tan^2(gamma)        c = v L ds, to first order

wherever above the reflector the layer lies. At the right velocity c is zero. At every scale c is that of the largest
semblance along such curves, and the best scale is where c goes through zero between two scales.

The largest semblance of the scales themselves says less: it compares images of several velocities, in which amplitudes,
stretch and what else lies in the window change with the scale as well. An error of half a percent in a layer of two
wavelengths bends an event by a fiftieth of a wavelength, and changes semblance by a thousandth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.flatness import WAVELENGTHS, Noise, Peak, Window, peak_of

#: curves on either side of the flat one; the outermost bends by half a wavelength at the widest angle
CURVES = 6
#: curves between the best of these and the next, on either side
FINE = 4
#: scales on either side of the zero of c whose values are fitted
NEAR = 2


@dataclass(frozen=True)
class Bend:
    """The residual moveout of an event at one scale.

    Parameters
    ----------
    depth : float
        c of ``c tan^2(gamma)``, m: down at wide angles is positive; NaN without one.
    sigma : float
        Its standard deviation, m.
    side : int
        Sign of c, also where it is larger than what is tried; 0 where nothing says it.
    semblance : float
        Along the curve of c.
    """

    depth: float
    sigma: float
    side: int
    semblance: float

    @property
    def known(self) -> bool:
        """Whether c is among those that are tried."""
        return bool(np.isfinite(self.depth))


def bend_of(gather: NDArray[np.float64], tangents: NDArray[np.float64], window: Window, dz: float) -> Bend:
    """Return the residual moveout of the event in a window of depth.

    Parameters
    ----------
    gather : ndarray, (angles, nz)
        The angles that the data hold.
    tangents : ndarray, (angles,)
        Their tangents.
    window : Window
        Two and a half wavelengths of the event (`flatness.windows_for`).
    dz : float
        Distance of depths, m.
    """
    first, end = window
    curves = _Curves.of(gather, tangents, window)
    reach = 0.5 * (end - first) / WAVELENGTHS
    coarse = reach / CURVES * np.arange(-CURVES, CURVES + 1)
    semblance = [curves.semblance(curves.along(most)) for most in coarse]
    k = int(np.argmax(semblance))
    if k in (0, len(coarse) - 1):
        return Bend(float("nan"), float("inf"), int(np.sign(coarse[k])), semblance[k])
    near = coarse[k] + reach / CURVES * np.linspace(-1.0, 1.0, 2 * FINE + 1)
    values = [curves.semblance(curves.along(most)) for most in near]
    unit = dz / float((tangents**2).max())
    top = peak_of(near * unit, np.array(values), Noise.of(curves.along(coarse[k])))
    if not np.isfinite(top.sigma):
        return Bend(float("nan"), float("inf"), 0, semblance[k])
    return Bend(top.best, top.sigma, int(np.sign(top.best)), max(values))


@dataclass(frozen=True)
class _Curves:
    """A window of a gather that is read along ``c tan^2(gamma)``.

    Parameters
    ----------
    spectra : ndarray, (angles, nk), complex
        Transforms of the window, with room on both sides, and its mirror image: what leaves on one side does not come
        in on the other.
    turns : ndarray, (angles, nk), complex
        Logarithm of the factor that moves every angle for one sample at the widest.
    cut : slice
        The window.
    """

    spectra: NDArray[np.complex128]
    turns: NDArray[np.complex128]
    cut: slice

    @classmethod
    def of(cls, gather: NDArray[np.float64], tangents: NDArray[np.float64], window: Window) -> _Curves:
        """See `bend_of`."""
        first, end = window
        room = int(np.ceil((end - first) / WAVELENGTHS)) + 1
        low, high = max(first - room, 0), min(end + room, gather.shape[1])
        part, shape = gather[:, low:high], tangents**2
        spectra = np.fft.rfft(np.concatenate([part, part[:, ::-1]], axis=1), axis=1)
        turns = 2j * np.pi * np.fft.rfftfreq(2 * (high - low)) * (shape / shape.max())[:, None]
        return cls(spectra, turns, slice(first - low, end - low))

    def along(self, most: float) -> NDArray[np.float64]:
        """Return the window along the curve that lies `most` samples deeper at the widest angle, (angles, samples)."""
        moved: NDArray[np.float64] = np.fft.irfft(self.spectra * np.exp(self.turns * most), axis=1)[
            :, self.cut
        ]
        return moved

    @staticmethod
    def semblance(moved: NDArray[np.float64]) -> float:
        """Return the semblance of a window; 0 where nothing is."""
        energy = len(moved) * float((moved**2).sum())
        return float((moved.sum(axis=0) ** 2).sum()) / energy if energy > 0 else 0.0


def flat_scale(scales: NDArray[np.float64], bends: Sequence[Bend]) -> Peak | None:
    """Return the scale at which an event is flat; None where the bends of a scan do not say it.

    Parameters
    ----------
    scales : ndarray, (ns,)
        Ascending.
    bends : sequence of Bend
        The residual moveout at each: it grows with the velocity.

    Notes
    -----
    A parabola through the scales of the nearest values of c, two on either side, is read at zero; a line where there
    are fewer than three, or where the parabola leaves the interval. Where c is on one side at all scales the best lies
    at an end of the scan.
    """
    depth = np.array([b.depth for b in bends])
    crossed = [k for k in range(len(bends) - 1) if depth[k] <= 0 < depth[k + 1]]
    if not crossed:
        sides = {b.side for b in bends}
        if len(bends) > 1 and sides in ({1}, {-1}):
            return Peak(float(scales[0] if sides == {1} else scales[-1]), float("inf"), True)
        return None
    k = max(crossed, key=lambda n: bends[n].semblance + bends[n + 1].semblance)
    near = [n for n in range(max(0, k - NEAR + 1), min(len(bends), k + NEAR + 1)) if bends[n].known]
    apart = depth[k + 1] - depth[k]
    best = float(scales[k] - depth[k] / apart * (scales[k + 1] - scales[k]))
    if len(near) > 2:
        # by depths of order one: the fit is well conditioned
        fit = np.polynomial.Polynomial.fit(depth[near] / apart, scales[near], 2)
        curved = float(fit(0.0))
        best = curved if scales[k] <= curved <= scales[k + 1] else best
    closest = bends[min((k, k + 1), key=lambda n: abs(depth[n]))]
    return Peak(best, float(closest.sigma * (scales[k + 1] - scales[k]) / apart))
