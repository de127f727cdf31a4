"""Headers and samples of many traces of a SEG-Y or SU file, read at computed offsets, and the layout of the file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding, MemoryPlanError, SegyError
from subsalt.host import human
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.segy.index import BLOCK, HeaderPlace, columns_of, open_index, write_index
from subsalt.io.segy.samples import FORMATS, decode_traces
from subsalt.io.segy.words import TRACE_HEADER, WIDE, HeaderBytes, as_numbers, wide
from subsalt.parallel.relay import plain


def apply_scalar(values: NDArray, scalar: NDArray | np.int32 | int) -> NDArray[np.float64]:
    """Return header values with their SEG-Y scalar applied: positive multiplies, negative divides, 0 counts
    as 1.
    """
    s = np.asarray(scalar, dtype=np.float64)
    v = np.asarray(values, dtype=np.float64)
    # dividing by 100 and multiplying by 0.01 differ in the last bit; the division is the exact one
    if s.size and s.shape in ((), v.shape) and (s == s.flat[0]).all():
        one = float(s.flat[0])  # one scalar for all traces, nearly always
        return v / -one if one < 0 else v * (one or 1.0)
    return np.where(s < 0, v / np.where(s < 0, -s, 1.0), v * np.where(s > 0, s, 1.0))


def fix_text(changes: dict[str, object]) -> str:
    """Return what sets values of `Fix` in a job: one key, or a table of several."""
    texts = [
        f"{k} = " + (f'"{v}"' if isinstance(v, str) else str(v).lower() if isinstance(v, bool) else f"{v:g}")
        for k, v in changes.items()
    ]
    return f"[data.fix] {texts[0]}" if len(texts) == 1 else f"[data] fix = {{{', '.join(texts)}}}"


Endian = Literal["big", "little"]

#: bytes of a file that are turned into samples at a time: half of a small L2, where they are still when they are
#: turned; from a store, where a request takes long, as many as memory has room for beside the result
PIECE, FAR_PIECE = 1 << 18, 32 << 20


@dataclass
class FileLayout:
    """The facts needed to find every header and sample of a file.

    Parameters
    ----------
    kind : {"segy", "su"}
        SU is traces alone, always 32-bit IEEE floats.
    first_trace, trace_bytes, n_traces : int
        Byte where traces begin, bytes per trace with headers, number of traces.
    header_bytes : int
        Bytes of trace header(s) in front of the samples: 240, more with rev 2 extensions.
    dt : float
        Sample interval, s; 0 when no header has one.
    dt_source : str
        Which header `dt` is from.
    extended : bool
        The first extension of the trace headers holds values that replace those of the header (`WIDE`).
    fields : dict of str to str
        Names that a store of traces has for header values.
    """

    path: str
    kind: Literal["segy", "su"]
    size: int
    endian: Endian
    format: int
    ns: int
    dt: float
    first_trace: int
    trace_bytes: int
    n_traces: int
    header_bytes: int = TRACE_HEADER
    dt_source: str = ""
    ns_binary: int = 0
    ns_trace: int = 0
    dt_binary_us: int = 0
    dt_trace_us: int = 0
    revision: tuple[int, int] = (0, 0)
    ext_text: int = 0
    sorting: int = 0
    measurement: int = 0
    text: list[str] = field(default_factory=list)
    text_encoding: str = ""
    findings: list[Finding] = field(default_factory=list)
    sample_endian: Endian | None = None
    extended: bool = False
    fields: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON, for another rank."""
        facts: dict[str, Any] = plain(asdict(self))
        return facts

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> FileLayout:
        """Return what `to_json` described."""
        findings = [Finding(**f) for f in facts["findings"]]
        return cls(**facts | {"revision": tuple(facts["revision"]), "findings": findings})

    @property
    def sample_order(self) -> Endian:
        """Byte order of the samples: that of the headers, unless the user knows better."""
        return self.sample_endian or self.endian

    @property
    def format_name(self) -> str:
        """Name of the sample format."""
        return FORMATS[self.format].name

    @property
    def header_read(self) -> int:
        """Bytes of a trace header that hold values."""
        return TRACE_HEADER * (1 + self.extended)

    @property
    def sample_offset(self) -> int:
        """Bytes from the start of a trace to its first sample."""
        return self.header_bytes


#: bytes of headers, or of traces, that are held at one time
_BLOCK = 4 << 20
#: reading through short traces in one piece is faster than one call per header up to about this many bytes
#: each
_CONTIGUOUS = 8192


