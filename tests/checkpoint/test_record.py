"""The bytes of a record are those of docs/theory/checkpoints.md."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from scratch_faults import content, fill

from subsalt import _native
from subsalt.checkpoint.storage.record import BLOCK, PAGE, Identity, RecordLayout
from subsalt.checkpoint.storage.scratch import Scratch
from subsalt.checkpoint.storage.store import file_bytes, record_of, store_memory

PAGE_TEXT = (Path(__file__).resolve().parents[2] / "docs" / "theory" / "checkpoints.md").read_text(
    encoding="utf-8"
)


def table_after(words):
    """Return (at, bytes) of the rows of the table of the page that follows some words."""
    text = PAGE_TEXT.split(words)[1]
    return [(int(a), int(b)) for a, b in re.findall(r"^\| (\d+) \| (\d+) \|", text.split("\n\n")[1], re.M)]


def test_the_page_lists_the_header_without_a_gap():
    rows = table_after("The **header**:")
    ends = [at + size for at, size in rows]
    assert rows[0][0] == 0
    assert ends[:-2] == [at for at, _ in rows[1:-1]]
    assert ends[-1] == PAGE


def test_a_header_has_its_numbers_where_the_page_says():
    who = Identity("r" * 64, "states", -7, 3, 5, 1 << 40, (11, 12, 13), "zfp")
    header = who.header(-9, 1 << 50, 77)
    assert len(header) == PAGE - 4

    def number(at, kind):
        return struct.unpack_from("<" + kind, header, at)[0]

    assert header[:8] == b"SUBSNAPH"
    assert [number(at, "I") for at in (8, 12, 16, 20, 48, 52, 152)] == [1, 0x01020304, PAGE, BLOCK, 3, 5, 3]
    assert (number(24, "Q"), number(32, "q"), number(40, "q")) == (1 << 40, -7, -9)
    assert header[56:88] == b"<f4".ljust(8, b"\0") + b"zfp".ljust(8, b"\0") + b"states".ljust(16, b"\0")
    assert header[88:152] == b"r" * 64
    assert struct.unpack_from("<4Q", header, 156) == (11, 12, 13, 0)
    assert (number(188, "Q"), number(196, "Q")) == (1 << 50, 77)
    assert not any(header[204:])


@pytest.mark.parametrize("record", [10, BLOCK // 4, BLOCK // 4 + 1, 5 * BLOCK // 8])
def test_a_record_can_be_read_by_the_page_alone(tmp_path, record):
    with Scratch("a" * 64, [tmp_path / "s"]) as scratch:
        store = scratch.open("source", 1, record, 2)
        fill(store, [3])
        data = store.files.paths[0].read_bytes()
        store.close()
    crc = _native.scratch.crc32c

    def seal(part):
        return int(crc(np.frombuffer(part[:-4], np.uint8), 0, "tables")) == struct.unpack("<I", part[-4:])[0]

    padded = PAGE * -(-4 * record // PAGE)
    blocks = -(-padded // BLOCK)
    trailer = data[PAGE + padded :][: PAGE * -(-(36 + 4 * blocks) // PAGE)]
    assert seal(data[:PAGE])
    assert seal(trailer)
    assert trailer[:8] == b"SUBSNAPT"
    assert struct.unpack_from("<QQII", trailer, 8) == (1, 4 * record, blocks, BLOCK)
    payload = data[PAGE : PAGE + padded]
    assert np.array_equal(np.frombuffer(payload[: 4 * record], "<f4"), content(3, record))
    for b in range(blocks):
        block = np.frombuffer(payload[b * BLOCK : (b + 1) * BLOCK], np.uint8)
        assert crc(block, 0, "tables") == struct.unpack_from("<I", trailer, 32 + 4 * b)[0]


def test_what_a_store_takes_is_known_beforehand(tmp_path):
    record, buffers = 700_001, 3
    with Scratch("a" * 64, [tmp_path / "s"]) as scratch:
        store = scratch.open("source", 1, record, buffers, records=5)
        taken = [store.room() for _ in range(buffers)]
        assert store_memory(record, buffers) == sum(_buffer_bytes(a) for a in taken)
        for a in taken:
            store.give_back(a)
        fill(store, range(5))
        assert store.files.sizes() == [file_bytes(record, 5)]
        store.close()
    assert record_of([(2, 3, 4), (5, 1, 1)]) == 29
    assert RecordLayout.of(0).total == 3 * PAGE


def _buffer_bytes(floats):
    owner = floats
    while owner.base is not None and isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner.nbytes
