"""How far a survey sees into its model: the aperture, and the length of the records."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subsalt.check.context import Context, rule, warning
from subsalt.earth.model_like import ModelLike
from subsalt.earth.planes import slabs
from subsalt.errors import Finding


@rule("geometry", "model", "survey")
def thin_window(context: Context) -> Iterator[Finding]:
    """An aperture of a few cells."""
    assert context.model is not None
    aperture = context.imaging.aperture
    widest = max(context.model.grid.spacing[:-1])
    if not context.modelling and aperture is not None and aperture < 10 * widest:
        yield warning(
            "W340",
            f"the aperture of {aperture:g} m is {aperture / widest:.2g} cells: dipping reflectors will be "
            "missing",
            _in_km(aperture, context)
            + f"for the depth of the model [imaging] aperture = {_depth(context):.3g}; or leave [imaging] aperture out",
            aperture=aperture,
        )


def _depth(context: Context) -> float:
    assert context.model is not None
    grid = context.model.grid
    return (grid.shape[-1] - 1) * grid.spacing[-1]


def _in_km(aperture: float, context: Context) -> str:
    """Return the cure of an aperture that was written in kilometres; empty when that is no likely one."""
    assert context.model is not None
    grid = context.model.grid
    widest = max((n - 1) * h for n, h in zip(grid.shape, grid.spacing, strict=True))
    if not 10 * max(grid.spacing) <= 1e3 * aperture <= 2 * widest:
        return ""
    return f'lengths are in metres: for kilometres [imaging] aperture = "{aperture:g} km"; else '


#: records last so many times the echo of the model's bottom, and offsets are so many times its depth (far traces
#: meet it at 56 degrees): such a survey was made for more
DEEPER = 3.0


@rule("geometry", "velocity", "survey")
def record_length(context: Context) -> Iterator[Finding]:
    """A record too short for the depth of the model."""
    assert context.model is not None
    assert context.survey is not None
    grid, two_way = context.model.grid, two_way_time(context.model)
    record = context.survey.time.duration
    if record < 0.9 * float(two_way[-1]):
        reach = float(np.interp(record, two_way, grid.axis(-1)))
        yield warning(
            "W341",
            f"the record of {record:.4g} s ends before the echo of the model's bottom ({two_way[-1]:.4g} s, "
            "vertical): "
            f"nothing below about {reach:.4g} m can be imaged",
            f"cut the model at {reach:.4g} m to save time"
            + (", or lengthen record_length" if context.modelling else ", or use longer records"),
            reach=reach,
            two_way=float(two_way[-1]),
        )
    elif not context.modelling:
        yield from _too_shallow(context, float(two_way[-1]))


def _too_shallow(context: Context, echo: float) -> Iterator[Finding]:
    """Yield a warning for a model that ends far above what records and spreads are made for."""
    assert context.model is not None
    assert context.survey is not None
    grid, record = context.model.grid, context.survey.time.duration
    deep = (grid.shape[-1] - 1) * grid.spacing[-1]
    far = max((float(s.offset.max()) for s in context.survey.shots if len(s.rcv)), default=0.0)
    # of one layer of nodes, other rules say that it is no model
    if echo > 0 and record > DEEPER * echo and far > DEEPER * deep:
        reach = deep * record / echo
        yield warning(
            "W344",
            f"the model is {deep:.4g} m deep: its bottom echoes at {echo:.3g} s; the records last {record:.4g} s, the "
            f"offsets reach {far:.4g} m: what they show below is not imaged",
            f"if it is too shallow by mistake, extend it to about {reach:.3g} m; if its depths are all that is wanted, "
            "nothing",
            two_way=echo,
            offset=far,
        )


def two_way_time(model: ModelLike) -> NDArray[np.float64]:
    """Return the vertical two-way time from the top of a model to each of its rows, s, by its mean slowness."""
    grid, vp = model.grid, model.volume("vp")
    assert vp is not None
    across = tuple(range(grid.ndim - 1))
    total = sum((1.0 / part).sum(axis=across, dtype=np.float64) for _, part in slabs(vp))
    slowness = total * (grid.shape[-1] / grid.size)
    layers = np.cumsum(0.5 * (slowness[1:] + slowness[:-1]) * grid.spacing[-1])
    return np.asarray(2 * np.concatenate([[0.0], layers]))
