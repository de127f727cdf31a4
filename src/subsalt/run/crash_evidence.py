"""Evidence of a crash: which units a rank worked on when it died, and why.

A process that is killed from outside leaves no word about its unit. One that crashes (a segmentation fault, an abort)
leaves its stack in a small file of the run directory. One that the system ended for lack of memory shows in the
system's counter. Only such evidence counts as a failure of the unit.
"""

from __future__ import annotations

import faulthandler
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from subsalt.host import kills_for_memory
from subsalt.run.lock import boot_id

#: pattern of the notes of all ranks, and bytes of a stack that are kept
NOTES, STACK_BYTES = "crash.r*.txt", 8000


#: how faulthandler names the thread that crashed
CURRENT = re.compile(r"Current thread 0x([0-9a-f]+)")


class CrashNote:
    """The file in which a rank notes its current units, and in which a crash leaves its stack. A context manager.

    Its first line names the unit of every thread that computes one, and the round where there are several:
    ``7``, ``7 2``, or ``7@7f3a12,8@7f3a13 2`` with the numbers of the threads.

    Parameters
    ----------
    folder : Path
        The run directory.
    rank : int
        Rank of this process.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self.path = folder / f"crash.r{rank:04d}.txt"
        #: number of the current round
        self.round = 0
        self._fd = -1
        self._ours = False
        self._units: dict[int, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> CrashNote:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        with suppress(OSError):  # a run does not fail for lack of a note
            with suppress(FileNotFoundError):
                os.unlink(self.path)  # the file may belong to another user
            self._fd = os.open(self.path, flags, 0o600)
        if self._fd >= 0 and not faulthandler.is_enabled():
            faulthandler.enable(self._fd)
            self._ours = True
        return self

    def now(self, unit: int) -> None:
        """Note which unit this thread begins; the one that it noted before is over."""
        of_round = f" {self.round}" if self.round else ""
        with self._lock:
            self._units[threading.get_ident()] = unit
            units = self._units.items()
            names = [str(unit)] if len(units) == 1 else [f"{n}@{thread:x}" for thread, n in units]
            if self._fd >= 0:
                with suppress(OSError):
                    os.ftruncate(self._fd, 0)
                    os.write(self._fd, f"{','.join(names)}{of_round}\n".encode())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            faulthandler.disable()
        if self._fd >= 0:
            with suppress(OSError):
                os.close(self._fd)
                os.unlink(self.path)
            self._fd = -1


def collect_crash_stacks(folder: Path) -> dict[tuple[int, int], str]:
    """Return the stacks that crashed ranks of an earlier start left, by round and unit, and remove all notes.

    Of several units that a rank computed side by side it is the one of the thread that crashed; all of them where the
    stack does not name one of their threads. Only for the owner of the run directory.
    """
    stacks: dict[tuple[int, int], str] = {}
    for path in sorted(folder.glob(NOTES)):
        with suppress(OSError, ValueError):
            with open(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
            ) as file:
                head, _, stack = file.read(STACK_BYTES).decode(errors="replace").partition("\n")
            noted, _, number = head.partition(" ")
            for unit in _crashed(noted, stack) if stack.strip() else ():
                stacks.setdefault((int(number or 0), unit), stack.strip())
        with suppress(OSError):
            path.unlink()
    return stacks


def _crashed(noted: str, stack: str) -> list[int]:
    """Return the units of a note to which a stack belongs."""
    units = [name.partition("@")[::2] for name in noted.split(",")]
    current = CURRENT.search(stack)
    by_thread = {int(thread, 16): int(unit) for unit, thread in units if thread}
    if current is not None and (thread := int(current[1], 16)) in by_thread:
        return [by_thread[thread]]
    return [int(unit) for unit, _ in units]


def died_of_memory(lease: dict[str, object]) -> bool:
    """Return whether the system of this host ended a process for lack of memory since the owner of a lease began.

    Parameters
    ----------
    lease : dict
        Lease of an owner that is dead.
    """
    before, now = lease.get("memory_kills"), kills_for_memory()
    return isinstance(before, int) and now is not None and lease.get("boot") == boot_id() and now > before
