"""At the end of a run: shots whose recorded and predicted traces are drawn beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.methods.lsrtm.flow import ModelledFlow
from subsalt.methods.rtm.born import scattered
from subsalt.methods.rtm.engine import propagator_of
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.parallel.comm import Comm
from subsalt.timing import Phases

if TYPE_CHECKING:
    from subsalt.view.pages import Sheet


@dataclass(frozen=True)
class Comparison:
    """Draws recorded and predicted traces of shots.

    Parameters
    ----------
    setup : MigrationSetup
        Setup of `linear_setup`.
    survey : Survey
        Shots and their traces.
    flow : ModelledFlow
        Steps on modelled traces.
    image : ndarray, shape of the model or of its three axes
        Perturbation of 1 / v^2 that predicts, s^2/m^2.
    """

    setup: MigrationSetup
    survey: Survey
    flow: ModelledFlow
    image: NDArray[np.float64]

    def draw(self, shots: Sequence[Shot], sheet: Sheet, clock: Phases, group: Comm) -> list[Path]:
        """Model and draw shots; return a picture of each, beside that of a sheet. Collective over the group."""
        from subsalt.view.interleaved import Predicted, draw_interleaved
        from subsalt.view.records import offset_along

        made = []
        for shot in shots:
            with clock("source"), propagator_of(self.setup, shot, group if group.size > 1 else None) as prop:
                modelled = scattered(self.setup, shot, self.image, prop=prop)
            if not group.is_root:
                continue
            with clock("trace input"):
                recorded = self.survey.traces(shot).astype(np.float64)
            predicted = self.flow.apply(shot, modelled)
            both = Predicted(recorded, predicted, self.survey.time, offset_along(shot))
            path = sheet.path.with_name(f"gathers_{shot.id:06d}.png")
            with clock("pictures"):
                made.append(draw_interleaved(replace(sheet, path=path, title=f"shot {shot.id}"), both))
        return made


def compared(survey: Survey, ids: Sequence[int] | str) -> list[Shot]:
    """Return the shots that are compared: those of the ids, or the first, the middle and the last.

    Raises
    ------
    GeometryError
        When the survey has no shot of an id.
    """
    if isinstance(ids, str):
        n = len(survey)
        return [survey.shots[i] for i in sorted({0, n // 2, n - 1})]
    return list(survey.select(list(ids)).shots)
