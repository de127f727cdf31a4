"""Compressed pieces of known size, unpacked so that a wrong size costs no memory.

A piece says, or does not say, how many bytes it becomes; the array that it belongs to says how many there can be. What
announces more is refused before it is unpacked, and what announces nothing is unpacked up to that many bytes.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Any, Protocol

from subsalt.errors import DataError
from subsalt.host import human

#: bytes beyond those of a piece that unpacking may give: headers and checksums of filters, and the last block of a
#: Zstandard frame that does not say its size
SLACK = 16 << 20
_DICTIONARY = 128 << 20
_ZSTD_MAGIC, _ZSTD_SKIPPED, _ZSTD_BLOCK = 0xFD2FB528, 0x184D2A5, 128 << 10


class _Stream(Protocol):
    """Unpacks a stream piece by piece."""

    @property
    def eof(self) -> bool:
        """Whether its end was met."""

    @property
    def unused_data(self) -> bytes:
        """Bytes that follow its end."""

    def decompress(self, data: bytes, most: int, /) -> bytes:
        """Return at most so many bytes."""


def too_large(codec: str, size: str, most: int) -> DataError:
    """Return the error for a piece that unpacks to more than it should."""
    return DataError(
        f"a {codec} piece unpacks to {size}, its part of the array has {human(most)}",
        "copy or write the file again",
        code="E237",
    )


def announced(codec: str, data: memoryview) -> int | None:
    """Return how many bytes a piece becomes by its own header, at most; None when its codec has no such header.

    Parameters
    ----------
    codec : str
        Name of the codec in numcodecs and Zarr.
    data : memoryview
        The piece.

    Raises
    ------
    ValueError
        When the header is damaged.
    """
    if codec == "blosc":
        _need(data, 16)
        return int.from_bytes(data[4:8], "little")
    if codec == "lz4":
        _need(data, 4)
        return int.from_bytes(data[:4], "little")
    return zstd_size(data) if codec == "zstd" else None


def _need(data: memoryview, size: int) -> None:
    if len(data) < size:
        raise ValueError(f"a compressed piece ends after {len(data)} bytes")


def zstd_size(data: memoryview) -> int:
    """Return how many bytes the frames of Zstandard data become at most: as they say, or by the sizes of their blocks.

    Raises
    ------
    ValueError
        When they are damaged.

    References
    ----------
    RFC 8878, sections 3.1.1 and 3.1.2.
    """
    at, total = 0, 0
    while at < len(data):
        _need(data[at:], 8)
        magic = int.from_bytes(data[at : at + 4], "little")
        if magic >> 4 == _ZSTD_SKIPPED:
            at += 8 + int.from_bytes(data[at + 4 : at + 8], "little")
            continue
        if magic != _ZSTD_MAGIC:
            raise ValueError("the data are not Zstandard frames")
        said, at, ends = _zstd_header(data, at + 4)
        blocks, at = _zstd_blocks(data, at)
        total += blocks if said is None else said
        at += ends
    return total


def _zstd_header(data: memoryview, at: int) -> tuple[int | None, int, int]:
    """Return the size that a frame says, where its blocks begin, and the bytes of its checksum."""
    flags = data[at]
    single = bool(flags & 0x20)
    at += 1 + (not single) + (0, 1, 2, 4)[flags & 3]
    width = (int(single), 2, 4, 8)[flags >> 6]
    _need(data, at + width)
    size = int.from_bytes(data[at : at + width], "little") + (256 if width == 2 else 0) if width else None
    return size, at + width, 4 * bool(flags & 4)


def _zstd_blocks(data: memoryview, at: int) -> tuple[int, int]:
    """Return how many bytes the blocks of a frame become at most, and where they end."""
    total, last = 0, False
    while not last:
        _need(data, at + 3)
        head = int.from_bytes(data[at : at + 3], "little")
        last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        # stored, one byte repeated, or compressed
        total += size if kind in (0, 1) else _ZSTD_BLOCK
        at += 3 + (1 if kind == 1 else size)
        _need(data, at)
    return total, at


#: codecs that say no size: what unpacks a stream of each
_STREAMS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(31),
    "zlib": zlib.decompressobj,
    "bz2": bz2.BZ2Decompressor,
}
#: codecs whose pieces have a header with their size
ANNOUNCING = ("blosc", "lz4", "zstd")
#: filters that give no more bytes than they get, except for `packbits`, whose bits become bytes
FILTERS = (
    "adler32", "astype", "bitround", "crc32", "crc32c", "delta", "fixedscaleoffset", "fletcher32", "jenkins_lookup3",
    "packbits", "quantize", "shuffle", "transpose",
)  # fmt: skip


def unpack_stream(codec: str, data: bytes, most: int, settings: dict[str, Any] | None = None) -> bytes:
    """Return what a piece of a codec without a size header becomes, at most `most` bytes and `SLACK`.

    Parameters
    ----------
    codec : str
        ``gzip``, ``zlib``, ``bz2`` or ``lzma``.
    data : bytes
        The piece; streams one after the other are one piece.
    most : int
        Bytes that its array has.
    settings : dict, optional
        Format and filters of ``lzma``.

    Raises
    ------
    DataError
        When it becomes more.
    """
    out, room = [], most + SLACK
    while data:
        stream: _Stream = _lzma(settings or {}) if codec == "lzma" else _STREAMS[codec]()
        part = stream.decompress(data, room + 1)
        room -= len(part)
        if room < 0:
            raise too_large(codec, f"more than {human(most + SLACK)}", most)
        out.append(part)
        if not stream.eof:
            raise ValueError(f"a {codec} piece ends early")
        data = stream.unused_data
    return b"".join(out)


def _lzma(settings: dict[str, Any]) -> lzma.LZMADecompressor:
    form = settings.get("format", lzma.FORMAT_XZ)
    # a dictionary takes memory before any byte is unpacked
    if form != lzma.FORMAT_RAW:
        return lzma.LZMADecompressor(form, _DICTIONARY)
    filters = settings.get("filters") or []
    if any(f.get("dict_size", 0) > _DICTIONARY for f in filters):
        raise ValueError("an lzma piece needs a dictionary of more than 128 MiB")
    return lzma.LZMADecompressor(form, None, filters)


def unpacked(
    codec: str, data: Any, most: int, decode: Callable[[Any], Any], settings: dict[str, Any] | None = None
) -> Any:
    """Return what a piece becomes, by `decode` where it is safe.

    Parameters
    ----------
    codec : str
        Name of the codec in numcodecs and Zarr.
    data : bytes-like
        The piece.
    most : int
        Bytes that its array has.
    decode : callable
        The decoder of the codec.
    settings : dict, optional
        Settings of the codec.

    Raises
    ------
    DataError
        When it becomes more, or the codec is not known to say how much.
    """
    if codec in FILTERS:
        return decode(data)
    if codec in ANNOUNCING:
        size = announced(codec, memoryview(data).cast("B"))
        if size is not None and size > most + SLACK:
            raise too_large(codec, human(size), most)
        return decode(data)
    if codec in _STREAMS or codec == "lzma":
        return unpack_stream(codec, bytes(data), most, settings)
    raise DataError(
        f"codec {codec!r} is not unpacked here: it does not say how much memory it takes",
        "write the array with blosc, zstd, lz4, gzip, or not compressed",
        code="E249",
    )
