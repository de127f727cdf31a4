"""Waiting for other ranks without burning the time of those on the same cores.

A wait begins with a few quick looks, then yields the core between looks, then also sleeps, longer and longer. MPI's own
waiting never sleeps.

Looks always come in bursts: a library that moves a message in parts moves one part per look (TCP, or shared memory
where a process may not read another's). With one look between two sleeps a message of 1.5 MB took
0.1 s, in place of 0.4 ms.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: looks before the core is yielded for the first time, and looks with a yield each between two sleeps
QUICK, BURST = 20, 50

#: callback when a wait lasts longer than the quick looks, and when it ends; set while MPI runs (`mpi_library`)
on_wait: Callable[[bool], None] | None = None

#: s without a sleep; first and longest sleep, and its length as a share of the time waited so far
PATIENCE, NAP, LONGEST_NAP, SHARE = 0.005, 100e-6, 1e-3, 0.02


def wait(test: Callable[[], object]) -> None:
    """Return when `test()` is true, without holding the core while it is not.

    Parameters
    ----------
    test : callable
        Looks, and lets messages move on.
    """
    for _ in range(QUICK):
        if test():
            return
    with announced():
        _patiently(test)


@contextmanager
def announced() -> Iterator[None]:
    """Tell a profile, if there is one, that this rank waits for others while the block runs."""
    callback = on_wait
    if callback is not None:
        callback(True)
    try:
        yield
    finally:
        if callback is not None:
            callback(False)


def _patiently(test: Callable[[], object]) -> None:
    """Look again and again, with yields and sleeps between."""
    give_way = getattr(os, "sched_yield", lambda: time.sleep(0))
    begin = time.perf_counter()
    while True:
        for _ in range(BURST):
            if test():
                return
            give_way()
        waited = time.perf_counter() - begin
        if waited > PATIENCE:
            time.sleep(min(max(NAP, SHARE * waited), LONGEST_NAP))
