"""Partial images as versions before 0.3 wrote them: one NPZ with all fields of the window, hashed as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, SubsaltError
from subsalt.io.npy import NpzFile
from subsalt.io.plane_file import PlaneFile, PlaneLayout, unreadable
from subsalt.io.publish import sha256_file


class PlaneNpz:
    """An old partial image, read like a `PlaneFile`; it holds the whole window in memory.

    Parameters
    ----------
    path : path-like
        The ``.npz`` file.
    sha256 : str, optional
        Of the file.

    Raises
    ------
    CorruptionError
        When the file is missing, damaged, or another one.
    """

    def __init__(self, path: str | os.PathLike[str], sha256: str | None = None) -> None:
        self.path, self._sha256 = Path(path), sha256
        try:
            if sha256 is not None and sha256_file(self.path) != sha256:
                raise CorruptionError(
                    f"{path} does not have the checksum of the ledger", "run the same command again", "E641"
                )
            with NpzFile(self.path) as stored:
                box = Box(*(tuple(int(v) for v in stored[k]) for k in ("lo", "hi")))  # type: ignore[arg-type]
                self._fields = {k: stored[k] for k in stored.keys if k not in ("lo", "hi")}
        except CorruptionError:
            raise
        except (SubsaltError, OSError, ValueError, KeyError) as error:
            raise unreadable(self.path, str(error)) from error
        if any(a.shape != box.shape for a in self._fields.values()):
            raise unreadable(self.path, f"its fields do not have the shape {box.shape} of its box")
        self.layout = PlaneLayout(box, tuple(self._fields))

    def span(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the planes from `lo` to `hi` that the file has, as numbers of the grid."""
        return self.layout.span(lo, hi)

    def read(self, lo: int, hi: int) -> dict[str, NDArray[np.float32]]:
        """Return the fields of the planes `lo` to `hi` (numbers of the grid), as far as the file has them."""
        first, last = self.layout.span(lo, hi)
        start = self.layout.box.lo[0]
        return {name: a[first - start : last - start] for name, a in self._fields.items()}

    def verify(self) -> None:
        """Do nothing: the whole file was read and checked."""

    def close(self) -> None:
        """Let go of the fields."""
        self._fields = {}

    def __enter__(self) -> PlaneNpz:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_planes(path: str | os.PathLike[str], sha256: str | None = None) -> PlaneFile | PlaneNpz:
    """Open a partial image of this version or an older one."""
    return PlaneNpz(path, sha256) if Path(path).suffix == ".npz" else PlaneFile(path, sha256)
