"""Where the states and snapshots of a shot are kept: the one place to import stores from.

`store` has the protocol and records in memory, `file_store` records in files, `scratch` where those lie.
"""

from subsalt.checkpoint.file_store import FileStore
from subsalt.checkpoint.kept import KeptWavefield, is_kept, open_kept
from subsalt.checkpoint.packed import PackedStore
from subsalt.checkpoint.scratch import Scratch, scratch_folders
from subsalt.checkpoint.store import MemoryStore, Store, StoreCounts, file_bytes, record_of, store_memory
from subsalt.errors import SnapshotDamaged

__all__ = [
    "FileStore",
    "KeptWavefield",
    "MemoryStore",
    "PackedStore",
    "Scratch",
    "SnapshotDamaged",
    "Store",
    "StoreCounts",
    "file_bytes",
    "is_kept",
    "open_kept",
    "record_of",
    "scratch_folders",
    "store_memory",
]
