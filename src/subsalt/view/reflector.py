"""An event of an image followed along the line, and its amplitude in images before and after: how even they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError
from subsalt.view import palettes, style
from subsalt.view.cuts import Look, cuts_at, draw_cut
from subsalt.view.pages import BOTTOM, LEFT, RIGHT, Sheet
from subsalt.view.style import SHALLOW, Length

#: part of the line, in its middle, whose amplitudes are compared: its ends see an event from one side
MIDDLE = 0.5
#: rows on either side of the event in which its amplitude is taken: images differ in where the peak lies
BESIDE = 1
#: rows above and below the given depth in which the event is looked for
NEAR = 3
#: inches: width of both panels, heights of section and curves, their upper edge, and the room between
WIDE, SECTION, CURVES, TOP, BETWEEN = 7.6, 2.6, 2.3, 0.62, 0.75


@dataclass(frozen=True)
class Reflector:
    """An event of a section.

    Parameters
    ----------
    rows : ndarray of int, (nx,)
        Row of its peak in every column.
    sign : {1, -1}
        Sign of its amplitude.
    """

    rows: NDArray[np.intp]
    sign: int

    def amplitudes(self, section: NDArray) -> NDArray[np.float64]:
        """Return the largest amplitude of its sign beside the event in every column of a section, (nx,)."""
        values = self.sign * np.asarray(section, dtype=np.float64)
        columns, last = np.arange(len(values)), values.shape[1] - 1
        around = [values[columns, np.clip(self.rows + k, 0, last)] for k in range(-BESIDE, BESIDE + 1)]
        return np.max(around, axis=0)


def follow(section: NDArray, grid: Grid, at: tuple[float, float] | None = None) -> Reflector:
    """Return the event of a section that goes through a point, or its strongest in the middle of the line.

    Parameters
    ----------
    section : ndarray, (nx, nz)
        Image along the line.
    grid : Grid
        Its grid, 2-D.
    at : tuple of float, optional
        x and depth, m, of a point on the event; the largest amplitude within three rows of it is taken. When left out,
        the largest below the shallow part in the column in the middle.

    Raises
    ------
    ConfigError
        E833: the point lies outside the grid, or no amplitude is near it.

    Notes
    -----
    From column to column the peak moves by as many rows as a dip of 45 degrees has.
    """
    values = np.asarray(section, dtype=np.float64)
    nx, nz = values.shape
    if at is None:
        column, low, high = nx // 2, int(SHALLOW * nz), nz
    else:
        column, row = (round((a - o) / h) for a, o, h in zip(at, grid.origin, grid.spacing, strict=True))
        if not (0 <= column < nx and 0 <= row < nz):
            raise ConfigError(
                f"no event is at x = {at[0]:g} m, depth {at[1]:g} m: the section has x from {grid.origin[0]:g} to "
                f"{grid.last[0]:g} m and depths from {grid.origin[1]:g} to {grid.last[1]:g} m",
                "give a point inside",
                code="E833",
            )
        low, high = max(0, row - NEAR), min(nz, row + NEAR + 1)
    part = values[column, low:high]
    row = low + int(np.argmax(np.abs(part)))
    if values[column, row] == 0:
        raise ConfigError(
            f"the image is zero at x = {grid.axis(0)[column]:g} m from depth {grid.axis(1)[low]:g} to "
            f"{grid.axis(1)[high - 1]:g} m",
            "give a point on an event: --at x,y,z",
            code="E833",
        )
    sign = 1 if values[column, row] > 0 else -1
    reach = max(1, round(grid.spacing[0] / grid.spacing[1]))
    rows = np.full(nx, row, dtype=np.intp)
    for columns in (range(column + 1, nx), range(column - 1, -1, -1)):
        here = row
        for ix in columns:
            first = max(0, here - reach)
            here = first + int(np.argmax(sign * values[ix, first : here + reach + 1]))
            rows[ix] = here
    return Reflector(rows, sign)


def along_horizon(section: NDArray, depth: NDArray[np.float64], grid: Grid) -> Reflector:
    """Return the event of a section along a horizon: in every column its largest amplitude within three rows of it.

    Parameters
    ----------
    section : ndarray, (nx, nz)
        Image along the line.
    depth : ndarray, (nx,)
        Depth of the horizon, m, inside the grid.
    grid : Grid
        Grid of the section, 2-D.

    Raises
    ------
    ConfigError
        E833: the image is zero along the horizon.

    Notes
    -----
    The sign is the one whose largest amplitudes near the horizon have the greater sum over the columns.
    """
    values = np.asarray(section, dtype=np.float64)
    nx, nz = values.shape
    middle = np.clip(np.rint((depth - grid.origin[1]) / grid.spacing[1]).astype(np.intp), 0, nz - 1)
    rows = np.clip(middle[:, None] + np.arange(-NEAR, NEAR + 1), 0, nz - 1)
    near = values[np.arange(nx)[:, None], rows]
    if not near.any():
        raise ConfigError(
            f"the image is zero within {NEAR} rows of the horizon, from depth {depth.min():g} to {depth.max():g} m",
            "give the horizon of an event, its depths in m below the datum of the model",
            code="E833",
        )
    sign = 1 if np.max(near, axis=1).sum() >= np.max(-near, axis=1).sum() else -1
    best = np.argmax(sign * near, axis=1)
    return Reflector(rows[np.arange(nx), best], sign)


def spread_of(amplitudes: NDArray[np.float64]) -> float:
    """Return the standard deviation over the mean of amplitudes in the middle of a line; infinite for a mean of 0."""
    n = len(amplitudes)
    values = amplitudes[_middle(n)]
    mean = float(values.mean())
    return float(values.std()) / abs(mean) if mean else float("inf")


def draw_reflector(
    sheet: Sheet, images: Mapping[str, NDArray], grid: Grid, event: Reflector, limit: float
) -> Path:
    """Draw the last image with an event, and below it the amplitude of the event in every image, over its mean.

    Parameters
    ----------
    sheet : Sheet
        Picture to write.
    images : mapping of str to ndarray, (nx, nz)
        Sections by name, in order.
    grid : Grid
        Their grid, 2-D.
    event : Reflector
        Followed in the last of them.
    limit : float
        Amplitude at which the grey scale ends.
    """
    (cut,) = cuts_at(grid).values()
    unit = Length.fitting(*cut.lengths)
    x = unit(grid.axis(0))
    names, sections = list(images), list(images.values())
    by_image = [event.amplitudes(section) for section in sections]
    middle = _middle(len(x))
    said = ", ".join(f"{name}: {100 * spread_of(a):.3g} %" for name, a in zip(names, by_image, strict=True))
    facts = f"standard deviation over mean in the middle half of the line (grey): {said}"
    with sheet.saying(facts).page((LEFT + WIDE + RIGHT, TOP + SECTION + BETWEEN + CURVES + BOTTOM)) as fig:
        above = style.place(fig, (LEFT, TOP, WIDE, SECTION))
        draw_cut(above, cut, Look(sections[-1][:, None], limit), unit)
        above.plot(x, unit(grid.axis(1)[event.rows]), color=palettes.MARK, linewidth=0.9)
        above.set_title(style.printable(names[-1]), fontsize=9, pad=4)
        below = style.place(fig, (LEFT, TOP + SECTION + BETWEEN, WIDE, CURVES))
        below.axvspan(x[middle][0], x[middle][-1], color="0.93", zorder=0)
        below.axhline(1.0, color=palettes.FAINT, linewidth=0.6)
        for name, values, colour in zip(names, by_image, palettes.CURVES, strict=False):
            mean = float(values[middle].mean())
            below.plot(x, values / (mean or 1.0), color=colour, linewidth=1.2, label=style.printable(name))
        below.set_xlim(above.get_xlim())
        below.set_ylim(0.0, 2.0)
        below.set_xlabel(f"x ({unit.unit})")
        below.set_ylabel("amplitude / mean")
        below.legend(loc="upper right", ncols=len(names))
    return sheet.path


def _middle(n: int) -> slice:
    """Return the columns in the middle of a line of n."""
    return slice(round(n * (0.5 - MIDDLE / 2)), max(1, round(n * (0.5 + MIDDLE / 2))))
