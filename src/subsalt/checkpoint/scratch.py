"""Where the records of a shot go on one rank: folders of a run, one per shot in it, removed with the shot."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from subsalt.checkpoint.file_store import FileStore
from subsalt.checkpoint.record import Identity, Layout
from subsalt.checkpoint.stripes import Stripes
from subsalt.checkpoint.transfers import Pool
from subsalt.io import scratch_files

#: what a store may hold: snapshots of a wavefield, states, or what a shot goes on from
Name = Literal["source", "receiver", "states", "restart"]


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
        Of the run.
    directories : list of Path
        Folders of the run (`scratch_folders`); several are filled in turn.
    threads : int
        That write and read.
    direct : bool
        Past the page cache (O_DIRECT), where the file system can.
    compression : {"none", "zfp"}
        Of snapshots and states.
    tolerance : float
        Relative error of compressed snapshots.
    rank, ranks : int
        Of the group that shares a shot.
    """

    run_id: str
    directories: list[Path]
    threads: int = 2
    direct: bool = False
    compression: str = "none"
    tolerance: float = 1e-3
    rank: int = 0
    ranks: int = 1
    _pool: Pool | None = field(default=None, repr=False)

    def pool(self) -> Pool:
        """Return the threads, started once."""
        if self._pool is None:
            self._pool = Pool(self.threads)
            weakref.finalize(self, self._pool.stop)
        return self._pool

    def folders(self, shot: int) -> list[Path]:
        """Return the folders of a shot, one per directory."""
        return [Path(d) / f"shot_{shot:06d}" for d in self.directories]

    def open(
        self,
        name: Name,
        shot: int,
        record: int,
        buffers: int,
        *,
        meta: Mapping[str, object] | None = None,
        keep: bool = False,
        records: int = 0,
        resume: bool = False,
    ) -> FileStore:
        """Return a store of records of one shot.

        Parameters
        ----------
        name : {"source", "receiver", "states", "restart"}
            What it holds.
        shot : int
            Its id.
        record : int
            Floats per record.
        buffers : int
            Records in memory at most; `storage.store_memory` says what they take.
        meta : mapping, optional
            ``shape`` of a record, and what a kept wavefield is to say of itself.
        keep : bool
            Whether the files stay when the store is closed.
        records : int
            Records that will be held at a time, if known: room for them is reserved now.
        resume : bool
            Go on with the files of an earlier process.
        """
        for directory in self.directories:
            scratch_files.own_folder(Path(directory))
        paths = [
            scratch_files.own_folder(folder) / f"{name}.r{self.rank:02d}.snap"
            for folder in self.folders(shot)
        ]
        shape: tuple[int, ...] = tuple((meta or {}).get("shape", ()))  # type: ignore[arg-type]
        identity = Identity(self.run_id, name, shot, self.rank, self.ranks, record, shape)
        files = Stripes(paths, Layout(4 * record).total, direct=self.direct, resume=resume)
        return FileStore(self.pool(), files, identity, buffers, records=records)

    def remove(self, shot: int) -> None:
        """Remove all scratch of a shot but what is kept."""
        for folder in self.folders(shot):
            scratch_files.remove_folder(folder)

    def close(self) -> None:
        """End the threads; more than once is fine."""
        if self._pool is not None:
            self._pool.stop()
            self._pool = None
