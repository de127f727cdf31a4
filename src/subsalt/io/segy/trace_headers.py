"""Reading many trace headers at once, and the traces themselves, at computed offsets."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import MemoryPlanError, SegyError
from subsalt.io.files import InputFile, raw_bytes
from subsalt.io.publish import human
from subsalt.io.segy.headers import TRACE_HEADER, FileLayout, HeaderBytes
from subsalt.io.segy.samples import decode

#: traces whose headers are held as bytes at one time (16 MB)
_BLOCK = 65536
#: reading through short traces in one piece is faster than one call per header up to about this many bytes
#: each
_CONTIGUOUS = 8192


def header_blocks(file: InputFile, layout: FileLayout) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield (number of the first trace, the 240-byte headers (n, 240)) in blocks; the array is reused."""
    block = _BLOCK if layout.trace_bytes > _CONTIGUOUS else max(1, (16 << 20) // layout.trace_bytes)
    block = min(block, layout.n_traces)
    if layout.trace_bytes <= _CONTIGUOUS:
        whole = np.empty((block, layout.trace_bytes), np.uint8)
        for start in range(0, layout.n_traces, block):
            part = whole[: min(block, layout.n_traces - start)]
            file.read_into(layout.first_trace + start * layout.trace_bytes, raw_bytes(part))
            yield start, np.ascontiguousarray(part[:, :TRACE_HEADER])
        return
    heads = np.empty((block, TRACE_HEADER), np.uint8)
    for start in range(0, layout.n_traces, block):
        part = heads[: min(block, layout.n_traces - start)]
        at = layout.first_trace + start * layout.trace_bytes
        flat = raw_bytes(part)
        for i in range(0, len(flat), TRACE_HEADER):
            row = flat[i : i + TRACE_HEADER]
            if os.preadv(file.fd, [row], at) != TRACE_HEADER:
                file.read_into(at, row)
            at += layout.trace_bytes
        yield start, part


def read_headers(
    file: InputFile, layout: FileLayout, header: HeaderBytes, names: Sequence[str]
) -> dict[str, NDArray]:
    """Return the named header values of every trace, in native byte order; values the file lacks are left
    out.
    """
    kind = header.dtype(layout.endian)
    names = [n for n in names if n in (kind.names or ())]
    need = layout.n_traces * sum(kind[n].itemsize for n in names)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if need > memory // 2:
        raise MemoryPlanError(
            f"{layout.path}: the headers of {layout.n_traces} traces need {human(need)} of {human(memory)} "
            "memory",
            "split the file, or use a machine with more memory",
            code="E611",
        )
    out = {n: np.empty(layout.n_traces, kind[n].newbyteorder("=")) for n in names}
    for start, raw in header_blocks(file, layout):
        view = raw.view(kind).reshape(-1)
        for n in names:
            out[n][start : start + len(view)] = view[n]
    return out


def read_traces(file: InputFile, layout: FileLayout, index: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the samples of the traces `index` as float32, (len(index), ns); runs of neighbours are read
    together.

    Raises
    ------
    SegyError
        When an index is outside the file.
    """
    index = np.asarray(index, dtype=np.int64)
    out = np.empty((len(index), layout.ns), np.float32)
    if not len(index):
        return out
    if index.min() < 0 or index.max() >= layout.n_traces:
        raise SegyError(f"{layout.path} has {layout.n_traces} traces, trace {index.max() + 1} was asked for")
    # at most 32 MB of file bytes at a time, so that memory stays near the size of the result
    most = max(1, (32 << 20) // layout.trace_bytes)
    breaks = np.nonzero(np.diff(index) != 1)[0] + 1
    for lo, hi in zip([0, *breaks], [*breaks, len(index)], strict=True):
        for a in range(lo, hi, most):
            b = min(hi, a + most)
            raw = np.empty((b - a, layout.trace_bytes), np.uint8)
            file.read_into(layout.first_trace + int(index[a]) * layout.trace_bytes, raw_bytes(raw))
            out[a:b] = decode(raw[:, layout.sample_offset :], layout.format, layout.sample_order)
    return out
