"""What a file says of its size is compared with its array before memory is taken: bombs of every format are refused."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from subsalt.earth.grid import Grid
from subsalt.errors import SubsaltError
from subsalt.io.geometry.columns import CARD, LINES, PIECE, read_cards
from subsalt.io.input_file import InputFile
from subsalt.io.unpacking import SLACK, unpack_stream, zstd_size
from subsalt.io.volumes import volume

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

SHAPE = (61, 41)
#: bytes that a bomb of zeros becomes
BOMB = 96 << 20
#: most that may be taken to refuse one: what a piece may have too much, while it is copied from one buffer to the next
BOUND = 2 * SLACK + (16 << 20)


def status(key: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def refused(read) -> tuple[str, int]:
    """Read in a child process; return the code of the error, empty for none, and by how much its memory grew."""
    back, out = os.pipe()
    child = os.fork()
    if child == 0:
        code, before = "no error of ours", status("VmRSS")
        try:
            read()
            code = ""
        except SubsaltError as error:
            code = error.code
        finally:
            os.write(out, json.dumps([code, status("VmHWM") - before]).encode())
            os._exit(0)
    os.close(out)
    with os.fdopen(back, "rb") as pipe:
        code, grown = json.loads(pipe.read())
    os.waitpid(child, 0)
    return code, grown


def vp_store(path: Path, **how) -> Path:
    """Write a store with one array `vp`, and what says its spacing; return the file of its chunk."""
    group = zarr.open_group(str(path), mode="w", zarr_format=how.pop("zarr_format", 3))
    group.attrs.update({"spacing_m": [10.0, 10.0], "origin_m": [0.0, 0.0]})
    array = group.create_array("vp", shape=SHAPE, dtype="float32", **({"chunks": SHAPE} | how))
    array[...] = np.full(SHAPE, 2000, np.float32)
    return max(
        (p for p in (path / "vp").rglob("*") if p.is_file()),
        key=lambda p: p.name not in (".zarray", ".zattrs", "zarr.json"),
    )


def blosc() -> bytes:
    """Return a chunk whose header announces a bomb."""
    data = bytearray(numcodecs.Blosc().encode(bytes(4 * 61 * 41)))
    data[4:8] = struct.pack("<I", BOMB)
    return bytes(data)


def zstd_unsaid(size: int) -> bytes:
    """Return a Zstandard frame without a content size: blocks of one byte repeated, 128 KiB each."""
    block = 128 << 10
    heads = [
        (block << 3 | 1 << 1 | (k == size // block - 1)).to_bytes(3, "little") + b"\0"
        for k in range(size // block)
    ]
    return struct.pack("<IBB", 0xFD2FB528, 0, 0x38) + b"".join(heads)


def streams(pack) -> bytes:
    """Return a bomb as several streams one after the other, which decoders take for one: quicker to make."""
    return 24 * pack(bytes(BOMB // 24))


def lz4() -> bytes:
    return struct.pack("<I", BOMB) + numcodecs.LZ4().encode(bytes(4 * 61 * 41))[4:]


CODECS = zarr.codecs
#: name -> how the array is written, and what its chunk becomes
BOMBS = {
    "blosc": ({"compressors": CODECS.BloscCodec()}, blosc),
    "zstd": ({"compressors": CODECS.ZstdCodec()}, lambda: numcodecs.Zstd().encode(bytes(BOMB))),
    "zstd without size": ({"compressors": CODECS.ZstdCodec()}, lambda: zstd_unsaid(BOMB)),
    "gzip": ({"compressors": CODECS.GzipCodec()}, lambda: streams(gzip.compress)),
    "v2 blosc": ({"zarr_format": 2, "compressors": numcodecs.Blosc()}, blosc),
    "v2 zstd": ({"zarr_format": 2, "compressors": numcodecs.Zstd()}, lambda: numcodecs.Zstd().encode(bytes(BOMB))),
    "v2 gzip": ({"zarr_format": 2, "compressors": numcodecs.GZip()}, lambda: streams(gzip.compress)),
    "v2 zlib": ({"zarr_format": 2, "compressors": numcodecs.Zlib()}, lambda: streams(zlib.compress)),
    "v2 bz2": ({"zarr_format": 2, "compressors": numcodecs.BZ2()}, lambda: streams(bz2.compress)),
    "v2 lzma": ({"zarr_format": 2, "compressors": numcodecs.LZMA()}, lambda: streams(lzma.compress)),
    "v2 lz4": ({"zarr_format": 2, "compressors": numcodecs.LZ4()}, lz4),
    "v2 filter": (
        {"zarr_format": 2, "compressors": None, "filters": [numcodecs.Zlib()]}, lambda: streams(zlib.compress),
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BOMBS)
def test_a_chunk_that_unpacks_to_more_than_its_array_is_refused(name, tmp_path):
    how, bomb = BOMBS[name]
    chunk = vp_store(tmp_path / "vp.zarr", **how)
    np.testing.assert_array_equal(volume.read(tmp_path / "vp.zarr").values, 2000)
    chunk.write_bytes(bomb())
    code, grown = refused(lambda: volume.read(tmp_path / "vp.zarr"))
    assert code == "E237"
    assert grown < BOUND


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.filterwarnings("ignore")
def test_a_chunk_that_unpacks_to_less_is_refused(name, tmp_path):
    how, _ = BOMBS[name]
    chunk = vp_store(tmp_path / "vp.zarr", **how)
    other = vp_store(tmp_path / "less.zarr", **how | {"chunks": (60, 41)})
    chunk.write_bytes(other.read_bytes())
    assert refused(lambda: volume.read(tmp_path / "vp.zarr"))[0] == "E234"


@pytest.mark.filterwarnings("ignore")
def test_inner_chunks_of_shards_are_bounded(tmp_path):
    how = {"shards": SHAPE, "chunks": SHAPE, "compressors": CODECS.GzipCodec()}
    shard = vp_store(tmp_path / "vp.zarr", **how)
    np.testing.assert_array_equal(volume.read(tmp_path / "vp.zarr").values, 2000)
    bomb = streams(gzip.compress)
    import google_crc32c

    index = struct.pack("<QQ", 0, len(bomb))
    shard.write_bytes(bomb + index + struct.pack("<I", google_crc32c.value(index)))
    code, grown = refused(lambda: volume.read(tmp_path / "vp.zarr"))
    assert code == "E237"
    assert grown < BOUND


@pytest.mark.filterwarnings("ignore")
def test_a_codec_that_says_no_size_is_named(tmp_path):
    vp_store(tmp_path / "vp.zarr", zarr_format=2, compressors=None, filters=[numcodecs.Zlib()])
    said = tmp_path / "vp.zarr" / "vp" / ".zarray"
    table = json.loads(said.read_text())
    table["filters"] = [{"id": "base64"}]
    said.write_text(json.dumps(table))
    for path in (tmp_path / "vp.zarr").rglob(".zmetadata"):
        path.unlink()
    assert refused(lambda: volume.read(tmp_path / "vp.zarr"))[0] == "E249"


def _shape_of(path: Path, shape: list[int], chunks: list[int]) -> None:
    said = path / "vp" / "zarr.json"
    table = json.loads(said.read_text())
    table["shape"] = shape
    table["chunk_grid"]["configuration"]["chunk_shape"] = chunks
    said.write_text(json.dumps(table))


@pytest.mark.parametrize(
    ("shape", "chunks", "code"),
    [
        ([61, 41], [1 << 15, 1 << 15], "E237"),
        ([10**6, 10**6], [1000, 1000], "E613"),
        ([10**6, 10**6], [10**6, 10**6], "E613"),
    ],
)
def test_shapes_beyond_memory_are_refused(shape, chunks, code, tmp_path):
    vp_store(tmp_path / "vp.zarr")
    _shape_of(tmp_path / "vp.zarr", shape, chunks)
    read_back, grown = refused(lambda: volume.read(tmp_path / "vp.zarr"))
    assert (read_back, grown < BOUND) == (code, True)


def test_a_store_of_traces_is_bounded(tmp_path):
    """The samples, the axis of time, and the mask of traces, each with a chunk that is a bomb, or as long as a bomb."""
    for name in ("amplitude", "time", "trace_mask"):
        path = tmp_path / f"{name}.mdio"
        group = zarr.open_group(str(path), mode="w", zarr_format=3)
        dims = ("shot_point", "channel", "time")
        for key, values, along in (
            ("amplitude", np.ones((2, 4, 20), np.float32), dims),
            ("time", 4.0 * np.arange(20), dims[2:]),
            ("trace_mask", np.ones((2, 4), bool), dims[:2]),
        ):
            array = group.create_array(
                key,
                shape=values.shape,
                dtype=values.dtype,
                chunks=values.shape,
                dimension_names=along,
                compressors=CODECS.GzipCodec(),
            )
            array[...] = values
        chunk = next(p for p in (path / name / "c").rglob("*") if p.is_file())
        chunk.write_bytes(streams(gzip.compress))
        code, grown = refused(lambda path=path: InputFile(path).read_at(3600, 8 * (240 + 80)))
        assert (code, grown < BOUND) == ("E237", True), name


def test_empty_lines_of_a_text_of_records_are_bounded(tmp_path):
    """A piece and an eighth of line ends are as many cards of 80 columns, which have two indices each."""
    count = PIECE + PIECE // 8
    (tmp_path / "a.sps").write_bytes(b"\n" * count)

    def read() -> None:
        assert sum(len(c.text) for c in read_cards(tmp_path / "a.sps")) == count

    code, grown = refused(read)
    # the piece, its ends and begins; and of the lines that are cards at one time two indices, a card, and its mask
    bound = 20 * PIECE + LINES * CARD * (2 * 8 + 2 * 2) + (16 << 20)
    assert (code, grown < bound) == ("", True), grown
    # the texts alone of all cards of a piece at one time would be more
    assert bound < PIECE * CARD


def npz(path: Path, name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as archive:
        archive.writestr(f"{name}.npy", data)


def test_members_of_npz_are_bounded(tmp_path):
    volume.write(tmp_path / "good.npz", Grid(SHAPE, (10.0, 10.0)), np.ones(SHAPE, np.float32), name="vp")
    volume.read(tmp_path / "good.npz")
    # a header of gigabytes, as far as it says
    npz(tmp_path / "head.npz", "vp", b"\x93NUMPY\x02\x00" + struct.pack("<I", BOMB) + bytes(BOMB))
    # methods whose pieces Python's zipfile unpacks whole
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        npz(tmp_path / f"method{method}.npz", "vp", bytes(1000), method)
    for path in ("head.npz", "method12.npz", "method14.npz"):
        code, grown = refused(lambda path=path: volume.read(tmp_path / path))
        assert (code, grown < BOUND) == ("E224", True), path


def test_what_zstandard_frames_say_of_their_size_is_right():
    """Of frames with and without a content size, stored and compressed, one and several, against the decoder."""
    rng = np.random.default_rng(4)
    for size in (0, 1, 255, 256, 70_000, 300_000):
        for data in (bytes(size), rng.bytes(size)):
            frame = numcodecs.Zstd(level=3).encode(data)
            assert zstd_size(memoryview(frame)) == size
            assert zstd_size(memoryview(frame + frame)) == 2 * size
    assert zstd_size(memoryview(zstd_unsaid(1 << 20))) == 1 << 20
    assert len(numcodecs.Zstd().decode(zstd_unsaid(1 << 20))) == 1 << 20
    for cut in range(1, 12):
        with pytest.raises(ValueError, match="ends after"):
            zstd_size(memoryview(numcodecs.Zstd().encode(b"abc" * 100)[:cut]))


@pytest.mark.parametrize("codec", ["gzip", "zlib", "bz2", "lzma"])
def test_streams_unpack_to_what_their_decoders_give(codec):
    pack = {"gzip": gzip.compress, "zlib": zlib.compress, "bz2": bz2.compress, "lzma": lzma.compress}[codec]
    data = np.random.default_rng(5).bytes(10_000) + bytes(50_000)
    assert unpack_stream(codec, pack(data), len(data)) == data
    assert unpack_stream(codec, pack(data) + pack(data), 2 * len(data)) == data + data
    with pytest.raises(ValueError, match="early"):
        unpack_stream(codec, pack(data)[:-9], len(data))
