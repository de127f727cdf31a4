"""The plan of a reverse time migration as lines that people read."""

from __future__ import annotations

from collections.abc import Mapping

from subsalt.checkpoint.choice import Choice
from subsalt.methods.rtm.plan import Plan, lost_time
from subsalt.methods.rtm.reading import ratio
from subsalt.methods.rtm.totals import Totals
from subsalt.plan.disk import Disk
from subsalt.plan.text import counted, duration, gpu_line, size, table_of_bytes


def lines(plan: Plan) -> list[str]:
    """Return the plan: what, memory by array, groups, reads, disk, time, verdict."""
    decision, need = plan.decision, plan.decision.need
    world = decision.world
    grid = " x ".join(map(str, plan.grid))
    shots = f"{plan.shots} shot{'s' * (plan.shots != 1)}"
    out = [
        f"{plan.what} {plan.job}: {plan.medium}, {grid} points, {shots}, {plan.steps} time steps",
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
        rows.append(
            ("slabs", f"{read.owned} planes of its own and {read.ghosts} ghost planes in the thinnest")
        )
    if read.model_wanted:
        rows.append(("model", _redundant(read.model_read, read.model_wanted, "per shot")))
    if read.traces_wanted:
        rows.append(("traces", _redundant(read.traces_read, read.traces_wanted, "of that shot")))
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
    if need.slab is None:
        return f"shot {need.shot}"
    slab = need.slab
    planes = f"{slab.hi - slab.lo} + {slab.ghost_lo + slab.ghost_hi} planes"
    return f"shot {need.shot}, rank {slab.rank} of {slab.ranks}: {planes}"
