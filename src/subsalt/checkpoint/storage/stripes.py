"""The files of a store: one per directory, records dealt out in turn, at offsets that follow from their number."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from subsalt.checkpoint.storage.transfers import Where
from subsalt.io import scratch
from subsalt.io.publish import explain_os_error, human, remove

#: room is asked for in pieces of at least this many bytes
PIECE = 64 << 20


class Stripes:
    """Files over which the slots of a store are dealt: slot i is the (i // n)-th of file i mod n.

    Parameters
    ----------
    paths : list of Path
        One per directory; the folders exist.
    slot : int
        Bytes of a slot.
    direct : bool
        Past the page cache, where the file system can.
    resume : bool
        Open what an earlier process left, as far as it is there.
    writing : bool
        Whether records will be written.
    """

    def __init__(
        self, paths: list[Path], slot: int, *, direct: bool, resume: bool = False, writing: bool = True
    ) -> None:
        self.paths, self.slot = paths, slot
        self._fds: list[int] = []
        self._direct: list[bool] = []
        self._room = [0] * len(paths)
        self._removed = False
        try:
            for path in paths:
                fd, works = -1, direct
                if resume:
                    with suppress(FileNotFoundError):
                        fd, works = scratch.reopen(path, direct, writing)
                if fd < 0 and writing:
                    fd, works = scratch.create(path, direct)
                self._fds.append(fd)
                self._direct.append(works)
        except BaseException as e:
            self.close()
            if isinstance(e, OSError) and e.filename is not None:
                raise explain_os_error(e, e.filename) from e
            raise

    @property
    def direct(self) -> bool:
        """Whether all files are direct."""
        return all(self._direct)

    def place(self, slot: int) -> Where:
        """Return where a slot lies."""
        i = slot % len(self.paths)
        return Where(self._fds[i], slot // len(self.paths) * self.slot, self.paths[i], self._direct[i])

    def sizes(self) -> list[int]:
        """Return the bytes of each file; 0 where one is missing."""
        return [os.fstat(fd).st_size if fd >= 0 else 0 for fd in self._fds]

    def slots(self) -> list[int]:
        """Return the numbers of the slots that the files have at least a part of."""
        n = len(self._fds)
        return sorted(i + k * n for i, size in enumerate(self.sizes()) for k in range(-(-size // self.slot)))

    def has_room(self, slot: int) -> bool:
        """Say whether room for a slot was reserved."""
        n = len(self.paths)
        return (slot // n + 1) * self.slot <= self._room[slot % n]

    def reserve(self, slot: int, slots: int = 1) -> None:
        """Ask for room for `slots` slots from `slot` on.

        Raises
        ------
        DiskError
            ``need X, have Y at PATH``.
        """
        n = len(self._fds)
        ends: dict[int, int] = {}
        for i in range(slot, slot + slots):
            ends[i % n] = (i // n + 1) * self.slot
        for i, end in ends.items():
            have = self._room[i]
            if end <= have:
                continue
            path = self.paths[i]
            try:
                scratch.allocate(self._fds[i], path, have, end - have)
            except OSError as e:
                raise explain_os_error(e, path, end - have) from e
            self._room[i] = end

    def sync(self) -> None:
        """Wait until what was written is on the device."""
        for fd, path in zip(self._fds, self.paths, strict=True):
            try:
                if fd >= 0:
                    scratch.sync_data(fd, path)
            except OSError as e:
                raise explain_os_error(e, path) from e

    def close(self) -> None:
        """Close the files; more than once is fine. Those that were removed are closed in the background."""
        close = scratch.close_removed if self._removed else os.close
        while self._fds:
            fd = self._fds.pop()
            if fd >= 0:
                close(fd)

    def remove(self) -> None:
        """Remove the files."""
        self._removed = True
        for path in self.paths:
            remove(path)

    def __str__(self) -> str:
        """Return the files for people."""
        return ", ".join(f"{p} ({human(s)})" for p, s in zip(self.paths, self.sizes(), strict=True))
