"""An image without content is refused, with the step that emptied it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import ConfigError, DataError, SubsaltError
from subsalt.parallel.comm import Comm
from subsalt.run.blank import KEPT, LOOKED_AT, Contents, not_finite

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.methods.rtm.image_sum import ImageSum


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
