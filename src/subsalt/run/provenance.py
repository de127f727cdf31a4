"""What computed a result: hash of the code, processor, memory. Nothing that names a person, host or path."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

from subsalt.host import machine_facts

__all__ = ["code_facts", "machine_facts"]


def code_facts() -> dict[str, Any]:
    """Return the version and one hash over every source file and the compiled module of the package."""
    return dict(_code_facts())


@functools.cache  # a process computes with the code that it loaded
def _code_facts() -> dict[str, Any]:
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
