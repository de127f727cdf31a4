"""Velocity functions in formats known by their words: HANDVEL cards, parameter files of Seismic Un*x."""

from __future__ import annotations

import re
from collections.abc import Iterator

from subsalt.errors import ModelError
from subsalt.io.velocity_rows import TextFunctions, group_rows

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
                raise ModelError(f"{path}, line {number}: HANDVEL names no CDP", "mend the card", code="E741")
            cdps, lines, numbers = [*cdps, place], [*lines, number], [*numbers, []]
            continue
        found = [to_number(w) for w in words]
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
                f"{path}, line {number}: {len(t)} times and {len(v)} velocities", "mend them", code="E741"
            )
        rows += [(number, [*([cdps[i]] if cdps else []), a, b]) for a, b in zip(t, v, strict=True)]
    out = group_rows(path, [*(["cdp"] if cdps else []), "t", "v"], rows)
    out.in_ms = False
    return out


def _assignments(path: str, text: str) -> Iterator[tuple[int, str, list[float]]]:
    for number, raw in enumerate(text.splitlines(), 1):
        line = "" if is_comment(raw) else raw
        for key, listed in re.findall(r"(\w+)\s*=\s*([^\s\\]+)", line):
            found = [to_number(w) for w in listed.split(",") if w]
            if key in ("cdp", "tnmo", "vnmo") and any(x is None for x in found):
                raise ModelError(
                    f"{path}, line {number}: {key}= holds something that is no number", "mend it", code="E741"
                )
            yield number, key, [x for x in found if x is not None]
