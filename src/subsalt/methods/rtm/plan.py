"""The plan of a job: memory, reads, disk and time of a run on given ranks, from headers alone; nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.check.geometry import fewer_runs
from subsalt.checkpoint.choice.choose import Choice
from subsalt.errors import ConfigError, Finding, SubsaltError
from subsalt.job.signal.summary import signal_plan, signal_row
from subsalt.methods.rtm.duration import Writes, duration_of
from subsalt.methods.rtm.grouping import Decision, decide
from subsalt.methods.rtm.job_setup import options_of
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.need import Needs, Setup, headers_of, measured
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.methods.rtm.setup import gate
from subsalt.methods.rtm.traffic import Reading, Totals, of_shot, of_survey, ratio, reading_of
from subsalt.plan.disk import Disk, disk_error
from subsalt.plan.gpu import Device
from subsalt.plan.model import Surroundings, tail_loss
from subsalt.plan.planning import PlanRequest, counted, duration, gpu_line, size, table_of_bytes
from subsalt.plan.program import program_of
from subsalt.plan.rates import Duration, machine_of
from subsalt.plan.world import World
from subsalt.propagation.grid_choice import points_needed

if TYPE_CHECKING:
    from subsalt.job.job import Job


def lines(plan: Plan) -> list[str]:
    """Return the plan: what, memory by array, groups, reads, disk, time, verdict."""
    decision, need = plan.decision, plan.decision.need
    world = decision.world
    grid = " x ".join(map(str, plan.grid)) + " points"
    if plan.decided_by is not None:
        grid += f" (as many as the {plan.decided_by} needs)"
    shots = f"{plan.shots} shot{'s' * (plan.shots != 1)}"
    out = [
        f"{plan.what} {plan.job}: {plan.medium}, {grid}, {shots}, {plan.steps} time steps",
        f"{counted(world.ranks, 'rank')} of {counted(world.threads, 'thread')}, {size(world.memory_per_rank)} each"
        + ("" if world.given else " (free here, shared by the ranks)"),
    ]
    host = "memory"
    if world.gpu is not None:
        out += [
            gpu_line(world.gpu),
            "",
            "memory of the GPU of the rank that takes most of it",
            *_table(need.device),
        ]
        host = "memory of the host"
    out += ["", f"{host} of the rank that takes most ({_where(plan)})", *_table(need.arrays)]
    if need.pinned:
        out.append(f"  {'of it pinned':<24}{size(need.pinned):>10}")
    out.append("")
    out += _strategy(plan)
    out += [*_rows(plan), ""]
    out.append(verdict(plan))
    return out


def _table(arrays: Mapping[str, int]) -> list[str]:
    """Return bytes by array, the largest first, without those that take none."""
    return table_of_bytes({name: count for name, count in arrays.items() if count}, 24)


def _strategy(plan: Plan) -> list[str]:
    """Return what a shot does to have its source wavefield again, and what else was weighed."""
    choice, shot, survey = plan.decision.choice, plan.largest_shot, plan.survey
    if choice is None or shot is None or survey is None:
        return []
    there = plan.decision.world.gpu is not None
    device = f"{'GPU':>10}" if there else ""
    head = f"  {'strategy':<18}{'steps':>9}{device}{'memory':>10}{'disk':>10}{'time':>9}"
    rows = [f"source wavefield: {choice.best.name}, {choice.why}", head]
    for c in choice.alternatives:
        mark = "> " if c.name == choice.best.name else "  "
        if c.counts is None:
            rows.append(f"{mark}{c.name:<18}{c.problem}")
            continue
        steps = c.counts.source_steps + c.counts.receiver_steps
        kinds = [c.need.device, c.need.memory] if there else [c.need.memory]
        sizes = "".join(f"{size(n) if n or not there else '-':>10}" for n in kinds)
        sizes += f"{size(c.need.disk) if c.need.disk else '-':>10}"
        text = f"{mark}{c.name:<18}{steps:>9}{sizes}{duration(c.seconds):>9}"
        rows.append(text + (f"  {c.problem}" if c.problem else ""))
    rows.append(f"  {_scheme(choice)}")
    rows += ["", f"largest shot  {_done(shot)}"]
    if plan.shots > 1:
        rows.append(f"all shots     {_done(survey)}")
    return [*rows, ""]


def _scheme(choice: Choice) -> str:
    """Return what the scheme is made of."""
    scheme = choice.scheme
    if scheme.strategy != "revolve":
        return f"{scheme.samples} snapshots, one every {scheme.image_step} time steps"
    on_host = scheme.memory_slots - scheme.device_slots
    kinds = (
        (scheme.device_slots, "on the GPU"),
        (on_host, "in pinned memory" if scheme.snapshots_on == "device" else "in memory"),
        (scheme.moves.disk, "on disk"),
    )
    slots = [f"{n} {where}" for n, where in kinds if n]
    return (
        f"{scheme.blocks} blocks of {scheme.block} snapshots, "
        f"states kept at a time: {' and '.join(slots) or 'none'}"
    )


def _done(totals: Totals) -> str:
    """Return steps, states and bytes."""
    c = totals.counts
    out = f"{c.source_steps} + {c.receiver_steps} time steps"
    for where, stored, loaded in (
        ("in memory", c.states_stored_memory, c.states_loaded_memory),
        ("on disk", c.states_stored_disk, c.states_loaded_disk),
    ):
        if stored or loaded:
            out += f"; states {where}: {stored} stored, {loaded} loaded"
    if totals.written or totals.read:
        out += f"; {size(totals.written)} written, {size(totals.read)} read, {size(totals.scratch)} of disk"
    if totals.down or totals.up:
        out += f"; over the link {size(totals.down)} to the host, {size(totals.up)} from it"
    return out


def verdict(plan: Plan) -> str:
    """Return the last line: in core or not, and why."""
    decision = plan.decision
    if not decision.fits:
        return "does not fit: see below; nothing was started"
    state = "in core" if plan.error is None else "in core, but the disk is too small"
    return f"{state}: {counted(decision.group_size, 'rank')} per shot, {decision.reason}"


def _rows(plan: Plan) -> list[str]:
    decision, read, disk = plan.decision, plan.reading, plan.disk
    rows = []
    if decision.world.ranks > 1:
        rows.append(("groups", _groups(plan)))
    if decision.group_size > 1:
        rows.append(_cut(read))
    if read.model_wanted:
        rows.append(("model", _redundant(read.model_read, read.model_wanted, "per shot")))
    if read.traces_wanted:
        rows.append(("traces", _redundant(read.traces_read, read.traces_wanted, "of that shot")))
    if plan.signal:
        rows.append(("signal", signal_row(plan.signal)))
    rows.append(("disk", _disk(disk)))
    rows += [("", f"{other.where}: {_disk(other)}") for other in plan.scratch]
    spent = plan.duration
    if spent.seconds is not None:
        rows.append(("time", f"{duration(spent.wall or 0.0)} for the run: {_phases(spent.phases)}"))
        rows.append(("", f"largest shot: {_phases(spent.shot_phases)}"))
        if spent.halo:
            rows.append(("", f"of it waiting for ghost planes {duration(spent.halo)}"))
    rows += [("" if plan.duration.seconds is not None else "time", note) for note in plan.duration.notes]
    return [f"{name:<8}{text}" for name, text in rows]


def _cut(read: Reading) -> tuple[str, str]:
    """Return how ranks share a shot."""
    if read.cut[1] == 1:
        return "slabs", f"{read.owned} planes of its own and {read.ghosts} ghost planes in the thinnest"
    many = f"{read.cut[0]} x {read.cut[1]} along x and y"
    return (
        "blocks",
        f"{many}; {read.owned} planes or rows of its own and {read.ghosts} ghosts where they are thinnest",
    )


def _disk(disk: Disk) -> str:
    parts = ", ".join(f"{name} {size(count)}" for name, count in disk.parts.items())
    return f"{size(disk.total)} of {size(disk.free)} free: {parts}"


def _phases(phases: dict[str, float]) -> str:
    """Return seconds by phase, those that matter."""
    total = sum(phases.values())
    return ", ".join(f"{name} {duration(s)}" for name, s in phases.items() if s >= 0.01 * total)


def _groups(plan: Plan) -> str:
    """Return how many groups of how many ranks, and what of their time is lost."""
    decision = plan.decision
    least, most = min(decision.sizes), max(decision.sizes)
    ranks = counted(least, "rank") if least == most else f"{least} and {most} ranks"
    idle = f"; {counted(decision.idle, 'rank')} beyond what slabs allow" if decision.idle else ""
    lost = lost_time(plan)
    unused = f"; {lost:.0%} of the ranks' time unused" if lost > 0.005 else ""
    return f"{counted(decision.groups, 'group')} of {ranks}{idle}{unused}"


def _redundant(read: int, wanted: int, what: str) -> str:
    return f"{size(read)} read {what}, {ratio(read, wanted):.2f} times what is wanted"


def _where(plan: Plan) -> str:
    need = plan.decision.need
    if need.stage == "image":
        return "while partial images are summed"
    if need.stage == "pictures":
        return "while pictures are drawn"
    if need.stage == "headers":
        return "while headers are read"
    if need.part is None:
        return f"shot {need.shot}"
    part, ranks = need.part, math.prod(need.part.counts)
    sides = [f"{s.hi - s.lo} + {s.ghost_lo + s.ghost_hi}" for s in (part.slab, part.across)]
    held = f"{sides[0]} planes" if len(part.rows) == 1 else f"{sides[0]} planes of {sides[1]} rows"
    return f"shot {need.shot}, rank {part.rank} of {ranks}: {held}"


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
    signal : dict
        What `[[signal]]` takes; empty without steps.
    decided_by : str, optional
        What decides the points of a grid that is chosen: "direct wave", "reflection" or "image".
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
    signal: dict[str, Any] = field(default_factory=dict)
    decided_by: str | None = None

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
        return lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "job": self.job,
            "what": self.what,
            "shots": self.shots,
            "grid": list(self.grid),
            "points_decided_by": self.decided_by,
            "medium": self.medium,
            "time_steps": self.steps,
            "fits": self.fits,
            "memory": self.decision.to_dict(),
            "device": self._device(),
            "reading": self.reading.to_dict(),
            "disk": self.disk.to_dict(),
            "scratch": [{"where": str(d.where), **d.to_dict()} for d in self.scratch],
            **({"signal": self.signal} if self.signal else {}),
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
    gpu = device.gpu_for(known, request.ranks)
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
        headers=headers_of(survey),
        program=program_of(known, "rtm"),
    )
    folder = request.run_dir or (job.default_run_dir if migrates else job.base / f"{job.name}.shots")
    if request.measure and request.machine is None and gpu is None and kernels.is_compiled(device.name):
        given = job.checkpoint_options
        measured(needs, world, given, [Path(d) for d in given.directories] or [folder], request.say, folder)
        known, why_not = machine_of(request.machine)
        needs = replace(needs, program=program_of(known, "rtm"))
    if migrates:
        options, formats = job.checkpoint_options, job.output.formats
        needs = needs.choosing(checkpointing_of(options, needs, world, folder, formats, known))
    decision = decide(needs, world, job.parallel.group)
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
            known or why_not,
            Writes(disk.parts, migrates and job.output.pictures),
            Surroundings.of(known, folder),
        ),
        scratch=scratch,
        signal=signal_plan(survey, sum(len(s.rcv) for s in survey.shots)),
        decided_by=_decided_by(job, setup, needs.medium),
    )
    if decision.choice is not None:
        plan = replace(
            plan,
            largest_shot=of_shot(needs, decision, needs.worst_shots[0]),
            survey=of_survey(needs, decision),
        )
    proposed = fewer_runs(survey) if job.data is not None and job.data.slices is None else ()
    return replace(plan, findings=[*proposed, *_fewer(job, world), *_findings(plan)])


def _decided_by(job: Job, setup: Setup, medium: str) -> str | None:
    """Return what decides the points of the grid; None where a job names its grid."""
    if job.propagation.grid != "auto":
        return None
    weights, wavelet = setup.propagation.weights, job.wavelet(setup.axis.dt)
    accuracy, imaging = job.propagation.accuracy, job.data is not None
    return points_needed(weights, medium == "tti", accuracy, wavelet, imaging=imaging).decided_by


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
    model = job.open_propagation_model()
    names = ("vp", "epsilon", "delta", "theta", "phi")
    files = sum(getattr(getattr(job.model, n), "file", None) is not None for n in names)
    if job.data is not None:
        survey = survey_of(job, model)
        return migration_setup(job, model, survey), survey, files
    survey = replace(job.acquisition_survey(), frame=model.frame)
    options = options_of(job, survey)
    gated, _ = gate(model, options)
    dt = gated.choose_dt(options.weights, options.dt, options.dt_reserve)
    setup = ModellingSetup.build(model, job.wavelet(dt), survey.time, options, job.imaging_options.aperture)
    return setup, survey, files


def _fewer(job: Job, world: World) -> list[Finding]:
    """Return a warning when there are fewer ranks than should share a shot."""
    asked = job.parallel.group
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
