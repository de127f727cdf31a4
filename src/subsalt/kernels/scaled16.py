"""Snapshots in 16 bits: rows along z as integers, with a power of two as scale for every 64 of them.

A row of n numbers takes n mantissas q, a scale for each block, and 0 where the sum is odd (`row16`)::

    u = 2^e q,   q = rint(2^-e u),   e = b - 15 with 2^(b-1) <= max |u| < 2^b of the block

q is rounded to even, and 2^15 becomes 32767, so that the error of every number is at most ``2^-15 (1 + 2^-15)`` of the
largest of its block. A scale is kept as e + 127, the exponent of a float; 0: all numbers are below 2^-103 and become 0;
255: one is not finite, and all become NaN. Unpacking is exact. Blocks lie along z, which is never cut.

This is the formula of `native/kernels/scaled16.hpp` in NumPy, with the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: numbers under one scale
BLOCK = 64


def row16(n: int) -> int:
    """Return how many 16-bit numbers a row of `n` numbers takes; an even number."""
    return (n + -(-n // BLOCK) + 1) // 2 * 2


def shape16(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of a packed array of `shape`."""
    return (*shape[:-1], row16(shape[-1]))


def words16(shape: Sequence[int]) -> int:
    """Return the words of 4 bytes that a packed array of `shape` takes."""
    return math.prod(shape16(shape)) // 2


def as_words(array: NDArray) -> NDArray:
    """Return a packed array as the floats whose memory it has, and others as they are."""
    return array.reshape(-1).view(np.float32) if array.dtype == np.int16 else array


def as_samples(words: NDArray, shape: Sequence[int], dtype: DTypeLike) -> NDArray:
    """Return single-precision memory as a sample of `shape`: of numbers of `dtype`, or packed where that is int16."""
    return words.view(dtype).reshape(shape16(shape) if np.dtype(dtype) == np.int16 else tuple(shape))


def pack16(field: NDArray, out: NDArray[np.int16] | None = None) -> NDArray[np.int16]:
    """Return an array packed along its last axis.

    Parameters
    ----------
    field : ndarray, (..., n)
        Taken in single precision.
    out : ndarray, (..., row16(n)), int16, optional
        Array to write; a new one when left out.
    """
    n = field.shape[-1]
    blocks = -(-n // BLOCK)
    if out is None:
        out = np.empty(shape16(field.shape), dtype=np.int16)
    u = np.zeros((*field.shape[:-1], blocks * BLOCK), dtype=np.float32)
    u[..., :n] = field
    u = u.reshape(*field.shape[:-1], blocks, BLOCK)
    exponent = (u.view(np.int32) & 0x7FFFFFFF).max(axis=-1) >> 23  # b + 126
    some = (exponent >= 24) & (exponent < 255)
    factor = np.where(some, 268 - exponent, 0).astype(np.int32) << 23  # 2^(15 - b), or 0
    with np.errstate(invalid="ignore"):
        q = np.rint(u * factor.view(np.float32)[..., None])
    q = np.where(some[..., None], np.minimum(q, 32767), 0)
    out[..., :n] = q.reshape(*field.shape[:-1], blocks * BLOCK)[..., :n]
    out[..., n : n + blocks] = np.where(some, exponent - 14, np.where(exponent == 255, 255, 0))
    out[..., n + blocks :] = 0
    return out


def unpack16(packed: NDArray[np.int16], n: int) -> NDArray[np.float32]:
    """Return the array, (..., n), of which `packed` is the packed form, (..., row16(n))."""
    blocks = -(-n // BLOCK)
    scale = (packed[..., n : n + blocks].astype(np.int32) << 23).view(np.float32)
    out = packed[..., :n].astype(np.float32)
    with np.errstate(invalid="ignore"):
        for i in range(blocks):
            out[..., i * BLOCK : (i + 1) * BLOCK] *= scale[..., i : i + 1]
    return out
