"""All pictures of a time migration: sections of the image, gathers, fold, hit count, velocity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError
from subsalt.view.image_fold import fold_map
from subsalt.view.image_gathers import MOST_GATHERS, ImageGather, image_gathers
from subsalt.view.pages import Sheet, png_path
from subsalt.view.records import TraceStyle
from subsalt.view.time_sections import indices_at, line_name, time_sections
from subsalt.view.time_volume import Gathers, TimeRun

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import TimeVelocity

#: gathers on a page when nobody says where
GATHERS = 4

#: inline, crossline and maybe time (s) of a place; of a line the CDP alone will do
Place = Sequence[float]


def time_pictures(
    run: TimeRun,
    path: str | Path,
    *,
    velocity: TimeVelocity | None = None,
    overlay: bool = False,
    places: Sequence[Place] = (),
    every: int | None = None,
    **drawn: Any,
) -> list[Path]:
    """Draw all there is of a time migration.

    Parameters
    ----------
    run : TimeRun
        What `read_time_run` found.
    path : path
        PNG of the image; the others lie beside it: ``NAME_gathers.png``, ``NAME_fold.png``, ``NAME_hits.png``, of a
        volume also its three planes. Of ``image.png`` they are called ``gathers.png`` and so on.
    velocity : TimeVelocity, optional
        That of the migration: shows the moveout that is left in the gathers.
    overlay : bool
        Lay it over the image too.
    places : sequence of places
        Where gathers are drawn, and (the first) where the image is cut; `GATHERS` of them along the middle inline when
        left out.
    every : int, optional
        Gathers at every so many locations of the inline of the first place; as many pages as they take.
    **drawn
        Fields of `TraceStyle`: ``draw``, ``clip`` and ``gain``.

    Returns
    -------
    list of Path
        The image first.
    """
    out, how = png_path(path, "image.png"), TraceStyle(**drawn)
    at = places[0] if places else None
    if run.gathers is None and every is not None:
        raise ConfigError(
            "this run has no image gathers",
            'set [kirchhoff] gathers = "offset" or "full-offset" and migrate again',
            code="E833",
        )
    # what is not there is refused before anything is drawn
    chosen = [] if run.gathers is None else locations_of(run.grid, run.fold, places, every)
    over = VelocityVolume(velocity, run.grid) if velocity is not None and overlay else None
    heads: dict[str, Any] = {"title": run.title, "run_id": run.run_id, "clip": how.clip, "gain": how.gain}
    written = list(time_sections(run.image, run.grid, out, velocity=over, at=at, **heads).values())
    if run.gathers is not None:
        read = partial(gather_at, run.gathers, run.grid, image=run.image, velocity=velocity)
        beside = Sheet(_beside(out, "gathers"), f"{run.title}: image gathers", run.run_id)
        written += draw_gathers(beside, chosen, read, run.grid.time, how)
    if run.fold is not None:
        offsets = run.offsets if len(run.offsets) == run.fold.shape[2] else None
        title = f"{run.title}: fold"
        written.append(
            fold_map(
                run.fold, run.grid, _beside(out, "fold"), offsets=offsets, title=title, run_id=run.run_id
            )
        )
    if run.hits is not None:
        shown = time_sections(
            run.hits,
            run.grid,
            _beside(out, "hits"),
            at=at,
            palette="fold",
            label="traces in a sample",
            title=f"{run.title}: hit count",
            run_id=run.run_id,
            planes=False,
        )
        written += shown.values()
    return written


def draw_gathers(
    sheet: Sheet,
    chosen: Sequence[tuple[int, int]],
    read: Callable[[int, int], ImageGather | None],
    time: TimeAxis,
    how: TraceStyle,
) -> list[Path]:
    """Draw gathers at some locations, as many pages as they take; return the pages.

    Parameters
    ----------
    sheet : Sheet
        Of the first page; where there are more, all of them are numbered.
    chosen : sequence of (int, int)
        Indices of inline and crossline.
    read : callable
        Returns the gather of a location, None where there is none.
    time : TimeAxis
        Of all gathers.
    how : TraceStyle
        How they are drawn.
    """
    pages = []
    step = MOST_GATHERS if len(chosen) > MOST_GATHERS else max(len(chosen), 1)
    for a in range(0, len(chosen), step):
        there = [read(i, j) for i, j in chosen[a : a + step]]
        shown = [g for g in there if g is not None]
        if not shown:
            continue
        own = sheet.named(f"_{a // step + 1}" if len(chosen) > step else "")
        pages.append(image_gathers(shown, time, own.path, title=own.title, run_id=own.run_id, **vars(how)))
    return pages


def locations_of(
    grid: ImageGrid, fold: NDArray | None, places: Sequence[Place], every: int | None
) -> list[tuple[int, int]]:
    """Return the indices of the locations whose gathers are drawn.

    Parameters
    ----------
    grid : ImageGrid
        All locations.
    fold : ndarray, (ni, nj, n), optional
        Locations without any trace are left out where nobody asks for them.
    places, every
        As in `time_pictures`.
    """
    if every is not None and every < 1:
        raise ConfigError(f"gathers at every {every} locations", "give 1 or more", code="E833")
    if every is None and places:
        return list(dict.fromkeys(indices_at(grid, p)[:2] for p in places))
    i = indices_at(grid, places[0])[0] if places else grid.shape[0] // 2
    nj = grid.shape[1]
    there = np.arange(nj) if fold is None else np.flatnonzero(fold[i].reshape(nj, -1).any(axis=1))
    if not len(there):
        return []
    if every is not None:
        return [(i, int(j)) for j in there[every // 2 if len(there) > every // 2 else 0 :: every]]
    # not the very ends, where few traces lie on one side
    spread = (np.arange(GATHERS) + 0.5) / GATHERS * len(there)
    return [(i, int(j)) for j in dict.fromkeys(there[spread.astype(int)])]


def gather_at(
    gathers: Gathers,
    grid: ImageGrid,
    i: int,
    j: int,
    image: NDArray | Planes | None = None,
    velocity: TimeVelocity | None = None,
) -> ImageGather | None:
    """Return the gather of a location with its stack and velocity; None where there is none."""
    offset, traces = gathers(i, j)
    if not len(offset):
        return None
    v = None
    if velocity is not None:
        v = velocity.at(grid.positions(LocationBox(i, i + 1, j, j + 1)), grid.time)[0][0]
    stack = None
    if image is not None:
        stack = image.read(i, i + 1)[0, j] if isinstance(image, Planes) else image[i, j]
    inline, crossline = (int(n) for n in grid.numbers(LocationBox(i, i + 1, j, j + 1))[0])
    line = line_name(grid)
    name = f"CDP {crossline}" if line == "CDP" else f"inline {inline}, crossline {crossline}"
    return ImageGather(inline, crossline, offset, traces, stack, v, name)


class VelocityVolume(Planes):
    """The rms velocity at all locations of an image, (ni, nj, nt), made by inlines."""

    def __init__(self, velocity: TimeVelocity, grid: ImageGrid) -> None:
        super().__init__((*grid.shape, grid.time.nt))
        self._velocity, self._grid = velocity, grid

    def read(self, lo: int, hi: int) -> NDArray[np.float32]:
        """Return the inlines ``lo <= i < hi``."""
        _, nj, nt = self.shape
        points = self._grid.positions(LocationBox(lo, hi, 0, nj))
        return self._velocity.at(points, self._grid.time)[0].reshape(hi - lo, nj, nt)


def _beside(image: Path, what: str) -> Path:
    """Return the name of another picture beside that of the image."""
    return image.with_name(f"{what}.png" if image.stem == "image" else f"{image.stem}_{what}.png")
