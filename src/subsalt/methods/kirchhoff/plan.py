"""The plan of a time migration: memory, passes over the traces, contributions, disk and time; nothing is computed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import Finding, FindingsError, SubsaltError
from subsalt.job.signal.summary import signal_plan, signal_row
from subsalt.job.units import auto_to_none
from subsalt.methods.kirchhoff.duration import KirchhoffTime, Share, measured, share_of, time_of
from subsalt.methods.kirchhoff.memory import Layout, layout_of
from subsalt.methods.kirchhoff.partial import layout_of_sums
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.work import Work, work_of
from subsalt.plan import program
from subsalt.plan.disk import SEGY_HEADERS, TRACE_HEADER, Disk, beside, disk_error, existing
from subsalt.plan.gpu import Device
from subsalt.plan.model import Surroundings
from subsalt.plan.planning import PlanRequest, counted, duration, gpu_line, size, table_of_bytes
from subsalt.plan.rates import machine_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.job import KirchhoffJob


def lines(plan: KirchhoffPlan) -> list[str]:
    """Return the plan: what, memory by array, blocks, contributions, reads, disk, time, verdict."""
    world, layout = plan.world, plan.layout
    gathers = "" if plan.image_traces == 1 else f" x {plan.image_traces} image traces"
    out = [
        f"migrate {plan.job}: kirchhoff, {plan.locations} locations{gathers} x {plan.samples} samples, "
        f"{plan.traces} traces",
        f"{counted(world.ranks, 'rank')} of {counted(world.threads, 'thread')}, {size(layout.limit)} each",
        *([gpu_line(world.gpu)] if world.gpu is not None else []),
        "",
        "memory of the rank that takes most",
        *table_of_bytes(layout.peak, 28),
        "",
    ]
    if layout.device:
        out += ["memory of its GPU", *table_of_bytes(layout.device, 28), ""]
    out += [f"{name:<15}{text}" for name, text in _rows(plan)]
    return [*out, "", verdict(plan)]


def verdict(plan: KirchhoffPlan) -> str:
    """Return the last line: whether it fits."""
    if not plan.layout.fits:
        return "does not fit: see below; nothing was started"
    n = len(plan.layout.blocks)
    how = "the image in one block" if n == 1 else f"the image in {n} blocks"
    return f"fits: {how}" + ("" if plan.fits else ", but the disk is too small")


def _rows(plan: KirchhoffPlan) -> list[tuple[str, str]]:
    work, share, layout = plan.work, plan.share, plan.layout
    part = work.contributions / work.bound if work.bound else 0.0
    rows = [
        (
            "contributions",
            f"about {work.contributions:.3g} after aperture and mutes, {part:.0%} of {work.bound:.3g}",
        )
    ]
    if layout.blocks:
        b = max(layout.blocks, key=lambda b: b.locations * b.classes)
        rows.append(
            (
                "blocks",
                f"{len(layout.blocks)}, the largest {counted(b.locations, 'location')} x "
                f"{counted(b.classes, 'image trace')}; {layout.trace_block} traces at a time",
            )
        )
        times = share.all_traces / max(1, work.traces)
        busiest = f"; the busiest rank {share.traces}" if plan.world.ranks > 1 else ""
        rows.append(
            (
                "traces read",
                f"{share.all_traces} ({size(share.all_traces * plan.trace_bytes)}), "
                f"each of {work.traces} {times:.2f} times{busiest}",
            )
        )
    if plan.signal:
        rows.append(("signal", signal_row(plan.signal)))
    parts = ", ".join(f"{name} {size(count)}" for name, count in plan.disk.parts.items())
    rows.append(("disk", f"{size(plan.disk.total)} of {size(plan.disk.free)} free: {parts}"))
    spent = plan.duration
    if spent.wall is not None:
        told = ", ".join(f"{n} {duration(s)}" for n, s in spent.phases.items() if s >= 0.01 * spent.wall)
        rows.append(("time", f"{duration(spent.wall)} for the run: {told}"))
    rows += [("" if spent.wall is not None else "time", note) for note in spent.notes]
    return rows


#: traces added to a sample, on the mean, above which a plan says that nothing limits the operator
MANY = 20_000
#: errors of a check that hold for the machine it runs on
OF_THIS_MACHINE = ("E610", "E660")


@dataclass(frozen=True)
class KirchhoffPlan:
    """What a time migration would take, and whether it may start.

    Parameters
    ----------
    job : str
        Name of the job.
    world : World
        Ranks and their memory.
    locations, samples, image_traces : int
        Output locations, samples of an image trace, image traces of a location.
    traces : int
        Of the data.
    layout : Layout
        Memory and blocks.
    work : Work
        Contributions.
    share : Share
        Of the busiest rank.
    disk : Disk
        What is written.
    duration : KirchhoffTime
        Seconds by phase.
    trace_bytes : int
        Bytes of a trace in the files.
    findings : list of Finding
        Warnings, and the errors that a run would raise.
    signal : dict
        What `[[signal]]` takes; empty without steps.
    """

    job: str
    world: World
    locations: int
    samples: int
    image_traces: int
    traces: int
    layout: Layout
    work: Work
    share: Share
    disk: Disk
    duration: KirchhoffTime
    trace_bytes: int = 0
    findings: list[Finding] = field(default_factory=list)
    signal: dict[str, Any] = field(default_factory=dict)

    @property
    def error(self) -> SubsaltError | None:
        """What a run would raise: memory goes before disk; None when it may start."""
        return self.layout.error or disk_error([self.disk])

    @property
    def fits(self) -> bool:
        """Whether memory and disk suffice."""
        return self.error is None

    @property
    def memory_error(self) -> SubsaltError | None:
        """Why memory does not suffice."""
        return self.layout.error

    @property
    def bytes_per_rank(self) -> int:
        """Memory of the rank that takes most."""
        return self.layout.total

    @property
    def ranks_together(self) -> int:
        """Ranks that work on one unit: each takes blocks of its own."""
        return 1

    @property
    def units(self) -> str:
        """What is dealt to the ranks, in words."""
        n = len(self.layout.blocks)
        return f"{n} block{'s' * (n != 1)} of {self.locations} locations, {self.traces} traces"

    def lines(self) -> list[str]:
        """Return the plan as lines that people read."""
        return lines(self)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "job": self.job,
            "what": "migrate",
            "method": "kirchhoff",
            "ranks": self.world.ranks,
            "threads": self.world.threads,
            "locations": self.locations,
            "samples": self.samples,
            "image_traces_per_location": self.image_traces,
            "traces": self.traces,
            "fits": self.fits,
            "memory": self.layout.to_dict(),
            "work": self.work.to_dict(),
            "reading": {
                "traces_of_busiest_rank": self.share.traces,
                "traces_of_all_ranks": self.share.all_traces,
                "passes": self.share.all_traces / max(1, self.work.traces),
                "bytes": self.share.all_traces * self.trace_bytes,
            },
            "disk": self.disk.to_dict(),
            **({"signal": self.signal} if self.signal else {}),
            "time": self.duration.to_dict(),
            "findings": [vars(f) for f in self.findings],
        }


def plan_kirchhoff(job: KirchhoffJob, request: PlanRequest) -> KirchhoffPlan:
    """Plan a time migration.

    Raises
    ------
    FindingsError
        With everything that a check finds wrong, the memory of this machine aside: a plan is for any.
    """
    from subsalt.job.checking import check_job

    checked = check_job(job)
    wrong = [f for f in checked.findings if f.level == "error" and f.code not in OF_THIS_MACHINE]
    if wrong:
        raise FindingsError(checked.findings, checked.exit_code())
    setup = job.setup()
    asked = request.threads if request.threads is not None else auto_to_none(job.parallel.threads)
    known, why_not = machine_of(request.machine)
    device = request.on or Device(job.parallel.device)
    world = replace(
        World.planned(request.ranks, request.memory_per_rank, asked), gpu=device.gpu_for(known, request.ranks)
    )
    if request.measure and request.machine is None:
        program.measured("kirchhoff", request.say)
        known, why_not = machine_of(request.machine)
    world = replace(world, program=program.program_of(known, "kirchhoff"))
    section = job.kirchhoff
    work = job.remember("work", lambda: work_of(setup))
    layout = layout_of(
        setup,
        world,
        traces_at_a_time=auto_to_none(section.trace_block),
        memory=auto_to_none(section.memory),
        work=work,
        pictures=job.output.pictures,
    )
    share = share_of(setup, layout.blocks, work, world.ranks)
    folder = request.run_dir or job.default_run_dir
    pictures = job.output.pictures
    disk = disk_of(setup, layout, folder, job.output.formats, pictures=pictures)
    if request.measure and request.machine is None and kernels.is_compiled(device.name):
        measured(setup, world, request.say)
        known, why_not = machine_of(request.machine)
    around = Surroundings.of(known, folder)
    spent = time_of(setup, world, share, disk.parts, known, why_not, pictures=pictures, around=around)
    if saves(job.kirchhoff.save_every, spent, layout, world.ranks):
        disk = disk_of(setup, layout, folder, job.output.formats, pictures=pictures, saving=world.ranks)
    plan = KirchhoffPlan(
        job.name,
        world,
        setup.grid.size,
        setup.nt,
        setup.classes.count,
        len(setup.table.number),
        layout,
        work,
        share,
        disk,
        spent,
        setup.table.files.trace_bytes,
        signal=signal_plan(setup.table, share.all_traces),
    )
    plan.findings.extend(f for f in checked.findings if f.level == "warning")
    plan.findings.extend(_findings(plan, setup))
    return plan


def saves(every: float, spent: KirchhoffTime, layout: Layout, ranks: int) -> bool:
    """Return whether blocks take so long that they have restart points; they do where no rate says how long."""
    if not every or not spent.phases:
        return bool(every)
    seconds = sum(spent.phases[name] for name in ("trace input", "prepare", "sum"))
    return seconds >= every * max(1, -(-len(layout.blocks) // ranks))


def disk_of(
    setup: KirchhoffSetup,
    layout: Layout,
    folder: Path,
    formats: Sequence[str],
    *,
    pictures: bool = True,
    saving: int = 0,
) -> Disk:
    """Return what a run writes into `folder`, which need not exist.

    Parameters
    ----------
    pictures : bool
        They are drawn.
    saving : int
        Ranks that publish restart points: the last of each stays until the image is written.
    """
    n, nt, count = setup.grid.size, setup.nt, setup.classes.count
    groups = setup.classes.groups
    segy = SEGY_HEADERS + n * (TRACE_HEADER + 4 * nt)
    others = len([f for f in dict.fromkeys(formats) if f != "segy"])
    sums = [
        layout_of_sums(b.locations, b.classes, groups if count == 1 else b.classes, nt).size
        for b in layout.blocks
    ]
    parts = {
        "sums of blocks": sum(sums),
        "restart points": saving * max(sums, default=0),
        "image, hits and fold": 2 * segy + 4 * n * groups + others * 8 * n * nt,
        "pictures, report, ledger": beside(len(sums), (2 if min(setup.grid.shape) == 1 else 3) * pictures),
    }
    if setup.classes.kind != "image":
        traces = n * count
        rsf = 4 * traces * nt if "rsf" in formats else 0
        parts["gathers"] = SEGY_HEADERS + traces * (TRACE_HEADER + 4 * nt) + rsf
    where = existing(folder)
    return Disk(parts, shutil.disk_usage(where).free, where)


def _findings(plan: KirchhoffPlan, setup: KirchhoffSetup) -> list[Finding]:
    """Return what a reader of the plan should know, errors last."""
    found = []
    blocks, world = len(plan.layout.blocks), plan.world
    if plan.fits and blocks < world.ranks:
        found.append(
            Finding(
                "W662",
                "warning",
                f"{blocks} blocks for {world.ranks} ranks leave {1 - blocks / world.ranks:.0%} of them without work",
                f"start {blocks} ranks, with more threads each",
                {"blocks": blocks, "ranks": world.ranks},
            )
        )
    each = plan.work.contributions / (setup.grid.size * setup.nt)
    if setup.options.aperture is None and setup.options.dip is None and each > MANY:
        found.append(
            Finding(
                "W769",
                "warning",
                f"no aperture limits the operator: {each:.0f} traces are added to every sample on the mean",
                "set [kirchhoff] aperture or dip to what the steepest events need",
                {"traces_per_sample": each},
            )
        )
    error = plan.error
    if error is not None:
        found.append(Finding(error.code, "error", error.message, error.fix))
    return found
