"""The files of `lab io`: volumes and time slices whose samples follow from their place, made plane by plane."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.grid import Grid
from subsalt.errors import DiskError, MemoryPlanError
from subsalt.host import machine_facts
from subsalt.io.prestack.time_slices import write_slices
from subsalt.io.publish import free_bytes, human, make_folder
from subsalt.io.volumes.volume import write
from subsalt_lab.io_case import SETS, VOLUMES, Case

SPACING = 10.0
#: slowest and fastest vp, m/s, epsilon and delta at most
RANGES = {"vp": (2000.0, 3000.0), "epsilon": (0.0, 0.2), "delta": (0.0, 0.1)}
#: s; below the bound of stability of the fastest medium of `RANGES` on a grid of `SPACING`
DT = 0.8e-3
#: name of the folder with the files, in the directory that was asked for
FOLDER = "subsalt-lab-io"


def grid_of(case: Case) -> Grid:
    """Return the grid of the model."""
    return Grid(case.grid, (SPACING,) * 3)


def model_planes(name: str, case: Case, lo: int, hi: int) -> NDArray[np.float32]:
    """Return the values of a volume on the planes lo ... hi - 1: every plane has its own."""
    _, ny, nz = case.grid
    low, high = RANGES[name]
    depth = np.arange(nz, dtype=np.float32) / max(1, nz - 1)
    # a step of one in 64 per plane and line: a plane or line in the wrong place shows
    place = ((np.arange(lo, hi)[:, None] * 7 + np.arange(ny)[None, :] * 3) % 64).astype(np.float32) / 64
    return (low + (high - low) * (0.75 * depth[None, None, :] + 0.25 * place[:, :, None])).astype(np.float32)


def slice_of(name: str, case: Case, it: int) -> NDArray[np.float32]:
    """Return one slice of a set: noise that differs from slice to slice."""
    nx, ny, _ = case.grid
    return np.random.default_rng((SETS.index(name), it)).standard_normal((nx, ny), dtype=np.float32)


def volume_path(folder: Path, name: str, case: Case) -> Path:
    """Return the file of a volume."""
    return folder / f"{name}{case.suffix}"


def slices_path(folder: Path, name: str) -> Path:
    """Return the header of a set of slices."""
    return folder / f"{name}.rsf"


def inputs(folder: Path, case: Case) -> list[Path]:
    """Return the files that hold samples."""
    volumes = [volume_path(folder, n, case) for n in VOLUMES]
    if case.suffix == ".rsf":
        volumes = [p.with_name(p.name + "@") for p in volumes]
    return [*volumes, *(p.with_name(p.name + "@") for p in (slices_path(folder, n) for n in SETS))]


def refuse_too_large(directory: Path, case: Case, ranks: int) -> None:
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
def files(directory: Path, case: Case, *, keep: bool) -> Iterator[Path]:
    """Make the files, yield their folder, and remove it in the end unless it is to be kept.

    Raises
    ------
    DiskError
        When the folder is there already: somebody else's, or one that was kept.
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


def _make(folder: Path, case: Case) -> None:
    nx, ny, _ = case.grid
    grid = grid_of(case)
    for name in VOLUMES:
        # one volume in memory at a time: the ranks that follow need several
        write(volume_path(folder, name, case), grid, model_planes(name, case, 0, nx))
    for name in SETS:
        each = (slice_of(name, case, it) for it in range(case.steps))
        write_slices(slices_path(folder, name), each, TimeAxis(case.steps, DT), (nx, ny), (SPACING,) * 2)
