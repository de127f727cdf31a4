"""What computed a result: hash of the code, processor, memory. Nothing that names a person, host or path."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import Any


def code_facts() -> dict[str, Any]:
    """Return the version and one hash over every source file and the compiled module of the package."""
    import subsalt

    digest = hashlib.sha256()
    root = Path(subsalt.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return {
        "version": subsalt.__version__,
        "python_sha256": digest.hexdigest(),
        "native_sha256": _native_hash(),
    }


def _native_hash() -> str | None:
    try:
        from subsalt import _native
    except ImportError:
        return None
    return hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()


def machine_facts() -> dict[str, Any]:
    """Return processor, cores this process may use, and memory in bytes."""
    name = platform.machine()  # platform.processor would start a program
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                name = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "cpu": name,
        "cores": len(os.sched_getaffinity(0)),
        "ram_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
