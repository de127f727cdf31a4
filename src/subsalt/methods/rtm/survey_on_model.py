"""Whether model, survey and wavelet fit together: what `forward` and `migrate` refuse before they compute anything.

A position beside the model would widen the grid with made-up medium, by kilometres if a coordinate is wrong; one on a
free surface hears and sends nothing. `subsalt check` says the same of a job with more evidence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.acquisition.wavelet import Wavelet
from subsalt.earth.grid import Grid
from subsalt.earth.model import EarthModel
from subsalt.earth.topography import Topography
from subsalt.errors import GeometryError
from subsalt.option_arguments import of_kind
from subsalt.propagation.options import PropagationOptions

#: positions this far outside, in cells, count as on the edge: coordinates are rounded to centimetres
EDGE = 1e-3

#: depth below a free surface, in cells, that still counts as on it
ON_SURFACE = 1e-2


def check_arguments(model: EarthModel, survey: Survey, wavelet: Wavelet, options: PropagationOptions) -> None:
    """Refuse arguments of another type, and a survey that does not lie on the model.

    Raises
    ------
    ConfigError
        For a model, survey or wavelet of another type (E777).
    GeometryError
        For no shots, a line on a volume or the reverse, positions outside the model, and shots of which nothing would
        be heard.
    """
    of_kind("model", model, EarthModel)
    of_kind("survey", survey, Survey)
    of_kind("wavelet", wavelet, Wavelet)
    grid = model.grid
    if not survey.shots:
        raise GeometryError("the survey has no shots", "check the selection of shots", code="E304")
    if grid.ndim == 3 and survey.ndim == 2:
        raise GeometryError("the model is 3-D, the survey is 2-D", "give positions as (x, y, z)", code="E329")
    for shot in survey.shots:
        _on_the_grid(grid, shot, "source", shot.src[None])
        _on_the_grid(grid, shot, "receiver", shot.rcv)
        if options.topography is not None:
            _below_topography(options.topography, shot)
        elif options.free_surface:
            _below_the_surface(grid, shot)


def _on_the_grid(grid: Grid, shot: Shot, name: str, points: NDArray[np.float64]) -> None:
    """Refuse points of one shot that lie outside the grid."""
    if not len(points):
        return
    if grid.ndim == 2 and points[:, 1].any():
        raise GeometryError(
            f"shot {shot.id}: a {name} has y = {points[:, 1][np.nonzero(points[:, 1])[0][0]]:g} m, the model is 2-D",
            "project the survey on the line of the model, with y = 0",
            code="E329",
        )
    index, last = grid.to_index(points), np.array(grid.shape3) - 1
    out = (index < -EDGE) | (index > last + EDGE)
    if not out.any():
        return
    i, axis = (int(v) for v in np.argwhere(out)[0])
    first, end = grid.origin3[axis], grid.origin3[axis] + last[axis] * grid.spacing3[axis]
    beside = "E331" if name == "source" else "E332"
    above = "E333" if name == "source" else "E334"
    code = beside if axis < 2 else (above if index[i, axis] < 0 else "E335")
    raise GeometryError(
        f"shot {shot.id}: {int(out.any(axis=1).sum())} of {len(points)} {name}s lie outside the model, the first at "
        f"{'xyz'[axis]} = {points[i, axis]:.6g} m (the model goes from {first:.6g} to {end:.6g})",
        "correct the positions, leave the shot out, or extend the model",
        code=code,
    )


def _below_topography(surface: Topography, shot: Shot) -> None:
    """Refuse a shot with its source or receivers above a free surface inside the model."""
    for name, points in (("source", shot.src[None]), ("receivers", shot.rcv)):
        above = surface.depth(points[:, :2]) - points[:, 2]
        if len(points) and above.max() >= 0:
            raise GeometryError(
                f"shot {shot.id}: of its {name} {int((above >= 0).sum())} lie on or above the topography, by up to "
                f"{above.max():.4g} m",
                "give depths below the surface",
                code="E755",
            )


def _below_the_surface(grid: Grid, shot: Shot) -> None:
    """Refuse a shot whose source, or whose every receiver, lies on the free surface."""
    for name, points in (("source lies", shot.src[None]), ("receivers all lie", shot.rcv)):
        depth = grid.to_index(points)[:, 2]
        if len(depth) and (depth < ON_SURFACE).all():
            raise GeometryError(
                f"shot {shot.id}: its {name} on the free surface, where pressure is always zero",
                "give a depth, or set free_surface = False",
                code="E336",
            )
