"""Where sources and receivers stand, by line, point and index: one row of numbers a point, names of lines once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.segy.shot_table import SAME_PLACE

#: point numbers are counted in hundredths, as SPS writes them (F10.2)
PER_POINT = 100
#: messages list so many points
LISTED = 5


class Names:
    """Names of lines as small numbers; 3762.00, 3762 and " 3762" are one name."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}

    def code(self, words: NDArray[np.bytes_]) -> NDArray[np.int32]:
        """Return the numbers of names, (n,); new names get new numbers."""
        unique, inverse = np.unique(words, return_inverse=True)
        codes = [self._code.setdefault(line_name(w.decode("latin-1")), len(self._code)) for w in unique]
        return np.array(codes, np.int32)[inverse.reshape(-1)] if len(unique) else np.empty(0, np.int32)

    def known(self, name: str) -> int | None:
        """Return the number of a name, None of one that is not there."""
        return self._code.get(line_name(name))

    def __getitem__(self, code: int) -> str:
        return list(self._code)[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._code)

    def __len__(self) -> int:
        return len(self._code)


def line_name(text: str) -> str:
    """Return the name of a line without what writers add: blanks, and the zeros of a number."""
    text = text.strip()
    try:
        return f"{float(text):.2f}".rstrip("0").rstrip(".")
    except (ValueError, OverflowError):
        return text


def point_text(point: int) -> str:
    """Return a point number of `PER_POINT` parts as people write it."""
    return f"{point / PER_POINT:.2f}".rstrip("0").rstrip(".")


@dataclass
class Stations:
    """Points of one kind, sources or receivers.

    Parameters
    ----------
    line : ndarray, (n,), int32
        Number of the name of the line.
    point : ndarray, (n,), int64
        Point number, in parts of 1 / `PER_POINT`.
    index : ndarray, (n,), int8
        Point index: 1, and more where a point was used again.
    xyz : ndarray, (n, 3), float64
        Map coordinates, z positive down, m; z is NaN where the format has none.
    static : ndarray, (n,), float32
        Static correction in the file, s; NaN where there is none.
    number : ndarray, (n,), int64
        Line of the file.
    file : ndarray, (n,), int16
        Which of the files.
    """

    line: NDArray[np.int32]
    point: NDArray[np.int64]
    index: NDArray[np.int8]
    xyz: NDArray[np.float64]
    static: NDArray[np.float32]
    number: NDArray[np.int64]
    file: NDArray[np.int16]

    @classmethod
    def empty(cls) -> Stations:
        """Return no points."""
        return cls(
            np.empty(0, np.int32),
            np.empty(0, np.int64),
            np.empty(0, np.int8),
            np.empty((0, 3)),
            np.empty(0, np.float32),
            np.empty(0, np.int64),
            np.empty(0, np.int16),
        )

    @classmethod
    def join(cls, parts: Iterable[Stations]) -> Stations:
        """Return the points of several tables, in order."""
        parts = [cls.empty(), *parts]
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def __len__(self) -> int:
        return len(self.point)

    def take(self, rows: NDArray) -> Stations:
        """Return some of the points."""
        return Stations(*(getattr(self, f.name)[rows] for f in fields(self)))

    def name(self, row: int, names: Names) -> str:
        """Return a point in words."""
        index = f", index {self.index[row]}" if self.index[row] != 1 else ""
        return f"line {names[self.line[row]]} point {point_text(int(self.point[row]))}{index}"

    def sorted(self) -> Stations:
        """Return the points by line, point and index; points of the same numbers keep their order."""
        return self.take(np.lexsort((self.index, self.point, self.line)))

    def find(self, line: NDArray, point: NDArray, index: NDArray) -> NDArray[np.int64]:
        """Return the rows of points, -1 where there is none; the table is `sorted`, each point once."""
        return find_sorted(point_key(self.line, self.point, self.index), point_key(line, point, index))


def point_key(line: NDArray, point: NDArray, index: NDArray) -> NDArray[np.int64]:
    """Return points as ascending numbers, (n,): 2^23 lines, points to +-3 10^8, indices to 15."""
    line, point = np.asarray(line, np.int64), np.asarray(point, np.int64)
    return (line << 40) + ((point + (1 << 35)) << 4) + np.asarray(index, np.int64)


def find_sorted(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where in ascending keys the wanted ones first stand, -1 where they do not."""
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    row = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[row] == wanted, row, -1)


def without_repeats(
    points: Stations, names: Names, files: list[str], what: str
) -> tuple[Stations, list[Finding]]:
    """Return the points sorted and each once, and an error for those that are there twice at different places."""
    table = points.sorted()
    if len(table) < 2:
        return table, []
    same = (
        (np.diff(table.line) == 0)
        & (np.diff(table.point) == 0)
        & (np.diff(table.index.astype(np.int16)) == 0)
    )
    apart = np.abs(np.diff(np.nan_to_num(table.xyz), axis=0)).max(axis=1) > SAME_PLACE
    findings = []
    if (same & apart).any():
        rows = np.flatnonzero(same & apart)
        listed = "; ".join(
            f"{table.name(r, names)} in {files[table.file[r]]} line {table.number[r]} and "
            f"{files[table.file[r + 1]]} line {table.number[r + 1]}, {_apart(table, int(r)):.1f} m apart"
            for r in rows[:LISTED]
        )
        more = f"; and {len(rows) - LISTED} more" if len(rows) > LISTED else ""
        findings.append(
            Finding(
                "E367",
                "error",
                f"{what} are given twice at different places: {listed}{more}",
                "remove the wrong one of each, or give points that were used again an index of their own",
                {"count": len(rows)},
            )
        )
    return table.take(np.concatenate([[True], ~same])), findings


def _apart(table: Stations, row: int) -> float:
    return float(np.sqrt(np.nansum((table.xyz[row + 1] - table.xyz[row]) ** 2)))
