"""Pages of image gathers: their locations along an image, and the panels of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid, LocationBox
from subsalt.acquisition.survey import TimeAxis
from subsalt.earth.planes import Planes
from subsalt.errors import ConfigError
from subsalt.view.image_gathers import MOST_GATHERS, ImageGather, image_gathers
from subsalt.view.pages import Sheet
from subsalt.view.records import TraceStyle
from subsalt.view.time_sections import indices_at, line_name
from subsalt.view.time_volume import Gathers

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import TimeVelocity

#: gathers on a page when nobody says where
GATHERS = 4

#: inline, crossline and maybe time (s) of a place; of a line the CDP alone will do
Place = Sequence[float]


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
        Sheet of the first page; where there are more, all of them are numbered.
    chosen : sequence of (int, int)
        Indices of inline and crossline.
    read : callable
        Returns the gather of a location, None where there is none.
    time : TimeAxis
        Time axis of all gathers.
    how : TraceStyle
        Style of the gathers.
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
        Locations of the gathers, as in `time_pictures`.
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
