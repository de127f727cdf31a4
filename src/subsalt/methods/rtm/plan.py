"""The plan of a job: memory, reads, disk and time of a run on given ranks, from headers alone; nothing is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.errors import ConfigError, Finding, SubsaltError
from subsalt.lab.model.survey import tail_loss
from subsalt.methods.rtm.duration import duration_of
from subsalt.methods.rtm.grouping import Decision, decide
from subsalt.methods.rtm.measuring import measured
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.need import Needs, Setup
from subsalt.methods.rtm.reading import Reading, reading_of
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.totals import Totals, of_shot, of_survey
from subsalt.plan.device import Device
from subsalt.plan.disk import Disk, disk_error
from subsalt.plan.duration import Duration
from subsalt.plan.planning import PlanRequest
from subsalt.plan.rates import machine_of
from subsalt.plan.surroundings import Surroundings
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.job.job import Job

#: part of the ranks' time that is lost behind the last shots from which on a plan warns
TAIL = 0.25


@dataclass(frozen=True)
class Plan:
    """What a run would take, and whether it may start.

    Parameters
    ----------
    job : str
        Name of the job.
    what : {"migrate", "model"}
        The run that is planned.
    shots : int
        Of the survey.
    grid : tuple of int
        Points of the model.
    medium : str
        As it is propagated.
    steps : int
        Time steps of a wavefield.
    decision : Decision
        Ranks per shot and memory.
    reading : Reading
        Redundancy of what is read.
    disk : Disk
        What is written.
    duration : Duration
        Seconds by phase.
    largest_shot, survey : Totals or None
        Steps, states and bytes of the shot with the largest window, and of all shots; None when nothing is imaged.
    scratch : list of Disk
        What goes to other file systems than that of the run directory.
    findings : list of Finding
        Warnings, and the errors that a run would raise.
    """

    job: str
    what: str
    shots: int
    grid: tuple[int, ...]
    medium: str
    steps: int
    decision: Decision
    reading: Reading
    disk: Disk
    duration: Duration
    largest_shot: Totals | None = None
    survey: Totals | None = None
    scratch: list[Disk] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def error(self) -> SubsaltError | None:
        """What a run would raise: memory goes before disk; None when it may start."""
        if self.decision.error is not None:
            return self.decision.error
        refused = disk_error([self.disk, *self.scratch])
        if refused is not None:
            return refused
        return None

    @property
    def fits(self) -> bool:
        """Whether memory and disk suffice."""
        return self.error is None

    @property
    def memory_error(self) -> SubsaltError | None:
        """Why memory does not suffice."""
        return self.decision.error

    @property
    def bytes_per_rank(self) -> int:
        """Memory of the rank that takes most."""
        return self.decision.need.total

    @property
    def ranks_together(self) -> int:
        """Ranks that share a shot."""
        return self.decision.group_size

    @property
    def units(self) -> str:
        """What is dealt to the ranks, in words."""
        return f"{self.shots} shots"

    def lines(self) -> list[str]:
        """Return the plan as lines that people read."""
        from subsalt.methods.rtm.plan_text import lines

        return lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "job": self.job,
            "what": self.what,
            "shots": self.shots,
            "grid": list(self.grid),
            "medium": self.medium,
            "time_steps": self.steps,
            "fits": self.fits,
            "memory": self.decision.to_dict(),
            "device": self._device(),
            "reading": self.reading.to_dict(),
            "disk": self.disk.to_dict(),
            "scratch": [{"where": str(d.where), **d.to_dict()} for d in self.scratch],
            "time": self.duration.to_dict(),
            "checkpoint": self._checkpoint(),
            "findings": [vars(f) for f in self.findings],
        }

    def _device(self) -> dict[str, Any] | None:
        gpu, need = self.decision.world.gpu, self.decision.need
        if gpu is None:
            return None
        told = gpu.to_dict() | {"limit": gpu.limit, "need_bytes": need.on_device, "arrays": need.device}
        for name, totals in (("largest_shot", self.largest_shot), ("survey", self.survey)):
            if totals is not None:
                told[f"{name}_link_bytes"] = {"down": totals.down, "up": totals.up}
        return told

    def _checkpoint(self) -> dict[str, Any] | None:
        choice = self.decision.choice
        if choice is None or self.largest_shot is None or self.survey is None:
            return None
        told = {"largest_shot": self.largest_shot.to_dict(), "survey": self.survey.to_dict()}
        return choice.to_dict() | told


def plan_rtm(job: Job, request: PlanRequest) -> Plan:
    """Plan reverse time migration, or modelling when the job has no `[data]`."""
    setup, survey, files = setup_of(job)
    asked_threads = request.threads if request.threads is not None else job.propagation_options.threads
    known, why_not = machine_of(request.machine)
    device = request.on or Device(job.parallel.device)
    gpu = device.found(known, request.ranks)
    # sizes are those of any compiled kernels: the GPU of a plan need not be here
    sized = replace(setup.propagation, device="cpu" if kernels.is_compiled(device.name) else device.name)
    setup = replace(setup, propagation=sized)
    world = replace(World.planned(request.ranks, request.memory_per_rank, asked_threads), gpu=gpu)
    streamed = job.parallel.stream_model
    migrates = job.data is not None
    needs = Needs(
        setup,
        survey.shots,
        world.ranks,
        world.threads,
        streamed=streamed,
        gpu=gpu,
        pictures=migrates and job.output.pictures,
    )
    folder = request.run_dir or (job.default_run_dir if migrates else job.base / f"{job.name}.shots")
    if request.measure and request.machine is None and gpu is None and kernels.is_compiled(device.name):
        given = job.checkpoint_options
        measured(needs, world, given, [Path(d) for d in given.directories] or [folder], request.say, folder)
        known, why_not = machine_of(request.machine)
    if migrates:
        options, formats = job.checkpoint_options, job.output.formats
        needs = needs.choosing(checkpointing_of(options, needs, world, folder, formats, known))
    decision = decide(needs, world, job.parallel.ranks_per_shot)
    disk, *scratch = disks_of(needs, decision, folder, job.output.formats)
    reading = reading_of(needs, decision.group_size, files, migrates)
    plan = Plan(
        job.name,
        "migrate" if migrates else "model",
        len(survey),
        setup.model.grid.shape,
        needs.medium,
        setup.axis.nt - 1,
        decision,
        reading,
        disk,
        duration_of(
            needs,
            decision,
            known,
            why_not,
            disk.parts,
            pictures=migrates and job.output.pictures,
            around=Surroundings.of(known, folder),
        ),
        scratch=scratch,
    )
    if decision.choice is not None:
        plan = replace(
            plan,
            largest_shot=of_shot(needs, decision, needs.worst_shots[0]),
            survey=of_survey(needs, decision),
        )
    return replace(plan, findings=[*_fewer(job, world), *_findings(plan)])


def setup_of(job: Job) -> tuple[Setup, Survey, int]:
    """Return the setup of a job, its survey, and how many volumes of its model are files.

    Raises
    ------
    ConfigError
        When the job has neither [data] nor [acquisition].
    """
    from subsalt.methods.rtm.job_setup import migration_setup, survey_of

    if job.data is None and job.acquisition is None:
        raise ConfigError(
            "the job has neither [data] nor [acquisition]",
            "[data] names recorded shots (migrate), [acquisition] places shots to model",
            code="E102",
        )
    # a copy of the job keeps its model in files; the caller's goes on as it was
    job = job.model_copy()
    job._memory = {}
    job.stream()
    model = job.open_model()
    names = ("vp", "epsilon", "delta", "theta", "phi")
    files = sum(getattr(getattr(job.model, n), "file", None) is not None for n in names)
    if job.data is not None:
        survey = survey_of(job, model)
        return migration_setup(job, model, survey), survey, files
    survey = replace(job.acquisition_survey(), frame=model.frame)
    options = job.propagation_options
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.order, options.dt, options.dt_reserve)
    setup = ModellingSetup.build(model, job.wavelet(dt), survey.time, options, job.imaging_options.aperture)
    return setup, survey, files


def _fewer(job: Job, world: World) -> list[Finding]:
    """Return a warning when there are fewer ranks than should share a shot."""
    asked = job.parallel.ranks_per_shot
    if asked == "auto" or asked <= world.ranks:
        return []
    return [
        Finding(
            "W663",
            "warning",
            f"[parallel] ranks_per_shot = {asked}, but {_are(world.ranks)}: all share every shot",
            f'start {asked} ranks, or set ranks_per_shot = "auto"',
            {"asked": asked, "ranks": world.ranks},
        )
    ]


def _are(ranks: int) -> str:
    return "there is 1 rank" if ranks == 1 else f"there are {ranks} ranks"


def _findings(plan: Plan) -> list[Finding]:
    """Return what a reader of the plan should know, errors last."""
    found, decision, reading = [], plan.decision, plan.reading
    if reading.thin:
        found.append(
            Finding(
                "W660",
                "warning",
                f"thin slabs: {reading.ghosts} ghost planes beside {reading.owned} of its own",
                "use fewer ranks per shot and more memory each, or a larger aperture",
                {"owned": reading.owned, "ghosts": reading.ghosts},
            )
        )
    world = decision.world
    if decision.fits and decision.need.total > world.comfortable:
        found.append(
            Finding(
                "W661",
                "warning",
                f"a rank needs {decision.need.total / 1e9:.2f} GB of the {world.memory_per_rank / 1e9:.2f} GB that are "
                "free for it: little is left for the page cache",
                "use more ranks per shot, or fewer ranks on a node",
                {"need": decision.need.total, "memory": world.memory_per_rank},
            )
        )
    lost = lost_time(plan)
    if lost > TAIL:
        found.append(
            Finding(
                "W662",
                "warning",
                f"{plan.shots} shots over {decision.groups} groups"
                + (f", and {decision.idle} ranks that slabs would be too thin for," if decision.idle else "")
                + f" leave {lost:.0%} of the ranks' time unused",
                f"use a number of groups that divides {plan.shots}, or more ranks per shot",
                {"shots": plan.shots, "groups": decision.groups, "lost": lost},
            )
        )
    error = plan.error
    if error is not None:
        found.append(Finding(error.code, "error", error.message, error.fix))
    return found


def lost_time(plan: Plan) -> float:
    """Return the part of the ranks' time that is lost: ranks without a group, and waiting behind the last shots."""
    return lost_part(plan.shots, plan.decision)


def lost_part(shots: int, decision: Decision) -> float:
    """Return that part for some shots of about the same size."""
    return 1.0 - (1.0 - decision.idle / decision.world.ranks) * (1.0 - tail_loss(shots, decision.groups))
