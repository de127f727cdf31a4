"""Interpolation between the samples of a trace: one polynomial per interval, made by short filters.

The trace at sample i + f, 0 <= f < 1, is ``sum_k c_k[i] f^k`` with ``c_k[i] = sum_m taps[k, m] x[i + m - before]``
(Farrow 1988): all that depends on the samples is done once per trace, and the sum evaluates a polynomial.

``"linear"``: c = (x_i, x_{i+1} - x_i). ``"sinc"``: order 4 over 16 samples, the least largest error below 0.7 of the
Nyquist frequency: 7.9e-4 of the amplitude there, 4e-4 at half of it, 4e-5 at 0.2, none at zero. The numbers come from
``docs/make_interpolator.py``.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.kirchhoff.options import Interpolation

#: samples before and behind an interval's first sample that its polynomial may take
BEFORE, AFTER = 7, 8

#: order of the polynomials
ORDERS: dict[Interpolation, int] = {"linear": 1, "sinc": 4}

# In u = f - 1/2, over the 8 samples behind the middle of the interval: even powers 0, 2, 4 and odd powers 1, 3.
# fmt: off
EVEN = (
    (6.283325255e-01, -1.884508981e-01, 9.114192863e-02, -4.653326583e-02,
     2.250296365e-02, -9.595285111e-03, 3.236676397e-03, -6.346452042e-04),
    (-5.507796282e-01, 8.269171656e-01, -4.187290136e-01, 2.124301352e-01,
     -9.967113714e-02, 3.948426226e-02, -1.131321906e-02, 1.661434987e-03),
    (1.503588440e-01, -2.937364339e-01, 2.186269208e-01, -1.077982987e-01,
     4.063641953e-02, -5.586705480e-03, -5.241328418e-03, 2.740582244e-03),
)
ODD = (
    (1.264544597e+00, -1.340195482e-01, 4.474416599e-02, -2.023087311e-02,
     9.761763882e-03, -4.408150277e-03, 1.671219557e-03, -3.927074216e-04),
    (-1.076182488e+00, 5.507731687e-01, -1.899574877e-01, 8.885957866e-02,
     -4.410709311e-02, 2.025749299e-02, -7.913711728e-03, 2.024482247e-03),
)
# fmt: on


@lru_cache
def behind(interpolation: Interpolation) -> NDArray[np.float32]:
    """Return the taps (5, 8) of powers of f - 1/2 over the samples behind the middle, for the compiled kernel."""
    rows = (
        [(ODD if k % 2 else EVEN)[k // 2] for k in range(5)] if interpolation == "sinc" else np.zeros((0, 8))
    )
    return np.array(rows, dtype=np.float32)


@lru_cache
def taps(interpolation: Interpolation) -> NDArray[np.float64]:
    """Return the taps (order + 1, BEFORE + 1 + AFTER) of the powers of f; read-only."""
    if interpolation == "linear":
        out = np.zeros((2, BEFORE + 1 + AFTER))
        out[0, BEFORE], out[1, BEFORE], out[1, BEFORE + 1] = 1.0, -1.0, 1.0
    else:
        middle = np.empty((5, BEFORE + 1 + AFTER))
        for k in range(5):
            half = np.array((ODD if k % 2 else EVEN)[k // 2])
            middle[k] = np.concatenate([(-1.0) ** k * half[::-1], half])
        # sum_k (f - 1/2)^k m_k, sorted by powers of f
        out = np.zeros_like(middle)
        row: tuple[float, ...] = (1.0,)  # coefficients of (f - 1/2)^k
        for k in range(5):
            for power, factor in enumerate(row):
                out[power] += factor * middle[k]
            row = tuple(a - 0.5 * b for a, b in zip((0.0, *row), (*row, 0.0), strict=True))
    out.flags.writeable = False
    return out
