"""Velocity functions in text: columns, HANDVEL cards, and the parameter files of Seismic Un*x.

Columns hold one pair per line, ``cdp t v``, ``inline crossline t v``, ``x y t v`` or ``t v``. A first line of words
names them; lines that begin with ``#``, ``!``, ``*`` or ``%`` are comments. HANDVEL cards give the pairs (ms, m/s) of a
CDP after its name; a parameter file gives ``cdp=``, ``tnmo=`` and ``vnmo=``.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence

from subsalt.errors import ModelError
from subsalt.io.files import InputFile
from subsalt.io.velocity_cards import is_comment, read_handvel, read_parameters, split_words, to_number
from subsalt.io.velocity_rows import Row, TextFunctions, group_rows

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
        found = [0.0 if name == "skip" else to_number(w) for name, w in zip(names, words, strict=True)]
        if all(x is not None for x in found):
            return [x for x in found if x is not None]
    raise ModelError(
        f"{path}, line {number}: {line.strip()[:60]!r} does not hold the {len(names)} numbers {' '.join(names)}",
        "mend the line, or name the columns: columns = "
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
    told = [n for n in names if n != "skip"]
    if len(set(told)) != len(told):
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
