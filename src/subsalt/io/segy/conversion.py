"""Converting traces from one format of samples or headers to another, in pieces."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import SegyError
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.segy.fix import Fix
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, HeaderBytes, read_traces
from subsalt.io.segy.interval import settle_dt
from subsalt.io.segy.layout import find_layout
from subsalt.io.segy.rev1 import (
    Expectation,
    binary_header,
    publish_traces,
)
from subsalt.io.segy.samples import encode_text

#: (number of values, bytes of each) of the first 180 bytes of a trace header, which SEG-Y and SU share
_SHARED = ((7, 4), (4, 2), (8, 4), (2, 2), (4, 4), (46, 2))


def _header_type(order: str) -> np.dtype:
    kinds = [f"{order}i{width}" for count, width in _SHARED for _ in range(count)]
    return np.dtype([(f"f{i}", kind) for i, kind in enumerate(kinds)] + [("rest", "V60")])


def _swap(raw: NDArray[np.uint8], source: str, target: str) -> NDArray[np.uint8]:
    """Return headers (n, 240) in the byte order `target`; the 60 bytes that the formats use differently are
    zero.
    """
    a, b = (_header_type(">" if e == "big" else "<") for e in (source, target))
    values = raw.reshape(-1).view(a)
    out = np.zeros(len(raw), b)
    for name in (n for n in (b.names or ()) if n != "rest"):
        out[name] = values[name]
    return out.view(np.uint8).reshape(len(raw), TRACE_HEADER)


def _converted(
    file: InputFile, lay: FileLayout, endian: Literal["big", "little"]
) -> Iterator[NDArray[np.uint8]]:
    """Yield headers and float samples of all traces in `endian` order, a few megabytes at a time."""
    step = max(1, (8 << 20) // lay.trace_bytes)
    order = ">" if endian == "big" else "<"
    for start in range(0, lay.n_traces, step):
        index = np.arange(start, min(start + step, lay.n_traces))
        block = np.empty((len(index), lay.trace_bytes), np.uint8)
        file.read_into(lay.first_trace + start * lay.trace_bytes, raw_bytes(block))
        out = np.empty((len(index), TRACE_HEADER + 4 * lay.ns), np.uint8)
        head = np.ascontiguousarray(block[:, :TRACE_HEADER])
        out[:, :TRACE_HEADER] = _swap(head, lay.endian, endian)
        # the numbers that were found to be right, whatever the headers said
        ns = np.array([lay.ns, min(round(lay.dt * 1e6), 65535)], order + "u2")
        out[:, 114:118] = ns.view(np.uint8)
        samples = read_traces(file, lay, index)
        out[:, TRACE_HEADER:] = samples.astype(order + "f4").view(np.uint8).reshape(len(index), -1)
        yield out


def _checked(file: InputFile, header: HeaderBytes | None, fix: Fix | None) -> FileLayout:
    header = header or HeaderBytes()
    lay = find_layout(file, header, fix or Fix())
    if not lay.dt:
        first = file.read_at(lay.first_trace, TRACE_HEADER)
        value = int.from_bytes(first[header.dt - 1 : header.dt + 1], lay.endian)
        settle_dt(lay, header, [value])
    if lay.ns > 65535:
        raise SegyError(
            f"{lay.path} has {lay.ns} samples per trace; SU holds 65535", "cut the traces", code="E273"
        )
    return lay


def stream_su(
    source: str | os.PathLike[str],
    out: IO[bytes],
    *,
    endian: Literal["big", "little"] = "little",
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
) -> int:
    """Write the traces of a SEG-Y or SU file as SU to a stream such as ``sys.stdout.buffer``; return their
    number.

    Parameters
    ----------
    endian : {"little", "big"}
        SU programs use the byte order of their machine.
    """
    with InputFile(source) as file:
        lay = _checked(file, header, fix)
        for part in _converted(file, lay, endian):
            view = raw_bytes(part)
            # a raw stream may take only part of it
            while len(view):
                n = out.write(view)
                view = view[n if n is not None else len(view) :]
    out.flush()
    return lay.n_traces


def convert_traces(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    header: HeaderBytes | None = None,
    fix: Fix | None = None,
) -> int:
    """Write the traces of a SEG-Y or SU file as SU (``.su``, little-endian) or SEG-Y rev 1; return their
    number.

    Bytes 181 to 240 of the trace headers mean different things in the two formats and are set to zero.
    """
    su = Path(target).suffix.lower() == ".su"
    with InputFile(source) as file:
        lay = _checked(file, header, fix)
        interval = min(round(lay.dt * 1e6), 65535)
        head = b""
        if not su:
            head = encode_text(["TRACES CONVERTED BY SUBSALT. SEG-Y REV 1, IEEE FLOAT (FORMAT 5)"])
            head += binary_header(lay.ns, interval, 1, lay.sorting)
        blocks = _converted(file, lay, "little" if su else "big")
        publish_traces(Path(target), head, blocks, Expectation(su, lay.n_traces, lay.ns, interval))
    return lay.n_traces
