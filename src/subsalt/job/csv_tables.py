"""CSV tables of numbers, with a header line that names the columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.memory import require
from subsalt.errors import ConfigError, MissingInputError
from subsalt.io.regular_files import read_regular

#: columns that a table need not have, and what they hold then
LEFT_OUT = {"sy": 0.0, "gy": 0.0, "line": np.nan}


#: bytes of a table: a line of a million receivers has 40 MB
MOST_TABLE = 1 << 30


#: bytes that a byte of a table takes while it is taken apart: a text of a few letters is an object of 50
CELL = 16


def _lines(path: Path) -> Iterator[list[str]]:
    """Yield the lines of a CSV text, split; a pipe or a device is refused."""
    data = read_regular(path, MOST_TABLE)
    require(CELL * len(data), f"the table {path}", "leave out columns that are not read, or split the survey")
    # spreadsheets save characters of 8 or of 16 bits, behind a mark that says which
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    yield from csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)


def table_names(path: Path) -> list[str]:
    """Return the names of the columns of a CSV with a header line; none of a file that cannot be read."""
    try:
        rows = (r for r in _lines(path) if r and not r[0].startswith("#"))
        return [c.strip().lower() for c in next(rows, [])]
    except (OSError, ValueError, csv.Error):
        return []


def read_table(path: Path, keys: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the columns `keys` of a CSV with a header line, (rows, len(keys)); see `LEFT_OUT`."""
    try:
        rows = list(_lines(path))
    except OSError as error:
        why = (
            "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        )
        raise MissingInputError(f"{path} {why}", "check the name in the job file") from None
    except (ValueError, csv.Error) as error:
        raise ConfigError(
            f"{path} is not a CSV text: {error}", f"write a header line {','.join(keys)}", code="E107"
        ) from None
    numbered = [(n, r) for n, r in enumerate(rows, 1) if r and not r[0].startswith("#")]
    names = [c.strip().lower() for c in numbered[0][1]] if numbered else []
    missing = [k for k in keys if k not in names and k not in LEFT_OUT]
    needed = ",".join(k for k in keys if k not in LEFT_OUT or k in ("sy", "gy"))
    if missing:
        raise ConfigError(
            f"{path}: no column {', '.join(missing)}", f"its first line must be {needed}", code="E107"
        )
    out = np.zeros((max(0, len(numbered) - 1), len(keys)))
    for i, (number, row) in enumerate(numbered[1:]):
        try:
            out[i] = [float(row[names.index(k)]) if k in names else LEFT_OUT[k] for k in keys]
        except (ValueError, IndexError):
            raise ConfigError(
                f"{path}, line {number}: {','.join(row)!r} does not hold {len(names)} numbers",
                "correct the line",
                code="E107",
            ) from None
        if not np.isfinite(out[i, [k in names for k in keys]]).all():
            raise ConfigError(f"{path}, line {number}: not finite", "correct the line", code="E107")
    if not len(out):
        raise ConfigError(f"{path} holds no positions", f"add lines {needed}", code="E107")
    return out
