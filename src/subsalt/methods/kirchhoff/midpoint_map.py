"""Pictures of prestack traces on their image grid: midpoints and fold, sources, output locations, offsets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.image_grid import ImageGrid
from subsalt.acquisition.line import LINE_WIDTH, fit_line
from subsalt.view import palettes, style
from subsalt.view.pages import BOTTOM, GAP, LEFT, RIGHT, Sheet, fit, legend, png_path
from subsalt.view.style import Length

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from subsalt.io.prestack.table import TraceTable


#: cells of the fold along the longer side, and bars of the histogram of offsets
CELLS, BARS = 120, 40
#: output bins along an axis that are drawn one by one
MOST_CELLS = 400
#: survey lengths around the survey to which a grid that lies far away is still drawn
REACH = 1.0


def midpoint_map(
    table: TraceTable,
    grid: ImageGrid | None,
    path: str | Path,
    *,
    aperture: float | None = None,
    title: str = "midpoints",
    run_id: str = "",
) -> Path:
    """Draw midpoints with their fold, sources, the image grid and the offsets; of a line its stacking chart.

    Parameters
    ----------
    table : TraceTable
        Positions of all traces.
    grid : ImageGrid or None
        Output locations; None when the job does not say them.
    path : path
        PNG to write.
    aperture : float, optional
        Drawn around the grid, m.
    title, run_id : str
        Heading and run.
    """
    out = png_path(path, "map.png")
    middle = table.midpoint
    line = fit_line(middle)
    sheet = Sheet(out, title, run_id, _facts(table, grid))
    if line.width <= LINE_WIDTH * max(line.length, 1.0):
        _chart(sheet, table, grid, aperture)
    else:
        _map(sheet, table, grid, aperture)
    return out


def _facts(table: TraceTable, grid: ImageGrid | None) -> str:
    """Return the line under the heading."""
    low, high = table.offset.min(), table.offset.max()
    said = f"{len(table.offset)} traces · offsets {low:.0f} to {high:.0f} m"
    if grid is not None:
        ni, nj = grid.shape
        locations = f"{nj} CDPs" if grid.is_line else f"{ni} inlines x {nj} crosslines"
        said += f" · image {locations}, {grid.spacing[1]:.4g} m apart"
        said += "" if grid.is_line else f" (inlines {grid.spacing[0]:.4g} m)"
    return said


def _map(sheet: Sheet, table: TraceTable, grid: ImageGrid | None, aperture: float | None) -> None:
    """Draw the map of an areal survey and its offsets."""
    middle = table.midpoint
    sources = np.unique(np.round(table.src, 2), axis=0)
    low, high = np.minimum(middle.min(0), sources.min(0)), np.maximum(middle.max(0), sources.max(0))
    if grid is not None:
        far = REACH * (high - low)
        corners = np.clip(grid.corners(), low - far, high + far)
        low, high = np.minimum(low, corners.min(0)), np.maximum(high, corners.max(0))
    pad = 0.04 * float((high - low).max())
    low, high = low - pad, high + pad
    unit = Length.fitting(*(high - low))
    wide, tall, _ = fit(high[0] - low[0], high[1] - low[1], 1.0, (5.2, 5.2))
    top, second = 0.75, LEFT + wide + RIGHT + 0.55
    size = (second + 2.4 + 0.2, top + max(tall, 2.6) + BOTTOM + 0.3)
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, top, wide, tall))
        counts, x, y, cell = _fold(middle, grid)
        shown = np.ma.masked_equal(counts, 0)
        drawn = ax.pcolormesh(
            unit(x), unit(y), shown, cmap=palettes.palette("fold"), vmin=0, vmax=max(1, counts.max())
        )
        style.colour_bar(
            fig, drawn, (LEFT + wide + 0.12, top, 0.14, tall), f"fold: midpoints per {cell}", counts=True
        )
        at = unit(style.thin(sources))
        ax.plot(
            at[:, 0], at[:, 1], "*", color=palettes.SOURCE, markersize=4, markeredgewidth=0, label="sources"
        )
        if grid is not None:
            _outline(ax, grid, unit, aperture)
        for k, name in ((0, "x, east"), (1, "y, north")):
            limits = unit(np.array([low[k], high[k]]))
            (ax.set_xlim if k == 0 else ax.set_ylim)(*limits)
            (ax.set_xlabel if k == 0 else ax.set_ylabel)(f"map {name} ({unit.unit})")
        ax.ticklabel_format(style="plain", useOffset=False)
        ax.tick_params(labelsize=7)
        _offsets(style.place(fig, (second, top, 2.4, min(tall, 2.6))), table.offset)
        legend(fig, [ax], (LEFT, 0.5), columns=4)


def _chart(sheet: Sheet, table: TraceTable, grid: ImageGrid | None, aperture: float | None) -> None:
    """Draw the stacking chart of a line, its fold beneath and its offsets beside."""
    middle = table.midpoint
    frame = fit_line(middle).frame
    x = frame.to_local(np.column_stack([middle, np.zeros(len(middle))]))[:, 0]
    span, offset = _span(x), _span(table.offset)
    unit = Length.fitting(span[1] - span[0])
    top, wide, tall, second = 0.75, 6.6, 2.9, LEFT + 6.6 + RIGHT + 0.35
    size = (second + 2.2, top + tall + GAP + 1.3 + BOTTOM)
    with sheet.page(size) as fig:
        ax = style.place(fig, (LEFT, top, wide, tall))
        cells = min(CELLS, max(1, len(np.unique(np.round(x, 1)))))
        edges = np.linspace(*span, cells + 1)
        counts, ex, ey = np.histogram2d(x, table.offset, bins=[edges, np.linspace(*offset, BARS + 1)])
        shown = np.ma.masked_equal(counts.T, 0)
        drawn = ax.pcolormesh(
            unit(ex), ey, shown, cmap=palettes.palette("fold"), vmin=0, vmax=max(1, counts.max())
        )
        style.colour_bar(fig, drawn, (LEFT + wide + 0.12, top, 0.14, tall), "traces", counts=True)
        ax.set_ylabel("offset (m)")
        below = style.place(fig, (LEFT, top + tall + GAP, wide, 1.3))
        per, _ = np.histogram(x, bins=edges)
        below.stairs(per, unit(edges), fill=True, color=palettes.RECEIVER, alpha=0.6)
        below.set_ylabel("fold")
        below.set_title(f"traces per {edges[1] - edges[0]:.4g} m", fontsize=8, color=palettes.FAINT, pad=3)
        below.set_xlabel(f"along the line ({unit.unit})")
        limits = span
        if grid is not None:
            ends = grid.positions()[[0, -1]]
            at = np.sort(frame.to_local(np.column_stack([ends, np.zeros(2)]))[:, 0])
            far = REACH * (span[1] - span[0])
            at = np.clip(at, span[0] - far, span[1] + far)
            limits = min(span[0], at[0]), max(span[1], at[1])
            for a in (ax, below):
                a.axvspan(*unit(at), color=palettes.MARK, alpha=0.08, zorder=0, label="image")
                for edge in at:
                    a.axvline(float(unit(edge)), color=palettes.MARK, linewidth=1.0)
        for a in (ax, below):
            a.set_xlim(*unit(np.array(limits)))
        _offsets(style.place(fig, (second, top, 1.9, tall)), table.offset, upright=True)
        legend(fig, [ax], (LEFT, 0.5), columns=4)


def _outline(ax: Axes, grid: ImageGrid, unit: Length, aperture: float | None) -> None:
    """Draw the image grid with the numbers of its corners, and the reach of its aperture."""
    from matplotlib.patheffects import withStroke

    corners = grid.corners()
    ring = unit(np.concatenate([corners, corners[:1]]))
    ax.plot(ring[:, 0], ring[:, 1], color=palettes.MARK, linewidth=1.4, label="image")
    if aperture is not None:
        # the reach of a rectangle has round corners; its straight sides tell enough
        wider = _widened(corners, aperture)
        ring = unit(np.concatenate([wider, wider[:1]]))
        ax.plot(
            ring[:, 0], ring[:, 1], "--", color=palettes.MARK, linewidth=0.8, label=f"aperture {aperture:g} m"
        )
    (i0, i1, _), (j0, j1, _) = grid.inlines, grid.crosslines
    for point, name in zip(corners, ((i0, j0), (i1, j0), (i1, j1), (i0, j1)), strict=True):
        x, y = unit(point)
        right = point[0] > corners[:, 0].mean()
        label = ax.annotate(
            f"{name[0]}/{name[1]}",
            (float(x), float(y)),
            xytext=(-3 if right else 3, 3),
            textcoords="offset points",
            ha="right" if right else "left",
            fontsize=7,
            color=palettes.MARK,
            zorder=4,
        )
        # sources may lie behind it
        label.set_path_effects([withStroke(linewidth=2.5, foreground="white")])


def _widened(corners: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """Return the corners of a parallelogram moved outwards by a distance along both of its sides."""
    a, b = corners[1] - corners[0], corners[3] - corners[0]
    ua, ub = (v / max(float(np.hypot(*v)), 1e-9) for v in (a, b))
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))
    return np.array([c + by * (s * ua + t * ub) for c, (s, t) in zip(corners, signs, strict=True)])


def _offsets(ax: Axes, offset: NDArray[np.float64], *, upright: bool = False) -> None:
    """Draw the histogram of offsets; upright beside an axis of offsets."""
    counts, edges = np.histogram(offset, bins=BARS, range=_span(offset))
    options: dict[str, Any] = {"fill": True, "color": palettes.RECEIVER, "alpha": 0.6}
    ax.stairs(counts, edges, orientation="horizontal" if upright else "vertical", **options)
    (ax.set_xlabel if upright else ax.set_ylabel)("traces")
    if upright:
        ax.set_ylim(*_span(offset))
    else:
        ax.set_xlabel("offset (m)")
        ax.set_xlim(*_span(offset))


def _span(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of values, a little apart when they are equal."""
    low, high = float(values.min()), float(values.max())
    return (low, high) if high - low > 1e-6 else (low - 0.5, high + 0.5)


