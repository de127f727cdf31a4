"""Table and pictures of a depth scan: the map of best scales, and gathers at every scale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.methods.rtm.stored_gathers import StoredGathers
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
    lines = [
        f"best scale of the velocity {scan.part}, by {scan.by}",
        f"{'x (m)':>9} {'depth (m)':>10}   scale",
    ]
    rows = np.argwhere(np.isfinite(best.scale) | best.at_end | best.unclear)
    for i, w in rows[:: max(1, -(-len(rows) // ROWS))]:
        text = f"{best.x[i]:9.0f} {best.depth[i, w]:10.0f}   "
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
    scan: DepthScan, stored: Sequence[StoredGathers], image: NDArray, places: Sequence[Sequence[float]]
) -> list[Path]:
    """Draw the map of scales over the image, and the gathers of every scale at some places; return the pictures."""
    first, best = stored[0], scan.best
    grid, made = first.grid, []
    if np.isfinite(best.scale).any():
        half = 0.5 * float(np.median(np.diff(best.depth[0]))) if best.depth.shape[1] > 1 else 100.0
        middle = np.median(best.depth, axis=0)
        edges = np.stack([middle - half, middle + half], axis=1)
        overall = np.array([np.nanmedian(r) if np.isfinite(r).any() else np.nan for r in best.scale])
        measure = LineMeasure(best.x, edges, best.scale, overall)
        sheet = Sheet(scan.folder / "vscan.png", f"depth scan: best scale of the velocity {scan.part}")
        made.append(draw_scale_map(sheet, measure, image, grid, (scan.scales[0], scan.scales[-1])))
    chosen = [first.nearest(p[0])[0] for p in places] or [len(first.x) // 2]
    few = np.unique(np.linspace(0, len(stored) - 1, min(len(stored), MOST_GATHERS)).round().astype(int))
    for i in dict.fromkeys(chosen):
        x = float(first.x[i])
        panels = [
            PlacedGather(
                x, np.asarray(stored[k].values[i, 0]), image[first.columns[0][i]], f"{_scale(scan, k):g} v"
            )
            for k in few
        ]
        sheet = Sheet(scan.folder / f"vscan_x{x:.0f}.png", f"depth scan: gathers at x = {x:g} m")
        axis = TraceAxis(np.array(first.traces), "angle (deg)")
        made.append(draw_depth_gathers(sheet, image, grid, panels, axis))
    return made


def _scale(scan: DepthScan, k: int) -> float:
    """Return the scale of a run."""
    return scan.scales[k] if scan.by == "scan" else 1.0
