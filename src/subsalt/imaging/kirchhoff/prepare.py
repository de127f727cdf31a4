"""Traces made ready for the sum: phase, alias bands, and polynomials between samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from subsalt.imaging.kirchhoff import prepare_reference
from subsalt.imaging.kirchhoff.filters import band_count, design
from subsalt.imaging.kirchhoff.interpolator import taps
from subsalt.imaging.kirchhoff.prepare_reference import padded
from subsalt.options_kirchhoff import KirchhoffOptions
from subsalt.survey import TimeAxis


@dataclass(frozen=True)
class Prepared:
    """A block of traces ready to be summed.

    Parameters
    ----------
    samples : ndarray, (n, bands, order + 1, ns_pad), float32
        Polynomials between samples: the trace at t = t_first + (i + f) dt, 0 <= f < 1, is sum_k samples[.., k, i] f^k.
        At the last sample of the record only k = 0 is there, behind it nothing is.
    corner : ndarray, (bands,), float64
        Frequency at which each band ends, Hz, falling; the first is the whole trace.
    t_first : float
        Time of sample 0, s.
    dt : float
        Sampling interval, s.
    ns : int
        Samples of the record.
    integrals : ndarray, (n, ns_pad), float64, optional
        For the triangle filter: S_i, the double integral of the trace of band 0 from the first sample to sample i, in
        units of samples (dt = 1).

    Notes
    -----
    With q_i(f) = f^2 sum_k c_k f^k / ((k + 1)(k + 2)), c_k = samples[0, k, i], the double integral between samples is
    S(i + f) = S_i + f (S_{i+1} - S_i - q_i(1)) + q_i(f), and (S(p + T) - 2 S(p) + S(p - T)) / T^2 is the trace at p
    smoothed by a triangle of half-length T samples, of unit area for any T (Lumley, Claerbout & Bevc 1994). S is zero
    before the record and a straight line after it.
    """

    samples: NDArray[np.float32]
    corner: NDArray[np.float64]
    t_first: float
    dt: float
    ns: int
    integrals: NDArray[np.float64] | None = None


def prepare(traces: NDArray[np.float32], time: TimeAxis, options: KirchhoffOptions, threads: int) -> Prepared:
    """Return traces (n, nt) filtered and ready to be summed."""
    bank = design(time.nt, time.dt, options.amplitude, band_count(options))
    samples = prepare_reference.polynomials(traces, bank, taps(options.interpolation)).astype(np.float32)
    integrals = None
    if options.antialias == "triangle":
        integrals = prepare_reference.double_integral(samples[:, 0])
    return Prepared(samples, bank.corner, time.t0, time.dt, time.nt, integrals)


def prepared_bytes(nt: int, options: KirchhoffOptions) -> int:
    """Return the bytes that one prepared trace of `nt` samples takes."""
    coefficients = len(taps(options.interpolation)) * band_count(options)
    return padded(nt) * (4 * coefficients + (8 if options.antialias == "triangle" else 0))
