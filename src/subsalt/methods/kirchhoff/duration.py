"""Seconds of a time migration, from rates measured on its own geometry; a model, never a result."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from subsalt.errors import SubsaltError
from subsalt.kernels.cuda.kirchhoff import traces_bytes
from subsalt.machine import machine_file as machines
from subsalt.machine.machine_file import Machine
from subsalt.methods.kirchhoff import rates as kirchhoff_rates
from subsalt.methods.kirchhoff.cutting import Block
from subsalt.methods.kirchhoff.prepare import prepared_bytes
from subsalt.methods.kirchhoff.reach import reach
from subsalt.methods.kirchhoff.setup import KirchhoffSetup
from subsalt.methods.kirchhoff.work import Work
from subsalt.plan.rates import faster, machine_if_known, worth_again
from subsalt.plan.surroundings import HERE, LEDGER_FILES, PICTURES, READ, REPORT, Surroundings
from subsalt.plan.world import World

#: bytes of a trace header
HEADER = 240
#: seconds of a trace header that is read and turned into a row of the table, and of a velocity sample that is made
TRACE_ROW, VELOCITY_SAMPLE = 2e-6, 2e-8
#: contributions per second of a GPU for every byte per second that it copies: 150e9 of an H200, as its kernel predicts
PER_COPIED = 0.035
#: factor by which the samples of a measured image may be more or fewer
NEAR = 2.0


@dataclass(frozen=True)
class Share:
    """What the rank that has most to do does of all blocks.

    Parameters
    ----------
    contributions : float
        Samples it adds.
    traces : int
        Traces it reads and prepares; a trace counts once for every block.
    all_traces : int
        The same of all ranks.
    """

    contributions: float
    traces: int
    all_traces: int


@dataclass(frozen=True)
class KirchhoffTime:
    """Seconds of a run.

    Parameters
    ----------
    phases : dict of str to float
        Of the rank that has most to do; empty when no rate is known.
    notes : list of str
        What is assumed, or why there is no figure.
    rate : float or None
        Contributions per second of a node.
    measured : str
        When that was measured.
    """

    phases: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    rate: float | None = None
    measured: str = ""

    @property
    def wall(self) -> float | None:
        """Seconds of the whole run; None when no rate is known."""
        return sum(self.phases.values()) if self.phases else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "kind": "model",
            "phases": self.phases,
            "wall_seconds": self.wall,
            "contributions_per_s": self.rate,
            "measured": self.measured,
            "notes": self.notes,
        }


def share_of(setup: KirchhoffSetup, blocks: Sequence[Block], work: Work, ranks: int) -> Share:
    """Return what the busiest of `ranks` does when each takes the next block as soon as it is free."""
    groups = max(1.0, float(work.by_group.sum()))
    near: dict[object, Any] = {}
    load, traces = np.zeros(ranks), np.zeros(ranks, np.int64)
    for block in blocks:
        box = block.box
        if box not in near:
            rows = reach(setup.table, setup.grid.positions(box), setup.options.aperture)
            group = setup.group[rows]
            near[box] = np.bincount(group[group >= 0], minlength=setup.classes.groups)
        counts = near[box]
        part = float(work.by_location[box.i0 : box.i1, box.j0 : box.j1].sum())
        if setup.classes.kind != "image":
            counts = counts[block.c0 : block.c1]
            part *= float(work.by_group[block.c0 : block.c1].sum()) / groups
        rank = int(np.argmin(load))
        load[rank] += part
        traces[rank] += int(counts.sum())
    busiest = int(np.argmax(load))
    return Share(float(load[busiest]), int(traces[busiest]), int(traces.sum()))


def measured(setup: KirchhoffSetup, world: World, say: Callable[[str], None] = lambda text: None) -> None:
    """Measure the job's own sum for some seconds where this machine has no rate for it, and keep it."""
    if os.environ.get("SUBSALT_MEASURE") == "off":
        return
    threads = _threads(world)
    known = _row(setup, machine_if_known() or Machine.here(), threads)
    if known is not None and not worth_again(known):
        return
    again = "" if known is None else f" again, it {'was disturbed' if known.get('noisy') else 'is old'}"
    say(f"measuring the sum over traces, for its time{again}: a few seconds")
    try:
        row = kirchhoff_rates.measure(setup, threads)
        if row is not None:
            row = faster(row, known, "contributions_per_s")
            machines.save(machines.default_path(), "kirchhoff", [row])
    except (SubsaltError, OSError, MemoryError):
        # what cannot be measured or kept leaves the plan as it was
        return


