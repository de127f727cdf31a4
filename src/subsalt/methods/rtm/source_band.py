"""The band of the source in angle gathers: outside it they hold more noise than signal.

White noise of the traces is correlated with the source wavefield once, a reflection has the source's spectrum twice: of
both the amplitude grows with the powers of wavenumber that Laplacian and slant stack bring. So the ratio of signal to
noise is largest where the source is strong, and gathers of unfiltered noise are loudest above its band.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: the band ends where the amplitude of the source is this share of its largest
SHARE = 0.5
#: octaves over which the filter fades on either side of the band
FADE = 0.5


@dataclass(frozen=True)
class SourceBand:
    """A band-pass of angle gathers by the frequencies of the source.

    Parameters
    ----------
    low, high : float
        Ends of the band, Hz.
    """

    low: float
    high: float

    @classmethod
    def of(cls, samples: NDArray[np.floating], dt: float) -> SourceBand:
        """Return the band of a wavelet: where its amplitude is at least `SHARE` of the largest.

        Parameters
        ----------
        samples : ndarray, (n,)
            The wavelet, not zero everywhere.
        dt : float
            Its interval, s.
        """
        a = np.asarray(samples, np.float64)
        # a tenth of the resolution of its length
        n = 10 * len(a)
        amplitude = np.abs(np.fft.rfft(a, n))
        strong = np.flatnonzero(amplitude >= SHARE * amplitude.max())
        f = np.fft.rfftfreq(n, dt)
        return cls(float(f[strong[0]]), float(f[strong[-1]]))

    @property
    def middle(self) -> float:
        """The frequency in the middle of the band, Hz: that of octaves where it has a low end."""
        return float(np.sqrt(self.low * self.high)) if self.low > 0 else 0.5 * self.high

    def passed(
        self, gather: NDArray[np.floating], angles: NDArray[np.float64], step: float
    ) -> NDArray[np.float64]:
        """Return an angle gather over vertical time without what lies outside the band.

        Parameters
        ----------
        gather : ndarray, (angles, nt)
            Traces at equally spaced times of a vertical wave, one way.
        angles : ndarray, (angles,)
            Half opening angles, radians.
        step : float
            Distance of these times, s.

        Notes
        -----
        Waves of frequency f that meet at half the opening angle gamma make ``2 f cos(gamma)`` cycles per second of
        vertical time: the stretch of gathers at wide angles. The filter has no phase.
        """
        a = np.asarray(gather, np.float64)
        nt = a.shape[-1]
        f = np.fft.rfftfreq(2 * nt, step) / (2.0 * np.cos(angles)[:, None])
        octaves = np.log2(np.maximum(f, np.finfo(float).tiny))
        # a source without a low end has no low cut
        below = np.log2(self.low) - octaves if self.low > 0 else np.full(f.shape, -np.inf)
        outside = np.clip(np.maximum(below, octaves - np.log2(self.high)) / FADE, 0.0, 1.0)
        return np.fft.irfft(
            np.fft.rfft(a, 2 * nt, axis=-1) * np.cos(0.5 * np.pi * outside) ** 2, 2 * nt, axis=-1
        )[:, :nt]