def header_blocks(file: InputFile, layout: FileLayout) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Yield (number of the first trace, headers (n, `header_read`)) in blocks; the array is reused."""
    # of a store, samples would be decoded for nothing
    contiguous = layout.trace_bytes <= _CONTIGUOUS and not file.over
    block = max(1, _BLOCK // (layout.trace_bytes if contiguous else layout.header_read))
    block = min(block, layout.n_traces)
    if contiguous:
        whole = np.empty((block, layout.trace_bytes), np.uint8)
        for start in range(0, layout.n_traces, block):
            part = whole[: min(block, layout.n_traces - start)]
            file.read_into(layout.first_trace + start * layout.trace_bytes, raw_bytes(part))
            yield start, np.ascontiguousarray(part[:, : layout.header_read])
        return
    heads = np.empty((block, layout.header_read), np.uint8)
    for start in range(0, layout.n_traces, block):
        part = heads[: min(block, layout.n_traces - start)]
        at = layout.first_trace + start * layout.trace_bytes
        file.read_rows(range(at, at + len(part) * layout.trace_bytes, layout.trace_bytes), part)
        yield start, part


def read_headers(
    file: InputFile,
    layout: FileLayout,
    header: HeaderBytes,
    names: Sequence[str],
    first: int = 0,
    n: int | None = None,
    index: str | None = None,
) -> dict[str, NDArray]:
    """Return the named header values of `n` traces from `first` on, of all when left out, in native byte order.

    Values that the file lacks are left out. They come from the saved index of the file (`index`, see `Fix`) where there
    is one that agrees with it.
    """
    file.name_fields(layout.fields)
    kind = header.dtype(layout.endian, layout.extended)
    names = wanted_names(kind, names)
    n = layout.n_traces - first if n is None else n
    if (saved := open_index(file, place_of(layout), layout.header_read, index)) is not None:
        stored = saved.values(first, n, kind, names)
        if stored is not None:
            return settled_values(as_numbers(stored, dict(header.types), layout.path, first), layout, first)
    layout = replace(layout, n_traces=n, first_trace=layout.first_trace + first * layout.trace_bytes)
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
        for name in names:
            out[name][start : start + len(view)] = view[name]
    return settled_values(as_numbers(out, dict(header.types), layout.path, first), layout, first)


def wanted_names(kind: np.dtype, names: Sequence[str]) -> list[str]:
    """Return those of some names that headers of a type have, and what extensions have in their places."""
    there = set(kind.names or ())
    more = [wide(n) for n in names] + [wide("receiver_depth")] * ("receiver_elevation" in names)
    return [n for n in [*names, *more] if n in there]


def settled_values(values: dict[str, NDArray], layout: FileLayout, first: int = 0) -> dict[str, NDArray]:
    """Return header values in which the whole numbers of extensions (`WIDE`) have replaced those of the headers.

    Positions remain beside those of the headers, which have a scalar; where all are zero they are left out. `first` is
    the number of the first trace in the file.

    Raises
    ------
    SegyError
        A position is not finite or beyond all maps, or a number does not fit into 32 bits.
    """
    out = {n: v for n, v in values.items() if not n.startswith(wide(""))}
    for name, (_, kind) in WIDE.items():
        exact = values.get(wide(name))
        if exact is None or not exact.any():
            continue
        whole = kind == "i8"
        # no place on a map is a thousand million kilometres away, nor is one that is not finite
        bad = np.abs(exact) >= 1 << 31 if whole else ~(np.abs(exact) < 1e12)
        if bad.any():
            row = int(np.argmax(bad))
            raise SegyError(
                f"{layout.path} trace {first + row + 1}: its trace header extension (SEG00001) has {name} {exact[row]}",
                f"correct it, or say which bytes of the header to read: [data.bytes] {name} = ...",
                code="E258",
            )
        if whole:
            out[name] = np.where(exact != 0, exact, values[name]).astype(np.int32)
        else:
            out[wide(name)] = exact
    return out


def place_of(layout: FileLayout) -> HeaderPlace:
    """Return where the headers of a file lie."""
    return HeaderPlace(layout.size, layout.first_trace, layout.trace_bytes, layout.n_traces, layout.endian)


def save_index(
    file: InputFile, layout: FileLayout, header: HeaderBytes, folder: str | None = None
) -> tuple[Path, bool]:
    """Return the path of the saved header index of a file, and whether it was made: not when there is one that agrees.

    Parameters
    ----------
    header : HeaderBytes
        Its values are kept, and those of rev 1.
    folder : str, optional
        Where it goes; beside the file when left out.

    Notes
    -----
    Holds 16 MB of headers at a time.
    """
    place, order = place_of(layout), ">" if layout.endian == "big" else "<"
    columns = {
        c
        for h in (HeaderBytes(), header)
        for c in columns_of(h.dtype(layout.endian, layout.extended)).values()
    }
    both = np.dtype(
        {
            "names": [f"{offset} {code}" for offset, code in sorted(columns)],
            "formats": [order + code for _, code in sorted(columns)],
            "offsets": [offset for offset, _ in sorted(columns)],
            "itemsize": layout.header_read,
        }
    )
    saved = open_index(file, place, layout.header_read, folder)
    if saved is not None and saved.values(0, 1, both, list(both.names or ())) is not None:
        return saved.path, False
    blocks = _in_blocks(header_blocks(file, layout), both)
    return write_index(file, place, both, folder, blocks), True


def _in_blocks(parts: Iterator[tuple[int, NDArray[np.uint8]]], kind: np.dtype) -> Iterator[NDArray]:
    """Yield headers as structured arrays of `BLOCK`, the last one with what is left."""
    rest = np.empty(0, kind)
    for _, raw in parts:
        rest = np.concatenate([rest, raw.view(kind).reshape(-1)])
        while len(rest) >= BLOCK:
            yield rest[:BLOCK]
            rest = rest[BLOCK:]
    if len(rest):
        yield rest


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
    size = layout.trace_bytes
    most = min(len(index), max(1, (FAR_PIECE if file.is_remote else PIECE) // size))
    raw, at = np.empty(most * size, np.uint8), np.arange(most) * size + layout.sample_offset
    bytes_of = raw_bytes(raw)
    breaks = np.nonzero(np.diff(index) != 1)[0] + 1
    for lo, hi in zip([0, *breaks.tolist()], [*breaks.tolist(), len(index)], strict=True):
        begin = layout.first_trace + int(index[lo]) * size
        for a in range(lo, hi, most):
            n = min(hi - a, most)
            file.read_into(begin + (a - lo) * size, bytes_of[: n * size])
            decode_traces(raw, at[:n], layout.ns, layout.format, layout.sample_order, out[a : a + n])
    return out
