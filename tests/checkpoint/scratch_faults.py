"""What the tests of stores share: contents, and failures of the compiled reads and writes."""

from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from subsalt import _native


@lru_cache(maxsize=8)
def content(key, record):
    made = np.random.default_rng(key).standard_normal(record).astype(np.float32)
    made.flags.writeable = False
    return made


def fill(store, keys):
    for key in keys:
        room = store.room()
        room[:] = content(key, store.record)
        store.put(key, room)
    store.flush()


def is_right(store, key):
    field = store.get(key)
    same = np.array_equal(field, content(key, store.record))
    store.give_back(field)
    return same


@contextmanager
def native_faults(**faults):
    """Let compiled reads and writes fail; yields functions that tell the calls and the faults so far."""
    _native.scratch.set_faults(**faults)
    try:
        yield _native.scratch.fault_calls, _native.scratch.fault_hits
    finally:
        _native.scratch.clear_faults()
