"""A horizontal spacing that a converter left at 1, where the survey shows another one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.acquisition.survey import Survey
from subsalt.check.context import Context, SurveyExtent, error, rule
from subsalt.earth.grid import Grid
from subsalt.errors import Finding


@rule("unset_spacing", "model", "survey")
def unset_spacing(context: Context) -> Iterator[Finding]:
    """A horizontal spacing of 1 that a converter left, while the survey needs that of another axis or its stations."""
    vp = context.parameters.get("vp")
    assert context.survey is not None
    if (
        vp is None
        or vp.grid is None
        or context.resampling
        or "spacing" in vp.given
        or not context.survey.shots
    ):
        return
    g = vp.grid
    unset = [axis for axis, h in enumerate(g.spacing[:-1]) if h == 1.0]
    if (
        not unset
        or g.spacing[-1] == 1.0
        or g.ndim != context.survey.ndim
        or _mostly_inside(context.survey, g, 1.0)
    ):
        return
    for step in _likely_steps(context.survey, g):
        spacing = [step if axis in unset else h for axis, h in enumerate(g.spacing)]
        if _mostly_inside(context.survey, Grid(g.shape, tuple(spacing), g.origin), 0.99):
            break
    else:
        return
    context.facts["_grid_wrong"] = True
    letters = " and ".join("xy"[axis] for axis in unset)
    wide = " x ".join(f"{(n - 1) * h:g}" for n, h in zip(g.shape[:-1], g.spacing[:-1], strict=True))
    volumes = [p for p in context.parameters.values() if p.grid is not None and p.grid.spacing == g.spacing]
    yield error(
        "E406",
        f"the model has a spacing of 1 m along {letters}, as converters leave it that know none: it is {wide} m wide "
        f"and the survey does not lie on it; with {step:g} m it does",
        f"[model] {'; '.join(p.table(spacing=spacing) for p in volumes)}",
        spacing=spacing,
    )


def _mostly_inside(survey: Survey, grid: Grid, share: float) -> bool:
    """Return whether that share of all stations lies on a grid, horizontally."""
    lay = SurveyExtent.of(survey, grid)
    return lay.inside_share(np.concatenate([lay.src, lay.rcv])) >= share


def _likely_steps(survey: Survey, grid: Grid) -> list[float]:
    """Return the spacings that a model of a survey is likely to have: its other ones, then those of the stations."""
    steps = [h for h in grid.spacing if h != 1.0]
    stations = np.concatenate([s.rcv for s in survey.shots[:20]])
    for places in (stations[:, 0], np.array([s.src[0] for s in survey.shots])):
        apart = np.diff(np.unique(np.round(places, 2)))
        if len(apart):
            interval = float(np.median(apart))
            steps += [interval / 2, interval]
    return list(dict.fromkeys(steps))
