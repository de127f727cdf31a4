"""Samples of many SEG-Y traces to float32 in one compiled pass; `io.segy.samples.decode` is the same in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt import _native


def decode_traces(
    raw: NDArray[np.uint8],
    at: NDArray[np.int64],
    ns: int,
    code: int,
    endian: str,
    out: NDArray[np.float32],
    *,
    late: NDArray[np.int32] | None = None,
    zero_bad: bool = False,
) -> NDArray[np.int32]:
    """Fill `out` with the samples of traces, and return how many of each trace are not finite.

    Parameters
    ----------
    raw : ndarray, (bytes,), uint8
        Bytes of a file.
    at : ndarray, (n,), int64
        Byte in `raw` of the first sample of each trace.
    ns, code, endian : int, int, {"big", "little"}
        Samples of a trace in the file, their format (byte 3225), and byte order.
    out : ndarray, (n, nt), float32
        Filled, with zeros outside the samples.
    late : ndarray, (n,), int32, optional
        Samples by which each trace begins after its row.
    zero_bad : bool
        Set samples that are not finite to zero.

    Returns
    -------
    ndarray, (n,), int32
    """
    bad = np.empty(len(out), np.int32)
    native: Any = _native
    native.decode_traces(raw, at, late, ns, code, endian == "big", zero_bad, out, bad)
    return bad
