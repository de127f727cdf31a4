"""Primary reflections of planes and point diffractors in a uniform medium, for any sources and receivers in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.acquisition.wavelet import Wavelet
from subsalt.errors import ConfigError

if TYPE_CHECKING:
    from scipy.interpolate import CubicSpline

#: samples per interval of the wavelet that its spline runs through; at 0.8 of Nyquist that is 40 per period,
#: where a cubic spline errs by (2 pi / 40)^4 / 384 = 2e-6 of the amplitude
FINER = 16

#: traces formed at a time: temporary arrays stay in cache
BLOCK = 4096


@dataclass(frozen=True)
class Plane:
    """A plane reflector.

    Parameters
    ----------
    depth : float
        Depth below `origin`, m.
    reflectivity : float
        Reflection coefficient, the same at every angle.
    dip : float
        Angle from the horizontal, radians.
    azimuth : float
        Map direction in which the plane goes down, radians clockwise from +y (north).
    origin : (float, float)
        Map position where the depth is given, m.
    """

    depth: float
    reflectivity: float
    dip: float = 0.0
    azimuth: float = 0.0
    origin: tuple[float, float] = (0.0, 0.0)

    #: times that the wavelet is differentiated
    derivative: ClassVar[int] = 0

    @property
    def normal(self) -> NDArray[np.float64]:
        """Unit vector across the plane, downwards, (3,)."""
        s = np.sin(self.dip)
        return np.array([-s * np.sin(self.azimuth), -s * np.cos(self.azimuth), np.cos(self.dip)])

    def depth_at(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return the depth below map positions (n, 2), m."""
        x = np.asarray(points, dtype=np.float64)[..., :2] - self.origin
        down_dip = x[..., 0] * np.sin(self.azimuth) + x[..., 1] * np.cos(self.azimuth)
        return self.depth + np.tan(self.dip) * down_dip

    def arrivals(
        self, src: NDArray[np.float64], rcv: NDArray[np.float64], v: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times (n,) in s and amplitudes (n,) in 1/m for positions (n, 3)."""
        point = np.array([*self.origin, self.depth])
        above_src = (point - src) @ self.normal
        above_rcv = (point - rcv) @ self.normal
        if min(above_src.min(initial=1.0), above_rcv.min(initial=1.0)) <= 0:
            wrong = int(np.argmin(np.minimum(above_src, above_rcv)))
            raise ConfigError(
                f"source {src[wrong]} or receiver {rcv[wrong]} is not above the reflector: depth "
                f"{self.depth:g} m at {self.origin}, dip {np.degrees(self.dip):g} degrees",
                "this solution holds for reflections seen from above",
            )
        # distance to the mirror image of the source: r^2 = |rcv - src|^2 + 4 h_s h_r
        r = np.sqrt(((rcv - src) ** 2).sum(axis=1) + 4.0 * above_src * above_rcv)
        return r / v, self.reflectivity / (4.0 * np.pi * r)


@dataclass(frozen=True)
class Diffractor:
    """A point that sends back the time derivative of the wave that reaches it, as an element of a reflector does.

    Parameters
    ----------
    position : (float, float, float)
        Map position and depth, m.
    strength : float
        ``2 R dS / v`` for an element of area dS with reflection coefficient R met at normal incidence, m s.
    """

    position: tuple[float, float, float]
    strength: float

    #: times that the wavelet is differentiated
    derivative: ClassVar[int] = 1

    def arrivals(
        self, src: NDArray[np.float64], rcv: NDArray[np.float64], v: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times (n,) in s and amplitudes (n,) in s/m for positions (n, 3)."""
        point = np.array(self.position, dtype=np.float64)
        down = np.sqrt(((src - point) ** 2).sum(axis=1))
        up = np.sqrt(((rcv - point) ** 2).sum(axis=1))
        if min(down.min(initial=1.0), up.min(initial=1.0)) <= 0:
            raise ConfigError(
                f"a source or receiver stands on the diffractor at {self.position}",
                "put it somewhere else: the field is infinite there",
            )
        return (down + up) / v, self.strength / ((4.0 * np.pi) ** 2 * down * up)


def primaries(
    src: ArrayLike,
    rcv: ArrayLike,
    reflectors: Sequence[Plane | Diffractor],
    v: float,
    wavelet: Wavelet,
    time: TimeAxis,
) -> NDArray[np.float64]:
    """Return the exact primary reflections of planes and diffractors in a uniform medium.

    Parameters
    ----------
    src, rcv : array_like, (n, 2) or (n, 3)
        Source and receiver of every trace, (x, y) at depth 0 or (x, y, z), m; one position stands for all.
    reflectors : sequence of Plane or Diffractor
        Reflectors of the wave; each acts alone (no multiples, no loss on the way to a deeper one).
    v : float
        Velocity, m/s.
    wavelet : Wavelet
        Source time function f, zero outside its samples; it may be sampled more finely than the traces.
    time : TimeAxis
        Samples of the traces.

    Returns
    -------
    ndarray, (n, nt), float64
        Traces without the direct wave.

    Notes
    -----
    ``(1/v^2) p_tt - lap p = f(t) delta(x - x_s)`` sends out ``f(t - r/v) / (4 pi r)``. A plane returns ::

        R f(t - r/v) / (4 pi r),    r = |rcv - mirror image of src|

    which is exact for a coefficient R that does not depend on the angle, as a jump of density alone gives. A
    diffractor returns ``strength f'(t - (r_s + r_r)/v) / ((4 pi)^2 r_s r_r)``: the sum of such points over a
    plane with ``strength = 2 R cos(angle of incidence) dS / v`` is the reflection of the plane (Kirchhoff's
    integral), which the tests use.
    """
    s, r = _positions(src, rcv)
    out = np.zeros((len(s), time.nt), dtype=np.float64)
    shape = _spline(wavelet)
    for reflector in reflectors:
        f = shape.derivative(reflector.derivative) if reflector.derivative else shape
        for a in range(0, len(s), BLOCK):
            block = slice(a, a + BLOCK)
            when, amplitude = reflector.arrivals(s[block], r[block], v)
            _add(out[block], when, amplitude, f, wavelet, time)
    return out


def _positions(src: ArrayLike, rcv: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return positions as two arrays (n, 3)."""
    given = []
    for name, value in (("src", src), ("rcv", rcv)):
        p = np.atleast_2d(np.asarray(value, dtype=np.float64))
        if p.ndim != 2 or p.shape[1] not in (2, 3):
            raise ConfigError(f"{name} has shape {p.shape}", "give (x, y) or (x, y, z) per trace")
        given.append(np.pad(p, ((0, 0), (0, 3 - p.shape[1]))))
    n = max(len(p) for p in given)
    if any(len(p) not in (1, n) for p in given):
        raise ConfigError(
            f"src has {len(given[0])} positions, rcv {len(given[1])}", "give one per trace, or one for all"
        )
    s, r = (np.broadcast_to(p, (n, 3)) for p in given)
    return s, r


def _spline(wavelet: Wavelet) -> CubicSpline:
    """Return the wavelet as a function of time, through samples `FINER` times as dense (zeros in its spectrum)."""
    from scipy.interpolate import CubicSpline  # a quarter of a second that few need

    n = wavelet.nt
    padded = 4 * n  # the transform repeats: silence on both sides keeps the ends of the wavelet apart
    spectrum = np.fft.rfft(wavelet.samples, padded)
    if padded % 2 == 0:
        spectrum[-1] *= 0.5  # the Nyquist coefficient stands for both signs of the frequency
    dense = FINER * np.fft.irfft(spectrum, FINER * padded)[: FINER * (n - 1) + 1]
    return CubicSpline(wavelet.t0 + wavelet.dt / FINER * np.arange(dense.size), dense)


def _add(
    traces: NDArray[np.float64],
    when: NDArray[np.float64],
    amplitude: NDArray[np.float64],
    f: CubicSpline,
    wavelet: Wavelet,
    time: TimeAxis,
) -> None:
    """Add `amplitude` times f(t - when) to traces (n, nt): only the samples that the wavelet reaches."""
    first = np.ceil((when + wavelet.t0 - time.t0) / time.dt).astype(np.int64)
    reach = int((wavelet.duration - wavelet.t0) / time.dt) + 1
    k = first[:, None] + np.arange(reach)
    late = time.t0 + k * time.dt - when[:, None]
    inside = (k >= 0) & (k < time.nt) & (late <= wavelet.duration)
    rows = np.nonzero(inside)[0]
    # no sample occurs twice in a row of k, so that adding through an index loses nothing
    traces[rows, k[inside]] += amplitude[rows] * f(late[inside])
