"""One shot of an iteration: J of the direction and J^T of that, or J^T of the residual; published as a partial result.

The unit of an iteration does both products, so that nothing of the size of the data is stored or sent: its partial
result is its part of ``J^T J p``, and ``|J p|^2`` in the head of the file. Where an iteration draws some of the shots,
a first unit of each models it in the model itself, and the residual goes back: ``J^T (d - J m)``, and ``|d - J m|^2``.
A second one models the direction that all of them made together, and leaves ``|J p|^2`` alone: a file with no planes.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot, Survey
from subsalt.earth.grid import Box
from subsalt.inversion.noise import AboveBand
from subsalt.io.volumes.plane_file import PlaneLayout, write_planes
from subsalt.methods.lsrtm.flow import ModelledFlow
from subsalt.methods.rtm.born import back, scattered
from subsalt.methods.rtm.engine import ShotImage, propagator_of
from subsalt.methods.rtm.normal import normal_product
from subsalt.methods.rtm.partial_image import SUFFIXES
from subsalt.methods.rtm.run_schemes import RunSchemes
from subsalt.methods.rtm.samples import SnapshotPool
from subsalt.methods.rtm.setup import MigrationSetup
from subsalt.numerics import fixedmath
from subsalt.parallel.comm import Comm
from subsalt.propagation.propagator import Propagator
from subsalt.run import quarantine
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.scheduler import Outcome, RankGroups
from subsalt.run.units import Report
from subsalt.timing import Phases

#: numbers in the head of a partial result: |J p|^2 of a direction; of a model |r|^2, |d|^2, and |n|^2 where asked for
ENERGY, MISFIT, DATA, NOISE = "energy", "misfit", "data", "noise"


@dataclass(frozen=True)
class Work:
    """Work of the units of a round.

    Parameters
    ----------
    direction : ndarray, shape of the model, or None
        The perturbation that is modelled, p or the model itself; None in the first round, which takes the residual of
        the starting model.
    start : ndarray or None
        The starting model, in the first round; 0 when None.
    noise : AboveBand or None
        Estimates the noise of the traces, in the first round.
    returns : {"data", "residual", "nothing"}
        Input of J^T behind the first round: the modelled data; the traces less these; none, where |J p|^2 is all that
        the round is for.
    """

    direction: NDArray[np.float64] | None
    start: NDArray[np.float64] | None = None
    noise: AboveBand | None = None
    returns: Literal["data", "residual", "nothing"] = "data"


@dataclass
class ShotProducts:
    """Computes the products of shots with J and J^T on the ranks of one group, one after the other.

    Parameters
    ----------
    setup : MigrationSetup
        Setup of `linear_setup`.
    survey : Survey
        Shots and their traces.
    flow : ModelledFlow
        Steps on modelled traces.
    work : Work
        Work of the round.
    images : Path
        Folder of the partial results.
    groups : RankGroups
        The group of this rank.
    schemes : RunSchemes
        How shots have their source wavefields again.
    clock : Phases
        Takes the seconds.
    crash : CrashNote, optional
        Where it is said which shot this rank begins.
    by : str
        Name of the device that computes.
    round : int
        Number of the round.
    """

    setup: MigrationSetup
    survey: Survey
    flow: ModelledFlow
    work: Work
    images: Path
    groups: RankGroups
    schemes: RunSchemes
    clock: Phases
    crash: CrashNote | None = None
    by: str = ""
    round: int = 0
    pool: SnapshotPool = field(default_factory=SnapshotPool)
    point_steps: int = 0
    grid_point_steps: int = 0

    def process(self, shot: Shot, next_shot: Shot | None, report: Report) -> Outcome:
        """Compute and publish the products of one shot; return what became of it."""
        report(shot, 0.0)
        if self.crash is not None:
            self.crash.now(shot.id)
        begin = time.perf_counter()
        try:
            part, numbers = self._products(shot, report)
        except Exception as error:
            if not quarantine.belongs_to_shot(error, self.groups.group):
                raise
            if self.groups.group.is_root:
                self._record(shot, error)
            self.schemes.scratch.remove(shot.id)
            return {"unit": shot.id, "reason": quarantine.describe_error(error)}
        with self.clock("partial image"):
            window = self.setup.window(shot)
            # of a unit that has modelled alone there are numbers, and no planes
            layout = PlaneLayout(window if part.sums else part.box, tuple(part.sums), numbers)
            path = self.images / f"shot_{shot.id:06d}{SUFFIXES[0]}"
            sha = write_planes(path, layout, part.box, part.sums, self.groups.group)
        with self.clock("scratch"):
            self.schemes.scratch.remove(shot.id)
        self.point_steps += part.point_steps
        self.grid_point_steps += part.grid_point_steps
        return {"unit": shot.id, "sha256": sha, "seconds": time.perf_counter() - begin, "by": self.by}

    def _record(self, shot: Shot, error: Exception) -> None:
        """Write down what is wrong with a shot. On the first rank of its group."""
        where: dict[str, object] = {"rank": self.groups.world.rank, "host": self.groups.group.host}
        folder, window = self.images.parent.parent, self.setup.window(shot)
        quarantine.record_failure(folder, self.survey, shot, window, error, where, self.round)

    @property
    def _group(self) -> Comm | None:
        """The ranks that share a shot with this one; None where it has them alone."""
        group = self.groups.group
        return group if group.size > 1 else None

    def _together(self) -> AbstractContextManager[None]:
        """Return a context whose errors all ranks of the group raise."""
        return nullcontext() if self._group is None else self._group.together()

    def _products(self, shot: Shot, report: Report) -> tuple[ShotImage, dict[str, float]]:
        """Return the sums of the adjoint, and the numbers of the data."""
        with self.clock("setup"):
            prop = propagator_of(self.setup, shot, self._group)
        if self.work.direction is None:
            return self._first(shot, prop, report)
        if self.work.returns == "nothing":
            return self._modelled(shot, self.work.direction, prop, report)
        numbers: dict[str, float] = {}
        way = self.schemes.of(shot)
        data = self._traces(shot) if self.work.returns == "residual" else None

        def between(modelled: NDArray[np.float64]) -> NDArray[np.float64]:
            # ranks that share the shot all do the same: each injects some of the traces
            with self._together():
                shaped = self.flow.apply(shot, modelled)
                if data is None:
                    numbers[ENERGY] = fixedmath.dot(shaped, shaped)
                    return self.flow.adjoint(shot, shaped)
                residual = data - shaped
                numbers[MISFIT], numbers[DATA] = fixedmath.dot(residual, residual), fixedmath.dot(data, data)
                return self.flow.adjoint(shot, residual)

        part = normal_product(
            self.setup,
            shot,
            self.work.direction,
            between,
            prop=prop,
            pool=self.pool,
            phases=self.clock,
            progress=lambda part: report(shot, part),
            **way,
        )
        return part, numbers

    def _modelled(
        self, shot: Shot, direction: NDArray[np.float64], prop: Propagator, report: Report
    ) -> tuple[ShotImage, dict[str, float]]:
        """Return no sums, and |J p|^2 of a direction."""
        begin = time.perf_counter()
        with self.clock("source"), prop:
            modelled = scattered(
                self.setup, shot, direction, prop=prop, progress=lambda part: report(shot, part)
            )
        with self._together():
            shaped = self.flow.apply(shot, modelled)
        nowhere = Box((0, 0, 0), (0, 0, 0))
        seconds, steps = time.perf_counter() - begin, 2 * (self.setup.axis.nt - 1) * prop.point_count
        part = ShotImage(shot.id, nowhere, {}, prop.points_advanced, seconds, grid_point_steps=steps)
        return part, {ENERGY: fixedmath.dot(shaped, shaped)}

    def _traces(self, shot: Shot) -> NDArray[np.float64]:
        """Return the recorded traces of a shot."""
        with self.clock("trace input"), self._together():
            return self.survey.traces(shot).astype(np.float64)

    def _first(self, shot: Shot, prop: Propagator, report: Report) -> tuple[ShotImage, dict[str, float]]:
        """Return the sums of the adjoint of the residual of the start, and the squares of it and of the data."""
        data = self._traces(shot)
        residual, done = data, 0.0
        if self.work.start is not None:
            done = 0.5
            with self.clock("source"):
                modelled = scattered(
                    self.setup,
                    shot,
                    self.work.start,
                    prop=prop,
                    progress=lambda part: report(shot, done * part),
                )
            residual = data - self.flow.apply(shot, modelled)
        numbers = {MISFIT: fixedmath.dot(residual, residual), DATA: fixedmath.dot(data, data)}
        if self.work.noise is not None:
            with self.clock("trace input"):
                numbers[NOISE] = self.work.noise.energy(data)
        part = back(
            self.setup,
            shot,
            self.flow.adjoint(shot, residual),
            prop=prop,
            pool=self.pool,
            phases=self.clock,
            progress=lambda part: report(shot, done + (1.0 - done) * part),
            **self.schemes.of(shot),
        )
        return part, numbers

    def give_back(self) -> None:
        """Give the memory of snapshots back."""
        self.pool.give_back("device", "memory")
        self.schemes.scratch.give_back()
