"""Sweeps through memory and multiply-adds in registers, compiled per instruction set: what a machine gives at best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt import _native

#: bytes per element that each sweep names; a store that first fetches its line moves 4 more in triad and copy
BYTES = {"update": 16, "triad": 12, "copy": 8}


def allocate(n: int, threads: int) -> NDArray[np.float32]:
    """Return zeros, (n,) with n rounded down to 16 per thread, touched first by the threads that sweep it."""
    return zeros((threads, n // (16 * threads) * 16), threads).reshape(-1)


def zeros(shape: tuple[int, ...], threads: int) -> NDArray[np.float32]:
    """Return zeros, aligned, on large pages when large, touched first by threads along the first axis."""
    array: NDArray[np.float32] = _native.allocate(list(shape), threads)
    return array


def update(o: NDArray, a: NDArray, p: NDArray, *, threads: int, isa: str) -> None:
    """Compute o = a p + (p - o): the traffic of an isotropic time step."""
    _native.lab.update(o, a, p, threads, isa)


def triad(o: NDArray, a: NDArray, p: NDArray, scale: float, *, threads: int, isa: str) -> None:
    """Compute o = a + scale p."""
    _native.lab.triad(o, a, p, scale, threads, isa)


def copy(o: NDArray, a: NDArray, *, threads: int, isa: str) -> None:
    """Compute o = a."""
    _native.lab.copy(o, a, threads, isa)


def chains(isa: str) -> tuple[int, int]:
    """Return how many independent chains `multiply_add` has, and floats per vector."""
    count, lanes = _native.lab.chains_and_lanes(isa)
    return count, lanes


def multiply_add(factor: float, term: float, rounds: int, *, threads: int, isa: str) -> NDArray[np.float32]:
    """Repeat x = factor x + term; chain k of every thread starts at k. Returns x, (threads, chains, lanes)."""
    out = np.empty((threads, *chains(isa)), dtype=np.float32)
    _native.lab.multiply_add(out, factor, term, rounds, threads, isa)
    return out


def operations(rounds: int, *, threads: int, isa: str) -> int:
    """Return the floating-point operations of `multiply_add`: two per lane, chain, thread and round."""
    count, lanes = chains(isa)
    return 2 * count * lanes * threads * rounds
