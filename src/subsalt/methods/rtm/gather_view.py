"""Pictures of the gathers of a depth image: at some places beside the stack, and their flatness along the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.methods.rtm.stored_gathers import StoredGathers, gathers_of_run, read_gathers
from subsalt.view.depth_gathers import (
    GATHERS,
    MOST_GATHERS,
    LineMeasure,
    PlacedGather,
    TraceAxis,
    draw_depth_gathers,
    draw_flatness,
)
from subsalt.view.pages import Sheet
from subsalt.view.reading import RunStyle
from subsalt.view.run_image import read_run

LABELS = {
    "angle": "angle (deg)",
    "half_offset_x": "half offset x (m)",
    "half_offset_y": "half offset y (m)",
    "offset": "offset (m)",
}


def view_gathers(folder: Path, path: Path, how: RunStyle) -> list[Path]:
    """Draw the gathers of a finished run into ``NAME_gathers.png``, and their flatness into ``NAME_flatness.png``.

    Raises
    ------
    ConfigError
        E836: the run has no gathers; E833: a place is not x, or x,y.
    """
    stored = read_gathers(folder)
    if not stored:
        raise ConfigError(
            f"{folder} has no gathers",
            'give the job [imaging.gathers], or call subsalt reimage --gathers "max=400, every=8"',
            "E836",
        )
    shown = read_run(folder)
    sheet = Sheet(path, shown.title, shown.run_id)
    return draw(sheet, stored, shown.values, how.places, how.clip)


def draw_of_run(folder: Path, facts: Mapping[str, Any], image: NDArray, sheet: Sheet) -> list[Path]:
    """Draw the gathers that a run has just written, by its facts; nothing of a run without any."""
    return draw(sheet, gathers_of_run(folder, facts), image)


def draw(
    sheet: Sheet,
    stored: Sequence[StoredGathers],
    image: NDArray,
    places: Sequence[Sequence[float]] = (),
    clip: float = 99.0,
) -> list[Path]:
    """Draw gathers beside the stack, and the flatness of those by angle or offset; return the pictures."""
    made = []
    for one in stored:
        ending = "" if len(stored) == 1 else f"_{one.along}"
        named = sheet.named(f"_gathers{ending}")
        row, columns = _columns(one, places)
        section, grid = _section(one, image, row)
        chosen = [
            PlacedGather(float(one.x[i]), np.asarray(one.values[i, row]), section[one.columns[0][i]])
            for i in columns
        ]
        axis = TraceAxis(np.array(one.traces), LABELS[one.axis])
        made.append(draw_depth_gathers(named, section, grid, chosen, axis, clip))
        if one.shows_moveout:
            measure = measure_of(one, section, row)
            made.append(draw_flatness(sheet.named(f"_flatness{ending}"), measure, section, grid))
    return made


def measure_of(gathers: StoredGathers, section: NDArray, row: int = 0) -> LineMeasure:
    """Return the flatness of gathers by angle or offset along a line, with positions and depths."""
    flat = gathers.flatness(section, row)
    z = gathers.axes.depths(gathers.values.shape[-1])
    edges = np.array([[z[a], z[b - 1]] for a, b in flat.windows])
    return LineMeasure(gathers.x, edges, flat.semblance, flat.overall)


def _columns(gathers: StoredGathers, places: Sequence[Sequence[float]]) -> tuple[int, list[int]]:
    """Return the line along y, and the columns along x, whose gathers are drawn: at places, or evenly."""
    if not places:
        n = len(gathers.x)
        spread = (np.arange(GATHERS) + 0.5) / GATHERS * n
        return len(gathers.y) // 2, sorted({int(k) for k in spread})
    if len(places) > MOST_GATHERS:
        raise ConfigError(
            f"{len(places)} gathers for one picture", f"choose 1 to {MOST_GATHERS} places", code="E833"
        )
    chosen = []
    for place in places:
        if len(place) not in (1, 2):
            raise ConfigError(
                f"--at {','.join(f'{v:g}' for v in place)} is not the place of a gather of a depth image",
                "give x, or x,y in m",
                code="E833",
            )
        x, dx = place[0], gathers.grid.spacing3[0]
        if not gathers.x[0] - dx <= x <= gathers.x[-1] + dx:
            raise ConfigError(
                f"--at {x:g} lies outside the gathers, which go from x = {gathers.x[0]:g} to {gathers.x[-1]:g} m",
                "choose an x between",
                code="E833",
            )
        chosen.append(gathers.nearest(place[0], place[1] if len(place) == 2 else float(np.median(gathers.y))))
    return chosen[0][1], sorted({i for i, _ in chosen})


def _section(gathers: StoredGathers, image: NDArray, row: int) -> tuple[NDArray, Grid]:
    """Return the section of the image along a line of gathers, and its grid."""
    grid = gathers.grid
    if grid.ndim == 2:
        return np.asarray(image), grid
    (nx, _, nz), (dx, _, dz), (x0, _, z0) = grid.shape3, grid.spacing3, grid.origin3
    return np.asarray(image[:, gathers.columns[1][row]]), Grid((nx, nz), (dx, dz), (x0, z0))
