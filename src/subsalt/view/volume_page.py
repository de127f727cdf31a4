"""The page of a 3-D image: three sections that sliders move through it, in one HTML file with the player's code.

The image is held in eight bits, as a frame of a movie is, and thinned where it is larger than `MOST_BYTES`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.earth.grid import Grid
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError, DataError, ModelError
from subsalt.io.export import is_time_volume
from subsalt.io.volumes.image_traces import open_image_traces
from subsalt.view import style
from subsalt.view.cuts import NAMES
from subsalt.view.frame_thinning import ordinal, thinning
from subsalt.view.movie import Movie, MovieAxis, quantise
from subsalt.view.movie_page import write_page
from subsalt.view.reading import TRACE_SUFFIXES, holds_shots, is_gathers, is_run_directory
from subsalt.view.run_image import read_run, read_volume, run_facts
from subsalt.view.time_volume import TraceVolume, grid_of_traces

#: bytes of an image on its page before they are packed
MOST_BYTES = 24_000_000


@dataclass(frozen=True)
class ShownVolume:
    """A 3-D image with the axes of its page.

    Parameters
    ----------
    values : ndarray or Planes, (nx, ny, nz)
        Amplitudes.
    axes : tuple of MovieAxis
        Places of all its points.
    title, run_id : str
        Heading, and the run that made it.
    """

    values: NDArray | Planes
    axes: tuple[MovieAxis, ...]
    title: str
    run_id: str = ""


def volume_page(
    source: Path,
    path: Path,
    *,
    key: str | None = None,
    at: Sequence[float] | None = None,
    clip: float = 99.0,
) -> Path | None:
    """Write the page of a run's image or of a file with a volume; None where that is no 3-D image.

    Parameters
    ----------
    source : path
        Run directory of any method, or a file with a depth or time volume.
    path : path
        HTML file to write.
    key : str, optional
        Array of an NPZ or netCDF file.
    at : sequence of float, (2,) or (3,), optional
        Place at which the sections begin: x, y, z in m, or inline, crossline and maybe time in s. The middle when
        left out, at the depth of the strongest reflector.
    clip : float
        Percentile of |a|, below the shallow part of the image, at which the page clips when it opens.
    """
    shown = read_shown(source, key)
    if shown is None:
        return None
    step, _ = thinning([a.n for a in shown.axes], 1, 1, MOST_BYTES)
    values = thinned(shown.values, step)
    axes = tuple(replace(a, spacing=a.spacing * step, n=-(-a.n // step)) for a in shown.axes)
    frames = quantise(values[None])
    limit = style.clip_limit(style.below_surface(values), clip)
    facts = {}
    if step > 1:
        facts["grid"] = f"every {ordinal(step)} point of {' x '.join(str(a.n) for a in shown.axes)}"
    still = Movie(
        shot=0,
        title=shown.title,
        run_id=shown.run_id,
        axes=axes,
        times=np.zeros(1),
        samples=np.zeros(1, np.int64),
        velocity=np.zeros(values.shape, np.float32),
        fields={"image": frames},
        sources=np.zeros((0, 3)),
        receivers=np.zeros((0, 3)),
        facts=facts,
    )
    # the page clips at percentiles of the whole image: the one whose amplitude is nearest
    nearest = int(np.argmin(np.abs(np.log(np.maximum(frames.movie_clips(), 1e-300) / limit))))
    more = {"still": True, "point": _start(values, axes, at), "clip": nearest}
    write_page(still, path, more)
    return path


def read_shown(source: Path, key: str | None = None) -> ShownVolume | None:
    """Return the image of a run directory or a file, None where it is not a signed volume in 3-D."""
    title, run_id = source.name, ""
    if is_run_directory(source):
        facts = run_facts(source)
        image = facts.get("image")
        name = image.get("path") if isinstance(image, dict) else None
        stored = source / Path(str(name)).name
        if not _is_time(stored):
            return _of_run(source, facts)
        title, run_id = str(facts.get("title") or source.resolve().name), str(facts.get("run_id") or "")
        source = stored
    if _is_time(source):
        traces = open_image_traces(source)
        grid = grid_of_traces(traces)
        return _of_time(TraceVolume(traces, grid), grid, title, run_id)
    if source.suffix.lower() in TRACE_SUFFIXES and (is_gathers(source) or holds_shots(source)):
        return None
    try:
        opened, _, values, _ = read_volume(source, key)
    except ModelError:
        return None
    return _of_depth(values, opened, title)


def _of_run(folder: Path, facts: dict[str, Any]) -> ShownVolume | None:
    """Return the image of a run in depth, or its sum so far; None where there is none yet, and of a time migration."""
    grid = facts.get("image_grid")
    if isinstance(grid, dict) and "inlines" in grid:
        return None
    try:
        run = read_run(folder)
    except DataError:
        return None
    return _of_depth(run.values, run.grid, run.title, run.run_id)


def _is_time(path: Path) -> bool:
    return path.suffix.lower() in TRACE_SUFFIXES and path.is_file() and is_time_volume(path)


def _of_depth(values: NDArray, grid: Grid, title: str, run_id: str = "") -> ShownVolume | None:
    """Return an image in depth; None in 2-D, and of a quantity without a sign, such as a velocity."""
    if grid.ndim != 3 or not np.nanmin(values) < 0:
        return None
    labels = ("", "", "depth")
    axes = tuple(
        MovieAxis(name, o, h, n, label)
        for name, o, h, n, label in zip(NAMES, grid.origin, grid.spacing, grid.shape, labels, strict=True)
    )
    return ShownVolume(values, axes, title, run_id)


def _of_time(volume: TraceVolume, grid: ImageGrid, title: str, run_id: str) -> ShownVolume | None:
    """Return an image in time; None of a line, and of a hit count."""
    if min(grid.shape) < 2 or not volume.limits()[0] < 0:
        return None
    sides = [
        n * float(np.hypot(*per)) * lines[2]
        for n, per, lines in zip(
            grid.shape, (grid.per_inline, grid.per_crossline), (grid.inlines, grid.crosslines), strict=True
        )
    ]
    time = grid.time
    axes = (
        MovieAxis("x", grid.inlines[0], grid.inlines[2], grid.shape[0], "inline", "", sides[0]),
        MovieAxis("y", grid.crosslines[0], grid.crosslines[2], grid.shape[1], "crossline", "", sides[1]),
        # time has no length: as tall as the longer side is wide, three quarters of it
        MovieAxis("z", time.t0, time.dt, time.nt, "two-way time", "s", 0.75 * max(sides)),
    )
    return ShownVolume(volume, axes, title, run_id)


def thinned(values: NDArray | Planes, step: int) -> NDArray[np.float32]:
    """Return every so many points along each axis; planes are read some at a time."""
    if not isinstance(values, Planes):
        return np.asarray(values[::step, ::step, ::step], np.float32)
    planes = [values.read(i, i + 1)[:, ::step, ::step] for i in range(0, values.shape[0], step)]
    return np.concatenate(planes).astype(np.float32)


def _start(values: NDArray, axes: Sequence[MovieAxis], at: Sequence[float] | None) -> list[float]:
    """Return the place through which the page cuts when it opens."""
    index = [a.n // 2 for a in axes]
    if at is not None and len(at) not in (2, 3):
        raise ConfigError(f"a place of {len(at)} numbers", "give x,y,z, or inline,crossline,time", "E833")
    index[2] = style.telling_sample(values[:, index[1]], values[index[0]])
    place = [float(a.origin + i * a.spacing) for a, i in zip(axes, index, strict=True)]
    for k, value in enumerate(at or ()):
        place[k] = float(np.clip(value, axes[k].origin, axes[k].last))
    return place
