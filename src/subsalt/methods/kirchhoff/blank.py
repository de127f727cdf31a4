"""A time image without content is refused, with what emptied it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from subsalt.errors import ConfigError, DataError, SubsaltError
from subsalt.methods.kirchhoff.engine import velocities
from subsalt.methods.kirchhoff.reach import reach
from subsalt.methods.kirchhoff.stacking import leg, mute_weight
from subsalt.parallel.comm import Comm
from subsalt.run.blank import KEPT, TRACES, Contents, not_finite

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.assemble import Piece
    from subsalt.methods.kirchhoff.setup import KirchhoffSetup


@dataclass
class TimeContents:
    """What a time migration has put into its files: image, gathers, and the samples that traces were added to."""

    image: Contents = field(default_factory=Contents)
    gathers: Contents = field(default_factory=Contents)
    hits: Contents = field(default_factory=Contents)

    def add(self, piece: Piece) -> None:
        """Count what is in a piece of the image."""
        for name in ("image", "gathers", "hits"):
            getattr(self, name).add(getattr(piece, name))


def refuse_blank_times(found: TimeContents, setup: KirchhoffSetup, world: Comm) -> None:
    """Raise when a time image, or its gathers, are zero throughout or not finite somewhere; classes may be. Collective.

    Raises
    ------
    ConfigError, DataError, NumericalFailure
        As `refuse_blank`.
    """
    image, gathers = found.image.on_all(world), found.gathers.on_all(world)
    if image.live and gathers.live and not image.bad and not gathers.bad:
        return
    hits = found.hits.on_all(world)
    with world.together():
        if not world.is_root:
            return
        if gathers.bad:
            raise not_finite("sums of traces", gathers, "sum over traces")
        if image.bad:
            raise not_finite("image", image, "stack of the classes")
        raise _empty_sums(setup, hits) if not gathers.live else _no_stack(gathers)


def _no_stack(gathers: Contents) -> SubsaltError:
    return DataError(
        f"the image is zero throughout: the step stack of the classes leaves nothing of gathers in which "
        f"{gathers.live} of {gathers.size} values are not zero",
        f"look at the gathers with [kirchhoff] gathers; {KEPT}",
        code="E845",
    )


def _empty_sums(setup: KirchhoffSetup, hits: Contents) -> SubsaltError:
    """Return the error of sums to which nothing was added."""
    if not hits.live:
        return _nothing_added(setup)
    used = np.flatnonzero(setup.group >= 0)
    some = used[:: max(1, len(used) // TRACES)]
    read = Contents.of(setup.table.files.read(setup.table.number[some]))
    which = f"{len(some)} of {len(used)} traces were read again"
    if not read.live:
        return DataError(
            f"the image is zero throughout: all samples of the traces are zero ({which})",
            f"look at the files with `subsalt scan`: their format, and how they were copied; {KEPT}",
            code="E845",
        )
    return DataError(
        f"the image is zero throughout: the step filter (phase correction and alias bands) leaves nothing of traces in "
        f"which {read.live} of {read.size} samples are not zero ({which}): constant, or too small for float32",
        f"look at the traces with `subsalt scan`; scale them to amplitudes near 1; {KEPT}",
        code="E845",
    )


def _nothing_added(setup: KirchhoffSetup) -> SubsaltError:
    """Return the error of traces of which no sample comes to a location."""
    o, grid, record = setup.options, setup.grid, setup.table.time
    again = f", and start again with --recompute; {KEPT}"
    span = f"{grid.time.t0:g} to {grid.time.duration:g} s"
    recorded, kept, nearest = _nearest_offset(setup)
    limits = [] if o.aperture is None else [f"aperture = {o.aperture:g} m"]
    limits += [] if o.dip is None else [f"dip = {o.dip:g} degrees"]
    if not recorded:
        what = f"image times {span}: no reflection comes within the records, {record.t0:g} to {record.duration:g} s"
        cure = "set [kirchhoff] time within the records"
    elif not kept and o.stretch_mute is not None and len(reach(setup.table, grid.positions(), o.aperture)):
        what = f"stretch_mute = {100 * o.stretch_mute:g} %: offsets from {nearest:.0f} m at {span} are stretched more"
        cure = 'set [kirchhoff] stretch_mute higher, such as "30 %", or "off"'
    else:
        what = (
            f"aperture ({', '.join(limits) or 'no limit'}): none of {len(setup.table)} traces reaches any of "
            f"{grid.size} locations"
        )
        cure = "widen [kirchhoff] aperture and dip, or check the output grid"
    return ConfigError(f"the image is zero throughout: the step {what}", cure + again, code="E844")


def _nearest_offset(setup: KirchhoffSetup) -> tuple[bool, bool, float]:
    """Return whether flat reflectors are recorded at the least offset, whether any is kept, and that offset."""
    grid, record = setup.grid, setup.table.time
    v, eta = velocities(setup, grid.positions()[grid.size // 2 :][:1])
    nearest = float(setup.table.offset[setup.group >= 0].min(initial=np.inf))
    t0, at = grid.time.values(), np.full(1, 0.5 * nearest)
    t = 2.0 * leg(0.5 * t0, at, v[0].astype(np.float64), None if eta is None else eta[0].astype(np.float64))
    inside = (t >= record.t0) & (t <= record.duration) & (t0 > 0)
    return bool(inside.any()), bool((inside & (mute_weight(t, t0, setup.options) > 0)).any()), nearest
