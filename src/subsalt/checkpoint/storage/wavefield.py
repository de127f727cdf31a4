"""Wavefields that stay: what says of itself that it is complete, and the reader that joins the parts of ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.checkpoint.storage.file_store import FileStore
from subsalt.checkpoint.storage.packed import CODECS, open_packed
from subsalt.checkpoint.storage.record import BLOCK, Identity, RecordLayout
from subsalt.checkpoint.storage.store import StoreCounts
from subsalt.checkpoint.storage.transfers import Buffers, Pool, Slot, Stripes
from subsalt.earth.grid import Box
from subsalt.errors import CorruptionError, MissingInputError, SnapshotDamaged, SubsaltError
from subsalt.io import own
from subsalt.io.publish import publish_text
from subsalt.kernels.scaled16 import shape16, unpack16, words16

FORMAT = 1

_CURE = "make it again with subsalt migrate, or remove the folder"


def shot_folder(directory: Path, shot: int) -> Path:
    """Return the folder of a shot in one directory of scratch."""
    return Path(directory) / f"shot_{shot:06d}"


def snap_name(name: str, rank: int) -> str:
    """Return the name of the file of one rank's records, without its suffix."""
    return f"{name}.r{rank:02d}"


def index_path(folder: Path, name: str, rank: int = 0) -> Path:
    """Return the file that says that a kept wavefield is complete."""
    return folder / f"{snap_name(name, rank)}.json"


def publish_index(store: FileStore, folder: Path, meta: Mapping[str, Any]) -> str:
    """Publish what makes a wavefield kept: whose it is, and where its records lie; return the sha256."""
    who = store.identity
    index = {
        "format": FORMAT,
        "run_id": who.run_id,
        "name": who.name,
        "shot": who.shot,
        "rank": who.rank,
        "ranks": who.ranks,
        "record": who.record,
        "block": who.block,
        "codec": who.codec,
        "directories": len(store.files.paths),
        **meta,
        "records": {str(k): [s.number, s.sequence, s.payload] for k, s in store.slots.items()},
    }
    return publish_text(index_path(folder, who.name, who.rank), json.dumps(index) + "\n")


