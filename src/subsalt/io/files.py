"""Reading files safely: regular files only, whole reads at positions, errors that name the path."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError, MissingInputError, ResourceError, SegyError
from subsalt.io.faults import ask
from subsalt.io.traffic import COUNTED


def raw_bytes(array: NDArray) -> memoryview:
    """Return the bytes of a C-contiguous array; writing to them changes the array."""
    if not array.flags.c_contiguous:
        raise ValueError("the array is not C-contiguous")
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


class InputFile:
    """A regular file opened for positioned reads.

    Parameters
    ----------
    path : path-like
        The file. Folders, pipes, devices and empty files are refused with a clear reason.
    error : type, optional
        Class of that refusal.

    Raises
    ------
    MissingInputError
        When it is not there.
    DataError
        When it cannot hold data; of class `error`.
    """

    def __init__(self, path: str | os.PathLike[str], error: type[DataError] = SegyError) -> None:
        self.path = Path(path)
        try:
            # O_NONBLOCK: opening a pipe that nobody writes must not hang
            self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError) as e:
            raise MissingInputError(f"{self.path} does not exist", "check the name and the folder") from e
        except (OSError, ValueError) as e:
            why = getattr(e, "strerror", None) or str(e)
            raise MissingInputError(
                f"{self.path} cannot be opened: {why}", "check its permissions", code="E111"
            ) from e
        info = os.fstat(self.fd)
        self.size = info.st_size
        problem: tuple[str, str] | None = None
        if stat.S_ISDIR(info.st_mode):
            problem = f"{self.path} is a folder, not a file", "name the files in it"
        elif not stat.S_ISREG(info.st_mode):
            problem = f"{self.path} is a pipe or device, not a file", "copy the data to a file first"
        elif self.size == 0:
            problem = f"{self.path} is empty (0 bytes)", "check how it was copied or written"
        if problem:
            self.close()
            raise error(problem[0], problem[1], code="E210")

    def read_at(self, offset: int, nbytes: int) -> bytes:
        """Return `nbytes` bytes from `offset`; an error when the file ends before."""
        buffer = bytearray(nbytes)
        self.read_into(offset, memoryview(buffer))
        return bytes(buffer)

    def read_into(self, offset: int, out: memoryview) -> None:
        """Fill `out` with the bytes from `offset`; they are counted (`traffic.COUNTED`)."""
        view = out.cast("B")
        done = 0
        while done < len(view):
            try:
                allowed = ask("read", str(self.path), min(len(view) - done, 1 << 30))
                n = os.preadv(self.fd, [view[done : done + allowed]], offset + done)
            except InterruptedError:
                continue
            except OSError as e:
                raise ResourceError(
                    f"cannot read {self.path} at byte {offset + done}: {e.strerror} (errno {e.errno})",
                    "check the disk, or copy the file anew",
                    code="E601",
                ) from e
            if n == 0:
                raise SegyError(
                    f"{self.path} ends at byte {offset + done}, {len(view) - done} bytes early",
                    "copy the file anew; it is shorter than when it was opened",
                    code="E213",
                )
            done += n
        COUNTED.add(read=done)

    def close(self) -> None:
        """Close the file; more than once is fine."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> InputFile:
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def as_paths(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return one path or many as a list, in the given order."""
    if isinstance(paths, str | os.PathLike):
        return [Path(paths)]
    found = [Path(p) for p in paths]
    if not found:
        raise MissingInputError("no file was given", "name at least one SEG-Y or SU file")
    return found
