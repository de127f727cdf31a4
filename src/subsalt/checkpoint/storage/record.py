"""The record of a snapshot or state in a scratch file: header page, payload, trailer.

Everything is a multiple of a page, so that a record can be moved past the page cache (O_DIRECT). The header says whose
record it is; the trailer is written last and has a checksum (CRC-32C) of every block of the payload. Header and trailer
end with the checksum of their own bytes. docs/theory/checkpoints.md has the bytes one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

#: bytes of a page: the unit of O_DIRECT, and the size of the header
PAGE = 4096

#: payload bytes under one checksum, moved by one call of one thread; measured in benchmarks/snapshot_io.py
BLOCK = 1 << 20

#: kinds of records that are moved as they come: float32, and snapshots in 16 bits, which whoever fills them has packed
PLAIN = ("none", "f16")

VERSION = 1
HEAD_MAGIC, TAIL_MAGIC = b"SUBSNAPH", b"SUBSNAPT"

#: written as a number: read back otherwise, the file is of the other byte order
BYTE_ORDER = 0x01020304

#: magic, version, byte order, header bytes, block bytes, floats of the record, shot, key, rank, ranks, dtype,
#: codec, name, run id, dimensions, shape
_IDENTITY = struct.Struct("<8sIIIIQqqII8s8s16s64sI4Q")
#: after it: sequence of the put, payload bytes
_VARIABLE = struct.Struct("<QQ")
#: magic, sequence, payload bytes, blocks, block bytes; then a checksum per block
TAIL_HEAD = struct.Struct("<8sQQII")


def whole_pages(nbytes: int) -> int:
    """Return `nbytes` rounded up to whole pages."""
    return -(-nbytes // PAGE) * PAGE


@dataclass(frozen=True)
class RecordLayout:
    """Where the parts of a record lie, by the bytes of its payload."""

    payload: int
    block: int = BLOCK

    @classmethod
    def of(cls, record: int, block: int = BLOCK) -> RecordLayout:
        """Return the layout of `record` floats; a rank that owns no point of a window stores one anyway."""
        return cls(max(4, 4 * record), block)

    @property
    def padded(self) -> int:
        """Bytes of the payload on disk."""
        return whole_pages(self.payload)

    @property
    def blocks(self) -> int:
        """Blocks of the payload, the last one as long as it needs to be."""
        return -(-self.padded // self.block)

    @property
    def trailer(self) -> int:
        """Bytes of the trailer."""
        return whole_pages(TAIL_HEAD.size + 4 * self.blocks + 4)

    @property
    def total(self) -> int:
        """Bytes of the record: what a slot in a file has."""
        return PAGE + self.padded + self.trailer


@dataclass(frozen=True)
class Identity:
    """The owner of a record, as a reader must meet it in the header, except for what changes with every put."""

    #: at most 64 characters
    run_id: str
    #: wavefield: source, receiver, states, restart
    name: str
    shot: int
    #: place in the group that shares the shot, and its size
    rank: int
    ranks: int
    #: floats of the record before compression by zfp; words of 4 bytes of one in 16 bits
    record: int
    #: shape of the field, at most four numbers
    shape: Sequence[int] = field(default=())
    #: ``none``, ``zfp`` or ``f16``
    codec: str = "none"
    #: bytes under one checksum
    block: int = BLOCK

    def bytes_of(self, key: int) -> bytes:
        """Return the part of the header that is the same for every put of `key`."""
        shape = [*self.shape[:4], 0, 0, 0, 0][:4]
        return _IDENTITY.pack(
            HEAD_MAGIC,
            VERSION,
            BYTE_ORDER,
            PAGE,
            self.block,
            self.record,
            self.shot,
            key,
            self.rank,
            self.ranks,
            b"<f4",
            self.codec.encode(),
            self.name.encode(),
            self.run_id.encode()[:64],
            len(self.shape),
            *shape,
        )

    def header(self, key: int, sequence: int, payload: int) -> bytes:
        """Return the header without the checksum at its end."""
        return (self.bytes_of(key) + _VARIABLE.pack(sequence, payload)).ljust(PAGE - 4, b"\0")

    def differs(self, header: bytes, key: int, payload: int) -> str:
        """Return in words how a header whose checksum is right is another than that of `key`; empty when it is it."""
        if header[: _IDENTITY.size] == self.bytes_of(key) and header_numbers(header)[1] == payload:
            return ""
        actual = _IDENTITY.unpack_from(header)
        expected = _IDENTITY.unpack(self.bytes_of(key))
        for what, a, b in zip(_NAMES, actual, expected, strict=False):
            if a != b:
                return f"it has {what} {_word(a)} in place of {_word(b)}"
        return f"it has {header_numbers(header)[1]} bytes in place of {payload}"


_NAMES = (
    "the mark",
    "version",
    "byte order",
    "header size",
    "block size",
    "record length",
    "shot",
    "step",
    "rank",
    "number of ranks",
    "number type",
    "compression",
    "name",
    "run",
    "dimension",
    "extent",
    "extent",
    "extent",
    "extent",
)


def _word(value: int | bytes) -> str:
    return value.rstrip(b"\0").decode("ascii", "replace") if isinstance(value, bytes) else str(value)


def header_numbers(header: bytes) -> tuple[int, int]:
    """Return the sequence number and the payload bytes of a header."""
    sequence, payload = _VARIABLE.unpack_from(header, _IDENTITY.size)
    return sequence, payload


def key_of(header: bytes) -> int:
    """Return the key of a header."""
    return int(_IDENTITY.unpack_from(header)[7])


def trailer_head(sequence: int, layout: RecordLayout) -> bytes:
    """Return the head of a trailer; the checksums of the blocks follow it."""
    return TAIL_HEAD.pack(TAIL_MAGIC, sequence, layout.payload, layout.blocks, layout.block)
