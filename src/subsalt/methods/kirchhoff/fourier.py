"""A discrete Fourier transform with the same bits on every machine, for designing filters.

``numpy.fft`` and NumPy's complex product choose their code by processor. Here is nothing but additions and products of
real numbers; it is as slow as NumPy, and used once per run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.numerics import fixedmath

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]


def transform(real: NDArray[np.float64], imag: NDArray[np.float64], sign: int = -1) -> Pair:
    """Return sum_n x_n exp(sign 2 pi i k n / N) along the last axis, as real and imaginary part; N = 2^a 3^b.

    Decimation in time (Cooley & Tukey 1965): N/p-point transforms of every p-th sample, p = 3 or 2, turned and added.
    """
    n = real.shape[-1]
    if n == 1:
        return real.copy(), imag.copy()
    p = 3 if n % 3 == 0 else 2
    if n % p:
        raise ValueError(f"a transform of {n} points: the length must be a product of twos and threes")
    parts = [transform(real[..., r::p], imag[..., r::p], sign) for r in range(p)]
    out_real, out_imag = np.zeros(real.shape), np.zeros(real.shape)
    k = np.arange(n)
    for r, (a, b) in enumerate(parts):
        angle = sign * 2.0 * fixedmath.PI / n * ((k * r) % n)
        c, s = fixedmath.cos(angle), fixedmath.sin(angle)
        a, b = np.concatenate([a] * p, axis=-1), np.concatenate([b] * p, axis=-1)
        out_real += c * a - s * b
        out_imag += s * a + c * b
    return out_real, out_imag
