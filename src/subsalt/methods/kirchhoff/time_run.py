"""The image of a time migration in a run directory, or what its blocks have summed so far, as pictures need it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.earth.planes import Planes
from subsalt.errors import CorruptionError, DataError, SubsaltError
from subsalt.io import own
from subsalt.io.run_folder import own_run
from subsalt.io.volumes.image_traces import open_image_traces
from subsalt.io.volumes.rsf import open_rsf
from subsalt.methods.kirchhoff.partial_image import SumsFile, read_sums, rows_of
from subsalt.view.run_image import job_of, run_facts
from subsalt.view.time_volume import Gathers, TraceVolume, gathers_of


@dataclass
class TimeRun:
    """Images of a run that can be drawn.

    Parameters
    ----------
    grid : ImageGrid
        Locations and times of the image.
    image : ndarray or Planes, (ni, nj, nt)
        The image.
    gathers : callable, optional
        The image gather of a location; None when the run makes one image alone.
    offsets : ndarray, (n,)
        Offsets of the classes, m.
    fold : ndarray, (ni, nj, n), optional
        Traces that reach a location, by offset class.
    hits : ndarray or Planes, (ni, nj, nt), optional
        Contributions to a sample.
    title, run_id : str
        Title and id of the run; the title names what is missing.
    """

    grid: ImageGrid
    image: NDArray | Planes
    gathers: Gathers | None
    offsets: NDArray[np.float64]
    fold: NDArray | None = None
    hits: NDArray | Planes | None = None
    title: str = ""
    run_id: str = ""
    facts: dict[str, Any] = field(default_factory=dict, repr=False)


def by_offset(fold: NDArray, classes: dict[str, Any]) -> NDArray:
    """Return the fold (ni, nj, groups) summed over azimuth sectors, (ni, nj, offset classes)."""
    sectors = int(classes.get("sectors", 1))
    return fold.reshape(*fold.shape[:2], -1, sectors).sum(axis=3) if sectors > 1 else fold


def read_time_run(folder: Path) -> TimeRun:
    """Return what there is to draw of a run directory.

    Raises
    ------
    DataError
        When there is neither an image nor a block.
    CorruptionError
        When run.json does not say the grid, or a block cannot be read.
    """
    own_run(folder)
    facts = run_facts(folder)
    title = str(facts.get("title") or job_of(facts, folder).get("title") or folder.resolve().name)
    classes: dict[str, Any] = facts["classes"] if isinstance(facts.get("classes"), dict) else {}
    try:
        grid = ImageGrid.from_dict(facts["image_grid"])
        offsets = _offsets(classes)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DataError(
            f"{folder} does not say the grid of its image: {error}",
            "wait until the run has begun, or start it with `subsalt migrate`",
            code="E821",
        ) from error
    image = _file_of(folder, facts, "image")
    if image is None:
        return _so_far(folder, facts, grid, classes, title)
    run = TimeRun(grid, TraceVolume(open_image_traces(image), grid), None, offsets, title=title, facts=facts)
    run.run_id = str(facts.get("run_id") or "")
    gathers = _file_of(folder, facts, "gathers")
    if gathers is not None:
        run.gathers = gathers_of(open_image_traces(gathers), grid)
    hits = _file_of(folder, facts, "hits")
    if hits is not None:
        run.hits = TraceVolume(open_image_traces(hits), grid)
    fold = _file_of(folder, facts, "fold")
    if fold is not None:
        counted = open_rsf(fold)[1]
        run.fold = by_offset(counted.read(0, len(counted)).reshape(*grid.shape, -1), classes)
    return run


def _offsets(classes: dict[str, Any]) -> NDArray[np.float64]:
    """Return the offset of every offset class, m: what is given, or the middle of its limits where all go in one."""
    if classes.get("kind") == "image" and len(classes.get("edges", [])) > 1:
        edges = np.asarray(classes["edges"], dtype=np.float64)
        return np.maximum(0.5 * (edges[1:] + edges[:-1]), 0.0)
    sectors = int(classes.get("sectors", 1))
    return np.asarray(classes.get("offsets", []), dtype=np.float64)[::sectors]


def _file_of(folder: Path, facts: dict[str, Any], what: str) -> Path | None:
    """Return a file that run.json names, None when it names none or it is not there."""
    entry = facts.get(what)
    name = entry.get("path") if isinstance(entry, dict) else None
    if not isinstance(name, str):
        return None
    path = (folder / name).resolve()
    # run.json is data: it may not lead out of its own directory
    if folder.resolve() not in path.parents:
        raise CorruptionError(
            f"{folder / 'run.json'} names {name!r}, outside the run", "run the same job again"
        )
    return path if path.is_file() else None


def _so_far(
    folder: Path, facts: dict[str, Any], grid: ImageGrid, classes: dict[str, Any], title: str
) -> TimeRun:
    """Return what finished blocks and restart points have summed."""
    finished = sorted((folder / "images").glob("*.sums"))
    begun = _restart_points(folder / "restart", {p.stem for p in finished})
    if not finished and not begun:
        raise DataError(
            f"{folder} has neither an image nor a block",
            "start or continue the run with `subsalt migrate`",
            code="E821",
        )
    nt = grid.time.nt
    image, live = np.zeros((*grid.shape, nt), np.float32), np.zeros(grid.shape, np.int32)
    offsets, sectors = _offsets(classes), int(classes.get("sectors", 1))
    fold = np.zeros((*grid.shape, max(len(offsets), 1) * sectors), np.int32)
    hits = np.zeros((*grid.shape, nt), np.int32)
    known = {}
    for path in [*begun, *finished]:
        try:
            sums = read_sums(path)
        except (SubsaltError, OSError) as error:
            # a run in progress replaces its restart points
            if path in begun:
                continue
            raise CorruptionError(
                f"{path} cannot be read as a block: {error}", "run the same command again", code="E641"
            ) from error
        known[path] = sums.block
        box = sums.block.box
        at = (slice(box.i0, box.i1), slice(box.j0, box.j1))
        shape = (box.i1 - box.i0, box.j1 - box.j0)
        image[at] += sums.image.sum(axis=1).reshape(*shape, nt)
        hits[at] += np.cumsum(sums.hits, axis=1)[:, :nt].reshape(*shape, nt)
        groups = sums.fold.shape[1]
        # of a block of some classes the groups are those classes
        first = sums.block.c0 if groups == sums.block.classes else 0
        fold[(*at, slice(first, first + groups))] += sums.fold.reshape(*shape, groups)
    live = np.count_nonzero(fold, axis=2)
    image /= np.maximum(live, 1)[..., None]
    total = len(facts["blocks"]) if isinstance(facts.get("blocks"), list) else 0
    of_all = f"{len(finished)} of {total} blocks" if total else f"{len(finished)} blocks"
    part = f" and parts of {len(begun)}" if begun else ""
    several = classes.get("kind") not in (None, "image")
    gathers = _gathers_so_far(list(known), grid, np.repeat(offsets, sectors)) if several else None
    return TimeRun(
        grid,
        image,
        gathers,
        offsets,
        by_offset(fold, classes),
        hits,
        f"{title}: {of_all}{part} so far",
        str(facts.get("run_id") or ""),
        facts,
    )


def _restart_points(folder: Path, finished: set[str]) -> list[Path]:
    """Return the sums that the notes of a folder of restart points name, without those of finished blocks."""
    out = []
    for note in sorted(folder.glob("block_*.json")):
        try:
            name = json.loads(own.read_text(note))["file"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        # the name alone: a note may not lead out of its folder
        path = folder / Path(str(name)).name
        if note.stem not in finished and path.is_file():
            out.append(path)
    return out


def _gathers_so_far(files: Sequence[Path], grid: ImageGrid, offsets: NDArray[np.float64]) -> Gathers:
    """Return what reads the gather of a location from the blocks that hold some of its classes."""

    def read(i: int, j: int) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        from subsalt.acquisition.image_grid import LocationBox

        out = np.zeros((len(offsets), grid.time.nt), np.float32)
        here = LocationBox(i, i + 1, j, j + 1)
        for path in files:
            with SumsFile(path) as file:
                box = file.block.box
                if box.i0 <= i < box.i1 and box.j0 <= j < box.j1:
                    row = int(rows_of(box, here)[0])
                    out[file.block.c0 : file.block.c1] += file.read(row, row + 1).image[0]
        return offsets, out

    return read
