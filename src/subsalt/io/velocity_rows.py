"""Functions of time at places, grouped from rows of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ModelError

#: columns that tell places
PLACES = ("cdp", "inline", "crossline", "x", "y")


@dataclass
class TextFunctions:
    """Functions of time at places, as a text holds them.

    Parameters
    ----------
    path : str
        The file.
    keys : tuple of str
        What places are told by: none (one function for all), ``cdp``, ``inline`` and ``crossline``, or ``x`` and ``y``.
    places : ndarray, (n, len(keys)), float64
        In order of appearance.
    times : list of ndarray
        Ascending, in the unit of the file, of each function.
    columns : dict of list of ndarray
        Values at those times, by name: ``v``, ``eta``.
    lines : list of int
        Where each function begins in the file.
    in_ms : bool or None
        Whether times are milliseconds; None: the file does not say.
    unit : str
        Unit of the velocities that the file declares; empty when it does not.
    """

    path: str
    keys: tuple[str, ...]
    places: NDArray[np.float64]
    times: list[NDArray[np.float64]]
    columns: dict[str, list[NDArray[np.float64]]]
    lines: list[int] = field(default_factory=list)
    in_ms: bool | None = None
    unit: str = ""

    def __len__(self) -> int:
        return len(self.times)

    def name(self, i: int) -> str:
        """Return the place of a function in words."""
        if not self.keys:
            return "the function"
        return ", ".join(f"{k} {v:g}" for k, v in zip(self.keys, self.places[i], strict=True))


#: the values of a line, and its number
Row = tuple[int, list[float]]


def group_rows(path: str, names: list[str], rows: list[Row]) -> TextFunctions:
    """Return the functions that rows of a file make, by their place.

    Parameters
    ----------
    path : str
        The file, for messages.
    names : list of str
        Columns of the rows; ``skip`` for those that do not count.
    rows : list of Row
        In the order of the file.

    Raises
    ------
    ModelError
        Where times do not increase, a place comes twice, or a value is not finite, with the line.
    """
    keys = tuple(k for k in PLACES if k in names)
    # line numbers before coordinates, when a file has both
    if "inline" in keys and "crossline" in keys:
        keys = ("inline", "crossline")
    elif "cdp" in keys:
        keys = ("cdp",)
    elif "crossline" in keys and "x" not in keys:
        keys = ("crossline",)
    elif "x" in keys and "y" in keys:
        keys = ("x", "y")
    elif keys:
        raise ModelError(
            f"{path}: {' and '.join(keys)} alone is no place",
            'use cdp, inline and crossline, or x and y: columns = "inline crossline t v"',
            code="E741",
        )
    at, t = [names.index(k) for k in keys], names.index("t")
    held = [n for n in ("v", "eta") if n in names]
    groups: dict[tuple[float, ...], list[Row]] = {}
    last: tuple[float, ...] | None = None
    for row in rows:
        number, values = row
        if not all(math.isfinite(values[names.index(n)]) for n in (*keys, "t", *held)):
            raise ModelError(
                f"{path}, line {number}: a value is not finite", "replace it or remove the line", code="E740"
            )
        place = tuple(values[i] for i in at)
        group = groups.setdefault(place, [])
        if group and values[t] <= group[-1][1][t]:
            _refuse_order(path, keys, place, group, row, t, again=place != last)
        group.append(row)
        last = place
    out = TextFunctions(
        path,
        keys,
        np.array(list(groups), dtype=np.float64).reshape(len(groups), len(keys)),
        [np.array([r[1][t] for r in g]) for g in groups.values()],
        {n: [np.array([r[1][names.index(n)] for r in g]) for g in groups.values()] for n in held},
        [g[0][0] for g in groups.values()],
    )
    _refuse_negative_times(out)
    return out


def _refuse_order(
    path: str,
    keys: tuple[str, ...],
    place: tuple[float, ...],
    group: list[Row],
    row: Row,
    t: int,
    again: bool,
) -> None:
    where = ", ".join(f"{k} {v:g}" for k, v in zip(keys, place, strict=True)) or "the function"
    if again:
        raise ModelError(
            f"{path}: two functions at {where}, lines {group[0][0]} and {row[0]}",
            "keep one of them",
            code="E748",
        )
    raise ModelError(
        f"{path}, line {row[0]}: times of {where} do not increase, {row[1][t]:g} follows {group[-1][1][t]:g}",
        "sort the lines by place and time; if these are several functions, add a column that tells their place",
        code="E742",
    )


def _refuse_negative_times(found: TextFunctions) -> None:
    for i, times in enumerate(found.times):
        if times[0] < 0:
            raise ModelError(
                f"{found.path}, line {found.lines[i]}: time {times[0]:g} of {found.name(i)} is negative",
                "two-way times begin at 0",
                code="E742",
            )
