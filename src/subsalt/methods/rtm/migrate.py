"""A run of reverse time migration: its units are shots, whose partial images are summed in survey order.

Beside it: the prediction that a run begins with, seconds by phase of what is left to do, for run.json and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt.acquisition.survey import Shot
from subsalt.errors import SubsaltError
from subsalt.methods.rtm.duration import duration_of
from subsalt.methods.rtm.facts import beginning_facts
from subsalt.methods.rtm.grouping import Decision
from subsalt.methods.rtm.image import sum_image
from subsalt.methods.rtm.job_setup import migration_setup, survey_of
from subsalt.methods.rtm.outputs import check_formats, write_outputs
from subsalt.methods.rtm.ranks import plan_ranks
from subsalt.methods.rtm.reuse import Reuse, unserved
from subsalt.methods.rtm.scratch import disks_of
from subsalt.methods.rtm.shots import ShotRunner
from subsalt.methods.rtm.strategies import Strategies, facts_of, findings_of, records_of_shots
from subsalt.methods.rtm.wavefields import facts_of as facts_of_wavefields
from subsalt.methods.rtm.wavefields import places
from subsalt.plan.rates import machine_for_run
from subsalt.plan.surroundings import Surroundings
from subsalt.run.crashes import CrashNote
from subsalt.run.groups import Groups
from subsalt.run.identity import numerics_of, wavefield_id
from subsalt.run.ledger import Ledger
from subsalt.run.method_run import MethodRun, RunState, Written
from subsalt.run.resume import review_last_start
from subsalt.run.scheduler import Outcome
from subsalt.run.units import Report

if TYPE_CHECKING:
    from subsalt.job.job import Job


def of_shots(
    job: Job, decision: Decision, left: Sequence[Shot], folder: Path, *, is_root: bool = True
) -> dict[str, Any]:
    """Return what a reverse time migration of the shots that are left is predicted to take. Collective.

    Returns
    -------
    dict
        ``phases``, seconds by phase as rank 0 spends them, empty where nothing was measured; ``halo_seconds`` of
        waiting for ghost planes in them, None where the network is not known; ``points_per_s`` and ``measured``: the
        rate of a node and when it was measured; ``notes``. Empty on ranks that are not `is_root`.
    """
    needs = decision.needs
    if needs is None:
        return {}
    # what of the model is found by all ranks together
    _ = needs.volumes, needs.mean_speed
    if not is_root:
        return {}
    try:
        machine, why_not = machine_for_run()
        disk, *_ = disks_of(needs, decision, folder, job.output.formats)
        spent = duration_of(
            needs,
            decision,
            machine,
            why_not,
            disk.parts,
            pictures=job.output.pictures,
            around=Surroundings.of(machine, folder),
            shots=left,
        )
    except SubsaltError as error:
        # a prediction is no reason not to run
        return {"phases": {}, "notes": [error.message]}
    return {
        "phases": spent.phases,
        "halo_seconds": spent.halo,
        "points_per_s": spent.rate,
        "measured": spent.measured,
        "notes": spent.notes,
    }


class ShotsRun(MethodRun):
    """See `MethodRun`.

    Parameters
    ----------
    job : Job
        With `[data]`.
    state : RunState
    """

    def __init__(self, job: Job, state: RunState) -> None:
        super().__init__(state)
        self.job = job

    def load(self) -> None:
        """Read the model, or open its files, and the headers of the survey."""
        state = self.state
        with state.clock("model input"):
            self.model = self.job.open_model()
        with state.clock("survey"), state.world.together():
            self.survey = survey_of(self.job, self.model)

    def prepare(self) -> None:
        """Choose time step and windows, the ranks that share a shot, and how snapshots are kept."""
        job, everybody = self.job, self.state.world
        self.setup = migration_setup(job, self.model, self.survey)
        self.plan = plan_ranks(job, self.setup, self.survey.shots, everybody, self.state.folder)
        with everybody.together():
            check_formats(job, self.model.grid, everybody, self.survey.frame)

    def numerics(self) -> dict[str, object]:
        """Return what computes; storage of the model and a backward wavefield are classes of their own."""
        choice = self.plan.choice
        strategy = choice.scheme.strategy if choice else "store"
        return numerics_of(super().numerics(), self.job.propagation_options, strategy)

    def ties(self, ledger: Ledger) -> dict[str, Any]:
        """Return the frame of the partial images, and what a change of the imaging condition lacks."""
        lacking = partial(unserved, self.setup, self.state.folder, ledger)
        return {"place": self.survey.frame, "unserved": lacking}

    def units(self) -> Sequence[Shot]:
        """Return the shots; those that partial images or kept wavefields serve are not propagated."""
        state, ledger, shots = self.state, self.state.ledger, self.survey.shots
        if ledger is not None:
            ledger.plan([s.id for s in shots])
            review_last_start(ledger, state.request.resume)
        hashes = state.hashes()
        self.reuse = Reuse.of_run(self.setup, state.folder, ledger, state.world)
        done = {shot for shot in hashes if not self.reuse.missing(shot)}
        if ledger is not None:
            ledger.keep(set(self.reuse.names))
            ledger.again(set(self.reuse.names) - done)
        if text := self.reuse.said([s.id for s in shots], done):
            state.request.say(text)
        return shots

    def facts(self) -> dict[str, Any]:
        """Return grid, time axes, model and plan."""
        facts = beginning_facts(self.setup, self.survey)
        return facts | {"memory_plan": self.plan.need.arrays, "plan": self.plan.to_dict()}

    def predict(self, left: Sequence[Shot]) -> dict[str, Any]:
        """Return what the shots take that have to be propagated."""
        to_do = [s for s in left if not self.reuse.source_of(s.id)]
        root = self.state.world.is_root
        return of_shots(self.job, self.plan, to_do, self.state.folder, is_root=root)

    def group_sizes(self) -> tuple[int, int | None]:
        """Return the ranks that share a shot, and among how many the smallest window can be cut."""
        return self.plan.group_size, self.plan.largest

    @contextmanager
    def work(
        self, stack: ExitStack, groups: Groups, crash: CrashNote
    ) -> Iterator[Callable[[Shot, Shot | None, Report], Outcome]]:
        """Migrate shots; traces are read ahead meanwhile."""
        job, state = self.job, self.state
        fields_id = state.world.bcast(wavefield_id(job, state.inputs, state.numerics))
        strategies = stack.enter_context(
            Strategies.of_run(
                self.setup, self.plan, groups.group, job.checkpoint_options, state.folder, fields_id
            )
        )
        folders = strategies.scratch.directories
        if state.ledger is not None:
            state.ledger.scratch = places(folders, state.folder)
        if state.live is not None:
            state.live.facts["scratch"] = [str(d.resolve()) for d in folders]
        with state.clock("ledger"), state.world.together():
            # all ranks: directories may be of one host alone
            strategies.scratch.remove_strays(restart=bool(job.checkpoint_options.restart_every))
        self.runner = ShotRunner(
            self.setup,
            self.survey,
            state.images,
            groups,
            state.clock,
            job.parallel.io,
            crash,
            self.reuse,
            strategies,
            state.by,
        )
        self.halo = self.runner.halo
        with self.runner.feed:
            yield self.runner.one
        self.runner.give_back()

    def assemble(self) -> Written:
        """Sum the partial images, and write image, illumination and pictures."""
        state = self.state
        with state.clock("image sum"):
            planes = sum_image(self.setup, self.survey, state.ledger, state.images, state.world)
        self.written = write_outputs(
            self.job, self.setup, self.survey, state.folder, state.run_id, planes, state.clock, state.world
        )
        return self.written

    def totals(self) -> dict[str, Any]:
        """Return the points computed, and those of the grids."""
        total = self.state.world.sum
        return {
            "point_steps": total(self.runner.point_steps),
            "grid_point_steps": total(self.runner.grid_point_steps),
        }

    def parallel_facts(self) -> dict[str, Any]:
        """Return who reads the traces."""
        return {"io": self.job.parallel.io}

    def ending_facts(self, rows: Sequence[Mapping[str, Any]], spent: Mapping[str, Any]) -> dict[str, Any]:
        """Return what shots did of what was planned for them, and the wavefields that are kept."""
        state, ledger = self.state, self.state.ledger
        told = records_of_shots(state.folder, [r["id"] for r in rows if r["state"] == "done"])
        state.findings += findings_of(told)
        image = self.written.image
        return {
            "checkpoint": facts_of(self.plan, told),
            "wavefields": facts_of_wavefields(ledger.wavefields()) if ledger else {},
            "image": {"path": Path(image).name, "sha256": self.written.sha256},
        }
