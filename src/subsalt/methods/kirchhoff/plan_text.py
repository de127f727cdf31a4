"""The plan of a time migration as lines that people read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from subsalt.plan.text import counted, duration, gpu_line, size, table_of_bytes

if TYPE_CHECKING:
    from subsalt.methods.kirchhoff.plan import KirchhoffPlan


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
    parts = ", ".join(f"{name} {size(count)}" for name, count in plan.disk.parts.items())
    rows.append(("disk", f"{size(plan.disk.total)} of {size(plan.disk.free)} free: {parts}"))
    spent = plan.duration
    if spent.wall is not None:
        told = ", ".join(f"{n} {duration(s)}" for n, s in spent.phases.items() if s >= 0.01 * spent.wall)
        rows.append(("time", f"{duration(spent.wall)} for the run: {told}"))
    rows += [("" if spent.wall is not None else "time", note) for note in spent.notes]
    return rows
