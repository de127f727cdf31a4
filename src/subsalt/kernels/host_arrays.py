"""Arrays of kernels that compute in the memory of the host: NumPy arrays, which need no copies.

A device with its own memory has functions of the same names (`subsalt.kernels.cuda`). Callers read arrays of the
kernels through `to_host` or `on_host`, and pass arrays of files through `to_device`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

#: whether the device has its own memory, separate from that of the host
OWN_MEMORY = False
#: whether memory fields of the absorbing layer are as large as wavefields, instead of as the layer
WHOLE_MEMORY_FIELDS = False

#: ranks may cut the rows along y of a grid, beside its planes
CUTS_ROWS = True


def work_done() -> dict[str, int]:
    """Return the work of a device with its own memory: none here."""
    return {}


def zeros(shape: Sequence[int], dtype: type = np.float32) -> NDArray:
    """Return an array of zeros for what the kernels add up."""
    return np.zeros(tuple(shape), dtype=dtype)


def to_host(array: NDArray) -> NDArray:
    """Return an array of the kernels as one of NumPy: itself, or a copy of it where the device has its own memory."""
    return array


def to_device(array: NDArray) -> NDArray:
    """Return an array as one that the kernels use: itself, or a copy of one of NumPy on the device."""
    return array


def lock(array: NDArray) -> object:
    """Let the device copy from and to an array of NumPy beside computing, as long as what is returned lives."""
    return None


@contextmanager
def on_host(array: NDArray) -> Iterator[NDArray]:
    """Lend an array of the kernels as one of NumPy; what is changed in it is so for the kernels afterwards."""
    yield array
