"""The stretch mute of a time migration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from subsalt.check.context import error, warning
from subsalt.check.mutes import LITTLE
from subsalt.errors import Finding
from subsalt.methods.kirchhoff.stacking import leg, mute_weight

if TYPE_CHECKING:
    from subsalt.acquisition.image_grid import ImageGrid
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.options import KirchhoffOptions
    from subsalt.methods.kirchhoff.velocity.time_velocity import FieldVelocity

#: offsets and locations that are looked at
OFFSETS, PLACES = 21, 9


def stretch_mute(
    table: TraceTable, grid: ImageGrid, options: KirchhoffOptions, velocity: FieldVelocity
) -> Iterator[Finding]:
    """Yield what a stretch mute leaves of flat reflectors, where it is next to nothing.

    Notes
    -----
    Offsets evenly from the sorted ones, at a few locations, over all image times.
    """
    limit = options.stretch_mute
    if limit is None:
        return
    where = grid.positions()[:: max(1, grid.size // PLACES)]
    v, eta = velocity.at(where, grid.time)
    x = np.sort(table.offset)[np.linspace(0, len(table) - 1, OFFSETS).round().astype(int)]
    t0 = grid.time.values()[None, None, :]
    e = None if eta is None else eta[:, None, :].astype(np.float64)
    t = 2.0 * leg(0.5 * t0, 0.5 * x[None, :, None], v[:, None, :].astype(np.float64), e)
    recorded = (t >= table.time.t0) & (t <= table.time.duration) & (t0 > 0)
    if not recorded.any():
        return  # rules on times say so

    def share(some: KirchhoffOptions) -> float:
        left = recorded & (mute_weight(t, np.broadcast_to(t0, t.shape), some) > 0)
        return float(left.sum() / recorded.sum())

    left = share(options)
    if left >= LITTLE:
        return
    usual = share(replace(options, stretch_mute=0.3)) > LITTLE
    say = (warning, "W314") if left > 0 else (error, "E314")
    yield say[0](
        say[1],
        f"stretch_mute = {100 * limit:.4g} % leaves {left:.1%} of what flat reflectors give at offsets from "
        f"{x[0]:.0f} to {x[-1]:.0f} m",
        '[kirchhoff] stretch_mute = "30 %"' if usual else '[kirchhoff] stretch_mute = "off"',
        kept=left,
    )
