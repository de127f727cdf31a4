"""RSF, the format of Madagascar: an ASCII header of key=value, and a raw cube with n1 (depth) fastest."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Planes
from subsalt.errors import DataError, ModelError
from subsalt.host import human
from subsalt.io.array_bytes import raw_bytes
from subsalt.io.input_file import InputFile
from subsalt.io.objects import as_path
from subsalt.io.publish import publish_text
from subsalt.io.shared_file import write_together
from subsalt.io.volumes.planes import (
    FileBytes,
    FilePlanes,
    OpenVolume,
    OwnPlanes,
    RawPlanes,
    VolumeLabel,
    frame_from,
    to_float32,
)
from subsalt.io.volumes.request import VolumeRequest

_TOKEN = re.compile(r"""([A-Za-z_][A-Za-z0-9_]*)=("(?:[^"]*)"|'(?:[^']*)'|\S+)""")
_MAX_HEADER = 1 << 20
#: bytes of text that are looked at together
_TEXT_BLOCK = 1 << 20
#: marks the end of the header when the data follow in the same file
_SAME_FILE = b"\x0c\x0c\x04"


#: metres in a unit of length
LENGTHS = {"m": 1.0, "km": 1000.0, "ft": 0.3048}
#: keys of the frame that we write
_FRAME = ("frame_x0", "frame_y0", "frame_azimuth", "frame_flip")


class RsfAxis(NamedTuple):
    """An axis: number of values, step, first value."""

    n: int
    d: float
    o: float
    label: str = ""
    unit: str = ""


