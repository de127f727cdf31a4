"""How deep an image shows the reflectors of its model: peaks beside those of an ideal image.

A reflector is a jump of vp to faster rock, followed along the line for `REACH` metres to both sides. Where layers
are thinner than a wavelength, even a perfect migration has its peak beside the jump, since neighbours overlap. Each
trace is therefore compared with that of an *ideal image*: the true reflectivity in normal-incidence time (layers
normal to the symmetry axis, along which waves travel with vp), convolved with the autocorrelation of the Ricker
wavelet, in depth again. Both are filtered by minus the Laplacian of a Gaussian of `SIGMA` metres; their largest
peaks within half a wavelength of the true depth are found by a parabola.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

SIGMA = 16.0  # m
REACH = 100.0  # m


@dataclass(frozen=True)
class Reflector:
    """A place at which vp jumps upwards: its name, and one point near it, m."""

    name: str
    x: float
    z: float


@dataclass(frozen=True)
class Depths:
    """Depth of a reflector along the line, m: of the jump, of the ideal image, of the image that is measured."""

    x: NDArray[np.float64]
    true: NDArray[np.float64]
    ideal: NDArray[np.float64]
    imaged: NDArray[np.float64]

    @property
    def error(self) -> float:
        """Median of imaged minus ideal depth, m."""
        return float(np.median(self.imaged - self.ideal))

    @property
    def spread(self) -> float:
        """Half of the range that holds two thirds of the errors, m."""
        low, high = np.percentile(self.imaged - self.ideal, (100 / 6, 500 / 6))
        return float(high - low) / 2

    @property
    def overlap(self) -> float:
        """Median of ideal minus true depth, m: what the neighbours of the reflector do."""
        return float(np.median(self.ideal - self.true))


def sharpened(image: NDArray, h: float) -> NDArray[np.float64]:
    """Return an image filtered by minus the Laplacian of a Gaussian: long waves out, peaks stay peaks."""
    return -ndimage.gaussian_laplace(image.astype(np.float64), SIGMA / h)


def ideal_image(vp: NDArray, theta: NDArray, h: float, f0: float) -> NDArray[np.float64]:
    """Return the image (nx, nz) that a perfect migration would give.

    Parameters
    ----------
    vp, theta : ndarray, (nx, nz)
        True velocity, m/s, and tilt of the axis, radians.
    h : float
        Spacing, m.
    f0 : float
        Peak frequency of the Ricker wavelet, Hz.
    """
    dt = 0.01 / f0
    nz = vp.shape[1]
    z = h * np.arange(nz)
    fine = np.arange(0.0, z[-1] + 0.5, 1.0)
    out = np.empty(vp.shape)
    for trace, v, tilt in zip(out, vp.astype(np.float64), theta, strict=True):
        # two-way time normal to the layers, through a metre of depth after the other
        slow = 2 * np.cos(np.interp(fine, z, tilt)) / np.interp(fine, z, v)
        time = np.concatenate([[0.0], np.cumsum(0.5 * (slow[1:] + slow[:-1]))])
        t = np.arange(0.0, time[-1], dt)
        jumps = np.gradient(np.log(np.interp(np.interp(t, time, fine), z, v)))
        f = np.fft.rfftfreq(2 * len(t), dt) / f0
        ricker = f**2 * np.exp(1 - f**2)
        folded = np.fft.irfft(np.fft.rfft(jumps, 2 * len(t)) * ricker**2)[: len(t)]
        trace[:] = np.interp(np.interp(z, fine, time), t, folded)
    return out


def follow(vp: NDArray, h: float, reflector: Reflector) -> tuple[NDArray, NDArray, float]:
    """Return x and depth of a reflector, m, along the traces within `REACH`, and the velocity above it, m/s."""
    jump = np.diff(np.log(vp.astype(np.float64)), axis=1)
    centre, n = round(reflector.x / h), int(REACH / h)
    # the interval in which vp jumps; from trace to trace it is at most two cells away
    at = {centre: round(reflector.z / h - 0.5)}
    for step in (1, -1):
        for i in range(centre, centre + step * n, step):
            low = at[i] - 2
            at[i + step] = low + int(np.argmax(jump[i + step, low : low + 5]))
    traces = sorted(at)
    depth = h * (np.array([at[i] for i in traces]) + 0.5)
    return h * np.array(traces, dtype=np.float64), depth, float(np.mean([vp[i, at[i]] for i in traces]))


def peak_depth(trace: NDArray[np.float64], h: float, depth: float, reach: float) -> float:
    """Return the depth, m, of the largest value within `reach` of `depth`, by a parabola through three samples."""
    low, high = max(1, round((depth - reach) / h)), min(len(trace) - 2, round((depth + reach) / h))
    k = low + int(np.argmax(trace[low : high + 1]))
    a, b, c = trace[k - 1 : k + 2]
    bend = a - 2 * b + c
    return float(h * (k + (0.5 * (a - c) / bend if bend < 0 else 0.0)))


def measure(
    image: NDArray,
    ideal: NDArray,
    h: float,
    vp: NDArray,
    spacing: float,
    reflectors: Sequence[Reflector],
    f0: float,
) -> list[Depths]:
    """Return the depths of all reflectors.

    Parameters
    ----------
    image, ideal : ndarray
        The image and the ideal one, on a grid of spacing `h` (m) that begins where the model does.
    vp, spacing
        The true model as it was made, on its own grid, m/s and m.
    f0 : float
        Peak frequency of the wavelet, Hz.
    """
    both = [sharpened(a, h) for a in (ideal, image)]
    out = []
    for reflector in reflectors:
        x, depth, above = follow(vp, spacing, reflector)
        found = [
            [peak_depth(a[round(xi / h)], h, z, 0.5 * above / f0) for xi, z in zip(x, depth, strict=True)]
            for a in both
        ]
        out.append(Depths(x, depth, np.array(found[0]), np.array(found[1])))
    return out
