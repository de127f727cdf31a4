"""The first extension of trace headers, SEG00001 of revision 2: numbers of 64 bits that replace those of the header.

A value that is not zero counts instead of the one in the first 240 bytes, as it stands, without scalar. What the
extension says of the layout of the file (blocks, samples, interval) must agree with it, or the file is refused by name.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from subsalt.errors import SegyError
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout

#: name of the extension, in its last eight bytes
_FIRST = "SEG00001"
#: traces whose extensions are looked at
_LOOKED_AT = 8


@dataclass(frozen=True)
class _Extension:
    """The 240 bytes of an extension of one trace, and what they are called in messages."""

    raw: bytes
    order: str
    where: str

    def value(self, byte: int, kind: str) -> float:
        """Return the value at a byte, from 1, of a kind of `struct`."""
        value: float = struct.unpack_from(self.order + kind, self.raw, byte - 1)[0]
        return value

    @property
    def is_first(self) -> bool:
        """Whether it bears the name of the first extension of the standard."""
        return any(self.raw[-8:].decode(code, errors="replace") == _FIRST for code in ("ascii", "cp037"))


def extended_ns(file: InputFile, layout: FileLayout, first: int) -> int:
    """Return the samples that the extension of the first trace has; 0 for none.

    `first` is where traces begin.
    """
    if layout.header_bytes < 2 * TRACE_HEADER or first + 2 * TRACE_HEADER > file.size:
        return 0
    one = _read(file, layout, 0, first)
    return int(one.value(137, "I")) if one.is_first else 0


def take_extensions(file: InputFile, layout: FileLayout, fix: Fix) -> None:
    """Find out whether the headers of a file are extended, and take the interval from there.

    Raises
    ------
    SegyError
        Extensions contradict each other or the layout of the file.
    """
    if layout.header_bytes < 2 * TRACE_HEADER:
        return
    picks = sorted({i * (layout.n_traces - 1) // (_LOOKED_AT - 1) for i in range(_LOOKED_AT)})
    extensions = [_read(file, layout, t, layout.first_trace + t * layout.trace_bytes) for t in picks]
    named = [one for one in extensions if one.is_first]
    if not named:
        return
    if len(named) < len(extensions):
        other = next(one for one in extensions if not one.is_first)
        raise SegyError(
            f"{other.where} is not named {_FIRST}, as that of other traces is",
            "write the file with one kind of headers for all traces",
            code="E258",
        )
    for one in named:
        _refuse_other_layout(one, layout, fix)
    intervals = {one.value(145, "d") for one in named}
    said = ", ".join(f"{v:g}" for v in sorted(intervals)[:4])
    if len(intervals) > 1 or not all(np.isfinite(list(intervals))) or min(intervals) < 0:
        raise SegyError(
            f"{named[0].where} and others have the sample intervals {said}",
            "split the file by interval, or write one interval into all traces",
            code="E258",
        )
    interval = intervals.pop()
    if interval and layout.dt_source != "fix":
        if layout.dt_source.startswith("extended") and abs(layout.dt * 1e6 - interval) > 1e-6 * interval:
            raise SegyError(
                f"{named[0].where} has a sample interval of {interval:.10g} microseconds, the extended binary header "
                f"(byte 3273) {layout.dt * 1e6:.10g}",
                f"say which is right: [data.fix] dt = {interval / 1e6:.10g} or dt = {layout.dt:.10g}",
                code="E258",
            )
        layout.dt, layout.dt_source = interval / 1e6, "extended trace header (byte 145)"
    layout.extended = True


def _read(file: InputFile, layout: FileLayout, trace: int, at: int) -> _Extension:
    """Return the first extension of a trace that begins at a byte of the file."""
    raw = file.read_at(at + TRACE_HEADER, TRACE_HEADER)
    where = f"{layout.path} trace {trace + 1}: its trace header extension ({_FIRST})"
    return _Extension(raw, ">" if layout.endian == "big" else "<", where)


def _refuse_other_layout(one: _Extension, layout: FileLayout, fix: Fix) -> None:
    """Raise `SegyError` when an extension counts blocks or samples that the file does not have."""
    blocks, ns = int(one.value(157, "H")), int(one.value(137, "I"))
    # the header itself may or may not be counted
    if blocks and blocks * TRACE_HEADER not in (layout.header_bytes, layout.header_bytes - TRACE_HEADER):
        raise SegyError(
            f"{one.where} counts {blocks} extensions, byte 3507 says {layout.header_bytes // TRACE_HEADER - 1}: traces "
            "with different numbers of headers are not read",
            "write the file with one number of headers for all traces, such as none",
            code="E258",
        )
    if ns and ns != layout.ns and fix.ns is None:
        raise SegyError(
            f"{one.where} says {ns} samples, {layout.ns} fit the file",
            f"[data.fix] ns = {layout.ns} if that is right",
            code="E258",
        )