class _Part:
    """The records of one rank of a kept wavefield."""

    def __init__(
        self, folders: Sequence[Path], shot: int, name: str, rank: int, pool: Pool, buffers: int
    ) -> None:
        path = index_path(folders[0], name, rank)
        index = self.index = read_index(path, shot, name, rank)
        if index["directories"] != len(folders):
            raise MissingInputError(
                f"{path}: the wavefield lies in {index['directories']} directories, {len(folders)} are named",
                "name those of [checkpoint] directories, in their order",
                code="E652",
            )
        (lo, hi) = index["box"]
        self.box = Box(tuple(lo), tuple(hi))
        identity = Identity(
            index["run_id"],
            name,
            shot,
            rank,
            index["ranks"],
            index["record"],
            tuple(index["shape"]),
            index["codec"],
            index["block"],
        )
        layout = RecordLayout.of(identity.record, identity.block)
        paths = [folder / f"{snap_name(name, rank)}.snap" for folder in folders]
        files = Stripes(paths, layout.total, direct=False, resume=True, writing=False)
        slots = {int(k): Slot(*v) for k, v in index["records"].items()}
        # before memory is taken that only the index asks for
        largest = max((s.payload for s in slots.values()), default=0)
        if largest > layout.payload or largest > max(files.sizes()):
            files.close()
            raise SnapshotDamaged(min(slots), f"its files are shorter than {path} says", _CURE)
        self.store = FileStore(pool, files, identity, Buffers(buffers))
        self.store.adopt(slots)
        self.records = open_packed(self.store)
        self.halved = identity.codec == "f16"

    def unpacked(self, record: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the field of a record in 16 bits."""
        shape = self.box.shape
        return unpack16(record.view(np.int16).reshape(shape16(shape)), shape[-1])


class StoredWavefield:
    """A wavefield that was kept, whole over the ranks that shared its shot.

    Parameters
    ----------
    directories : sequence of Path
        Where the scratch of its run lies (`scratch_folders`).
    shot : int
        Its id.
    name : {"source", "receiver"}
        Name of the wavefield.
    threads : int
        That read.
    buffers : int
        Records in memory per part.

    Raises
    ------
    MissingInputError
        When nothing, or not all of it, was kept (E652).
    CorruptionError
        When what describes it cannot be read.

    Notes
    -----
    `samples` are numbers i of imaged samples, at the time i image_step dt.
    """

    def __init__(
        self,
        directories: Sequence[Path],
        shot: int,
        name: Literal["source", "receiver"],
        *,
        threads: int = 2,
        buffers: int = 3,
    ) -> None:
        for directory in directories:
            own.claim(Path(directory).parent, [Path(directory).name])
        folders = [shot_folder(d, shot) for d in directories]
        self.shot, self.name = shot, name
        self._pool = Pool(threads)
        self._parts: list[_Part] = []
        try:
            first = _Part(folders, shot, name, 0, self._pool, buffers)
            self._parts.append(first)
            for rank in range(1, first.index["ranks"]):
                self._parts.append(_Part(folders, shot, name, rank, self._pool, buffers))
            self._agree()
        except BaseException:
            self.close()
            raise
        self.meta: dict[str, Any] = {k: v for k, v in first.index.items() if k != "records"}
        self.run_id: str = first.index["run_id"]
        self.image_step = int(first.index["image_step"])
        self.dt = float(first.index["dt"])
        self.samples: list[int] = first.store.keys
        self.files = [index_path(folders[0], name, rank) for rank in range(len(self._parts))]
        self.bytes = sum(sum(p.store.files.sizes()) for p in self._parts)
        some = [p for p in self._parts if p.box.size] or self._parts
        self.box = Box(some[0].box.lo, some[-1].box.hi)
        self._whole = np.empty(self.box.shape, dtype=np.float32) if len(self._parts) > 1 else None
        self._held: NDArray[np.float32] | None = None

    @property
    def counts(self) -> StoreCounts:
        """Counts of the reads so far."""
        return sum((p.records.counts for p in self._parts), StoreCounts())

    def expect(self, samples: Sequence[int]) -> None:
        """Say in which order samples will be read: they are fetched ahead."""
        for part in self._parts:
            part.records.expect(samples)

    def read(self, sample: int) -> NDArray[np.float32]:
        """Return the field at a sample, (nx, ny, nz) of `box`; it is valid until the next read.

        Raises
        ------
        SnapshotDamaged
            When it is not what was kept.
        """
        self._give_back()
        for part in self._parts:
            try:
                field = part.records.get(sample)
            except SnapshotDamaged as e:
                where = f"{e.reason}: {self.name} wavefield of shot {self.shot}"
                raise SnapshotDamaged(sample, where, _CURE) from None
            if self._whole is None and not part.halved:
                self._held = field
                return field.reshape(self.box.shape)
            values = part.unpacked(field) if part.halved else field.reshape(part.box.shape)
            if self._whole is None:
                part.records.give_back(field)
                return values
            if part.box.size:
                at = [
                    slice(l - o, h - o) for l, h, o in zip(part.box.lo, part.box.hi, self.box.lo, strict=True)
                ]
                self._whole[tuple(at)] = values
            part.records.give_back(field)
        assert self._whole is not None
        return self._whole

    def close(self) -> None:
        """End; more than once is fine."""
        for part in self._parts:
            part.records.close(remove=False)
        self._pool.stop()

    def __enter__(self) -> StoredWavefield:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _give_back(self) -> None:
        if self._held is not None:
            self._parts[0].records.give_back(self._held)
            self._held = None

    def _agree(self) -> None:
        """Compare the parts: one wavefield, cut along x, or x and y, without a gap; a rank may have no point of it."""
        for a, b in pairwise(self._parts):
            same = all(a.index[k] == b.index[k] for k in ("run_id", "ranks", "dt", "image_step"))
            if not same or a.store.keys != b.store.keys:
                raise self._apart(a, b)
        some = [p for p in self._parts if p.box.size]
        for a, b in pairwise(some):
            # rows of the same planes first, from the lowest row of the first part on
            same_planes = (b.box.lo[0], b.box.hi[0]) == (a.box.lo[0], a.box.hi[0])
            follows = (a.box.lo[0], a.box.hi[1]) if same_planes else (a.box.hi[0], some[0].box.lo[1])
            if b.box.lo != (*follows, a.box.lo[2]) or b.box.hi[2] != a.box.hi[2]:
                raise self._apart(a, b)
        if some and sum(p.box.size for p in some) != Box(some[0].box.lo, some[-1].box.hi).size:
            raise self._apart(some[0], some[-1])

    def _apart(self, a: _Part, b: _Part) -> CorruptionError:
        return CorruptionError(
            f"the parts of the {self.name} wavefield of shot {self.shot} do not belong together: "
            f"{a.store.files.paths[0]} and {b.store.files.paths[0]}",
            _CURE,
            code="E653",
        )


def open_stored(
    directories: Sequence[Path], shot: int, name: Literal["source", "receiver"], **options: int
) -> StoredWavefield:
    """Open a kept wavefield; see `StoredWavefield`."""
    return StoredWavefield(directories, shot, name, **options)


def is_complete(directories: Sequence[Path], shot: int, name: str) -> bool:
    """Say whether a wavefield was kept, by what lies there; its records are not looked at."""
    path = index_path(shot_folder(directories[0], shot), name)
    with suppress(SubsaltError):
        ranks = read_index(path, shot, name, 0)["ranks"]
        return all(index_path(path.parent, name, rank).is_file() for rank in range(ranks))
    return False


def read_index(path: Path, shot: int, name: str, rank: int) -> dict[str, Any]:
    """Return what describes the records of one rank, checked."""
    try:
        text = own.read_text(path)
    except FileNotFoundError:
        raise MissingInputError(
            f"the {name} wavefield of shot {shot} was not kept, or not completely: {path} is not there",
            'migrate with [checkpoint] keep = "source" or "both"',
            code="E652",
        ) from None
    except (OSError, UnicodeDecodeError) as e:
        raise CorruptionError(f"{path} cannot be read: {e}", _CURE, code="E653") from e
    try:
        index = json.loads(text)
        wrong = _wrong(index, shot, name, rank)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        wrong = f"{type(e).__name__}: {e}"
    if wrong:
        raise CorruptionError(f"{path} does not describe a kept wavefield: {wrong}", _CURE, code="E653")
    return dict(index)


def _wrong(index: Any, shot: int, name: str, rank: int) -> str:
    """Return what is wrong with an index; empty when it can be used."""
    if index["format"] != FORMAT:
        return f"format {index['format']}, this version reads {FORMAT}"
    if (index["shot"], index["name"], index["rank"]) != (shot, name, rank):
        return "it is of another shot, wavefield or rank"
    whole = [index[k] for k in ("ranks", "block", "directories", "image_step")]
    lo, hi = index["box"]
    numbers = [
        *whole,
        index["record"],
        *index["shape"],
        *lo,
        *hi,
        *(n for r in index["records"].values() for n in r),
    ]
    if not all(type(n) is int and 0 <= n < 1 << 62 for n in numbers) or min(whole) < 1:
        return "a number is out of range"
    box = Box(tuple(lo), tuple(hi)) if len(lo) == len(hi) == 3 else None
    if box is None or index["record"] != (words16(box.shape) if index["codec"] == "f16" else box.size):
        return f"a box of {lo} to {hi} has no record of {index['record']} floats"
    if index["codec"] not in CODECS or index["block"] != BLOCK or rank >= index["ranks"]:
        return "unknown compression or block size"
    if any(
        len(r) != 3 or not 0 < r[2] <= RecordLayout.of(index["record"]).payload
        for r in index["records"].values()
    ):
        return "a record is longer than it can be"
    float(index["dt"])
    [int(k) for k in index["records"]]
    return "" if isinstance(index["run_id"], str) else "no run id"
