"""A plan as lines that people read."""

from __future__ import annotations

from subsalt.plan.plan import Plan, lost_time
from subsalt.plan.reading import ratio


def lines(plan: Plan) -> list[str]:
    """Return the plan: what, memory by array, groups, reads, disk, time, verdict."""
    decision, need = plan.decision, plan.decision.need
    world = decision.world
    grid = " x ".join(map(str, plan.grid))
    shots = f"{plan.shots} shot{'s' * (plan.shots != 1)}"
    out = [
        f"{plan.what} {plan.job}: {plan.medium}, {grid} points, {shots}, {plan.steps} time steps",
        f"{_count(world.ranks, 'rank')} of {_count(world.threads, 'thread')}, {size(world.memory_per_rank)} each"
        + ("" if world.given else " (free here, shared by the ranks)"),
        "",
        f"memory of the rank that takes most ({_where(plan)})",
    ]
    for name, count in sorted(need.arrays.items(), key=lambda kv: -kv[1]):
        if count:
            out.append(f"  {name:<24}{size(count):>10}{count / need.total:>7.0%}")
    out += [f"  {'in all':<24}{size(need.total):>10}", ""]
    out += [*_rows(plan), ""]
    out.append(verdict(plan))
    return out


def verdict(plan: Plan) -> str:
    """Return the last line: in core or not, and why."""
    decision = plan.decision
    if not decision.fits:
        return "does not fit: see below; nothing was started"
    state = "in core" if plan.disk.fits else "in core, but the disk is too small"
    return f"{state}: {_count(decision.group_size, 'rank')} per shot, {decision.reason}"


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
    parts = ", ".join(f"{name} {size(count)}" for name, count in disk.parts.items())
    rows.append(("disk", f"{size(disk.total)} of {size(disk.free)} free: {parts}"))
    if plan.duration.seconds is not None:
        rows.append(
            (
                "time",
                f"{duration(plan.duration.seconds)} in the kernels, "
                f"{duration(plan.duration.shot_seconds or 0.0)} for the largest shot",
            )
        )
    rows += [("" if plan.duration.seconds is not None else "time", note) for note in plan.duration.notes]
    return [f"{name:<8}{text}" for name, text in rows]


def _groups(plan: Plan) -> str:
    """Return how many groups of how many ranks, and what of their time is lost."""
    decision = plan.decision
    least, most = min(decision.sizes), max(decision.sizes)
    ranks = _count(least, "rank") if least == most else f"{least} and {most} ranks"
    idle = f"; {_count(decision.idle, 'rank')} beyond what slabs allow" if decision.idle else ""
    lost = lost_time(plan)
    unused = f"; {lost:.0%} of the ranks' time unused" if lost > 0.005 else ""
    return f"{_count(decision.groups, 'group')} of {ranks}{idle}{unused}"


def _redundant(read: int, wanted: int, what: str) -> str:
    return f"{size(read)} read {what}, {ratio(read, wanted):.2f} times what is wanted"


def _where(plan: Plan) -> str:
    need = plan.decision.need
    if need.stage == "image":
        return "while partial images are summed"
    if need.slab is None:
        return f"shot {need.shot}"
    slab = need.slab
    planes = f"{slab.hi - slab.lo} + {slab.ghost_lo + slab.ghost_hi} planes"
    return f"shot {need.shot}, rank {slab.rank} of {slab.ranks}: {planes}"


def size(count: int) -> str:
    """Return bytes in a unit that suits them."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}" if count < 10 * scale else f"{count / scale:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def duration(seconds: float) -> str:
    """Return seconds in a unit that suits them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
