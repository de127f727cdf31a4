"""An image without a value, or with values that are no numbers: refused at the end, with the step that made it so.

A run that ends well has an image that somebody can look at. One that is zero throughout is looked at as well, and taken
for a survey without reflectors; it is an error, told with the step that emptied it. What was computed stays in the run
directory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, DataError, NumericalFailure, SubsaltError
from subsalt.methods.kirchhoff.engine import velocities
from subsalt.methods.kirchhoff.reach import reach
from subsalt.methods.kirchhoff.stacking import leg, mute_weight
from subsalt.parallel.comm import Comm

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.methods.kirchhoff.setup import KirchhoffSetup
    from subsalt.methods.rtm.image_sum import ImageSum
    from subsalt.run.kirchhoff.assemble import Piece

#: shots whose traces are read again to see whether there was anything in them
LOOKED_AT = 5
#: traces of a time migration, for the same
TRACES = 200
#: values that are looked at together
PIECE = 1 << 22
KEPT = "what was computed is kept in the run directory"


@dataclass
class Contents:
    """How many values of an array are not zero, and how many are not finite.

    Parameters
    ----------
    size, live, bad : int
        Values; those that are finite and not zero; those that are not finite.
    """

    size: int = 0
    live: int = 0
    bad: int = 0

    def add(self, values: NDArray[Any]) -> None:
        """Count some more values."""
        flat = values.reshape(-1)
        for a in range(0, flat.size, PIECE):
            some = flat[a : a + PIECE]
            bad = some.size - int(np.count_nonzero(np.isfinite(some)))
            self.bad += bad
            self.live += int(np.count_nonzero(some)) - bad
        self.size += flat.size

    @classmethod
    def of(cls, values: NDArray[Any]) -> Contents:
        """Return the contents of an array."""
        found = cls()
        found.add(values)
        return found

    def on_all(self, world: Comm) -> Contents:
        """Return the contents of the parts of all ranks together. Collective."""
        parts = world.allgather([self.size, self.live, self.bad])
        return Contents(*(sum(p[i] for p in parts) for i in range(3)))


def not_finite(what: str, found: Contents, step: str) -> SubsaltError:
    """Return the error of a result with values that are not finite."""
    return NumericalFailure(
        f"{found.bad} of {found.size} values of the {what} are not finite, after the step: {step}",
        f"look for absurd amplitudes in the traces (`subsalt scan`) and for zeros in the model; {KEPT}",
        code="E846",
    )


def refuse_blank(
    total: ImageSum, image: NDArray[np.float32], light: float, survey: Survey, world: Comm
) -> None:
    """Raise when an image of shots is zero throughout, or not finite somewhere. Collective.

    Parameters
    ----------
    total : ImageSum
        The sums over shots, on this rank's planes.
    image : ndarray
        What became of them, on this rank's planes.
    light : float
        Illumination of the whole image.
    survey : Survey
        With the traces that were migrated.

    Raises
    ------
    ConfigError
        E844: a setting of the job empties the image.
    DataError
        E845: there is nothing in the traces.
    NumericalFailure
        E846: values are not finite.
    """
    found = Contents.of(image).on_all(world)
    if found.live and not found.bad:
        return
    steps = [("sum over shots", Contents())]
    for name, summed in total.fields.items():
        if name != "illumination":
            steps[0][1].add(summed)
    steps += [(name, Contents.of(values)) for name, values in total.steps(light)]
    steps = [(name, part.on_all(world)) for name, part in steps]
    if found.bad:
        step = next((name for name, part in steps if part.bad), "float32: amplitudes too large for it")
        raise not_finite("image", found, step)
    emptied = next((i for i, (_, part) in enumerate(steps) if not part.live), len(steps))
    with world.together():
        if world.is_root:
            raise _without_sums(survey) if emptied == 0 else _emptied(total, steps, emptied)


def _emptied(total: ImageSum, steps: list[tuple[str, Contents]], at: int) -> SubsaltError:
    """Return the error of sums that are there, and of which a step leaves nothing."""
    before, left = steps[at - 1]
    had = f"{left.live} of {left.size} values after the step before, {before}"
    if at == len(steps):
        return DataError(
            f"the image is zero throughout: its values are too small for float32 ({had})",
            f"scale the traces up, to amplitudes near 1; {KEPT}",
            code="E845",
        )
    name, grid = steps[at][0], total.setup.model.grid
    if name == "top_mute":
        deep = (grid.shape[-1] - 1) * grid.spacing[-1]
        what = f"top_mute = {total.setup.imaging.top_mute:g} m, in a model {deep:g} m deep"
        cure = f"set [imaging] top_mute to less than {deep:g} m, or leave it out"
    elif name == "filter":
        what, cure = f"filter = {total.setup.imaging.filter!r}", 'set [imaging] filter = "none"'
    else:
        what, cure = f"condition {total.setup.imaging.condition!r}", "choose another [imaging] condition"
    return ConfigError(
        f"the image is zero throughout: the step {name} ({what}) leaves nothing; {had}",
        f"{cure}; partial images of all shots are kept: the same run directory goes on from them",
        code="E844",
    )


def _without_sums(survey: Survey) -> SubsaltError:
    """Return the error of shots that add nothing, after a look at some of their traces."""
    n = len(survey.shots)
    shots = [survey.shots[i] for i in sorted(set(np.linspace(0, n - 1, LOOKED_AT).round().astype(int)))]
    raw = getattr(survey.reader, "inner", survey.traces)
    read, used = Contents(), Contents()
    for shot in shots:
        read.add(raw(shot))
        used.add(survey.traces(shot))
    which = f"shots {', '.join(str(s.id) for s in shots)} were read again"
    if not read.live:
        return DataError(
            f"the image is zero throughout: all {read.size} samples of the traces are zero ({which})",
            f"look at the files with `subsalt scan`: their format, and how they were copied; {KEPT}",
            code="E845",
        )
    if not used.live:
        return ConfigError(
            f"the image is zero throughout: the step [data.mute] zeros all traces; {read.live} of {read.size} samples "
            f"are not zero before it ({which})",
            f"mend velocity and delay of [data.mute], or leave it out, and start again with --recompute; {KEPT}",
            code="E844",
        )
    return ConfigError(
        "the image is zero throughout: the step imaging condition found no time at which the waves of source and "
        f"receivers meet, although {used.live} of {used.size} samples of the traces are not zero ({which})",
        "check the length of the records, [source] t0, depths under a free surface, and the range of times; "
        + KEPT,
        code="E844",
    )


def refuse_region(image: NDArray[np.float32], world: Comm) -> None:
    """Raise when the part of an image that is asked for holds nothing. Collective."""
    if not Contents.of(image).on_all(world).live:
        raise ConfigError(
            "the image is zero throughout: the step --region leaves a part in which nothing was imaged",
            "ask for another region, or for all of the image",
            code="E844",
        )


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