@dataclass
class RsfHeader:
    """The keys of an RSF header; `all_axes` fastest first, `axes` without the slow ones of one value."""

    keys: dict[str, str]
    data: Path
    offset: int
    all_axes: list[RsfAxis] = field(default_factory=list)

    @property
    def axes(self) -> list[RsfAxis]:
        """The axes of the array."""
        last = max((i for i, a in enumerate(self.all_axes) if a.n > 1), default=0)
        return self.all_axes[: last + 1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array, slowest axis first (C order)."""
        return tuple(a.n for a in reversed(self.axes))


def read_header(
    path: str | os.PathLike[str],
    *,
    allow_outside: bool = False,
    data: str | os.PathLike[str] | None = None,
) -> RsfHeader:
    """Read an RSF header.

    Parameters
    ----------
    path : path-like
        The ``.rsf`` file.
    allow_outside : bool
        Follow ``in=`` out of the header's folder: absolute names, ``..`` and symbolic links. Off by default,
        because a header from elsewhere may name any file of this machine.
    data : path-like, optional
        Where the data are, whatever ``in=`` says.

    Raises
    ------
    ModelError
        When the header is not RSF, or its ``in=`` leads outside.
    """
    name = as_path(path)
    with InputFile(name, ModelError) as file:
        raw = file.read_at(0, min(file.size, _MAX_HEADER))
    head, mark, _ = raw.partition(_SAME_FILE)
    text = head.decode("utf-8", "replace")
    keys: dict[str, str] = {}
    for line in text.splitlines():
        # comments would otherwise lend their key=value pairs
        for key, value in _TOKEN.findall(line.split("#", 1)[0]):
            keys[key] = value.strip("\"'")
    if "n1" not in keys or ("in" not in keys and not mark and data is None):
        raise ModelError(f"{name} is not an RSF header: n1 or in is missing", "check the file", code="E220")
    inside = keys.get("in", "stdin") == "stdin"
    if inside and not mark and data is None:
        raise ModelError(f'{name}: in="stdin" but no data follow the header', "check the file", code="E220")
    if data is not None:
        return RsfHeader(keys, as_path(data), 0, _axes(name, keys))
    own = name if inside else _resolve(name, keys["in"], allow_outside)
    return RsfHeader(keys, own, len(head) + len(mark) if inside else 0, _axes(name, keys))


def _resolve(header: Path, value: str, allow_outside: bool) -> Path:
    """Return the path of the data file; inside the header's folder unless told otherwise."""
    if "\0" in value or len(value) > 4000:
        raise ModelError(f"{header}: in= is not the name of a file", "correct the header", code="E220")
    target = Path(value)
    if allow_outside:
        return target if target.is_absolute() else header.parent / target
    folder = header.parent.resolve()
    full = folder / target
    # a symbolic link anywhere on the way shows as a difference between the plain and the resolved name
    if target.is_absolute() or ".." in target.parts or full.resolve() != full:
        raise ModelError(
            f"{header}: in={value!r} leads outside the header's folder (absolute, '..' or a symbolic link)",
            f'where that is right, say so in the job: {{file = "{header.name}", data = "{value}"}}; else put the data '
            "file beside the header and name it plainly (Python: rsf_outside=True)",
            code="E221",
        )
    return full


def _axes(name: Path, keys: dict[str, str]) -> list[RsfAxis]:
    axes = []
    for i in range(1, 10):
        if f"n{i}" not in keys:
            break
        try:
            n = int(keys[f"n{i}"])
            d, o = float(keys.get(f"d{i}", "1")), float(keys.get(f"o{i}", "0"))
        except ValueError as e:
            raise ModelError(
                f"{name}: axis {i} has a value that is not a number ({e})", "correct it", code="E220"
            ) from e
        if n < 1 or not math.isfinite(d) or not math.isfinite(o):
            raise ModelError(f"{name}: axis {i} has n={n}, d={d}, o={o}", "correct it", code="E220")
        axes.append(RsfAxis(n, d, o, keys.get(f"label{i}", ""), keys.get(f"unit{i}", "")))
    return axes


def open_rsf(
    path: str | os.PathLike[str],
    *,
    allow_outside: bool = False,
    data: str | os.PathLike[str] | None = None,
) -> tuple[RsfHeader, Planes]:
    """Open an RSF cube.

    Returns
    -------
    header : RsfHeader
    planes : Planes, (.., n2, n1)
        n1 is the last (fastest) axis. Text is not read by planes but as a whole, bounded by the size of its file.

    Raises
    ------
    ModelError
        When the format is not known or the size of the data is not n1 n2 ... esize; nothing is allocated
        before.
    """
    header = read_header(path, allow_outside=allow_outside, data=data)
    keys = header.keys
    form = keys.get("data_format", keys.get("form", "native_float"))
    encoding, _, kind = form.partition("_")
    types = {"float": "f4", "double": "f8", "int": "i4", "short": "i2", "uchar": "u1"}
    if encoding not in ("native", "xdr", "ascii") or kind not in types:
        raise ModelError(f"{path}: data_format = {form!r} is not known", "use native_float", code="E222")
    count = math.prod(header.shape)
    natural = np.dtype(types[kind]).itemsize
    word = keys.get("esize", "")
    esize = int(word) if re.fullmatch(r"[0-9]{1,4}", word) else natural
    with InputFile(header.data, ModelError) as file:
        if encoding == "ascii":
            return header, TextPlanes(file, header.offset, header.shape)
        if esize != np.dtype(types[kind]).itemsize:
            if kind == "float" and esize == 8:
                kind = "double"
            else:
                raise ModelError(
                    f"{path}: esize = {esize} does not fit {form}", "correct the header", code="E222"
                )
        need = count * np.dtype(types[kind]).itemsize
        if file.size - header.offset != need:
            raise ModelError(
                f"{header.data} holds {file.size - header.offset} bytes of data, "
                f"{' x '.join(map(str, header.shape))} x {esize} needs {need} ({human(need)})",
                "check n1, n2, n3 and esize, and that the copy is complete",
                code="E223",
            )
    dtype = np.dtype((">" if encoding == "xdr" else "=") + types[kind])
    return header, RawPlanes(FileBytes(header.data), header.offset, header.shape, dtype)


class TextPlanes(FilePlanes):
    """Numbers in text, z fastest: where each plane begins is found by one pass through the file.

    Parameters
    ----------
    file : InputFile
        The open file.
    offset : int
        Byte of its first number.
    shape : tuple of int
        Shape of the volume.

    Raises
    ------
    ModelError
        When the file does not hold as many numbers.
    """

    def __init__(self, file: InputFile, offset: int, shape: tuple[int, ...]) -> None:
        super().__init__(shape, 1)
        self._path = file.path
        count, plane = math.prod(shape), math.prod(shape[1:])
        # at least two bytes each: the size of the file bounds the work
        if (file.size - offset + 1) // 2 < count:
            raise ModelError(f"{file.path} is too short for {count} numbers", "check n1, n2, n3", code="E223")
        starts, seen = [], 0
        for at, words in _words(file, offset):
            first = -(-seen // plane) * plane
            starts += [at[k - seen] for k in range(first, seen + len(words), plane)]
            _parsed(file, words)
            seen += len(words)
        if seen != count:
            raise ModelError(
                f"{file.path} holds {seen} numbers, {count} are announced", "check n1", code="E223"
            )
        self._starts = np.array([*starts, file.size], dtype=np.int64)

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the planes ``lo <= ix < hi``."""
        out = np.empty((hi - lo, *self.shape[1:]), np.float32)
        with InputFile(self._path, ModelError) as file:
            for ix in range(lo, hi):
                first, end = int(self._starts[ix]), int(self._starts[ix + 1])
                words = file.read_at(first, end - first).split()
                self._count(end - first, end - first)
                out[ix - lo] = to_float32(_parsed(file, words)).reshape(self.shape[1:])
        return out


def _parsed(file: InputFile, words: list[bytes]) -> NDArray[np.float64]:
    try:
        return np.array(words, dtype=np.float64)
    except ValueError as e:
        raise ModelError(
            f"{file.path} contains something that is not a number", "check data_format", code="E222"
        ) from e


def _words(file: InputFile, offset: int) -> Iterator[tuple[list[int], list[bytes]]]:
    """Yield the offsets of words in a file, and the words, a block at a time."""
    while offset < file.size:
        block = file.read_at(offset, min(_TEXT_BLOCK, file.size - offset))
        # a word that the block cuts belongs to the next one
        whole = len(block)
        if offset + whole < file.size and not block[-1:].isspace():
            whole = max((m.start() for m in [*re.finditer(rb"\S+$", block)]), default=whole) or len(block)
        matches = list(re.finditer(rb"\S+", block[:whole]))
        yield [offset + m.start() for m in matches], [m.group() for m in matches]
        offset += whole


def open_rsf_volume(path: str | os.PathLike[str], request: VolumeRequest) -> OpenVolume:
    """Open an RSF cube as a volume, with its unit and, where we wrote it, its frame."""
    header, a = open_rsf(path, allow_outside=request.rsf_outside, data=request.data)
    axes = header.axes[::-1]
    factors = [LENGTHS.get(x.unit, 1.0) for x in axes]
    spacing = [x.d * f for x, f in zip(axes, factors, strict=True)]
    origin = [x.o * f for x, f in zip(axes, factors, strict=True)]
    frame = Frame()
    if all(n in header.keys for n in _FRAME):
        try:
            frame = frame_from([float(header.keys[n]) for n in _FRAME], path)
        except ValueError as e:
            raise ModelError(
                f"{path}: the frame is not four numbers", "correct the header", code="E220"
            ) from e
    grid = request.grid(path, a.shape, spacing, origin)
    return OpenVolume(grid, frame, a, header.keys.get("unit", ""))


def write_rsf_volume(
    path: str | os.PathLike[str], grid: Grid, values: NDArray | OwnPlanes, label: VolumeLabel
) -> None:
    """Write values on `grid`; collective when every rank has some planes."""
    frame = label.frame
    numbers = (repr(frame.x0), repr(frame.y0), repr(frame.azimuth), str(int(frame.flip)))
    extra = dict(zip(_FRAME, numbers, strict=True)) | {"title": label.name}
    write_rsf(path, values, axes_of(grid.shape, grid.spacing, grid.origin), extra, label.text)


def axes_of(
    shape: Sequence[int],
    spacing: Sequence[float],
    origin: Sequence[float],
    labels: Sequence[str] = (),
    unit: str = "m",
) -> list[RsfAxis]:
    """Return the axes of an array (nx, [ny,] nz), fastest first; all arguments have the order of the array."""
    if not np.isfinite(spacing).all() or len(shape) != len(spacing) or len(shape) != len(origin):
        raise DataError(
            f"array of {len(shape)} axes, spacing {tuple(spacing)}, origin {tuple(origin)}",
            "give one value per axis",
        )
    labels = labels or ("xz" if len(shape) == 2 else "xyz")
    axes = [
        RsfAxis(n, d, o, label, unit) for n, d, o, label in zip(shape, spacing, origin, labels, strict=True)
    ]
    return axes[::-1]


def write_rsf(
    path: str | os.PathLike[str],
    values: NDArray | OwnPlanes,
    axes: Sequence[RsfAxis],
    extra: dict[str, str] | None = None,
    comments: Sequence[str] = (),
) -> None:
    """Write an array as RSF with n1 = z: the header, and the data next to it as ``NAME.rsf@``.

    Parameters
    ----------
    values : ndarray or OwnPlanes
        All of it, or the planes of this rank; then this is collective.
    axes : sequence of RsfAxis
        Axes of the whole array, fastest first (`axes_of`).
    extra : dict
        More keys.
    comments : sequence of str
        Provenance, as comment lines.
    """
    own, target = OwnPlanes.of(values), Path(path)
    data = data_of(target)
    a = np.ascontiguousarray(own.values, dtype="<f4")
    head = header_text(
        data, axes, comments, extra, "written by subsalt; n1 is the fastest axis, depth positive down"
    )
    # the header last: once it exists, its data are complete
    plane = 4 * math.prod(x.n for x in axes[:-1])
    with write_together(data, own.comm, plane * axes[-1].n) as f:
        f.write_at(plane * own.first, raw_bytes(a))
    with own.comm.together():
        if own.comm.is_root:
            publish_text(target, head)


def data_of(header: Path) -> Path:
    """Return the file beside a header that holds its data."""
    return header.with_name(header.name + "@")


def header_text(
    data: Path,
    axes: Sequence[tuple[int, float, float, str, str]],
    comments: Sequence[str] = (),
    extra: dict[str, str] | None = None,
    title: str = "written by subsalt; n1 is the fastest axis",
) -> str:
    """Return the header of an array of native float32.

    Parameters
    ----------
    data : Path
        The file of its data, beside the header.
    axes : sequence of RsfAxis
        Fastest first.
    comments : sequence of str
        Provenance, as comment lines.
    extra : dict, optional
        More keys.
    title : str
        First comment.
    """
    lines = ["# " + re.sub(r"[^ -~]", " ", c) for c in (title, *comments)]
    for i, (n, d, o, label, unit) in enumerate(axes, 1):
        lines.append(f'n{i}={n} d{i}={float(d)!r} o{i}={float(o)!r} label{i}="{label}" unit{i}="{unit}"')
    for key, value in (extra or {}).items():
        clean = re.sub(r"[^ -!#-~]", " ", str(value))
        lines.append(f'{re.sub(r"[^A-Za-z0-9_]", "_", key)}="{clean}"')
    lines.append(f'data_format="native_float" esize=4 in="{data.name}"')
    return "\n".join(lines) + "\n"
