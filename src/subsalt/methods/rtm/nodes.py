"""Reverse time migration on many nodes: what the model says beyond the machine that was measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from subsalt import kernels
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.duration import prediction_of
from subsalt.methods.rtm.grouping import decide
from subsalt.methods.rtm.measuring import measured
from subsalt.methods.rtm.need import Needs
from subsalt.methods.rtm.plan import lost_part, setup_of
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.methods.rtm.speed import rates_for
from subsalt.plan.cuts import StepModel
from subsalt.plan.nodes import NodesModel, PlannedNodes, Row, with_seconds
from subsalt.plan.prediction import Writes
from subsalt.plan.program import program_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job


class ShotsOnNodes(NodesModel):
    """See `NodesModel`: a migration, or modelling when the job has no `[data]`.

    Parameters
    ----------
    job : Job
        Validated.
    run_dir : Path, optional
        Where the run would write.
    """

    def __init__(self, job: Job, run_dir: Path | None) -> None:
        self.job = job
        self.setup, self.survey, _ = setup_of(job)
        default = job.default_run_dir if job.data is not None else job.base / f"{job.name}.shots"
        self.folder = run_dir or default
        self.threads = job.propagation_options.threads
        self.units = f"{len(self.survey)} shots"

    def measure(self, world: World, say: Callable[[str], None]) -> None:
        """Measure such a shot and the folders of its snapshots."""
        if not kernels.is_cpu(self.job.parallel.device):
            return
        options = self.job.checkpoint_options
        places = [Path(d) for d in options.directories] or [self.folder]
        needs = Needs(self.setup, self.survey.shots, world.ranks, world.threads)
        measured(needs, world, options, places, say, self.folder)

    def row(
        self, nodes: PlannedNodes, n: int, machine: Machine | None, why_not: str
    ) -> tuple[Row, list[str]]:
        """Return the row of `n` nodes, and what the figures rest on."""
        job, survey, world = self.job, self.survey, nodes.world(n)
        needs = Needs(
            self.setup,
            survey.shots,
            world.ranks,
            world.threads,
            streamed=job.parallel.stream_model,
            program=program_of(machine, "rtm"),
        )
        formats = job.output.formats
        if job.data is not None:
            how = checkpointing_of(job.checkpoint_options, needs, world, self.folder, formats, machine)
            # each node has scratch like this machine
            needs = needs.choosing(replace(how, disk=how.disk * n))
        decision = decide(needs, world, job.parallel.group)
        row = Row(n, world.ranks, decision.group_size, decision.groups, lost_part(len(survey), decision))
        if decision.error is not None:
            return replace(row, problem=decision.error.message), []
        disk, *_ = disks_of(needs, decision, self.folder, formats)
        pictures = job.data is not None and job.output.pictures
        around = nodes.around(machine, self.folder)
        spent = prediction_of(needs, decision, machine or why_not, Writes(disk.parts, pictures), around)
        return with_seconds(row, spent), spent.notes

    def step(self, nodes: PlannedNodes, n: int, machine: Machine | None) -> StepModel | None:
        """Return the model of a time step of the largest shot; None where no rate is known."""
        world = nodes.world(n)
        needs = Needs(self.setup, self.survey.shots, world.ranks, world.threads)
        rates = "" if machine is None else rates_for(needs, world, machine)
        if isinstance(rates, str):
            return None
        plane, nz = needs.seen_from_above(needs.worst_shots[0])
        link = nodes.around(machine, self.folder).network.between(world.ranks, world.ranks_per_node)
        return StepModel(plane, nz, self.setup.propagation, rates, world.ranks_per_node, link)
