"""States in slots: copies of a wavefield, in memory or on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.actions import Level
from subsalt.checkpoint.store import Store
from subsalt.kernels.problem import State

#: copies ``source`` into ``target``, arrays of one shape
Copy = Callable[[NDArray, NDArray], None]


class Place(NamedTuple):
    """A slot that holds a state: its level, its number there, the block whose start the state is."""

    level: Level
    slot: int
    block: int


def state_floats(state: State) -> int:
    """Return the single-precision numbers of the record of a state."""
    return sum(a.nbytes for a in state.arrays()) // 4


def pack(state: State, record: NDArray[np.float32], copy: Copy) -> None:
    """Copy a state into a record, one array behind the other."""
    at = 0
    for a in state.arrays():
        flat = a.reshape(-1)
        size = a.nbytes // 4
        copy(record[at : at + size].view(a.dtype), flat)
        at += size


def unpack(record: NDArray[np.float32], state: State, it: int, copy: Copy) -> None:
    """Make a state what was packed into a record at time index `it`."""
    at = 0
    for a in state.arrays():
        flat = a.reshape(-1)
        size = a.nbytes // 4
        copy(flat, record[at : at + size].view(a.dtype))
        at += size
    state.it = it


class StateSlots:
    """The slots of a shot.

    Parameters
    ----------
    like : State
        A state of the size of all.
    copy : callable
        Of arrays.
    reserve : callable
        Returns memory for so many numbers of a dtype, touched.
    steps : int
        Time steps from block to block.
    disk : Store, optional
        Where disk slots are; its keys are blocks.
    """

    def __init__(
        self,
        like: State,
        copy: Copy,
        reserve: Callable[[int, type], NDArray],
        steps: int,
        disk: Store | None = None,
    ) -> None:
        self.floats = state_floats(like)
        self.disk = disk
        self._copy, self._reserve, self._steps = copy, reserve, steps
        self._memory: dict[int, NDArray] = {}
        self._places: dict[tuple[Level, int], Place] = {}
        #: with restart points: blocks dropped since the last one, and between the two before
        self._held: tuple[set[int], set[int]] | None = None
        #: stores and loads by level
        self.stored: dict[Level, int] = {"memory": 0, "disk": 0}
        self.loaded: dict[Level, int] = {"memory": 0, "disk": 0}

    def reserve(self, slots: int) -> None:
        """Take the memory of the first `slots` memory slots now."""
        for slot in range(slots):
            self._room(slot)

    def store(self, level: Level, slot: int, block: int, state: State) -> None:
        """Copy a state, which stands at the start of `block`, into a slot."""
        for held in self._held or ():
            if level == "disk":
                held.discard(block)
        self._put(level, slot, block, state)
        self._places[level, slot] = Place(level, slot, block)
        self.stored[level] += 1

    def load(self, level: Level, slot: int, block: int, state: State) -> None:
        """Make a state what a slot holds.

        Raises
        ------
        SnapshotDamaged
            When it cannot be read back from disk as it was.
        """
        if level == "memory":
            unpack(self._memory[slot], state, block * self._steps, self._copy)
        else:
            assert self.disk is not None
            record = self.disk.get(block)
            unpack(record, state, block * self._steps, self._copy)
            self.disk.give_back(record)
        self.loaded[level] += 1

    def mend(self, level: Level, slot: int, block: int, state: State) -> None:
        """Put a state that was computed again into its slot."""
        self._put(level, slot, block, state)

    def drop(self, level: Level, slot: int) -> None:
        """Make a slot free."""
        place = self._places.pop((level, slot))
        if level == "disk":
            assert self.disk is not None
            if self._held is None:
                self.disk.drop(place.block)
            else:
                self._held[0].add(place.block)

    def hold(self) -> None:
        """Keep what is dropped from disk until two more restart points have come (`let_go`)."""
        self._held = set(), set()

    def let_go(self) -> None:
        """Drop from disk what neither the newest restart point needs nor the one before."""
        assert self._held is not None
        dropped, older = self._held
        for block in older:
            assert self.disk is not None
            self.disk.drop(block)
        self._held = set(), dropped

    def record(self, slot: int) -> NDArray[np.float32]:
        """Return what a memory slot holds, as a record."""
        return self._memory[slot]

    def adopt(self, places: list[Place]) -> None:
        """Say which slots hold states: their records in memory have been filled, or lie on disk."""
        self._places = {(place.level, place.slot): place for place in places}
        live = {place.block for place in places if place.level == "disk"}
        if self.disk is not None:
            for block in set(self.disk.keys) - live:
                self.disk.drop(block)

    def room(self, slot: int) -> NDArray[np.float32]:
        """Return the memory of a slot, to be filled."""
        return self._room(slot)

    @property
    def places(self) -> list[Place]:
        """The slots that hold states, by block."""
        return sorted(self._places.values(), key=lambda place: place.block)

    def _room(self, slot: int) -> NDArray[np.float32]:
        if slot not in self._memory:
            self._memory[slot] = self._reserve(self.floats, np.float32)
        return self._memory[slot]

    def _put(self, level: Level, slot: int, block: int, state: State) -> None:
        if level == "memory":
            pack(state, self._room(slot), self._copy)
            return
        assert self.disk is not None
        record = self.disk.room()
        pack(state, record, self._copy)
        self.disk.put(block, record)
