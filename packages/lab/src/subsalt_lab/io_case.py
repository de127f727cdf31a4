"""The case of `lab io`: a grid, its model volumes, two dense sets of traces, and the bytes that reading them moves.

The samples of its files follow from their place; they are made plane by plane.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Grid
from subsalt.errors import DiskError, MemoryPlanError
from subsalt.host import human, machine_facts
from subsalt.io.prestack.time_slices import write_slices
from subsalt.io.publish import free_bytes, make_folder
from subsalt.io.volumes.volume import write

#: parameters of the medium, one volume each
VOLUMES = ("vp", "epsilon", "delta")
#: dense sets of traces: what the source and what the receivers put in
SETS = ("source", "receivers")
#: ways to read, in the order of the tables: as the original code did, as subsalt does
WAYS = ("broadcast", "per-rank")
#: planes read beyond the slab on either side: the reach of a point, and the radius of the stencil of order 8
GHOSTS = 4
#: time steps between two images
BLOCK = 10


@dataclass(frozen=True)
class ReadingCase:
    """The files to read, and the work and output of every rank.

    Parameters
    ----------
    grid : tuple of int
        Points nx, ny, nz.
    steps : int
        Time steps; one slice of each set is read for each.
    compute : float
        Share of the steps whose wavefields are computed, 0 to 1: the more, the longer reading ahead can hide.
    suffix : str
        Format of the model volumes: ``.rsf`` or ``.sgy``.
    """

    grid: tuple[int, int, int]
    steps: int
    compute: float = 1.0
    suffix: str = ".rsf"

    @property
    def volume_bytes(self) -> int:
        """Samples of one volume, bytes."""
        nx, ny, nz = self.grid
        return 4 * nx * ny * nz

    @property
    def slice_bytes(self) -> int:
        """Samples of one slice, bytes."""
        nx, ny, _ = self.grid
        return 4 * nx * ny

    @property
    def disk_bytes(self) -> int:
        """Bytes of all files at once, the image included; headers of SEG-Y traces too."""
        nx, ny, _ = self.grid
        headers = 3600 + 240 * nx * ny if self.suffix == ".sgy" else 0
        volumes = len(VOLUMES) * (self.volume_bytes + headers)
        return volumes + len(SETS) * self.steps * self.slice_bytes + self.volume_bytes + (64 << 10)

    def memory_bytes(self, ranks: int) -> int:
        """Bytes that all ranks together hold at most, about: slabs, their ghost planes, points and buffers."""
        nx, ny, nz = self.grid
        planes = nx + 2 * GHOSTS * (ranks - 1)
        # model as read and as used, p and q at two times of two fields, image and one sample of the source field
        fields = len(VOLUMES) * 2 + 8 + 2
        return planes * ny * (4 * nz * fields + 500) + ranks * (min(32 << 20, self.volume_bytes) + (80 << 20))

    def planes(self, ranks: int) -> int:
        """Planes that all ranks together want: their own, and up to `GHOSTS` on both sides of every cut."""
        return self.grid[0] + 2 * GHOSTS * (ranks - 1)

    def wanted(self, ranks: int) -> dict[str, int]:
        """Return the bytes that all ranks together want, by phase."""
        nx = self.grid[0]
        return {
            "init": len(VOLUMES) * self.volume_bytes // nx * self.planes(ranks),
            "trace": len(SETS) * self.steps * self.slice_bytes // nx * self.planes(ranks),
        }

    def formula(self, way: str, ranks: int) -> dict[str, int]:
        """Return the bytes of samples that must move, by phase: the founding document's formulas.

        Per rank: nx / n + 8 planes on each of n ranks. Broadcast: everything on every rank.
        """
        nx = self.grid[0]
        whole = {"init": len(VOLUMES) * self.volume_bytes, "trace": len(SETS) * self.steps * self.slice_bytes}
        planes = nx + 2 * GHOSTS * ranks if way == "per-rank" and ranks > 1 else nx
        times = ranks if way == "broadcast" else 1
        return {phase: times * planes * total // nx for phase, total in whole.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ReadingCase:
        """Return the case that `to_dict` described."""
        return cls(tuple(values["grid"]), values["steps"], values["compute"], values["suffix"])


SPACING = 10.0
#: slowest and fastest vp, m/s, epsilon and delta at most
RANGES = {"vp": (2000.0, 3000.0), "epsilon": (0.0, 0.2), "delta": (0.0, 0.1)}
#: s; below the bound of stability of the fastest medium of `RANGES` on a grid of `SPACING`
DT = 0.8e-3
#: name of the folder with the files, in the directory that was asked for
FOLDER = "subsalt-lab-io"


def grid_of(case: ReadingCase) -> Grid:
    """Return the grid of the model."""
    return Grid(case.grid, (SPACING,) * 3)


def model_planes(name: str, case: ReadingCase, lo: int, hi: int) -> NDArray[np.float32]:
    """Return the values of a volume on the planes lo ... hi - 1: every plane has its own."""
    _, ny, nz = case.grid
    low, high = RANGES[name]
    depth = np.arange(nz, dtype=np.float32) / max(1, nz - 1)
    # a step of one in 64 per plane and line: a plane or line in the wrong place shows
    place = ((np.arange(lo, hi)[:, None] * 7 + np.arange(ny)[None, :] * 3) % 64).astype(np.float32) / 64
    return (low + (high - low) * (0.75 * depth[None, None, :] + 0.25 * place[:, :, None])).astype(np.float32)


def slice_of(name: str, case: ReadingCase, it: int) -> NDArray[np.float32]:
    """Return one slice of a set: noise that differs from slice to slice."""
    nx, ny, _ = case.grid
    return np.random.default_rng((SETS.index(name), it)).standard_normal((nx, ny), dtype=np.float32)


def volume_path(folder: Path, name: str, case: ReadingCase) -> Path:
    """Return the file of a volume."""
    return folder / f"{name}{case.suffix}"


def slices_path(folder: Path, name: str) -> Path:
    """Return the header of a set of slices."""
    return folder / f"{name}.rsf"


def inputs(folder: Path, case: ReadingCase) -> list[Path]:
    """Return the files that hold samples."""
    volumes = [volume_path(folder, n, case) for n in VOLUMES]
    if case.suffix == ".rsf":
        volumes = [p.with_name(p.name + "@") for p in volumes]
    return [*volumes, *(p.with_name(p.name + "@") for p in (slices_path(folder, n) for n in SETS))]


def refuse_too_large(directory: Path, case: ReadingCase, ranks: int) -> None:
    """Refuse files that the disk, or slabs that the memory, has no room for; before anything is written.

    Raises
    ------
    DiskError, MemoryPlanError
        With what is needed, what there is, and a grid or number of ranks that fits.
    """
    room = free_bytes(directory)
    if case.disk_bytes > room:
        raise DiskError(
            f"the files of lab io take {human(case.disk_bytes)}, {directory} has {human(room)}",
            "use a smaller --grid, fewer --steps, or another --directory",
            code="E773",
        )
    memory = machine_facts()["ram_bytes"]
    need = case.memory_bytes(ranks)
    if need > 0.8 * memory:
        raise MemoryPlanError(
            f"{ranks} ranks of lab io take about {human(need)} of the {human(memory)} of memory",
            "use a smaller --grid, or fewer --ranks",
            code="E773",
        )


@contextmanager
def files(directory: Path, case: ReadingCase, *, keep: bool) -> Iterator[Path]:
    """Make the files, yield their folder, and remove it in the end unless it is to be kept.

    Raises
    ------
    DiskError
        When the folder exists already: another user's, or one of an earlier run.
    """
    make_folder(directory)
    folder = directory / FOLDER
    if folder.exists():
        raise DiskError(
            f"{folder} is already there",
            "remove it, or use another --directory: it may be in use",
            code="E774",
        )
    make_folder(folder)
    try:
        _make(folder, case)
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path, case: ReadingCase) -> None:
    nx, ny, _ = case.grid
    grid = grid_of(case)
    for name in VOLUMES:
        # one volume in memory at a time: the ranks that follow need several
        write(volume_path(folder, name, case), grid, model_planes(name, case, 0, nx))
    for name in SETS:
        each = (slice_of(name, case, it) for it in range(case.steps))
        write_slices(slices_path(folder, name), each, TimeAxis(case.steps, DT), (nx, ny), (SPACING,) * 2)
