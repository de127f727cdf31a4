"""Wavelets in files: a column of values, or two of time and value, as text or ``.npy``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import DataError, MissingInputError

#: larger files are no wavelets
MAX_FILE_BYTES = 16 * 2**20


def read_columns(file: Path) -> tuple[NDArray[np.float64], float | None, float]:
    """Return the values (nt,) of a wavelet file, the step of its time column (None without one) and its first
    time, s.

    Raises
    ------
    MissingInputError
        When there is no such file.
    DataError
        When it does not hold one column of numbers, or two with regular times in seconds.
    """
    table = _read_table(file)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim == 1 and table.size >= 2:
        return table, None, 0.0
    if table.ndim != 2 or table.shape[1] != 2 or len(table) < 2:
        raise DataError(
            f"{file} has shape {table.shape}",
            "give one column of values, or two of time and value",
            code="E252",
        )
    step, t0 = _regular_step(table[:, 0], file)
    return table[:, 1], step, t0


def _read_table(file: Path) -> NDArray[np.float64]:
    if not file.exists():
        raise MissingInputError(f"wavelet file {file} does not exist", "correct [source] file", code="E116")
    if not file.is_file():
        raise DataError(f"wavelet file {file} is not a file", "name a text or .npy file", code="E251")
    if file.stat().st_size > MAX_FILE_BYTES:
        raise DataError(
            f"wavelet file {file} has {file.stat().st_size} bytes",
            "give the wavelet alone, as text or .npy",
            code="E251",
        )
    try:
        if file.suffix == ".npy":
            # mapped: a header that claims more than the file holds is refused before any memory is taken
            return np.array(np.load(file, mmap_mode="r", allow_pickle=False), dtype=np.float64)
        rows = (line.split("#")[0].replace(",", " ").split() for line in file.read_text("utf-8").splitlines())
        return np.array([[float(v) for v in row] for row in rows if row], dtype=np.float64)
    except (ValueError, TypeError, EOFError) as error:
        raise DataError(
            f"wavelet file {file} cannot be read as numbers: {error}",
            "give one column of values, or two of time in seconds and value, as text or .npy",
            code="E251",
        ) from error


def _regular_step(t: NDArray[np.float64], file: Path) -> tuple[float, float]:
    """Return step and start of a time column that must be regular and in seconds."""
    step = float((t[-1] - t[0]) / (len(t) - 1))
    worst = float(np.abs(t - (t[0] + step * np.arange(len(t)))).max())
    # times printed with few digits are still regular: allow a fiftieth of a step
    if not (step > 0 and worst <= 0.02 * step):
        raise DataError(
            f"{file}: its time column is not regular (step {step:g} s, deviation {worst:g} s)",
            "resample the wavelet to a regular step",
            code="E253",
        )
    if step >= 0.1:
        raise DataError(
            f"{file}: its times step by {step:g} s", "give times in seconds, not milliseconds", code="E253"
        )
    return step, float(t[0])
