"""Marks that steps gave to the traces of a survey, kept with a run: a run that is resumed need not read all shots
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.io.publish import publish_array, sha256_file

#: the file in a run directory
MARKS = "signal_marks.npy"


def nothing(text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class StoredMarks:
    """The marks of the traces of a survey in a run directory.

    Parameters
    ----------
    folder : Path
        The run directory.
    identity : str
        Hash of job and inputs: marks of other steps or traces do not count.
    get, put : callable
        Return and store what is known of the file in the ledger of the run.
    """

    folder: Path
    identity: str
    get: Callable[[], str | None]
    put: Callable[[str], None]

    def load(self, shape: tuple[int, int]) -> NDArray[np.int8] | None:
        """Return the marks (steps, traces); None where they are missing, damaged, or of something else."""
        path = self.folder / MARKS
        try:
            if self.get() != f"{self.identity} {sha256_file(path)}":
                return None
            marks: NDArray[np.int8] = np.load(path, allow_pickle=False)
        except (OSError, ValueError):
            return None
        return marks if marks.shape == shape and marks.dtype == np.int8 else None

    def save(self, marks: NDArray[np.int8]) -> None:
        """Keep marks (steps, traces)."""
        self.put(f"{self.identity} {publish_array(self.folder / MARKS, marks)}")
