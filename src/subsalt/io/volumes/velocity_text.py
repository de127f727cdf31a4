"""Velocity functions in text: columns, HANDVEL cards, and the parameter files of Seismic Un*x."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ModelError
from subsalt.io.input_file import InputFile

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
        Keys of places: none (one function for all), ``cdp``, ``inline`` and ``crossline``, or ``x`` and ``y``.
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
            where = ", ".join(f"{k} {v:g}" for k, v in zip(keys, place, strict=True)) or "the function"
            raise _disorder(path, where, group, row, t, again=place != last)
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


def _disorder(path: str, where: str, group: list[Row], row: Row, t: int, again: bool) -> ModelError:
    """Return the error for a row that does not follow the last one of its place (`where`) in time (column `t`)."""
    if again:
        return ModelError(
            f"{path}: two functions at {where}, lines {group[0][0]} and {row[0]}",
            "keep one of them",
            code="E748",
        )
    return ModelError(
        f"{path}, line {row[0]}: times of {where} do not increase, {row[1][t]:g} follows {group[-1][1][t]:g}",
        "sort the lines by place and time; if these are several functions, add a column that tells their place",
        code="E742",
    )


def _refuse_negative_times(functions: TextFunctions) -> None:
    for i, times in enumerate(functions.times):
        if times[0] < 0:
            raise ModelError(
                f"{functions.path}, line {functions.lines[i]}: time {times[0]:g} of {functions.name(i)} is negative",
                "two-way times begin at 0",
                code="E742",
            )


#: how a line begins that does not count
COMMENT = ("#", "!", "*", "%", "//")


def is_comment(line: str) -> bool:
    """Return whether a line does not count."""
    return line.lstrip().startswith(COMMENT)


def split_words(line: str) -> list[str]:
    """Return the words of a line, whatever separates them."""
    return [w for w in re.split(r"[\s,;]+", line.strip()) if w]


def to_number(word: str) -> float | None:
    """Return a number, None for another word."""
    try:
        return float(word)
    except ValueError:
        return None


def read_handvel(path: str, text: str) -> TextFunctions:
    """Read cards: ``HANDVEL 101``, then time and velocity in turn, ms and m/s."""
    cdps: list[float] = []
    lines: list[int] = []
    numbers: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = split_words(line)
        if not words or is_comment(line) or words[0].upper() in ("VFUNC", "SPNT"):
            continue
        if words[0].upper() == "HANDVEL":
            place = to_number(words[1]) if len(words) > 1 else None
            if place is None:
                raise ModelError(
                    f"{path}, line {number}: HANDVEL names no CDP", "correct the card", code="E741"
                )
            cdps, lines, numbers = [*cdps, place], [*lines, number], [*numbers, []]
            continue
        values = [to_number(w) for w in words]
        if not numbers or any(x is None for x in values):
            raise ModelError(
                f"{path}, line {number}: {line.strip()[:60]!r} is no card of times and velocities",
                "write HANDVEL and the CDP, then lines of ms and m/s in turn",
                code="E741",
            )
        numbers[-1] += [x for x in values if x is not None]
    for place, line_number, pairs in zip(cdps, lines, numbers, strict=True):
        if len(pairs) % 2 or not pairs:
            raise ModelError(
                f"{path}, line {line_number}: CDP {place:g} has {len(pairs)} numbers, which are no pairs",
                "write time and velocity in turn",
                code="E741",
            )
    rows = [
        (line, [place, *pairs[k : k + 2]])
        for place, line, pairs in zip(cdps, lines, numbers, strict=True)
        for k in range(0, len(pairs), 2)
    ]
    out = group_rows(path, ["cdp", "t", "v"], rows)
    out.in_ms = True
    return out


def read_parameters(path: str, text: str) -> TextFunctions:
    """Read ``cdp=101,201 tnmo=... vnmo=... tnmo=... vnmo=...``: one tnmo and one vnmo for each CDP."""
    cdps: list[float] = []
    times: list[tuple[int, list[float]]] = []
    values: list[tuple[int, list[float]]] = []
    for number, key, numbers in _assignments(path, text):
        if key == "cdp":
            cdps += numbers
        elif key == "tnmo":
            times.append((number, numbers))
        elif key == "vnmo":
            values.append((number, numbers))
    n = len(times)
    if len(values) != n or (cdps and len(cdps) != n) or (not cdps and n > 1):
        raise ModelError(
            f"{path}: {len(cdps)} CDPs, {n} tnmo and {len(values)} vnmo",
            "give one tnmo and one vnmo for each number of cdp=",
            code="E741",
        )
    rows = []
    for i, ((number, t), (_, v)) in enumerate(zip(times, values, strict=True)):
        if len(t) != len(v):
            raise ModelError(
                f"{path}, line {number}: {len(t)} times and {len(v)} velocities", "correct them", code="E741"
            )
        rows += [(number, [*([cdps[i]] if cdps else []), a, b]) for a, b in zip(t, v, strict=True)]
    out = group_rows(path, [*(["cdp"] if cdps else []), "t", "v"], rows)
    out.in_ms = False
    return out


def _assignments(path: str, text: str) -> Iterator[tuple[int, str, list[float]]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = "" if is_comment(raw) else raw
        for key, listed in re.findall(r"(\w+)\s*=\s*([^\s\\]+)", line):
            values = [to_number(w) for w in listed.split(",") if w]
            if key in ("cdp", "tnmo", "vnmo") and any(x is None for x in values):
                raise ModelError(
                    f"{path}, line {number}: {key}= contains something that is not a number",
                    "correct it",
                    code="E741",
                )
            yield number, key, [x for x in values if x is not None]


#: a text larger than this is no list of velocity functions
LARGEST = 1 << 28

#: columns by the names that headers of such files use
NAMES: dict[str, tuple[str, ...]] = {
    "cdp": ("cdp", "cmp", "ens", "ensemble", "bin"),
    "inline": ("inline", "il", "iline", "inl", "in-line", "line"),
    "crossline": ("crossline", "xl", "xline", "crl", "cross-line", "trace"),
    "x": ("x", "cdp_x", "cdpx", "easting"),
    "y": ("y", "cdp_y", "cdpy", "northing"),
    "t": ("t", "time", "twt", "t0", "tnmo"),
    "v": ("v", "vel", "velocity", "vrms", "vnmo", "vstk", "vint", "vavg", "vmig"),
    "eta": ("eta", "effective_eta", "etaeff"),
}
#: what comes before the values, by the number of columns
BY_NUMBER = {2: ("t",), 3: ("cdp", "t"), 4: ("inline", "crossline", "t")}


def read_velocity_text(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None, value: str = "v"
) -> TextFunctions:
    """Read velocity functions.

    Parameters
    ----------
    path : path-like
        The file.
    columns : sequence of str, optional
        Names of its columns (keys of `NAMES`, or ``skip``); else those of its first line, else by their number: 2 are
        ``t v``, 3 ``cdp t v``, 4 ``inline crossline t v``.
    value : str
        The column that must be there: ``v``, or ``eta``.

    Raises
    ------
    ModelError
        When it cannot be read, with the line.
    """
    text = _text(path)
    if re.search(r"^\s*HANDVEL\b", text, re.MULTILINE | re.IGNORECASE):
        return read_handvel(str(path), text)
    if re.search(r"\b(tnmo|vnmo)\s*=", text):
        return read_parameters(str(path), text)
    lines = [(n, s) for n, s in enumerate(text.splitlines(), 1) if s.strip() and not is_comment(s)]
    if not lines:
        raise ModelError(f"{path} holds no velocities", "write lines such as: 101 0.5 1800", code="E741")
    names, rows, units = _table(path, lines, columns, value)
    out = group_rows(str(path), names, rows)
    out.in_ms = {"s": False, "sec": False, "ms": True, "msec": True}.get(units.get("t", ""))
    out.unit = units.get("v", "")
    return out


def _text(path: str | os.PathLike[str]) -> str:
    with InputFile(path, ModelError) as file:
        if file.size > LARGEST:
            raise ModelError(
                f"{path} has {file.size} bytes: too large for a text of velocity functions",
                "give a volume (.sgy, .rsf, .npz) by its suffix",
                code="E741",
            )
        raw = file.read_at(0, file.size)
    if b"\0" in raw:
        raise ModelError(
            f"{path} is no text: it holds binary zeros",
            "volumes are known by their suffix: .sgy, .segy, .su, .rsf, .npz, .npy, .vti, .nc, .zarr",
            code="E741",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _table(
    path: object, lines: list[tuple[int, str]], columns: Sequence[str] | None, value: str
) -> tuple[list[str], list[Row], dict[str, str]]:
    """Return the names of the columns, the rows, and the units that the header line names by column."""
    first = split_words(lines[0][1])
    numbered = [to_number(w) is not None for w in first]
    if columns and "t" in columns and len(first) == len(columns):
        # words may stand in columns that do not count
        header = not numbered[list(columns).index("t")]
    else:
        header = not all(numbered)
    body = lines[1:] if header else lines
    if not body:
        raise ModelError(f"{path} holds a header and no velocities", "add lines of numbers", code="E741")
    count = len(split_words(body[0][1]))
    said, units = _named(path, first) if header and not columns else ([], {})
    names = list(columns) if columns else said or _by_number(path, count, value)
    for needed in ("t", value):
        if needed not in names:
            said_by = "the job names" if columns else "its first line names"
            raise ModelError(
                f"{path}: no column {needed} among those that {said_by}: {' '.join(columns or first)[:80]!r}",
                f'name the columns: columns = "cdp t {value}"',
                code="E741",
            )
    rows = [(number, _numbers(path, number, line, names, value)) for number, line in body]
    guessed = not columns and not header and count == 4
    if guessed and any(x % 1 != 0 for _, r in rows for x in r[:2] if math.isfinite(x)):
        raise ModelError(
            f"{path}: the first two of four columns are no line numbers ({rows[0][1][0]:g}, {rows[0][1][1]:g})",
            f'say what they are: columns = "x y t {value}"',
            code="E741",
        )
    return names, rows, units


def _numbers(path: object, number: int, line: str, names: list[str], value: str) -> list[float]:
    """Return the numbers of a line; 0 for a column that does not count."""
    words = split_words(line)
    if len(words) == len(names):
        values = [0.0 if name == "skip" else to_number(w) for name, w in zip(names, words, strict=True)]
        if all(x is not None for x in values):
            return [x for x in values if x is not None]
    raise ModelError(
        f"{path}, line {number}: {line.strip()[:60]!r} does not hold the {len(names)} numbers {' '.join(names)}",
        "correct the line, or name the columns: columns = "
        f'"{" ".join(BY_NUMBER.get(len(words), BY_NUMBER[3]))} {value}"',
        code="E741",
    )


def _named(path: object, header: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the columns that a header line names, and their units, as in ``time(ms)``."""
    by_word = {w: name for name, words in NAMES.items() for w in words}
    names, units = [], {}
    for word in header:
        parts = re.fullmatch(r"([^(\[]*)(?:[(\[]([^)\]]*)[)\]])?", word.lower().strip("\"':"))
        name = by_word.get(parts.group(1), "skip") if parts else "skip"
        names.append(name)
        if parts and parts.group(2):
            units[name] = parts.group(2)
    columns = [n for n in names if n != "skip"]
    if len(set(columns)) != len(columns):
        raise ModelError(
            f"{path}: its first line {' '.join(header)!r} names a column twice",
            'name the columns in the job: columns = "cdp t v", skip for those that do not count',
            code="E741",
        )
    return names, units


def _by_number(path: object, count: int, value: str) -> list[str]:
    if count not in BY_NUMBER:
        raise ModelError(
            f"{path} has {count} columns and no line that names them",
            f'name them in the job: columns = "inline crossline x y t {value}", skip for those that do not count',
            code="E741",
        )
    return [*BY_NUMBER[count], value]
