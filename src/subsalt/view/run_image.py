"""The image of a run directory: the finished one, or the sum of the partial images so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.even_depths import EvenDepths
from subsalt.earth.grid import Frame, Grid
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, CorruptionError, DataError, ModelError, SubsaltError
from subsalt.io.regular_files import read_json, read_toml
from subsalt.io.run_folder import own_run
from subsalt.io.volumes.planes import frame_from
from subsalt.numerics.depth_axis import DepthAxis

# arrays of an NPZ that are drawn when none is named
NPZ_KEYS = ("image", "vp", "values")


def read_volume(path: Path, key: str | None = None) -> tuple[Grid, Frame, NDArray, str | None]:
    """Return grid, frame, values and name of a volume; of an NPZ image or vp unless `key` says which."""
    from subsalt.io.volumes import volume

    try:
        opened = volume.read(path, key=key)
    except ModelError:
        if key is not None or path.suffix.lower() != ".npz":
            raise
        for guess in NPZ_KEYS:
            try:
                opened, key = volume.read(path, key=guess), guess
                break
            except ModelError:
                continue
        else:
            raise
    return opened.grid, opened.frame, opened.values, key


@dataclass
class RunImage:
    """The image of a run, finished or so far, with its source illumination where the run has one."""

    grid: Grid
    frame: Frame
    values: NDArray
    title: str
    run_id: str
    illumination: NDArray | Planes | None = None


def illumination_of(folder: Path, grid: Grid) -> Planes | None:
    """Return the source illumination that a run directory has of its image on `grid`, yet to be read; or None."""
    from subsalt.io.volumes.volume import open_volume

    path = folder / "illumination.rsf"
    if not path.is_file() or path.resolve().parent != folder.resolve():
        return None
    try:
        opened = open_volume(path)
    except (SubsaltError, OSError):
        return None  # a picture without it shows everything
    return opened.planes if opened.grid.shape3 == grid.shape3 else None


def read_run(folder: Path) -> RunImage:
    """Return the image of a run directory, or the sum of its partial images while it has none.

    Raises
    ------
    DataError
        When there is neither, or nothing says the grid of the partial images.
    """
    own_run(folder)
    facts = run_facts(folder)
    title = str(facts.get("title") or job_of(facts, folder).get("title") or folder.resolve().name)
    run_id = str(facts.get("run_id") or "")
    image = facts.get("image")
    name = image.get("path") if isinstance(image, dict) else None
    if isinstance(name, str):
        path = (folder / name).resolve()
        # run.json is data: it may not lead out of its own directory
        if folder.resolve() not in path.parents:
            raise CorruptionError(
                f"{folder / 'run.json'} names {name!r}, outside the run", "run the same job again"
            )
        if path.is_file():
            grid, frame, values, _ = read_volume(path)
            return RunImage(grid, frame, values, title, run_id, illumination_of(folder, grid))
    known = grid_of(facts, folder)
    # by name: where a shot has a partial image of this version, one of an older version counts no more
    partial_images = {
        p.stem: p for suffix in (".npz", ".planes") for p in (folder / "images").glob(f"shot_*{suffix}")
    }
    files = [partial_images[stem] for stem in sorted(partial_images)]
    if not files:
        raise DataError(
            f"{folder} has neither an image nor partial images",
            _instead(folder),
            code="E821",
        )
    if known is None:
        raise DataError(
            f"{folder} does not say the grid of its partial images: run.json is not written yet",
            "wait for the first shot, or give the job a [grid]",
            code="E821",
        )
    values, light, n = partial_sum(files, known)
    if known.depth_axis is not None:
        depths = EvenDepths(known)
        known, values = depths.even, depths.image(values).astype(np.float64)
        light = None if light is None else depths.image(light).astype(np.float64)
    values = filtered(values, known, job_of(facts, folder).get("imaging"))
    total = len(facts["shots"]) if isinstance(facts.get("shots"), list) else 0
    so_far = f"{title}: {n} of {total} shots so far" if total else f"{title}: {n} shots so far"
    return RunImage(known, frame_of(facts), values, so_far, run_id, light)


def _instead(folder: Path) -> str:
    """Return a cure for a folder that is not a run: the name of a shot file in it, if there is one."""
    shots = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".sgy", ".segy", ".su"))
    return f"name one of its files: {shots[0]}" if shots else "start the run with `subsalt migrate`"


def run_facts(folder: Path) -> dict[str, Any]:
    """Return run.json, empty when there is none yet."""
    try:
        facts = read_json(folder / "run.json")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CorruptionError(
            f"{folder / 'run.json'} cannot be read: {error}", "run the same job again", code="E641"
        ) from error
    return facts if isinstance(facts, dict) else {}


def job_of(facts: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the job of a run: from run.json, or from job.resolved.toml; empty when neither can be read."""
    job = facts.get("job")
    if isinstance(job, dict):
        return job
    try:
        return read_toml(folder / "job.resolved.toml")
    except (OSError, ValueError):
        return {}


