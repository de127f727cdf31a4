"""States in slots: copies of a wavefield, in memory or on disk, where records of one size hold large arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.store import Store
from subsalt.errors import SnapshotDamaged
from subsalt.kernels.problem import State

#: floats of a record at most, 64 MiB: what is on its way to disk takes little memory beside a wavefield
MOST = 16 << 20

#: floats at the end of a record that say what it is
STAMP = 16

#: in every stamp
MAGIC = 0x5374_6172_7450_7431

#: copies ``source`` into ``target``, arrays of one size
Copy = Callable[[NDArray, NDArray], None]


def cut(floats: int) -> tuple[int, int]:
    """Return the number of records for so many floats, and the floats of each: as equal as can be."""
    count = max(1, -(-floats // MOST))
    return count, -(-floats // count)


def stored_bytes(nbytes: int) -> int:
    """Return the bytes of the records, all together, that arrays of `nbytes` bytes in all are stored in."""
    count, record = cut(nbytes // 4)
    return 4 * count * record


class Pieces:
    """Groups of arrays in a store whose records may be smaller than a group.

    Parameters
    ----------
    store : Store
        Its records have the floats that `cut` says, and `STAMP` more when `stamped`.
    floats : int
        Floats of the largest group.
    copy : callable
        Copies arrays.
    stamped : bool
        Whether every record says to which mark it belongs.
    """

    def __init__(self, store: Store, floats: int, copy: Copy, *, stamped: bool = False) -> None:
        self.store, self._copy, self.stamped = store, copy, stamped
        self.count, self.record = cut(floats)

    def put(self, key: int, arrays: Sequence[NDArray], mark: int = 0) -> None:
        """Write a group of arrays as the records ``key``, ``key + 1`` .. (as many as its size asks for)."""
        for number, parts in enumerate(self._parts(arrays)):
            record = self.store.room()
            at = 0
            for part in parts:
                self._copy(record[at : at + part.size], part)
                at += part.size
            record[at : self.record] = 0
            if self.stamped:
                stamp = record[-STAMP:].view(np.int64)
                stamp[:] = 0
                stamp[:3] = MAGIC, mark, key + number
            self.store.put(key + number, record)

    def get(self, key: int, arrays: Sequence[NDArray], mark: int = 0) -> None:
        """Fill a group of arrays from its records.

        Raises
        ------
        SnapshotDamaged
            When one of them is not what was put, or belongs to another mark; the arrays are then of no use.
        """
        groups = list(self._parts(arrays))
        self.store.expect(range(key, key + len(groups)))
        for number, parts in enumerate(groups):
            record = self.store.get(key + number)
            try:
                if self.stamped and tuple(record[-STAMP:].view(np.int64)[:3]) != (MAGIC, mark, key + number):
                    raise SnapshotDamaged(key + number, "it belongs to another restart point")
                at = 0
                for part in parts:
                    self._copy(part, record[at : at + part.size])
                    at += part.size
            finally:
                self.store.give_back(record)

    def keys(self, key: int) -> range:
        """Return the keys of the largest group that begins at `key`."""
        return range(key, key + self.count)

    def records_of(self, arrays: Sequence[NDArray]) -> int:
        """Return how many records a group of arrays takes."""
        return max(1, -(-sum(a.nbytes for a in arrays) // (4 * self.record)))

    def _parts(self, arrays: Sequence[NDArray]) -> Iterator[list[NDArray]]:
        """Yield what goes into each record, as flat single-precision views."""
        parts: list[NDArray] = []
        left = self.record
        for a in arrays:
            flat = a.reshape(-1)
            if flat.dtype != np.float32:
                flat = flat.view(np.float32)
            while flat.size:
                if left == 0:
                    yield parts
                    parts, left = [], self.record
                parts.append(flat[:left])
                flat, left = flat[left:], max(0, left - flat.size)
        yield parts


#: where a slot is
Level = Literal["memory", "disk"]


class StatePlace(NamedTuple):
    """A slot that holds a state: its level, its number there, the block whose start the state is."""

    level: Level
    slot: int
    block: int


def state_floats(state: State) -> int:
    """Return the single-precision numbers that a state takes."""
    return sum(a.nbytes for a in state.arrays()) // 4


def state_beside(state: State, reserve: Callable[[int, Any], NDArray]) -> State:
    """Return a state of the same arrays in the memory that `reserve` gives, contents left open."""

    def room(a: NDArray) -> NDArray:
        return reserve(a.size, a.dtype.type).reshape(a.shape)

    return State(
        [room(a) for a in state.prev],
        [room(a) for a in state.curr],
        {name: room(a) for name, a in state.memory.items()},
    )


class StateSlots:
    """The slots of a shot.

    Parameters
    ----------
    new : callable
        Returns a state for a slot by its number, all of its memory there.
    copy : callable
        Copies arrays.
    steps : int
        Time steps from block to block.
    apart : callable, optional
        Whether a slot in memory lies in another memory than the wavefields: on the host, of a device that has its own.
    """

    def __init__(
        self,
        new: Callable[[int], State],
        copy: Copy,
        steps: int,
        apart: Callable[[int], bool] = lambda slot: False,
    ) -> None:
        #: where disk slots are
        self.disk: Pieces | None = None
        self._new, self._copy, self._steps, self._apart = new, copy, steps, apart
        self._memory: dict[int, State] = {}
        self._places: dict[tuple[Level, int], StatePlace] = {}
        #: with restart points: blocks dropped since the last one, and between the two before
        self._held: tuple[set[int], set[int]] | None = None
        #: stores and loads by level
        self.stored: dict[Level, int] = {"memory": 0, "disk": 0}
        self.loaded: dict[Level, int] = {"memory": 0, "disk": 0}

    def store(self, level: Level, slot: int, block: int, state: State) -> None:
        """Copy a state, which stands at the start of `block`, into a slot."""
        for held in self._held or ():
            if level == "disk":
                held.discard(block)
        self.mend(level, slot, block, state)
        self._places[level, slot] = StatePlace(level, slot, block)
        self.stored[level] += 1

    def load(self, level: Level, slot: int, block: int, state: State) -> None:
        """Make a state what a slot holds.

        Raises
        ------
        SnapshotDamaged
            When it cannot be read back from disk as it was; the state is then of no use.
        """
        if level == "memory":
            for a, held in zip(state.arrays(), self.room(slot).arrays(), strict=True):
                self._copy(a, held)
            state.whole = self.room(slot).whole
        else:
            self._on_disk().get(self._key(block), state.arrays())
            state.whole = False
        state.it = block * self._steps
        self.loaded[level] += 1

    def take(self, slot: int, block: int, state: State) -> None:
        """Make a state what a memory slot holds, which is of no use then.

        Arrays change hands and nothing is copied, unless they lie apart.
        """
        if self._apart(slot):
            self.load("memory", slot, block, state)
            return
        held = self.room(slot)
        state.prev, held.prev = held.prev, state.prev
        state.curr, held.curr = held.curr, state.curr
        state.memory, held.memory = held.memory, state.memory
        state.it, state.whole = block * self._steps, held.whole
        self.loaded["memory"] += 1

    def mend(self, level: Level, slot: int, block: int, state: State) -> None:
        """Put a state into its slot, which may hold it already, damaged."""
        if level == "disk":
            self._on_disk().put(self._key(block), state.arrays())
            return
        for a, held in zip(state.arrays(), self.room(slot).arrays(), strict=True):
            self._copy(held, a)
        self.room(slot).whole = state.whole

    def drop(self, level: Level, slot: int) -> None:
        """Make a slot free."""
        place = self._places.pop((level, slot))
        if level == "disk":
            if self._held is None:
                self._forget(place.block)
            else:
                self._held[0].add(place.block)

    def room(self, slot: int) -> State:
        """Return the memory of a slot."""
        if slot not in self._memory:
            self._memory[slot] = self._new(slot)
        return self._memory[slot]

    @property
    def places(self) -> list[StatePlace]:
        """The slots that hold states, by block."""
        return sorted(self._places.values(), key=lambda place: place.block)

    # for restart points

    def hold(self) -> None:
        """Keep what is dropped from disk until two more restart points have come (`let_go`)."""
        self._held = set(), set()

    def let_go(self) -> None:
        """Drop from disk what neither the newest restart point needs nor the one before."""
        if self._held is not None:
            dropped, older = self._held
            for block in older:
                self._forget(block)
            self._held = set(), dropped

    def adopt(self, places: list[StatePlace]) -> None:
        """Say which slots hold states: their memory has been filled, or they lie on disk."""
        self._places = {(place.level, place.slot): place for place in places}
        if self.disk is not None:
            live = {k for p in places if p.level == "disk" for k in self.disk.keys(self._key(p.block))}
            for key in set(self.disk.store.keys) - live:
                self.disk.store.drop(key)

    # one state

    def _on_disk(self) -> Pieces:
        assert self.disk is not None
        return self.disk

    def _key(self, block: int) -> int:
        return block * self._on_disk().count

    def _forget(self, block: int) -> None:
        disk = self._on_disk()
        for key in set(disk.keys(self._key(block))) & set(disk.store.keys):
            disk.store.drop(key)
