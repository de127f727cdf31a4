"""Preparation of traces in NumPy, double precision: the text against which the compiled one is read and tested."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.kernels.kirchhoff_arguments import PAD
from subsalt.methods.kirchhoff.filters import FilterBank
from subsalt.methods.kirchhoff.interpolator import AFTER, BEFORE


def padded(nt: int) -> int:
    """Return the samples of a padded row: PAD and what makes it a multiple of 16."""
    return -(-(nt + PAD) // 16) * 16


def polynomials(
    traces: NDArray[np.floating], bank: FilterBank, taps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients (n, bands, order + 1, ns_pad) of traces (n, nt), filtered by every band."""
    n, nt = traces.shape
    out = np.zeros((n, len(bank.impulse), len(taps), padded(nt)))
    for trace, rows in zip(traces.astype(np.float64), out, strict=True):
        for impulse, band in zip(bank.impulse, rows, strict=True):
            wide = np.convolve(np.pad(trace, max(BEFORE, AFTER)), impulse)[bank.reach :]
            first = max(BEFORE, AFTER) - BEFORE
            for k, row in enumerate(taps):
                # c_k[i] = sum_m row[m] x[i + m - BEFORE]
                inside = sum(row[m] * wide[first + m : first + m + nt] for m in range(len(row)))
                band[k, : nt - (k > 0)] = inside[: nt - (k > 0)]
    return out
