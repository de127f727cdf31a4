"""A survey of two dimensions whose y is a depth or a height: said with the keys that bring it into its model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.check.context import Context, SurveyExtent, error, layout_of, rule, with_origin
from subsalt.errors import Finding
from subsalt.io.scan.cures import DEEPEST
from subsalt.io.scan.upright import Upright, flat, levels, said, upright


@rule("upright", "model", "survey", "scan")
def y_is_a_depth(context: Context) -> Iterator[Finding]:
    """Coordinates y that say how deep stations are."""
    stations = getattr(context.scan, "stations", None)
    assert context.survey is not None
    if not stations or context.survey.notes.get("positions") == "tables":
        return
    depths = upright(stations)
    if depths is None:
        return
    context.facts["_upright"] = True
    yield error(
        "E381",
        said(depths),
        "; ".join(_readings(depths, layout_of(context), context))
        or "give depths and y of their own: [data.bytes] source_y = 0, receiver_y = 0, and [data.fix] source_depth, "
        "receiver_depth",
        sources=depths.sources,
        receivers=depths.receivers,
    )


def _readings(depths: Upright, lay: SurveyExtent, context: Context) -> list[str]:
    """Return the readings of y under which all stations lie in the model, those with shallower sources first."""
    top, bottom = float(lay.low[2]), float(lay.high[2])
    y = np.array([depths.sources, depths.receivers])
    out: list[tuple[float, str]] = []
    for words, z in (("the depth", y), ("the height above the bottom of the model", bottom - y)):
        if z.min() < top or z.max() > bottom:
            continue
        out.append((float(z[0].min()), f"if y is {words}: {_keys(depths, z, context, lay)}"))
    # where sources lie as deep as charges and guns in one reading, the other buries them
    shallow = [text for depth, text in sorted(out) if depth <= top + DEEPEST]
    return shallow or [text for _, text in sorted(out)]


def _keys(depths: Upright, z: np.ndarray, context: Context, lay: SurveyExtent) -> str:
    """Return the keys of one reading."""
    if depths.constant:
        return f"{flat()}, fix = {{source_depth = {z[0, 0]:g}, receiver_depth = {z[1, 0]:g}}}"
    down = bool(z[0, 0] == depths.sources[0])
    text = levels(context.scan.stations, context.scan.fix, -1 if down else 1)
    assert context.model is not None
    origin = [*(float(v) for v in context.model.grid.origin[:-1]), float(lay.low[2] - lay.high[2])]
    return text if down else f"{text}, {with_origin(context, origin)}"
