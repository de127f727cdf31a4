"""Evidence of a crash: which unit a rank worked on when it died, and why.

A process that is killed from outside leaves no word about its unit. One that crashes (a segmentation fault, an abort)
leaves its stack in a small file of the run directory. One that the system ended for lack of memory shows in the
system's counter. Only such evidence counts as a failure of the unit.
"""

from __future__ import annotations

import faulthandler
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from subsalt.host import kills_for_memory
from subsalt.run.lock import boot_id

#: pattern of the notes of all ranks, and bytes of a stack that are kept
NOTES, STACK_BYTES = "crash.r*.txt", 8000


class CrashNote:
    """The file in which a rank notes its current unit, and in which a crash leaves its stack. A context manager.

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
        """Note which unit this rank begins."""
        of_round = f" {self.round}" if self.round else ""
        if self._fd >= 0:
            with suppress(OSError):
                os.ftruncate(self._fd, 0)
                os.write(self._fd, f"{unit}{of_round}\n".encode())

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

    Only for the owner of the run directory.
    """
    stacks: dict[tuple[int, int], str] = {}
    for path in sorted(folder.glob(NOTES)):
        with suppress(OSError, ValueError):
            with open(
                os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb"
            ) as file:
                head, _, stack = file.read(STACK_BYTES).decode(errors="replace").partition("\n")
            unit, _, number = head.partition(" ")
            if stack.strip():
                stacks.setdefault((int(number or 0), int(unit)), stack.strip())
        with suppress(OSError):
            path.unlink()
    return stacks


def died_of_memory(lease: dict[str, object]) -> bool:
    """Return whether the system of this host ended a process for lack of memory since the owner of a lease began.

    Parameters
    ----------
    lease : dict
        Lease of an owner that is dead.
    """
    before, now = lease.get("memory_kills"), kills_for_memory()
    return isinstance(before, int) and now is not None and lease.get("boot") == boot_id() and now > before
