"""How long tests wait for what must come: on a busy machine everything takes longer, so nothing here measures speed.

A test waits for what it needs, not for a time in which that comes on an idle machine; and gives up only after so long
that the wait would never end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

#: seconds after which what was waited for never comes: no test takes a fiftieth of it on idle cores
PATIENCE = 600.0


def wait_for(condition: Callable[[], Found], what: str = "what was waited for", every: float = 0.01) -> Found:
    """Return what a condition gives as soon as that is true; AssertionError when it never is."""
    until = time.monotonic() + PATIENCE
    while not (value := condition()):
        assert time.monotonic() < until, f"{what} did not come within {PATIENCE:g} s"
        time.sleep(every)
    return value


def cpu_seconds(pid: int) -> float:
    """Return the seconds that a process has computed so far, over its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
