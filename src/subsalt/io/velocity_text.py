"""Velocity functions in text: columns, HANDVEL cards, and the parameter files of Seismic Un*x.

Columns hold one pair per line, ``cdp t v``, ``inline crossline t v``, ``x y t v`` or ``t v``. A first line of words
names them; lines that begin with ``#``, ``!``, ``*`` or ``%`` are comments. HANDVEL cards give the pairs (ms, m/s) of a
CDP after its name; a parameter file gives ``cdp=``, ``tnmo=`` and ``vnmo=``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ModelError
from subsalt.io.files import InputFile

#: a text larger than this is no list of velocity functions
LARGEST = 1 << 28
COMMENT = ("#", "!", "*", "%", "//")

#: columns by the names that headers of such files use
NAMES: dict[str, tuple[str, ...]] = {
    "cdp": ("cdp", "cmp", "ens", "ensemble", "bin"),
    "inline": ("inline", "il", "iline", "inl", "in-line", "line"),
    "crossline": ("crossline", "xl", "xline", "crl", "cross-line", "trace"),
    "x": ("x", "cdp_x", "cdpx", "easting"),
    "y": ("y", "cdp_y", "cdpy", "northing"),
    "t": (
        "t",
        "time",
        "twt",
        "t0",
        "tnmo",
        "tms",
        "t(ms)",
        "t(s)",
        "time(ms)",
        "time(s)",
        "twt(ms)",
        "twt(s)",
    ),
    "v": ("v", "vel", "velocity", "vrms", "vnmo", "vstk", "vint", "vavg", "vmig", "v(m/s)", "vrms(m/s)"),
    "eta": ("eta", "effective_eta", "etaeff"),
}
#: what comes before the values, by the number of columns
BY_NUMBER = {2: ("t",), 3: ("cdp", "t"), 4: ("inline", "crossline", "t")}
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
    in_ms : bool
        The format itself counts in milliseconds.
    """

    path: str
    keys: tuple[str, ...]
    places: NDArray[np.float64]
    times: list[NDArray[np.float64]]
    columns: dict[str, list[NDArray[np.float64]]]
    lines: list[int] = field(default_factory=list)
    in_ms: bool = False

    def __len__(self) -> int:
        return len(self.times)

    def name(self, i: int) -> str:
        """Return the place of a function in words."""
        if not self.keys:
            return "the function"
        return ", ".join(f"{k} {v:g}" for k, v in zip(self.keys, self.places[i], strict=True))


#: a value with the line it stands on
_Row = tuple[int, list[float]]


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
        return _handvel(str(path), text)
    if re.search(r"\b(tnmo|vnmo)\s*=", text):
        return _parameters(str(path), text)
    lines = [(n, s) for n, s in enumerate(text.splitlines(), 1) if s.strip() and not _is_comment(s)]
    if not lines:
        raise ModelError(f"{path} holds no velocities", "write lines such as: 101 0.5 1800", code="E741")
    names, rows = _table(path, lines, columns, value)
    return _functions(str(path), names, rows, value)


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


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith(COMMENT)


def _words(line: str) -> list[str]:
    return [w for w in re.split(r"[\s,;]+", line.strip()) if w]


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _table(
    path: object, lines: list[tuple[int, str]], columns: Sequence[str] | None, value: str
) -> tuple[list[str], list[_Row]]:
    """Return the names of the columns and the rows."""
    first = _words(lines[0][1])
    header = [w for w in first if _number(w) is None]
    body = lines[1:] if header else lines
    if not body:
        raise ModelError(f"{path} holds a header and no velocities", "add lines of numbers", code="E741")
    count = len(_words(body[0][1]))
    names = list(columns) if columns else _named(path, first) if header else _by_number(path, count, value)
    rows = []
    for number, line in body:
        words = _words(line)
        numbers = [x for w in words if (x := _number(w)) is not None]
        if len(words) != len(names) or len(numbers) != len(words):
            raise ModelError(
                f"{path}, line {number}: {line.strip()[:60]!r} does not hold the {len(names)} numbers "
                f"{' '.join(names)}",
                "mend the line, or name the columns: columns = "
                f'"{" ".join(BY_NUMBER.get(len(words), BY_NUMBER[3]))} {value}"',
                code="E741",
            )
        rows.append((number, numbers))
    if value not in names or "t" not in names:
        missing = "t" if "t" not in names else value
        raise ModelError(
            f"{path}: no column {missing} among {' '.join(names)}",
            f'name the columns: columns = "cdp t {value}"',
            code="E741",
        )
    if (
        not columns
        and not header
        and count == 4
        and any(x != int(x) for _, r in rows for x in r[:2] if x == x)
    ):
        raise ModelError(
            f"{path}: the first two of four columns are no line numbers ({rows[0][1][0]:g}, {rows[0][1][1]:g})",
            f'say what they are: columns = "x y t {value}"',
            code="E741",
        )
    return names, rows


