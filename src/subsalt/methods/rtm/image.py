"""The image of a run: every rank sums its planes over all shots, in survey order, from the partial images.

An image without content is refused, with the step that emptied it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Survey
from subsalt.earth.grid import Box
from subsalt.errors import ConfigError, CorruptionError, DataError, SubsaltError
from subsalt.job.signal.traces import flow_of
from subsalt.methods.rtm.image_sum import ILLUMINATION, GatherPlanes, ImageSum, light_of
from subsalt.methods.rtm.offset_sum import gather_sum
from subsalt.methods.rtm.partial_image import open_partial, read_partial
from subsalt.methods.rtm.running_sum import KEY, Summed
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.run.blank import KEPT, LOOKED_AT, Contents, not_finite
from subsalt.run.ledger import Ledger


def refuse_blank(
    total: ImageSum, image: NDArray[np.float32], light: float, survey: Survey, world: Comm
) -> None:
    """Raise when an image of shots is zero throughout, or not finite somewhere. Collective.

    Parameters
    ----------
    total : ImageSum
        The sums over shots, on this rank's planes.
    image : ndarray
        Stacked image on this rank's planes.
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
    contents = Contents.of(image).on_all(world)
    if contents.live and not contents.bad:
        return
    steps = [("sum over shots", Contents())]
    for name, summed in total.fields.items():
        if name != "illumination":
            steps[0][1].add(summed)
    steps += [(name, Contents.of(values)) for name, values in total.steps(light)]
    steps = [(name, part.on_all(world)) for name, part in steps]
    if contents.bad:
        step = next((name for name, part in steps if part.bad), "float32: amplitudes too large for it")
        raise not_finite("image", contents, step)
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
    name, grid = steps[at][0], total.grid
    if name == "top_mute":
        deep = grid.last[-1] - grid.origin[-1]
        what = f"top_mute = {total.setup.imaging.top_mute:g} m, in a model {deep:g} m deep"
        cure = f"set [imaging] top_mute to less than {deep:g} m, or leave it out"
    elif name == "filter":
        what, cure = f"filter = {total.setup.imaging.filter!r}", 'set [imaging] filter = "none"'
    elif name == "topography":
        what, cure = "all of the model lies above it", "correct [propagation.topography]"
    else:
        what, cure = f"condition {total.setup.imaging.condition!r}", "choose another [imaging] condition"
    return ConfigError(
        f"the image is zero throughout: the step {name} ({what}) leaves nothing; {had}",
        f"{cure}; partial images of all shots are kept: the same run directory resumes from them",
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
            f"the image is zero throughout: {_steps(survey)} zeros all traces; {read.live} of {read.size} samples "
            f"are not zero before it ({which})",
            f"correct it, or leave it out, and start again with --recompute; {KEPT}",
            code="E844",
        )
    return ConfigError(
        "the image is zero throughout: the step imaging condition found no time at which the waves of source and "
        f"receivers meet, although {used.live} of {used.size} samples of the traces are not zero ({which})",
        "check the length of the records, [source] t0, depths under a free surface, and the range of times; "
        + KEPT,
        code="E844",
    )


def _steps(survey: Survey) -> str:
    """Return what happens to the traces before they are imaged, in words."""
    flow = flow_of(survey)
    if flow is None or flow.short:
        return "the step [data.mute]"
    return "[[signal]] (" + "; ".join(step.label() for step in flow.steps) + ")"


def refuse_region(image: NDArray[np.float32], world: Comm) -> None:
    """Raise when the part of an image that is asked for holds nothing. Collective."""
    if not Contents.of(image).on_all(world).live:
        raise ConfigError(
            "the image is zero throughout: the step --region leaves a part in which nothing was imaged",
            "ask for another region, or for all of the image",
            code="E844",
        )


#: bytes of a partial image that are held while its illumination is summed
_PIECE = 32 << 20