def frame_of(facts: dict[str, Any]) -> Frame:
    """Return the frame of a run, as far as run.json says it."""
    frame = facts.get("frame")
    try:
        return frame_from([frame[k] for k in ("x0", "y0", "azimuth", "flip")], "run.json")  # type: ignore[index]
    except (KeyError, TypeError, ValueError, ModelError):
        return Frame()


def grid_of(facts: dict[str, Any], folder: Path) -> Grid | None:
    """Return the grid of a run's waves and sums: from run.json, or from the ``[grid]`` of its job when that says the
    shape and waves have no other grid.
    """
    grid = facts.get("grid")
    if not isinstance(grid, dict):
        job = job_of(facts, folder)
        own = job.get("propagation", {}).get("grid", "model") == "model"
        grid = job.get("grid") if own else None
    if not isinstance(grid, dict) or not isinstance(grid.get("shape"), list):
        return None
    shape, spacing = grid["shape"], grid.get("spacing")
    if isinstance(spacing, int | float):
        spacing = [spacing] * len(shape)
    try:
        axis = DepthAxis.from_json(grid["depth_axis"]) if grid.get("depth_axis") else None
        return Grid(tuple(shape), tuple(spacing or ()), tuple(grid.get("origin") or ()), axis)
    except (ConfigError, KeyError, TypeError, ValueError):
        return None


def partial_sum(
    files: Sequence[Path], grid: Grid
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, int]:
    """Return the correlations of partial images summed on `grid`, over illumination; the illumination; their number.

    Notes
    -----
    A look at a run on its way: no condition but the normalised correlation.

    Raises
    ------
    CorruptionError
        When a file cannot be read or does not lie on the grid.
    """
    from subsalt.io.volumes.plane_file import open_planes

    correlation, light = np.zeros(grid.shape3), np.zeros(grid.shape3)
    for path in files:
        try:
            with open_planes(path) as file:
                box = file.layout.box
                part, cut = file.read(box.lo[0], box.hi[0]), box.slices
            correlation[cut] += part["separated"] if "separated" in part else part["correlation"]
            if "illumination" in part:
                light[cut] += part["illumination"]
        except (SubsaltError, OSError, ValueError, KeyError, IndexError) as error:
            raise CorruptionError(
                f"{path} cannot be read as a partial image: {error}",
                "run the same command again",
                code="E641",
            ) from error
    floor = 0.01 * float(light.mean())
    if floor > 0:
        correlation /= light + floor
    return correlation.reshape(grid.shape), light if floor > 0 else None, len(files)


def filtered(values: NDArray[np.float64], grid: Grid, imaging: Any) -> NDArray[np.float64]:
    """Return a partial image with the filter and the top mute of its job, both in their simplest form."""
    if not isinstance(imaging, dict):
        return values
    if imaging.get("filter") == "laplacian":
        out = np.zeros_like(values)
        for axis, h in enumerate(grid.spacing):
            if values.shape[axis] > 2:
                moved = np.moveaxis(values, axis, 0)
                np.moveaxis(out, axis, 0)[1:-1] -= (moved[2:] - 2 * moved[1:-1] + moved[:-2]) / h**2
        values = out
    mute = imaging.get("top_mute")
    if isinstance(mute, int | float) and mute > 0:
        values = np.where(grid.spacing[-1] * np.arange(grid.shape[-1]) < mute, 0.0, values)
    return values