def _named(path: object, header: list[str]) -> list[str]:
    """Return the columns that a header line names."""
    by_word = {w: name for name, words in NAMES.items() for w in words}
    names = [by_word.get(w.lower().strip("\"'[]:"), "skip") for w in header]
    if len({n for n in names if n != "skip"}) != len([n for n in names if n != "skip"]):
        raise ModelError(
            f"{path}: its first line {' '.join(header)!r} names a column twice",
            'name the columns in the job: columns = "cdp t v", skip for those that do not count',
            code="E741",
        )
    return names


def _by_number(path: object, count: int, value: str) -> list[str]:
    if count not in BY_NUMBER:
        raise ModelError(
            f"{path} has {count} columns and no line that names them",
            f'name them in the job: columns = "inline crossline x y t {value}", skip for those that do not count',
            code="E741",
        )
    return [*BY_NUMBER[count], value]


def _functions(path: str, names: list[str], rows: list[_Row], value: str) -> TextFunctions:
    """Group rows by their place."""
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
    groups: dict[tuple[float, ...], list[_Row]] = {}
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
    group: list[_Row],
    row: _Row,
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


def _handvel(path: str, text: str) -> TextFunctions:
    """Read cards: ``HANDVEL 101``, then time and velocity in turn, ms and m/s."""
    cdps: list[float] = []
    lines: list[int] = []
    numbers: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = _words(line)
        if not words or _is_comment(line) or words[0].upper() in ("VFUNC", "SPNT"):
            continue
        if words[0].upper() == "HANDVEL":
            place = _number(words[1]) if len(words) > 1 else None
            if place is None:
                raise ModelError(f"{path}, line {number}: HANDVEL names no CDP", "mend the card", code="E741")
            cdps, lines, numbers = [*cdps, place], [*lines, number], [*numbers, []]
            continue
        found = [_number(w) for w in words]
        if not numbers or any(x is None for x in found):
            raise ModelError(
                f"{path}, line {number}: {line.strip()[:60]!r} is no card of times and velocities",
                "write HANDVEL and the CDP, then lines of ms and m/s in turn",
                code="E741",
            )
        numbers[-1] += [x for x in found if x is not None]
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
    out = _functions(path, ["cdp", "t", "v"], rows, "v")
    out.in_ms = True
    return out


def _parameters(path: str, text: str) -> TextFunctions:
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
                f"{path}, line {number}: {len(t)} times and {len(v)} velocities", "mend them", code="E741"
            )
        rows += [(number, [*([cdps[i]] if cdps else []), a, b]) for a, b in zip(t, v, strict=True)]
    return _functions(path, [*(["cdp"] if cdps else []), "t", "v"], rows, "v")


def _assignments(path: str, text: str) -> Iterator[tuple[int, str, list[float]]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = "" if _is_comment(raw) else raw
        for key, listed in re.findall(r"(\w+)\s*=\s*([^\s\\]+)", line):
            found = [_number(w) for w in listed.split(",") if w]
            if key in ("cdp", "tnmo", "vnmo") and any(x is None for x in found):
                raise ModelError(
                    f"{path}, line {number}: {key}= holds something that is no number", "mend it", code="E741"
                )
            yield number, key, [x for x in found if x is not None]
