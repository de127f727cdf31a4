"""Table and pictures of a velocity scan: panels at every scale, and the scale that is best when."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.vscan import VelocityScan


#: locations whose gathers are drawn when no location is given
PLACES = 1


#: window over which the amplitudes of panels are balanced, s
BALANCE = 0.5


def table(scan: VelocityScan) -> list[str]:
    """Return the lines of the table: the measure of every scale by window of time, and the best scale."""
    values = scan.semblance if scan.by_gathers else scan.power / max(float(scan.power.max()), 1e-300)
    what = "semblance of the gathers" if scan.by_gathers else "power of the stack, relative"
    lines = [
        f"{what}, by scale of the velocity",
        f"{'time (s)':>15}  " + " ".join(f"{s:>7g}" for s in scan.scales) + "    best",
    ]
    for k, (first, last) in enumerate(scan.windows):
        row = " ".join(f"{v:7.3f}" if np.isfinite(v) else f"{'-':>7}" for v in values[:, k])
        best = "" if np.isnan(scan.best[k]) else f"{scan.best[k]:7.3f}"
        best += " (the scan ends there)" if scan.at_end[k] else ""
        lines.append(f"{first:7.3f} {last:7.3f}  {row} {best}".rstrip())
    if not scan.by_gathers:
        lines.append(
            "the job makes no image gathers: with [kirchhoff] gathers the moveout decides, which is sharper"
        )
    return lines


def draw(scan: VelocityScan, places: Sequence[Sequence[float]], title: str) -> list[Path]:
    """Draw stacks and gathers at every scale, and the map of what was measured; return the pictures."""
    from subsalt import view
    from subsalt.view.gather_pages import locations_of
    from subsalt.view.palettes import MUTED
    from subsalt.view.time_sections import indices_at, line_name
    from subsalt.view.time_volume import TraceVolume, grid_of_traces

    first = scan.runs[0]
    grid = grid_of_traces(first.image)
    made = [
        view.scan_map(
            scan.scales,
            scan.windows,
            scan.semblance if scan.by_gathers else scan.power,
            scan.best,
            scan.folder / "vscan.png",
            label="semblance" if scan.by_gathers else "power of the stack",
            title=title,
        )
    ]
    i = indices_at(grid, places[0])[0] if places else grid.shape[0] // 2
    inline = grid.inlines[0] + i * grid.inlines[2]
    stacks = [(f"{r.scale:g} v", TraceVolume(r.image, grid).read(i, i + 1)[0]) for r in scan.runs]
    numbers = grid.crosslines[0] + grid.crosslines[2] * np.arange(grid.shape[1])
    made.append(
        view.scan_panels(
            stacks,
            scan.time,
            scan.folder / "vscan_stack.png",
            across=numbers,
            balance=BALANCE,
            name=line_name(grid),
            title=title,
            about="stacks" if line_name(grid) == "CDP" else f"stacks of inline {inline}",
        )
    )
    if first.gathers is None:
        return made
    chosen = locations_of(grid, None, places, None)
    for i, j in chosen if places else chosen[len(chosen) // 2 :][:PLACES]:
        here = grid.inlines[0] + i * grid.inlines[2], int(numbers[j])
        panels = [(f"{r.scale:g} v", r.gathers.gather(*here)) for r in scan.runs if r.gathers is not None]
        name = f"CDP {here[1]}" if line_name(grid) == "CDP" else f"inline {here[0]}, crossline {here[1]}"
        made.append(
            view.scan_panels(
                [(label, traces) for label, (_, traces) in panels],
                scan.time,
                scan.folder / f"vscan_{here[0]}_{here[1]}.png",
                across=panels[0][1][0],
                name="offset (m)",
                muted=MUTED,
                balance=BALANCE,
                title=title,
                about=f"image gathers at {name}",
            )
        )
    return made
