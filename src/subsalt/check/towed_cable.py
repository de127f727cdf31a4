"""The velocity at towed instruments, which must be that of water."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from subsalt.check.context import Context, rule, warning
from subsalt.check.orientation import WATER
from subsalt.check.units import WATER_FEET, unit_cure
from subsalt.errors import Finding

#: m below the top of the model at which instruments of a marine survey lie at least, and its depth
UNDER, SEA = 2.0, 300.0


@rule("towed_cable", "velocity", "survey")
def at_the_cable(context: Context) -> Iterator[Finding]:
    """Towed instruments in a medium that is no water."""
    assert context.model is not None
    assert context.survey is not None
    vp, grid = context.model.volume("vp"), context.model.grid
    if vp is None or context.facts.get("_axes_wrong") or not _towed(context):
        return
    points = np.concatenate(
        [s.rcv[[0, -1]] for s in context.survey.shots[:: max(1, len(context.survey) // 50)]]
    )
    index = np.round(grid.to_index(points)).astype(np.int64)
    index = index[:, [0, 2]] if grid.ndim == 2 else index
    index = index[((index >= 0) & (index < np.array(grid.shape))).all(axis=1)]
    if not len(index):
        return
    v_at_cable = vp.take(index) if not isinstance(vp, np.ndarray) else vp[tuple(index.T)]
    middle = float(np.median(v_at_cable))
    if WATER[0] <= middle <= WATER[1]:
        return
    deep = float(np.median(points[:, 2]) - grid.origin[-1])
    p = context.parameters.get("vp")
    if p is not None and WATER_FEET[0] <= middle <= WATER_FEET[1]:
        what, cure = "it is that of water in ft/s", f"if it is: {unit_cure(p, 'ft/s')}"
    elif middle > WATER[1]:
        what = "the model has no water where the cable was towed"
        cure = "give a model that begins at the sea surface, with 1500 m/s down to the sea bottom"
        context.facts["_no_water"] = True
    else:
        what = "slower than water: shear velocities, or another unit"
        cure = "give the file of P velocities, in m/s"
    yield warning(
        "W433",
        f"vp is {middle:.4g} m/s at the receivers ({deep:.3g} m below the top of the model), which move with the "
        f"sources as a towed cable does; water has 1450 to 1550: {what}",
        cure,
        vp=middle,
    )


def _towed(context: Context) -> bool:
    """Return whether receivers lie below the surface at one depth, trail on one side, and move with the sources."""
    assert context.model is not None
    assert context.survey is not None
    shots = [s for s in context.survey.shots if len(s.rcv)]
    top, grid = context.model.grid.origin[-1], context.model.grid
    if len(shots) < 3 or (grid.shape[-1] - 1) * grid.spacing[-1] < SEA:
        return False
    near = np.array([s.rcv[:, :2].mean(axis=0) - s.src[:2] for s in shots])
    moved = np.ptp([s.src[:2] for s in shots], axis=0).max()
    z = np.concatenate([[s.src[2], s.rcv[:, 2].min()] for s in shots]) - top
    still = float(np.ptp(near, axis=0).max()) < 0.05 * moved
    along = np.median(near, axis=0)
    if any(float(((s.rcv[:, :2] - s.src[:2]) @ along).min()) < 0 for s in shots):
        return False
    return bool(moved > 0 and still and z.min() >= UNDER and np.abs(near).max() > 0)
