"""Where the header values of SEG-Y and SU traces lie, and of which types they are.

Byte numbers are 1-based, as in the standard. Every one can be overridden; 0 says that the file does not have the value.
The standard keeps coordinates, numbers and times in integers of two and four bytes. Programs write other types in the
same places: floats of IEEE or IBM, integers of the other width.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, SegyError
from subsalt.io.segy.samples import ibm_to_float

#: types of a header word, and how NumPy reads their bytes; the exponents of IBM floats are decoded afterwards
TYPES = {"i2": "i2", "u2": "u2", "i4": "i4", "u4": "u4", "f4": "f4", "f8": "f8", "ibm": "u4"}
#: header values that are lengths or times; all others are whole numbers, in whatever type they are stored
MEASURES = frozenset(
    (
        *("offset", "source_x", "source_y", "receiver_x", "receiver_y", "cdp_x", "cdp_y"),
        *("receiver_elevation", "source_elevation", "source_depth"),
        *("source_static", "receiver_static", "total_static", "delay"),
    )
)
#: no place on a map is a thousand million kilometres away
FARTHEST = 1e12

TRACE_HEADER = 240

#: values of two bytes; all others have four. Unsigned where the standard's sign would lose a large value.
_SHORT = {
    "trace_id": "i2",
    "elevation_scalar": "i2",
    "coordinate_scalar": "i2",
    "coordinate_units": "i2",
    "source_static": "i2",
    "receiver_static": "i2",
    "total_static": "i2",
    "delay": "i2",
    "ns": "u2",
    "dt": "u2",
    "shot_point_scalar": "i2",
    "time_scalar": "i2",
}


#: values by which the traces of a file are found, before its headers are read as a table
_READ_APART = ("ns", "dt")

#: values that the first extension of trace headers (SEG00001, rev 2) has in 64 bits: byte in it and type; what it has
#: replaces what the header says, unless the job says itself where to read it
WIDE = {
    "ffid": (17, "i8"),
    "cdp": (25, "i8"),
    "receiver_elevation": (33, "f8"),
    "receiver_depth": (41, "f8"),
    "source_elevation": (49, "f8"),
    "source_depth": (57, "f8"),
    "source_x": (97, "f8"),
    "source_y": (105, "f8"),
    "receiver_x": (113, "f8"),
    "receiver_y": (121, "f8"),
    "offset": (129, "f8"),
    "cdp_x": (161, "f8"),
    "cdp_y": (169, "f8"),
}


def wide(name: str) -> str:
    """Return what the value of the extension is called among header values."""
    return f"wide_{name}"


@dataclass(frozen=True)
class HeaderBytes:
    """First byte of each trace-header value, from 1; 0 means that it is absent.

    `types` has the types that differ from those of the standard, as pairs of name and one of `words.TYPES`.
    """

    ffid: int = 9
    channel: int = 13
    source_point: int = 17
    source_line: int = 0
    cdp: int = 21
    trace_id: int = 29
    offset: int = 37
    receiver_elevation: int = 41
    source_elevation: int = 45
    source_depth: int = 49
    elevation_scalar: int = 69
    coordinate_scalar: int = 71
    source_x: int = 73
    source_y: int = 77
    receiver_x: int = 81
    receiver_y: int = 85
    coordinate_units: int = 89
    source_static: int = 99
    receiver_static: int = 101
    total_static: int = 103
    delay: int = 109
    ns: int = 115
    dt: int = 117
    cdp_x: int = 181
    cdp_y: int = 185
    inline: int = 189
    crossline: int = 193
    shot_point: int = 197
    shot_point_scalar: int = 201
    time_scalar: int = 215
    types: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        for name, kind in self.types:
            if name not in self.names() or kind not in TYPES:
                raise ConfigError(
                    f"type of the header word {name} = {kind!r}",
                    f"use one of {', '.join(TYPES)}",
                    code="E104",
                )
            if name in _READ_APART and kind != self.usual(name):
                raise ConfigError(
                    f"{name} is read as {self.usual(name)}, not as {kind}",
                    f"leave its type out; where the headers are wrong: [data.fix] {name} = ...",
                    code="E104",
                )
        for name in self.names():
            byte = getattr(self, name)
            last = TRACE_HEADER + 1 - np.dtype(TYPES[self.type_of(name)]).itemsize
            if isinstance(byte, bool) or not isinstance(byte, int) or not 0 <= byte <= last:
                raise ConfigError(
                    f"header byte {name} = {byte!r}",
                    f"use 1 to {last}, or 0 when the file has no such value",
                )

    @staticmethod
    def usual(name: str) -> str:
        """Return the type that the standard gives to the value `name`."""
        return _SHORT.get(name, "i4")

    def type_of(self, name: str) -> str:
        """Return the type of the value `name` in these headers."""
        return dict(self.types).get(name, self.usual(name))

    @classmethod
    def preset(cls, name: str) -> HeaderBytes:
        """Return the bytes of a known layout: ``rev1``, ``su``, ``marine2d`` or ``obn``."""
        if name not in PRESETS:
            raise ConfigError(f"preset {name!r} is not known", f"use one of {', '.join(PRESETS)}")
        return PRESETS[name]

    def placed(self, words: Mapping[str, tuple[int, str | None]]) -> HeaderBytes:
        """Return these bytes with some words elsewhere: byte and type by name, None for the standard's type."""
        places = {name: byte for name, (byte, _) in words.items()}
        types = {name: kind for name, kind in self.types if name not in words}
        types |= {name: kind for name, (_, kind) in words.items() if kind is not None}
        return replace(self, types=tuple(types.items()), **places)  # type: ignore[arg-type]

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Names of all values."""
        return tuple(f.name for f in fields(cls) if f.name != "types")

    @cache  # noqa: B019 - a frozen value of a few hundred bytes, and a survey of many files asks for the same one
    def dtype(self, endian: str, extended: bool = False) -> np.dtype:
        """Return a structured type over a trace header of 240 bytes, or 480 with its first extension.

        Absent values are left out.
        """
        order = ">" if endian == "big" else "<"
        entries = {
            n: (getattr(self, n), TYPES[self.type_of(n)]) for n in self.names() if getattr(self, n) > 0
        }
        if extended:
            # a value whose byte was changed is read there
            usual = {f.name: f.default for f in fields(self)}
            entries |= {
                wide(n): (TRACE_HEADER + byte, kind)
                for n, (byte, kind) in WIDE.items()
                if getattr(self, n, None) == usual.get(n) and n not in dict(self.types)
            }
        return np.dtype(
            {
                "names": list(entries),
                "formats": [order + kind for _, kind in entries.values()],
                "offsets": [byte - 1 for byte, _ in entries.values()],
                "itemsize": TRACE_HEADER * (1 + extended),
            }
        )


_REV1 = HeaderBytes()

#: known layouts; `su` has floats where SEG-Y rev 1 keeps CDP coordinates and line numbers
PRESETS: dict[str, HeaderBytes] = {
    "rev1": _REV1,
    "su": replace(
        _REV1,
        cdp_x=0,
        cdp_y=0,
        inline=0,
        crossline=0,
        shot_point=0,
        shot_point_scalar=0,
        time_scalar=0,
    ),
    "marine2d": replace(_REV1, inline=0, crossline=0),
    "obn": replace(_REV1, ffid=17, source_point=9),
}


def as_numbers(
    values: Mapping[str, NDArray], types: Mapping[str, str], path: str, first: int = 0
) -> dict[str, NDArray]:
    """Return header values of other types as those of the standard are: whole numbers as int32, measures as float64.

    Parameters
    ----------
    values : mapping of ndarray, (n,)
        As read, in native byte order.
    types : mapping of str to str
        Types that differ from the standard's, by name of the value.
    path : str
        The file, for messages.
    first : int
        Number of the first trace in it, from 0.

    Raises
    ------
    SegyError
        E266, when bytes do not hold such a number: not finite, beyond all maps, or too large for a number of traces.
    """
    out = dict(values)
    for name, kind in types.items():
        if name not in out:
            continue
        raw = out[name]
        numbers = ibm_to_float(raw).astype(np.float64) if kind == "ibm" else raw.astype(np.float64)
        whole = name not in MEASURES
        bad = ~(np.abs(numbers) < (1 << 31 if whole else FARTHEST))
        if bad.any():
            row = int(np.argmax(bad))
            raise SegyError(
                f"{path} trace {first + row + 1}: {name} read as {kind} is {numbers[row]:g}: its bytes hold no such "
                "number",
                f"correct byte or type in [data.bytes] {name}: {', '.join(TYPES)}",
                code="E266",
            )
        out[name] = np.rint(numbers).astype(np.int32) if whole else numbers
    return out


def halves(values: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the upper and the lower two bytes of numbers of four, (n,) each, where the upper ones alone count.

    None where the lower ones differ, or the upper ones are all alike or zero: the numbers then have four bytes.
    """
    whole = values.astype(np.int64)
    upper, lower = whole >> 16, whole & 0xFFFF
    if not len(whole) or (upper < 1).any() or np.ptp(lower) > 0 or np.ptp(upper) == 0:
        return None
    return upper, lower
