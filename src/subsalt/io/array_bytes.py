"""The bytes of an array, without a copy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def raw_bytes(array: NDArray) -> memoryview:
    """Return the bytes of a C-contiguous array; writing to them changes the array."""
    if not array.flags.c_contiguous:
        raise ValueError("the array is not C-contiguous")
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
