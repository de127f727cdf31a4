"""How a time migration lies in the memory of its ranks: blocks of the image, traces at a time, bytes by array.

A plan and a run ask the same function, so that what was planned is what is done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from subsalt.errors import Change, MemoryPlanError
from subsalt.io.prestack.scan import PIECE
from subsalt.io.prestack.table import stream_bytes, treatment_bytes
from subsalt.kernels.cuda.kirchhoff import block_bytes as on_device
from subsalt.kernels.cuda.kirchhoff import pairs_bytes, traces_bytes
from subsalt.methods.kirchhoff.contributions import Contributions
from subsalt.methods.kirchhoff.cutting import Block, block_bytes, cut
from subsalt.methods.kirchhoff.engine import FEWEST, trace_block
from subsalt.methods.kirchhoff.prepare import prepared_bytes
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.plan.gpu import PlannedGpu
from subsalt.plan.world import MPI, World

#: bytes of a block where memory is not asked to be kept: larger ones have restart points that take long to write
LARGEST_BLOCK = 2 << 30
#: bytes of a trace while the table of all is used: its row, weight and class, and a bin number while weights are made
TRACE_ENTRY = 16
#: bytes that reading headers needs beside the table: for every trace, and for those of a piece whose positions are made
#: (measured with 10^6 and 10^7 traces)
READING, OF_PIECE = 80, 400
#: part of what is left beside table and program that prepared traces may take
PREPARED_SHARE = 0.25


@dataclass(frozen=True)
class BlockLayout:
    """Blocks, traces at a time, and bytes of the rank that takes most.

    Parameters
    ----------
    blocks : list of Block
        Blocks of the whole image; empty when nothing fits.
    trace_block : int
        Traces read, prepared and summed at a time.
    arrays : dict of str to int
        Bytes by what they are for.
    limit : int
        Bytes that a rank may take.
    error : MemoryPlanError or None
        Why it cannot fit, with the smallest change.
    device : dict of str to int
        Bytes of the GPU by what they are for; empty for the processor.
    device_limit : int
        Bytes of the GPU that a rank may take.
    drawing : dict of str to int
        Bytes of the rank that draws, by what they are for, when its traces are summed; empty without pictures.
    reading : dict of str to int
        Bytes by what they are for while headers are read.
    """

    blocks: list[Block]
    trace_block: int
    arrays: dict[str, int] = field(default_factory=dict)
    limit: int = 0
    error: MemoryPlanError | None = None
    device: dict[str, int] = field(default_factory=dict)
    device_limit: int = 0
    drawing: dict[str, int] = field(default_factory=dict)
    reading: dict[str, int] = field(default_factory=dict)

    @property
    def peak(self) -> dict[str, int]:
        """Bytes by what they are for in the stage that takes most: headers read, traces summed, or pictures drawn."""
        return max(self.arrays, self.drawing, self.reading, key=lambda arrays: sum(arrays.values()))

    @property
    def total(self) -> int:
        """Bytes of the rank that takes most."""
        return sum(self.peak.values())

    @property
    def fits(self) -> bool:
        """Whether it fits."""
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "arrays": self.peak,
            "total_bytes": self.total,
            "limit_bytes": self.limit,
            "blocks": len(self.blocks),
            "largest_block_locations": max((b.locations for b in self.blocks), default=0),
            "largest_block_classes": max((b.classes for b in self.blocks), default=0),
            "trace_block": self.trace_block,
            "fits": self.fits,
            "device_arrays": self.device,
            "device_limit_bytes": self.device_limit,
        }


def layout_of(
    setup: KirchhoffSetup,
    world: World,
    *,
    traces_at_a_time: int | None = None,
    memory: int | None = None,
    work: Contributions | None = None,
    pictures: bool = False,
) -> BlockLayout:
    """Return how an image is cut for the ranks there are; pure arithmetic, the same on every rank.

    Parameters
    ----------
    setup : KirchhoffSetup
        Setup of the migration.
    world : World
        Ranks and their memory.
    traces_at_a_time : int, optional
        ``[kirchhoff] trace_block``; chosen when None.
    memory : int, optional
        ``[kirchhoff] memory``, bytes that a rank may take in all; what is comfortable when None.
    work : Contributions, optional
        By which blocks are balanced.
    pictures : bool
        They are drawn at last.
    """
    limit = world.comfortable if memory is None else min(memory, world.memory_per_rank)
    layout = _fitted(setup, world, limit, traces_at_a_time, memory, work)
    beside = {
        name: layout.arrays[name] for name in ("program", "MPI", "trace table") if name in layout.arrays
    }
    layout = replace(layout, reading=beside | {"headers": _reading(len(setup.table.number))})
    if layout.error is None:
        return _drawing(layout, setup, world) if pictures else layout
    if world.gpu is not None:
        on_host = replace(world, gpu=None)
        if _fitted(setup, on_host, limit, traces_at_a_time, memory, work).fits:
            return replace(layout, error=_too_small(world.gpu, layout))
        world = on_host
    return replace(layout, error=_with_cure(layout, setup, world, traces_at_a_time, memory))


def _reading(traces: int) -> int:
    return READING * traces + OF_PIECE * min(traces, PIECE)


def _drawing(layout: BlockLayout, setup: KirchhoffSetup, world: World) -> BlockLayout:
    """Return a layout with what pictures take when all blocks are done; refused where that does not fit."""
    # all that draws: runs without pictures do not load it
    from subsalt.view.time_sections import time_picture_bytes

    beside = {
        name: layout.arrays[name] for name in ("program", "MPI", "trace table") if name in layout.arrays
    }
    layout = replace(layout, drawing=beside | {"pictures": time_picture_bytes(setup.grid)})
    taken = sum(layout.drawing.values())
    if taken <= layout.limit:
        return layout
    message = f"pictures take {taken / 1e6:.0f} MB of a rank, which may take {layout.limit / 1e6:.0f} MB"
    code = "E660" if world.ranks > 1 else "E610"
    return replace(layout, error=MemoryPlanError(message, "set [output] pictures = false", code=code))


def _too_small(gpu: PlannedGpu, layout: BlockLayout) -> MemoryPlanError:
    """Return the error of a job that fits into the host and not into its GPU."""
    return MemoryPlanError(
        f"{gpu.name} has {gpu.limit / 1e6:.1f} MB for a rank, which {layout.trace_block} traces at a time and the "
        "image traces of one location exceed",
        f'set [parallel] device = "cpu", or [kirchhoff] trace_block below {layout.trace_block}',
        code="E994",
    )


def _fitted(
    setup: KirchhoffSetup,
    world: World,
    limit: int,
    traces_at_a_time: int | None,
    memory: int | None,
    work: Contributions | None,
) -> BlockLayout:
    nt, options = setup.table.time.nt, setup.options
    fixed = {
        "program": world.program,
        "trace table": setup.table.nbytes + TRACE_ENTRY * len(setup.table.number),
    }
    if setup.datum is not None:
        fixed["floating datum"] = setup.datum.nbytes
    if world.ranks > 1:
        fixed["MPI"] = MPI
    left = limit - sum(fixed.values())
    size = traces_at_a_time or max(FEWEST, trace_block(nt, options, max(0, int(PREPARED_SHARE * left))))
    if world.gpu is not None and traces_at_a_time is None:
        each = traces_bytes(1, prepared_bytes(nt, options), options)[0]
        size = min(size, max(FEWEST, int(PREPARED_SHARE * world.gpu.limit) // each))
    size = min(size, max(1, len(setup.table.number)))
    traces = {
        "prepared traces": size * prepared_bytes(nt, options),
        "traces read ahead": stream_bytes(size, nt, setup.table.files.trace_bytes),
    }
    if setup.table.treatment is not None:
        traces["signal steps"] = treatment_bytes(size, setup.table)
    device: dict[str, int] = {}
    if world.gpu is not None:
        there, traces["prepared traces"] = traces_bytes(size, prepared_bytes(nt, options), options)
        device = {"driver": world.gpu.context, "prepared traces": there}
    room = left - sum(traces.values())
    eta = (
        setup.datum is not None
        or setup.velocity.at(setup.grid.positions()[:1], setup.grid.time)[1] is not None
    )
    most = room if memory is not None else min(room, LARGEST_BLOCK)
    if world.gpu is not None:
        # what a block takes of the GPU is no more than on the host, but for the pairs
        pairs = pairs_bytes(setup.grid.size, size)
        most = min(most, world.gpu.limit - sum(device.values()) - pairs)
    try:
        blocks = cut(
            setup.grid.shape,
            setup.classes,
            setup.nt,
            most,
            world.ranks,
            eta=eta,
            location_work=None if work is None else work.by_location,
            class_work=None if work is None else work.by_group,
        )
    except MemoryPlanError as error:
        least = {"image traces of one location": _held(setup, 1, 1, eta)}
        return BlockLayout([], size, fixed | traces | least, limit, error)
    largest = max((_held(setup, b.locations, b.classes, eta) for b in blocks), default=0)
    layout = BlockLayout(blocks, size, fixed | traces | {"image traces and velocity": largest}, limit)
    if world.gpu is None:
        return layout
    device["image traces, velocity, pairs"] = max(
        (
            on_device(b.locations, b.classes, _groups(setup, b.classes), setup.nt, size, options, eta)
            for b in blocks
        ),
        default=0,
    )
    return replace(layout, device=device, device_limit=world.gpu.limit)


def _held(setup: KirchhoffSetup, locations: int, classes: int, eta: bool) -> int:
    return block_bytes(locations, classes, _groups(setup, classes), setup.nt, eta)


def _groups(setup: KirchhoffSetup, classes: int) -> int:
    return setup.classes.groups if setup.classes.count == 1 else classes


def _with_cure(
    layout: BlockLayout, setup: KirchhoffSetup, world: World, traces_at_a_time: int | None, memory: int | None
) -> MemoryPlanError:
    """Return the error of what does not fit, with the smallest change after which it does."""
    change = next(c for c in _changes(layout, setup, world, traces_at_a_time, memory) if c.fits)
    return MemoryPlanError(
        f"a rank needs {layout.total / 1e6:.0f} MB at least and may take {layout.limit / 1e6:.0f} MB: "
        + ", ".join(f"{name} {count / 1e6:.0f} MB" for name, count in layout.arrays.items()),
        change.text,
        code="E660" if world.ranks > 1 else "E610",
    )


def _changes(
    layout: BlockLayout, setup: KirchhoffSetup, world: World, given: int | None, memory: int | None
) -> Iterator[Change]:
    """Yield changes, those without influence on the image first; the last one is more memory."""

    def after(text: str, changed: KirchhoffSetup, trace_block: int | None) -> Change:
        there = _fitted(changed, world, layout.limit, trace_block, memory, None)
        return Change(text, there.total, there.limit if there.fits else 0)

    if given is not None and given > FEWEST:
        text = f"set [kirchhoff] trace_block = {FEWEST} (from {given}), or leave it out"
        yield after(text, setup, FEWEST)
    if memory is not None:
        text = (
            f'set [kirchhoff] memory = "{_mb(layout.total)} MB" (from {memory / 1e6:.0f} MB), or leave it out'
        )
        yield Change(text, layout.total, world.comfortable)
    if setup.options.antialias == "bands" and setup.options.bands > 2:
        text = f"set [kirchhoff] bands = 2 (from {setup.options.bands}): coarser antialiasing"
        yield after(text, replace(setup, options=replace(setup.options, bands=2)), given)
    yield Change.more_memory(f"{_mb(layout.total)} MB", layout.total)


def _mb(size: int) -> int:
    """Return megabytes, rounded up to two digits."""
    whole = -(-size // 1_000_000)
    step = 10 ** max(0, len(str(whole)) - 2)
    return int(step * -(-whole // step))
