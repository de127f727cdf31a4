"""Failures on demand: a hook that every system call on files asks first. Always compiled in, for tests."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

#: asked before each call as hook(operation, path, bytes); returns how many bytes may be written, or None for
#: all
FaultHook = Callable[[str, str, int], int | None]


_fault: FaultHook | None = None


def set_fault(hook: FaultHook | None) -> None:
    """Install a fault hook for tests; None removes it."""
    global _fault
    _fault = hook


def is_fault_set() -> bool:
    """Return whether a fault hook is installed."""
    return _fault is not None


class FaultCounter:
    """A fault hook that lets `fail_at - 1` operations pass and fails the next.

    Parameters
    ----------
    fail_at : int
        Number of the first operation that fails, from 1; 0 never fails and only counts.
    error : int
        The errno it fails with.
    forever : bool
        Fail every later operation too (a full disk) rather than one (a hiccup).
    short : int, optional
        At most this many bytes go out per write.
    """

    def __init__(
        self, fail_at: int = 0, error: int = errno.EIO, forever: bool = False, short: int | None = None
    ) -> None:
        self.fail_at, self.error, self.forever, self.short = fail_at, error, forever, short
        self.count = 0
        self.log: list[str] = []

    def __call__(self, operation: str, path: str, nbytes: int) -> int | None:
        """Count one operation; fail when its turn has come."""
        self.count += 1
        self.log.append(operation)
        # clearing up after a failure must work, as it does on a real full disk
        due = self.count == self.fail_at or (self.forever and 0 < self.fail_at < self.count)
        if due and operation != "unlink":
            raise OSError(self.error, os.strerror(self.error), path)
        return self.short


def ask(operation: str, path: str, nbytes: int = 0) -> int:
    """Return how many bytes of `nbytes` may go out now."""
    if _fault is None:
        return nbytes
    allowed = _fault(operation, path, nbytes)
    return nbytes if allowed is None else max(1, min(nbytes, allowed))
