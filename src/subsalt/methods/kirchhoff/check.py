"""Every check of a time migration: what can be loaded is loaded, all rules run, all findings come at once."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from subsalt import kernels
from subsalt.check.mutes import mute_findings
from subsalt.check.steps import step_findings
from subsalt.errors import Finding
from subsalt.job.checking import CheckResult, Loader, with_files_left_out
from subsalt.job.data import header_options
from subsalt.job.signal.edited_noise import knowing_edits
from subsalt.job.signal.traces import flow_of
from subsalt.job.units import auto_to_none
from subsalt.methods.kirchhoff.image_grid import is_line, place
from subsalt.methods.kirchhoff.rules.first_breaks import break_findings
from subsalt.methods.kirchhoff.rules.image import KirchhoffContext, kirchhoff_findings
from subsalt.methods.kirchhoff.rules.mutes import stretch_mute
from subsalt.methods.kirchhoff.rules.traces import prestack_facts, prestack_findings
from subsalt.methods.kirchhoff.rules.velocity import velocity_findings
from subsalt.methods.kirchhoff.velocity.load import velocity_files
from subsalt.parallel.comm import Comm, single, world
from subsalt.parallel.relay import plain
from subsalt.plan import gpu as gpus
from subsalt.plan.program import agreed
from subsalt.plan.world import World
from subsalt.propagation import devices

if TYPE_CHECKING:
    from subsalt.io.prestack.table import TraceTable
    from subsalt.methods.kirchhoff.job import KirchhoffJob
    from subsalt.methods.kirchhoff.rules.image import KirchhoffContext


#: traces whose offsets are compared with the mutes of `[[signal]]`
OFFSETS = 2000


def check_kirchhoff(job: KirchhoffJob) -> CheckResult:
    """Apply every rule to a time migration.

    Notes
    -----
    Reads all trace headers, some traces, and the velocity. Collective: all ranks read headers, rank 0 applies the
    rules, and all return the same findings and facts.
    """
    comm = world()
    devices.settle(comm, job.parallel.device)
    load = Loader()
    table = _table(job, comm, load)
    context = KirchhoffContext(table=table)
    answer: dict[str, object] = {}
    try:
        if comm.is_root:
            findings = _rules(job, context, load)
            answer = {
                "findings": [asdict(f) | {"evidence": plain(f.evidence)} for f in findings],
                "codes": list(load.codes),
                "facts": plain({k: v for k, v in context.facts.items() if not k.startswith("_")}),
            }
    finally:
        # also when a rule breaks: the others must not wait
        if comm.size > 1:
            answer = comm.bcast(answer if comm.is_root else None)
    if comm.is_root:
        return CheckResult(findings, context, load.codes)
    context.facts = dict(answer["facts"])  # type: ignore[call-overload]
    shared = [Finding(**f) for f in answer["findings"]]  # type: ignore[attr-defined]
    return CheckResult(shared, context, list(answer["codes"]))  # type: ignore[call-overload]


def _table(job: KirchhoffJob, comm: Comm, load: Loader) -> TraceTable | None:
    """Return the table of traces, read by all ranks; what cannot be read is the same finding on all."""

    def read() -> TraceTable:
        # an error of one rank is raised on all, so that none waits for it
        with comm.together():
            return job.open_table(comm)

    return load(read)


def _rules(job: KirchhoffJob, c: KirchhoffContext, load: Loader) -> list[Finding]:
    """Return everything that is found, what is in order included."""
    findings_of_rules: list[Finding] = []
    load(lambda: devices.describe(job.parallel.device))
    load.findings += devices.no_gpu(job.parallel.device) + devices.findings()
    load.findings += devices.slower_kernels(job.parallel.device)
    load(lambda: kernels.threads_to_use(auto_to_none(job.parallel.threads)))
    if c.table is not None:
        table = c.table
        c.line = is_line(table)
        c.options = job.kirchhoff.options(c.line)
        placed = load(lambda: place(job.kirchhoff, table))
        c.placement = None if placed is None else placed[0]
        if placed is not None:
            c.grid = load(lambda: job.image_grid(table))
        if c.grid is not None:
            grid = c.grid
            c.facts["grid"] = grid.to_dict() | {"from": placed[0].how if placed else ""}
            velocity = load(lambda: job.open_velocity(grid))
            if velocity is not None:
                c.velocity = velocity
                said, feet = job.velocity.unit is not None, bool(table.notes.get("feet"))
                findings_of_rules += velocity_findings(
                    velocity, grid, c.options, unit_said=said, feet=feet, facts=c.facts
                )
                if c.options is not None and not any(f.level == "error" for f in findings_of_rules):
                    findings_of_rules += stretch_mute(table, grid, c.options, velocity)
        c.classes = load(lambda: job.classes(table))
        c.datum = load(lambda: job.floating_datum(table))
    else:
        # the grid of the job alone may be wrong as well
        load(lambda: _grid_without_traces(job))
        load(lambda: velocity_files(job.velocity, job.resolve))
    traces = load(lambda: _of_traces(job, c)) if c.table is not None else None
    findings = [*load.findings, *(traces or []), *kirchhoff_findings(c), *findings_of_rules]
    if not any(f.level == "error" for f in findings):
        known = len(load.findings)
        load(lambda: _size(job, c))
        findings += load.findings[known:]
    return with_files_left_out(findings, job)


def _of_traces(job: KirchhoffJob, c: KirchhoffContext) -> list[Finding]:
    """Return what is found about the traces, and keep their numbers with the facts."""
    assert c.table is not None
    c.facts["traces"] = prestack_facts(c.table, c.grid)
    fix = header_options(job.data, job.base)[1]
    topography = job.kirchhoff.floating_datum is not None
    aperture = c.options.aperture if c.options else None
    findings = list(prestack_findings(c.table, fix, c.grid, aperture, topography, job.kirchhoff.says_where))
    findings = knowing_edits(findings, c.table)
    if (flow := flow_of(c.table)) is not None:
        some = np.linspace(0, len(c.table) - 1, min(len(c.table), OFFSETS)).astype(np.int64)
        findings += [*mute_findings(flow, c.table.offset[some], 0), *step_findings(flow)]
    # nothing to learn of traces that are wrong already
    if job.data.first_breaks != "ignore" and not any(f.level == "error" for f in findings):
        findings += break_findings(c.table, c.velocity)
    return findings


def _grid_without_traces(job: KirchhoffJob) -> None:
    """Raise what is wrong with corner points, whatever the traces are."""
    from subsalt.methods.kirchhoff.placing import from_corners

    if job.kirchhoff.corners is not None:
        from_corners(job.kirchhoff.corners)


def _size(job: KirchhoffJob, c: KirchhoffContext) -> None:
    """Keep memory and contributions with the facts; raise when a run of this process alone cannot fit."""
    from subsalt.methods.kirchhoff.contributions import estimate_contributions
    from subsalt.methods.kirchhoff.memory import layout_of

    setup, section = job.setup(), job.kirchhoff
    work = job.remember("work", lambda: estimate_contributions(setup))
    c.facts["work"] = work.to_dict()
    if world().size > 1:
        # a run of several ranks plans for them, right after the checks
        return
    threads = kernels.threads_to_use(auto_to_none(job.parallel.threads))
    layout = layout_of(
        setup,
        replace(
            World.of(single(), threads, gpus.of_run(job.parallel.device)),
            program=agreed(single(), "kirchhoff"),
        ),
        traces_at_a_time=auto_to_none(section.trace_block),
        memory=auto_to_none(section.memory),
        work=work,
        pictures=job.output.pictures,
    )
    c.facts["memory_bytes"] = layout.total
    if layout.error is not None:
        raise layout.error
