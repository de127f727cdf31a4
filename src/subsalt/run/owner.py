"""The end of a program that computes units when nobody waits for them any more."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from subsalt.run.lock import read_lease, start_of

#: seconds between two looks
LOOK = 1.0


def end_with_owner(folder: Path, pid: int = 0, every: float = LOOK) -> threading.Event:
    """End this process by SIGTERM when another one ends, or when the run in a directory is stopped.

    A run whose owner was killed goes on: the next owner enters what is published.

    Parameters
    ----------
    folder : Path
        The run directory; one that nobody owns is stopped.
    pid : int
        The process of this machine that waits for this one; 0: none.
    every : float
        Seconds between two looks.

    Returns
    -------
    threading.Event
        Ends the watch.
    """
    over = threading.Event()

    def look() -> None:
        while not over.wait(every):
            # a lease that was given back is empty; that of an owner that was killed stays
            if (pid and not start_of(pid)) or not read_lease(folder):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    threading.Thread(target=look, name="owner", daemon=True).start()
    return over
