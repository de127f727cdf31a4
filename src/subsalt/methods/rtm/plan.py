"""The plan of a job: memory, reads, disk and time of a run on given ranks, from headers alone; nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.acquisition.survey import Survey
from subsalt.check.geometry import fewer_runs
from subsalt.checkpoint.choice.choose import Choice
from subsalt.earth.grid import Grid
from subsalt.errors import ConfigError, Finding
from subsalt.job.signal.summary import signal_plan
from subsalt.machine.machine_file import Machine
from subsalt.methods.rtm.duration import prediction_of
from subsalt.methods.rtm.grouping import Grouping, decide, ignored_at_once
from subsalt.methods.rtm.job_setup import options_of
from subsalt.methods.rtm.measuring import measured
from subsalt.methods.rtm.model_reading import Reading, ratio, reading_of
from subsalt.methods.rtm.modelling import ModellingSetup
from subsalt.methods.rtm.need import Needs, RankNeed, Setup, headers_of
from subsalt.methods.rtm.scratch import checkpointing_of, disks_of
from subsalt.methods.rtm.setup import MigrationSetup, gate
from subsalt.methods.rtm.traffic import Totals, of_shot, of_survey
from subsalt.plan.disk import Disk, disk_error
from subsalt.plan.gpu import PlannedDevice
from subsalt.plan.model import Surroundings, tail_loss
from subsalt.plan.plan import (
    Plan,
    counted,
    duration,
    gpu_line,
    last_rows,
    refusal,
    rows_text,
    size,
    table_of_bytes,
)
from subsalt.plan.planning import PlanRequest
from subsalt.plan.prediction import Writes
from subsalt.plan.program import program_of
from subsalt.plan.rates import machine_of
from subsalt.plan.world import World
from subsalt.propagation.grid_choice import points_needed

if TYPE_CHECKING:
    from subsalt.methods.rtm.job import Job

#: bytes that a run of another method writes beside a migration, by what they are
Beside = Callable[[MigrationSetup, Path], Mapping[str, int]]


def sections(basis: ShotsBasis, head: list[str], rows: list[tuple[str, str]]) -> list[list[str]]:
    """Return the plan: what, memory by array, strategy of the source wavefield, groups, reads, disk, time."""
    need, world = basis.decision.need, basis.decision.world
    head.append(
        f"{counted(world.ranks, 'rank')} of {counted(world.threads, 'thread')}, {size(world.memory_per_rank)} each"
        + ("" if world.given else " (free here, shared by the ranks)")
    )
    out, host = [head], "memory"
    if world.gpu is not None:
        head.append(gpu_line(world.gpu))
        out.append(["memory of the GPU of the rank that takes most of it", *_table(need.device)])
        host = "memory of the host"
    pinned = [f"  {'of it pinned':<24}{size(need.pinned):>10}"] if need.pinned else []
    at_once = basis.decision.at_once
    where = _where(need) + (f", {at_once} shots at once" if at_once > 1 and need.stage == "shots" else "")
    out.append([f"{host} of the rank that takes most ({where})", *_table(need.arrays), *pinned])
    return [*out, *_strategy(basis), rows_text(rows, 8)]


def _table(arrays: Mapping[str, int]) -> list[str]:
    """Return bytes by array, the largest first, without those that take none."""
    return table_of_bytes({name: count for name, count in arrays.items() if count}, 24)


def _strategy(basis: ShotsBasis) -> list[list[str]]:
    """Return how a shot recovers its source wavefield, and what else was weighed."""
    choice, shot, survey = basis.decision.choice, basis.largest_shot, basis.survey
    if choice is None or shot is None or survey is None:
        return []
    there = basis.decision.world.gpu is not None
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
    done = [f"largest shot  {_done(shot)}"]
    if basis.shots > 1:
        done.append(f"all shots     {_done(survey)}")
    return [rows, done]


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


def verdict(decision: Grouping, disks: Sequence[Disk]) -> str:
    """Return the last line: in core or not, and why."""
    if not decision.fits:
        return "does not fit: see below; nothing was started"
    state = "in core" if disk_error(disks) is None else "in core, but the disk is too small"
    return f"{state}: {counted(decision.group_size, 'rank')} per shot, {decision.reason}"


def _rows(basis: ShotsBasis) -> list[tuple[str, str]]:
    """Return name and text of the rows on groups of ranks and what they read."""
    decision, read = basis.decision, basis.reading
    rows = []
    if decision.at_once > 1:
        each = counted(decision.threads, "thread")
        rows.append(("shots", f"{decision.at_once} at once, each by {each}"))
    if decision.world.ranks > 1:
        rows.append(("groups", _groups(basis.shots, decision)))
    if decision.group_size > 1:
        rows.append(_cut(read))
    if read.model_wanted:
        rows.append(("model", _redundant(read.model_read, read.model_wanted, "per shot")))
    if read.traces_wanted:
        rows.append(("traces", _redundant(read.traces_read, read.traces_wanted, "of that shot")))
    return rows


def _cut(read: Reading) -> tuple[str, str]:
    """Return how ranks share a shot."""
    if read.cut[1] == 1:
        return "slabs", f"{read.owned} planes of its own and {read.ghosts} ghost planes in the thinnest"
    many = f"{read.cut[0]} x {read.cut[1]} along x and y"
    return (
        "blocks",
        f"{many}; {read.owned} planes or rows of its own and {read.ghosts} ghosts where they are thinnest",
    )


def _groups(shots: int, decision: Grouping) -> str:
    """Return how many groups of how many ranks, and what of their time is lost."""
    least, most = min(decision.sizes), max(decision.sizes)
    ranks = counted(least, "rank") if least == most else f"{least} and {most} ranks"
    idle = f"; {counted(decision.idle, 'rank')} beyond what slabs allow" if decision.idle else ""
    lost = lost_part(shots, decision)
    unused = f"; {lost:.0%} of the ranks' time unused" if lost > 0.005 else ""
    return f"{counted(decision.groups, 'group')} of {ranks}{idle}{unused}"


def _redundant(read: int, wanted: int, what: str) -> str:
    return f"{size(read)} read {what}, {ratio(read, wanted):.2f} times what is wanted"


def _where(need: RankNeed) -> str:
    """Return when, and of which part of a shot, a rank takes most."""
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
class ShotsBasis:
    """Inputs of the plan of a survey of shots.

    Parameters
    ----------
    shots : int
        Shots of the survey.
    decision : Grouping
        Ranks per shot and memory.
    reading : Reading
        Redundancy of what is read.
    largest_shot, survey : Totals or None
        Steps, states and bytes of the shot with the largest window, and of all shots; None when nothing is imaged.
    """

    shots: int
    decision: Grouping
    reading: Reading
    largest_shot: Totals | None = None
    survey: Totals | None = None

    def device(self) -> dict[str, Any] | None:
        """Return plain values of the GPU of the rank that takes most of it, for JSON; None without one."""
        gpu, need = self.decision.world.gpu, self.decision.need
        if gpu is None:
            return None
        facts = gpu.to_dict() | {"limit": gpu.limit, "need_bytes": need.on_device, "arrays": need.device}
        for name, totals in (("largest_shot", self.largest_shot), ("survey", self.survey)):
            if totals is not None:
                facts[f"{name}_link_bytes"] = {"down": totals.down, "up": totals.up}
        return facts

    def checkpoint(self) -> dict[str, Any] | None:
        """Return plain values of what recovers source wavefields, for JSON; None when nothing is imaged."""
        choice = self.decision.choice
        if choice is None or self.largest_shot is None or self.survey is None:
            return None
        totals = {"largest_shot": self.largest_shot.to_dict(), "survey": self.survey.to_dict()}
        return choice.to_dict() | totals


def plan_rtm(job: Job, request: PlanRequest, beside: Beside | None = None) -> Plan[ShotsBasis]:
    """Plan reverse time migration, or modelling when the job has no `[data]`.

    `beside` returns, by what they are, the bytes that a run of another method writes beside a migration, from its setup
    and run directory.
    """
    setup, survey, files = setup_of(job)
    migrates = job.data is not None
    folder = request.run_dir or (job.default_run_dir if migrates else job.base / f"{job.name}.shots")
    needs, world, machine = _needs(job, request, setup, survey, folder)
    decision = decide(needs, world, job.parallel.group, job.parallel.shots_at_once)
    disks = disks_of(needs, decision, folder, job.output.formats)
    basis = ShotsBasis(len(survey), decision, reading_of(needs, decision.group_size, files, migrates))
    if decision.choice is not None:
        largest = of_shot(needs, decision, needs.worst_shots[0])
        basis = replace(basis, largest_shot=largest, survey=of_survey(needs, decision))
    writes = Writes(disks[0].parts, migrates and job.output.pictures)
    if beside is not None and isinstance(needs.setup, MigrationSetup):
        disks[0] = disks[0].holding(beside(needs.setup, folder))
    spent = prediction_of(needs, decision, machine, writes, Surroundings.of(machine, folder))
    signal = signal_plan(survey, sum(len(s.rcv) for s in survey.shots))
    facts = {
        "job": job.name,
        "what": "migrate" if migrates else "model",
        "shots": basis.shots,
        "grid": list(needs.setup.model.grid.shape),
        "depth_axis": _depth_axis(needs.setup.model.grid),
        "points_decided_by": _decided_by(job, needs.setup, needs.medium),
        "medium": needs.medium,
        "time_steps": needs.setup.axis.nt - 1,
        "fits": refusal(decision.error, disks) is None,
        "memory": decision.to_dict(),
        "device": basis.device(),
        "reading": basis.reading.to_dict(),
        "disk": disks[0].to_dict(),
        "scratch": [{"where": str(d.where), **d.to_dict()} for d in disks[1:]],
        **({"signal": signal} if signal else {}),
        "time": spent.to_dict(),
        "checkpoint": basis.checkpoint(),
    }
    proposed = fewer_runs(survey) if job.data is not None and job.data.slices is None else ()
    rows = [*_rows(basis), *last_rows(signal, disks, spent)]
    return Plan(
        sections(basis, [_title(facts, _why_even(job))], rows),
        verdict(decision, disks),
        facts,
        decision.need.total,
        disks,
        spent,
        f"{basis.shots} shots",
        basis,
        decision.error,
        [*proposed, *_without_effect(job, world), *_findings(basis)],
        decision.group_size,
    )


def _needs(
    job: Job, request: PlanRequest, setup: Setup, survey: Survey, folder: Path
) -> tuple[Needs, World, Machine | str]:
    """Return the needs of the ranks, the ranks, and the machine or why it is not known; measures where requested."""
    given = request.threads if request.threads is not None else job.propagation_options.threads
    known, why_not = machine_of(request.machine)
    device = request.on or PlannedDevice(job.parallel.device)
    gpu = device.gpu_for(known, request.ranks)
    # sizes are those of any compiled kernels: the GPU of a plan need not be here
    sized = replace(setup.propagation, device="cpu" if kernels.is_compiled(device.name) else device.name)
    world = replace(World.planned(request.ranks, request.memory_per_rank, given), gpu=gpu)
    migrates, options = job.data is not None, job.checkpoint_options
    needs = Needs(
        replace(setup, propagation=sized),
        survey.shots,
        world.ranks,
        world.threads,
        streamed=job.parallel.stream_model,
        gpu=gpu,
        pictures=migrates and job.output.pictures,
        headers=headers_of(survey),
        program=program_of(known, "rtm"),
    )
    if request.measure and request.machine is None and gpu is None and kernels.is_compiled(device.name):
        folders = [Path(d) for d in options.directories] or [folder]
        measured(needs, world, options, folders, request.say, folder)
        known, why_not = machine_of(request.machine)
        needs = replace(needs, program=program_of(known, "rtm"))
    if migrates:
        needs = needs.choosing(checkpointing_of(options, needs, world, folder, job.output.formats, known))
    return needs, world, known or why_not


def _title(facts: Mapping[str, Any], why_even: str) -> str:
    """Return the first line of a plan: what is computed."""
    grid = " x ".join(map(str, facts["grid"])) + " points"
    if facts["points_decided_by"] is not None:
        grid += f" (as many as the {facts['points_decided_by']} needs)"
    if axis := facts["depth_axis"]:
        spacings = f"{axis['finest']:.3g} to {axis['widest']:.3g} m along z"
        grid += f", {spacings} ({axis['saved']:.2f} times fewer than evenly)"
    grid += why_even
    return (
        f"{facts['what']} {facts['job']}: {facts['medium']}, {grid}, {counted(facts['shots'], 'shot')}, "
        f"{facts['time_steps']} time steps"
    )


def _why_even(job: Job) -> str:
    """Return words on spacings along z that do not follow the rock although the job leaves them to; empty else."""
    section = job.propagation
    if section.topography is None or (section.grid, section.depth_axis) != ("auto", "auto"):
        return ""
    return ", evenly spaced along z below topography"


def _depth_axis(grid: Grid) -> dict[str, float] | None:
    """Return the finest and the widest spacing along z, m, and the points of a uniform axis over those of this one."""
    if grid.depth_axis is None:
        return None
    saved = grid.even_depths / grid.shape[-1]
    return {"finest": grid.spacing[-1], "widest": grid.depth_axis.coarsest, "saved": saved}


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


def _without_effect(job: Job, world: World) -> list[Finding]:
    """Return warnings of what the job asks for of ranks and processes, and does not get."""
    requested, at_once = job.parallel.group, job.parallel.shots_at_once
    out = []
    if world.ranks > 1 or world.gpu is not None:
        out += ignored_at_once(at_once, world.ranks)
    if requested == "auto" or requested <= world.ranks:
        return out
    return [
        *out,
        Finding(
            "W663",
            "warning",
            f"[parallel] ranks_per_shot = {requested}, but {_are(world.ranks)}: all share every shot",
            f'start {requested} ranks, or set ranks_per_shot = "auto"',
            {"asked": requested, "ranks": world.ranks},
        ),
    ]


def _are(ranks: int) -> str:
    return "there is 1 rank" if ranks == 1 else f"there are {ranks} ranks"


def _findings(basis: ShotsBasis) -> list[Finding]:
    """Return what a reader of the plan should know, errors aside."""
    out, decision, reading = [], basis.decision, basis.reading
    if reading.thin:
        out.append(
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
        out.append(
            Finding(
                "W661",
                "warning",
                f"a rank needs {decision.need.total / 1e9:.2f} GB of the {world.memory_per_rank / 1e9:.2f} GB that are "
                "free for it: little is left for the page cache",
                "use more ranks per shot, or fewer ranks on a node",
                {"need": decision.need.total, "memory": world.memory_per_rank},
            )
        )
    lost = lost_part(basis.shots, decision)
    if lost > TAIL:
        out.append(
            Finding(
                "W662",
                "warning",
                f"{basis.shots} shots over {decision.groups} groups"
                + (f", and {decision.idle} ranks that slabs would be too thin for," if decision.idle else "")
                + f" leave {lost:.0%} of the ranks' time unused",
                f"use a number of groups that divides {basis.shots}, or more ranks per shot",
                {"shots": basis.shots, "groups": decision.groups, "lost": lost},
            )
        )
    return out


def lost_part(shots: int, decision: Grouping) -> float:
    """Return the part of the ranks' time that is lost: ranks without a group, and waiting behind the last shots."""
    return 1.0 - (1.0 - decision.idle / decision.world.ranks) * (1.0 - tail_loss(shots, decision.groups))
