"""Least squares in the image domain as a run: a migration, the image of a lattice of points, and a deconvolution by it.

Round 0 migrates the traces, as that of the other domain does. Round 1 models and migrates a lattice of points, which
gives the point-spread functions of the survey (`inversion.point_spread`). The image is deconvolved when it is written:
a later start with other iterations or another damping propagates nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.errors import Finding
from subsalt.inversion.cgls import CglsState, Scalars, State
from subsalt.inversion.point_spread import TOO_NEAR, Deconvolved, PointSpread
from subsalt.methods.lsrtm.outcome import on_image_grid
from subsalt.methods.lsrtm.point_spread import lattice_of
from subsalt.methods.lsrtm.run import LeastSquaresRun
from subsalt.methods.lsrtm.shots import DATA, MISFIT
from subsalt.methods.lsrtm.states import RoundFiles
from subsalt.methods.rtm.linear_setup import sums_to_gradient
from subsalt.run.result import Written

if TYPE_CHECKING:
    from subsalt.view.pages import Sheet


class ImageDomainRun(LeastSquaresRun):
    """See `ImagingRun`.

    Parameters
    ----------
    job : LeastSquaresJob
    state : RunState
    """

    def prepare(self) -> None:
        """Choose time step and windows, how wavefields come back, and the lattice."""
        super().prepare()
        with self.state.world.together():
            apart = self.job.inversion.lattice
            self.lattice = lattice_of(self.setup, None if apart == "auto" else apart)

    def _reason(self, number: int) -> str:
        """Return why the run ends at a round; empty while it goes on."""
        return "both migrations are done" if number == self.job.inversion.last_round else ""

    def _made(
        self, shots: Sequence[int], sums: Mapping[str, NDArray[np.float64]], numbers: Mapping[str, float]
    ) -> CglsState:
        """Return what a round has made: the image of the traces, and the points of the lattice or their images."""
        made = sums_to_gradient(self.setup, sums["correlation"])
        if self.state.round == 0:
            points = self.lattice.points().reshape(made.shape)
            scalars = Scalars(0, 0.0, numbers[MISFIT], numbers[MISFIT], numbers[DATA])
            return CglsState(np.zeros_like(made), made, points, scalars)
        before = RoundFiles(self.state.folder, 0).read()
        return CglsState(before.x, before.s, made, before.scalars)

    def _images(self) -> CglsState:
        """Return what the last round has made."""
        return RoundFiles(self.state.folder, self.state.round).read()

    @cached_property
    def _spread(self) -> PointSpread:
        """The point-spread functions of the survey."""
        return PointSpread.of_response(self.lattice, self._images().p.reshape(self.lattice.shape))

    @cached_property
    def _deconvolved(self) -> Deconvolved:
        """The image without the blur of the survey."""
        options = self.job.inversion_options
        image = self._images().s.reshape(self.lattice.shape)
        return self._spread.deconvolve(
            image, iterations=options.iterations, damping=options.damping, mask=self.mask
        )

    def _whole(self, state: State) -> NDArray[np.float64]:
        """Return the perturbation: the deconvolved image."""
        return self._deconvolved.image.reshape(state.x.shape)

    def _imaging(self) -> str:
        """Return how the image was made, for the headers of its files."""
        return f"image domain, {self.job.inversion.iterations} iterations, points every {self.lattice.step} points"

    def _draw_course(self, sheet: Sheet) -> list[Path]:
        """Draw the amplitude along an event of the migration, over the diagonal of H, and of its deconvolution."""
        from subsalt.methods.lsrtm.view import draw_before_and_after

        with self.state.clock("pictures"):
            balanced = self._images().s.reshape(self.lattice.shape) / self._spread.diagonal()
            if self.mask is not None:
                balanced = balanced * self.mask
            images = {
                "migration / diagonal of H": on_image_grid(self.setup, balanced),
                "deconvolved": on_image_grid(self.setup, self._deconvolved.image),
            }
            return draw_before_and_after(sheet, images, self.setup.image_grid)

    def _warn_of_overlap(self) -> None:
        """Say when functions reach out of their windows."""
        overlap = self._spread.typical_overlap
        if overlap <= TOO_NEAR:
            return
        at = self.job.inversion.lattice
        self._warn(
            [
                Finding(
                    "W899",
                    "warning",
                    f"point-spread functions every {self.lattice.step} points reach out of their windows, whose outer "
                    f"quarter holds {100 * overlap:.0f} % of the energy in the median",
                    f"set [inversion] lattice larger than {self._distances()} m"
                    + (", its default here" if at == "auto" else "")
                    + ', or iterate over the traces: domain = "data"',
                )
            ]
        )

    def _distances(self) -> str:
        """Return the distances of the points of the lattice along the axes, m, in words."""
        spacing = self.setup.model.grid.spacing
        return " x ".join(f"{n * h:g}" for n, h in zip(self.lattice.step, spacing, strict=True))

    def assemble(self) -> Written:
        """Deconvolve the image, write it and its pictures, and say how far functions reach into each other."""
        written = super().assemble()
        self._warn_of_overlap()
        return written

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the deconvolution says of itself."""
        facts = super().ending_facts(rows, spent)
        spread, done = self._spread, self._deconvolved
        depths = self.setup.model.grid.axis(-1)[self.lattice.nodes[-1]]
        by_depth = np.median(spread.overlap.reshape(-1, len(depths)), axis=0)
        facts["inversion"] = {
            "domain": "image",
            "reason": done.reason,
            "image_misfit": list(done.misfits),
            "lattice": [n * h for n, h in zip(self.lattice.step, self.setup.model.grid.spacing, strict=True)],
            "overlap": spread.typical_overlap,
            "overlap_by_depth": [[float(z), float(o)] for z, o in zip(depths, by_depth, strict=True)],
        }
        return facts
