"""Arrays of Zarr stores whose chunks are unpacked within bounds: `bounded` puts guards around the codecs of an array.

Zarr unpacks a chunk before it looks at its size. Here every codec is asked first (`subsalt.io.unpacking`), and a chunk
that is larger than its array, or than memory, is not read at all.
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.codecs import BytesCodec, ShardingCodec
from zarr.codecs._v2 import V2Codec
from zarr.core.codec_pipeline import BatchedCodecPipeline

from subsalt.earth.memory import require
from subsalt.errors import DataError
from subsalt.host import human
from subsalt.io.unpacking import FILTERS, unpacked

#: bytes of a chunk that may be more than its array has
CHUNK = 256 << 20


def _name(codec: Any) -> tuple[str, dict[str, Any]]:
    """Return what a codec of format 3 is called, and its settings."""
    said = codec.to_dict()
    return str(said["name"]).rpartition(".")[2], dict(said.get("configuration") or {})


@dataclass(frozen=True)
class _Guarded(BytesBytesCodec):
    """A codec from bytes to bytes that knows the size of its output."""

    codec: Any

    is_fixed_size = False

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        most = math.prod(chunk_spec.shape) * chunk_spec.dtype.to_native_dtype().itemsize
        name, settings = _name(self.codec)
        if name in ("gzip", "zlib", "bz2", "lzma"):
            data = chunk_bytes.to_bytes()
            plain = await asyncio.to_thread(unpacked, name, data, most, bytes, settings)
            return chunk_spec.prototype.buffer.from_bytes(plain)
        # only asked: what it holds is then unpacked as Zarr does
        unpacked(name, memoryview(chunk_bytes.as_numpy_array()), most, len)
        (plain,) = await self.codec.decode([(chunk_bytes, chunk_spec)])
        return plain

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """Return what the codec says."""
        return int(self.codec.compute_encoded_size(input_byte_length, chunk_spec))


@dataclass(frozen=True)
class _Refused(ArrayBytesCodec):
    """In place of a codec whose need of memory is not known."""

    name: str

    is_fixed_size = False

    async def _decode_single(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
        return unpacked(self.name, b"", 0, len)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """Return the size; nothing is written by it."""
        return input_byte_length


@dataclass(frozen=True)
class _GuardedFilter:
    """A codec of format 2 that is asked how many bytes it gives."""

    codec: Any
    most: int

    def decode(self, data: Any) -> Any:
        """Return the unpacked bytes."""
        name = str(self.codec.codec_id)
        return unpacked(name, data, self.most, self.codec.decode, self.codec.get_config())


def _guarded(codec: Any, most: int) -> _GuardedFilter:
    return codec if isinstance(codec, _GuardedFilter) else _GuardedFilter(codec, most)


class _GuardedShards(ShardingCodec):
    """Shards whose inner chunks are guarded."""

    @property
    def codec_pipeline(self) -> Any:
        """Return the codecs of the inner chunks."""
        return BatchedCodecPipeline.from_codecs(_guards(self.codecs))


def _guards(codecs: Any) -> list[Any]:
    """Return codecs of format 3 with guards."""
    out: list[Any] = []
    for codec in codecs:
        if isinstance(codec, _Guarded | _Refused | _GuardedShards):
            out.append(codec)
        elif isinstance(codec, BytesBytesCodec):
            out.append(_Guarded(codec))
        elif isinstance(codec, ShardingCodec):
            shards = object.__new__(_GuardedShards)
            shards.__dict__.update(codec.__dict__)
            out.append(shards)
        elif isinstance(codec, BytesCodec) or (
            isinstance(codec, ArrayArrayCodec) and _name(codec)[0] in FILTERS
        ):
            out.append(codec)
        elif isinstance(codec, ArrayArrayCodec):
            return [_Refused(_name(codec)[0])]
        else:
            out.append(_Refused(_name(codec)[0]))
    return out


def bounded(array: Any, name: str) -> Any:
    """Return an open array whose chunks are unpacked within bounds.

    Parameters
    ----------
    array : zarr.Array
        An array of numbers.
    name : str
        Its store and name, for messages.

    Raises
    ------
    DataError
        When a chunk is larger than its array and than any chunk need be.
    MemoryPlanError
        When a chunk does not fit into memory.
    """
    item = array.dtype.itemsize
    for shape in (array.chunks, getattr(array, "shards", None) or ()):
        size = math.prod(shape) * item
        if size > max(CHUNK, array.nbytes):
            raise DataError(
                f"{name}: its chunks {tuple(shape)} have {human(size)}, "
                f"the array {tuple(array.shape)} has {human(array.nbytes)}",
                "write it with chunks no larger than the array",
                code="E237",
            )
        require(
            2 * size,
            f"{name}: a chunk {tuple(shape)} as it is and unpacked",
            "write it with smaller chunks",
            "E613",
        )
    plain = array._async_array
    most = math.prod(array.chunks) * item
    codecs: list[Any] = []
    for codec in plain.codec_pipeline:
        if isinstance(codec, V2Codec):
            filters: Any = tuple(_guarded(f, most) for f in codec.filters or ()) or None
            packed: Any = None if codec.compressor is None else _guarded(codec.compressor, most)
            codecs.append(V2Codec(filters=filters, compressor=packed))
        else:
            codecs += _guards([codec])
    object.__setattr__(plain, "codec_pipeline", BatchedCodecPipeline.from_codecs(codecs))
    return array


def whole(array: Any, name: str) -> NDArray[Any]:
    """Return all of an array, where it fits into memory beside what is made of it."""
    require(
        4 * array.nbytes, f"{name} {tuple(array.shape)} with what is made of it", "cut or resample it", "E613"
    )
    return np.asarray(array[...])
