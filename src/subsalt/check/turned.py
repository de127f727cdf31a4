"""Where a 3-D model lies on the map, and a survey whose lines run at an angle to the axes of its grid."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.line import heading
from subsalt.acquisition.turned import frame_along, turned
from subsalt.check.context import Context, Points, SurveyExtent, ok, rule, warning
from subsalt.earth.grid import Frame, map_corners
from subsalt.errors import Finding


@rule("turned", "model")
def place_of_volume(context: Context) -> Iterator[Finding]:
    """Corners, direction and line numbers of a 3-D model."""
    assert context.model is not None
    # a survey without a position of its own lies in the same frame
    grid, frame = context.model.grid, context.model.frame
    if frame == Frame() and context.survey is not None:
        frame = context.survey.frame
    vp = context.parameters.get("vp")
    said = vp.place if vp is not None else ""
    if grid.ndim != 3 or (frame == Frame() and not said):
        return
    corners = ", ".join(f"({x:.2f}, {y:.2f})" for x, y in map_corners(grid, frame))
    side = ", y to its right" if frame.flip else ""
    yield ok(
        f"model on the map  corners {corners}; x runs {heading(math.degrees(frame.azimuth) % 360.0)}{side}"
        + f"; {said}" * bool(said)
    )


@rule("turned", "model", "survey")
def lines_along_the_grid(context: Context) -> Iterator[Finding]:
    """A grid that is made to cover the survey, along other directions than its lines."""
    assert context.survey is not None
    if (
        not context.covering
        or context.modelling
        or any(p.grid is not None for p in context.parameters.values())
    ):
        return
    turn = turned(context.survey)
    if turn is None:
        return
    yield warning(
        "W398",
        f"the lines of the survey run {heading(turn.degrees % 360.0)}, at an angle to the axes of the grid: a grid "
        f"along them needs {turn.share:.0%} of the area",
        f"[data] frame = {turn.key}; coordinates of the job are then local ones, from there along the lines",
        degrees=turn.degrees,
        share=turn.share,
    )


def along_the_lines(lay: SurveyExtent, context: Context) -> str:
    """Return the frame that puts a survey whose lines are turned on a model without a place; empty when none does.

    The centres are brought together, since nothing says more.
    """
    survey, model = context.survey, context.model
    assert survey is not None
    assert model is not None
    if context.modelling or survey.frame != Frame() or model.frame != Frame() or 1 not in lay.axes:
        return ""
    turn = turned(survey)
    if turn is None:
        return ""
    stations: Points = np.concatenate([lay.src, lay.rcv])
    centre = 0.5 * (lay.low + lay.high)
    # x of the model may run along the lines or across them
    for degrees in (turn.degrees, turn.degrees + 90.0):
        frame = frame_along(stations, degrees)
        local = frame.to_local(stations)
        shift = 0.5 * (local.min(axis=0) + local.max(axis=0)) - centre
        x0, y0 = frame.to_world(np.array([[shift[0], shift[1], 0.0]]))[0, :2].round(2)
        frame = Frame(float(x0), float(y0), frame.azimuth)
        if lay.inside_share(frame.to_local(stations)) == 1.0:
            return (
                f"the lines of the survey run {heading(turn.degrees % 360.0)}; if the axes of the model do, such as "
                f"with both centres at one place: [data] frame = {{x0 = {x0:.10g}, y0 = {y0:.10g}, "
                f"azimuth = {degrees:g}}}"
            )
    return ""
