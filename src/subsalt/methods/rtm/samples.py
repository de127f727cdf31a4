"""The samples of the source wavefield on their way from the time step that makes them to the one that they meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.states import Copy
from subsalt.checkpoint.storage.store import Store
from subsalt.errors import SnapshotDamaged
from subsalt.kernels.device import Device
from subsalt.kernels.scaled16 import as_words, shape16, words16


class SnapshotPool:
    """Memory for the source snapshots of a shot, touched once and used again by the next shot."""

    def __init__(self) -> None:
        self._stores: dict[str, NDArray] = {}

    def take(
        self,
        kernels: Device,
        count: int,
        shape: tuple[int, ...],
        dtype: type,
        place: Literal["device", "memory"] = "device",
    ) -> list[NDArray]:
        """Return `count` arrays of `shape`, contents left open; they stay valid until the next call for `place`.

        Parameters
        ----------
        place : {"device", "memory"}
            The memory of the device, or of the host; one and the same where the device has none of its own.
        """
        size = math.prod(shape)
        store = self._stores.get(place)
        if store is None or store.size < count * size or store.dtype != dtype:
            # give the old memory back first
            self._stores.pop(place, None)
            store = None
            reserve = kernels.reserve if place == "device" else kernels.reserve_host
            # every page is there: a lack of memory shows before the first time step
            store = self._stores[place] = reserve(count * size, dtype)
        return list(store[: count * size].reshape(count, *shape))

    def give_back(self, *places: str) -> None:
        """Give memory back that the next shot does not use."""
        for place in places:
            self._stores.pop(place, None)


@dataclass(frozen=True)
class WavefieldFormat:
    """How a sample of a wavefield lies in memory and in files.

    Parameters
    ----------
    shape : tuple of int
        Shape of the field.
    dtype : type
        Type of its numbers.
    halved : bool
        It is kept in 16 bits (`subsalt.kernels.scaled16`).
    """

    shape: tuple[int, ...]
    dtype: type
    halved: bool = False

    @classmethod
    def of_fields(
        cls, shape: tuple[int, ...], dtype: type, halved: bool = False, fields: int = 1
    ) -> WavefieldFormat:
        """Return that of samples of one field, or of several together (`field_pair`)."""
        return cls(shape if fields == 1 else (fields, *shape), dtype, halved)

    @property
    def words(self) -> int:
        """Words of 4 bytes of a sample."""
        if self.halved:
            return words16(self.shape)
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize // 4

    def of(self, memory: NDArray) -> NDArray:
        """Return the sample that lies in some memory of the host."""
        if self.halved:
            return memory.view(np.int16).reshape(shape16(self.shape))
        return memory.view(self.dtype).reshape(self.shape)

    def rooms(
        self, pool: SnapshotPool, kernels: Device, count: int, place: Literal["device", "memory"]
    ) -> list[NDArray]:
        """Return arrays for `count` samples from `SnapshotPool.take`."""
        if not self.halved:
            return pool.take(kernels, count, self.shape, self.dtype, place)
        return [self.of(a) for a in pool.take(kernels, count, (self.words,), np.float32, place)]


class SampleFile:
    """Samples of one wavefield in a store, by number.

    Parameters
    ----------
    store : Store
        Its records have the size of a sample; None of a rank beside the window, whose samples have no points.
    form : WavefieldFormat
        Format of a sample.
    """

    def __init__(self, store: Store | None, form: WavefieldFormat) -> None:
        self.store, self.form = store, form
        self.written = self.read = 0
        self._hands: dict[int, NDArray[np.float32]] = {}

    def room(self, sample: int) -> NDArray:
        """Return an array for a sample, to be filled."""
        return self._seen(sample, None if self.store is None else self.store.room())

    def put(self, sample: int) -> None:
        """Write what `room` gave."""
        self.written += 1
        if self.store is not None:
            self.store.put(sample, self._hands.pop(sample))

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be asked for."""
        if self.store is not None:
            self.store.expect(samples)

    def get(self, sample: int) -> NDArray:
        """Return a sample; raises `SnapshotDamaged`."""
        arrays = self._seen(sample, None if self.store is None else self.store.get(sample))
        self.read += 1
        return arrays

    def give_back(self, sample: int) -> None:
        """Give a sample back that `get` gave."""
        if self.store is not None:
            self.store.give_back(self._hands.pop(sample))

    def _seen(self, sample: int, record: NDArray[np.float32] | None) -> NDArray:
        if record is None:
            return self.form.of(np.empty(self.form.words, dtype=np.float32))
        self._hands[sample] = record
        return self.form.of(record)


class BlockSamples:
    """The source samples of the current block, in memory or in a file.

    Parameters
    ----------
    arrays : list of ndarray
        Memory for the samples of a block; none when they go through a file.
    file : SampleFile, optional
        Where new samples go too.
    copy : callable
        Copies arrays.
    """

    def __init__(self, arrays: list[NDArray], file: SampleFile | None, copy: Copy) -> None:
        self.file, self._copy = file, copy
        self._free = list(arrays)
        self._in_memory = bool(arrays)
        self._held: dict[int, NDArray] = {}
        self._read: list[int] = []

    def rooms(self, samples: Sequence[int], *, wanted: bool, new: bool) -> dict[int, NDArray]:
        """Return arrays for samples that are about to be made.

        Parameters
        ----------
        wanted : bool
            The current block needs them.
        new : bool
            They are made for the first time, and so go to the file.
        """
        if wanted and self._in_memory:
            for i in samples:
                self._held[i] = self._free.pop()
            return {i: self._held[i] for i in samples}
        if new and self.file is not None:
            return {i: self.file.room(i) for i in samples}
        return {}

    def made(self, samples: Sequence[int], *, wanted: bool, new: bool) -> None:
        """Say that the arrays of `rooms` are filled."""
        if not new or self.file is None:
            return
        for i in samples:
            if wanted and self._in_memory:
                self._copy(as_words(self.file.room(i)), as_words(self._held[i]))
            self.file.put(i)

    def take(self, sample: int) -> NDArray:
        """Return an array in memory for one sample of the current block."""
        self._held[sample] = self._free.pop()
        return self._held[sample]

    def expect(self, last: int) -> None:
        """Say that samples from `last` down will be asked for."""
        if self.file is not None and not self._held:
            self.file.expect(range(last, 0, -1))

    def on_file(self, samples: Sequence[int]) -> bool:
        """Say whether any of these must be read."""
        return any(i not in self._held for i in samples)

    def get(self, samples: Sequence[int]) -> tuple[dict[int, NDArray], list[SnapshotDamaged]]:
        """Return samples to be imaged, those that can be had, and what is wrong with the others."""
        arrays, damaged = {}, []
        for i in samples:
            if i in self._held:
                arrays[i] = self._held[i]
                continue
            assert self.file is not None
            try:
                arrays[i] = self.file.get(i)
            except SnapshotDamaged as error:
                damaged.append(error)
            else:
                self._read.append(i)
        return arrays, damaged

    def give_back(self) -> None:
        """Give back what was read."""
        for i in self._read:
            assert self.file is not None
            self.file.give_back(i)
        self._read.clear()

    def imaged(self, samples: Sequence[int]) -> None:
        """Say that samples are not wanted any more."""
        self.give_back()
        for i in samples:
            if i in self._held:
                self._free.append(self._held.pop(i))
