"""What a GPU and its link to the host give at best, measured between events on its stream."""

from __future__ import annotations

import ctypes
from typing import Literal

from subsalt.kernels.cuda.library import call

Direction = Literal["copy", "down", "up"]

_KINDS = {"copy": 0, "up": 1, "down": 2}


def copies(nbytes: int, rounds: int, direction: Direction = "copy") -> list[float]:
    """Return the seconds of `rounds` copies of `nbytes`.

    Parameters
    ----------
    nbytes : int
        Of the array; a copy in the memory of the GPU reads and writes as many.
    rounds : int
        Samples; one more is made before them.
    direction : {"copy", "down", "up"}
        In the memory of the GPU, from it to page-locked memory of the host, or the other way.
    """
    seconds = (ctypes.c_double * rounds)()
    call("subsalt_cuda_measure_copy", nbytes, rounds, _KINDS[direction], seconds)
    return list(seconds)


def launches(count: int, rounds: int) -> list[float]:
    """Return the seconds of an empty kernel among `count`, `rounds` times."""
    seconds = (ctypes.c_double * rounds)()
    call("subsalt_cuda_measure_launch", count, rounds, seconds)
    return list(seconds)
