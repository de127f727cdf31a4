"""What does it take to publish a file in a directory, complete and on storage, as runs do with each of theirs?"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from subsalt import __version__
from subsalt.io.publish import publish_bytes
from subsalt.machine.load import Watch
from subsalt.machine.machine_file import Machine
from subsalt.machine.mounts import mount_of

#: bytes of the files: one that is nothing but its publishing, and one of samples
SMALL, LARGE = 4096, 16 << 20
#: files of each size
REPEATS = 5


def measure(directory: Path) -> list[dict[str, Any]]:
    """Return rows of the section ``storage``: seconds of a small file, and bytes per second of a large one.

    Parameters
    ----------
    directory : Path
        Exists; a folder in it is made and removed again.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    mount = mount_of(directory)
    spent: dict[int, list[float]] = {}
    with Watch(1) as watch, tempfile.TemporaryDirectory(prefix=".publishing_", dir=directory) as place:
        for size in (SMALL, LARGE):
            data = bytes(size)
            spent[size] = [_published(Path(place) / f"{size}_{i}", data) for i in range(REPEATS)]
    least = median(spent[SMALL])
    return [
        {
            "mount": mount.point,
            "file_system": mount.kind,
            "what": "publish",
            "pattern": "file",
            "bytes": size,
            "threads": 1,
            "how": "buffered",
            "reaches": "memory" if mount.in_memory else "durable",
            "seconds_median": median(seconds),
            # a large file less what any file takes
            "rate": size / max(median(seconds) - least, 1e-6) / 1e9 if size == LARGE else None,
            "noisy": watch.noisy,
            "version": __version__,
            "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for size, seconds in spent.items()
    ]


def _published(path: Path, data: bytes) -> float:
    begin = time.perf_counter()
    publish_bytes(path, data)
    return time.perf_counter() - begin


def known(machine: Machine | None, directory: Path) -> tuple[float, float] | None:
    """Return seconds of a published file, and bytes per second of what is in it; None where nothing was measured."""
    if machine is None:
        return None
    mount = mount_of(directory).point
    rows = [machine.find("storage", mount=mount, what="publish", bytes=size) for size in (SMALL, LARGE)]
    if not all(rows):
        return None
    return float(rows[0][0]["seconds_median"]), 1e9 * float(rows[1][0]["rate"])
