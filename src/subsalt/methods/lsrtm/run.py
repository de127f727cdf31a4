"""A run of least-squares migration: rounds of the same shots, whose states are files of the run directory.

Round 0 migrates the residual of the starting image; behind it every iteration has the rounds that its kind states
(`rounds`), of which the last takes the step. A unit of a round is a shot (`shots.ShotProducts`), a closed round has
published its state (`states.RoundFiles`): a later start continues with the first round that has none, to the same
bytes. A run whose rules have ended it takes more iterations when the job asks for more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from subsalt.acquisition.survey import Shot
from subsalt.errors import CorruptionError, DataError
from subsalt.inversion.cgls import Cgls, State
from subsalt.io.publish import make_folder
from subsalt.io.volumes.plane_file import open_planes
from subsalt.io.volumes.volume import write
from subsalt.job.signal.summary import signal_ended, signal_facts
from subsalt.methods.lsrtm.comparing import Comparison, compared
from subsalt.methods.lsrtm.course import image_path
from subsalt.methods.lsrtm.disk import refuse_small_disk
from subsalt.methods.lsrtm.flow import ModelledFlow
from subsalt.methods.lsrtm.grids import on_wave_grid
from subsalt.methods.lsrtm.noise import noise_of_job
from subsalt.methods.lsrtm.outcome import on_image_grid
from subsalt.methods.lsrtm.precondition import cgls_of
from subsalt.methods.lsrtm.shots import DATA, ENERGY, MISFIT, NOISE, ShotProducts, Work
from subsalt.methods.lsrtm.states import RoundFiles, read_array
from subsalt.methods.lsrtm.step_memory import refuse_large_step
from subsalt.methods.rtm.grouping import ignored_at_once
from subsalt.methods.rtm.image import ImagePlanes, share
from subsalt.methods.rtm.job_setup import options_of
from subsalt.methods.rtm.linear_setup import linear_setup, refuse_pairs_on_gpu, sums_to_gradient
from subsalt.methods.rtm.migrate import ShotsRun
from subsalt.methods.rtm.outputs import RunOutputs, check_formats
from subsalt.methods.rtm.partial_image import partial_path
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.run_schemes import RunSchemes
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.parallel.comm import single
from subsalt.run.crash_evidence import CrashNote
from subsalt.run.identity import wavefield_id
from subsalt.run.ledger import Ledger
from subsalt.run.result import Written
from subsalt.run.rounds import RoundEnd, closed_rounds, store_rounds
from subsalt.run.scheduler import RankGroups, form
from subsalt.run.units import OneOf

if TYPE_CHECKING:
    from subsalt.acquisition.survey import Survey
    from subsalt.earth.model_like import ModelLike
    from subsalt.methods.lsrtm.job import LeastSquaresJob
    from subsalt.view.pages import Sheet


def setup_of_job(job: LeastSquaresJob, model: ModelLike, survey: Survey) -> MigrationSetup:
    """Return the setup of linearised modelling of a job; parameters as of `rtm.job_setup.migration_setup`."""
    options, model = options_of(job, survey), model.moved_to(survey.frame)
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.weights, options.dt, options.dt_reserve)
    record = ModelledFlow.of(survey).record
    aperture = job.imaging_options.aperture
    setup = linear_setup(model, job.wavelet(dt), record, options, aperture, job.open_model().grid)
    refuse_pairs_on_gpu(setup)
    return setup


class LeastSquaresRun(ShotsRun):
    """See `ImagingRun`.

    Parameters
    ----------
    job : LeastSquaresJob
    state : RunState
    """

    several_rounds = True

    def prepare(self) -> None:
        """Choose time step and windows, how wavefields come back, and read mask and starting image."""
        job, everybody = self.job, self.state.world
        with everybody.together():
            self.flow = ModelledFlow.of(self.survey)
            self.noise = noise_of_job(job, self.flow)
        self.setup = setup_of_job(job, self.model, self.survey)
        self.plan = plan_ranks(job, self.setup, self.survey, everybody, self.state.folder)
        if everybody.size > 1:
            self._warn(ignored_at_once(job.parallel.shots_at_once, everybody.size))
        with everybody.together():
            if everybody.is_root:
                refuse_large_step(self.setup.model.grid)
                refuse_small_disk(job, self.setup, self.plan, self.state.folder)
            check_formats(job, self.setup.image_grid, everybody, self.survey.frame)
            self.start, self.mask = (
                on_wave_grid(job, self.setup, "start"),
                on_wave_grid(job, self.setup, "mask"),
            )
        self.products: list[ShotProducts] = []
        with everybody.together():
            self.shown = compared(self.survey, job.inversion.compare_shots)

    def facts(self) -> dict[str, Any]:
        """Return grid, time axes, model, plan and steps. On rank 0."""
        # no step of this method marks traces by their samples: nothing is read
        self.signal = signal_facts(self.survey, single(), self.state.clock)
        return super().facts()

    def identity_extras(self, ledger: Ledger) -> dict[str, Any]:
        """Return the frame of the sums; a run that its rules ended goes on when they no longer do."""
        closed = closed_rounds(ledger)
        # what cannot be read is computed again, and then has its end by the rules of now
        with suppress(CorruptionError):
            if closed and closed[-1].last and not self._reason(len(closed) - 1):
                store_rounds(ledger, [*closed[:-1], replace(closed[-1], last=False)])
        return {"place": self.survey.frame}

    def _reason(self, number: int) -> str:
        """Return why the iteration ends at the state of a closed round; empty while it goes on."""
        reason: str = self.job.inversion_options.rules.reason(RoundFiles(self.state.folder, number).scalars())
        return reason

    def units(self) -> Sequence[Shot]:
        """Return the shots of the round: those of the first round that could be migrated."""
        state = self.state
        shots = list(self.survey.shots)
        if state.round == 0:
            self.work_of_round = Work(None, self.start, self.noise)
        else:
            before = RoundFiles(state.folder, state.round - 1)
            self.work_of_round, taken = self._work(before), set(self._taken(before))
            shots = [s for s in shots if s.id in taken]
        ledger, hashes = state.ledger, state.hashes()
        good = self._intact(hashes)
        if ledger is not None:
            ledger.plan([s.id for s in shots])
            ledger.keep(good)
        return shots

    def _work(self, before: RoundFiles) -> Work:
        """Return the work of a round behind the first."""
        return Work(before.read().p)

    def _taken(self, before: RoundFiles) -> list[int]:
        """Return the shots of a round behind the first."""
        return before.shots()

    def planned_units(self) -> Sequence[Shot]:
        """Return the shots, for a process that computes some of them."""
        return self.units()

    def _intact(self, hashes: Mapping[int, str]) -> set[int]:
        """Return the shots whose partial results have their checksums; every rank looks at some. Collective."""
        world, good = self.state.world, []
        for shot in list(hashes)[world.rank :: world.size]:
            try:
                with open_planes(partial_path(self.state.images, shot), hashes[shot]) as file:
                    file.verify()
                good.append(shot)
            except CorruptionError:
                continue
        return {shot for some in world.allgather(good) for shot in some}

    def units_ahead(self) -> int:
        """Return the units of the rounds that may follow."""
        return max(0, self.job.inversion.last_round - self.state.round) * len(self.survey.shots)

    def without_running_sum(self) -> str:
        """Return why partial results are not added while others are computed."""
        return "an iteration adds the products of all shots when it ends"

    def predict(self, left: Sequence[Shot]) -> dict[str, Any] | None:  # type: ignore[override]
        """Return None: `subsalt plan` says what one migration takes, of which an iteration is about two."""
        return None

    @contextmanager
    def work(self, stack: ExitStack, groups: RankGroups, crash: CrashNote | None) -> Iterator[Any]:
        """Compute the products of shots."""
        job, state = self.job, self.state
        fields_id = state.world.bcast(wavefield_id(job, state.inputs, state.numerics))
        several = [
            stack.enter_context(
                RunSchemes.of_run(
                    self.setup, self.plan, groups.group, job.checkpoint_options, state.work_folder, fields_id
                )
            )
            for _ in range(self.plan.at_once)
        ]
        with state.clock("ledger"), state.world.together():
            several[0].scratch.remove_strays(restart=False)
        runners = [
            ShotProducts(
                self.setup,
                self.survey,
                self.flow,
                self.work_of_round,
                state.images,
                groups,
                schemes,
                state.clock,
                crash,
                state.by,
                state.round,
            )
            for schemes in several
        ]
        self.products += runners
        yield OneOf([runner.process for runner in runners])
        for runner in runners:
            runner.give_back()
        several[0].scratch.remove_empty()

    def close_round(self) -> RoundEnd:
        """Sum the products of the shots in survey order, take a step, and publish the state."""
        state, hashes = self.state, self.state.hashes()
        facts: dict[str, Any] = {}
        damaged: list[int] = []
        failure: Exception | None = None
        with state.clock("image sum"):
            if state.world.is_root:
                try:
                    facts = self._step(hashes, damaged)
                except Exception as error:
                    failure = error
            if state.ledger is not None:
                for shot in damaged:
                    state.ledger.release(shot)
            state.world.agree(failure)
        facts = state.world.bcast(facts)
        files = [state.folder / name for name in facts.pop("files")]
        reason = str(facts["reason"])
        if reason:
            whose = f" of {of}" if (of := facts.get("misfit_of")) else ""
            left = f"{facts['relative_misfit']:.3g} of that of the start"
            state.request.say(f"the iteration ends: {reason}; misfit{whose} {left}")
        superseded = []
        if state.round > 0:
            before = RoundFiles(state.folder, state.round - 1)
            superseded = [before.arrays, before.numbers]
        return RoundEnd(files, bool(reason), facts, superseded)

    def _step(self, hashes: Mapping[int, str], damaged: list[int]) -> dict[str, Any]:
        """Write the next state; return its numbers and the names of its files. On rank 0."""
        state, shots = self.state, [s.id for s in self.survey.shots if s.id in hashes]
        wanted = self._taken(RoundFiles(state.folder, state.round - 1)) if state.round > 0 else shots
        if shots != wanted:
            missing = sorted(set(wanted) - set(shots))
            raise DataError(
                f"iteration {self.job.inversion.rounds.iteration(state.round)}: shots "
                f"{', '.join(map(str, missing))} could not be computed, and the step is "
                "made of them",
                f"subsalt resume {state.folder} --retry-failed tries them again; failed/ says what is wrong with each",
                code="E820",
            )
        if not shots:
            raise DataError("no shot could be migrated", "see events.jsonl", code="E820")
        sums, numbers = self._summed(shots, hashes, damaged)
        new = self._made(shots, sums, numbers)
        illumination = sums["illumination"] if state.round == 0 else None
        ends = self.job.inversion.rounds.ends(state.round)
        files = RoundFiles(state.folder, state.round).write(new, shots, illumination, ends=ends)
        files += self._more_files(shots, hashes)
        if ends:
            self._keep_image(new)
        return {
            "files": [str(f.relative_to(state.folder)) for f in files],
            "reason": self._reason(state.round),
            "relative_misfit": new.scalars.relative,
            **new.scalars.to_dict(),
        }

    def _more_files(self, shots: Sequence[int], hashes: Mapping[int, str]) -> list[Path]:
        """Publish what a round leaves beside its state; return the files. On rank 0."""
        return []

    def _made(
        self, shots: Sequence[int], sums: Mapping[str, NDArray[np.float64]], numbers: Mapping[str, float]
    ) -> State:
        """Return the state that a round makes of the sums over its shots. On rank 0."""
        gradient = sums_to_gradient(self.setup, sums["correlation"])
        if self.state.round == 0:
            method = self._iteration(sums["illumination"])
            return method.begin(gradient, numbers[MISFIT], numbers[DATA], numbers[NOISE])
        before = RoundFiles(self.state.folder, self.state.round - 1)
        method = self._iteration(read_array(before.illumination))
        return method.step(before.read(), gradient, numbers[ENERGY])

    def _keep_image(self, new: State) -> None:
        """Write the image of a state where the job asks for it. On rank 0."""
        number = new.scalars.iteration
        if not self.job.inversion.keeps(number):
            return
        text = [f"made_by: least-squares migration, iteration {number}", f"run: {self.state.run_id[:24]}"]
        path = image_path(self.state.folder, number)
        make_folder(path.parent)
        image = on_image_grid(self.setup, self._whole(new))
        write(path, self.setup.image_grid, image, self.setup.model.frame, text=text, name="image")

    def _whole(self, state: State) -> NDArray[np.float64]:
        """Return the perturbation of a state: its change, and what the iteration started from."""
        return state.x if self.start is None else state.x + self.start.reshape(state.x.shape)

    def _iteration(self, illumination: NDArray[np.float64]) -> Cgls:
        """Return preconditioner and penalty, of arrays with three axes."""
        grid, shape = self.setup.model.grid, self.setup.model.grid.shape
        made = cgls_of(self.job.inversion_options, grid, illumination.reshape(shape), self.mask)
        return replace(made, preconditioner=made.preconditioner.reshape(grid.shape3))

    def _summed(
        self, shots: Sequence[int], hashes: Mapping[int, str], damaged: list[int]
    ) -> tuple[dict[str, NDArray[np.float64]], dict[str, float]]:
        """Return the sums of the partial results in survey order, and those of their numbers."""
        shape = self.setup.model.grid.shape3
        sums = {name: np.zeros(shape) for name in ("correlation", "illumination")}
        numbers: dict[str, float] = dict.fromkeys((ENERGY, MISFIT, DATA, NOISE), 0.0)
        for shot in shots:
            try:
                with open_planes(partial_path(self.state.images, shot), hashes[shot]) as file:
                    box = file.layout.box
                    for name, values in file.read(box.lo[0], box.hi[0]).items():
                        sums[name][box.slices] += values
                    for name in numbers:
                        numbers[name] += float(file.layout.facts.get(name, 0.0))
            except CorruptionError:
                damaged.append(shot)
                raise
        return sums, numbers

    def _last(self) -> State:
        """Return the state of the last round."""
        return RoundFiles(self.state.folder, self.state.round).read()

    def assemble(self) -> Written:
        """Carry the image of the last state to its grid, and write it and its pictures."""
        state = self.state
        with state.clock("image sum"):
            image = on_image_grid(self.setup, self._whole(self._last()))
            lo, hi = share(self.setup.image_grid.shape3[0], state.world)
            planes = ImagePlanes(lo, np.ascontiguousarray(image[lo:hi]), None)
        made = {
            "made_by": "least-squares migration: perturbation of 1/v^2, s^2/m^2",
            "imaging": self._imaging(),
        }
        outputs = RunOutputs(
            self.job, self.setup, self.survey, state.folder, state.run_id, state.world, made=made
        )
        self.written = outputs.write(planes, state.clock)
        return self.written

    def _imaging(self) -> str:
        """Return how the image was made, for the headers of its files."""
        return f"{self._last().scalars.iteration} iterations, {self.job.inversion.precondition}"

    def finish(self) -> list[Path]:
        """Draw the course of the iteration, and recorded and predicted traces of some shots. Collective."""
        state = self.state
        if not self.job.output.pictures:
            return []
        from subsalt.view.pages import Sheet

        made: list[Path] = []
        picture = state.folder / "pictures" / "image.png"
        sheet = Sheet(picture, self.job.title or self.job.name, state.run_id)
        groups = form(state.world, *self.group_sizes(), max(1, len(self.shown)))
        mine = [] if groups.idle else self.shown[groups.index :: len(groups.sizes)]
        with state.world.together():
            if state.world.is_root:
                made += self._draw_course(sheet)
            comparison = Comparison(self.setup, self.survey, self.flow, self._whole(self._last()))
            made += comparison.draw(mine, sheet, state.clock, groups.group)
        groups.free()
        return [Path(f) for some in state.world.allgather([str(f) for f in made]) for f in some]

    def _draw_course(self, sheet: Sheet) -> list[Path]:
        """Draw misfit and images by iteration beside the picture of a sheet. On rank 0."""
        from subsalt.methods.lsrtm.view import Course

        with self.state.clock("pictures"):
            return Course(self.state.folder).draw(sheet)

    def work_done(self) -> dict[str, int]:
        """Return the points that all ranks computed, and those of the grids. Collective."""
        total = self.state.world.sum
        return {
            "point_steps": total(sum(p.point_steps for p in self.products)),
            "grid_point_steps": total(sum(p.grid_point_steps for p in self.products)),
        }

    def totals(self) -> dict[str, Any]:
        """Return the points computed, and those of the grids, of this start."""
        self.signal_ended = signal_ended(self.survey, self.state.world)
        entered = self.state.world.bcast(dict(self.state.entered))
        return {name: n + entered.get(name, 0) for name, n in self.work_done().items()}

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the numbers of every iteration."""
        history = RoundFiles(self.state.folder, self.state.round).history()
        return self.signal_ended | {
            "image": {"path": Path(self.written.image).name, "sha256": self.written.sha256},
            "inversion": {
                "reason": self._reason(self.state.round),
                "misfit": [s.relative for s in history],
                "iterations": [s.to_dict() for s in history],
            },
        }