def _fold(
    middle: NDArray[np.float64], grid: ImageGrid | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], str]:
    """Return midpoints per cell, map x and y of the corners of the cells, and what a cell is.

    Cells are output bins, some of them together where they are many, or squares without a grid.
    """
    if grid is None:
        size = max(float((middle.max(0) - middle.min(0)).max()) / CELLS, 1.0)
        steps, corner = ((size, 0.0), (0.0, size)), middle.min(0)
        index, what = (middle - corner) / size, "cell"
    else:
        steps, corner = grid.steps, np.array(grid.corner)
        index, what = grid.index_of(middle), "output bin"
    cell = np.floor(index + 0.5).astype(np.int64)
    first = cell.min(axis=0)
    together = max(1, int(np.ceil((np.ptp(cell, axis=0).max() + 1) / MOST_CELLS)))
    cell = (cell - first) // together
    ni, nj = cell.max(axis=0) + 1
    counts = np.zeros((ni, nj))
    np.add.at(counts, (cell[:, 0], cell[:, 1]), 1)
    i, j = np.meshgrid(
        first[0] - 0.5 + together * np.arange(ni + 1), first[1] - 0.5 + together * np.arange(nj + 1)
    )
    (ax, ay), (bx, by) = steps
    x, y = (corner[0] + i * ax + j * bx).T, (corner[1] + i * ay + j * by).T
    a, b = (together * float(np.hypot(*v)) for v in steps)
    return counts, x, y, f"{what} of {a:.4g} x {b:.4g} m" if together == 1 else f"{a:.4g} x {b:.4g} m"
