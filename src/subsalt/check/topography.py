"""Topography: whether the surface lies inside the model, and sources and receivers at it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from subsalt import physics
from subsalt.check.context import Context, error, ok, rule, warning
from subsalt.earth.grid import Box, Grid
from subsalt.earth.topography import Topography
from subsalt.errors import Finding
from subsalt.numerics.stencil import radius_of
from subsalt.propagation.topography import STEEPEST, not_with, room

#: height of the ghosts over the radius of curvature from which mirror points are not unique (waves of 10 nodes are then
#: wrong by 0.9 %, at 2 by 1.3 %, at 0.1 by 0.2 %: benchmarks/topography.py). Waves do not grow at any curvature
SHARP = 1.0
#: cells below the surface from which waves of 10 nodes are right to 2 %; at 0.4 cells, to 8 %
SHALLOW = 1.0


@rule("topography", "model", "survey")
def topography(context: Context) -> Iterator[Finding]:
    """A surface outside the model, steeper than what is known to be stable, or in a medium it cannot have."""
    surface, model = context.propagation.topography, context.computed or context.model
    if surface is None:
        return
    assert model is not None
    options = context.propagation
    wrong = not_with(options, physics.medium_of(model, options.medium))
    if wrong:
        yield error(
            "E754",
            f"topography together with {' and '.join(wrong)}: the field has no odd extension across a tilted surface",
            'set [propagation] medium = "isotropic", or migrate in time with [kirchhoff.floating_datum]',
        )
    margin = options.layer_cells
    grid = _with_layer(model.grid, margin)
    facts = surface.facts(grid)
    (high, low), slope = facts["depths"], facts["steepest"]
    dz, top = grid.spacing3[2], grid.origin3[2]
    bottom = top + (grid.shape3[2] - 1) * dz
    reach = radius_of(options.order)
    cells = room(reach, options.support, grid.ndim)
    if low >= bottom - reach * dz:
        yield error(
            "E753",
            f"the topography reaches down to z = {low:.5g} m, and the model ends at {bottom:.5g} m",
            "z is positive down and counts from [propagation.topography] datum: an elevation of 300 m with a datum of "
            "500 m is z = 200 m; correct the datum, or extend the model",
            lowest=low,
            bottom=bottom,
        )
    elif high < top + (cells + 1) * dz:
        where = "above the model, which begins" if high < top else "near the top of the model, which begins"
        yield error(
            "E753",
            f"the topography reaches up to z = {high:.5g} m, {where} at {top:.5g} m: values above the surface take "
            f"{cells + 1} nodes of {dz:.4g} m",
            f"let the model begin at z = {high - (cells + 1) * dz:.5g} m or higher (velocities above the surface do "
            "not count), or raise [propagation.topography] datum if z = 0 lies at a higher elevation",
            highest=high,
            top=top,
            nodes=cells + 1,
        )
    elif slope > STEEPEST:
        yield error(
            "E753",
            f"the topography has slopes of up to {slope:.3g}; the scheme is known to be stable up to {STEEPEST:g}",
            "average over a larger [propagation.topography] radius",
            slope=slope,
        )
    else:
        yield ok(
            f"topography at z = {high:.5g} to {low:.5g} m, slopes up to {slope:.2g}",
            **facts,
        )
        yield from _bends(surface, grid, cells)
    yield from _stations(context, max(grid.spacing))


def _with_layer(grid: Grid, cells: int) -> Grid:
    """Return a grid with the cells of the absorbing layer on its sides."""
    nx, ny, nz = grid.shape3
    across = cells if grid.ndim == 3 else 0
    return grid.window(Box((-cells, -across, 0), (nx + cells, ny + across, nz)))


def _bends(surface: Topography, grid: Grid, cells: int) -> Iterator[Finding]:
    """Yield the warning on a surface that bends within the height of its ghosts."""
    z = surface.under(grid)
    bend = [np.abs(np.diff(z, 2, axis=a)).max(initial=0.0) / grid.spacing3[a] ** 2 for a in (0, 1)]
    height = cells * max(grid.spacing)
    if max(bend) * height > SHARP:
        yield warning(
            "W753",
            f"the topography bends with a radius of {1 / max(bend):.4g} m, and values above it lie up to {height:.4g} "
            "m high: mirror points are not unique there",
            "average over a larger [propagation.topography] radius, or compute on a finer grid",
            radius=1 / max(bend),
            height=height,
        )


def _stations(context: Context, cell: float) -> Iterator[Finding]:
    """Yield what was moved to lie below the surface."""
    assert context.survey is not None
    notes = cast("dict[str, Any]", context.survey.notes.get("topography", {}))
    depth = notes.get("depth", cell)
    if depth < (SHALLOW - 1e-3) * cell:
        yield warning(
            "W755",
            f"sources and receivers lie {depth:g} m below the topography, less than a cell of {cell:.4g} m: amplitudes "
            "err by up to 10 % there",
            f"set [propagation.topography] depth = {math.ceil(cell)}",
            depth=depth,
            cell=cell,
        )
    for name in ("sources", "receivers"):
        if not (counts := notes.get(name)) or not counts["count"]:
            continue
        if not counts["moved"]:
            yield ok(
                f"all {counts['count']} {name} lie {depth:g} m or more below the topography, the deepest "
                f"{counts['deepest']:.4g} m",
                **counts,
            )
            continue
        say = (
            f"{counts['moved']} of {counts['count']} {name} are brought {depth:g} m below the topography, by up to "
            f"{counts['most']:.4g} m (shot {counts['shot']}); the deepest lies {counts['deepest']:.4g} m below it"
        )
        if context.modelling or counts["most"] - depth <= cell:
            yield ok(say, **counts)
            continue
        yield warning(
            "W755",
            say,
            "a smaller [propagation.topography] radius follows the ground more closely; or correct the elevations",
            **counts,
        )
