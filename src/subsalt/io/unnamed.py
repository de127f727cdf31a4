"""A file without a name, for what is too much for memory and not worth keeping: it is gone with the program."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from subsalt.errors import CorruptionError
from subsalt.io.faults import ask
from subsalt.io.os_errors import explain_os_error


class UnnamedFile:
    """Bytes at positions, in a folder whose disk has the room.

    Parameters
    ----------
    folder : path
        Existing folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            ask("open", str(folder))
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        except OSError as e:
            raise explain_os_error(e, folder) from e

    def write(self, data: bytes | memoryview, at: int) -> None:
        """Write all of `data` at byte `at`."""
        view = memoryview(data).cast("B")
        try:
            while len(view):
                allowed = ask("write", str(self.folder), len(view))
                done = os.pwrite(self._file.fileno(), view[:allowed], at)
                view, at = view[done:], at + done
        except OSError as e:
            raise explain_os_error(e, self.folder, len(view)) from e

    def read(self, count: int, at: int) -> bytes:
        """Return `count` bytes from byte `at`, which have been written."""
        parts = []
        try:
            while count:
                part = os.pread(self._file.fileno(), count, at)
                if not part:
                    raise CorruptionError(
                        f"an unnamed file in {self.folder} ends at byte {at}", "try again", code="E640"
                    )
                parts.append(part)
                count, at = count - len(part), at + len(part)
        except OSError as e:
            raise explain_os_error(e, self.folder) from e
        return b"".join(parts)

    def close(self) -> None:
        """Let go of the file and its bytes."""
        self._file.close()
