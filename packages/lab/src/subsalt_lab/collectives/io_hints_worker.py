"""One rank that writes and reads a file through MPI-IO: ``python -m subsalt_lab.collectives.io_hints_worker REQUEST``.

The file holds a volume (nx, ny, nz) of float32 whose values follow from their place. Two ways to cut it: *slabs*
along x, as images and models are cut (each rank has one piece of the file), and *columns* along y (each rank has nx
pieces). All is written and read by collective calls, every value is compared. Rank 0 prints JSON: seconds of the
slowest rank, and what the library says its hints are.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.io.array_bytes import raw_bytes
from subsalt.io.shared_file import write_together
from subsalt.machine import records
from subsalt.parallel.comm import Comm, world

Part = tuple[slice, slice]


def values(shape: tuple[int, int, int], part: Part) -> NDArray[np.float32]:
    """Return the values of a part of the volume: the number of the sample, below 2**23 exact in float32."""
    _, ny, nz = shape
    ix = np.arange(part[0].start, part[0].stop, dtype=np.int64)[:, None, None]
    iy = np.arange(part[1].start, part[1].stop, dtype=np.int64)[None, :, None]
    number = (ix * ny + iy) * nz + np.arange(nz, dtype=np.int64)
    return (number % (1 << 23)).astype(np.float32)


def part_of(pattern: str, shape: tuple[int, int, int], rank: int, size: int) -> Part:
    """Return the planes and lines of a rank; both divide evenly."""
    nx, ny, _ = shape
    if pattern == "slabs":
        return slice(rank * nx // size, (rank + 1) * nx // size), slice(0, ny)
    return slice(0, nx), slice(rank * ny // size, (rank + 1) * ny // size)


class HintWorker:
    """The part of this rank.

    Parameters
    ----------
    comm : Comm
        All ranks, more than one.
    request : dict
        ``file``, ``shape``, ``patterns``, ``ours`` (also by subsalt's own writer), ``variables`` to be told.
    """

    def __init__(self, comm: Comm, request: dict[str, Any]) -> None:
        from mpi4py import MPI

        self.comm, self.mpi, self.request = comm, MPI, request
        self.path = Path(request["file"])
        self.shape: tuple[int, int, int] = tuple(request["shape"])
        self.wrong: list[str] = []

    def seconds(self, work: Callable[[], None]) -> float:
        """Return what some work takes the slowest rank; they begin together."""
        assert self.comm.mpi is not None
        self.comm.mpi.Barrier()
        begin = time.perf_counter()
        work()
        return max(self.comm.allgather(time.perf_counter() - begin))

    def run(self) -> dict[str, Any]:
        """Write and read in every pattern; return seconds by name."""
        out: dict[str, Any] = {"seconds": {}, "came_back": {}}
        for pattern in self.request["patterns"]:
            part = part_of(pattern, self.shape, self.comm.rank, self.comm.size)
            mine = values(self.shape, part)
            out["seconds"][f"write_{pattern}"] = self.seconds(lambda: self._write(part, mine, out))  # noqa: B023
            self._look(pattern)
            if self.comm.rank == 0:
                records.drop_from_cache([self.path])
            back = np.full_like(mine, -1.0)
            out["seconds"][f"read_{pattern}"] = self.seconds(lambda: self._read(part, back))  # noqa: B023
            if not np.array_equal(back, mine):
                self.wrong.append(f"reading {pattern} gave other values than are in the file")
        if self.request["ours"]:
            out["seconds"]["ours_write"] = self.seconds(self._ours)
        wrong = [w for some in self.comm.allgather(self.wrong) for w in some]
        return out | {"wrong": wrong[:1], "ranks": self.comm.size, "variables": self._variables()}

    def _open(self, part: Part, mode: int) -> Any:
        nx, ny, nz = self.shape
        assert self.comm.mpi is not None
        file = self.mpi.File.Open(self.comm.mpi, str(self.path), mode)
        lengths = [part[0].stop - part[0].start, part[1].stop - part[1].start, nz]
        view = self.mpi.FLOAT.Create_subarray(
            [nx, ny, nz], lengths, [part[0].start, part[1].start, 0]
        ).Commit()
        file.Set_view(0, self.mpi.FLOAT, view)
        view.Free()
        return file

    def _write(self, part: Part, mine: NDArray[np.float32], out: dict[str, Any]) -> None:
        file = self._open(part, self.mpi.MODE_CREATE | self.mpi.MODE_WRONLY)
        file.Write_all(mine)
        file.Sync()
        info = file.Get_info()
        out["came_back"] = {key: info[key] for key in info.keys()}  # noqa: SIM118 - an Info is no mapping
        info.Free()
        file.Close()

    def _read(self, part: Part, back: NDArray[np.float32]) -> None:
        file = self._open(part, self.mpi.MODE_RDONLY)
        file.Read_all(back)
        file.Close()

    def _look(self, pattern: str) -> None:
        """Compare the planes of the next rank as the file system has them."""
        part = part_of("slabs", self.shape, (self.comm.rank + 1) % self.comm.size, self.comm.size)
        expected = values(self.shape, part)
        offset = part[0].start * expected[0].nbytes
        stored = np.fromfile(self.path, np.float32, expected.size, offset=offset)
        if stored.size != expected.size or not np.array_equal(stored, expected.ravel()):
            self.wrong.append(f"writing {pattern} left other values in the file")

    def _ours(self) -> None:
        part = part_of("slabs", self.shape, self.comm.rank, self.comm.size)
        nx, ny, nz = self.shape
        with write_together(self.path, self.comm, nx * ny * nz * 4) as together:
            together.write_at(part[0].start * ny * nz * 4, raw_bytes(values(self.shape, part)))

    def _variables(self) -> dict[str, str]:
        """Return what control variables are set to in this process."""
        names = self.request["variables"]
        if not names:
            return {}
        from subsalt_lab.collectives.mpit import Tool, loaded_library

        library = loaded_library()
        if library is None:
            return {}
        tool = Tool(library)
        known = {v.name for v in tool.variables(names)}
        return {name: tool.text(name) for name in names if name in known}


def main() -> None:
    """Run a request."""
    request = json.loads(Path(sys.argv[1]).read_text())
    comm = world()
    answer = HintWorker(comm, request).run()
    if comm.is_root:
        print(json.dumps(answer | {"process": os.getpid()}), flush=True)


if __name__ == "__main__":
    main()
