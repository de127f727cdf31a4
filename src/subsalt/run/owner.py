"""The end of a program that computes units when nobody waits for them any more."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from subsalt.run.lock import read_lease

#: seconds between two looks
LOOK = 1.0


def end_with_owner(folder: Path, every: float = LOOK) -> threading.Event:
    """End this process by SIGTERM when the one that started it ends, or when the run in a directory is stopped.

    A run whose owner was killed goes on: the next owner enters what is published.

    Parameters
    ----------
    folder : Path
        The run directory; one that nobody owns is stopped.
    every : float
        Seconds between two looks.

    Returns
    -------
    threading.Event
        Ends the watch.
    """
    parent, over = os.getppid(), threading.Event()

    def look() -> None:
        while not over.wait(every):
            # a lease that was given back is empty; that of an owner that was killed stays
            if os.getppid() != parent or not read_lease(folder):
                os.kill(os.getpid(), signal.SIGTERM)
                return

    threading.Thread(target=look, name="owner", daemon=True).start()
    return over
