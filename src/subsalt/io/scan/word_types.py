"""Header words that are read as another type than the one in which they were written.

Floats read as integers of four bytes lie beyond all maps, and lie on one once they are read as what they are. A value
of two bytes, read together with the next two, is a multiple of 65536 plus what stands there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.io.segy.geometry import ScannedFile, column
from subsalt.io.segy.samples import ibm_to_float
from subsalt.io.segy.words import halves

#: m: coordinates of all maps are smaller (the way from pole to pole)
MAP = 2.0e7
#: m: sources and receivers of one trace are nearer
APART = 2.0e5
#: m: from one station to the next
USUAL_STEP = 12.5
#: coordinates, in the order in which they stand in messages
COORDINATES = ("source_x", "source_y", "receiver_x", "receiver_y")
#: positive floats of two or more are larger integers: a scalar would have to be -100 to make a place of one
SMALLEST_FLOAT = 1 << 28
#: numbers of traces, shots and channels
NUMBERS = ("channel", "ffid", "source_point")


def word_type_findings(one: ScannedFile) -> Iterator[Finding]:
    """Yield an error for coordinates that are floats, warnings for numbers of two bytes that were read as four."""
    given = dict(one.header.types)
    yield from _float_coordinates(one, given)
    for name in NUMBERS:
        if name not in given and name in one.values and one.header.usual(name) == "i4":
            yield from _two_bytes(one, name)


def _float_coordinates(one: ScannedFile, given: dict[str, str]) -> Iterator[Finding]:
    """Yield the error of coordinates beyond any map whose bits are floats on one."""
    words = {
        name: one.values[name][one.live]
        for name in COORDINATES
        if name in one.values and name not in given and one.values[name][one.live].any()
    }
    if not words or any(np.abs(v[v != 0].astype(np.int64)).min() < SMALLEST_FLOAT for v in words.values()):
        return
    kinds = [
        kind
        for kind in ("f4", "ibm")
        if (coordinates := _read_as(words, kind)) is not None and _on_a_map(coordinates)
    ]
    if not kinds:
        return
    kind = min(kinds, key=lambda k: _oddness(one, _read_as(words, k) or {}))
    coordinates = _read_as(words, kind) or {}
    name, values = next(iter(coordinates.items()))
    byte = getattr(one.header, name)
    places = ", ".join(f'{n} = {{byte = {getattr(one.header, n)}, type = "{kind}"}}' for n in words)
    what = "IEEE" if kind == "f4" else "IBM"
    yield Finding(
        "E267",
        "error",
        f"{one.layout.path}: {name} (byte {byte}) is {int(words[name][0])}, beyond any map; read as {what} floats its "
        f"four bytes are {values.min():.10g} to {values.max():.10g}",
        f"[data] bytes = {{{places}}}",
        {"type": kind, "words": list(words)},
    )


def _read_as(words: dict[str, NDArray], kind: str) -> dict[str, NDArray[np.float64]] | None:
    """Return words of four bytes read as floats; None where they are no numbers on a map."""
    coordinates = {}
    for name, value in words.items():
        raw = np.ascontiguousarray(value.astype(np.int32))
        numbers = raw.view(np.float32) if kind == "f4" else ibm_to_float(raw.view(np.uint32))
        if not (np.abs(numbers) < MAP).all():
            return None
        coordinates[name] = numbers.astype(np.float64)
    return coordinates


def _on_a_map(coordinates: dict[str, NDArray[np.float64]]) -> bool:
    """Return whether sources and receivers lie near one another, and numbers are neither all tiny nor all zero."""
    if max(float(np.abs(v).max()) for v in coordinates.values()) < 1.0:
        return False
    pairs = (("source_x", "receiver_x"), ("source_y", "receiver_y"))
    return all(
        float(np.abs(coordinates[a] - coordinates[b]).max()) < APART
        for a, b in pairs
        if a in coordinates and b in coordinates
    )


def _oddness(one: ScannedFile, coordinates: dict[str, NDArray[np.float64]]) -> tuple[bool, float]:
    """Return how unlikely places are: offsets (byte 37) contradict them, and how far their steps are from usual ones.

    Bits of IBM floats read as IEEE floats lie evenly nevertheless, at steps some hundred times too small; the other way
    round they are as much too large.
    """
    offset = np.abs(one.positions.offset[one.live])
    contradicted = False
    if offset.any():
        pairs = [(coordinates.get(f"source_{c}"), coordinates.get(f"receiver_{c}")) for c in "xy"]
        square = sum((np.square(a - b) for a, b in pairs if a is not None and b is not None), np.zeros(1))
        contradicted = bool(np.median(np.abs(np.sqrt(square) - offset)) > 1.0 + 0.02 * offset.max())
    steps = [np.median(np.diff(np.unique(v))) for v in coordinates.values() if len(np.unique(v)) > 1]
    return contradicted, abs(math.log(float(max(steps, default=USUAL_STEP)) / USUAL_STEP))


def _two_bytes(one: ScannedFile, name: str) -> Iterator[Finding]:
    """Yield the warning of a number whose upper half counts while its lower half stays the same."""
    values = column(one.values, name, one.layout.n_traces)[one.live]
    byte = getattr(one.header, name)
    if (parts := halves(values)) is None:
        return
    upper, lower = parts
    yield Finding(
        "W267",
        "warning",
        f"{one.layout.path}: {name} (byte {byte}) is {values[0]}, {values[-1]} ..., that is {upper[0]} * 65536 + "
        f"{lower[0]}, {upper[-1]} * 65536 + {lower[-1]}: two bytes that count, read together with the two behind them",
        f'[data.bytes] {name} = {{byte = {byte}, type = "i2"}}',
        {"name": name, "values": values[:20].tolist()},
    )
