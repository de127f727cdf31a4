"""Waiting for other ranks without burning the time of those on the same cores.

A few quick looks, then the core is given to whoever wants it, then short sleeps that grow. MPI's own waiting never
sleeps.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

#: looks at a request before the core is yielded, and yields before a sleep
QUICK, YIELDS = 20, 200

#: first and longest sleep between two looks, s
NAP, LONGEST_NAP = 20e-6, 500e-6


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
    give_way = getattr(os, "sched_yield", lambda: time.sleep(0))
    for _ in range(YIELDS):
        if test():
            return
        give_way()
    nap = NAP
    while not test():
        time.sleep(nap)
        nap = min(2 * nap, LONGEST_NAP)
