"""Arrays too large for one record of a store: laid one behind the other and cut into records of one size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.store import Store
from subsalt.errors import SnapshotDamaged

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
        Of the largest group.
    copy : callable
        Of arrays.
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