def time_of(
    setup: KirchhoffSetup,
    world: World,
    share: Share,
    files: dict[str, int],
    machine: Machine | None,
    why_not: str = "",
    *,
    pictures: bool = True,
    around: Surroundings | None = None,
) -> KirchhoffTime:
    """Return the seconds of a run by phase.

    Parameters
    ----------
    setup : KirchhoffSetup
        What is migrated.
    world : World
        Ranks; those of a node share its rate.
    share : Share
        Of the busiest rank.
    files : dict of str to int
        Bytes that the run writes, by what they are.
    machine : Machine or None
        With rates; `why_not` says why there is none.
    pictures : bool
        Pictures are drawn.
    around : Surroundings, optional
        Files; what is assumed of them when None.
    """
    threads = _threads(world, machine)
    row = None if machine is None else _row(setup, machine, threads)
    if row is None:
        if machine is not None:
            why_not = (
                f"no time: nothing was measured for such a sum with {threads} threads; "
                "subsalt plan without --no-measure does that on the machine it runs on"
            )
        return KirchhoffTime(notes=[why_not])
    sharing, nt = world.ranks_per_node, setup.table.time.nt
    around = around or HERE
    files_at = around.files
    table = len(setup.table.number)
    gpu, note = world.gpu, _note(row, sharing)
    rate = float(row["contributions_per_s"])
    summing = sharing * share.contributions / rate
    if gpu is not None:
        rate = PER_COPIED * gpu.copy
        traces = share.traces * traces_bytes(1, prepared_bytes(nt, setup.options), setup.options)[1] / 2
        summing = gpu.sharing * (share.contributions / rate + traces / gpu.up)
        note = (
            f"model: {rate / 1e9:.0f} G contributions/s of {gpu.name}, assumed from its copies; traces are prepared on "
            f"the CPU at the rate measured with {int(row['threads'])} threads"
        )
    preparing = sharing * share.traces * nt / float(row["prepared_samples_per_s"])
    reading = share.traces * (HEADER + 4 * nt) / files_at.reading(world.ranks)
    # rank 0 writes headers and samples in order; the others bring theirs
    writers = min(world.ranks, 4)
    phases = {
        "start": float(row["start_seconds"]),
        "headers": table * (HEADER / READ + TRACE_ROW) / world.ranks,
        "ledger": LEDGER_FILES * around.publish,
        "velocity": setup.grid.size * setup.nt * VELOCITY_SAMPLE / world.ranks,
        # traces are read while those before are summed
        "trace input": max(0.0, reading - summing - preparing),
        "prepare": preparing,
        # a GPU sums a block of traces while the next one is prepared
        "sum": summing if gpu is None else max(0.0, summing - preparing),
        "output": 6 * around.publish + sum(files.values()) / (writers * files_at.writing(writers)),
        "pictures": PICTURES if pictures else 0.0,
        "report": REPORT,
    }
    return KirchhoffTime(phases, [note], rate, str(row.get("date", "")))


def _threads(world: World, machine: Machine | None = None) -> int:
    """Return the threads of all ranks of a node of a machine, this one when None."""
    cores = int((machine or Machine.here()).machine.get("cores") or 1)
    return min(cores, world.threads * world.ranks_per_node)


def _row(setup: KirchhoffSetup, machine: Machine, threads: int) -> dict[str, Any] | None:
    """Return what was measured of such a sum, of about as many samples."""
    rows = machine.find("kirchhoff", **kirchhoff_rates.kind(setup, threads))
    near = [r for r in rows if setup.nt <= NEAR * r["samples"] and r["samples"] <= NEAR * setup.nt]
    if not near:
        return None
    return min(near, key=lambda r: (bool(r.get("noisy")), abs(math.log(r["samples"] / setup.nt))))


def _note(row: dict[str, Any], sharing: int) -> str:
    threads = int(row["threads"])
    return (
        f"model: {float(row['contributions_per_s']) / 1e9:.2f} G contributions/s, measured with "
        f"{threads} thread{'s' * (threads != 1)}"
        + (", marked noisy" if row.get("noisy") else "")
        + (f"; {sharing} ranks of a node share it" if sharing > 1 else "; a rank has a node for itself")
    )
