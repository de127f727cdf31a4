"""What a benchmark was run on, and how its samples scatter."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from statistics import median

import subsalt
from subsalt.host import processor


def machine(threads: int) -> dict[str, object]:
    """Return what the run was made on; no host name."""
    ram = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    gcc = shutil.which("gcc")
    command = [gcc, "-dumpfullversion"] if gcc else ["true"]
    compiler = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return {
        "cpu": processor(),
        "subsalt": subsalt.__version__,
        "cores": os.cpu_count(),
        "ram_gib": round(ram, 1),
        "threads": threads,
        "gcc": compiler,
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
        "date": datetime.date.today().isoformat(),
    }


def spread(values: Sequence[float]) -> float:
    """Return half the range of the middle half, relative to the median."""
    s = sorted(values)
    n = len(s)
    return (s[(3 * n) // 4 if n > 1 else 0] - s[n // 4]) / 2 / median(s)