@dataclass(frozen=True)
class ImagePlanes:
    """The planes of the image that one rank has, from the plane `first`.

    Parameters
    ----------
    image, illumination : ndarray, (planes, ...), float32
        `illumination` is None where the imaging condition accumulates none.
    gathers : list of GatherPlanes
        The gathers of these planes; empty where none are made.
    """

    first: int
    image: NDArray[np.float32]
    illumination: NDArray[np.float32] | None
    gathers: list[GatherPlanes] = field(default_factory=list)

    def inside(self, region: Box) -> ImagePlanes:
        """Return what of these planes lies in a region of the image, counted from the beginning of the region."""
        lo = min(max(self.first, region.lo[0]), region.hi[0])
        hi = max(min(self.first + len(self.image), region.hi[0]), lo)
        x, y, z = Box((lo - self.first, *region.lo[1:]), (hi - self.first, *region.hi[1:])).slices
        cut = (x, z) if self.image.ndim == 2 else (x, y, z)
        light = None if self.illumination is None else np.ascontiguousarray(self.illumination[cut])
        gathers = [g.inside(region) for g in self.gathers]
        return ImagePlanes(lo - region.lo[0], np.ascontiguousarray(self.image[cut]), light, gathers)


def share(planes: int, world: Comm) -> tuple[int, int]:
    """Return the planes [lo, hi) of the image that this rank sums."""
    return planes * world.rank // world.size, planes * (world.rank + 1) // world.size


def sum_image(
    setup: MigrationSetup, survey: Survey, ledger: Ledger | None, images: Path, world: Comm
) -> ImagePlanes:
    """Return this rank's planes of the finished image. Collective.

    Parameters
    ----------
    ledger : Ledger or None
        On rank 0.

    Raises
    ------
    CorruptionError
        When a partial image does not have the checksum that the ledger knows; that shot is done again by the next run.
    DataError
        When no shot succeeded, or nothing is in their traces.
    ConfigError, NumericalFailure
        When the image is zero throughout, or not finite somewhere (`subsalt.run.blank`).
    """
    hashes = {int(k): str(v) for k, v in world.bcast(list(ledger.hashes().items()) if ledger else None)}
    if not hashes:
        reasons = world.bcast([str(r.get("reason", "")) for r in ledger.rows()] if ledger else None)
        raise DataError(
            f"no shot could be migrated; the first failed with: {reasons[0]}", "see events.jsonl", "E820"
        )
    total = ImageSum(setup, share(setup.image_grid.shape3[0], world))
    gathers = gather_sum(setup, total)
    # of offset gathers the sums are among those of the image
    wanted = None if gathers is None or setup.lags is None else gathers.part
    summed = Summed.of(world.bcast(ledger.get(KEY) if ledger else None))
    order = [s.id for s in survey.shots if s.id in hashes][len(summed.shots) :]
    lights = _lights(images, order, hashes, world) if total.by_shot else {}
    damaged: list[int] = []
    failure: Exception | None = None
    try:
        if summed.shots:
            total.take_up(summed.read(images, *total.summed))
    except CorruptionError as error:
        # the next start finds it too, and plans its shots again
        order, failure = [], error
    for shot in order:
        try:
            part = read_partial(images, shot, hashes[shot], *total.summed, wanted)
        except CorruptionError as error:
            damaged, failure = [shot], error
            break
        total.add(part, lights.get(shot))
        if gathers is not None:
            gathers.add(part, lights.get(shot))
    _release(ledger, damaged, world)
    world.agree(failure)
    light = 0.0
    if ILLUMINATION in total.fields:
        # one chain of additions through all planes: rank by rank
        for rank in range(world.size):
            light = world.bcast(total.light(light) if rank == world.rank else None, root=rank)
    image = total.finish(light)
    refuse_blank(total, image, light, survey, world)
    made = [] if gathers is None else gathers.finish(light)
    return ImagePlanes(total.planes[0], image, total.illumination(), made)


def _lights(
    images: Path, order: list[int], hashes: Mapping[int, str], world: Comm
) -> dict[int, tuple[float, int]]:
    """Return the illumination of each shot summed over its window, and the points of the window; collective."""
    lights = []
    for shot in order[world.rank :: world.size]:
        light = 0.0
        try:
            with open_partial(images, shot, hashes[shot]) as file:
                lo, hi = file.layout.box.lo[0], file.layout.box.hi[0]
                step = max(1, _PIECE // max(1, file.layout.plane_bytes))
                for first in range(lo, hi, step):
                    light = light_of(file.read(first, min(first + step, hi)), light)
                lights.append([shot, light, file.layout.box.size])
        except CorruptionError:
            # the rank that adds the damaged planes finds it again, and says it
            lights.append([shot, 0.0, 1])
    return {shot: (light, size) for some in world.allgather(lights) for shot, light, size in some}


def _release(ledger: Ledger | None, damaged: list[int], world: Comm) -> None:
    """Plan the shots with damaged partial images again; collective."""
    for some in world.allgather(damaged):
        for shot in some:
            if ledger is not None:
                ledger.release(shot)
