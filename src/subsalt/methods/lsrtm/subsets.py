"""A run of least-squares migration whose iterations draw some of the shots: two rounds each, of the shots drawn.

Round 0 migrates the residual of all shots, as that of the other runs does: it gives the illumination for the
preconditioner, and the misfit of every shot before the first step, which stays in the run directory. Rounds 2 k - 1 and
2 k are iteration k. The first of them models its shots in the image so far and takes their residuals back; its state
has the direction beside the sum of steps. The second models the same shots in that direction, which says how far to
go. Which shots an iteration draws follows from the seed, its number and the shots that round 0 could migrate
(`inversion.draws`): ranks, stops and kills change none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from subsalt.inversion.bregman import Bregman, BregmanState, DrawnSums, Halfway
from subsalt.inversion.drawn import total
from subsalt.inversion.draws import Draws, refuse_large_subset
from subsalt.io.volumes.plane_file import open_planes
from subsalt.methods.lsrtm.course import misfit_is_of, pass_misfits
from subsalt.methods.lsrtm.precondition import weights_of
from subsalt.methods.lsrtm.run import LeastSquaresRun
from subsalt.methods.lsrtm.shots import DATA, ENERGY, MISFIT, Work
from subsalt.methods.lsrtm.states import RoundFiles, StartMisfits, read_array
from subsalt.methods.rtm.linear_setup import sums_to_gradient
from subsalt.methods.rtm.partial_image import partial_path


class SubsetRun(LeastSquaresRun):
    """See `ImagingRun`.

    Parameters
    ----------
    job : LeastSquaresJob
    state : RunState
    """

    def prepare(self) -> None:
        """Choose as every run does, and refuse draws of more shots than there are (E104)."""
        with self.state.world.together():
            refuse_large_subset(self.job.inversion.subset, len(self.survey.shots))
        super().prepare()

    def _draws(self, shots: Sequence[int]) -> Draws:
        """Return the draws from shots, in survey order."""
        return Draws(tuple(shots), self.job.inversion.subset, self.job.inversion.seed)

    def _ends(self, number: int) -> bool:
        """Return whether a round ends an iteration."""
        ends: bool = self.job.inversion.rounds.ends(number)
        return ends

    def _reason(self, number: int) -> str:
        """Return why the iteration ends at the state of a closed round; empty while it goes on."""
        if not self._ends(number):
            return ""
        rules = self.job.inversion_options.rules
        reason: str = rules.reason_of_draws(RoundFiles(self.state.folder, number).scalars())
        return reason

    def _work(self, before: RoundFiles) -> Work:
        """Return the work of a round: the residual in the image so far, then the energy of the direction."""
        if self._ends(before.number):
            return Work(self._whole(before.read_drawn()), returns="residual")
        return Work(before.read_halfway().p, returns="nothing")

    def _taken(self, before: RoundFiles) -> list[int]:
        """Return the shots that the iteration of the round behind `before` draws."""
        every = self._draws(list(StartMisfits(self.state.folder).read()))
        return every.drawn(self.job.inversion.rounds.iteration(before.number + 1))

    def units_ahead(self) -> int:
        """Return the units of the rounds that may follow."""
        every, rounds = self._draws([shot.id for shot in self.survey.shots]), self.job.inversion.rounds
        now = rounds.iteration(self.state.round)
        left = rounds.last(now) - self.state.round
        ahead = rounds.each * every.units(now, self.job.inversion_options.iterations)
        return ahead + (left * len(every.drawn(now)) if left else 0)

    def _step(self, hashes: Mapping[int, str], damaged: list[int]) -> dict[str, Any]:
        """Write the next state; return its numbers, the names of its files, and the shots drawn. On rank 0."""
        facts = super()._step(hashes, damaged)
        number = self.state.round
        if number > 0:
            facts["drawn"] = self._taken(RoundFiles(self.state.folder, number - 1))
            facts["half"] = "step" if self._ends(number) else "direction"
            if self._ends(number):
                facts["misfit_of"] = misfit_is_of(RoundFiles(self.state.folder, number).history())
        return facts

    def _more_files(self, shots: Sequence[int], hashes: Mapping[int, str]) -> list[Path]:
        """Publish the misfit of every shot in the starting model. On rank 0."""
        if self.state.round > 0:
            return []
        misfits = {}
        for shot in shots:
            with open_planes(partial_path(self.state.images, shot), hashes[shot]) as file:
                misfits[shot] = float(file.layout.facts[MISFIT])
        return [StartMisfits(self.state.folder).write(misfits)]

    def _made(
        self, shots: Sequence[int], sums: Mapping[str, NDArray[np.float64]], numbers: Mapping[str, float]
    ) -> BregmanState | Halfway:
        """Return the state that a round makes of the sums over its shots. On rank 0."""
        number, misfit, data = self.state.round, numbers[MISFIT], numbers[DATA]
        if number == 0:
            gradient = sums_to_gradient(self.setup, sums["correlation"])
            every = DrawnSums(len(shots), misfit, misfit, data)
            return self._bregman(sums["illumination"]).begin(gradient, every)
        before = RoundFiles(self.state.folder, number - 1)
        # of round 0: it stays when the states in between are removed
        method = self._bregman(read_array(before.illumination))
        if self._ends(number):
            return method.step(before.read_halfway(), numbers[ENERGY])
        starts = StartMisfits(self.state.folder).read()
        drawn = DrawnSums(len(shots), misfit, total(starts[shot] for shot in shots), data)
        gradient = sums_to_gradient(self.setup, sums["correlation"])
        return method.direction(before.read_drawn(), gradient, drawn)

    def _bregman(self, illumination: NDArray[np.float64]) -> Bregman:
        """Return preconditioner and threshold, of arrays with three axes."""
        grid, options = self.setup.model.grid, self.job.inversion_options
        weights = weights_of(options, grid, illumination.reshape(grid.shape), self.mask)
        return Bregman(weights.reshape(grid.shape3), options.threshold)

    def _last(self) -> BregmanState:
        """Return the state of the last round, which ends an iteration."""
        return RoundFiles(self.state.folder, self.state.round).read_drawn()

    def _imaging(self) -> str:
        """Return how the image was made, for the headers of its files."""
        return f"{super()._imaging()}, {self.job.inversion.subset} shots each, seed {self.job.inversion.seed}"

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of every iteration, and how shots were drawn."""
        facts = super().ending_facts(rows, spent)
        keys, history = self.job.inversion, RoundFiles(self.state.folder, self.state.round).history()
        facts["inversion"] |= {
            "misfit_of": misfit_is_of(history),
            "pass_misfits": pass_misfits(history),
            "subset": keys.subset,
            "seed": keys.seed,
        }
        return facts
