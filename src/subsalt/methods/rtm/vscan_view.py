"""Table and pictures of a depth scan: the map of best scales, and gathers at every scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.earth.grid import Grid
from subsalt.io.volumes import volume
from subsalt.methods.rtm.stored_gathers import PlacedGathers
from subsalt.view.depth_gathers import (
    MOST_GATHERS,
    LineMeasure,
    PlacedGather,
    TraceAxis,
    draw_depth_gathers,
    draw_scale_map,
)
from subsalt.view.pages import Sheet

if TYPE_CHECKING:
    from subsalt.methods.rtm.vscan import DepthScan

#: rows of the table at most: places evenly along the line
ROWS = 12


def table(scan: DepthScan) -> list[str]:
    """Return the lines of the table: the best scales by place and depth, and their median."""
    best = scan.best
    across = len(best.y) > 0
    lines = [
        f"best scale of the velocity {scan.part}, by {scan.by}",
        f"{'x (m)':>9} {'    y (m) ' if across else ''}{'depth (m)':>10}   scale",
    ]
    rows = np.argwhere(np.isfinite(best.scale) | best.at_end | best.unclear)
    for i, w in rows[:: max(1, -(-len(rows) // ROWS))]:
        place = f"{best.x[i]:9.0f} " + (f"{best.y[i]:9.0f} " if across else "")
        text = f"{place}{best.depth[i, w]:10.0f}   "
        if best.at_end[i, w]:
            lines.append(f"{text}the scan ends there: scan wider")
        elif best.unclear[i, w]:
            lines.append(f"{text}no scale: too little light, or as flat at every scale")
        else:
            lines.append(f"{text}{best.scale[i, w]:.4f} +- {best.sigma[i, w]:.4f}")
    median, sigma = best.median()
    if np.isnan(median):
        lines.append("no scale: no gather is flattest inside the scan; scan wider, or look at the gathers")
    else:
        lines.append(f"median {median:.4f} +- {sigma:.4f} of {int(np.isfinite(best.scale).sum())} values")
    if scan.by == "curvature":
        lines.append("these are errors of the whole overburden, not of a layer")
    if "updated_file" in scan.files:
        lines.append(f'for the next migration: [model] vp = "{scan.files["updated_file"]}"')
    return lines


def draw(
    scan: DepthScan, gathers: Sequence[PlacedGathers], image: NDArray, places: Sequence[Sequence[float]]
) -> list[Path]:
    """Draw the map of scales over the image, and the gathers of every scale at some places; return the pictures.

    Of a volume the sections along x are drawn on which the places lie, the map on the first of them; without places on
    the line in the middle.
    """
    first = gathers[0].stored[0]
    chosen = [first.nearest(*place) for place in places] or [(len(first.x) // 2, len(first.y) // 2)]
    made = []
    if np.isfinite(scan.best.scale).any():
        made.append(_draw_map(scan, chosen[0][1], *_section(gathers[0], image, chosen[0][1])))
    few = np.unique(np.linspace(0, len(gathers) - 1, min(len(gathers), MOST_GATHERS)).round().astype(int))
    drawn = list(dict.fromkeys(chosen))
    # an image of each scale at a time: of a volume they are large
    stacks = [_stacks(scan.runs[k], gathers[k], drawn) for k in few]
    for n, (i, j) in enumerate(drawn):
        x, (section, grid) = float(first.x[i]), _section(gathers[0], image, j)
        panels = [
            PlacedGather(x, gathers[k].of_place(i * len(first.y) + j), stack[n], f"{_scale(scan, k):g} v")
            for k, stack in zip(few, stacks, strict=True)
        ]
        across = first.grid.ndim == 3
        ending = f"_y{first.y[j]:.0f}" if across else ""
        title = f"depth scan: gathers at x = {x:g} m" + (f", y = {first.y[j]:g} m" if across else "")
        sheet = Sheet(scan.folder / f"vscan_x{x:.0f}{ending}.png", title)
        made.append(draw_depth_gathers(sheet, section, grid, panels, _traces(gathers[0])))
    return made


def _draw_map(scan: DepthScan, line: int, section: NDArray, grid: Grid) -> Path:
    """Draw the map of scales of a line over its section."""
    best, own = scan.best, scan.best.line(line)
    half = 0.5 * float(np.median(np.diff(best.depth[0]))) if best.depth.shape[1] > 1 else 100.0
    middle = np.median(best.depth[own], axis=0)
    edges = np.stack([middle - half, middle + half], axis=1)
    scales = best.scale[own]
    overall = np.array([np.nanmedian(r) if np.isfinite(r).any() else np.nan for r in scales])
    measure = LineMeasure(best.x[own], edges, scales, overall)
    where = f", y = {best.y[line]:g} m" if len(best.y) else ""
    sheet = Sheet(scan.folder / "vscan.png", f"depth scan: best scale of the velocity {scan.part}{where}")
    return draw_scale_map(sheet, measure, section, grid, (scan.scales[0], scan.scales[-1]))


def _section(gathers: PlacedGathers, image: NDArray, line: int) -> tuple[NDArray, Grid]:
    """Return the section of the image along a line of places, and its grid."""
    first = gathers.stored[0]
    grid = first.grid
    if grid.ndim == 2:
        return image, grid
    (nx, _, nz), (dx, _, dz), (x0, _, z0) = grid.shape3, grid.spacing3, grid.origin3
    return image[:, first.columns[1][line]], Grid((nx, nz), (dx, dz), (x0, z0))


def _stacks(run: Path, gathers: PlacedGathers, places: Sequence[tuple[int, int]]) -> list[NDArray]:
    """Return the columns of the image of a run at places, which are given by their numbers along x and y."""
    image, columns = volume.read(run / "image.sgy").values, gathers.stored[0].columns
    return [_section(gathers, image, j)[0][columns[0][i]].copy() for i, j in places]


def _traces(gathers: PlacedGathers) -> TraceAxis:
    """Return the axis of the traces of a place: angles, or numbers where they are of two directions."""
    if len(gathers.stored) == 1:
        return TraceAxis(np.array(gathers.stored[0].traces), "angle (deg)")
    count = sum(len(s.traces) for s in gathers.stored)
    return TraceAxis(np.arange(1.0, count + 1), "trace: angles along x, then y")


def _scale(scan: DepthScan, k: int) -> float:
    """Return the scale of a run."""
    return scan.scales[k] if scan.by == "scan" else 1.0
