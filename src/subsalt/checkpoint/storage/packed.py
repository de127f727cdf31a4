"""Records compressed by zfp on their way to the files: smaller, and off by no more than was asked for.

Every array of a record is compressed by itself in zfp's fixed-accuracy mode (Lindstrom 2014), which keeps every value
within a tolerance e. With ``e = tolerance * rms(u)`` the relative L2 error of the array is at most `tolerance`,
whatever its distribution: ``|u' - u|_2 <= sqrt(n) e = tolerance |u|_2``.

Compression and its inverse run in a thread of their own, in the order of the calls.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.file_store import FileStore, last_wanted
from subsalt.checkpoint.storage.record import PLAIN
from subsalt.checkpoint.storage.store import Store, StoreCounts
from subsalt.errors import ConfigError, SnapshotDamaged, install
from subsalt.numerics import fixedmath

#: how records may be stored
CODECS = (*PLAIN, "zfp")

#: buffers of the store behind it
INNER = 2

#: the first tolerance that is tried, as a multiple of the one that always suffices: zfp's error is mostly far below its
#: bound, and a field that fills a part of the record has a small rms. The error is measured, and the bound taken else.
OPTIMISTIC = 8.0

_LENGTH = struct.Struct("<Q")


def zfp() -> Any:
    """Return the module of the compressor.

    Raises
    ------
    ConfigError
        When it is not installed.
    """
    try:
        import zfpy
    except ImportError as e:
        raise ConfigError(
            f'compression = "zfp" needs the package zfpy ({e})',
            f"{install('zfp')}; or leave [checkpoint] compression out",
            code="E654",
        ) from e
    return zfpy


def pack(field: NDArray[np.float32], tolerance: float) -> bytes:
    """Return an array compressed, with a relative L2 error of at most `tolerance`; empty when it is all zeros."""
    flat = field.reshape(-1)
    norm = math.sqrt(_squares(flat))
    if norm == 0.0:
        return b""
    if not math.isfinite(norm):
        return field.tobytes()
    a = field.reshape([n for n in field.shape if n > 1] or [1])
    bound = tolerance * norm / math.sqrt(field.size)
    codec = zfp()
    for factor in (OPTIMISTIC, 1.0):
        data: bytes = codec.compress_numpy(a, tolerance=factor * bound)
        if len(data) >= field.nbytes:
            break
        if math.sqrt(_squares(flat, codec.decompress_numpy(data).reshape(-1))) <= tolerance * norm:
            return data
    return field.tobytes()


def _squares(a: NDArray[np.float32], b: NDArray[np.float32] | None = None) -> float:
    """Return the sum of squares of an array, or of a difference, added in a fixed order and little memory."""
    total = 0.0
    for at in range(0, a.size, 1 << 16):
        part = a[at : at + (1 << 16)].astype(np.float64)
        if b is not None:
            part -= b[at : at + (1 << 16)]
        total = fixedmath.total(part * part, total)
    return total


def unpack(data: bytes, out: NDArray[np.float32]) -> None:
    """Fill `out` with what `pack` made of an array of its size."""
    if not data:
        out[...] = 0
    elif len(data) == out.nbytes:
        out[...] = np.frombuffer(data, np.float32).reshape(out.shape)
    else:
        out[...] = zfp().decompress_numpy(data).reshape(out.shape)


class PackedStore:
    """A store whose records are compressed in the files.

    Parameters
    ----------
    inner : FileStore
        Takes them; used by no other from now on.
    shapes : sequence of tuple
        Shapes of the arrays of a record, in their order.
    tolerance : float
        Relative L2 error of each of them.
    buffers : int
        Records in memory at most, as of a `FileStore`.
    """

    def __init__(
        self, inner: FileStore, shapes: Sequence[Sequence[int]], tolerance: float, buffers: int
    ) -> None:
        zfp()
        self.inner, self.record = inner, inner.record
        self._shapes, self._tolerance, self._limit = [tuple(s) for s in shapes], tolerance, buffers
        self._cuts = np.cumsum([0, *(math.prod(s) for s in self._shapes)]).tolist()
        if self._cuts[-1] != self.record:
            raise ValueError(f"arrays of {self._cuts[-1]} floats in a record of {self.record}")
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="subsalt-zfp")
        self._own = StoreCounts()
        self._free: list[NDArray[np.float32]] = []
        self._made = 0
        self._puts: list[tuple[Future[None], NDArray[np.float32]]] = []
        self._ahead: dict[int, tuple[Future[None], NDArray[np.float32]]] = {}
        self._expected: list[int] = []
        self._keys = set(inner.keys)
        self._open = True

    @property
    def counts(self) -> StoreCounts:
        """Counts of its transfers; seconds include those of compression."""
        inner = self.inner.counts
        moved = StoreCounts(
            disk_written=inner.disk_written,
            disk_read=inner.disk_read,
            put_seconds=inner.put_seconds,
            get_seconds=inner.get_seconds,
            damaged=inner.damaged,
        )
        return self._own + moved

    @property
    def keys(self) -> list[int]:
        """Keys of the records that are held, ascending."""
        return sorted(self._keys)

    def __contains__(self, key: int) -> bool:
        """Say whether a record is held."""
        return key in self._keys

    def room(self) -> NDArray[np.float32]:
        """Return a buffer of `record` floats to fill."""
        self._collect()
        return self._spare()

    def put(self, key: int, buffer: NDArray[np.float32]) -> None:
        """Compress and write a buffer as the record `key`; returns at once."""
        self._collect()
        late = self._ahead.pop(key, None)
        if late is not None:
            self._puts.append((late[0], late[1]))
        self._puts.append((self._worker.submit(self._store, key, buffer), buffer))
        self._keys.add(key)
        self._own.puts += 1
        self._own.bytes_written += 4 * self.record

    def expect(self, keys: Sequence[int]) -> None:
        """Say in which order records will be asked for."""
        self._collect()
        self._expected = list(keys)
        self._do(lambda: self.inner.expect(keys), result=False)
        self._read_ahead()

    def get(self, key: int) -> NDArray[np.float32]:
        """Return a record, to be given back; raises `SnapshotDamaged`."""
        self._collect()
        if key in self._expected:
            del self._expected[: self._expected.index(key) + 1]
        if key not in self._ahead:
            buffer = self._spare()
            self._ahead[key] = (self._worker.submit(self._load, key, buffer), buffer)
        future, buffer = self._ahead.pop(key)
        try:
            self._timed(future)
        except BaseException:
            self._free.append(buffer)
            raise
        self._own.gets += 1
        self._own.bytes_read += 4 * self.record
        self._read_ahead()
        return buffer

    def give_back(self, buffer: NDArray[np.float32]) -> None:
        """Return a buffer that was not put."""
        self._free.append(buffer)
        if self._open:
            self._read_ahead()

    def drop(self, key: int) -> None:
        """Forget a record."""
        late = self._ahead.pop(key, None)
        if late is not None:
            self._puts.append(late)
        self._keys.remove(key)
        self._do(lambda: self.inner.drop(key))

    def flush(self, durable: bool = False) -> None:
        """Wait until everything that was put is in the files."""
        self._collect(all_of_them=True)
        self._do(lambda: self.inner.flush(durable))

    def abandon(self) -> None:
        """End as a kill would: the files stay as they are, nothing is completed."""
        if self._open:
            self._open = False
            self._worker.shutdown(wait=True, cancel_futures=True)
            self.inner.abandon()

    def close(self, remove: bool | None = None) -> None:
        """End the store, as `FileStore.close`."""
        if not self._open:
            return
        self._open = False
        try:
            if remove is not True:
                self._collect(all_of_them=True)
            self._do(lambda: self.inner.close(remove))
        finally:
            self._worker.shutdown(wait=True, cancel_futures=True)
            self.inner.close(remove=remove)

    # in the worker

    def _store(self, key: int, field: NDArray[np.float32]) -> None:
        begin = time.perf_counter()
        parts = []
        for shape, lo, hi in zip(self._shapes, self._cuts, self._cuts[1:], strict=False):
            data = pack(field[lo:hi].reshape(shape), self._tolerance)
            parts += [_LENGTH.pack(len(data)), data]
        packed = b"".join(parts)
        self._own.put_seconds += time.perf_counter() - begin
        room = self.inner.room()
        if len(packed) < 4 * self.record:
            room.view(np.uint8)[: len(packed)] = np.frombuffer(packed, np.uint8)
            self.inner.put(key, room, len(packed))
        else:
            room[:] = field
            self.inner.put(key, room)

    def _load(self, key: int, out: NDArray[np.float32]) -> None:
        held = self.inner.get(key)
        begin = time.perf_counter()
        try:
            nbytes = self.inner.payload(key)
            if nbytes == 4 * self.record:
                out[:] = held
                return
            data, at = held.view(np.uint8)[:nbytes].tobytes(), 0
            for shape, lo, hi in zip(self._shapes, self._cuts, self._cuts[1:], strict=False):
                (length,) = _LENGTH.unpack_from(data, at)
                at += _LENGTH.size
                unpack(data[at : at + length], out[lo:hi].reshape(shape))
                at += length
        finally:
            self.inner.give_back(held)
            self._own.get_seconds += time.perf_counter() - begin

    # in the thread of the caller

    def _spare(self) -> NDArray[np.float32]:
        while not self._free:
            if self._made < self._limit:
                self._made += 1
                return np.empty(self.record, dtype=np.float32)
            if self._puts:
                wait([self._puts[0][0]])
                self._collect()
                continue
            if not self._ahead:
                raise RuntimeError(f"all {self._limit} buffers of the store are in the caller's hands")
            self._puts.append(self._ahead.pop(last_wanted(self._ahead, self._expected)))
        return self._free.pop()

    def _read_ahead(self) -> None:
        for key in self._expected:
            if key in self._keys and key not in self._ahead:
                if not self._free and self._made == self._limit:
                    return
                buffer = self._spare()
                self._ahead[key] = (self._worker.submit(self._load, key, buffer), buffer)

    def _collect(self, all_of_them: bool = False) -> None:
        """Take back the buffers of what is over, and tell what went wrong."""
        if not self._open and not all_of_them:
            raise RuntimeError("the store is closed")
        while self._puts and (all_of_them or self._puts[0][0].done()):
            future, buffer = self._puts.pop(0)
            self._free.append(buffer)
            try:
                self._timed(future)
            except SnapshotDamaged:
                continue  # of a read that is no longer wanted

    def _do(self, action: Callable[[], Any], result: bool = True) -> Any:
        future = self._worker.submit(action)
        return self._timed(future) if result else None

    def _timed(self, future: Future[Any]) -> Any:
        begin = time.perf_counter()
        try:
            return future.result()
        finally:
            self._own.stall_seconds += time.perf_counter() - begin


def open_packed(
    store: FileStore, shapes: Sequence[Sequence[int]] = (), tolerance: float = 1e-3, buffers: int = 3
) -> Store:
    """Return what compresses and decompresses the records of a store, or the store itself when they are as they are."""
    if store.identity.codec in PLAIN:
        return store
    return PackedStore(store, shapes or [store.identity.shape], tolerance, buffers)
