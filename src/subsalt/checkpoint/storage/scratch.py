"""Where the records of a shot go on one rank: folders of a run, one per shot in it, removed with the shot."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from numpy.typing import NDArray

from subsalt.checkpoint.storage.file_store import FileStore
from subsalt.checkpoint.storage.packed import INNER, open_packed
from subsalt.checkpoint.storage.record import (
    PAGE,
    PLAIN,
    TAIL_HEAD,
    TAIL_MAGIC,
    Identity,
    RecordLayout,
    header_numbers,
    key_of,
)
from subsalt.checkpoint.storage.store import Store, record_of
from subsalt.checkpoint.storage.transfers import Buffer, Buffers, Pool, Slot, Stripes, sealed
from subsalt.checkpoint.storage.wavefield import index_path, publish_index, shot_folder, snap_name
from subsalt.io import own, scratch
from subsalt.io.publish import remove as discard

#: contents of a store: snapshots of a wavefield, states, restart points of a shot, or shells of the source wavefield
Name = Literal["source", "receiver", "states", "restart", "shells"]

#: contents that zfp may compress, and their share of the tolerance; all others must be read back unchanged
LOSSY = {"source": 1.0, "receiver": 1.0, "states": 0.1}

#: the samples of both wavefields
SAMPLES = ("source", "receiver")

#: the folder of a shot
SHOT = re.compile(r"shot_\d{6,}")
#: the index of a wavefield that is kept
INDEX = re.compile(r"(?:source|receiver)\.r\d{2,}\.json")


def scratch_folders(run: Path, run_id: str, directories: Sequence[Path] = ()) -> list[Path]:
    """Return the folders for the scratch of a run: in its own directory, or one in each of `directories`.

    Notes
    -----
    On shared scratch the name ends in eight digits that follow from the run and from where its directory lies, so that
    copies of a run do not meet.
    """
    if not directories:
        return [run / "snapshots"]
    mark = hashlib.sha256(f"{run_id} {run.resolve()}".encode()).hexdigest()[:8]
    return [Path(d) / f"{run.resolve().name}-{mark}" for d in directories]


@dataclass
class Scratch:
    """Scratch of one rank.

    Parameters
    ----------
    run_id : str
        Id of the run.
    directories : list of Path
        Folders of the run (`scratch_folders`); several are filled in turn.
    threads : int
        That write and read.
    direct : bool
        Past the page cache (O_DIRECT), where the file system can.
    compression : {"none", "zfp", "f16"}
        zfp: of snapshots and states. f16: snapshots come in 16 bits.
    tolerance : float
        Relative error of compressed snapshots.
    rank, ranks : int
        Rank within the group that shares a shot, and size of the group.
    lock : callable, optional
        Makes the memory of buffers known to the device that computes, as long as what it returns lives.
    """

    run_id: str
    directories: list[Path]
    threads: int = 2
    direct: bool = False
    compression: str = "none"
    tolerance: float = 1e-3
    rank: int = 0
    ranks: int = 1
    lock: Callable[[NDArray], object] | None = field(default=None, repr=False)
    _pool: Pool | None = field(default=None, repr=False)
    #: buffers of the stores of earlier shots, by what they hold, with the floats of their records
    _spare: dict[str, tuple[int, list[Buffer]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for directory in self.directories:
            scratch.claim(Path(directory))

    def pool(self) -> Pool:
        """Return the threads, started once."""
        if self._pool is None:
            self._pool = Pool(self.threads)
            weakref.finalize(self, self._pool.stop)
        return self._pool

    def folders(self, shot: int) -> list[Path]:
        """Return the folders of a shot, one per directory."""
        return [shot_folder(d, shot) for d in self.directories]

    def folder(self, shot: int) -> Path:
        """Return the folder of a shot for small files beside its records; it is made when it is missing."""
        self._make(shot)
        return self.folders(shot)[0]

    def open(
        self,
        name: Name,
        shot: int,
        record: int,
        buffers: int,
        *,
        meta: Mapping[str, Any] | None = None,
        keep: bool = False,
        records: int = 0,
        resume: bool = False,
    ) -> Store:
        """Return a store of records of one shot.

        Parameters
        ----------
        name : {"source", "receiver", "states", "restart", "shells"}
            Kind of its records.
        shot : int
            Its id.
        record : int
            Floats per record; of snapshots in 16 bits, words of 4 bytes.
        buffers : int
            Records in memory at most; `storage.store_memory` says what they take.
        meta : mapping, optional
            ``shape`` of a record; ``shapes`` where it is several arrays one behind the other; ``dtype``, if it is
            not float32: such a record is never compressed. For a kept wavefield also ``box`` ([[lo], [hi]] on the
            model grid), ``dt``, ``image_step``, and what else it is to say of itself.
        keep : bool
            Whether the files stay when the store is closed.
        records : int
            Records that will be held at a time, if known: room for them is reserved now.
        resume : bool
            Resume with the records of an earlier process; else its files are replaced.

        Raises
        ------
        DiskError
            When there is no room (``need X, have Y at PATH``).
        CannotCreateError
            When a folder or file cannot be made.
        """
        meta = dict(meta or {})
        shapes = [tuple(s) for s in meta.get("shapes", [meta.get("shape", (record,))])]
        codec = self._codec(name, record)
        if codec == "zfp" and (meta.get("dtype", "<f4") != "<f4" or record_of(shapes) != record):
            codec = "none"  # not arrays of float32
        shape = shapes[0] if len(shapes) == 1 else (record,)
        identity = Identity(self.run_id, name, shot, self.rank, self.ranks, record, shape, codec)
        folders = self._make(shot)
        index = index_path(folders[0], name, self.rank)
        if not resume:
            discard(index)
        paths = [folder / f"{snap_name(name, self.rank)}.snap" for folder in folders]
        files = Stripes(paths, RecordLayout.of(record).total, direct=self.direct, resume=resume)

        def complete(store: FileStore) -> None:
            store.index_sha256 = publish_index(store, folders[0], {**meta, "shape": list(shape)})

        try:
            store = FileStore(
                self.pool(),
                files,
                identity,
                Buffers(buffers, self._spares(name, record), self.lock) if codec in PLAIN else Buffers(INNER),
                records=records if codec in PLAIN else 0,
                keep=complete if keep else None,
            )
            if resume:
                store.adopt(find_records(files, identity))
        except BaseException:
            if not resume:
                files.remove()
            files.close()
            raise
        return open_packed(store, shapes, self.tolerance * LOSSY.get(name, 1.0), buffers)

    def _codec(self, name: Name, record: int) -> str:
        """Return how records of `name` are stored."""
        some = {"zfp": LOSSY, "f16": SAMPLES}.get(self.compression, ())
        return self.compression if name in some and record else "none"

    def _spares(self, name: Name, record: int) -> list[Buffer]:
        """Return the buffers that earlier stores of `name` left; those of another size are dropped."""
        floats, buffers = self._spare.get(name, (record, []))
        if floats != record:
            buffers = []
        self._spare[name] = (record, buffers)
        return buffers

    def give_back(self) -> None:
        """Give back the memory of buffers that no store uses: no shot is left."""
        self._spare.clear()

    def remove(self, shot: int) -> None:
        """Remove all scratch of a shot but the wavefields that are kept."""
        self._clear(self.folders(shot), restart=False)

    def remove_strays(self, restart: bool = True) -> int:
        """Remove what earlier processes of this run left; return how many bytes that frees.

        Kept wavefields stay, and on request the shots that can be resumed in the middle. To be called before any rank
        opens a store; by one rank of each host, or by all.
        """
        for directory in self.directories:
            scratch.refuse_others(Path(directory))
        shots = {n for d in self.directories for n in own.names_in(d) if SHOT.fullmatch(n)}
        freed = sum(
            self._clear([Path(d) / name for d in self.directories], restart) for name in sorted(shots)
        )
        self.remove_empty()
        return freed

    def remove_empty(self) -> None:
        """Remove the folders of the run that are empty; they are made again when they are needed."""
        for directory in self.directories:
            scratch.remove_empty(Path(directory))

    def close(self) -> None:
        """End the threads and give the memory of buffers back; more than once is fine."""
        self.give_back()
        if self._pool is not None:
            self._pool.stop()
            self._pool = None
        scratch.wait_for_closing()

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make(self, shot: int) -> list[Path]:
        for directory in self.directories:
            scratch.own_folder(Path(directory))
        return [scratch.own_folder(folder) for folder in self.folders(shot)]

    def _clear(self, folders: Sequence[Path], restart: bool) -> int:
        """Empty the folders of a shot except for what stays; return the bytes that were freed."""
        names = _names(folders[0])
        if restart and any(n.startswith("restart") and n.endswith(".json") for n in names):
            return 0
        staying = set()
        for name in names:
            if INDEX.fullmatch(name):
                staying |= {name, name.removesuffix(".json") + ".snap"}
        return sum(scratch.clear_folder(folder, staying) for folder in folders)


def _names(folder: Path) -> list[str]:
    """Return what is in a folder; nothing when another rank, which clears it at the same time, was faster."""
    try:
        return own.names_in(folder)
    except NotADirectoryError:
        return []


def find_records(files: Stripes, identity: Identity) -> dict[int, Slot]:
    """Return the records of `identity` in `files`, by key; of two with one key, the one that was put last.

    Notes
    -----
    A record counts when its header and trailer are whole, belong together and are of this run, shot, rank and size: a
    put that was cut off has no trailer yet. Its payload is compared with its checksums when it is read.
    """
    largest = RecordLayout.of(identity.record).payload
    slots: dict[int, Slot] = {}
    for number in files.slots():
        head = _pages(files, number, 0, PAGE)
        if len(head) < PAGE or not sealed(head):
            continue
        key, (sequence, payload) = key_of(head), header_numbers(head)
        if not 0 < payload <= largest or identity.differs(head, key, payload):
            continue
        layout = RecordLayout(payload, identity.block)
        tail = _pages(files, number, PAGE + layout.padded, layout.trailer)
        if len(tail) < layout.trailer or not sealed(tail):
            continue
        magic, put, nbytes, _, _ = TAIL_HEAD.unpack_from(tail)
        if (magic, put, nbytes) == (TAIL_MAGIC, sequence, payload) and (
            key not in slots or sequence > slots[key].sequence
        ):
            slots[key] = Slot(number, sequence, payload)
    return slots


def _pages(files: Stripes, slot: int, offset: int, nbytes: int) -> bytes:
    """Return some whole pages of a slot, or what there is of them."""
    fd, start, _, _ = files.place(slot)
    with mmap.mmap(-1, nbytes) as pages:
        try:
            n = os.preadv(fd, [pages], start + offset)
        except OSError:
            return b""
        return pages[:n]
