"""What the physics tests share: the Ricker wavelet in closed form, measures of misfit, and small setups."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from subsalt import EarthModel, Grid

#: device of every test that does not need float64
DEVICE = os.environ.get("SUBSALT_TEST_DEVICE", "cpu")

#: options of float64 runs
DOUBLE = {"device": "reference", "dtype": "float64"}


def ricker(t: NDArray[np.float64], f0: float) -> NDArray[np.float64]:
    """Return the Ricker wavelet of peak frequency f0 at times t after its peak."""
    a = (np.pi * f0 * t) ** 2
    return (1 - 2 * a) * np.exp(-a)


def source_wavelet(f0: float, dt: float, nt: int, delay: float | None = None) -> NDArray[np.float64]:
    """Return Ricker samples whose peak comes `delay` (1.5 / f0) after sample 0."""
    return ricker(np.arange(nt) * dt - (1.5 / f0 if delay is None else delay), f0)


def padded(samples: NDArray[np.float64], nt: int) -> NDArray[np.float64]:
    """Return samples followed by zeros, (nt,)."""
    return np.concatenate([samples, np.zeros(nt - len(samples))])


def random_vti(shape, spacing, seed, contrast=(1500.0, 4500.0)) -> EarthModel:
    """Return a model whose nodes are independent of each other: the worst that a user can bring."""
    rng = np.random.default_rng(seed)
    delta = rng.uniform(-0.1, 0.2, shape)
    grid = Grid(shape, spacing)
    return EarthModel(grid, rng.uniform(*contrast, shape), delta + rng.uniform(0.02, 0.2, shape), delta)


def random_tti(shape, spacing, seed, contrast=(1500.0, 4500.0)) -> EarthModel:
    """Return `random_vti` with an axis of its own at every node, in any direction."""
    vti = random_vti(shape, spacing, seed, contrast)
    rng = np.random.default_rng(seed + 1000)
    phi = rng.uniform(-np.pi, np.pi, shape) if len(shape) == 3 else None
    return replace(vti, theta=rng.uniform(-np.pi / 2, np.pi / 2, shape), phi=phi)


def misfit(a: NDArray, b: NDArray) -> float:
    """Return the L2 norm of a - b relative to that of b, the exact one."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return float(np.sqrt(((a - b) ** 2).sum() / (b**2).sum()))


def peak_position(values: NDArray) -> float:
    """Return the fractional index of the largest value, by a parabola through it and its neighbours."""
    i = int(np.argmax(values))
    if i in (0, len(values) - 1):
        return float(i)
    a, b, c = (float(v) for v in values[i - 1 : i + 2])
    return i + 0.5 * (a - c) / (a - 2 * b + c)


def best_shift(a: NDArray, b: NDArray, dt: float, fine: int = 64) -> float:
    """Return by how many seconds trace a is later than trace b, from the peak of their cross-correlation."""
    n = 4 * max(len(a), len(b))
    spectrum = np.fft.rfft(a, n) * np.conj(np.fft.rfft(b, n))
    c = np.fft.irfft(spectrum, n * fine)
    where = peak_position(np.roll(c, n * fine // 2)) - n * fine // 2
    return where * dt / fine
