"""The plan of a time migration: memory, passes over the traces, contributions, disk and time; nothing is computed."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subsalt import kernels
from subsalt.errors import Finding, FindingsError
from subsalt.job.signal.summary import signal_plan
from subsalt.job.units import auto_to_none
from subsalt.machine.machine_file import Machine
from subsalt.methods.kirchhoff.contributions import Contributions, estimate_contributions
from subsalt.methods.kirchhoff.duration import Share, measured, prediction_of, share_of
from subsalt.methods.kirchhoff.memory import BlockLayout, layout_of
from subsalt.methods.kirchhoff.partial_image import layout_of_sums
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.plan import program
from subsalt.plan.disk import SEGY_HEADERS, TRACE_HEADER, Disk, beside, existing
from subsalt.plan.gpu import PlannedDevice
from subsalt.plan.model import Surroundings
from subsalt.plan.plan import Plan, counted, gpu_line, last_rows, refusal, rows_text, size, table_of_bytes
from subsalt.plan.planning import PlanRequest
from subsalt.plan.prediction import Prediction, Writes
from subsalt.plan.rates import machine_of
from subsalt.plan.world import World

if TYPE_CHECKING:
    from subsalt.job.checking import CheckResult
    from subsalt.methods.kirchhoff.job import KirchhoffJob


def sections(basis: BlocksBasis, title: str, rows: list[tuple[str, str]]) -> list[list[str]]:
    """Return the plan: what, memory by array, contributions, blocks, reads, disk, time."""
    world, layout = basis.world, basis.layout
    head = [
        title,
        f"{counted(world.ranks, 'rank')} of {counted(world.threads, 'thread')}, {size(layout.limit)} each",
        *([gpu_line(world.gpu)] if world.gpu is not None else []),
    ]
    out = [head, ["memory of the rank that takes most", *table_of_bytes(layout.peak, 28)]]
    if layout.device:
        out.append(["memory of its GPU", *table_of_bytes(layout.device, 28)])
    return [*out, rows_text(rows, 15)]


def verdict(layout: BlockLayout, disk: Disk) -> str:
    """Return the last line: whether it fits."""
    if not layout.fits:
        return "does not fit: see below; nothing was started"
    n = len(layout.blocks)
    how = "the image in one block" if n == 1 else f"the image in {n} blocks"
    return f"fits: {how}" + ("" if disk.fits else ", but the disk is too small")


def _rows(basis: BlocksBasis, trace_bytes: int) -> list[tuple[str, str]]:
    """Return name and text of the rows on contributions, blocks, and traces of so many bytes in the files."""
    work, share, layout = basis.work, basis.share, basis.layout
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
        busiest = f"; the busiest rank {share.traces}" if basis.world.ranks > 1 else ""
        rows.append(
            (
                "traces read",
                f"{share.all_traces} ({size(share.all_traces * trace_bytes)}), "
                f"each of {work.traces} {times:.2f} times{busiest}",
            )
        )
    return rows


#: traces added to a sample, on the mean, above which a plan says that nothing limits the operator
MANY = 20_000
#: errors of a check that hold for the machine it runs on
OF_THIS_MACHINE = ("E610", "E660")


@dataclass(frozen=True)
class BlocksBasis:
    """Inputs of the plan of an image in blocks.

    Parameters
    ----------
    world : World
        Ranks and their memory.
    layout : BlockLayout
        Memory and blocks.
    work : Contributions
        Contributions.
    share : Share
        Share of the busiest rank.
    """

    world: World
    layout: BlockLayout
    work: Contributions
    share: Share


def plan_kirchhoff(job: KirchhoffJob, request: PlanRequest) -> Plan[BlocksBasis]:
    """Plan a time migration.

    Raises
    ------
    FindingsError
        With everything that a check finds wrong, the memory of this machine aside: a plan is for any.
    """
    checked = checked_for_any_machine(job)
    setup, folder = job.setup(), request.run_dir or job.default_run_dir
    world, machine = _world(job, request, setup)
    work = job.remember("work", lambda: estimate_contributions(setup))
    section, pictures = job.kirchhoff, job.output.pictures
    layout = layout_of(
        setup,
        world,
        traces_at_a_time=auto_to_none(section.trace_block),
        memory=auto_to_none(section.memory),
        work=work,
        pictures=pictures,
    )
    basis = BlocksBasis(world, layout, work, share_of(setup, layout.blocks, work, world.ranks))
    disk = disk_of(setup, layout, folder, job.output.formats, pictures=pictures)
    writes = Writes(disk.parts, pictures)
    spent = prediction_of(setup, world, basis.share, machine, writes, Surroundings.of(machine, folder))
    if saves(section.save_every, spent, layout, world.ranks):
        disk = disk_of(setup, layout, folder, job.output.formats, pictures=pictures, saving=world.ranks)
    signal = signal_plan(setup.table, basis.share.all_traces)
    facts = _facts(job, setup, basis)
    facts["fits"] = refusal(layout.error, [disk]) is None
    facts |= _figures(basis, setup.table.files.trace_bytes)
    facts |= {"disk": disk.to_dict(), **({"signal": signal} if signal else {}), "time": spent.to_dict()}
    n, traces = len(layout.blocks), facts["traces"]
    rows = [*_rows(basis, setup.table.files.trace_bytes), *last_rows(signal, [disk], spent)]
    return Plan(
        sections(basis, _title(facts), rows),
        verdict(layout, disk),
        facts,
        layout.total,
        [disk],
        spent,
        f"{counted(n, 'block')} of {setup.grid.size} locations, {traces} traces",
        basis,
        layout.error,
        [f for f in checked.findings if f.level == "warning"] + _findings(basis, setup, fits=facts["fits"]),
    )


def checked_for_any_machine(job: KirchhoffJob) -> CheckResult:
    """Return what a check finds; refuse errors other than those of the memory of this machine.

    Raises
    ------
    FindingsError
        With everything that a check finds wrong.
    """
    from subsalt.job.checking import check_before_run

    checked = check_before_run(job)
    if any(f.level == "error" and f.code not in OF_THIS_MACHINE for f in checked.findings):
        raise FindingsError(checked.findings, checked.exit_code())
    return checked


def _world(job: KirchhoffJob, request: PlanRequest, setup: KirchhoffSetup) -> tuple[World, Machine | str]:
    """Return the ranks, and the machine or why it is not known; measures what is not where that is requested."""
    threads = request.threads if request.threads is not None else auto_to_none(job.parallel.threads)
    known, why_not = machine_of(request.machine)
    device = request.on or PlannedDevice(job.parallel.device)
    world = World.planned(request.ranks, request.memory_per_rank, threads)
    world = replace(world, gpu=device.gpu_for(known, request.ranks))
    if request.measure and request.machine is None:
        program.measured("kirchhoff", request.say)
        if kernels.is_compiled(device.name):
            measured(setup, world, request.say)
        known, why_not = machine_of(request.machine)
    return replace(world, program=program.program_of(known, "kirchhoff")), known or why_not


def _facts(job: KirchhoffJob, setup: KirchhoffSetup, basis: BlocksBasis) -> dict[str, Any]:
    """Return plain values of the job and its ranks, for JSON."""
    return {
        "job": job.name,
        "what": "migrate",
        "method": "kirchhoff",
        "ranks": basis.world.ranks,
        "threads": basis.world.threads,
        "locations": setup.grid.size,
        "samples": setup.nt,
        "image_traces_per_location": setup.classes.count,
        "traces": len(setup.table.number),
    }


def _figures(basis: BlocksBasis, trace_bytes: int) -> dict[str, Any]:
    """Return plain values of memory, work and reads of traces of so many bytes, for JSON."""
    share = basis.share
    return {
        "memory": basis.layout.to_dict(),
        "work": basis.work.to_dict(),
        "reading": {
            "traces_of_busiest_rank": share.traces,
            "traces_of_all_ranks": share.all_traces,
            "passes": share.all_traces / max(1, basis.work.traces),
            "bytes": share.all_traces * trace_bytes,
        },
    }


def _title(facts: dict[str, Any]) -> str:
    """Return the first line of a plan: what is computed."""
    count = facts["image_traces_per_location"]
    gathers = "" if count == 1 else f" x {count} image traces"
    return (
        f"migrate {facts['job']}: kirchhoff, {facts['locations']} locations{gathers} x {facts['samples']} samples, "
        f"{facts['traces']} traces"
    )


def saves(every: float, spent: Prediction, layout: BlockLayout, ranks: int) -> bool:
    """Return whether blocks take so long that they have restart points; they do where no rate says how long."""
    if not every or not spent.phases:
        return bool(every)
    seconds = sum(spent.phases[name] for name in ("trace input", "prepare", "sum"))
    return seconds >= every * max(1, -(-len(layout.blocks) // ranks))


def disk_of(
    setup: KirchhoffSetup,
    layout: BlockLayout,
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


def _findings(basis: BlocksBasis, setup: KirchhoffSetup, *, fits: bool) -> list[Finding]:
    """Return what a reader of the plan should know, errors aside."""
    out = []
    blocks, ranks = len(basis.layout.blocks), basis.world.ranks
    if fits and blocks < ranks:
        out.append(
            Finding(
                "W662",
                "warning",
                f"{blocks} blocks for {ranks} ranks leave {1 - blocks / ranks:.0%} of them without work",
                f"start {blocks} ranks, with more threads each",
                {"blocks": blocks, "ranks": ranks},
            )
        )
    each = basis.work.contributions / (setup.grid.size * setup.nt)
    if setup.options.aperture is None and setup.options.dip is None and each > MANY:
        out.append(
            Finding(
                "W769",
                "warning",
                f"no aperture limits the operator: {each:.0f} traces are added to every sample on the mean",
                "set [kirchhoff] aperture or dip to what the steepest events need",
                {"traces_per_sample": each},
            )
        )
    return out
